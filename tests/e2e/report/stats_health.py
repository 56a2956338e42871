#!/usr/bin/env python3
"""stats_health.py REPORT[:ARG]: what REPORT must print of tests/golden/reports/health.sql, worked out from the curves that the head of
that file describes, and not from its rows. CSV."""
import csv
import sys

MS = 10**6


def sms(t):  # % of GPU 0 at t (ms)
    return 80 if int(t) // 50 % 2 == 0 else 20


def dram(t):
    return int(t) % 100


def known(t):
    return 0 <= t < 300 or 350 <= t < 1000


def merge(spans):
    out = []
    for a, b in sorted(spans):
        if out and a <= out[-1][1]:
            out[-1][1] = max(out[-1][1], b)
        else:
            out.append([a, b])
    return out


STEPS = [(200 * i, 200 * i + 100) for i in range(5)]
RANGES = {"step": STEPS, "tiny": [(200 * i + 1, 200 * i + 6) for i in range(5)], "load": [(110, 130.5), (120, 140), (150, 151)],
          "gone": [(1500, 1900)]}
OF = [("recording", "", [(0, 2000)]), ("steps", ":step", STEPS)]
OF_RANGES = sorted((("range", n, s) for n, s in RANGES.items()), key=lambda x: (-sum(b - a for a, b in merge(x[2])), x[1]))


def quantile(weights, share):
    whole, upto = sum(weights.values()), 0
    for value in sorted(weights):
        upto += weights[value]
        if upto >= share * whole - 1e-9:
            return value
    return None


def metrics(with_ranges):
    yield ["GPU", "Samples", "Covered (%)", "Mean", "P10", "Med", "P90", "Max", "Metric", "Of", "Range", "Instances", "Note"]
    for of, name, spans in OF + (OF_RANGES if with_ranges else []):
        spans = merge(spans)
        used = [(a, b) for a, b in spans if of == "recording" or b - a >= 10]
        for curve, metric in ((sms, "SMs Active [Throughput %]"), (dram, "DRAM Read Bandwidth [Throughput %]")):
            weights, seen, covered = {}, set(), 0
            for a, b in used:  # by half milliseconds
                for h in range(int(2 * a), int(2 * b)):
                    if known(h / 2):
                        weights[curve(h / 2)] = weights.get(curve(h / 2), 0) + 0.5
                        seen.add((a, h // 2))
                        covered += 0.5
            whole = sum(b - a for a, b in spans)
            enough = len(seen) >= 10
            note = ""
            if enough and len(used) < len(spans):
                note = f"{len(spans) - len(used)} of {len(spans)} shorter than 10 samples"
            elif not enough:
                note = "fewer than 10 samples" if used else "too short at 1000.0 Hz"
            row = [0, len(seen) if enough else 0, round(100 * covered / whole, 1) if enough else 0.0]
            row += [f"{sum(v * w for v, w in weights.items()) / covered:.2f}", quantile(weights, 0.1), quantile(weights, 0.5),
                    quantile(weights, 0.9), max(weights)] if enough else [""] * 5
            yield row + [metric, of, name, len(spans), note]
    # GPU 1, which process 10 gave nothing to do: its ranges are not about it.
    yield [1, 100, 50.0, 50.25, 50.25, 50.25, 50.25, 50.25, "SMs Active [Throughput %]", "recording", "", 1, ""]


def energy_at(t):
    """Joules since 0 (or since 800 ms), as a polygon through the updates; None where it is not known."""
    if 700 < t < 800 or t > 1000 or t < 0:
        return None
    base = 0 if t <= 700 else 800
    total, at = 0.0, base
    while at + 10 <= t:
        at += 10
        total += 1 + 2 * (at // 10 % 2)
    return total + (1 + 2 * ((at + 10) // 10 % 2)) * (t - at) / 10


def updates(a, b):
    return sum(1 for t in range(10, 1001, 10) if a < t <= b and not 700 < t <= 800)


def energy(with_ranges):
    yield ["GPU", "Energy (J)", "Avg (J)", "Med (J)", "Min (J)", "Max (J)", "Power (W)", "Of", "Range", "Instances", "Used", "Note"]
    whole = energy_at(700) + energy_at(1000)
    yield [0] + [whole] * 5 + [whole / 0.9, "recording", "", 1, 1, ""]
    for of, name, spans in OF[1:] + (OF_RANGES if with_ranges else []):
        got, short, bare, ns = [], 0, 0, 0
        for a, b in merge(spans):
            e0, e1 = energy_at(a), energy_at(b)
            if e0 is None or e1 is None:
                bare += 1
            elif updates(a, b) < 10:
                short += 1
            else:
                got.append(e1 - e0)
                ns += b - a
        notes = [f"{short} with fewer than 10 updates of the counter"] if short else []
        notes += [f"{bare} not covered by it"] if bare else []
        figures = [sum(got), sum(got) / len(got), sorted(got)[(len(got) - 1) // 2], min(got), max(got), sum(got) / ns * 1000] if got else [""] * 6
        yield [0] + figures + [of, name, len(merge(spans)), len(got), ", ".join(notes)]
    yield [1] + [""] * 6 + ["recording", "", 1, 0, "1 with fewer than 10 updates of the counter"]


HEAD = ["Samples", "Covered (%)", "Mean", "Min", "Med", "P90", "Max", "Total", "Unit"]


def health(_):
    yield ["GPU"] + HEAD + ["Counter", "Of"]
    # Energy: 180 intervals of 5 ms of 900 ms: half of them 0, a quarter each 200 and 600 W.
    yield [0, 180, 45.0, 200.0, 0.0, 0.0, 600.0, 600.0, 180.0, "J/s", "Energy", ""]
    yield [0, 21, 100.0, (0.5 * 100 + 1.5 * 300) / 2, 100.0, 300.0, 300.0, 300.0, "", "W", "Power", ""]
    yield [0, 20, 50.0, 100 * 25 / 1000, 0.0, 0.0, 0.0, 50.0, 25e6, "% of the time", "Throttled: Power", ""]
    yield [0, 2, 45.0, (500 * 1000 + 400 * 3000) / 900, 1000.0, 1000.0, 3000.0, 3000.0, "", "B", "GPU Memory Used", "process 10"]
    yield [0, 2] + [""] * 7 + ["events", "xid 31 (first at 0.2 s)", ""]
    yield [0, 1] + [""] * 7 + ["events", "xid 79 (first at 0.3 s)", ""]
    yield [1, 3, 45.0, 18 / 0.9, 5 / 0.3, 6 / 0.3, 7 / 0.3, 7 / 0.3, 18.0, "J/s", "Energy", ""]
    yield [1, 1] + [""] * 7 + ["events", "ecc 2 (first at 0.4 s)", ""]


def host(cores):
    yield HEAD + ["Of", "Counter"]
    yield [2, 15.0, 70 / 3, 10.0, 10.0, 50.0, 50.0, 70e6, "% of the time", "host", "CPU Pressure Some"]
    yield [1, 100.0] + [16e9] * 5 + ["", "B", "host", "Memory Total"]
    yield [2, 100.0, 20.0, 10.0, 10.0, 30.0, 30.0, "", "B", "cgroup /job", "Memory Used"]
    yield [2, 37.5, 4096 / 0.75, 0.0, 0.0, 16384.0, 16384.0, 4096.0, "B/s", "disk sda", "Disk Read"]
    if cores:
        yield [2, 75.0, 50.0, 50.0, 50.0, 50.0, 50.0, 75e7, "% of the time", "core 0", "CPU Busy"]


def main():
    name, _, arg = sys.argv[1].partition(":")
    rows = {"gpu_metrics_sum": metrics, "gpu_energy_sum": energy, "gpu_health_sum": health, "host_counters_sum": host}[name](arg)
    got = list(csv.reader(x for x in sys.stdin if x.strip()))
    want = [[str(x) for x in row] for row in rows]
    same = len(got) == len(want)
    for g, w in zip(got, want):
        for x, y in zip(g, w):
            try:
                fits = abs(float(x) - float(y)) <= 0.0051 + 1e-9 * abs(float(y))
            except ValueError:
                fits = x == y
            if not fits or len(g) != len(w):
                same = False
                print("got ", g, "\nwant", w, f"\n({x} is not {y})")
                break
    if len(got) != len(want):
        print(f"{len(got)} rows, not {len(want)}")
    return 0 if same else 1


sys.exit(main())

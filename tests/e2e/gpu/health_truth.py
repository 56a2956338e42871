#!/usr/bin/env python3
"""health_truth.py COMMAND... - what the stand-in for NVML gave against what a report has.

  rows LOG REPORT GPUS   every value in the log that lies in the recording is a row, at its time, and no other row is
  order REPORT           rows of GPU_METRICS in the order of time; one timestamp per sample; ranges; gaps marked
  known REPORT           sums and means of the known curves, within 1 %
  gap REPORT             some span without samples, and it is marked
"""
import collections
import json
import math
import sqlite3
import sys

FIELDS = {83: ("Energy", 1e-3), 186: ("Power", 1e-3), 74: ("Throttled: Power", 1), 269: ("Throttled: HW Thermal Slowdown", 1),
          197: ("PCIe TX", 1), 198: ("PCIe RX", 1), 138: ("NVLink TX Data", 1024), 82: ("Memory Temperature", 1),
          3: ("ECC Corrected", 1), 4: ("ECC Uncorrected", 1), 94: ("PCIe Replays", 1)}
METRICS = {1: "GR Active [Throughput %]", 2: "SMs Active [Throughput %]", 3: "Compute Warps in Flight [Throughput %]",
           5: "Tensor Active [Throughput %]", 10: "DRAM Bandwidth [Throughput %]", 20: "PCIe TX [Bytes]", 21: "PCIe RX [Bytes]"}
SAMPLES = {1: "GPU Utilization", 2: "Memory Utilization"}
bad = []


def wrong(text):
    bad.append(text)


def zero_of(db):
    return db.execute("SELECT systemClockNs FROM TARGET_INFO_SESSION_START_TIME").fetchone()[0]


def gpus_of(db):
    """TARGET_INFO_GPU.id by the number in the stand-in: the last byte of the UUID."""
    return {int(uuid[-2:], 16): gpu for gpu, uuid in db.execute("SELECT id, uuid FROM TARGET_INFO_GPU")}


def read_log(path):
    given = collections.defaultdict(list)
    with open(path, encoding="utf-8") as f:
        for line in f:
            word = line.split()
            if word[0] == "VIOLATION":
                wrong(line.strip())
            elif word[0] != "init":
                given[int(word[0]), word[1]].append((int(word[2]), float(word[3])))
    return given


def counter_rows(db, gpu, name, zero):
    return [(t + zero, v) for t, v in db.execute(
        "SELECT timestamp, value FROM SL_COUNTER_SAMPLES JOIN SL_COUNTERS c ON c.id = counterId "
        "WHERE c.scope = 'gpu' AND c.gpuId = ? AND c.name = ? ORDER BY timestamp", (gpu, name))]


LINK_ROUND = 2**32 / (16 * 1.969)  # ns in which the stand-in's link, of generation 4, carries 4 GiB


def near(a, b):
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)


def compare_counter(name, rows, given, is_sum):
    """The i-th row is the i-th reading: the time within the call, the value as it was, or its difference to the one before."""
    if not rows:
        wrong(f"{name}: no rows")
        return
    # The first row is some reading; from there on each has its row, up to the end of the recording.
    first = min(range(len(given)), key=lambda i: abs(given[i][0] - rows[0][0]))
    if len(given) - first - len(rows) not in (0, 1):
        wrong(f"{name}: {len(rows)} rows of {len(given)} readings, from the {first}-th on")
    for i, (t, v) in enumerate(rows[:len(given) - first]):
        at, value = given[first + i]
        if abs(t - at) > 20_000_000:
            wrong(f"{name}: row {i} at {t}, read at {at}")
        if is_sum and i == 0:
            if v is not None:
                wrong(f"{name}: the first value of a sum is {v}")
        elif is_sum:
            step = (value - given[first + i - 1][1]) % (2**32 if name.startswith("PCIe") else 2**64)
            factor = next(f for n, f in FIELDS.values() if n == name)
            # A counter of 32 bits that the link can carry round in less than the time between two readings is not known.
            round_trips = (at - given[first + i - 1][0]) / LINK_ROUND if name in ("PCIe TX", "PCIe RX") else 0
            if v is None and round_trips > 0.95 or v is not None and round_trips < 1.05 and near(v, step * factor):
                continue
            if v is None or round_trips >= 1.05 or not near(v, step * factor):
                wrong(f"{name}: row {i} is {v}, not {step * factor}")
        elif v is None or not near(v, value):
            wrong(f"{name}: row {i} is {v}, not {value}")


def rows(log, report, gpus):
    given = read_log(log)
    db = sqlite3.connect(report)
    zero = zero_of(db)
    number = gpus_of(db)
    sums = {name for name, in db.execute("SELECT name FROM SL_COUNTERS WHERE isSum = 1")}
    for g in range(int(gpus)):
        for field, (name, factor) in FIELDS.items():
            read = [(t, v if name in sums else v * factor) for t, v in given[g, f"field{field}"]]
            compare_counter(name, counter_rows(db, number[g], name, zero), read, name in sums)
        for kind, name in SAMPLES.items():
            have = dict(given[g, f"samples{kind}"])
            got = counter_rows(db, number[g], name, zero)
            if len(got) < 20:
                wrong(f"{name}: {len(got)} rows")
            for t, v in got:
                at = min(have, key=lambda x: abs(x - t))
                if abs(at - t) > 2_000_000 or have[at] != v:
                    wrong(f"{name}: {v} at {t}, the stand-in had {have[at]} at {at}")
        compare_metrics(db, given, g, number[g], zero)


def compare_metrics(db, given, g, gpu, zero):
    got = collections.defaultdict(list)
    for t, name, value, exact in db.execute(
            "SELECT timestamp, metricName, value, exact FROM GPU_METRICS JOIN TARGET_INFO_GPU_METRICS USING (typeId, metricId) "
            "WHERE typeId & 0xFF = ? ORDER BY timestamp", (gpu,)):
        if exact is not None and round(exact) != value and abs(exact - value) != 0.5:
            wrong(f"{name}: {value} is not {exact}, rounded")
        got[name].append((t + zero, value if exact is None else exact))
    for metric, name in METRICS.items():
        # Before a stream is described each metric is asked for once more.
        read = given[g, f"gpm{metric}"]
        have = got.pop(name, [])
        if not 0 <= len(read) - len(have) <= 2:
            wrong(f"{name}: {len(have)} rows of {len(read)} samples")
            continue
        for i, (t, v) in enumerate(have):
            at, value = read[i]
            if abs(t + 105_263_158 - at) > 60_000_000:
                wrong(f"{name}: sample {i} begins at {t}, and was read at {at}")
            if metric >= 20:  # a rate in MiB/s over the sample's length, which the next timestamp ends
                if i + 1 < len(have):
                    value *= 1048576 * (have[i + 1][0] - t) / 1e9
                    if abs(v / value - 1) > 1e-6:
                        wrong(f"{name}: sample {i} is {v} bytes, not {value}")
            elif not near(v, value):
                wrong(f"{name}: sample {i} is {v}, not {value}")
    for name in got:
        wrong(f"{name}: the stand-in has no such metric")


def has_metrics(db):
    return db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'GPU_METRICS'").fetchone()[0]


def order(report):
    db = sqlite3.connect(report)
    if not has_metrics(db):  # it ended before the first one
        return
    last = None
    for t, in db.execute("SELECT timestamp FROM GPU_METRICS ORDER BY rowid"):
        if last is not None and t < last:
            wrong(f"{t} stands behind {last}")
        last = t
    for name, cnt in db.execute("SELECT metricId, count(DISTINCT metricName) FROM TARGET_INFO_GPU_METRICS GROUP BY 1"):
        if cnt != 1:
            wrong(f"metric {name} has {cnt} names")
    for name, cnt in db.execute("SELECT metricName, count(DISTINCT metricId) FROM TARGET_INFO_GPU_METRICS GROUP BY 1"):
        if cnt != 1:
            wrong(f"{name} has {cnt} numbers")
    outside = db.execute("SELECT count(*) FROM GPU_METRICS JOIN TARGET_INFO_GPU_METRICS USING (typeId, metricId) WHERE metricName "
                         "LIKE '%[Throughput %]%' AND (value NOT BETWEEN 0 AND 100 OR exact NOT BETWEEN 0 AND 100)").fetchone()[0]
    if outside:
        wrong(f"{outside} throughputs are no percentages")
    for gpu, uuid in db.execute("SELECT id, uuid FROM TARGET_INFO_GPU WHERE name NOT LIKE '%MIG%'"):
        if gpu != int(uuid[-2:], 16):
            wrong(f"{uuid} is GPU {gpu}")
    lost = db.execute("SELECT count(*) FROM GPU_METRICS WHERE typeId & 0xFF NOT IN (SELECT id FROM TARGET_INFO_GPU)").fetchone()[0]
    if lost or db.execute("SELECT count(DISTINCT sourceId) FROM TARGET_INFO_GPU_METRICS").fetchone()[0] != 1:
        wrong("typeId names no GPU, or there are several sources")
    check_gaps(db)


def gaps_of(db):
    has = db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'SL_GPU_METRIC_GAPS'").fetchone()[0]
    return db.execute("SELECT typeId, start, end FROM SL_GPU_METRIC_GAPS").fetchall() if has else []


def check_gaps(db):
    """Every span of more than 1.5 periods between two samples has a gap that ends where the second begins."""
    gaps = gaps_of(db)
    for kind, period in db.execute("SELECT typeId, 1e9 / min(realHz) FROM SL_GPU_METRIC_SETS GROUP BY 1").fetchall():
        times = [t for t, in db.execute("SELECT DISTINCT timestamp FROM GPU_METRICS WHERE typeId = ? ORDER BY 1", (kind,))]
        for a, b in zip(times, times[1:]):
            # A GPM sample is as long as it takes to come; one that came late is no gap, but its length is not known here.
            if b - a > 4 * period and not any(k == kind and end == b for k, _, end in gaps):
                wrong(f"no gap marked between {a} and {b}")


def known(report):
    db = sqlite3.connect(report)
    want = {"Energy": 100, "Throttled: Power": 5e8, "PCIe TX": 1e9, "PCIe RX": 2e9, "NVLink TX Data": 102400000}
    for name, per_second in want.items():
        got = counter_rows(db, gpus_of(db)[0], name, 0)
        span = (got[-1][0] - got[0][0]) / 1e9
        total = sum(v for _, v in got if v is not None)
        # The energy counter moves every 100 ms.
        if abs(total - per_second * span) > per_second * span * 0.01 + per_second * (0.1 if name == "Energy" else 0.03):
            wrong(f"{name}: {total} in {span} s, not {per_second} per second")
    # Bytes of GPM: the rate is known.
    t0, t1, total = db.execute(
        "SELECT min(timestamp), max(timestamp), sum(value) FROM GPU_METRICS JOIN TARGET_INFO_GPU_METRICS USING (typeId, metricId) "
        "WHERE metricName = 'PCIe TX [Bytes]'").fetchone()
    rate = total / ((t1 - t0) / 1e9 + 0.1053)
    if abs(rate / (1000.25 * 1048576) - 1) > 0.03:
        wrong(f"PCIe TX: {rate} bytes per second")


def gap(report):
    db = sqlite3.connect(report)
    gaps = gaps_of(db)
    end = db.execute("SELECT duration FROM ANALYSIS_DETAILS").fetchone()[0]
    last = db.execute("SELECT max(timestamp) FROM GPU_METRICS").fetchone()[0] if has_metrics(db) else None
    if last is not None and end - last > 450_000_000 and not any(b >= end - 450_000_000 for _, a, b in gaps):
        wrong(f"no sample from {last} to {end}, and no gap reaches there: {gaps}")
    # Levels end: the last row of each is NULL.
    if not db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'SL_COUNTERS'").fetchone()[0]:
        return
    for name, value in db.execute("SELECT name, (SELECT value FROM SL_COUNTER_SAMPLES WHERE counterId = c.id ORDER BY timestamp DESC "
                                  "LIMIT 1) FROM SL_COUNTERS c WHERE name IN ('Power', 'SM Clock')"):
        if value is not None:
            wrong(f"{name} does not end: {value}")


def main():
    {"rows": rows, "order": order, "known": known, "gap": gap}[sys.argv[1]](*sys.argv[2:])
    for text in bad[:20]:
        print(text)
    if len(bad) > 20:
        print(json.dumps({"more": len(bad) - 20}))
    return 1 if bad else 0


sys.exit(main())

#!/usr/bin/python3
"""health_pm.py CHECK REPORT [ARGUMENT...] - rows of PM sampling against the curves of the stand-in (tests/standin/cupti_pm.h).

The stand-in numbers its samples in the GPC clock, so what is missing is known without the times, and CLOCK_MONOTONIC is the
rows' rawTimestamp. Status 1 and a line for each thing that is wrong.
"""
import collections
import sqlite3
import sys

NS = 1000000000
CLOCK_ERROR = 60000  # two clocks are read one after the other
wrong = []


def bad(text, *args):
    if len(wrong) < 10:
        print(text % args)
    wrong.append(text)


def samples(db, gpu=0):
    """[(timestamp, raw, {name: value})] of a GPU, in order; value: exact where there is one."""
    names = dict(db.execute("SELECT DISTINCT metricId, metricName FROM TARGET_INFO_GPU_METRICS"))
    found = collections.OrderedDict()
    for raw, at, metric, value, exact in db.execute(
            "SELECT rawTimestamp, timestamp, metricId, value, exact FROM GPU_METRICS WHERE typeId & 255 = ? ORDER BY timestamp", (gpu,)):
        if exact is not None and value != round(exact) and abs(value - exact) != 0.5:
            bad("%s is %d, and exactly %r", names[metric], value, exact)
        row = found.setdefault(at, (raw, {}))
        if names[metric] in row[1]:
            bad("two values of %s at %d", names[metric], at)
        row[1][names[metric]] = value if exact is None else exact
    return [(at, raw, values) for at, (raw, values) in found.items()]


def gaps(db, gpu=0):
    return db.execute("SELECT start, end, why FROM SL_GPU_METRIC_GAPS WHERE typeId & 255 = ? ORDER BY start", (gpu,)).fetchall() \
        if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'SL_GPU_METRIC_GAPS'").fetchone() else []


def number(values):
    return round(values["GPC Clock Frequency [MHz]"] - 1e9)


def check_value(raw, values, period):
    t0 = (raw + period // 2) // period * period
    if abs(t0 - raw) > CLOCK_ERROR:
        bad("a sample begins %d ns off", raw - t0)
    ramp = t0 % (10 * NS) / (10.0 * NS) * 100
    want = {"SMs Active [Throughput %]": 20 if t0 // NS % 2 else 80, "DRAM Read Bandwidth [Throughput %]": ramp,
            "DRAM Write Bandwidth [Throughput %]": 100 - ramp if number(values) % 997 else None, "SYS Clock Frequency [MHz]": 1.9e9}
    for name, v in want.items():
        got = values.get(name)
        if (got is None) != (v is None) or (v is not None and abs(got - v) > 1e-6):
            bad("%s of sample %d is %r, not %r", name, number(values), got, v)
    for name, v in values.items():
        if "%]" in name and not 0 <= v <= 100:
            bad("%s is %r", name, v)


def curves(db, least, period="100000"):
    """Value by value; what is missing is a gap, and gaps are where something is missing."""
    period = int(period)
    rows = samples(db)
    marked = {start: end for start, end, _ in gaps(db)}
    if len(rows) < int(least):
        bad("%d samples", len(rows))
    last = None
    for at, raw, values in rows:
        check_value(raw, values, period)
        if last:
            missing = number(values) - last[1] - 1
            if abs(at - last[0] - (missing + 1) * period) > CLOCK_ERROR:
                bad("%d ns from sample %d to %d", at - last[0], last[1], number(values))
            inside = [s for s, e in marked.items() if last[0] < s < at]
            if bool(missing) != bool(inside):
                bad("%d samples are missing behind %d, and %d gaps are marked", missing, last[1], len(inside))
            for s in inside:
                if abs(s - last[0] - period) > CLOCK_ERROR or marked[s] != at:
                    bad("the gap %d..%d is that from %d to %d", s, marked[s], last[0] + period, at)
        last = (at, number(values))
    print("%d samples, %d gaps" % (len(rows), len(marked)))


def holes(db, least=1, why="overflow"):
    """Without a fixed period: each number that is missing is in a gap of that kind, but for the end."""
    rows, found = samples(db), gaps(db)
    last, cnt = None, 0
    for at, _, values in rows:
        if last and number(values) != last[1] + 1:
            inside = [w for s, _, w in found if last[0] < s < at]
            cnt += inside == [why]
            if len(inside) != 1:
                bad("%d gaps for samples %d to %d", len(inside), last[1], number(values))
        last = (at, number(values))
    if cnt < int(least):
        bad("%d gaps of %s", cnt, why)


def kernels(db):
    """Tensor Active is the share in which kernels ran, by the rows of kernels: one clock for both."""
    ran = db.execute("SELECT start, end FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY start").fetchall()
    rows = samples(db)
    first, active, cover, off = 0, 0.0, 0.0, 0
    for at, _, values in rows:
        share = values["Tensor Active [Throughput %]"] * 1000  # ns of 100 us
        while first < len(ran) and ran[first][1] < at - CLOCK_ERROR:
            first += 1
        within = sum(max(0, min(e, at + 100000) - max(s, at)) for s, e in ran[first:first + 200])
        around = sum(max(0, min(e, at + 100000 + CLOCK_ERROR) - max(s, at - CLOCK_ERROR)) for s, e in ran[first:first + 200])
        off += share > around + 1
        active += share
        cover += within
    if off > len(rows) / 1000:
        bad("in %d of %d samples tensor cores run longer than kernels", off, len(rows))
    if not cover or abs(active - cover) > cover / 20:
        bad("tensor cores ran for %.0f ns, kernels for %.0f ns", active, cover)
    print("%d samples, %d kernels: %.0f and %.0f us" % (len(rows), len(ran), active / 1000, cover / 1000))


def two(db, period):
    """As readers of nsys's tables ask: by typeId & 255, by metricId alone, nsys's documentation."""
    # The driver's number is the last byte of the stand-in's uuid.
    chips = dict(db.execute("SELECT substr(s.uuid, -2), chip FROM SL_GPU_METRIC_SETS s"
                            " JOIN TARGET_INFO_GPU t ON t.id = typeId & 255 AND t.uuid = s.uuid"))
    if chips != {"00": "GH100", "01": "GA102"}:
        bad("chips: %r", chips)
    for gpu in 0, 1:
        rows = samples(db, gpu)
        if len(rows) < 1000:
            bad("GPU %d: %d samples", gpu, len(rows))
        for _, raw, values in rows:
            check_value(raw, values, int(period))
        if not db.execute("SELECT 1 FROM TARGET_INFO_GPU WHERE id = ?", (gpu,)).fetchone():
            bad("no GPU %d", gpu)
    # The example of nsys's documentation.
    for (value,) in db.execute("SELECT value FROM GPU_METRICS LEFT JOIN TARGET_INFO_GPU_METRICS USING (typeId, metricId)"
                               " WHERE metricName = 'SMs Active [Throughput %]'"):
        if value not in (20, 80):
            bad("SMs Active: %d", value)
    names, ids = db.execute("SELECT count(DISTINCT metricName), count(DISTINCT metricId) FROM TARGET_INFO_GPU_METRICS").fetchone()
    if names != ids:
        bad("a metricId has two names")
    if db.execute("SELECT count(DISTINCT sourceId) FROM TARGET_INFO_GPU_METRICS").fetchone()[0] != 1:
        bad("two sources")


def main():
    db = sqlite3.connect("file:%s?mode=ro" % sys.argv[2], uri=True)
    {"curves": curves, "holes": holes, "kernels": kernels, "two": two}[sys.argv[1]](db, *sys.argv[3:])
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

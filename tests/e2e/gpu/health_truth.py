#!/usr/bin/env python3
"""health_truth.py COMMAND... - what the stand-in for NVML gave against what a report has.

  rows LOG REPORT GPUS   every value in the log that lies in the recording is a row, at its time, and no other row is
  order REPORT           rows of GPU_METRICS in the order of time; one timestamp per sample; ranges; gaps marked
  known LOG REPORT       sums of the known curves, between the readings that the log has
  gap LOG REPORT         from the last sample to the end of the program there is a gap

Rows and readings are matched by their order: one thread samples a GPU, so its time of a reading lies between the readings
before and after it in the log, however long the thread waits for a CPU.
"""
import bisect
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


def span_of(db, zero):
    return zero, zero + db.execute("SELECT duration FROM ANALYSIS_DETAILS").fetchone()[0]


def align(rows, given):
    """Numbers of the reading that the first row may be: the one before the row's time, or the one after it."""
    after = bisect.bisect_left([at for at, _ in given], rows[0][0])
    return [i for i in (after - 1, after) if 0 <= i < len(given)]


def sum_is(name, v, steps, ns, most):
    """
    A counter of 32 bits that the link may have carried round between two readings is not known: @ns apart by the log, @most
    if each of them waited for a CPU for as long as its neighbours in the log allow.
    """
    is_pcie = name in ("PCIe TX", "PCIe RX")
    step = steps % (2**32 if name.startswith("PCIe") else 2**64)
    factor = next(f for n, f in FIELDS.values() if n == name)
    return is_pcie and most > LINK_ROUND if v is None else not (is_pcie and ns > LINK_ROUND) and near(v, step * factor)


def without_ends(rows):
    """Rows of a level without those that end it: NULL, one period after the last row where the next one is more than three later."""
    return [row for i, row in enumerate(rows) if i in (0, len(rows) - 1) or row[1] is not None
            or rows[i + 1][0] - rows[i - 1][0] <= 3 * (row[0] - rows[i - 1][0])]


def differences(name, rows, given, is_sum, first, span):
    """What is wrong where the i-th row is reading first + i: its time between its neighbours, its value, and none is left out."""
    found = []
    readings = given[first:first + len(rows)]
    if len(readings) < len(rows):
        return [f"{name}: {len(rows)} rows of {len(given)} readings, from the {first}-th on"]
    for i, ((t, v), (at, value)) in enumerate(zip(rows, readings)):
        n = first + i
        if n and t <= given[n - 1][0] or n + 1 < len(given) and t >= given[n + 1][0]:
            found.append(f"{name}: row {i} at {t}, read at {at}")
        if is_sum and i == 0:
            is_right = v is None
        elif is_sum:
            most = given[min(n + 1, len(given) - 1)][0] - given[max(n - 2, 0)][0]
            is_right = sum_is(name, v, value - given[n - 1][1], at - given[n - 1][0], most)
        else:
            is_right = v is not None and near(v, value)
        if not is_right:
            found.append(f"{name}: row {i} at {t} is {v}, read at {at} as {value}")
    # A reading whose neighbours both lie in the recording does, too.
    last = first + len(rows)
    for n in range(1, len(given) - 1):
        if not first <= n < last and span[0] <= given[n - 1][0] and given[n + 1][0] <= span[1]:
            found.append(f"{name}: no row of the reading at {given[n][0]}")
    return found


def compare_counter(name, rows, given, is_sum, span):
    """Of the readings that the first row may be, the one that fits best. Its number."""
    rows = rows if is_sum else without_ends(rows)
    if is_sum and rows and all(v is None for _, v in rows):
        wrong(f"{name}: none is known")
    tries = [(differences(name, rows, given, is_sum, first, span), first) for first in (align(rows, given) if rows else [])]
    if not tries:
        wrong(f"{name}: no rows")
        return 0
    found, first = min(tries, key=lambda x: len(x[0]))
    bad.extend(found)
    return first


def rows(log, report, gpus):
    given = read_log(log)
    db = sqlite3.connect(report)
    zero = zero_of(db)
    number = gpus_of(db)
    span = span_of(db, zero)
    sums = {name for name, in db.execute("SELECT name FROM SL_COUNTERS WHERE isSum = 1")}
    for g in range(int(gpus)):
        for field, (name, factor) in FIELDS.items():
            read = [(t, v if name in sums else v * factor) for t, v in given[g, f"field{field}"]]
            compare_counter(name, counter_rows(db, number[g], name, zero), read, name in sums, span)
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


def taken_of(given, g):
    return [at for at, _ in given[g, "taken0"]]


def compare_metrics(db, given, g, gpu, zero):
    """A sample lasts from where the driver was asked for it, behind a line "taken", to the same of the next one, whose values it has."""
    span, taken = span_of(db, zero), taken_of(given, g)
    got = collections.defaultdict(list)
    for t, name, value, exact in db.execute(
            "SELECT timestamp, metricName, value, exact FROM GPU_METRICS JOIN TARGET_INFO_GPU_METRICS USING (typeId, metricId) "
            "WHERE typeId & 0xFF = ? ORDER BY timestamp", (gpu,)):
        if exact is not None and round(exact) != value and abs(exact - value) != 0.5:
            wrong(f"{name}: {value} is not {exact}, rounded")
        got[name].append((t + zero, value if exact is None else exact))
    for metric, name in METRICS.items():
        read = dict(given[g, f"gpm{metric}"])
        have = {bisect.bisect_right(taken, t) - 1: (t, v) for t, v in got.pop(name, [])}
        for k, (begin, end) in enumerate(zip(taken, taken[1:])):
            if k not in have and span[0] <= begin and end <= span[1]:
                wrong(f"{name}: no row of the sample from {begin} to {end}")
        for k, (t, v) in have.items():
            if k < 0 or k + 1 >= len(taken):
                wrong(f"{name}: the sample at {t} is none of the driver's")
                continue
            value = read[taken[k + 1]]
            if metric < 20:
                if not near(v, value):
                    wrong(f"{name}: the sample at {t} is {v}, not {value}")
            elif k + 1 in have:  # a rate in MiB/s over the sample's length, which the next timestamp ends
                value *= 1048576 * (have[k + 1][0] - t) / 1e9
                if abs(v / value - 1) > 1e-6:
                    wrong(f"{name}: the sample at {t} is {v} bytes, not {value}")
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
    """
    Every span of more than 1.5 periods between two samples has a gap that ends where the second begins. A sample of GPM is as
    long as it takes to come: there spans are compared with the log.
    """
    gaps = gaps_of(db)
    for kind, period in db.execute("SELECT typeId, 1e9 / min(realHz) FROM SL_GPU_METRIC_SETS WHERE source = 'pm' GROUP BY 1").fetchall():
        times = [t for t, in db.execute("SELECT DISTINCT timestamp FROM GPU_METRICS WHERE typeId = ? ORDER BY 1", (kind,))]
        for a, b in zip(times, times[1:]):
            if b - a > 1.5 * period and not any(k == kind and end == b for k, _, end in gaps):
                wrong(f"no gap marked between {a} and {b}")


# Of a field: what comes together in a second, and for how many seconds it may stand still.
CURVES = {83: (100, 0.1), 74: (5e8, 0.001), 197: (1e9, 0.001), 198: (2e9, 0.001), 138: (102400000, 0.001)}


def known(log, report):
    given, db = read_log(log), sqlite3.connect(report)
    zero = zero_of(db)
    for field, (per_second, still) in CURVES.items():
        name, read = FIELDS[field][0], given[0, f"field{field}"]
        got = counter_rows(db, gpus_of(db)[0], name, zero)
        first = compare_counter(name, got, read, True, span_of(db, zero))
        at = [t for t, _ in read[first:]]
        ns = [b - a for a, b in zip(at, at[1:])]
        sums = [(v, n) for (_, v), n in zip(got[1:], ns)]
        total, seconds = sum(v for v, _ in sums if v is not None), sum(n for v, n in sums if v is not None) / 1e9
        lacks = sum(v is None for v, _ in sums)
        if abs(total - per_second * seconds) > per_second * still * (1 + lacks):
            wrong(f"{name}: {total} in {seconds} s, not {per_second} per second")
    # Bytes of GPM: the rate is known. The end of the last sample is not.
    samples = db.execute("SELECT timestamp, value FROM GPU_METRICS JOIN TARGET_INFO_GPU_METRICS USING (typeId, metricId) "
                         "WHERE metricName = 'PCIe TX [Bytes]' ORDER BY timestamp").fetchall()
    rate = sum(v for _, v in samples[:-1]) / ((samples[-1][0] - samples[0][0]) / 1e9)
    if abs(rate / (1000.25 * 1048576) - 1) > 1e-6:
        wrong(f"PCIe TX: {rate} bytes per second")


def gap(log, report):
    db = sqlite3.connect(report)
    if not has_metrics(db):  # it ended before the first one
        return
    zero = zero_of(db)
    taken = [at - zero for at in taken_of(read_log(log), 0)]
    last = db.execute("SELECT max(timestamp) FROM GPU_METRICS").fetchone()[0]
    end = db.execute("SELECT max(end) FROM OSRT_API").fetchone()[0]
    begins = [at for at in taken if at > last][:2]  # the end of the last sample, and of one that did not become a row
    if not any(begins[0] <= a < min(begins[1:], default=end) and b >= end for _, a, b in gaps_of(db)):
        wrong(f"no gap from the end of the last sample, {begins}, to {end}: {gaps_of(db)}")


def main():
    {"rows": rows, "order": order, "known": known, "gap": gap}[sys.argv[1]](*sys.argv[2:])
    for text in bad[:20]:
        print(text)
    if len(bad) > 20:
        print(json.dumps({"more": len(bad) - 20}))
    return 1 if bad else 0


sys.exit(main())

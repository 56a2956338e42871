#!/usr/bin/env python3
"""metrics_readers.py REPORT LOG GPUS: asks for GPU_METRICS as public tools do, and compares with what the stand-in gave (LOG).

- BSC's nsys2prv: the device is typeId & 0xFF, all metrics of a sample share one timestamp, negative times are dropped;
- nsys's documentation and many scripts: a join on metricId alone;
- scripts that evaluate training: AVG(value) between the bounds of an NVTX range.
"""
import bisect
import collections
import itertools
import sqlite3
import sys

NAMES = {1: "GR Active [Throughput %]", 2: "SMs Active [Throughput %]", 5: "Tensor Active [Throughput %]"}


def read_log(path, zero):
    """Readings of metrics, and moments at which the driver was asked for a sample ("taken"), by GPU: (time, value)."""
    given = collections.defaultdict(list)
    with open(path, encoding="utf-8") as f:
        for line in f:
            word = line.split()
            if len(word) == 4 and word[1].startswith("gpm") and int(word[1][3:]) in NAMES:
                given[int(word[0]), NAMES[int(word[1][3:])]].append((int(word[2]) - zero, float(word[3])))
            elif word[1] == "taken0":
                given[int(word[0]), "taken"].append((int(word[2]) - zero, 0))
    return given


def nsys2prv(db):
    rows = db.execute("SELECT timestamp, typeId & 0xFF AS deviceId, typeId, metricId, value FROM GPU_METRICS WHERE timestamp >= 0").fetchall()
    names = dict(db.execute("SELECT metricId, metricName FROM TARGET_INFO_GPU_METRICS"))
    samples = collections.defaultdict(dict)
    for ns, device, type_id, metric, value in rows:
        samples[device, type_id, ns][names[metric]] = value
    return samples


def main():
    db, gpus, bad = sqlite3.connect(sys.argv[1]), int(sys.argv[3]), []
    zero = db.execute("SELECT systemClockNs FROM TARGET_INFO_SESSION_START_TIME").fetchone()[0]
    end_of_all = db.execute("SELECT duration FROM ANALYSIS_DETAILS").fetchone()[0]
    given = read_log(sys.argv[2], zero)
    samples = nsys2prv(db)
    width = {len(s) for s in samples.values()}
    if len(width) != 1 or len({k[0] for k in samples}) != gpus:
        bad.append(f"nsys2prv: samples of {width} metrics, GPUs {({k[0] for k in samples})}")
    for (device, _, ns), sample in samples.items():
        if sample["GR Active [Throughput %]"] != 90 - device or sample["Tensor Active [Throughput %]"] != 0 or \
                sample["SMs Active [Throughput %]"] not in (20, 80):
            bad.append(f"nsys2prv: GPU {device} at {ns}: {sample}")
    for device in range(gpus):
        # A sample begins behind the moment at which the driver was asked, and before the next one; those within the recording are there.
        taken = [ns for ns, _ in given[device, "taken"]]
        begun = [bisect.bisect_right(taken, k[2]) - 1 for k in samples if k[0] == device]
        within = {i for i in range(len(taken) - 1) if 0 <= taken[i] and taken[i + 1] <= end_of_all}
        if sorted(begun) != sorted(set(begun)) or not within <= set(begun) or not within:
            bad.append(f"GPU {device}: {len(begun)} samples, of {len(within)} within the recording {len(within & set(begun))}")
    # The documentation's query: it has each row once for each GPU that has the metric, and so its averages are right.
    joined = db.execute("SELECT metricName, value, count(*) FROM GPU_METRICS JOIN TARGET_INFO_GPU_METRICS USING (metricId) "
                        "WHERE metricName LIKE 'GR Active%' GROUP BY 1, 2").fetchall()
    if sorted(v for _, v, _ in joined) != sorted(90 - g for g in range(gpus)) or {n for n, _, _ in joined} != {NAMES[1]}:
        bad.append(f"USING (metricId): {joined}")
    if db.execute("SELECT count(DISTINCT sourceId) FROM TARGET_INFO_GPU_METRICS").fetchone()[0] != 1:
        bad.append("several sources")
    # Averages between the bounds of a range, per GPU: against the log.
    start, end = db.execute("SELECT start, end FROM NVTX_EVENTS LEFT JOIN StringIds ON id = textId "
                            "WHERE eventType IN (59, 60) AND coalesce(text, value) LIKE '%work%' LIMIT 1").fetchone()
    for device in range(gpus):
        mean, n = db.execute("SELECT AVG(value), count(*) FROM GPU_METRICS WHERE metricId = (SELECT min(metricId) FROM TARGET_INFO_GPU_METRICS "
                             "WHERE metricName = 'SMs Active [Throughput %]') AND typeId & 0xFF = ? AND timestamp BETWEEN ? AND ?",
                             (device, start, end)).fetchone()
        # Those that begin in the range have the values of the readings that end them. One at each end may begin in it or before it.
        taken, values = [ns for ns, _ in given[device, "taken"]], dict(given[device, NAMES[2]])
        inside = [values[taken[i + 1]] for i in range(len(taken) - 1) if start <= taken[i] and taken[i + 1] <= end]
        edges = [values[taken[i + 1]] for i in range(len(taken) - 1) if taken[i] < start < taken[i + 1] or taken[i] < end < taken[i + 1]]
        could = [(sum(inside + list(more)) / len(inside + list(more)), len(inside) + len(more))
                 for r in range(len(edges) + 1) for more in itertools.combinations(edges, r) if inside or more]
        if not inside or not any(n == have and abs(mean - value) < 1e-9 for value, have in could):
            bad.append(f"AVG in a range on GPU {device}: {mean} of {n}, not one of {could}")
    for line in bad[:20]:
        print(line)
    return 1 if bad else 0


sys.exit(main())

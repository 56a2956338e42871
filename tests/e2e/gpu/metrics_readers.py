#!/usr/bin/env python3
"""metrics_readers.py REPORT LOG GPUS: asks for GPU_METRICS as public tools do, and compares with what the stand-in gave (LOG).

- BSC's nsys2prv: the device is typeId & 0xFF, all metrics of a sample share one timestamp, negative times are dropped;
- nsys's documentation and many scripts: a join on metricId alone;
- scripts that evaluate training: AVG(value) between the bounds of an NVTX range.
"""
import collections
import sqlite3
import sys

NAMES = {1: "GR Active [Throughput %]", 2: "SMs Active [Throughput %]", 5: "Tensor Active [Throughput %]"}


def read_log(path, zero):
    given = collections.defaultdict(list)
    with open(path, encoding="utf-8") as f:
        for line in f:
            word = line.split()
            if len(word) == 4 and word[1].startswith("gpm") and int(word[1][3:]) in NAMES:
                given[int(word[0]), NAMES[int(word[1][3:])]].append((int(word[2]) - zero, float(word[3])))
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
        # The stand-in's log has all readings; the first one of a run ends no sample.
        n = sum(1 for k in samples if k[0] == device)
        if not 0 <= len(given[device, NAMES[1]]) - n <= 3 or n < 10:
            bad.append(f"GPU {device}: {n} samples of {len(given[device, NAMES[1]])}")
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
        # A sample's timestamp is where it begins, and the reading that ends it has its value: so the log's next ones.
        times = [ns for ns, _ in given[device, NAMES[2]]]
        values = [given[device, NAMES[2]][i + 1][1] for i, ns in enumerate(times[:-1]) if start <= ns <= end]
        if not n or not values or abs(mean - sum(values) / len(values)) > 100 * 2 / len(values):
            bad.append(f"AVG in a range on GPU {device}: {mean} of {n}, not {values}")
    for line in bad[:20]:
        print(line)
    return 1 if bad else 0


sys.exit(main())

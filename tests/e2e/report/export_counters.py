#!/usr/bin/env python3
"""export_counters.py REPORT CHROME: counters of a Chrome trace against the rows of the report: each sample at its time with its value
and unit, sums as rates from the sample before on, gaps where samples are missing, nothing between two samples."""
import collections
import json
import sqlite3
import sys

UNITS = {("B", 0): "bytes", ("B", 1): "bytes/s", ("ns", 1): "%", ("J", 1): "W", ("W", 0): "W", ("count", 0): "value", ("count", 1): "/s"}


def rows_of(db):
    """{(name, unit): [(ns, value)]}; None: nothing is known from then on."""
    want = collections.defaultdict(list)
    prefix = {"gpu": lambda s, n, g: f"GPU {g}: ", "host": lambda s, n, g: "", "core": lambda s, n, g: f"CPU {s}: ",
              "process": lambda s, n, g: f"GPU {g}, process {s >> 24 & 0xFFFFFF}: ", "cgroup": lambda s, n, g: "cgroup: ",
              "disk": lambda s, n, g: f"{n}: "}
    for cid, scope, sid, sname, gpu, name, unit, is_sum in db.execute("SELECT * FROM SL_COUNTERS"):
        track = want[prefix[scope](sid, sname, gpu) + name, UNITS[unit, is_sum]]
        before = None
        samples = db.execute("SELECT timestamp, value FROM SL_COUNTER_SAMPLES WHERE counterId = ? ORDER BY 1", (cid,)).fetchall()
        for ns, value in samples:
            if not is_sum:
                track.append((ns, value))
            elif before is not None:
                track.append((before, None if value is None else value * (100.0 if unit == "ns" else 1e9) / (ns - before)))
            before = ns
        if is_sum and len(samples) > 1:
            track.append((samples[-1][0], None))
    for ns, type_id, name, value in db.execute("SELECT timestamp, typeId, metricName, coalesce(value, 0) FROM GPU_METRICS "
                                               "JOIN TARGET_INFO_GPU_METRICS USING (typeId, metricId)"):
        want[f"GPU {type_id & 0xFF}: {name}", "%"].append((ns, value))
    for ns, type_id in db.execute("SELECT start, typeId FROM SL_GPU_METRIC_GAPS"):
        for name, in db.execute("SELECT metricName FROM TARGET_INFO_GPU_METRICS WHERE typeId = ?", (type_id,)):
            want[f"GPU {type_id & 0xFF}: {name}", "%"].append((ns, None))
    return want


def main():
    db = sqlite3.connect(sys.argv[1])
    want = rows_of(db)
    got = collections.defaultdict(list)
    marks = []
    with open(sys.argv[2], encoding="utf-8") as f:
        for e in json.load(f)["traceEvents"]:
            if e["ph"] == "C":
                (unit, value), = e["args"].items()
                got[e["name"], unit].append((round(e["ts"] * 1000), value))
            elif "not sampled" in e.get("name", ""):
                marks.append((round(e["ts"] * 1000), e["name"]))
    bad = [f"{key}: not there" for key in want if key not in got]
    bad += [f"{key}: not expected" for key in got if key not in want]
    for key in want:
        a, b = sorted(want[key], key=lambda x: x[0]), got.get(key, [])
        if len(a) != len(b):
            bad.append(f"{key}: {len(b)} values, not {len(a)}")
        for (ns, value), (at, there) in zip(a, b):
            if ns != at or abs((value or 0) - there) > 1e-6 * max(1, abs(value or 0)):
                bad.append(f"{key}: {there} at {at}, not {value} at {ns}")
                break
    if marks != [(300000000, "GPU 0 not sampled for 50.0 ms: overflow")]:
        bad.append(f"marks of gaps: {marks}")
    for line in bad[:20]:
        print(line)
    print(f"# {sum(map(len, want.values()))} values on {len(want)} tracks")
    return 1 if bad else 0


sys.exit(main())

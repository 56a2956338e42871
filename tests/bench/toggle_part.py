"""toggle_part.py - recording on and off: how long the call takes that asks for it, and how long threads take to follow.

tests/prog/capture keeps a log of every call of four threads in each of two processes, while a ninth thread opens and
closes a range. A thread follows when its last call that is not in the report has begun (on), or its last one that is
(off); the slowest of the eight counts, for each time.
"""
import bisect
import glob
import os
import shutil
import struct
import subprocess

from tracers import Broken, sqlite

TIMES = 300


def read_log(prefix):
    """{(pid, tid): [(t0, t1, number, kind)]}, as in tests/prog/capture_log.h."""
    note, threads = struct.Struct("<qqqii32s"), {}
    for path in glob.glob(prefix + ".*.*"):
        pid, tid = (int(x) for x in path.split(".")[-2:])
        notes = threads[pid, tid] = []
        with open(path, "rb") as f:
            while True:
                raw = f.read(note.size)
                t0, t1, number, kind = note.unpack(raw)[:4] if len(raw) == note.size else (0, 0, 0, 0)
                if not kind:
                    break
                notes.append((t0, t1, number, chr(kind)))
    return threads


def quantiles(ns):
    ns = sorted(ns)
    return ns[len(ns) // 2] / 1e3, ns[len(ns) * 99 // 100] / 1e3, ns[-1] / 1e3


def part_toggle(bench, table):
    folder = os.path.join(bench.tmp, "toggle")
    os.mkdir(folder)
    log, report = os.path.join(folder, "log"), os.path.join(folder, "toggle.sqlite")
    four = " ".join("thread t%d { meet a 9 flood z 10 200 }" % i for i in range(4))
    steps = "spawn { %s } %s meet a 9 repeat %d { sleep 1 start sleep 1 stop } raise z join" % (four, four, TIMES)
    env = dict(os.environ, CAPTURE_LOG=log, LD_LIBRARY_PATH=bench.bin(""))
    run = subprocess.run([bench.sightline, "profile", "-t", "osrt", "--osrt-threshold=0", "--on-full=block", "-c", "cudaProfilerApi",
                          "--capture-range-end=pause", "-o", report, os.path.join(bench.build, "tests/prog/capture"), steps],
                         env=env, capture_output=True, text=True, check=False)
    if run.returncode:
        raise Broken("toggle: %s" % run.stderr[-300:])
    threads = read_log(log)
    zero = sqlite(report, "SELECT systemClockNs FROM TARGET_INFO_SESSION_START_TIME")[0][0]
    rows = set(sqlite(report, "SELECT globalTid & 0xffffff, fileOffset FROM OSRT_API JOIN StringIds ON id = nameId WHERE value LIKE 'pread%'"))
    asks = sorted(n for notes in threads.values() for n in notes if n[3] in "be")
    if len(asks) != 2 * TIMES or not zero:
        raise Broken("toggle: %d of %d ranges" % (len(asks) // 2, TIMES))
    follow = {"b": [], "e": []}
    calls = {tid: [n for n in notes if n[3] == "c"] for (_, tid), notes in threads.items()}
    starts = {tid: [n[0] for n in notes] for tid, notes in calls.items()}
    for ask, after in zip(asks, asks[1:] + [(1 << 62,)]):
        slowest = 0
        for tid, notes in calls.items():
            for n in notes[bisect.bisect_left(starts[tid], ask[0]):bisect.bisect_left(starts[tid], after[0])]:
                if ((tid, n[2]) in rows) != (ask[3] == "b"):
                    slowest = max(slowest, n[0] - ask[0])
        follow[ask[3]].append(slowest)
    for kind, word in (("b", "Start"), ("e", "Stop")):
        mid, p99, most = quantiles([n[1] - n[0] for n in asks if n[3] == kind])
        table.add("cudaProfiler%s, 8 threads of 2 processes at work: median" % word, mid, None, "", "us")
        table.add("the same: 99 %% and longest: %.0f us" % most, p99, None, "", "us")
        mid, p99, most = quantiles(follow[kind])
        table.add("until the last of 8 threads follows: median", mid, None, "", "us")
        table.add("the same: longest of %d" % TIMES, most, 10000, "bar", "us", "<= 1")
    shutil.rmtree(folder)

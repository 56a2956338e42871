#!/usr/bin/env python3
"""dump_witness.py SIGHTLINE gdb|py-spy WITNESS COMMAND...: stacks of a program that waits, by `sightline dump` and by another tool.

The program prints "ready" when all of its threads are about to wait. Prints "same N" for N threads, or the first difference.
gdb: of each thread the lines of the program's own source, *.cc, of all frames; of the C library gdb invents frames for calls that were jumps.
py-spy: function, file and line of each frame of Python.
"""
import json
import os
import re
import signal
import subprocess
import sys
import time

PATIENCE = 60  # s


def own(sightline, pid):
    out = subprocess.run([sightline, "dump", "-p", str(pid), "-f", "json", "--limit=0", "--max-bytes=0"], capture_output=True, text=True)
    return json.loads(out.stdout)["threads"] if out.returncode == 0 else []


def native(thread):
    return [(os.path.basename(f["file"]), f["line"]) for f in thread["stack"] or [] if (f["file"] or "").endswith(".cc")]


def by_gdb(gdb, pid):
    out = subprocess.run([gdb, "-nx", "-batch", "-iex", "set debuginfod enabled off", "-p", str(pid), "-ex", "thread apply all bt -frame-arguments none"],
                         capture_output=True, text=True).stdout
    threads, tid = {}, None
    for line in out.split("\n"):
        m = re.match(r"Thread \d+ \(.*?(?:LWP |process )(\d+)", line)
        if m:
            tid = int(m.group(1))
            threads[tid] = []
        elif re.match(r"#\d+ ", line) and tid:
            at = re.search(r" at (\S+\.cc):(\d+)$", line)
            if at:
                threads[tid].append((os.path.basename(at.group(1)), int(at.group(2))))
    return threads


def python(thread):
    return [(f["function"].split(".")[-1], os.path.abspath(f["file"]), f["line"]) for f in thread["stack"] or [] if f["kind"] == "python"]


def by_py_spy(spy, pid):
    out = subprocess.run([spy, "dump", "--nonblocking", "--json", "--pid", str(pid)], capture_output=True, text=True)
    if out.returncode:
        return {}
    # Later versions of it have qualified names.
    return [[(f["name"].split(".")[-1], os.path.abspath(f["filename"]), f["line"]) for f in t["frames"]] for t in json.loads(out.stdout)]


def difference(kind, mine, other):
    if kind == "py-spy":
        # Before Python 3.11 it does not know all numbers of threads.
        a, b = sorted(filter(None, map(python, mine))), sorted(other)
        return None if a == b and a else "%s\nnot %s" % ([t for t in a if t not in b], [t for t in b if t not in a])
    view = native
    for t in mine:
        a, b = view(t), other.get(t["tid"])
        if a != b:
            return "thread %d: %s, not %s" % (t["tid"], a, b)
    return None if mine and len(mine) == len(other) else "threads: %d, not %d" % (len(mine), len(other))


def main():
    sightline, kind, witness = sys.argv[1:4]
    p = subprocess.Popen(sys.argv[4:], stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        p.stdout.readline()
        until, wrong = time.monotonic() + PATIENCE, "nothing"
        while wrong and time.monotonic() < until:
            mine = own(sightline, p.pid)
            wrong = difference(kind, mine, (by_gdb if kind == "gdb" else by_py_spy)(witness, p.pid))
        print(wrong or "same %d" % len(mine))
    finally:
        os.killpg(p.pid, signal.SIGKILL)


main()

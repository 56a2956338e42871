#!/usr/bin/env python3
"""containers.py STRACE REPORT [CALLS] - compares the process tree of a report with that of strace -f, which saw another run of
the same command; and the report with itself. Pids differ: trees are compared by what each process executes, and by the
number of its children that execute and have children like that. CALLS: so many processes opened /dev/null.

strace: -f --pidns-translation -e trace=clone,clone3,fork,vfork,execve -e signal=none -o STRACE"""
import re
import sqlite3
import sys
from collections import defaultdict


def canon(execs, children, pid):
    below = defaultdict(int)
    for child in children[pid]:
        below[canon(execs, children, child)] += 1
    return " ".join(["(" + ",".join(execs[pid])] + [f"{n}*{c}" for c, n in sorted(below.items())]) + ")"


def tree_of_strace(path):
    execs, children, process, begun, events = defaultdict(list), defaultdict(list), {}, {}, []
    for line in open(path, errors="replace"):
        m = re.match(r"(\d+) +(.*)", line)
        if not m:
            continue
        tid, text = int(m[1]), re.sub(r"^(\d+) in strace's PID NS \*/ *", "", re.sub(r"^/\* ", "", m[2]))
        if not process:
            process[tid] = root = tid
        if "<unfinished ...>" in text:
            begun[tid] = text.split("<unfinished")[0]
            continue
        if text.startswith("<... "):
            text = begun.pop(tid, "") + re.sub(r"^<\.\.\. \w+ resumed>", "", text)
        m = re.match(r"(\w+)\(.*\) += (-?\d+)(?: /\* (\d+) in strace's PID NS \*/)?", text)
        if not m or m[2].startswith("-"):
            continue
        if m[1].startswith("exec"):
            name = re.match(r'\w+\("([^"]*)"', text)
            events.append((tid, name[1].rsplit("/", 1)[-1] if name else "?"))
        elif "CLONE_THREAD" in text:
            process[int(m[3] or m[2])] = tid
        else:
            events.append((tid, int(m[3] or m[2])))
    # A thread, or the child of a vfork, does things before the call that made it returns.
    for tid, what in events:
        while process.get(tid, tid) != tid:
            tid = process[tid]
        (execs if isinstance(what, str) else children)[tid].append(what)
    return canon(execs, children, root)


def tree_of_report(db):
    execs, children, root, seen = defaultdict(list), defaultdict(list), None, set()
    for pid, parent, kind, exe in db.execute(
            "SELECT globalPid >> 24 & 0xffffff, parentGlobalPid >> 24 & 0xffffff, kind, exe FROM SL_PROCESS_TREE ORDER BY start, kind"):
        if kind != 1 and exe:
            execs[pid].append(exe.rsplit("/", 1)[-1])
        if pid in seen:
            continue
        seen.add(pid)
        if root is None:
            root = pid
        else:
            children[parent].append(pid)
    return canon(execs, children, root), seen


def main():
    db = sqlite3.connect(f"file:{sys.argv[2]}?mode=ro", uri=True)
    want, (got, pids) = tree_of_strace(sys.argv[1]), tree_of_report(db)
    failed = False

    def fail(what):
        nonlocal failed
        failed = True
        print(what)
    if want != got:
        fail(f"process tree\n  strace: {want}\n  report: {got}")
    unknown = sorted(p for p in pids if p >= 0x800000)
    if unknown:
        fail(f"{len(unknown)} processes without a pid")
    open_ended = db.execute("SELECT count(*) FROM SL_PROCESS_TREE WHERE end IS NULL").fetchone()[0]
    if open_ended:
        fail(f"{open_ended} images without an end")
    tables = {r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for table, column in (("OSRT_API", "globalTid"), ("SL_OSRT_TOTALS", "globalTid"), ("SCHED_EVENTS", "globalTid"), ("PROCESSES", "globalPid")):
        if table in tables:
            alien = {r[0] for r in db.execute(f"SELECT DISTINCT {column} >> 24 & 0xffffff FROM {table}")} - pids - {0}
            if alien:
                fail(f"{table} has processes that the tree has not: {sorted(alien)[:5]}")
    if len(sys.argv) > 3:
        callers = db.execute("""SELECT count(DISTINCT processId) FROM OSRT_FILE_ACCESS_DESCRIPTORS
            WHERE filePath = '/dev/null'""").fetchone()[0] if "OSRT_FILE_ACCESS_DESCRIPTORS" in tables else 0
        if callers != int(sys.argv[3]):
            fail(f"{callers} processes opened /dev/null, {sys.argv[3]} wanted")
    return failed


sys.exit(main())

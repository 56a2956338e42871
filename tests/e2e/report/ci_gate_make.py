#!/usr/bin/env python3
"""ci_gate_make.py SCHEMA.sql FOLDER - twelve labelled pairs of sets of runs: FOLDER/VERDICT-N/base/*.sqlite, new/*.sqlite.

A run: one thread that computes at work.py:10, waits for a clock at work.py:20, and computes at work.py:30, as often as it has steps.
"""
import os
import random
import sqlite3
import sys

SCHEMA = open(sys.argv[1], encoding="utf-8").read()
FOLDER = sys.argv[2]
PID = (1 << 48) | (100 << 24)
TID = PID | 100
HOSTILE = "a`b``c|<script>alert(1)</script>\n# @team [x](http://evil.example) ~~s~~ https://evil.example \\"
FUNCTIONS = {10: "compute", 20: "load", 30: HOSTILE}


def report(path, compute, load, save, steps, has_marks):
    """Lengths in ns of one step's pieces."""
    db = sqlite3.connect(path)
    db.executescript(SCHEMA)
    db.execute("INSERT INTO StringIds VALUES (1, '/home/me/work.py'), (2, 'clock_nanosleep')")
    for line, name in FUNCTIONS.items():
        db.execute("INSERT INTO StringIds VALUES (?, ?)", (line, name))
        db.execute("INSERT INTO SL_FRAMES(id, kind, symbol, module, file, line, inlined, kernelMode, unresolved, specialEntry)"
                   " VALUES (?, 1, ?, 1, 1, ?, 0, 0, 0, 0)", (line, line, line))
        db.execute("INSERT INTO SL_STACKS VALUES (?, 0, ?)", (line, line))
    at = 0

    def switch(is_in, waker=None):
        db.execute("INSERT INTO SCHED_EVENTS VALUES (?, 0, ?, ?, 2, NULL)", (at, is_in, TID))
        db.execute("INSERT INTO SL_SCHED_DETAIL VALUES (?, ?, ?, ?, NULL, 120)", (at, TID, None if is_in else 0, at if is_in else None))

    def run(line, ns):
        nonlocal at
        for begin in range(at, at + ns, 1000000):
            db.execute("INSERT INTO COMPOSITE_EVENTS(start, cpu, threadState, globalTid, cpuCycles, stackId) VALUES (?, 0, 1, ?, 1, ?)", (begin, TID, line))
        at += ns

    switch(1)
    for step in range(steps):
        begin = at
        run(10, compute)
        switch(0)
        db.execute("INSERT INTO OSRT_API(start, end, eventClass, globalTid, nameId, returnValue, nestingLevel, callchainId, argumentsId)"
                   " VALUES (?, ?, 27, ?, 2, 0, 0, 20, 0)", (at, at + load, TID))
        at += load
        switch(1)
        run(30, save)
        if has_marks:
            db.execute("INSERT INTO NVTX_EVENTS(start, end, eventType, text, globalTid, domainId) VALUES (?, ?, 59, ?, ?, 0)", (begin, at, "step %d" % step, TID))
    switch(0)
    db.execute("INSERT INTO ANALYSIS_DETAILS VALUES (1 << 48, ?, 0, ?)", (at, at))
    db.execute("INSERT INTO SL_PROCESS_TREE VALUES (?, NULL, 0, ?, 0, 1, '/usr/bin/python3', 'python3 work.py', 0)", (PID, at))
    db.commit()
    db.close()


def side(name, runs, noise, compute=10, load=8, save=2, marks=False, machine="one"):
    """@noise: half of the range over the runs, in per cent; lengths in ms. Runs spread evenly, in an order by chance."""
    folder = os.path.join(FOLDER, name)
    os.makedirs(folder)
    spread = [2 * i / (runs - 1) - 1 if runs > 1 else 0 for i in range(runs)]
    for i, at in enumerate(random.sample(spread, runs)):
        factor = 1 + noise * at / 100 + random.uniform(-0.0002, 0.0002)
        report(os.path.join(folder, "run-%d.sqlite" % i), *(int(ms * 1e6 * factor) for ms in (compute, load, save)), 5, marks)
    with open(os.path.join(folder, "machine.txt"), "w", encoding="utf-8") as f:
        f.write(machine + "\n")


random.seed(42)
PAIRS = {
    "same-1": ({}, {}, 5, 0.5),
    "same-2": ({"marks": True}, {"marks": True}, 5, 0.8),
    "same-3": ({}, {"compute": 10.2}, 6, 0.3),  # 1 %: below the threshold
    "better-1": ({}, {"compute": 7}, 5, 1),
    "better-2": ({"marks": True}, {"marks": True, "save": 1}, 4, 0.5),
    "better-3": ({}, {"load": 4}, 5, 1),  # less waiting: of wall time alone
    "worse-1": ({}, {"compute": 12}, 5, 1),
    "worse-2": ({}, {"load": 11}, 5, 0.5),
    "worse-3": ({"marks": True}, {"marks": True, "save": 4}, 5, 2),
    "noisy-1": ({}, {}, 5, 20),
    "noisy-2": ({}, {"compute": 12}, 2, 0.5),  # too few runs
    "noisy-3": ({}, {"compute": 10.5, "machine": "another"}, 5, 0.5),
}
for pair, (base, new, runs, noise) in PAIRS.items():
    side(pair + "/base", runs, noise, **base)
    side(pair + "/new", runs, noise, **new)

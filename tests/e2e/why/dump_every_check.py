#!/usr/bin/env python3
"""dump_every_check.py SIGHTLINE PYTHON SECONDS: samples of dump_every.py by `sightline dump --every`, against what the program says of itself. Prints
"right", or what is wrong. Bounds of shares follow from the number of samples.
"""
import json
import math
import os
import sqlite3
import subprocess
import sys


def main():
    sightline, python, seconds = sys.argv[1:4]
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "dump_every.py")
    p = subprocess.Popen([python, program, seconds], stdout=subprocess.PIPE, text=True)
    p.stdout.readline()
    out = subprocess.run([sightline, "dump", "-p", str(p.pid), "--every=5ms", "-o", "every"], capture_output=True, text=True)
    truth = json.loads(p.stdout.readline())
    if p.wait() or out.returncode:
        return "status %d: %s" % (out.returncode, out.stderr)
    db = sqlite3.connect("every.sqlite")
    rows = db.execute("""SELECT c.cpuCycles, c.hasGil, c.start, c.end, c.globalTid & 0xffffff, (SELECT group_concat(n.value)
        FROM SL_STACKS AS s JOIN SL_FRAMES AS f ON f.id = s.frameId JOIN StringIds AS n ON n.id = f.symbol WHERE s.id = c.stackId)
        FROM COMPOSITE_EVENTS AS c""").fetchall()
    samples = [(gil, (stack or "").split(",")) for cpu, gil, _, _, _, stack in rows if cpu]
    spins = [(gil, [f for f in stack if f in truth]) for gil, stack in samples if "spin" in stack]
    wrong = []
    if len(spins) < 50:
        return "%d samples" % len(spins)
    for name, share in truth.items():
        mine = sum(f == [name] for _, f in spins) / len(spins)
        if abs(mine - share) > 4 * math.sqrt(share * (1 - share) / len(spins)) + 0.01:
            wrong.append("%s: %.3f of %d, not %.3f" % (name, mine, len(spins), share))
    # The lock changes hands between the sample and the look at it, now and then.
    with_lock = sum(gil == 1 for gil, _ in spins) / len(spins)
    without = [gil for gil, stack in samples if "without_lock" in stack]
    if with_lock < 0.8:
        wrong.append("the thread that spins has the lock in %.2f" % with_lock)
    if not without or sum(gil == 0 for gil in without) / len(without) < 0.8:
        wrong.append("the thread without it: %d samples, %d without the lock" % (len(without), sum(gil == 0 for gil in without)))
    # Waits: one for each thread that sleeps, from the first look to the last one.
    waits = [(end - start, stack or "") for cpu, _, start, end, _, stack in rows if not cpu and "sleeps" in (stack or "")]
    last = max(row[3] or row[2] for row in rows)
    if len(waits) != 40 or min(w[0] for w in waits) < last / 2 or not all("sleep" in w[1].split(",sleeps")[0] for w in waits):
        wrong.append("%d waits, the shortest %s ns of %d" % (len(waits), min(waits, default=None), last))
    return "\n".join(wrong) or "right"


print(main())

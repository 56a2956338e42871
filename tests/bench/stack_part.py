"""stack_part.py - what stacks of native code and Python cost at a call, and what they take in the report."""
import os
import sys
from statistics import median

from tracers import Broken, none, ours, sqlite

CALLS, MANY = 100000, 1000000


def size_of(bench, *options):
    report = os.path.join(bench.tmp, "ours.sqlite")
    ours("-t", "osrt", "--osrt-threshold=0", "--cpuctxsw=none", "--on-full=block", *options, function=None)(
        bench, [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "stacked.py"), str(MANY)])
    rows = sqlite(report, "SELECT count(*) FROM OSRT_API JOIN StringIds ON id = nameId WHERE value LIKE 'pread%'")[0][0]
    if rows < MANY:
        raise Broken("rows of calls: %d, not %d" % (rows, MANY))
    return os.path.getsize(report) / 1e6


def part_stack(bench, table):
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stacked.py")
    base = ("-t", "osrt", "--osrt-threshold=0", "--cpuctxsw=none", "--on-full=block")
    every = "--osrt-backtrace-threshold=0"
    variants = {"untraced": none, "without": ours(*base, "-b", "none", "--python-backtrace=none", function=None),
                "native": ours(*base, every, "--python-backtrace=none", function=None),
                "both": ours(*base, every, function=None)}
    runs = {name: [] for name in variants}
    for _ in range(bench.rounds):
        for name, run in variants.items():
            runs[name].append(run(bench, [sys.executable, program, str(CALLS)]).figures[0][0])
    report = os.path.join(bench.tmp, "ours.sqlite")
    depth = dict(sqlite(report, "SELECT kind, count(*) FROM SL_STACKS s JOIN SL_FRAMES f ON f.id = frameId WHERE s.id = (SELECT callchainId "
                                "FROM OSRT_API GROUP BY 1 ORDER BY count(*) DESC LIMIT 1) AND NOT inlined GROUP BY 1"))
    if depth.get(1) != 20:
        raise Broken("frames of Python: %s, not 20" % depth.get(1))

    def over(name, other):
        return median(a - b for a, b in zip(runs[name], runs[other])) / 1e3

    frames = "%d native frames and 20 of Python" % depth.get(0, 0)
    table.add("a stack at a call, known already: " + frames, over("both", "without"), 3, "bar", "us", "<= 1")
    table.add("the same, native alone", over("native", "without"), over("both", "without"), "both", "us")
    table.add("a million calls with the same stack: report", size_of(bench, every), size_of(bench, "-b", "none", "--python-backtrace=none"),
              "without stacks", "MB", "<= 1.25")

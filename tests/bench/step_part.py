"""step_part.py - what --python-step and --pytorch cost: a marked call, others, the start of the interpreter."""
import os
import subprocess
import sys
from statistics import median

from tracers import Broken, none, ours, sqlite

CALLS = 200000


def part_step(bench, table):
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "marked.py")
    marked = ours("-t", "nvtx", "--on-full=block", "--python-step=__main__:step", function=None)
    variants = {"base": (none, []), "by hand": (none, ["ctypes"]), "preload": (ours("-t", "nvtx", function=None), []),
                "marked": (marked, [])}
    runs = {name: [] for name in variants}
    for _ in range(bench.rounds):
        for name, (run, words) in variants.items():
            runs[name].append(run(bench, [sys.executable, program, str(CALLS)] + words).figures[0])
    rows = sqlite(os.path.join(bench.tmp, "ours.sqlite"), "SELECT count(*) FROM NVTX_EVENTS WHERE eventType = 59")[0][0]
    if rows != 5 * CALLS:
        raise Broken("ranges of step(): %d, not %d" % (rows, 5 * CALLS))

    def mid(name, column):
        return median(r[column] for r in runs[name])

    table.add("Python: a call marked by --python-step", mid("marked", 0), mid("base", 0), "plain call", "ns")
    table.add("the same", mid("marked", 0), mid("by hand", 0), "wrapper, ctypes", "ns", "<= 0.5")
    table.add("a call of another function meanwhile", mid("marked", 1), mid("preload", 1), "without --python-step", "ns", "<= 1.05")
    table.add("opening a file meanwhile (audit hook)", mid("marked", 2), mid("preload", 2), "without --python-step", "ns")

    def start(*options):
        report = os.path.join(bench.tmp, "start.sqlite")
        argv = [bench.sightline, "profile", "-f", "true", "-o", report, "-t", "nvtx", *options, sys.executable, "-c", "pass"]
        return bench.command(argv)[2] * 1e3

    both = [(start("--python-step=no_such_module:step"), start()) for _ in range(bench.rounds * 4)]
    # The least of each: what else the machine does only ever adds.
    extra = min(b[0] for b in both) - min(b[1] for b in both)
    table.add("start of Python, nothing to mark: over without", extra, 2, "bar", "ms", "<= 1")
    torch_costs(bench, table)


def torch_costs(bench, table):
    # Debian's PyTorch is the system's Python's.
    have = [p for p in (sys.executable, "/usr/bin/python3")
            if subprocess.run([p, "-c", "import torch"], capture_output=True, check=False).returncode == 0]
    if not have:
        print("skipped PyTorch: not installed", file=sys.stderr)
        return
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "marked_torch.py")
    runs = {"without": [], "functions-trace": [], "functions-trace-shapes": []}
    for _ in range(bench.rounds):
        for kind, figures in runs.items():
            options = [] if kind == "without" else ["--pytorch=" + kind]
            run = ours("-t", "nvtx", "--on-full=block", *options, function=None)
            figures.append(run(bench, [have[0], program, "10000"]).figures[0])
    for column, what in enumerate(("torch.add of two numbers", "forward pass of a small Linear", "a step, 3 layers of 256 by 256")):
        base = median(r[column] for r in runs["without"])
        for kind in "functions-trace", "functions-trace-shapes":
            table.add("PyTorch %s: %s" % (kind, what), median(r[column] for r in runs[kind]) / 1e3, base / 1e3, "without", "us")

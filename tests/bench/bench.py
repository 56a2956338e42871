"""bench.py BUILD-FOLDER [PART...] - what tracing costs, as ratios taken in one run.

Every round runs every variant once, in turn; a figure is the median over the rounds, a cost the median of
the difference to the base run in the same round. Time of a program is the CPU time of its threads unless
the row says wall: other programs on the machine disturb that least. The exit status tells whether
something is broken (rows missing), never how fast it was. All figures also go to BUILD-FOLDER/bench.json.

Environment: ROUNDS (9)  CALLS (100000,1000000,10000000)  FLOOD (20000000 calls)  FILES (200000)  THREADS (1000)
SATURATED_S (20)  BENCH_TMP (a folder on a disk)  BENCH_KINETO (see part_kineto)
"""
import datetime
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile

import parts
from tracers import Bench, Broken

COLUMNS = ("measure", "ours", "reference", "ratio", "bar")


def show(v):
    if v is None:
        return "-"
    if isinstance(v, str):
        return v
    return "%.0f" % v if abs(v) >= 1000 else "%.2f" % v if abs(v) < 10 else "%.1f" % v


class Table:
    def __init__(self):
        self.rows = []

    def add(self, measure, ours, reference=None, what="", unit="", bar=None, ratio=None):
        """ratio: where it is not ours / reference. what: names the reference."""
        if ratio is None and ours is not None and reference:
            ratio = ours / reference
        self.rows.append(dict(measure=measure, ours=ours, reference=reference, what=what, unit=unit, ratio=ratio,
                              bar=bar))
        r = self.rows[-1]
        print("  %-58s %s" % (measure, self.cells(r)[1:]), file=sys.stderr)

    @staticmethod
    def cells(r):
        ours = "-" if r["ours"] is None else "%s %s" % (show(r["ours"]), r["unit"])
        ref = "-" if r["reference"] is None else "%s %s (%s)" % (show(r["reference"]), r["unit"], r["what"])
        return r["measure"], ours.strip(), ref, show(r["ratio"]), r["bar"] or "-"

    def print(self):
        cells = [COLUMNS] + [self.cells(r) for r in self.rows]
        width = [max(len(c[i]) for c in cells) for i in range(len(COLUMNS))]
        for n, c in enumerate(cells):
            print("  ".join(x.ljust(w) for x, w in zip(c, width)).rstrip())
            if not n:
                print("  ".join("-" * w for w in width))


def machine():
    with open("/proc/cpuinfo") as f:
        model = next((l.split(":", 1)[1].strip() for l in f if l.startswith("model name")), platform.machine())
    git = subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=12"], capture_output=True, text=True,
                         check=False, cwd=os.path.dirname(os.path.abspath(__file__)))
    return dict(date=datetime.datetime.now().astimezone().isoformat(timespec="seconds"), machine=model,
                cpus=os.cpu_count(), kernel=platform.release(), commit=git.stdout.strip() or None,
                load=os.getloadavg()[0])


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    build = os.path.abspath(sys.argv[1])
    wanted = [w for arg in sys.argv[2:] for w in arg.split(",") if w] or list(parts.PARTS)
    unknown = [w for w in wanted if w not in parts.PARTS]
    if unknown:
        print("bench: no part %s; there are: %s" % (unknown[0], ", ".join(parts.PARTS)), file=sys.stderr)
        return 2
    rounds = int(os.environ.get("ROUNDS", "9"))
    tmp = tempfile.mkdtemp(prefix="sightline-bench.", dir=os.environ.get("BENCH_TMP"))
    bench, table, broken, about = Bench(build, tmp, rounds), Table(), [], machine()
    try:
        for name in wanted:
            print("%s:" % name, file=sys.stderr)
            try:
                parts.PARTS[name](bench, table)
            except Broken as e:
                broken.append("%s: %s" % (name, e))
                print("  BROKEN %s" % e, file=sys.stderr)
    finally:
        bench.close()
        shutil.rmtree(tmp, ignore_errors=True)
    print("\n%(date)s  %(machine)s, %(cpus)d CPUs, Linux %(kernel)s, commit %(commit)s" % about, end="")
    print(", %d rounds, load %.1f\n" % (rounds, about["load"]))
    table.print()
    for b in broken:
        print("broken: " + b)
    with open(os.path.join(build, "bench.json"), "w") as f:
        json.dump(dict(about, rounds=rounds, rows=table.rows, broken=broken), f, indent=1)
        f.write("\n")
    return 1 if broken else 0



if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""shares.py SIGHTLINE PY-SPY SECONDS: samples of seventy.py by `dump --every=10ms` and by `py-spy record` at the same time.

Prints the share of heavy() by both and by the program's own clock. Status 1: dump differs by more than two points from either.
"""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
POINTS = 0.02


def share(text):
    """Of heavy() in stacks with their numbers of samples."""
    counts = {"heavy": 0, "light": 0}
    for line in text.splitlines():
        stack, _, n = line.rpartition(" ")
        for name in counts:
            if re.search(r"(^|;)%s\b" % name, stack):
                counts[name] += int(n)
    total = sum(counts.values())
    return (counts["heavy"] / total if total else 0), total


def main():
    sightline, spy, seconds = sys.argv[1:4]
    with tempfile.TemporaryDirectory() as folder:
        p = subprocess.Popen([sys.executable, HERE + "/seventy.py", str(float(seconds) + 2)], stdout=subprocess.PIPE, text=True)
        p.stdout.readline()
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
        tools = [subprocess.Popen([sightline, "dump", "-p", str(p.pid), "--every=10ms", "--for=%ss" % seconds, "-o", "samples"], **quiet),
                 subprocess.Popen([spy, "record", "--nonblocking", "-p", str(p.pid), "-r", "100", "-d", seconds, "-f", "raw", "-o", "spy"], **quiet)]
        if any([t.wait() for t in tools]):
            sys.exit("shares: a tool fails")
        truth = float(p.stdout.readline())
        folded = subprocess.run([sightline, "export", "-t", "folded", "-o", "-", "samples.sqlite"], cwd=folder, capture_output=True, text=True,
                                check=True).stdout
        with open(folder + "/spy", encoding="utf-8") as f:
            other, of = share(f.read())
        mine, cnt = share(folded)
    print("shares     heavy() has %.1f %% by dump (%d), %.1f %% by py-spy record (%d samples), %.1f %% by the program" % (
        100 * mine, cnt, 100 * other, of, 100 * truth))
    return int(abs(mine - other) > POINTS or abs(mine - truth) > POINTS)


if __name__ == "__main__":
    sys.exit(main())

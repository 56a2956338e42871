"""sample_part.py - CPU samples with stacks: what they cost a busy program of two threads, what is lost of them, whether
they tell the truth; beside perf, with the same clock, where it is installed.

A sample is an interrupt of the kernel's timer, whoever asks for it: perf without stacks shows what that alone costs."""
import os
import re
import subprocess
from statistics import median

from tracers import Broken, have, none, ours, sqlite

ROUNDS = os.environ.get("SAMPLE_ROUNDS", "60000")


def perf(*options):
    def run(bench, argv):
        data = os.path.join(bench.tmp, "perf.data")
        return bench.plain(["perf", "record", "-q", "-F", "1000", "-e", "cpu-clock", "-o", data, *options, *argv])

    return run


def shares_of_perf(bench):
    text = subprocess.run(["perf", "report", "-i", os.path.join(bench.tmp, "perf.data"), "--no-children", "-g", "none",
                           "--stdio", "-F", "overhead,symbol"], capture_output=True, text=True, check=False).stdout
    return {m.group(2): float(m.group(1)) for m in re.finditer(r"([\d.]+)%\s+\[\.\] (\w+)", text)}


def truth_of(report):
    """Samples, lost ones, those without all their callers; the share of each function among the three."""
    cnt = sqlite(report, "SELECT count(*) FROM COMPOSITE_EVENTS")[0][0]
    lost, cut = sqlite(report, "SELECT total(iif(what LIKE 'CPU samples%', count, 0)), total(iif(what LIKE '%stacks of CPU samples%', count, 0)) "
                               "FROM SL_LOST_EVENTS")[0] if sqlite(report, "SELECT 1 FROM sqlite_master WHERE name = 'SL_LOST_EVENTS'") else (0, 0)
    rows = dict(sqlite(report, "SELECT value, count(*) FROM SAMPLING_CALLCHAINS c JOIN StringIds s ON s.id = c.symbol "
                               "WHERE value IN ('seven', 'two', 'one') GROUP BY 1"))
    whole = sum(rows.values())
    return cnt, lost, cut, {k: 100 * v / whole for k, v in rows.items()}


def part_sample(bench, table):
    argv = [bench.bin("busy"), ROUNDS]
    report = os.path.join(bench.tmp, "ours.sqlite")
    alone = ("-t", "none", "--cpuctxsw=none")
    variants = {"none": none, "off": ours(*alone, function=None),
                "raw": ours(*alone, "--sample=process-tree", "--resolve-symbols=false", function=None),
                "on": ours(*alone, "--sample=process-tree", function=None)}
    if have("perf"):
        variants["ip"] = perf()
        variants["dwarf"] = perf("--call-graph", "dwarf,16384")
    runs = {name: [] for name in variants}
    apart, lacking, theirs = [], [], {}
    order = list(variants)
    for _ in range(bench.rounds):
        # A processor that gets faster or slower all the time favours none of them in the end.
        order.reverse()
        for name in order:
            runs[name].append(variants[name](bench, argv))
            if name == "on":
                truth = truth_of(report)
            if name == "dwarf":
                theirs = shares_of_perf(bench)
        cnt, lost, cut, share = truth
        cpu, seven, two = runs["on"][-1].figures[0]
        if cnt < 100:
            raise Broken("%d samples of %.1f s of CPU time" % (cnt, cpu))
        apart.append(max(abs(share.get("seven", 0) - seven), abs(share.get("two", 0) - two)))
        lacking.append(100 * (lost + cut) / cnt)

    def ratio(name, base):
        return median(a.figures[0][0] / b.figures[0][0] for a, b in zip(runs[name], runs[base]))

    def cpu_of(name):
        return median(r.figures[0][0] for r in runs[name])

    for name, base, what, bar in (("on", "none", "without", "<= 1.01"), ("on", "ip", "perf, no stacks", None),
                                  ("on", "dwarf", "perf, --call-graph dwarf", "<= 1"), ("ip", "none", "without", None)):
        if name in runs and base in runs:
            table.add("1 kHz CPU samples with stacks: busy threads" if name == "on" else "perf's clock at 1 kHz, no stacks",
                      cpu_of(name), cpu_of(base), what, "s", bar, ratio(name, base))
    for name, what in (("raw", "the collector: CPU time for samples"), ("on", "the same with names of functions, at the end")):
        table.add(what, median(a.usage.cpu - b.usage.cpu for a, b in zip(runs[name], runs["off"])), cpu_of("on"), "the program", "s",
                  "<= 0.02" if name == "raw" else None)
    table.add("samples lost, or without all their callers", median(lacking), None, "", "%", "<= 1")
    table.add("distribution: most apart from what the program knows", median(apart), None, "", "points", "<= 2")
    if theirs:
        ok = sorted(("seven", "two", "one"), key=lambda k: -theirs.get(k, 0)) == ["seven", "two", "one"]
        table.add("the same top functions as perf's", "yes" if ok else "no", None, "", "", "yes")

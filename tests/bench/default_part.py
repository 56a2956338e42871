"""default_part.py - what the samples and page faults that no option asks for cost: a busy program of two threads, one that
does nothing but major page faults; beside perf at the same rate, with the stacks that it can take along, where it is installed."""
import os
from statistics import median

from tracers import Broken, has_table, have, none, ours, sqlite

HZ = "199"
ROUNDS = os.environ.get("SAMPLE_ROUNDS", "60000")
FAULTS = os.environ.get("FAULTS", "4000")


def perf(*options):
    def run(bench, argv):
        data = os.path.join(bench.tmp, "perf.data")
        return bench.plain(["perf", "record", "-q", "-o", data, *options, *argv])

    return run


def rows_of(bench, table):
    report = os.path.join(bench.tmp, "ours.sqlite")
    return sqlite(report, "SELECT count(*) FROM " + table)[0][0] if has_table(report, table) else 0


def measure(bench, variants, argv, check):
    runs = {name: [] for name in variants}
    order = list(variants)
    for _ in range(bench.rounds):
        # A processor that gets faster or slower all the time favours none of them in the end.
        order.reverse()
        for name in order:
            run = variants[name](bench, argv)
            if not run.figures:
                raise Broken("%s: the program left no figure" % name)
            check(name, run)
            runs[name].append(run)
    return runs


def add(table, runs, what, unit, pairs, bar=None):
    def mid(name):
        return median(r.figures[0][0] for r in runs[name])

    for name, base, measured, against in pairs:
        if name in runs and base in runs:
            table.add("%s: %s" % (what, measured), mid(name), mid(base), against, unit, bar if (name, base) == ("ours", "none") else None,
                      median(a.figures[0][0] / b.figures[0][0] for a, b in zip(runs[name], runs[base])))


def part_default(bench, table):
    def sampled(name, run):
        if name == "ours" and rows_of(bench, "COMPOSITE_EVENTS") < 0.5 * 199 * run.figures[0][0] - 10:
            raise Broken("samples are missing: %d of %.1f s" % (rows_of(bench, "COMPOSITE_EVENTS"), run.figures[0][0]))

    def faulted(name, run):
        if name == "ours" and run.figures[0][2] >= 100 and rows_of(bench, "SL_PAGE_FAULTS") < 0.9 * run.figures[0][2]:
            raise Broken("page faults are missing: %d of %d" % (rows_of(bench, "SL_PAGE_FAULTS"), run.figures[0][2]))

    plain = {"none": none, "off": ours("-t", "none", "-s", "none", function=None), "ours": ours("-t", "none", function=None)}
    busy, faults = dict(plain), dict(plain)
    if have("perf"):
        busy["perf"] = perf("-F", HZ, "-e", "cpu-clock", "-g")
        busy["dwarf"] = perf("-F", HZ, "-e", "cpu-clock", "--call-graph", "dwarf,16384")
        faults["perf"] = perf("-c", "1", "-e", "major-faults", "-d", "-g")
    pairs = (("ours", "none", "CPU time", "without a tracer"), ("ours", "off", "CPU time", "--sample=none"),
             ("perf", "none", "perf -F %s -g" % HZ, "without a tracer"), ("ours", "perf", "CPU time", "perf -F %s -g" % HZ),
             ("ours", "dwarf", "CPU time", "perf --call-graph dwarf"))
    add(table, measure(bench, busy, [bench.bin("busy"), ROUNDS], sampled), "default samples, two busy threads", "s", pairs, "<= 1.01")
    runs = measure(bench, faults, [bench.bin("faults"), bench.tmp, FAULTS], faulted)
    if median(r.figures[0][2] for r in runs["none"]) < 0.5 * int(FAULTS):
        table.add("default page faults: this folder is in memory (BENCH_TMP)", None)
        return
    pairs = (("ours", "none", "CPU time of one", "without a tracer"), ("ours", "off", "CPU time of one", "--sample=none"),
             ("perf", "none", "perf -e major-faults -c 1 -g", "without a tracer"),
             ("ours", "perf", "CPU time of one", "perf -e major-faults"))
    add(table, runs, "default page faults", "ns", pairs)

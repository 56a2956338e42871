"""record_part.py - what recording a call executes in the program, in instructions, which are the same in every run.

By callgrind: libtrace.so's own for one call. With BENCH_BASE=FOLDER, the build of another commit, against its own: what was
added to the recording since.
"""
import os

import callgrind
from costs import interleave, over
from tracers import Broken, none, ours, without_collector

FEW, MANY = 2000, 12000
CALLS = [("a pread with a row", "calls", "--osrt-threshold=0"),
         ("a pread below the threshold", "calls", "--osrt-threshold=1000000000"),
         ("a contended lock", "locks", "--osrt-threshold=1000")]


def traced(bench, build, program, option, n):
    out, report = os.path.join(bench.tmp, "callgrind.out"), os.path.join(bench.tmp, "record")
    if os.path.exists(out):
        os.remove(out)
    bench.command([os.path.join(build, "sightline"), "profile", "-f", "true", "-t", "osrt", "-o", report, option] +
                  callgrind.command(out) + [bench.bin(program), str(n)])
    return out


def instructions(bench, build, program, option):
    functions, _ = callgrind.per_call(lambda n: traced(bench, build, program, option, n), FEW, MANY)
    sum_ = sum(cost for f, cost in functions.items() if f.library == "libtrace.so")
    if sum_ < 10:
        raise Broken("%s %s: callgrind counted %g instructions per call" % (program, option, sum_))
    return sum_


def part_record(bench, table):
    if callgrind.available():
        base = os.environ.get("BENCH_BASE")
        for label, program, option in CALLS:
            before = instructions(bench, base, program, option) if base else None
            table.add("instructions of %s, in the program" % label, instructions(bench, bench.build, program, option),
                      before, "BENCH_BASE" if base else "", "instr.")
    else:
        print("  no valgrind: instructions not measured")
    runs = interleave(bench, {"base": none, "ours": ours(function="pthread_mutex_lock"), "rings": without_collector("-r")},
                      [bench.bin("locks"), "1000000"])
    table.add("a contended lock: over untraced", over(runs, "ours", "base"), unit="ns")
    table.add("the same, rings that are always empty", over(runs, "rings", "base"), unit="ns")

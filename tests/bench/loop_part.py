"""loop_part.py - what a call costs that gets a record, or is added to totals: means of whole loops, nothing left out.

The collector works as in normal use, and nothing in the program waits for it. The quartile of slices of the same loops
stands in rows of its own: what a call costs where neither the ring nor the machine is in the way.
"""
import os

from costs import QUARTILE, WALL, expect, interleave, mid, over
from tracers import none, ours, shim, usable_peers, without_collector

# Calls of the one thread of a loop, and those of each of several threads.
CALLS = [int(n) for n in os.environ.get("CALLS", "100000,1000000,10000000").split(",")]
MIDDLE = CALLS[len(CALLS) // 2]
MANY = 5000000  # as many take fewer rounds


def loop_rounds(bench, calls):
    return bench.rounds if calls < MANY else min(5, bench.rounds)


def run_loops(bench, variants, calls, threads):
    def check(name, r):
        if name == "ours":
            expect("calls recorded or counted", r.recorded, calls * threads)
            expect("calls lost", r.lost, 0)

    return interleave(bench, variants, [bench.bin("calls"), str(calls), str(threads), "20"], loop_rounds(bench, calls), check)


def add_loops(table, label, runs, bar, slices=False):
    """Ours over the limit, both over the shim that only forwards."""
    table.add(label, over(runs, "ours", "forward"), over(runs, "limit", "forward"), "limit shim", "ns", bar)
    table.add("the same, wall", over(runs, "ours", "forward", WALL), over(runs, "limit", "forward", WALL), "limit shim", "ns")
    if slices:
        table.add("the same, quartile of 20 slices", over(runs, "ours", "forward", QUARTILE),
                  over(runs, "limit", "forward", QUARTILE), "limit shim", "ns")


def name_of(calls, threads):
    return "%gM calls%s" % (calls / 1e6, ", %d threads" % threads if threads > 1 else "")


def add_peers(bench, table, runs, peers, threads):
    cost = over(runs, "ours", "forward")
    for p in peers:
        bar = {"uftrace": "<= 0.25", "LTTng-UST preload": "<= 0.15"}.get(p.name)
        if p.waits:
            slow = interleave(bench, {"base": none, p.name: p.run}, [bench.bin("calls"), str(p.calls), str(threads), "1"],
                              rounds=min(3, bench.rounds))
            peer = over(slow, p.name, "base", WALL)
        else:
            peer = over(runs, p.name, "forward")
        table.add("recorded pread, %s: against %s" % (name_of(MIDDLE, threads), p.name), cost, peer, p.name, "ns", bar)


def pread(bench, table, peers, calls, threads, bar):
    """@peers: beside what is always there; None: nothing beside it."""
    variants = {"forward": shim("forward"), "limit": shim("limit"), "ours": ours("--osrt-threshold=0", "--on-full=block")}
    if peers is not None:
        variants.update({"base": none, "rings": without_collector("-r")})
        variants.update((p.name, p.run) for p in peers if not p.waits)
    runs = run_loops(bench, variants, calls, threads)
    label = "recorded pread, %s: " % name_of(calls, threads)
    add_loops(table, label + "over forward-only", runs, bar, calls == MIDDLE)
    if peers is not None:
        table.add("the same, rings that are always empty", over(runs, "rings", "forward"), over(runs, "limit", "forward"),
                  "limit shim", "ns")
        table.add(label + "forward-only, the whole call", mid(runs, "forward"), mid(runs, "base"), "untraced", "ns")
        add_peers(bench, table, runs, peers, threads)


def part_pread(bench, table):
    peers = list(usable_peers(bench))
    bars = {100000: "<= 1.6", 1000000: "<= 1.4", 10000000: "<= 1.3"}
    for calls in CALLS:
        pread(bench, table, peers if calls == MIDDLE else None, calls, 1, bars.get(calls))
    pread(bench, table, peers, MIDDLE, 2, "<= 1.6")
    pread(bench, table, None, MIDDLE, 4, "<= 1.6")


def part_below(bench, table):
    variants = {"forward": shim("forward"), "limit": shim("limit"), "ours": ours("--osrt-threshold=100000000")}
    for calls, threads in [(n, 1) for n in CALLS if n < MANY] + [(MIDDLE, 2), (MIDDLE, 4)]:
        runs = run_loops(bench, variants, calls, threads)
        bar = "<= 1.2" if calls == MIDDLE else None
        add_loops(table, "pread below the threshold, %s: over forward-only" % name_of(calls, threads), runs, bar, calls == MIDDLE)

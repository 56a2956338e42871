"""parts.py - the parts of the benchmark: each measures one thing and adds rows to the table."""
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from statistics import median

from export_part import part_export
from flight_part import part_flight
from sample_part import part_sample
from stats_part import part_stats
from stack_part import part_stack
from step_part import part_step
from toggle_part import part_toggle
from top_part import part_top
from tracers import Broken, Run, counts, has_table, none, ours, shim, sqlite, usable_peers, without_collector
from unwind_part import part_unwind

FLOOD = int(os.environ.get("FLOOD", "20000000"))
FILES = int(os.environ.get("FILES", "20000"))
CPU, WALL = 0, 1


def interleave(bench, variants, argv, rounds=None, check=None, tries=None):
    """{name: [Run per round]}: every round runs every variant once; those in @tries several times, the best of which
    counts: two processes differ by more (memory, neighbours) than what some of them are compared for."""
    runs = {name: [] for name in variants}
    for _ in range(rounds or bench.rounds):
        best = {}
        for k in range(max((tries or {}).values(), default=1)):
            for name, run in variants.items():
                if k >= (tries or {}).get(name, 1):
                    continue
                r = run(bench, argv)
                if not r.figures:
                    raise Broken("%s: the program left no figure" % name)
                if check:
                    check(name, r)
                if name not in best or r.figures[0][CPU] < best[name].figures[0][CPU]:
                    best[name] = r
        for name, r in best.items():
            runs[name].append(r)
    return runs


def over(runs, name, base, column=CPU):
    """Cost of a variant: the median over the rounds of its difference to the base."""
    return median(a.figures[0][column] - b.figures[0][column] for a, b in zip(runs[name], runs[base]))


def mid(runs, name, column=CPU):
    return median(r.figures[0][column] for r in runs[name])


def expect(what, got, want):
    if got != want:
        raise Broken("%s: %d, not %d" % (what, got, want))


# ---- cost of a call ----

def call_costs(bench, variants, threads, total):
    def check(name, r):
        if name.startswith("ours"):
            expect("%s: calls recorded or counted" % name, r.recorded, total * threads)
            expect("%s: calls lost" % name, r.lost, 0)

    argv = [bench.bin("calls"), str(total), str(threads), "20", "30"]
    tries = dict.fromkeys(("base", "forward", "limit", "ours", "rings"), 3)
    return interleave(bench, variants, argv, check=check, tries={n: tries[n] for n in variants if n in tries})


def names(threads):
    return "%d thread%s" % (threads, "s" if threads > 1 else "")


def part_pread(bench, table):
    total = 1000000
    peers = list(usable_peers(bench))
    for threads in 1, 2:
        variants = {"base": none, "forward": shim("forward"), "limit": shim("limit"),
                    "ours": ours("--osrt-threshold=0", "--on-full=block"),
                    "rings": without_collector("-r")}
        variants.update((p.name, p.run) for p in peers if not p.waits)
        runs = call_costs(bench, variants, threads, total)
        label = "recorded pread, %s: " % names(threads)
        limit, cost = over(runs, "limit", "forward"), over(runs, "ours", "forward")
        table.add(label + "untraced, forward-only", mid(runs, "forward"), mid(runs, "base"), "untraced", "ns")
        table.add(label + "over forward-only", cost, limit, "limit shim", "ns", "<= 1.5")
        table.add(label + "same, nobody drains", over(runs, "rings", "forward"), limit, "limit shim", "ns")
        for p in peers:
            bar = {"uftrace": "<= 0.33", "LTTng-UST preload": "<= 0.125"}.get(p.name)
            if p.waits:
                slow = interleave(bench, {"base": none, p.name: p.run},
                                  [bench.bin("calls"), str(p.calls), str(threads), "1"], rounds=min(3, bench.rounds))
                peer = over(slow, p.name, "base", WALL)
            else:
                peer = over(runs, p.name, "forward")
            table.add(label + "against " + p.name, cost, peer, p.name, "ns", bar)


def part_below(bench, table):
    for threads in 1, 2:
        variants = {"forward": shim("forward"), "limit": shim("limit"), "ours": ours("--osrt-threshold=100000000")}
        runs = call_costs(bench, variants, threads, 1000000)
        table.add("pread below the threshold, %s: over forward-only" % names(threads), over(runs, "ours", "forward"),
                  over(runs, "limit", "forward"), "limit shim", "ns", "<= 1.2")


def part_off(bench, table):
    """While the gate is closed: the whole of a call, through us and through a library that forwards and no more."""
    def check(name, r):
        if name == "ours":
            # The one that has the process.
            expect("calls recorded while the gate is closed", r.recorded, 1)

    for function, n in ("pread", 1000000), ("write", 2000000), ("lseek", 2000000), ("lock", 20000000):
        runs = interleave(bench, {"base": none, "forward": shim("forward"), "ours": without_collector("-r", "-c")},
                          [bench.bin("off"), function, str(n), "40"], check=check,
                          tries=dict.fromkeys(("base", "forward", "ours"), 3))
        label = "gate closed, %s: " % ("a free mutex, locked and unlocked" if function == "lock" else function)
        table.add(label + "forward-only", mid(runs, "forward"), mid(runs, "base"), "untraced", "ns")
        table.add(label + "ours", mid(runs, "ours"), mid(runs, "forward"), "forward-only", "ns", "<= 1.1")
    where = os.path.dirname(bench.bin("gpu_calls"))
    runs = interleave(bench, {"base": none, "off": without_collector("-r", "-g", "-c"), "on": without_collector("-r", "-g")},
                      [bench.bin("gpu_calls"), "1000000", "20", where], tries={"base": 3, "off": 3, "on": 3})
    table.add("gate closed, a CUDA call with five arguments: over untraced", over(runs, "off", "base"),
              over(runs, "on", "base"), "gate open", "ns")


def part_gpu(bench, table):
    """A call into a GPU library that does nothing, without CUPTI, against what the limit shim adds to a pread."""
    where = os.path.dirname(bench.bin("gpu_calls"))
    runs = interleave(bench, {"base": none, "ours": without_collector("-r", "-g")},
                      [bench.bin("gpu_calls"), "1000000", "20", where], tries={"base": 3, "ours": 3})
    limits = call_costs(bench, {"forward": shim("forward"), "limit": shim("limit")}, 1, 1000000)
    table.add("a CUDA call with five arguments: over untraced", over(runs, "ours", "base"),
              over(limits, "limit", "forward"), "limit shim", "ns", "<= 1.5")


# ---- rings -> SQLite ----

def sqlite_limit(bench, rows=4000000):
    """Rows per second of CPU time of INSERT ... SELECT from a virtual table, SQLite's own limit; and of our writer alone."""
    out = subprocess.run([bench.bin("db_ingest"), "-r", "1", "-n", str(rows), "-d", bench.tmp], check=True,
                         capture_output=True, text=True).stdout
    return [float(re.search(r"^%s +(\d+) rows/s" % w, out, re.M).group(1)) for w in ("limit", "ours")]


class LiveReader:
    """Queries the report while it grows, as anybody may."""

    def __init__(self, bench):
        self.path, self.seen = os.path.join(bench.tmp, "ours.sqlite"), []

    def __call__(self, runs):
        deadline = time.monotonic() + 60
        while len(self.seen) < 3 and runs() and time.monotonic() < deadline:
            time.sleep(0.3)
            try:
                self.seen.append(sqlite(self.path, "SELECT max(rowid) FROM OSRT_API")[0][0] or 0)
            except sqlite3.OperationalError:
                pass # not there yet


def flood_block(bench, total, threads):
    live = LiveReader(bench)
    argv = [bench.bin("calls"), str(total // threads), str(threads), "1"]
    run = ours("--osrt-threshold=0", "--on-full=block")(bench, argv, during=live)
    expect("calls recorded", run.recorded, total)
    expect("calls lost", run.lost, 0)
    return run, live.seen


def part_ingest(bench, table):
    total, limit, writer, path, wall = 4000000, [], [], [], []
    for _ in range(min(3, bench.rounds)):
        both = sqlite_limit(bench)
        run, _ = flood_block(bench, total, 1)
        limit.append(both[0])
        writer.append(both[1])
        path.append(total / run.usage.cpu)
        wall.append(total / run.wall)
    best = "INSERT .. SELECT from a virtual table"
    pairs = list(zip(path, limit))
    table.add("rings -> SQLite, rows per s of collector CPU", median(path) / 1e6, median(limit) / 1e6, best, "M",
              ">= 0.60", median(a / b for a, b in pairs))
    table.add("rings -> SQLite, rows per s, start to complete report", median(wall) / 1e6, median(limit) / 1e6, best,
              "M")
    table.add("the report's writer alone, rows per s of CPU", median(writer) / 1e6, median(limit) / 1e6, best, "M")


def part_flood(bench, table):
    run, seen = flood_block(bench, FLOOD, 2)
    if len(seen) < 2 or seen[-1] <= seen[0]:
        raise Broken("report could not be read while it grew: %s" % seen)
    million = FLOOD / 1e6
    label = "%gM calls, 2 threads, block: " % million
    report = os.path.join(bench.tmp, "ours.sqlite")
    table.add(label + "rows", run.recorded, FLOOD, "calls", "", "= 1")
    table.add(label + "peak RSS of the collector", run.usage.rss_kib / 1024, 256, "bar", "MiB", "<= 1")
    table.add(label + "rows per s of collector CPU", FLOOD / run.usage.cpu / 1e6, None, "", "M")
    table.add(label + "rows per s, wall", FLOOD / run.wall / 1e6, None, "", "M")
    table.add("bytes per row in the report", os.path.getsize(report) / FLOOD, None, "", "B")
    os.remove(report)
    flood_drop(bench, table)


def flood_drop(bench, table):
    def check(name, r):
        if name == "ours":
            expect("rows + lost", r.recorded + r.lost, FLOOD)
            lost.append(r.lost)

    lost = []
    variants = {"rings": without_collector(), "ours": ours("--osrt-threshold=0", "--on-full=drop")}
    argv = [bench.bin("calls"), str(FLOOD // 2), "2", "1"]
    runs = interleave(bench, variants, argv, min(3, bench.rounds), check)
    label = "%gM calls, 2 threads, drop: " % (FLOOD / 1e6)
    table.add(label + "rows + lost", FLOOD, FLOOD, "calls", "", "= 1")
    table.add(label + "lost events", median(lost), FLOOD, "calls")
    for column, kind in (CPU, "CPU"), (WALL, "wall"):
        ratio = median(a.figures[0][column] / b.figures[0][column] for a, b in zip(runs["ours"], runs["rings"]))
        table.add(label + "program, %s per call" % kind, mid(runs, "ours", column), mid(runs, "rings", column),
                  "rings without a collector", "ns", "<= 1.1", ratio)


# ---- whole programs ----

def check_pool(report, folder):
    like = "(SELECT id FROM StringIds WHERE value GLOB '%s/*')" % folder
    found = {}
    for name, rows, done, errors in sqlite(report, """
            SELECT value, count(*), total(returnValue), count(errnum) FROM OSRT_API JOIN StringIds ON nameId = id
            WHERE pathId IN %s AND errnum IS NULL GROUP BY value""" % like):
        found[name] = rows, done
    opened = sum(found[n][0] for n in found if n.startswith("open"))
    expect("files opened", opened, FILES)
    expect("files closed", found.get("close", (0, 0))[0], FILES)
    expect("bytes read", sum(found[n][1] for n in found if n.startswith("read")), FILES * 4096)


def part_python(bench, table):
    folder = os.path.join(bench.tmp, "files")
    argv = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "pool.py"), folder, str(FILES)]
    none(bench, argv)
    variants = {"base": none, "limit": shim("limit"),
                "ours": ours("--osrt-file-access=true", "--on-full=block", function=None),
                "default": ours(function=None)}

    def check(name, r):
        if name == "ours":
            check_pool(os.path.join(bench.tmp, "ours.sqlite"), folder)

    runs = interleave(bench, variants, argv, check=check)
    for column, kind in (0, "wall"), (1, "CPU"):
        def ratio(name):
            return median(a.figures[0][column] / b.figures[0][column] for a, b in zip(runs[name], runs["base"]))

        label = "python, 4 workers, %d files, %s per file: " % (FILES, kind)
        for name, what in ("limit", "limit shim"), ("ours", "every file call"), ("default", "default threshold"):
            table.add(label + what, mid(runs, name, column) / 1e3, mid(runs, "base", column) / 1e3, "untraced", "us",
                      "<= 1.10" if name == "ours" and kind == "wall" else None, ratio(name))


def part_start(bench, table):
    report, extra = os.path.join(bench.tmp, "start.sqlite"), []
    for _ in range(bench.rounds * 3):
        bare = bench.command(["true"])[2]
        traced = bench.command([bench.sightline, "profile", "-f", "true", "-o", report, "true"])[2]
        extra.append((traced - bare) * 1e3)
    table.add("start and end of true: over untraced", median(extra), 150, "bar", "ms", "<= 1")
    runs = interleave(bench, {"base": none, "forward": shim("forward"), "limit": shim("limit"),
                              "ours": ours(function=None)}, [bench.bin("procs"), "fork", "500"])
    table.add("a forked child: over untraced", over(runs, "ours", "base"), 0.5, "bar", "ms", "<= 1")
    table.add("a forked child: limit shim over untraced", over(runs, "limit", "base"), None, "", "ms")


def part_ctxsw(bench, table):
    if not os.path.exists(bench.bin("ctxsw")) or os.geteuid():
        print("skipped ctxsw: %s" % ("needs root" if os.geteuid() else "built without eBPF"), file=sys.stderr)
        return
    out = subprocess.run([bench.bin("ctxsw"), "100000", str(bench.rounds)], capture_output=True, text=True, check=False)
    words = out.stdout.split()
    got = dict(zip(words[::2], words[1::2]))
    if out.returncode or "ratio" not in got:
        raise Broken("ctxsw: %s" % (out.stderr or out.stdout)[-300:].strip())
    table.add("a context switch: over untraced", float(got["ours_over_ns"]), float(got["minimal_over_ns"]),
              "minimal BPF ring", "ns", "<= 1.3")
    table.add("the same with --off-cpu-threshold: shallow stacks", float(got["stacks_over_ns"]), float(got["untraced_ns"]),
              "untraced", "ns", "<= 0.25")
    table.add("the same: 16 KiB of stack", float(got["deep_stacks_over_ns"]), float(got["untraced_ns"]), "untraced", "ns", "<= 0.4")
    table.add("the same between two captures, in the first seconds", float(got["paused_over_ns"]), float(got["minimal_over_ns"]),
              "minimal BPF ring", "ns", "<= 1")
    table.add("the same, later", float(got["long_paused_over_ns"]), float(got["untraced_ns"]), "untraced", "ns", "<= 0.03")
    table.add("a context switch: rows, and lost", float(got["rows"]), float(got["lost"]), "lost", ratio=0.0)


def part_syscall(bench, table):
    """System calls seen by the kernel: what one costs the program, against what strace makes of it."""
    if os.geteuid():
        print("skipped syscall: needs root", file=sys.stderr)
        return

    def strace(bench_, argv):
        figures, usage, wall = bench_.command(["strace", "-f", "-o", "/dev/null"] + argv)
        return Run(figures, None, None, usage, wall)

    def rows_of(count):
        report = os.path.join(bench.tmp, "ours.sqlite")
        rows = 0
        for table_, what in ("SYSCALL", "count(*)"), ("SL_SYSCALL_TOTALS", "total(count)"):
            if has_table(report, table_):
                rows += sqlite(report, "SELECT %s FROM %s JOIN StringIds ON id = nameId WHERE value = 'pread64'"
                               % (what, table_))[0][0]
        if not count <= rows <= count + 10:  # the dynamic linker makes some, too
            raise Broken("system calls recorded: %d, not %d" % (rows, count))

    options = ("-t", "none", "--cpuctxsw=none", "--syscall=process-tree")
    for label, threshold in ("with a row", 0), ("below the threshold", 1000000000):
        runs = interleave(bench, {"base": none, "ours": ours(*options, "--syscall-threshold=%d" % threshold, function=None)},
                          [bench.bin("calls"), "1000000", "1", "20", "30"], check=lambda name, r: name == "ours" and rows_of(1000000))
        cost, reference = over(runs, "ours", "base"), None
        if threshold == 0 and shutil.which("strace"):
            slow = interleave(bench, {"base": none, "strace": strace}, [bench.bin("calls"), "20000", "1", "1"], rounds=3)
            reference = over(slow, "strace", "base", WALL)
        table.add("a system call %s: over untraced" % label, cost, reference, "strace", "ns", "<= 0.05" if reference else None)


def part_bytes(bench, table):
    run = bench.command([bench.bin("fake_session"), "-q", "8192", bench.library, bench.bin("calls"), "1000000", "1"])
    records, size, lost = run[0][-1]
    expect("records lost", int(lost), 0)
    table.add("bytes per pread in the ring", size / records, 32, "limit shim", "B")
    report = os.path.join(bench.tmp, "ours.sqlite")
    ours("--osrt-threshold=0", "--on-full=block", "--cpuctxsw=none")(bench, [bench.bin("calls"), "1000000", "1"])
    rows, short, lost = counts(report, "pread")
    expect("rows of a million calls", rows + short, 1000000)
    spans = sqlite(report, "SELECT total(count) FROM SL_LOST_EVENTS")[0][0] if has_table(report, "SL_LOST_EVENTS") else 0
    table.add("bytes per pread in the report", os.path.getsize(report) / rows, 43.5, "nine integers", "B")
    table.add("lost events of a million calls", lost + spans, None, "")


PARTS = {"pread": part_pread, "below": part_below, "off": part_off, "gpu": part_gpu, "ingest": part_ingest, "flood": part_flood, "python": part_python, "step": part_step,
         "start": part_start, "ctxsw": part_ctxsw, "syscall": part_syscall, "bytes": part_bytes, "toggle": part_toggle, "flight": part_flight, "export": part_export, "stats": part_stats, "top": part_top, "unwind": part_unwind, "stack": part_stack, "sample": part_sample}

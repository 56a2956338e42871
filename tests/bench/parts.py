"""parts.py - the parts of the benchmark: each measures one thing and adds rows to the table."""
import os
import re
import shutil
import sqlite3
import subprocess
import time
from statistics import median

from costs import CPU, QUARTILE, WALL, expect, interleave, mid, over
from default_part import part_default
from export_part import part_export
from flight_part import part_flight
from health_part import part_health
from launch_part import part_kineto, part_launch
from live_part import part_live
from loop_part import part_below, part_pread
from memory_part import part_memory, part_saturated
from page_part import part_page
from program_part import part_python, part_start
from ranks_part import part_ranks
from record_part import part_record
from sample_part import part_sample
from stats_part import part_compare, part_stats
from stack_part import part_stack
from step_part import part_step
from toggle_part import part_toggle
from top_part import part_top
from tracers import Broken, Run, counts, has_table, none, ours, shim, sqlite, without_collector
from unwind_part import part_unwind
from view_part import part_view

FLOOD = int(os.environ.get("FLOOD", "20000000"))


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
    limits = interleave(bench, {"forward": shim("forward"), "limit": shim("limit")}, [bench.bin("calls"), "1000000", "1", "20"])
    table.add("a CUDA call with five arguments: over untraced", over(runs, "ours", "base"),
              over(limits, "limit", "forward", QUARTILE), "limit shim", "ns", "<= 1.5")


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


# ---- what the kernel sees ----

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
        cost, reference = over(runs, "ours", "base", QUARTILE), None
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


PARTS = {"pread": part_pread, "below": part_below, "off": part_off, "gpu": part_gpu, "launch": part_launch, "kineto": part_kineto, "ingest": part_ingest,
         "flood": part_flood, "python": part_python, "saturated": part_saturated, "memory": part_memory,
         "step": part_step, "start": part_start, "ctxsw": part_ctxsw, "syscall": part_syscall, "bytes": part_bytes,
         "toggle": part_toggle, "flight": part_flight, "export": part_export, "stats": part_stats, "compare": part_compare, "top": part_top,
         "record": part_record, "unwind": part_unwind, "stack": part_stack, "sample": part_sample, "default": part_default, "view": part_view, "ranks": part_ranks, "page": part_page,
         "live": part_live, "health": part_health}

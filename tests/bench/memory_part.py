"""memory_part.py - memory: what the shim takes of an idle program, per process and per thread, in every form in which a
program pays for it; and what the collector takes while a program leaves no processor free."""
import os
import re
import sqlite3
import sys
import threading
import time
from statistics import median

from program_part import FILES
from tracers import Broken, none, ours, sqlite

THREADS = int(os.environ.get("THREADS", "1000"))
REST_MS = os.environ.get("REST_MS", "1000")
SATURATED_S = float(os.environ.get("SATURATED_S", "20"))
HERE = os.path.dirname(os.path.abspath(__file__))
MAPPED, RESIDENT, LOCKED, DUMPED = range(4)
# What, and the most MiB a process may take.
KINDS = ("mapped", 8), ("resident", 1.5), ("locked by mlockall", 2), ("in a core file", 0.0625)


def size_of_core(bench, options, threads):
    """KiB of the core file of an idle program, or None where the kernel gives cores to a program."""
    with open("/proc/sys/kernel/core_pattern") as f:
        pattern = f.read().strip()
    if "/" in pattern or "|" in pattern or not pattern:
        return None
    folder = os.path.join(bench.tmp, "core")
    os.makedirs(folder, exist_ok=True)
    bench.command([*options, bench.bin("idle"), str(threads), REST_MS, "core", folder], ok=(-6, 134))
    cores = [os.path.join(folder, n) for n in os.listdir(folder)]
    if len(cores) != 1:
        raise Broken("%d core files, not one" % len(cores))
    size = os.stat(cores[0]).st_size
    os.remove(cores[0])
    return size / 1024


def memory_of(bench, options, threads):
    """KiB: mapped, resident, locked, dumped."""
    figures = bench.command([*options, bench.bin("idle"), str(threads), REST_MS, "lock"])[0]
    if not figures:
        raise Broken("idle left no figure")
    return figures[0] + [size_of_core(bench, options, threads)]


def part_memory(bench, table):
    traced = [bench.sightline, "profile", "-f", "true", "-o", os.path.join(bench.tmp, "ours.sqlite"), "--osrt-threshold=0"]
    more = {1: [], THREADS: []}
    for _ in range(bench.rounds):
        for threads, took in more.items():
            bare, with_us = (memory_of(bench, options, threads) for options in ([], traced))
            took.append([None if a is None else a - b for a, b in zip(with_us, bare)])
    for kind, (what, bar) in enumerate(KINDS):
        if more[1][0][kind] is None:
            print("skipped %s: the kernel gives cores to a program" % what, file=sys.stderr)
            continue
        one, many = (median(took[kind] for took in more[t]) for t in (1, THREADS))
        table.add("idle process, over untraced: " + what, one / 1024, bar, "bar", "MiB", "<= 1")
        table.add("the same, each of %d threads" % THREADS, (many - one) / (THREADS - 1), None, "", "KiB")


# ---- the collector ----

class Watch:
    """Of a recording that runs: the collector's peak of memory that is not files, and how far its report lies behind."""

    def __init__(self, bench):
        self.bench, self.report = bench, os.path.join(bench.tmp, "ours.sqlite")
        self.peak_kib, self.lag, self.stop = 0, [], threading.Event()

    def memory(self):
        while not self.stop.wait(0.02):
            try:
                with open("/proc/%d/status" % self.bench.pid) as f:
                    parts = re.findall(r"Rss(?:Anon|Shmem):\s+(\d+)", f.read())
            except OSError:
                return
            self.peak_kib = max(self.peak_kib, sum(int(kib) for kib in parts))

    def __call__(self, runs):
        watch = threading.Thread(target=self.memory)
        watch.start()
        while runs():
            time.sleep(0.5)
            try:
                zero = sqlite(self.report, "SELECT systemClockNs FROM TARGET_INFO_SESSION_START_TIME")[0][0]
                last = sqlite(self.report, "SELECT end FROM OSRT_API ORDER BY rowid DESC LIMIT 1")[0][0]
                self.lag.append(time.monotonic() - (zero + last) / 1e9)
            except (sqlite3.Error, IndexError, TypeError):
                pass  # not there yet
        self.stop.set()
        watch.join()


def part_saturated(bench, table):
    folder, watch = os.path.join(bench.tmp, "files"), Watch(bench)
    program = [sys.executable, os.path.join(HERE, "pool.py"), folder, str(FILES), "4"]
    none(bench, program)
    run = ours("--osrt-file-access=true", "--on-full=block", function=None)(bench, program + [str(SATURATED_S)], during=watch)
    late = bench.ended - run.figures[0][2]
    label = "%.0f s of files, 4 workers on %d processors, every call: " % (SATURATED_S, os.cpu_count())
    rows = sqlite(watch.report, "SELECT count(*) FROM OSRT_API")[0][0]
    table.add(label + "memory of the collector", watch.peak_kib / 1024, 256, "bar", "MiB", "<= 1")
    table.add("the same: rows, and bytes of the report", rows / 1e6, os.path.getsize(watch.report) / 1e6, "MB", "M", ratio=0.0)
    table.add("the same: from the end of the program to that of profile", late, 1, "bar", "s", "<= 1")
    if watch.lag:
        table.add("the same: the live report behind, median and most", median(watch.lag), max(watch.lag), "most", "s", ratio=0.0)
    os.remove(watch.report)

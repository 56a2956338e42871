"""What a run of tests/prog/cpu.c says of its CPU time, against samples in reports.

count HZ LOG REPORT [LEAST [MOST]]   samples per window: LEAST to MOST per cent of CPU time x HZ and chance (default: 90 and 110), none outside
edges LOG REPORT...                  one begins where the one before ended, no sample is in two, none is missing between them
tasks HZ LOG REPORT                  every task that ran 20 ms in the window has its samples
spend SECONDS LOG                    waits until so much more CPU time has been spent
"""

import bisect
import math
import sqlite3
import struct
import sys
import time

REGION, REGIONS = 1 << 20, 1024


class Task:
    def __init__(self, tid, times, cpu):
        self.tid, self.times, self.cpu = tid, times, cpu

    def spent(self, when):
        """CPU time until CLOCK_MONOTONIC @when, ns."""
        i = bisect.bisect_right(self.times, when)
        if i == 0:
            return self.cpu[0]
        if i == len(self.times):
            return self.cpu[-1]
        before, after = self.times[i - 1], self.times[i]
        return self.cpu[i - 1] + (self.cpu[i] - self.cpu[i - 1]) * (when - before) / max(after - before, 1)

    def within(self, begin, end):
        return self.spent(end) - self.spent(begin)


def load(path):
    tasks = []
    with open(path, 'rb') as f:
        for i in range(REGIONS):
            f.seek(i * REGION)
            tid, cnt = struct.unpack('<qq', f.read(16))
            if not tid:
                break
            pairs = struct.unpack(f'<{2 * cnt}q', f.read(16 * cnt))
            if cnt:
                tasks.append(Task(tid, pairs[0::2], pairs[1::2]))
    return tasks


class Report:
    def __init__(self, path):
        db = sqlite3.connect(f'file:{path}?mode=ro', uri=True)
        (zero,) = db.execute('SELECT systemClockNs FROM TARGET_INFO_SESSION_START_TIME').fetchone()
        (length,) = db.execute('SELECT duration FROM ANALYSIS_DETAILS').fetchone()
        has = {name for (name,) in db.execute('SELECT name FROM sqlite_master')}
        self.windows = [(zero, zero + length)]
        if 'SL_CAPTURES' in has:
            self.windows = [(zero + a, zero + b) for a, b in
                            db.execute('SELECT start, end FROM SL_CAPTURES ORDER BY start')]
        self.samples = []
        if 'COMPOSITE_EVENTS' in has:
            self.samples = [(zero + start, tid & 0xffffff) for start, tid in
                            db.execute('SELECT start, globalTid FROM COMPOSITE_EVENTS ORDER BY start')]

    def has(self, when):
        # Two clocks' rates are known to a few ns.
        return any(a - 1000 <= when <= b + 1000 for a, b in self.windows)


def is_chance(got, least, most):
    """Whether so many samples can be chance where least to most are expected: by the Chernoff bound of the Poisson
    distribution, got * ln(got / expected) - got + expected <= ln 1e9. A sample more or less per task is not chance."""
    if least <= got <= most:
        return True
    want = least if got < least else most
    return want > 0 and (got * math.log(got / want) if got else 0) - got + want <= math.log(1e9)


def count(hz, log, path, least=90.0, most=110.0):
    tasks, report, bad = load(log), Report(path), False
    mine = {t.tid for t in tasks}
    outside = [when for when, _ in report.samples if not report.has(when)]
    if outside:
        print(f'{len(outside)} samples lie in no window: the first {outside[0] - report.windows[0][0]} ns in')
        bad = True
    for begin, end in report.windows:
        want = sum(t.within(begin, end) for t in tasks) * hz / 1e9
        got = sum(begin <= when < end and tid in mine for when, tid in report.samples)
        print(f'{(end - begin) / 1e9:.3f} s: {got} samples, CPU time for {want:.0f}')
        # A sample more or less at both ends of every task.
        slack = 2 * len(tasks)
        bad |= want < 20 or not is_chance(got, want * least / 100 - slack, want * most / 100 + slack)
    return bad


def gaps(task, samples):
    """CPU time between samples, ns."""
    spent = [task.spent(when) for when in samples]
    return [b - a for a, b in zip(spent, spent[1:])]


def edges(log, *paths):
    tasks, reports, bad = load(log), [Report(p) for p in paths], False
    for a, b in zip(reports, reports[1:]):
        between = b.windows[0][0] - a.windows[-1][1]
        print(f'{between} ns between two reports')
        bad |= abs(between) > 1000
        both = set(a.samples) & set(b.samples)
        if both:
            print(f'{len(both)} samples are in both')
            bad = True
        for task in tasks:
            mine = [[when for when, tid in r.samples if tid == task.tid] for r in (a, b)]
            if len(mine[0]) < 50 or len(mine[1]) < 50:
                continue
            edge = task.within(mine[0][-1], mine[1][0])
            largest = max(gaps(task, mine[0]) + gaps(task, mine[1]))
            print(f'{edge / 1e6:.2f} ms of CPU time without a sample there, {largest / 1e6:.2f} ms at most elsewhere')
            bad |= edge > largest + 1.5e6
    return bad


def tasks_sampled(hz, log, path):
    tasks, report, bad, seen = load(log), Report(path), False, 0
    begin, end = report.windows[0]
    for task in tasks:
        want = task.within(begin, end) * hz / 1e9
        if task.within(begin, end) < 20e6:
            continue
        got = sum(begin <= when < end and tid == task.tid for when, tid in report.samples)
        seen += 1
        if not is_chance(got, want * 0.9 - 2, want * 1.1 + 2):
            print(f'thread {task.tid}: {got} samples, CPU time for {want:.0f}')
            bad = True
    print(f'{seen} tasks of {len(tasks)}')
    return bad or not seen


def spend(seconds, log):
    """False: it has, before a minute was over."""
    def spent():
        """Of the first and the last pair of every task alone: the log may be long."""
        total = 0
        with open(log, 'rb') as f:
            for i in range(REGIONS):
                f.seek(i * REGION)
                tid, cnt, _, first = struct.unpack('<4q', f.read(32))
                if not tid:
                    break
                if cnt:
                    f.seek(i * REGION + 16 * cnt + 8)
                    total += struct.unpack('<q', f.read(8))[0] - first
        return total

    end, until = time.monotonic() + 60, spent() + seconds * 1e9
    while spent() < until:
        if time.monotonic() > end:
            return True
        time.sleep(0.05)
    return False


def main(what, *args):
    if what == 'spend':
        return spend(float(args[0]), args[1])
    if what == 'count':
        return count(float(args[0]), args[1], args[2], *(float(a) for a in args[3:]))
    if what == 'tasks':
        return tasks_sampled(float(args[0]), *args[1:])
    return edges(*args)


sys.exit(main(*sys.argv[1:]))

#!/usr/bin/env python3
"""
gpu_random.py -b BUILD [-k] FIRST COUNT - random programs (tests/gpu/random.c) on the stand-ins in their worst mood, traced,
and compared with the same untraced and with what the stand-in did (STANDIN_CUPTI_LOG).

For each seed: exit status and output are those of the untraced program; no crash, no hang, no misuse of CUPTI; each row of
the GPU's work is one thing that the stand-in did, at its time, and none twice; what has no row is counted or lies in a time
that the report calls missing. A line per seed that fails, and a table of what was seen. -k keeps the reports.
"""
import argparse
import bisect
import glob
import os
import random
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile

KERNEL, MEMCPY, MEMSET, GRAPH, START, STOP = 1, 2, 3, 6, 100, 101
# By CUPTI's kinds: handed over without usable times; dropped.
UNSOUND, ALL_DROPPED = 200, 300
CUPTI_KINDS = {KERNEL: 10, MEMCPY: 1, MEMSET: 2, GRAPH: 51}
CUDA_EVENT = 36  # comes with another kind, and is not asked for
OFF, SHIM, CLIENT, DROPPED = range(4)
TABLES = {KERNEL: 'CUPTI_ACTIVITY_KIND_KERNEL', MEMCPY: 'CUPTI_ACTIVITY_KIND_MEMCPY', MEMSET: 'CUPTI_ACTIVITY_KIND_MEMSET',
          GRAPH: 'CUPTI_ACTIVITY_KIND_GRAPH_TRACE'}
ENTRY = struct.Struct('=IIQQQII')
TIMES_NS = 50_000  # by which a row's time may differ
EDGE_NS = 2_000_000  # by which the ends of a time that is missing are known
LIMIT_S = 60
# Always there are those of the version; these in some runs.
MORE_LIES = ['OTHER_CLOCK', 'TICKS', 'END_BEFORE_START', 'INCOMPLETE']


def lies_of(version):
    path = os.path.join(os.path.dirname(__file__), '../../standin/cupti_bugs.def')
    with open(path) as file:
        found = re.findall(r'^LIE\((\w+), (\d+), (\d+),', file.read(), re.M)
    return [name for name, first, last in found if int(first) <= version <= int(last)]


class Mood:
    def __init__(self, seed):
        chance = random.Random(seed)
        version = chance.choice([16, 18, 22, 24, 26, 28, 130001, 130001])
        lies = lies_of(version) + chance.choice([[], [], MORE_LIES, chance.sample(MORE_LIES, 2)])
        self.env = {'STANDIN_CUPTI_VERSION': str(version),
                    'STANDIN_CUPTI_LIES': ','.join(lies) or 'none',
                    'STANDIN_CUPTI_LATE': chance.choice(['', '', '5', '30']),
                    'STANDIN_CUPTI_DROP': chance.choice(['', '', '3', '17']),
                    'STANDIN_CUPTI_AHEAD': chance.choice(['', '1']),
                    'STANDIN_CUPTI_FLUSH': chance.choice(['', '', '3'])}
        self.options = ['-t', chance.choice(['cuda', 'cuda,osrt'])]
        self.options += chance.choice([[], ['--cuda-flush-interval=20'], ['--cuda-flush-interval=0'],
                                       ['--cuda-flush-interval=200']])
        # Graph level crashes those versions, by request, too.
        self.options += chance.choice([[], ['--cuda-graph-trace=node']])
        self.repeats = False
        self.ranges = chance.random() < 0.25
        if self.ranges:
            self.repeats = chance.random() < 0.5
            self.options += ['-c', 'cudaProfilerApi', '--capture-range-end=' + ('repeat:100' if self.repeats else 'none')]
            self.env['RANDOM_RANGES'] = '1'

    def text(self):
        return ' '.join(f'{k[14:]}={v}' for k, v in self.env.items() if v) + ' ' + ' '.join(self.options)


def run(command, env, where):
    try:
        done = subprocess.run(command, env=env, cwd=where, capture_output=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return None, b'', b''
    return done.returncode, done.stdout, done.stderr


def read_log(path):
    with open(path, 'rb') as file:
        data = file.read()
    return [ENTRY.unpack_from(data, at)[:5] for at in range(0, len(data) - ENTRY.size + 1, ENTRY.size)]


class Report:
    def __init__(self, path):
        self.db = sqlite3.connect(path)
        self.tables = {name for name, in self.db.execute('SELECT name FROM sqlite_master')}
        start, = self.db.execute('SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME').fetchone()
        mono, real = self.db.execute('SELECT monotonic, realtime FROM SL_CLOCK_SNAPSHOTS LIMIT 1').fetchone()
        self.zero = start - (real - mono)

    def rows(self, kind, pid):
        if TABLES[kind] not in self.tables:
            return []
        return sorted(start + self.zero for start, in self.db.execute(
            f'SELECT start FROM {TABLES[kind]} WHERE (globalPid >> 24) & 0xffffff = ?', (pid,)))

    def lost(self, pid):
        found = {}
        if 'SL_LOST_EVENTS' in self.tables:
            for what, count in self.db.execute(
                    'SELECT what, sum(count) FROM SL_LOST_EVENTS WHERE (globalTid >> 24) & 0xffffff = ? GROUP BY 1', (pid,)):
                found[what] = count
        return found

    def notes(self, pid):
        return [text for text, in self.db.execute(
            'SELECT text FROM DIAGNOSTIC_EVENT WHERE (globalPid >> 24) & 0xffffff = ?', (pid,))]

    def gaps(self, pid):
        found = []
        for text in self.notes(pid):
            match = re.search(r'missing from (-?[\d.]+) s to (its end at )?(-?[\d.]+) s', text)
            if match:
                end = float('inf') if match[2] else self.zero + float(match[3]) * 1e9
                found.append((self.zero + float(match[1]) * 1e9, end))
        return found


class Reports:
    """Of one run: one for each range."""

    def __init__(self, paths):
        self.all = [Report(path) for path in paths]

    def rows(self, kind, pid):
        return sorted(start for report in self.all for start in report.rows(kind, pid))

    def lost(self, pid):
        found = {}
        for report in self.all:
            for what, count in report.lost(pid).items():
                found[what] = found.get(what, 0) + count
        return found

    def notes(self, pid):
        return [text for report in self.all for text in report.notes(pid)]

    def gaps(self, pid):
        return [gap for report in self.all for gap in report.gaps(pid)]


def match(rows, truth):
    """How many rows have nothing of their own in the truth, by their starts, and how much of the truth has no row."""
    left, strange = sorted(truth), 0
    for row in rows:
        at = bisect.bisect_left(left, row - TIMES_NS)
        if at < len(left) and left[at] <= row + TIMES_NS:
            near = min(range(at, min(at + 20, len(left))), key=lambda i: abs(left[i] - row))
            left.pop(near)
        else:
            strange += 1
    return strange, len(left)


def in_ranges(entries, repeats):
    """Work that was launched in a range, the first of which may be open at the end."""
    is_open, found = False, []
    for entry in sorted(entries, key=lambda e: e[2]):
        if entry[0] == START or entry[0] == STOP and repeats:
            is_open = entry[0] == START
        elif is_open:
            found.append(entry)
    return found


def reasons(entries, of, kinds):
    """Records that were the shim's, and had no room, or no times: how many."""
    return sum(e[0] - of in kinds and e[1] in (SHIM, DROPPED) for e in entries)


def is_in(gaps, at, edge=0):
    return any(begin - edge <= at <= end + edge for begin, end in gaps)


def check_process(report, pid, entries, mood, seen):
    wrong = []
    lost = report.lost(pid)
    dropped = sum(n for what, n in lost.items() if 'dropped' in what)
    untimed = sum(n for what, n in lost.items() if 'does not know when' in what or 'end before the start' in what)
    # Behind a record that is incomplete nothing can be counted, and the report has that.
    at_least = sum(n for what, n in lost.items() if 'at least' in what)
    has_tail = any('ended before CUPTI had handed' in text for text in report.notes(pid))
    gaps = report.gaps(pid)
    wanted = in_ranges(entries, mood.repeats) if mood.ranges else entries
    missing = 0
    for kind in TABLES:
        rows = report.rows(kind, pid)
        # What the client got can be in a buffer of the shim's: then both have it.
        strange, _ = match(rows, [e[3] for e in entries if e[0] == kind and e[1] != OFF])
        if strange:
            wrong.append(f'{strange} of {len(rows)} rows in {TABLES[kind]} are not what it did')
        _, without = match(rows, [e[3] for e in wanted if e[0] == kind and e[1] in (SHIM, DROPPED) and not is_in(gaps, e[2])])
        known = [reasons(entries, of, [CUPTI_KINDS[kind]]) for of in (UNSOUND, ALL_DROPPED)]
        if without > sum(known) and not has_tail and not at_least:
            wrong.append(f'{without} of {TABLES[kind]} have no row, {known[0]} have no times, {known[1]} were dropped')
        missing += without
        seen['rows'] += len(rows)
    late_graphs = 0
    for entry in wanted:
        if entry[0] in TABLES and entry[1] in (OFF, CLIENT):
            if not is_in(gaps, entry[2], EDGE_NS):
                # Of a graph that was instantiated in such a time: counted.
                is_late = entry[0] == GRAPH and entry[1] == OFF and any(end <= entry[2] for _, end in gaps)
                late_graphs += is_late
                if not mood.ranges and not is_late:
                    wrong.append(f'kind {entry[0]} was not recorded ({entry[1]}), and no time is called missing')
                    break
            seen['in gaps'] += 1
    counted_graphs = sum(n for what, n in lost.items() if 'graphs that were instantiated while' in what)
    # Those of instances from when CUPTI changed hands may be recorded and counted.
    all_graphs = sum(e[0] == GRAPH and any(end - EDGE_NS <= e[2] for _, end in gaps) for e in entries)
    if not late_graphs <= counted_graphs <= all_graphs and not mood.ranges:
        wrong.append(f'{late_graphs} graphs are not recorded since they were instantiated too late, {counted_graphs} are counted')
    seen['late graphs'] += counted_graphs
    counted = (dropped, untimed)
    kinds = set(range(100))
    outside = [e for e in entries if not is_in(gaps, e[3])]
    least, most = ((reasons(of, ALL_DROPPED, kinds), reasons(of, UNSOUND, kinds - {CUDA_EVENT})) for of in (outside, entries))
    # Records of calls outside of ranges are dropped as well, and not counted.
    if not (least[0] <= dropped <= most[0] and least[1] <= untimed <= most[1]) and not has_tail and not at_least and not mood.ranges:
        wrong.append(f'{counted} are counted as dropped and without times, {least} to {most} were: {lost}')
    if missing > sum(counted) and not has_tail and not at_least:
        wrong.append(f'{missing} are missing, {counted} are counted: {lost}')
    seen['missing'] += missing
    seen['counted'] += dropped + untimed
    seen['tails'] += has_tail
    seen['at least'] += at_least != 0
    seen['gaps'] += len(gaps)
    return wrong


def check(build, seed, where, seen):
    mood = Mood(seed)
    log = os.path.join(where, 'log')
    os.mkdir(log)
    standin = os.path.join(build, 'tests/standin')
    env = dict(os.environ, LD_LIBRARY_PATH=standin, SIGHTLINE_CUPTI=standin + '/libcupti.so.13',
               RIVAL_CUPTI=standin + '/libcupti.so.13', **mood.env)
    program = [os.path.join(build, 'tests/gpu/random'), str(seed)]
    status, out, err = run(program, env, where)
    if status is None or status in (-11, -6) and b'stand-in' in err:
        return mood, [f'untraced: {status} {err.decode(errors="replace")}']
    env['STANDIN_CUPTI_LOG'] = log
    report = os.path.join(where, 'r.sqlite')
    traced = run([os.path.join(build, 'sightline'), 'profile', '-o', report, *mood.options, *program], env, where)
    if traced[0] is None:
        return mood, [f'traced: no end in {LIMIT_S} s']
    wrong = []
    if traced[:2] != (status, out):
        wrong.append(f'status {traced[0]}, not {status}; output {traced[1]!r}, not {out!r}')
    if b'stand-in' in traced[2]:
        wrong.append(traced[2].decode(errors='replace'))
    logs = {int(os.path.basename(path)): read_log(path) for path in glob.glob(log + '/*')}
    paths = glob.glob(where + '/r*.sqlite')
    if not paths and not (mood.ranges and not any(e[0] == START for entries in logs.values() for e in entries)):
        wrong.append('no report')
    data = Reports(paths)
    for pid, entries in logs.items():
        seen['activities'] += sum(e[0] in TABLES for e in entries)
        seen['processes'] += 1
        wrong += check_process(data, pid, entries, mood, seen)
    return mood, wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('-b', default='build')
    parser.add_argument('-k', action='store_true')
    parser.add_argument('first', type=int)
    parser.add_argument('count', type=int)
    args = parser.parse_args()
    seen = dict.fromkeys(['processes', 'activities', 'rows', 'missing', 'counted', 'in gaps', 'gaps', 'tails', 'at least', 'late graphs'], 0)
    failed = 0
    for seed in range(args.first, args.first + args.count):
        where = tempfile.mkdtemp(prefix=f'random.{seed}.')
        mood, wrong = check(os.path.abspath(args.b), seed, where, seen)
        if wrong:
            failed += 1
            print(f'seed {seed} ({mood.text()}):\n    ' + '\n    '.join(wrong[:8]) + (f'\n    {where}' if args.k else ''),
                  flush=True)
        if not (args.k and wrong):
            shutil.rmtree(where, ignore_errors=True)
    print(f'{args.count} programs, {failed} failed: ' + ', '.join(f'{n} {what}' for what, n in seen.items()))
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""chrome_read.py - reads a Chrome trace the way its users do, and turns it into rows that can be compared.

rows(path): [phase, category, name, where, ts, dur, args] for each event and ["flow", from, ts, to, ts] for each
arrow; where = process/thread by their names, since numbers of GPUs and lanes are made up. Times stay text.
check(path): what every trace must fulfil: order, nesting, ids; returns sentences about what is wrong.
"""
import collections
import gzip
import json
import sys
from decimal import Decimal

MADE_UP = 1 << 24


def load(path):
    opener = gzip.open if path.endswith('.gz') else open
    with opener(path, 'rt', encoding='utf-8') as f:
        return json.load(f, parse_float=str)


def names(events):
    process, thread = {}, {}
    for e in events:
        if e['ph'] == 'M' and e['name'] == 'process_name':
            process[e['pid']] = e['args']['name']
        elif e['ph'] == 'M' and e['name'] == 'thread_name':
            thread[e['pid'], e['tid']] = e['args']['name']
    return process, thread


def rows(path):
    trace = load(path)
    events = trace['traceEvents']
    process, thread = names(events)
    # Where events come before the session, the first of them is at 0.
    start = Decimal(trace['otherData'].get('sessionStartNs', 0)) / 1000
    for e in events:
        if 'ts' in e:
            e['ts'] = f"{Decimal(e['ts']) - start:.3f}"

    def where(e):
        if e['ph'] == 'C' or (e['ph'] == 'i' and e['s'] in 'gp'):
            return process[e['pid']]
        if e['ph'] in 'be':
            return process[e['pid']] + '/async'
        return process[e['pid']] + '/' + thread.get((e['pid'], e['tid']), str(e['tid']))

    out, begun = [], collections.defaultdict(list)
    for e in events:
        if e['ph'] == 'M':
            continue
        if e['ph'] == 's':
            begun[e['id']].append(e)
        elif e['ph'] == 'f':
            for s in begun[e['id']]:
                out.append(['flow', where(s), s['ts'], where(e), e['ts']])
        else:
            out.append([e['ph'], e.get('cat'), e['name'], where(e), e['ts'], e.get('dur'), e.get('args', {})])
    return out


def check(path):
    wrong = []
    trace = load(path)
    events = trace['traceEvents']
    process, _ = names(events)
    open_ends, order, arrows = collections.defaultdict(list), None, {}
    at, shared = {}, collections.defaultdict(set)
    for e in events:
        if e['ph'] in 'BX' and 'correlation' in e.get('args', {}):
            at[e['pid'], e['tid'], e['ts']] = e['args']['correlation']
            if e['cat'] in ('kernel', 'gpu_memcpy', 'gpu_memset'):
                shared[e['args']['correlation']].add(e['pid'])
    mixed = set().union(*(pids for pids in shared.values() if len(pids) > 1))
    for e in events:
        if not isinstance(e['pid'], int) or ('tid' in e and not isinstance(e['tid'], int)):
            wrong.append(f'pid or tid is no integer: {e}')
        if e['ph'] == 'M':
            continue
        if e['pid'] not in process:
            wrong.append(f'process {e["pid"]} has no name before its first event: {e}')
        ts = Decimal(e['ts'])
        if ts < 0:
            wrong.append(f'a time below 0, which readers drop: {e}')
        if e['ts'] != f'{ts:.3f}':
            wrong.append(f'ts is not in thousandths: {e["ts"]}')
        # The end of an async range stands where it fits, context switches where they end.
        if e['ph'] in 'Xi' and e['cat'] != 'sched':
            if order is not None and ts < order:
                wrong.append(f'out of order: {e}')
            order = ts
        if e['ph'] == 'X':
            end = ts + Decimal(e['dur'])
            stack = open_ends[e['pid'], e['tid']]
            while stack and stack[-1] <= ts:
                stack.pop()
            flat = e['cat'] in ('kernel', 'gpu_memcpy', 'gpu_memset', 'cuda_sync', 'sched')
            if stack and (flat or end > stack[-1]):
                wrong.append(f'does not nest: {e}')
            stack.append(end)
        # Readers (TraceLens) join by the correlation id itself; where processes share some, one has others.
        if e['ph'] in 'sf' and e['id'] != (correlation := at.get((e['pid'], e['tid'], e['ts']))):
            if not shared[correlation] & mixed:
                wrong.append(f'an arrow whose id is not the correlation id {correlation}: {e}')
        if e['ph'] == 's':
            if e['id'] in arrows:
                wrong.append(f'two arrows of one id: {e}')
            arrows[e['id']] = e
        elif e['ph'] == 'f' and e['id'] not in arrows:
            wrong.append(f'an arrow from nowhere: {e}')
    ended = {e['id'] for e in events if e['ph'] == 'f'}
    wrong += [f'an arrow to nowhere: {e}' for i, e in arrows.items() if i not in ended]
    return wrong


if __name__ == '__main__':
    if len(sys.argv) == 2:
        bad = check(sys.argv[1])
        print('\n'.join(bad[:20]))
        sys.exit(bool(bad))
    with open(sys.argv[2], encoding='utf-8') as f:
        want = sorted(json.dumps(json.loads(line), sort_keys=True) for line in f if line.strip())
    got = sorted(json.dumps(r, sort_keys=True) for r in rows(sys.argv[1]))
    for line in sorted((collections.Counter(want) - collections.Counter(got)).elements()):
        print('missing', line)
    for line in sorted((collections.Counter(got) - collections.Counter(want)).elements()):
        print('too many', line)
    sys.exit(want != got)

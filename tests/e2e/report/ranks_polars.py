"""ranks_polars.py SIGHTLINE DATASET RUN BASE [OTHER] - every question by DuckDB and by Polars, which reads the files itself: prints what differs.

The answers here share no SQL with the questions: they are written from the explanations at the head of each (title, about, column).
Each function takes the tables of both runs and returns columns and rows. OTHER: the dataset that Polars reads in place of DATASET.
"""
import glob
import json
import math
import sys
from collections import defaultdict

import polars as pl

import ranks_engines as engines

c = pl.col
ROOTED = ('Broadcast', 'Bcast', 'Reduce', 'Gather', 'Scatter', 'Scan')
GATHERED = ('AllGather', 'ReduceScatter', 'Alltoall', 'AlltoAll')


# ---- the dataset ----

def manifests(folder):
    for path in glob.glob(f'{folder}/_nodes/run=*/node=*.json'):
        with open(path, encoding='utf-8') as f:
            yield json.load(f)


class Data:
    """The tables of one run, without rows that newer ones have replaced."""

    def __init__(self, folder, run):
        starts = {m['node']: m['start'] for m in manifests(folder) if m['run'] == run}
        self.tables = {}
        for table, columns in engines.tables().items():
            parts = []
            for path in sorted(glob.glob(f'{folder}/{table}/run={run}/node=*/part-0.parquet')):
                node = path.split('/node=')[1].split('/')[0]
                part = pl.read_parquet(path, hive_partitioning=False)
                lacks = [pl.lit(None, dtype=pl.Int64 if t == 'INTEGER' else pl.String).alias(n) for n, t in columns if n not in part.columns]
                parts.append(part.with_columns(lacks).select([n for n, _ in columns]).with_columns(pl.lit(node).alias('node')))
            self.tables[table] = pl.concat(parts) if parts else pl.DataFrame(schema={n: pl.Int64 if t == 'INTEGER' else pl.String for n, t in columns} | {'node': pl.String})
        self.drop_replaced(starts)

    def drop_replaced(self, starts):
        """A rank on several nodes counts on that of its last start; of several starts the last counts."""
        best, last = {}, {}
        for row in self.tables['SL_RANKS'].iter_rows(named=True):
            key = (-(row['restart'] or 0), -starts.get(row['node'], 0), row['node'])
            best[row['rank']] = min(best.get(row['rank'], key), key)
            last[row['rank']] = max(last.get(row['rank'], 0), row['restart'] or 0)
        for name, table in self.tables.items():
            if 'rank' not in table.columns:
                continue
            where = c('rank').replace_strict({r: k[2] for r, k in best.items()}, default=None, return_dtype=pl.String)
            table = table.filter(where.is_null() | (where == c('node')))
            if 'restart' in table.columns:
                table = table.filter(c('restart').fill_null(0) == c('rank').replace_strict(last, default=0, return_dtype=pl.Int64))
            self.tables[name] = table

    def __getattr__(self, name):
        return self.tables['SL_' + name.upper()]


def total(column):
    """A sum of no values is not known."""
    return pl.when(column.count() > 0).then(column.sum())


def most(of, by):
    """@of in the row with the largest @by, of equal ones the least."""
    return of.filter(by == by.max()).min()


def least(of, by):
    return of.filter(by == by.min()).min()


def median(column):
    return column.quantile(0.5, interpolation='linear')


def rows(frame, *columns):
    return list(columns), [list(r) for r in frame.select(columns).iter_rows()]


# ---- steps ----

def own_work():
    """Of a step, all but waits for GPUs and for other ranks, and the GPU's own work."""
    return c('end') - c('start') - c('gpuNs') + (c('gpuBusyNs') - c('collNs')).fill_null(0)


def hosts(d, _base):
    homes = d.ranks.select('rank', 'host')
    f = d.steps.join(homes, on='rank').group_by('host').agg(
        c('rank').n_unique().alias('ranks'), ((c('end') - c('start')).mean() / 1e6).alias('stepMs'), (own_work().mean() / 1e6).alias('ownMs'),
        ((c('gpuBusyNs') - c('collNs')).mean() / 1e6).alias('gpuMs'), (c('dataNs').mean() / 1e6).alias('dataMs'), (c('runnableNs').mean() / 1e6).alias('runnableMs'))
    return rows(f.sort([-c('ownMs'), 'host']), 'host', 'ranks', 'stepMs', 'ownMs', 'gpuMs', 'dataMs', 'runnableMs')


def when(d, _base):
    f = d.steps.with_columns((c('start') // 60000000000).alias('minute')).group_by('minute', 'rank').agg(own_work().mean().alias('ns'))
    f = f.group_by('minute').agg(most(c('rank'), c('ns')).alias('slowest'), (c('ns').max() / median(c('ns'))).alias('ratio'))
    return rows(f.sort('minute'), 'minute', 'slowest', 'ratio')


def whatif(d, _base):
    f = d.steps.group_by('step').agg(own_work().max().alias('slowest'), median(own_work()).alias('typical'), (c('end') - c('start')).mean().alias('took'))
    took, less = f['took'].sum(), (f['took'] - f['slowest'] + f['typical']).sum()
    return ['seconds', 'withoutStragglers', 'lost'], [[took / 1e9, less / 1e9, 1 - less / took]]


PARTS = (('gpuMs', 'GPU', c('gpuBusyNs') - c('collNs')), ('fileMs', 'files', c('fileNs')), ('networkMs', 'network', c('networkNs')), ('lockMs', 'locks, GIL', c('lockNs') + c('gilNs')),
         ('runnableMs', 'waiting for a CPU', c('runnableNs')), ('sleepMs', 'sleeping', c('sleepNs')), ('cpuMs', 'computing', c('cpuNs')), ('otherMs', 'other waits', c('otherNs')))


def why(d, _base):
    f = d.steps.group_by('rank').agg([of.mean().alias(name) for name, _, of in PARTS])
    f = f.with_columns([(c(name) - median(c(name))) / 1e6 for name, _, _ in PARTS]).with_columns(c('gpuMs').fill_null(0))
    found = []
    for row in f.iter_rows(named=True):
        excess = max(row[name] for name, _, _ in PARTS)
        cause = next(word for name, word, _ in PARTS if row[name] == excess) if excess > 0 else 'none'
        found.append([row['rank'], cause, excess] + [row[n] for n in ('gpuMs', 'cpuMs', 'fileMs', 'networkMs', 'lockMs', 'runnableMs', 'sleepMs', 'otherMs')])
    found.sort(key=lambda r: (-r[2], r[0]))
    return ['rank', 'cause', 'excessMs', 'gpuMs', 'cpuMs', 'fileMs', 'networkMs', 'lockMs', 'runnableMs', 'sleepMs', 'otherMs'], found


def overlap(d, _base):
    homes = d.ranks.group_by('rank').agg(c('host').min())
    f = d.steps.filter(c('collNs').is_not_null()).group_by('rank').agg((c('end') - c('start')).mean().alias('took'), c('collNs').mean().alias('coll'), c('exposedCollNs').mean().alias('bare'))
    f = f.join(homes, on='rank', how='left').select('rank', 'host', (c('took') / 1e6).alias('stepMs'), (c('coll') / 1e6).alias('collMs'), (c('bare') / 1e6).alias('exposedMs'),
                                                    pl.when(c('coll') > 0).then((c('coll') - c('bare')) / c('coll')).alias('hidden'), (c('bare') / c('took')).alias('exposedShare'))
    return rows(f.sort([-c('exposedMs'), 'rank']), 'rank', 'host', 'stepMs', 'collMs', 'exposedMs', 'hidden', 'exposedShare')


def spread(d, _base):
    homes = d.ranks.group_by('rank').agg(c('host').min())
    f = d.steps.with_columns((own_work() / 1e6).alias('own'), ((c('end') - c('start')) / 1e6).alias('took'))
    f = f.group_by('rank').agg(pl.len().alias('steps'), median(c('own')).alias('ownP50'), c('own').quantile(0.99, interpolation='linear').alias('ownP99'), median(c('took')).alias('stepP50'),
                               c('took').quantile(0.99, interpolation='linear').alias('stepP99'), c('took').max().alias('longest')).join(homes, on='rank', how='left')
    return rows(f.sort([-c('ownP99'), 'rank']), 'rank', 'host', 'steps', 'ownP50', 'ownP99', 'stepP50', 'stepP99', 'longest')


# ---- collectives ----

def met(d, apart=()):
    """Collectives that end on all ranks together, half of whose ranks are there at least: one dict each. Members with other values of columns @apart are others."""
    groups = defaultdict(list)
    for row in d.collectives.iter_rows(named=True):
        if row['commHash'] is None or row['start'] is None or row['end'] is None or row['op'] in ROOTED or row['end'] - row['start'] >= 8000 * 10**9:
            continue
        groups[row['commHash'], row['seq'], row['bytes'], *(row[name] for name in apart)].append(row)
    for (comm, _, size, *_), members in groups.items():
        there = [m['nRanks'] for m in members if m['nRanks'] is not None]
        if len(members) < 2 or 2 * len(members) < (max(there) if there else 2):
            continue
        took = {m['rank']: m['end'] - m['start'] for m in members}
        last = min(took, key=lambda r: (took[r], r))
        steps = [m['step'] for m in members if m['step'] is not None]
        yield {'comm': comm, 'bytes': size, 'op': members[0]['op'], 'last': last, 'name': max((m['comm'] for m in members if m['comm'] is not None), default=None), 'step': max(steps) if steps else None, 'least': took[last],
               'longest': max(took.values()) - took[last], 'waited': sum(took.values()) - len(took) * took[last], 'n': len(took)}


def waits(d, _base):
    sums, names = defaultdict(lambda: [0, 0, 0]), {}
    for m in met(d, ['op']):
        key = m['comm'], m['op'], m['bytes'], m['last']
        names[key] = max((n for n in (names.get(key), m['name']) if n is not None), default=None)
        s = sums[m['comm'], m['op'], m['bytes'], m['last']]
        s[0] += 1
        s[1] += m['waited']
        s[2] = max(s[2], m['longest'])
    found = [[key[0], names[key], *key[1:], n, waited / 1e9, longest / 1e6] for key, (n, waited, longest) in sums.items()]
    found.sort(key=lambda r: (-r[6], r[0], r[2], r[3] is None, r[3], r[4]))
    return ['commHash', 'comm', 'op', 'bytes', 'culprit', 'collectives', 'rankSeconds', 'longestMs'], found


def steps(d, _base):
    sums = defaultdict(lambda: defaultdict(int))
    for m in met(d):
        if m['step'] is not None:
            sums[m['step']][m['last']] += m['waited']
    found = [[step, min(of, key=lambda r, of=of: (-of[r], r)), max(of.values()) / 1e9] for step, of in sums.items()]
    found.sort(key=lambda r: (-r[2], r[0]))
    return ['step', 'straggler', 'rankSeconds'], found


def straggler(d, _base):
    """Blame: what a rank made the others wait, less the part of its own lateness that it waited in other communicators of the step."""
    cells = defaultdict(lambda: {'n': 0, 'waited': 0, 'late': 0.0})
    least_of = defaultdict(int)
    for m in met(d):
        key = (m['step'] or 0, m['comm'], m['last'])
        cells[key]['n'] += 1
        cells[key]['waited'] += m['waited']
        cells[key]['late'] += m['waited'] / (m['n'] - 1)
        least_of[key[:2]] += m['least']
    cause, waited = {}, defaultdict(int)
    for (step, comm, rank), cell in cells.items():
        waited[rank] += cell['waited']
        if (step, comm) not in cause or cell['waited'] > cells[step, comm, cause[step, comm]]['waited']:
            cause[step, comm] = rank
    suspects = sorted(waited, key=lambda r: (-waited[r], r))[:32]
    took = defaultdict(int)
    for row in d.collectives.iter_rows(named=True):
        if row['commHash'] is not None and row['start'] is not None and row['op'] not in ROOTED and row['end'] - row['start'] < 8000 * 10**9 and row['rank'] in suspects:
            took[row['rank'], row['step'] or 0, row['commHash']] += row['end'] - row['start']
    elsewhere = defaultdict(list)  # rank, step: (what it waited, communicator, for which rank)
    for (rank, step, comm), ns in took.items():
        if (step, comm) in cause and cause[step, comm] != rank and ns > least_of[step, comm]:
            elsewhere[rank, step].append((ns - least_of[step, comm], comm, cause[step, comm]))
    blame, times = defaultdict(float), defaultdict(int)
    for (step, comm, rank), cell in cells.items():
        times[rank] += cell['n']
        others = [e for e in elsewhere.get((rank, step), ()) if e[1] != comm]
        part = min(sum(e[0] for e in others), cell['late']) / cell['late'] if cell['late'] > 0 else 0
        blame[rank] += cell['waited'] * (1 - part)
        if others:
            blame[max(others)[2]] += cell['waited'] * part
    every = sum(blame.values())
    found = [[r, times[r], ns / 1e9, ns / every if every else math.nan] for r, ns in blame.items()]
    found.sort(key=lambda r: (-r[2], r[0]))
    return ['rank', 'collectives', 'rankSeconds', 'share'], found


def network(d, _base):
    f = d.collectives.filter(c('commHash').is_not_null() & c('start').is_not_null() & (c('bytes') > 0) & (c('grouped') == 1)).with_columns((c('end') - c('start')).alias('ns'))
    f = f.group_by('commHash', 'seq', 'op', 'bytes').agg(c('ns').min(), pl.len().alias('there'), c('nRanks').max(), c('comm').max())
    f = f.filter((c('there') > 1) & (2 * c('there') >= c('nRanks').fill_null(2)) & (c('ns') > 0)).with_columns(c('nRanks').fill_null(c('there')).alias('n'))
    is_gathered = c('op').is_in(GATHERED)
    bus = pl.when(c('op') == 'AllReduce').then(2 * (c('n') - 1) / c('n')).when(c('op').is_in(('Broadcast', 'Bcast', 'Reduce', 'SendRecv'))).then(1.0).otherwise((c('n') - 1) / c('n'))
    f = f.with_columns((c('bytes') * pl.when(is_gathered).then(c('n')).otherwise(1) / c('ns')).alias('rate'), bus.alias('bus'))
    f = f.group_by('commHash', 'op', 'bytes').agg(pl.len().alias('collectives'), c('ns').sum(), median(c('rate')).alias('gbPerS'),
                                                  c('rate').quantile(0.05, interpolation='linear').alias('worst'), c('bus').max(), c('comm').max())
    f = f.with_columns((c('gbPerS').max().over('op', 'bytes') / c('gbPerS')).alias('slower'), (c('gbPerS') * c('bus')).alias('busGbPerS'))
    f = f.with_columns((c('ns') * (1 - 1 / c('slower')) / 1e9).alias('lostS')).sort([-c('lostS'), -c('ns'), 'commHash', 'op', 'bytes'])
    return rows(f, 'commHash', 'comm', 'op', 'bytes', 'collectives', 'gbPerS', 'busGbPerS', 'worst', 'slower', 'lostS')


def mismatch(d, _base):
    over, calls, member = {}, defaultdict(list), defaultdict(lambda: defaultdict(set))
    for row in d.ranks.iter_rows(named=True):
        over[row['rank']] = max(over.get(row['rank'], row['end']), row['end'])
    for row in d.collectives.iter_rows(named=True):
        if row['commHash'] is not None:
            calls[row['commHash'], row['seq']].append(row)
            member[row['commHash']][row['rank']].add(row['seq'])
    found = []
    for (comm, seq), at in sorted(calls.items(), key=lambda x: x[0]):
        ranks = member[comm]
        begun = seq >= max(min(s) for s in ranks.values())
        idle = [over[m['rank']] - m['callStart'] for m in at if m['rank'] in over]
        hung = not any(m['end'] is not None for m in at) and (max(idle) if idle else 2 * 10**9) > 10**9
        lacks = len(at) < len(ranks) and begun and (seq <= min(max(s) for s in ranks.values()) or hung)
        ops, sizes = sorted({m['op'] for m in at}), sorted(m['bytes'] for m in at if m['bytes'] is not None) or [None]
        if not (lacks or len(ops) > 1 or sizes[0] != sizes[-1]):
            continue
        missing = [r for r in ranks if seq not in ranks[r]]
        found.append([comm, max((m['comm'] for m in at if m['comm'] is not None), default=None), seq, len(at), max((m['nRanks'] for m in at if m['nRanks'] is not None), default=None), min(missing) if missing else None,
                      ops[0] if len(ops) == 1 else f'{ops[0]}, {ops[-1]}', sizes[0], sizes[-1]])
    return ['commHash', 'comm', 'seq', 'ranks', 'nRanks', 'lacks', 'ops', 'smallest', 'largest'], found


# ---- sums per minute ----

def is_nccl():
    return c('name').str.to_lowercase().str.starts_with('nccl') & c('name').str.starts_with('nccl')


def kernels(d, _base):
    f = d.kernels.filter(~is_nccl()).group_by('name', 'rank').agg(c('ns').sum(), c('n').sum()).with_columns((c('ns') / c('n')).alias('mean'))
    f = f.group_by('name').agg((c('ns').sum() / 1e9).alias('s'), c('n').sum(), (c('ns').sum() / c('n').sum() / 1e3).alias('meanUs'), most(c('rank'), c('mean')).alias('slowestRank'),
                               (c('mean').max() / (c('ns').sum() / c('n').sum())).alias('ratio'))
    return rows(f.sort([-c('s'), 'name']), 'name', 's', 'n', 'meanUs', 'slowestRank', 'ratio')


def gpus(d, _base):
    homes = d.ranks.select('rank', 'host', c('gpuName').fill_null('').alias('gpu')).unique()
    f = d.kernels.filter(~is_nccl()).join(homes, on='rank').group_by('name', 'rank', 'host', 'gpu').agg(c('ns').sum(), c('n').sum()).with_columns((c('ns') / c('n')).alias('mean'))
    f = f.with_columns(median(c('mean')).over('name', 'gpu').alias('median')).filter((c('mean') > 0) & (c('median') > 0))
    f = f.group_by('rank', 'host', 'gpu').agg((c('ns').sum() / (c('median') * c('n')).sum()).alias('slower')).sort([-c('slower'), 'rank'])
    life, found = {}, []
    for row in d.ranks.iter_rows(named=True):
        life[row['rank']] = max(life.get(row['rank'], 0), row['end'] - row['start'])
    health = defaultdict(list)
    for row in d.gpu_health.iter_rows(named=True):
        health[row['rank']].append(row)
    for rank, host, gpu, slower in f.iter_rows():
        own, kept = health[rank], defaultdict(int)
        for row in own:
            if row['name'].startswith('Throttled: ') and row['name'] != 'Throttled: Low Utilization':
                kept[row['name'][11:]] += row['total']
        longest = max(kept.values(), default=0)
        clocks_ = [row for row in own if row['name'] == 'SM Clock']
        found.append([rank, host, gpu, slower, longest / life[rank] if own else None, min(k for k in kept if kept[k] == longest) if longest > 0 else None,
                      sum(r['total'] for r in clocks_) / 1e6 / sum(r['n'] for r in clocks_) if clocks_ else None, max((r['most'] for r in own if r['name'] == 'Temperature'), default=None),
                      sum(r['total'] for r in own if r['name'].startswith('xid') or r['name'] == 'ECC Uncorrected') if own else None])
    return ['rank', 'host', 'gpu', 'slower', 'throttled', 'cause', 'clockMhz', 'hottest', 'errors'], found


def files(d, _base):
    key = ['mount', 'path', 'op']
    f = d.files.group_by(*key, 'rank').agg(c('n').sum(), total(c('bytes')), c('ns').sum(), c('maxNs').max())
    f = f.group_by(key).agg(c('n').sum().alias('calls'), (total(c('bytes')) / 1e6).alias('mb'), (c('ns').sum() / 1e9).alias('s'), (c('maxNs').max() / 1e6).alias('slowestMs'),
                            pl.len().alias('ranks'), most(c('rank'), c('ns')).alias('slowestRank'))
    return rows(f.sort([-c('s'), 'path', 'op']), *key, 'calls', 'mb', 's', 'slowestMs', 'ranks', 'slowestRank')


# ---- the run ----

def data(d, _base):
    k = d.ranks
    there = set(k['rank'].to_list())
    world = k['worldSize'].max()
    missing = None if world is None else world - len(there)
    gap = next(r for r in range(len(there) + 1) if r not in there)
    lost = k.select('node', 'report', 'lost').unique()['lost'].sum()
    return ['ranks', 'missing', 'firstMissing', 'cut', 'lost', 'versions', 'clockMs'], [[
        len(there), missing, gap if missing and missing > 0 else None, (k['complete'] == 0).sum(), lost, k['version'].drop_nulls().n_unique(), k['clockErrorNs'].max() / 1e6]]


def clocks(d, _base):
    f = d.clock_fit.group_by('node').agg((least(c('offsetNs'), c('time')) / 1e3).alias('aheadUs'), (most(c('offsetNs'), c('time')) / 1e3).alias('lastUs'),
                                         (c('driftPpb').mean() / 1e3).alias('ppm'), (c('errorNs').max() / 1e3).alias('withinUs'), total(c('collectives')).alias('ends'), c('source').max())
    return rows(f.sort([-c('aheadUs').abs(), 'node']), 'node', 'aheadUs', 'lastUs', 'ppm', 'withinUs', 'ends', 'source')


STEP_PARTS = (('computing', 'cpuNs'), ('waiting for a CPU', 'runnableNs'), ('GPU, other ranks', 'gpuNs'), ('files', 'fileNs'), ('network', 'networkNs'), ('locks, GIL', 'lockNs', 'gilNs'),
              ('sleeping', 'sleepNs'), ('other waits', 'otherNs'))


def costs(d):
    """{(kind, name): [number, ns]} of a run."""
    to = defaultdict(lambda: [0, 0])

    def add(kind, name, n, ns):
        to[kind, name][0] += n
        to[kind, name][1] += ns
    for row in d.kernels.iter_rows(named=True):
        add('kernel', row['name'], row['n'], row['ns'])
    for row in d.calls.iter_rows(named=True):
        add('call', row['name'], row['n'], row['ns'])
    for row in d.files.iter_rows(named=True):
        add('file', f'{row["op"]} {row["path"]}', row['n'], row['ns'])
    for name, *columns in STEP_PARTS:
        if d.steps.height:
            add('step', name, d.steps.height, sum(int(d.steps[column].sum()) for column in columns))
    groups = defaultdict(list)
    for row in d.collectives.iter_rows(named=True):
        if row['commHash'] is not None and row['start'] is not None:
            groups[row['commHash'], row['seq'], row['op']].append(row['end'] - row['start'])
    for (_, _, op), took in groups.items():
        if len(took) > 1:
            add('wait', op, 1, sum(took) - len(took) * min(took))
    return to


def changed(d, base):
    after, before = costs(d), costs(base)
    scale = d.steps.height / base.steps.height if d.steps.height and base.steps.height else 1
    found = {False: [], True: []}
    for kind, name in set(after) | set(before):
        (n0, ns0), (n1, ns1) = before.get((kind, name), (0, 0)), after.get((kind, name), (0, 0))
        if ns0 + ns1 <= 0:
            continue
        if not n0 or not n1:
            change = 'gone' if n0 else 'new'
        elif not 0.9 * n0 * scale <= n1 <= 1.1 * n0 * scale:
            change = 'more' if n1 > n0 * scale else 'fewer'
        else:
            change = 'slower' if ns1 >= ns0 * scale else 'faster'
        row = [kind, name, change, n0, n1, ns0 / n0 / 1e3 if n0 else None, ns1 / n1 / 1e3 if n1 else None, (ns1 - ns0 * scale) / 1e9]
        found[kind in ('step', 'wait')].append(row)
    for of in found.values():
        of.sort(key=lambda r: (-abs(r[7]), r[0], r[1]))
    turns = sorted((place, is_part, row) for is_part, of in found.items() for place, row in enumerate(of))
    return ['kind', 'name', 'change', 'beforeN', 'afterN', 'beforeUs', 'afterUs', 'costS'], [row for _, _, row in turns]


ANSWERS = {f.__name__: f for f in (changed, clocks, data, files, gpus, hosts, kernels, mismatch, network, overlap, spread, steps, straggler, waits, whatif, when, why)}


def main():
    bin_, folder, run, base = sys.argv[1:5]
    other = sys.argv[5] if len(sys.argv) > 5 else folder
    d, b = Data(other, run), Data(other, base)
    cells = 0
    for question in engines.questions(bin_):
        got = engines.by_duckdb(engines.script(bin_, question, folder, run, base))
        if question not in ANSWERS:
            print(f'{question}: no answer by Polars')
            continue
        want = ANSWERS[question](d, b)
        # DuckDB's shell prints no columns of an answer without rows.
        bad = engines.differs(want, got) if want[1] or got[1] else None
        if bad:
            print(f'{question}: Polars and DuckDB: {bad}')
        cells += sum(map(len, got[1]))
    if cells < 300:
        print(f'{cells} cells are few')


if __name__ == '__main__':
    main()

"""ranks_multiply.py - a report of one rank, recorded by sightline, as those of a job of many ranks and steps, with one fault.

The shortest step, which nothing disturbed, is the pattern: each rank does each step what was recorded there, a little longer by
chance. Ranks of the same place modulo 4 are a communicator, on whose slowest rank the kernel of the collective waits on all others;
that, and a fault, makes times after it later: none of a row's other facts is changed. One report for each node, added as a user would.
"""
import os
import random
import shutil
import sqlite3
import subprocess

GROUPS = 4
US, MS = 1000, 1000000
ZERO = 10 * MS  # of the first step, on the axis of a report
ALIEN = {'SL_PROCESS_TREE', 'SL_NCCL_COMMUNICATORS'}  # their times are not those of a step
IDS = ('correlationId', 'callId')
TIMES = ('start', 'end', 'wakeupTime')
OWNERS = ('globalTid', 'globalPid')
OTHERS = ('endGlobalTid', 'parentGlobalPid', 'wakerTid', 'ownerTid')


class Pattern:
    """What the recorded rank did in one step, and what it is."""

    def __init__(self, path):
        self.path = path
        db = sqlite3.connect(f'file:{path}?mode=ro', uri=True)
        db.row_factory = sqlite3.Row
        self.text = dict(db.execute('SELECT id, value FROM StringIds'))
        step = "eventType = 59 AND coalesce(text, (SELECT value FROM StringIds WHERE id = textId)) = 'step'"
        all_ = sorted(db.execute(f'SELECT end - start, start, globalTid FROM NVTX_EVENTS WHERE {step}').fetchall(), key=tuple)
        self.ns, self.start, self.main = all_[0]
        self.pid = self.main >> 24
        self.events, self.facts, self.arguments = {}, {}, {}
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'").fetchall():
            info = db.execute(f'PRAGMA table_info("{table}")').fetchall()
            columns = [c[1] for c in info]
            owner = next((c for c in OWNERS if c in columns), None)
            if owner and 'id' not in columns:  # what is kept once stays
                rows = [dict(r) for r in db.execute(f'SELECT * FROM "{table}" WHERE {owner} >> 24 = ?', (self.pid,))]
                to = self.events if 'start' in columns and table not in ALIEN else self.facts
                if to is self.events:
                    numbers = [c[1] for c in info if c[5]]  # SQLite gives them anew
                    rows = [{c: v for c, v in r.items() if c not in numbers} for r in rows if self.start <= r['start'] < self.start + self.ns]
                to[table] = rows
        ids = {r[c] for rows in self.events.values() for r in rows for c in IDS if r.get(c)}
        for row in map(dict, db.execute('SELECT * FROM SL_GPU_ARGUMENTS')):
            if row['callId'] in ids:
                self.arguments.setdefault(row['callId'], []).append(row)
        self.most = 1 + max(ids, default=0)
        self.call = next(r for r in self.events['SL_LIBRARY_API'] if self.text[r['nameId']] == 'ncclAllReduce')
        self.collective = next(r for r in self.kernels() if self.name(r).startswith('nccl'))
        self.work = next(r for r in self.kernels() if not self.name(r).startswith('nccl'))
        self.read = max(self.calls('pread'), key=lambda r: r['end'] - r['start'])
        self.sleep = max(self.calls('usleep'), key=lambda r: r['end'] - r['start'])
        # None, where the kernel does not show them.
        self.switches = [r for r in self.events.get('SCHED_EVENTS', []) if r['globalTid'] == self.main]
        self.awake = max((r['start'] for r in self.switches if r['isSchedIn'] and r['start'] <= self.sleep['end']), default=self.sleep['end'])
        self.awake = min([self.awake] + [r['wakeupTime'] for r in self.events.get('SL_SCHED_DETAIL', []) if r['start'] == self.awake and r['wakeupTime']])
        db.close()

    def kernels(self):
        return self.events['CUPTI_ACTIVITY_KIND_KERNEL']

    def calls(self, name):
        return [r for r in self.events['OSRT_API'] if self.text[r['nameId']].startswith(name)]

    def name(self, kernel):
        return self.text[kernel['demangledName']]


class Job:
    def __init__(self, pattern, ranks, steps, nodes, fault, seed):
        self.p, self.ranks, self.steps, self.fault, self.per_node = pattern, ranks, steps, fault, ranks // nodes
        self.rng = random.Random(f'{fault} {seed}')
        self.culprit = self.rng.randrange(ranks)
        self.slow = self.rng.randrange(GROUPS)
        self.skewed = self.rng.randrange(1, nodes) if fault == 'clock' else -1
        self.late = pattern.ns // 100  # 1 % of a step
        self.period = 2 * pattern.ns + 10 * self.late

    def answer(self):
        return {'link': 1000 + self.slow, 'mount': '/slow/data', 'clock': f'n{self.skewed}'}.get(self.fault, self.culprit)

    def delays(self, rank):
        """[(time in the pattern, ns)]: from there on all is so much later."""
        p, x = self.p, self.late if rank == self.culprit else 0
        at = {'late': p.awake, 'cpu': p.sleep['end'] + 1, 'file': p.read['end'], 'gpu': p.work['end']}.get(self.fault)
        found = [(r['end'], self.rng.randrange(1, max(2, self.late // 50))) for r in (p.sleep, p.read, p.work)]
        if x and at:
            found.append((at, x))
        if self.fault == 'mount' and rank % 2:
            found.append((p.read['end'], 2 * (p.read['end'] - p.read['start'])))
        return found

    def step(self):
        """Of each rank: its delays, the wait for others and the jitter of the end included."""
        p = self.p
        all_ = [self.delays(r) for r in range(self.ranks)]
        arrived = [p.collective['start'] + sum(ns for at, ns in d if at <= p.collective['start']) for d in all_]
        for r, d in enumerate(all_):
            last = max(arrived[r % GROUPS::GROUPS])
            wait = last - arrived[r] + (self.late if self.fault == 'link' and r % GROUPS == self.slow else 0)
            d.append((p.collective['end'], wait + (self.rng.randrange(40 * US) if self.fault == 'clock' else 0)))
        return all_


def later(delays, time):
    return time + sum(ns for at, ns in delays if at <= time)


class Writer:
    """The report of a node."""

    def __init__(self, job, node, path):
        self.job, self.p, self.node = job, job.p, node
        shutil.copy(job.p.path, path)
        self.db = sqlite3.connect(path)
        self.db.execute('PRAGMA synchronous = OFF')
        for table in [*self.p.events, *self.p.facts, 'SL_GPU_ARGUMENTS']:
            self.db.execute(f'DELETE FROM "{table}"')
        self.db.execute("UPDATE TARGET_INFO_SYSTEM_ENV SET value = ? WHERE name = 'Hostname'", (f'host{node}',))
        self.texts, self.batch = {}, {}

    def word(self, text):
        if text not in self.texts:
            found = self.db.execute('SELECT id FROM StringIds WHERE value = ?', (text,)).fetchone()
            if not found:
                found = self.db.execute('INSERT INTO StringIds SELECT max(id) + 1, ? FROM StringIds RETURNING id', (text,)).fetchone()
            self.texts[text] = found[0]
        return self.texts[text]

    def put(self, table, row):
        self.batch.setdefault((table, tuple(row)), []).append(tuple(row.values()))

    def global_id(self, rank, value):
        """That of the rank's process for the recorded one, and of a thread of it."""
        pid = 1000 + rank
        if value is None or value >> 24 != self.p.pid:
            return None
        tid = value & 0xffffff
        if tid and tid != self.p.main & 0xffffff:
            tid = 100000 + rank * 64 + tid % 64
        elif tid:
            tid = pid
        return self.p.pid >> 24 << 48 | pid << 24 | tid

    def shown(self, time):
        """By the node's clock."""
        return time + 200 * US + time // 20000 if self.node == self.job.skewed else time

    def put_row(self, rank, table, row, of=lambda name, value: value):
        made = {}
        for name, value in row.items():
            if name in OWNERS or name in OTHERS:
                value = self.global_id(rank, value)
            made[name] = of(name, value) if value is not None else None
        self.put(table, made)

    def put_facts(self, rank):
        p, job = self.p, self.job
        size = -(-(job.ranks - rank % GROUPS) // GROUPS)
        for table, rows in p.facts.items():
            for row in rows:
                if table == 'SL_RANK_VARIABLES':
                    row = dict(row, value={'RANK': str(rank), 'WORLD_SIZE': str(job.ranks)}.get(row['name'], row['value']))
                if table == 'SL_PROCESS_TREE':
                    row = dict(row, start=0, end=self.shown(ZERO + job.steps * job.period))
                if table == 'SL_NCCL_COMMUNICATORS':
                    row = dict(row, commHash=1000 + rank % GROUPS, parentHash=None, nRanks=size, rank=rank // GROUPS, start=0, end=None)
                self.put_row(rank, table, dict(row, pid=1000 + rank) if table == 'PROCESSES' else row)

    def put_step(self, rank, no, delays):
        p = self.p
        begin = ZERO + no * self.job.period
        ids = (no * self.job.per_node + rank % self.job.per_node + 1) * p.most

        def of(name, value):
            if name in TIMES and value:
                return self.shown(begin + later(delays, value) - p.start)
            if name in IDS and value:
                return ids + value
            if name == 'pathId' and self.p.text.get(value) == p.text[p.read['pathId']]:
                return self.word(('/slow' if rank % 2 else '/fast') + f'/data/shard{rank % 8}')
            return value

        for table, rows in p.events.items():
            for row in rows:
                self.put_row(rank, table, row, of)
        for rows in p.arguments.values():
            for row in rows:
                # Role 45: the number of the call on its communicator.
                self.put_row(rank, 'SL_GPU_ARGUMENTS', dict(row, value=no + 1) if row['role'] == 45 else row, of)
        for at, ns in delays:
            if at == p.read['end'] and ns > self.job.late // 2 and p.switches:
                self.put_wait(rank, begin + later(delays, at - 1) - p.start, ns - 2)

    def put_wait(self, rank, start, ns):
        """What makes a read slow: the thread is off its CPU."""
        for time, is_in in ((start, 0), (start + ns, 1)):
            self.put_row(rank, 'SCHED_EVENTS', dict(self.p.switches[0], start=self.shown(time), isSchedIn=is_in))
            detail = dict.fromkeys(next(iter(self.p.events.get('SL_SCHED_DETAIL', [])), {}))
            if detail:
                self.put_row(rank, 'SL_SCHED_DETAIL', dict(detail, start=self.shown(time), globalTid=self.p.main, preempted=0, wakeupTime=self.shown(time) if is_in else None))

    def close(self):
        for (table, columns), rows in self.batch.items():
            names = ', '.join(f'"{c}"' for c in columns)
            self.db.executemany(f'INSERT INTO "{table}"({names}) VALUES ({", ".join("?" * len(columns))})', rows)
        self.db.commit()
        self.db.close()


def multiply(sightline, report, dataset, run, ranks, steps, fault, seed, nodes):
    """Leaves RUN-n0.sqlite, RUN-n1.sqlite, ... beside the dataset; the culprit."""
    job = Job(Pattern(report), ranks, steps, nodes, fault, seed)
    paths = [os.path.join(os.path.dirname(os.path.abspath(dataset)), f'{run}-n{n}.sqlite') for n in range(nodes)]
    writers = [Writer(job, n, path) for n, path in enumerate(paths)]
    there = [r for r in range(ranks) if fault != 'missing' or r != job.culprit]
    for r in there:
        writers[r // job.per_node].put_facts(r)
    for no in range(steps):
        delays = job.step()
        for r in there:
            writers[r // job.per_node].put_step(r, no, delays[r])
    for n, w in enumerate(writers):
        w.close()
        subprocess.run([sightline, 'ranks', 'add', '-q', '-d', dataset, '--run', run, '--node', f'n{n}', paths[n]], check=True, stderr=subprocess.DEVNULL)
    return job.answer()

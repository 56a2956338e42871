"""mem_truth.py make SCHEMA FILE SEED - a report with random allocations of three processes on two GPUs: frees that are lost, allocations
that are, memory from before the recording, pools, static variables, a reset; stacks.
mem_truth.py check FILE BIN - the reports on memory, against sums that this file makes by walking through the events in order of time.
"""
import collections
import json
import random
import sqlite3
import subprocess
import sys

VM = 1 << 48
KINDS = ['Pageable', 'Pinned', 'Device', 'Array', 'Managed', 'Device Static', 'Managed Static', 'Unknown']
STATIC = (5, 6)
FUNCTIONS = ['alloc', 'main', 'load', 'grow', 'py_step']


# ---- making ----

class Maker:
    def __init__(self, schema, path, seed):
        self.db = sqlite3.connect(path)
        self.db.executescript(open(schema, encoding='utf-8').read())
        self.random = random.Random(seed)
        self.texts = {}
        self.correlation = collections.Counter()

    def text(self, value):
        if value not in self.texts:
            self.texts[value] = len(self.texts) + 1
            self.db.execute('INSERT INTO StringIds VALUES(?, ?)', (self.texts[value], value))
        return self.texts[value]

    def event(self, process, device, at, free, address, size, kind, pool=None, name=None, context=1):
        stack = self.random.choice([None, 0, 1, 2, 3])
        self.correlation[process] += 1
        correlation = self.correlation[process]
        globalPid = VM | process << 24
        call = ('cudaFree_v3020' if free else self.random.choice(['cudaMalloc_v3020', 'cudaMallocAsync_v11020']))
        self.db.execute('INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(?, ?, 0, ?, ?, ?, 0, ?)',
                        (at - 5, at + 5, globalPid | process, correlation, self.text(call), stack))
        self.db.execute('INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES(?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, NULL, ?, ?, ?, ?, NULL, NULL)',
                        (at, globalPid, device, context, address, size, kind, int(free), name, correlation, *(pool or (None,) * 4)))

    def stacks(self):
        library, program = self.text('/usr/lib/x86_64-linux-gnu/libcudart.so.13'), self.text('/home/u/prog')
        for stack in range(4):
            frames = [('cudaMalloc', library, None)] + [(f'{FUNCTIONS[(stack + i) % 5]}', program, 10 * stack + i) for i in range(2 + 3 * stack)]
            for depth, (symbol, module, line) in enumerate(frames):
                frame = stack * 100 + depth + 1
                self.db.execute('INSERT INTO SL_STACKS VALUES(?, ?, ?)', (stack, depth, frame))
                columns = [r[1] for r in self.db.execute('PRAGMA table_info(SL_FRAMES)')]
                row = {'id': frame, 'kind': 0, 'symbol': self.text(symbol), 'module': module, 'file': self.text('/home/u/prog.c') if line is not None else None,
                       'line': line, 'inlined': 0, 'kernelMode': 0, 'unresolved': 0, 'specialEntry': 0, 'originalIP': 0, 'unwindMethod': 0}
                row = {k: v for k, v in row.items() if k in columns}
                self.db.execute(f'INSERT INTO SL_FRAMES({",".join(row)}) VALUES({",".join("?" * len(row))})', list(row.values()))

    def run(self):
        r = self.random
        self.stacks()
        for process, ordinals in ((100, (0, 1)), (101, (1,)), (102, (0, 1))):
            for cuda, gpu in enumerate(ordinals):
                columns = [c[1] for c in self.db.execute('PRAGMA table_info(TARGET_INFO_CUDA_DEVICE)')]
                row = {'gpuId': gpu, 'cudaId': cuda, 'pid': process, 'uuid': '', 'numMultiprocessors': 1}
                row = {k: v for k, v in row.items() if k in columns}
                self.db.execute(f'INSERT INTO TARGET_INFO_CUDA_DEVICE({",".join(row)}) VALUES({",".join("?" * len(row))})', list(row.values()))
        at = 1000
        for process, devices in ((100, 2), (101, 1), (102, 2)):
            live, next_address = [], 0x1000 * process
            for i in range(6):  # from before the recording
                live.append((next_address + i * 64, r.randrange(1, 5000), r.choice([1, 2, 2, 4]), r.randrange(devices), None))
            for i in range(2):
                self.event(process, 0, at + i, False, next_address + 0x800 + i, 333 + i, 5, name=f'table_{i}')
            for _ in range(300):
                at += r.randrange(0, 4)
                choice = r.random()
                if choice < 0.5 or not live:
                    pool = (0xF000 + process, 64, r.randrange(100000, 200000), r.randrange(100000)) if r.random() < 0.3 else None
                    piece = (next_address + 0x10000 + r.randrange(120) * 64, r.randrange(1, 10000), 2 if pool else r.choice([1, 2, 2, 2, 3, 4, 7]),
                             r.randrange(devices), pool)
                    same = [x for x in live if x[0] == piece[0]]
                    if same and r.random() < 0.8:
                        continue
                    live = [x for x in live if x[0] != piece[0]]  # its free is lost
                    if r.random() < 0.97:
                        self.event(process, piece[3], at, False, piece[0], piece[1], piece[2], piece[4])
                    live.append(piece)
                    at += 1
                else:
                    piece = live.pop(r.randrange(len(live)))
                    if r.random() < 0.97:
                        self.event(process, piece[3], at, True, piece[0], piece[1], piece[2], piece[4])
                    at += 1
            if process == 101:
                at += 10
                self.db.execute('INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(?, ?, 0, ?, 99999, ?, 0, NULL)',
                                (at, at + 10, VM | process << 24 | process, self.text('cudaDeviceReset_v3020')))
                at += 20
                for i in range(3):
                    self.event(process, 0, at + i, False, next_address + 0x90000 + i, 70 + i, 2)
        self.event(100, 0, at + 50, True, 0, 0, 2)  # a free of nothing
        self.db.execute('INSERT INTO SL_PROCESS_TREE(globalPid, start, end, kind, traced, exitStatus) VALUES(?, 0, 1900, 2, 1, 0)', (VM | 100 << 24,))
        for gpu, scope, name, owner in ((0, 'gpu', 'Memory Used', 0), (1, 'gpu', 'Memory Used', 1), (0, 'process', 'GPU Memory Used', VM | 100 << 24)):
            number = self.db.execute('SELECT count(*) + 1 FROM SL_COUNTERS').fetchone()[0]
            self.db.execute('INSERT INTO SL_COUNTERS VALUES(?, ?, ?, NULL, ?, ?, ?, 0)', (number, scope, owner, gpu, name, 'B'))
            for i in range(37):
                self.db.execute('INSERT INTO SL_COUNTER_SAMPLES VALUES(?, ?, ?)', (number, 900 + i * 60, 500000.0 + r.randrange(400000) if i != 5 else None))
        for process, op, t in ((100, 1, 10), (100, 3, 1500), (101, 1, 20), (101, 2, 99999)):
            self.db.execute('INSERT INTO CUDA_GPU_MEMORY_POOL_EVENTS VALUES(?, ?, 0, ?, ?, 1, NULL, NULL, 77, 300000, 5)',
                            (t, VM | process << 24, 0xF000 + process, op))
        self.db.commit()


# ---- checking ----

class Ledger:
    """Walks through the events once to find what each free belongs to, and once more to add up."""

    def __init__(self, path):
        self.db = sqlite3.connect(f'file:{path}?mode=ro', uri=True)
        db = self.db
        self.text = dict(db.execute('SELECT id, value FROM StringIds'))
        self.gpu = {(pid, cuda): gpu for gpu, cuda, pid in db.execute('SELECT gpuId, cudaId, pid FROM TARGET_INFO_CUDA_DEVICE')}
        self.calls = {(tid >> 24 & 0xFFFFFF, c): (self.text[n], s) for tid, c, n, s in db.execute(
            'SELECT globalTid, correlationId, nameId, callchainId FROM CUPTI_ACTIVITY_KIND_RUNTIME')}
        frames = collections.defaultdict(list)
        for stack, depth, symbol, module, file, line in db.execute(
                'SELECT s.id, depth, symbol, module, file, line FROM SL_STACKS AS s JOIN SL_FRAMES AS f ON f.id = frameId ORDER BY 1, 2'):
            frames[stack].append((self.text[symbol], self.text[module], self.text.get(file), line))
        self.place = {s: ' <- '.join(f'{f[0]} ({f[2].split("/")[-1]}:{f[3]})' for f in [x for x in fs if '/usr/lib' not in x[1]][:6]) for s, fs in frames.items()}
        resets = {101: [e for e, in db.execute("SELECT end FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE nameId IN (SELECT id FROM StringIds WHERE value GLOB 'cudaDeviceReset*')")]}
        events = db.execute('SELECT start, globalPid >> 24 & 16777215, deviceId, address, bytes, memKind, memoryOperationType, correlationId, name, '
                            'coalesce(localMemoryPoolAddress, importedMemoryPoolAddress) FROM CUDA_GPU_MEMORY_USAGE_EVENTS ORDER BY start, correlationId').fetchall()
        self.pieces, live, freed = [], {}, set()
        waiting = sorted((t, p) for p, ts in resets.items() for t in ts)
        for at, pid, device, address, size, kind, free, correlation, name, pool in events:
            while waiting and waiting[0][0] <= at:
                t, p = waiting.pop(0)
                for key in [k for k in live if k[0] == p]:
                    live.pop(key).update(end=t, ending='reset')
            if not address:
                continue
            key = pid, address
            old = live.pop(key, None)
            if free:
                if old:
                    old.update(end=at, ending='freed')
                elif key in freed:
                    self.pieces.append(dict(pid=pid, device=device, kind=kind, pool=pool, address=address, size=size, start=None, end=at, ending='unmatched'))
                elif not [p for p in self.pieces if (p['pid'], p['address']) == key]:
                    self.pieces.append(dict(pid=pid, device=device, kind=kind, pool=pool, address=address, size=size, start=None, end=at, ending='before'))
                else:
                    raise AssertionError('a free after a reset: not made')
                freed.add(key)
                continue
            freed.discard(key)
            if old:
                old.update(end=at, ending='lost')
            piece = dict(pid=pid, device=device, kind=kind, pool=pool, address=address, size=size, start=at, end=None, ending='live', correlation=correlation,
                         name=name)
            self.pieces.append(piece)
            live[key] = piece
        for t, p in waiting:
            for key in [k for k in live if k[0] == p]:
                live.pop(key).update(end=t, ending='reset')

        for p in self.pieces:  # the process ended at 1900
            p['gone'] = 1900 if p['pid'] == 100 and p['end'] is None else p['end']

    def peak(self, pieces):
        """(bytes, time) of the most at a time: at each time first what is given back, then what is taken, in order."""
        pieces = [p for p in pieces if p['ending'] != 'unmatched' and (p['start'] is None or p['gone'] is None or p['gone'] > p['start'])]
        now = sum(p['size'] for p in pieces if p['start'] is None)
        best = now, None
        changes = collections.defaultdict(lambda: [0, []])
        for p in pieces:
            if p['start'] is not None:
                changes[p['start']][1].append(p)
            if p['gone'] is not None:
                changes[p['gone']][0] += p['size']
        for at in sorted(changes):
            now -= changes[at][0]
            for p in sorted(changes[at][1], key=lambda p: p['correlation']):
                now += p['size']
                if now > best[0]:
                    best = now, at
        return best

    def stack_of(self, p):
        call = self.calls.get((p['pid'], p.get('correlation')))
        if not call:
            return None, '[no call]'
        return call[0].rsplit('_v', 1)[0], self.place.get(call[1], '[no stack]') if call[1] else '[no stack]'


def report(bin_, path, name):
    out = subprocess.run([bin_, 'stats', '-q', '-r', name, '-f', 'json', path], check=True, capture_output=True).stdout
    return json.loads(out or b'[]')


def equal(got, want, what):
    got, want = sorted(map(repr, got)), sorted(map(repr, want))
    bad = [x for x in got if x not in want][:3], [x for x in want if x not in got][:3]
    assert got == want and want, f'{what}: only reported {bad[0]}, only worked out {bad[1]}'


def check(path, bin_):
    book = Ledger(path)
    groups = collections.defaultdict(list)
    for p in book.pieces:
        groups[p['pid'], book.gpu.get((p['pid'], p['device']), p['device']), KINDS[p['kind']], f"0x{p['pool']:X}" if p['pool'] else None].append(p)
    want = []
    for key, ps in groups.items():
        made = [p for p in ps if p['start'] is not None]
        peak = book.peak(ps)
        left = [p['size'] for p in ps if p['ending'] == 'live']
        want.append((*peak, len(made), sum(p['size'] for p in made), max((p['size'] for p in made), default=None), len(left), sum(left),
                     sum(p['size'] for p in ps if p['ending'] == 'before'), sum(p['ending'] in ('unmatched', 'lost') for p in ps), *key))
    equal([tuple(r.values()) for r in report(bin_, path, 'cuda_mem_sum')], want, 'cuda_mem_sum')

    gpus = collections.defaultdict(list)
    for p in book.pieces:
        if p['kind'] not in (0, 1):
            gpus[book.gpu.get((p['pid'], p['device']), p['device'])].append(p)
    rows = report(bin_, path, 'cuda_mem_peak')
    for gpu, ps in gpus.items():
        peak, at = book.peak(ps)
        head, *largest = [r for r in rows if r['GPU'] == gpu]
        assert (head['Rank'], head['Size (B)'], head['At (ns)']) == (0, peak, at), (gpu, head, peak, at)
        last = max((p for p in ps if p['start'] == at), key=lambda p: p['correlation'])
        then = [p for p in ps if p['ending'] != 'unmatched' and (p['start'] is None or p['start'] <= at) and (p['gone'] is None or p['gone'] > at)
                and p['start'] != p['end']]
        assert sum(p['size'] for p in then) == peak or [p['start'] for p in ps].count(at) > 1, (gpu, peak)
        if [p['start'] for p in ps].count(at) == 1:
            assert (head['API Name'], head['Stack']) == book.stack_of(last), (head, book.stack_of(last))
            assert [r['Size (B)'] for r in largest] == sorted((p['size'] for p in then), reverse=True)[:10], gpu
        for r in largest:
            p = [p for p in then if (p['pid'], p['start'], f"0x{p['address']:X}") == (r['PID'], r['At (ns)'], r['Address'])]
            assert len(p) == 1 and KINDS[p[0]['kind']] == r['Kind'], r
            api, stack = book.stack_of(p[0])
            assert api is None or (r['API Name'], r['Stack']) == (api, stack), (r, api, stack)

    sites = collections.defaultdict(list)
    for p in book.pieces:
        if p['start'] is not None and p['kind'] not in STATIC:
            sites[(p['pid'], book.gpu.get((p['pid'], p['device']), p['device']), KINDS[p['kind']], *book.stack_of(p))].append(p)
    want = []
    for key, ps in sites.items():
        ended = collections.defaultdict(list)
        for p in ps:
            if p['ending'] in ('live', 'reset'):
                ended['context' if p['ending'] == 'reset' else 'process' if p['pid'] == 100 else 'recording'].append(p)
        for until, left in ended.items():
            want.append((sum(p['size'] for p in left), len(left), len(ps), max(p['size'] for p in left), min(p['start'] for p in left),
                         max(p['start'] for p in left), until, *key))
    equal([tuple(r.values()) for r in report(bin_, path, 'cuda_mem_leaks')], want, 'cuda_mem_leaks')
    pools(book, report(bin_, path, 'cuda_mem_pool_sum'))
    driver(book, report(bin_, path, 'cuda_mem_driver_sum'))


def pools(book, rows):
    seen = collections.defaultdict(list)
    for at, pid, device, pool, op, size, used, keeps, c in book.db.execute(
            'SELECT start, globalPid >> 24 & 16777215, deviceId, localMemoryPoolAddress, memoryOperationType, localMemoryPoolSize, '
            'localMemoryPoolUtilizedSize, localMemoryPoolReleaseThreshold, correlationId FROM CUDA_GPU_MEMORY_USAGE_EVENTS WHERE localMemoryPoolAddress > 0'):
        seen[pid, device, pool].append((at, c, 'af'[op], size, used, keeps))
    for at, pid, device, pool, op, size, used, keeps in book.db.execute(
            'SELECT start, globalPid >> 24 & 16777215, deviceId, address, operationType, localMemoryPoolSize, localMemoryPoolUtilizedSize, '
            'localMemoryPoolReleaseThreshold FROM CUDA_GPU_MEMORY_POOL_EVENTS'):
        seen[pid, device, pool].append((at, 0, '?cdt'[op], size, used, keeps))
    want = []
    for (pid, device, pool), es in seen.items():
        es.sort()
        unused = max(e[3] - e[4] for e in es)
        last = es[-1]
        kinds = [e[2] for e in es]
        want.append((max(e[3] for e in es), max(e[4] for e in es), unused, min(e[0] for e in es if e[3] - e[4] == unused), *last[3:],
                     kinds.count('a'), kinds.count('t'), ' '.join(w for k, w in (('c', 'created'), ('d', 'destroyed')) if k in kinds), pid, book.gpu.get((pid, device), device), f'0x{pool:X}'))
    equal([tuple(r.values()) for r in rows], want, 'cuda_mem_pool_sum')


def driver(book, rows):
    want = []
    for number, scope, owner, gpu in book.db.execute('SELECT id, scope, scopeId, gpuId FROM SL_COUNTERS').fetchall():
        pid = owner >> 24 & 0xFFFFFF if scope == 'process' else None
        ps = [p for p in book.pieces if p['kind'] not in (0, 1) and p['ending'] != 'unmatched' and p['start'] != p['end']
              and book.gpu.get((p['pid'], p['device'])) == gpu and (pid is None or p['pid'] == pid)]
        samples = [(int(v), t, sum(p['size'] for p in ps if (p['start'] is None or p['start'] <= t) and (p['gone'] is None or p['gone'] > t)))
                   for t, v in book.db.execute('SELECT timestamp, value FROM SL_COUNTER_SAMPLES WHERE counterId = ? AND value IS NOT NULL', (number,))]
        other = sorted(v - own for v, _, own in samples)
        top = max(samples, key=lambda s: (s[0], -s[1]))
        want.append((gpu, pid, len(samples), top[0], top[2], top[0] - top[2], other[0], other[(len(other) + 1) // 2 - 1], other[-1]))
    equal([tuple(r.values()) for r in rows], want, 'cuda_mem_driver_sum')


if __name__ == '__main__':
    if sys.argv[1] == 'make':
        Maker(sys.argv[2], sys.argv[3], int(sys.argv[4])).run()
    else:
        check(sys.argv[2], sys.argv[3])

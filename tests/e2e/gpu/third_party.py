"""Readers of nsys databases as other people write them: the tables, columns and joins that their tools rely on, without
the rest of these tools. Each gets our report as it gets one of nsys, and must find in it what the program did.

third_party.py REPORT READER STEPS: tests/gpu/steps.c ran so many steps in each of two threads.
"""
import csv, io, json, re, sqlite3, subprocess, sys
from collections import Counter

THREADS = 2
NAMES = {'forward_us30_': 30000, 'backward_us20_': 20000, 'update_us10_': 10000}
AROUND = {'forward_us30_': ['forward', 'step'], 'backward_us20_': ['backward', 'step'], 'update_us10_': ['backward', 'step', 'update']}


def columns(db, table, names):
    """All of the columns are there, also where a reader names them in one long SELECT."""
    have = [r[1] for r in db.execute('PRAGMA table_info(%s)' % table)]
    missing = [n for n in names.split() if n not in have]
    assert have, table + ' is not there'
    assert not missing, (table, missing)


def chrome(db, steps):
    """nsys2json: kernels by device and stream, ranges projected on the GPU; joins by correlationId alone."""
    columns(db, 'CUPTI_ACTIVITY_KIND_KERNEL', 'deviceId streamId shortName start end correlationId globalPid')
    strings = dict(db.execute('SELECT id, value FROM StringIds'))
    device_of = {}
    for device, pid in db.execute('SELECT DISTINCT deviceId, globalPid / 0x1000000 % 0x1000000 FROM CUPTI_ACTIVITY_KIND_KERNEL'):
        assert device_of.setdefault(pid, device) == device, 'one device per process'
    ranges = db.execute('''SELECT start, end, text, globalTid / 0x1000000 % 0x1000000 AS pid, globalTid % 0x1000000 AS tid
        FROM NVTX_EVENTS WHERE eventType = 59''').fetchall()
    assert len(ranges) == THREADS * steps * 5 and all(text for _, _, text, _, _ in ranges), ranges[:3]
    calls = {c: (s, e, p, t) for s, e, p, t, c in db.execute('''SELECT start, end, globalTid / 0x1000000 % 0x1000000,
        globalTid % 0x1000000, correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME''')}
    events, found, projected = [], Counter(), {}
    for device, stream, name, start, end, correlation in db.execute(
            'SELECT deviceId, streamId, shortName, start, end, correlationId FROM CUPTI_ACTIVITY_KIND_KERNEL'):
        call = calls[correlation] # another process must not have it too
        around = [r for r in ranges if r[3:] == call[2:] and r[0] <= call[0] and r[1] >= call[1]]
        assert sorted(r[2] for r in around) == AROUND[strings[name]], (strings[name], around)
        assert start >= call[0] and end - start == NAMES[strings[name]], (strings[name], start, end)
        for r in around:
            low, high = projected.get(r, (start, end))
            projected[r] = min(low, start), max(high, end)
        found[strings[name]] += 1
        events.append({'name': strings[name], 'ph': 'X', 'cat': 'cuda', 'ts': start / 1e3, 'dur': (end - start) / 1e3,
                       'pid': 'Device %d' % device, 'tid': 'Stream %d' % stream})
    assert found == {n: THREADS * steps for n in NAMES}, found
    assert Counter(r[2] for r in projected) == {n: THREADS * steps for n in ('step', 'forward', 'backward', 'update')}
    assert len(json.loads(json.dumps(events))) == THREADS * steps * 3


def timeline(db, steps):
    """nsys-chrome: sizes of launches, libc, context switches, names of threads."""
    columns(db, 'CUPTI_ACTIVITY_KIND_KERNEL', 'gridX gridY gridZ blockX blockY blockZ registersPerThread staticSharedMemory '
            'dynamicSharedMemory localMemoryPerThread localMemoryTotal demangledName mangledName')
    sizes = Counter(db.execute('SELECT gridX, gridY, gridZ, blockX, blockY, blockZ, dynamicSharedMemory FROM CUPTI_ACTIVITY_KIND_KERNEL'))
    assert sizes == {(x, 2, 1, 64, 1, 1, 512): THREADS * steps for x in (4, 8, 1)}, sizes
    texts = Counter(r[0] for r in db.execute('''SELECT coalesce(n.text, s.value) FROM NVTX_EVENTS AS n LEFT JOIN StringIds AS s ON n.textId = s.id
        WHERE n.eventType = 59'''))
    assert texts == {n: THREADS * steps for n in ('step', 'load', 'forward', 'backward', 'update')}, texts
    columns(db, 'OSRT_API', 'start end globalTid nameId returnValue nestingLevel')
    reads = db.execute('''SELECT o.start, o.end, o.globalTid, t.nameId FROM OSRT_API AS o JOIN StringIds AS s ON s.id = o.nameId
        JOIN ThreadNames AS t ON t.globalTid = o.globalTid WHERE s.value LIKE 'pread%' AND o.eventClass = 27''').fetchall()
    assert len(reads) == THREADS * steps, len(reads)
    columns(db, 'SCHED_EVENTS', 'start cpu isSchedIn globalTid threadState threadBlock')
    threads = {n for n, in db.execute('SELECT s.value FROM ThreadNames AS t JOIN StringIds AS s ON s.id = t.nameId')}
    assert {'steps:0', 'steps:1'} <= threads, threads
    state = {}
    for start, tid, into in db.execute('SELECT start, globalTid, isSchedIn FROM SCHED_EVENTS ORDER BY globalTid, start, isSchedIn DESC'):
        assert state.get(tid) != into, 'in and out take turns'
        state[tid] = into


def labels(db, steps):
    """nsys-perfetter and nsys2perfetto: every number has its label; names of GPUs; copies with all their columns."""
    columns(db, 'TARGET_INFO_GPU', 'id name busLocation totalMemory smCount')
    # CUPTI has no PCI address of a GPU here: NULL is an answer.
    assert [bus or '' for name, bus in db.execute('SELECT name, busLocation FROM TARGET_INFO_GPU') if name], 'a GPU has a name'
    columns(db, 'CUPTI_ACTIVITY_KIND_MEMCPY', 'virtualAddress copyCount graphNodeId copyKind srcKind dstKind migrationCause greenContextId bytes')
    rows = Counter(db.execute('''SELECT o.label, a.label, b.label, m.bytes, m.copyCount FROM CUPTI_ACTIVITY_KIND_MEMCPY AS m
        JOIN ENUM_CUDA_MEMCPY_OPER AS o ON o.id = m.copyKind JOIN ENUM_CUDA_MEM_KIND AS a ON a.id = m.srcKind
        JOIN ENUM_CUDA_MEM_KIND AS b ON b.id = m.dstKind WHERE copyKind IN (1, 2, 3, 8, 11, 12, 13)'''))
    assert rows == {('Host-to-Device', 'Pinned', 'Device', 65536, 1): THREADS * steps,
                    ('Device-to-Host', 'Device', 'Pinned', 32768, 1): THREADS * steps}, rows
    launch = Counter(db.execute('''SELECT l.label FROM CUPTI_ACTIVITY_KIND_KERNEL AS k JOIN ENUM_CUDA_KERNEL_LAUNCH_TYPE AS l
        ON l.id = k.launchType'''))
    assert len(launch) == 1 and sum(launch.values()) == THREADS * steps * 3, launch
    sets = db.execute('SELECT k.label, m.value, m.bytes FROM CUPTI_ACTIVITY_KIND_MEMSET AS m JOIN ENUM_CUDA_MEM_KIND AS k ON k.id = m.memKind').fetchall()
    assert sets == [('Device', 0, 65536)] * THREADS, sets
    classes = db.execute('''SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME AS r JOIN ENUM_NSYS_EVENT_CLASS AS c ON c.id = r.eventClass''').fetchone()
    assert classes == db.execute('SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME').fetchone()
    types = {l for l, in db.execute('SELECT DISTINCT t.label FROM NVTX_EVENTS AS n JOIN ENUM_NSYS_EVENT_TYPE AS t ON t.id = n.eventType')}
    assert types, types


def analysis(db, steps):
    """nsys-ai: kernels with both names, devices, waits, version of the schema; time within the session."""
    version = dict(db.execute('SELECT name, value FROM META_DATA_EXPORT'))['EXPORT_SCHEMA_VERSION']
    assert re.fullmatch(r'3\.\d+\.\d+', version), version
    rows = db.execute('''SELECT d.value, s.value, k.deviceId, k.streamId, k.end - k.start, g.name, c.numMultiprocessors
        FROM CUPTI_ACTIVITY_KIND_KERNEL AS k JOIN StringIds AS d ON d.id = k.demangledName JOIN StringIds AS s ON s.id = k.shortName
        JOIN TARGET_INFO_CUDA_DEVICE AS c ON c.cudaId = k.deviceId AND c.pid = (k.globalPid >> 24) & 0xFFFFFF
        JOIN TARGET_INFO_GPU AS g ON g.id = c.gpuId''').fetchall()
    assert len(rows) == THREADS * steps * 3 and {r[0] for r in rows} == {
        'forward_us30_(float const*, float*)', 'backward_us20_(float*)', 'update_us10_(float*)'}, rows[:3]
    waits = Counter(l for l, in db.execute('''SELECT e.name FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION AS s
        JOIN ENUM_CUPTI_SYNC_TYPE AS e ON e.id = s.syncType JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS r ON r.correlationId = s.correlationId'''))
    assert sorted(waits.values()) == [1, THREADS * steps], waits
    duration, = db.execute('SELECT duration FROM ANALYSIS_DETAILS').fetchone()
    for table in ('KERNEL', 'MEMCPY', 'MEMSET', 'RUNTIME'):
        low, high = db.execute('SELECT min(start), max(end) FROM CUPTI_ACTIVITY_KIND_' + table).fetchone()
        assert 0 <= low <= high <= duration, (table, low, high, duration)
    busy, last = 0, 0
    for start, end in db.execute('''SELECT start, end FROM CUPTI_ACTIVITY_KIND_KERNEL UNION ALL SELECT start, end FROM CUPTI_ACTIVITY_KIND_MEMCPY
        UNION ALL SELECT start, end FROM CUPTI_ACTIVITY_KIND_MEMSET ORDER BY 1'''):
        busy += max(0, end - max(start, last))
        last = max(last, end)
    assert 0 < busy <= duration, busy


def system(db, steps):
    """nsys-jax and those that look for gaps: the machine, threads with priority, when it began and stopped."""
    columns(db, 'TARGET_INFO_SYSTEM_ENV', 'name nameEnum value')
    env = {n: v for n, e, v in db.execute('SELECT name, nameEnum, value FROM TARGET_INFO_SYSTEM_ENV') if e is not None}
    assert 'Hostname' in env, env
    rows = db.execute('SELECT t.priority, s.value FROM ThreadNames AS t JOIN StringIds AS s ON s.id = t.nameId').fetchall()
    assert rows and all(isinstance(p, int) for p, _ in rows), rows
    texts = [t for t, in db.execute('SELECT text FROM DIAGNOSTIC_EVENT ORDER BY timestamp')]
    assert any(t.startswith('Profiling has started') for t in texts) and any(t.startswith('Profiling has stopped') for t in texts), texts
    epoch, = db.execute('SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME').fetchone()
    assert epoch > 1500000000 * 10**9, epoch
    name, pid = db.execute('SELECT name, pid FROM PROCESSES WHERE globalPid = (SELECT globalPid FROM CUPTI_ACTIVITY_KIND_KERNEL)').fetchone()
    assert name.endswith('steps') and pid == db.execute('SELECT globalTid / 0x1000000 % 0x1000000 FROM NVTX_EVENTS WHERE eventType = 59').fetchone()[0]


def tables(db, steps):
    """pipit and scripts that read what `nsys stats` prints: headings, and figures under them."""
    def stats(report):
        out = subprocess.run([sys.argv[4], 'stats', '-q', '-r', report, '-f', 'csv', sys.argv[1]], check=True, stdout=subprocess.PIPE,
                             universal_newlines=True).stdout
        return list(csv.DictReader(io.StringIO(out.strip() + '\n')))
    ranges = stats('nvtx_pushpop_trace')
    assert Counter(re.sub('^.*:', '', r['Name']) for r in ranges) == {n: THREADS * steps for n in ('step', 'load', 'forward', 'backward', 'update')}
    assert all(int(r['Start (ns)']) < int(r['End (ns)']) and r['PID'] and r['TID'] for r in ranges)
    gpu = stats('cuda_gpu_trace:nvtx-name:base')
    assert Counter(r['Name'] for r in gpu) == {
        'forward/forward_us30_': THREADS * steps, 'backward/backward_us20_': THREADS * steps, 'update/update_us10_': THREADS * steps,
        '[CUDA memcpy Host-to-Device]': THREADS * steps, '[CUDA memcpy Device-to-Host]': THREADS * steps, '[CUDA memset]': THREADS}, gpu
    api = {r['CorrID']: r for r in stats('cuda_api_trace')}
    assert all(api[r['CorrId']]['Name'].startswith(('cudaLaunchKernel', 'cudaMem')) for r in gpu)
    launched = stats('cuda_kern_exec_sum:base')
    assert {(r['Kernel Name'], r['Count']) for r in launched} == {(n, str(steps)) for n in NAMES} and len(launched) == THREADS * len(NAMES), launched
    kernels = {r['Name']: r for r in stats('cuda_gpu_kern_sum:base')}
    assert {n: (int(r['Instances']), float(r['Avg (ns)'])) for n, r in kernels.items()} == {n: (THREADS * steps, d) for n, d in NAMES.items()}


def converter(db, processes):
    """nCompass's converter: ids as signed 32-bit integers, times that are not below 0; each kernel finds its one call by the id alone."""
    narrow = {'StringIds': 'id', 'CUPTI_ACTIVITY_KIND_RUNTIME': 'correlationId nameId callchainId?', 'OSRT_API': 'nameId callchainId',
              'CUPTI_ACTIVITY_KIND_KERNEL': 'deviceId streamId shortName gridX gridY gridZ blockX blockY blockZ registersPerThread '
              'staticSharedMemory dynamicSharedMemory correlationId', 'CUPTI_ACTIVITY_KIND_MEMCPY': 'correlationId? streamId',
              'CUPTI_ACTIVITY_KIND_MEMSET': 'correlationId? streamId', 'CUPTI_ACTIVITY_KIND_SYNCHRONIZATION': 'correlationId?',
              'NVTX_EVENTS': 'textId? domainId? category?', 'SCHED_EVENTS': 'cpu threadState?', 'OSRT_CALLCHAINS': 'id', 'CUDA_CALLCHAINS': 'id'}
    there = {n for n, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert {t for t in narrow if not t.endswith('CALLCHAINS')} <= there, there
    for table, columns_ in narrow.items():
        for column in columns_.split() if table in there else []:
            wide = db.execute("SELECT count(*) FROM %s WHERE NOT (typeof(%s) = 'integer' AND %s BETWEEN 0 AND 2147483647)%s" % (
                table, *[column.rstrip('?')] * 2, ' AND %s IS NOT NULL' % column[:-1] if column.endswith('?') else '')).fetchone()[0]
            assert not wide, (table, column, wide)
    for table in ('CUPTI_ACTIVITY_KIND_RUNTIME', 'CUPTI_ACTIVITY_KIND_KERNEL', 'OSRT_API', 'NVTX_EVENTS', 'SCHED_EVENTS'):
        assert db.execute('SELECT count(*) FROM %s WHERE start < 0' % table).fetchone() == (0,), table
    calls, ids = db.execute('SELECT count(*), count(DISTINCT correlationId) FROM CUPTI_ACTIVITY_KIND_RUNTIME').fetchone()
    assert calls == ids, (calls, ids)
    kernels, ns, pids = db.execute('SELECT count(*), sum(end - start), count(DISTINCT globalPid) FROM CUPTI_ACTIVITY_KIND_KERNEL').fetchone()
    assert pids == processes and kernels, (kernels, pids)
    assert db.execute("""SELECT count(*), sum(k.end - k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL AS k JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS r
        ON r.correlationId = k.correlationId JOIN StringIds AS s ON s.id = r.nameId WHERE r.globalTid >> 24 = k.globalPid >> 24
        AND r.start <= k.start AND s.value LIKE 'cudaLaunchKernel%'""").fetchone() == (kernels, ns)


db = sqlite3.connect('file:%s?mode=ro' % sys.argv[1], uri=True)
globals()[sys.argv[2]](db, int(sys.argv[3]))

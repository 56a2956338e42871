"""html_make.py SCHEMA.sql OUT.sqlite [shuffled|since1970|nonsense] - a report with something for every part of the HTML summary.

Two processes with two GPUs between them, kernels that overlap, memory, context switches, input and output,
samples, a process tree; and names that try to get out of the page. "shuffled": the same rows in another order; "since1970": other times, as nsys exports on request; "nonsense": numbers
that nobody measured.
"""
import random
import sqlite3
import sys

VM = 1 << 48
MS = 1000000
SPAN = 2000 * MS
HOSTILE = [
    '</script><script>alert(1)</script>', '<img src=x onerror=alert(2)>', '" onmouseover="alert(3)', "'><svg/onload=alert(4)>",
    '<!--', '-->', ']]>', '&lt;b&gt;', '<style>*{display:none}</style>', '</title><h1>x', 'javascript:alert(5)',
    '\u202etxt.exe', 'a\x00b', 'bell\x07\x1b[31m', 'line\nbreak\ttab', '\u2028sep', 'k' * 5000, '\U0001f600 \u00e9\u4e2d\u6587',
    '{"x":1}', '${alert(6)}', '</textarea></td></table>', '<base href=//evil>', '<meta http-equiv=refresh content=0>',
]


# Tables of nsys that our collector does not write.
SAMPLES = """
CREATE TABLE IF NOT EXISTS COMPOSITE_EVENTS (id INTEGER NOT NULL PRIMARY KEY, start INTEGER NOT NULL, cpu INTEGER,
    threadState INTEGER, globalTid INTEGER, cpuCycles INTEGER NOT NULL);
DROP VIEW IF EXISTS SAMPLING_CALLCHAINS;
CREATE TABLE IF NOT EXISTS SAMPLING_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER NOT NULL,
    kernelMode INTEGER, thumbCode INTEGER, unresolved INTEGER, specialEntry INTEGER, originalIP INTEGER,
    unwindMethod INTEGER, stackDepth INTEGER NOT NULL);
"""


def build(schema, out, how):
    r = random.Random(4)
    db = sqlite3.connect(out)
    db.executescript(open(schema, encoding='utf-8').read())
    db.executescript(SAMPLES)
    strings = {}

    def sid(text):
        if text not in strings:
            strings[text] = len(strings) + 1
        return strings[text]

    tables = {}

    def add(table, **row):
        tables.setdefault(table, []).append(row)

    pids = [100, 200, 300]
    gp = {p: VM | p << 24 for p in pids}
    for p, parent, start, end, status, cmd in ((100, None, 0, SPAN, 0, 'train <b>--x</b> "y"'),
                                               (200, 100, 50 * MS, 1900 * MS, 0, 'worker'),
                                               (300, 100, 60 * MS, 400 * MS, 9, 'killed')):
        add('PROCESSES', globalPid=gp[p], pid=p, name=cmd.split()[0])
        add('SL_PROCESS_TREE', globalPid=gp[p], parentGlobalPid=gp.get(parent), start=start, end=end, kind=1, traced=1,
            exe='/bin/' + cmd.split()[0], commandLine=cmd, exitStatus=status)
        for t in range(3):
            add('ThreadNames', nameId=sid('thread%d' % t), priority=20, globalTid=gp[p] + p + t)
    # Device 0 of process 200 is the second GPU.
    for g, (name, p, cuda) in enumerate((('Test GPU <1>', 100, 0), ('Test GPU 2', 200, 0))):
        add('TARGET_INFO_GPU', vmId=VM, id=g, name=name)
        add('TARGET_INFO_CUDA_DEVICE', gpuId=g, cudaId=cuda, pid=p, uuid='', numMultiprocessors=1)
    kernels = ['gemm<float, 128>', 'reduce', 'softmax'] + HOSTILE
    corr = 0
    for p in (100, 200):
        t = 100 * MS
        while t < 1900 * MS:
            corr += 1
            name = kernels[corr % len(kernels)]
            dur = int(10 ** r.uniform(2.5, 6.8))
            start = t - r.randrange(0, 200000)  # overlaps the one before, on another stream
            add('CUPTI_ACTIVITY_KIND_RUNTIME', start=start - 20000, end=start - 10000, eventClass=0, globalTid=gp[p] + p,
                correlationId=corr, nameId=sid('cudaLaunchKernel_v7000'), returnValue=0)
            add('CUPTI_ACTIVITY_KIND_KERNEL', start=start, end=start + dur, deviceId=0, contextId=1, streamId=7 + corr % 2,
                correlationId=corr, globalPid=gp[p], demangledName=sid(name), shortName=sid(name), registersPerThread=1,
                gridX=1, gridY=1, gridZ=1, blockX=1, blockY=1, blockZ=1, staticSharedMemory=0, dynamicSharedMemory=0,
                localMemoryPerThread=0, localMemoryTotal=0, gridId=corr)
            if corr % 5 == 0:
                add('CUPTI_ACTIVITY_KIND_MEMCPY', start=start + dur // 2, end=start + dur + 300000, deviceId=0, contextId=1,
                    streamId=9, correlationId=corr + 100000, globalPid=gp[p], bytes=1 << r.randrange(1, 24), copyKind=1,
                    srcKind=1, dstKind=2)
            if corr % 7 == 0:
                add('CUPTI_ACTIVITY_KIND_MEMSET', start=start + dur + 400000, end=start + dur + 450000, deviceId=0, contextId=1,
                    streamId=9, correlationId=corr + 200000, globalPid=gp[p], value=0, bytes=4096, memKind=2)
            t = start + dur + r.randrange(0, 8 * MS)
        level = []
        for k in range(60):
            at = 100 * MS + k * 30 * MS
            if level and r.random() < 0.45:
                add('CUDA_GPU_MEMORY_USAGE_EVENTS', start=at, globalPid=gp[p], deviceId=0, contextId=1, address=level[-1][0], pc=0,
                    bytes=level.pop()[1], memKind=2, memoryOperationType=1)
            else:
                level.append((k * 4096, r.randrange(1, 512) << 20))
                add('CUDA_GPU_MEMORY_USAGE_EVENTS', start=at, globalPid=gp[p], deviceId=0, contextId=1, address=level[-1][0],
                    pc=0, bytes=level[-1][1], memKind=2, memoryOperationType=0)
        add('CUDA_GPU_MEMORY_USAGE_EVENTS', start=99 * MS, globalPid=gp[p], deviceId=0, contextId=1, address=1, pc=0,
            bytes=1 << 40, memKind=1, memoryOperationType=0)  # pinned memory of the host: not the GPU's
    for p in pids:  # each thread runs and waits; one runs to the end
        for th in range(3):
            t = 60 * MS + r.randrange(0, 5 * MS)
            last = 400 * MS if p == 300 else 1900 * MS
            while t < last:
                run = r.randrange(10000, 9 * MS)
                add('SCHED_EVENTS', start=t, cpu=th, isSchedIn=1, globalTid=gp[p] + p + th)
                if t + run >= last and (p, th) == (100, 0):
                    break
                add('SCHED_EVENTS', start=t + run, cpu=th, isSchedIn=0, globalTid=gp[p] + p + th, threadState=2)
                t += run + r.randrange(10000, 9 * MS)
    for k in range(3000):
        t, dur = r.randrange(60 * MS, 1900 * MS), r.randrange(1000, 2 * MS)
        name = r.choice(['read', 'pread64', 'write', 'fwrite', 'recvfrom', '__read_chk', 'poll', 'fflush'])
        moves = name not in ('poll', 'fflush')
        done = r.choice([0, 1, 3, 4, 100, 4096, 65536, 1 << 20]) if moves else None
        add('OSRT_API', start=t, end=t + dur, eventClass=27, globalTid=gp[100] + 100, nameId=sid(name),
            returnValue=done or 0, callchainId=0, argumentsId=0, fd=3,
            pathId=sid(r.choice(['/data/a', '/data/<i>b</i>', HOSTILE[0]])), bytesAsked=done, bytesDone=done)
    for p, name, n, by in ((100, 'read', 1000, 12345), (100, 'write', 500, 999), (200, 'poll', 7, 0)):
        add('SL_OSRT_TOTALS', globalTid=gp[p] + p, instance=0, nameId=sid(name), count=n, totalNs=n * 300, minNs=100, maxNs=900,
            bytes=by, errorCount=0, lostCount=0, lostTotalNs=0)
    for k in range(400):
        add('NVTX_EVENTS', start=k * 4 * MS, end=k * 4 * MS + 3 * MS, eventType=59, text=HOSTILE[k % len(HOSTILE)],
            globalTid=gp[100] + 100, eventId=k)
    funcs = ['main', 'run', 'step', 'forward', 'backward', 'memcpy', '<script>x</script>', 'leaf'] + ['f%d' % i for i in range(40)]
    for k in range(1, 601):
        depth = r.randrange(3, 12)
        stack = ['main', 'run'] + [funcs[2 + min(int(r.expovariate(0.3)), len(funcs) - 3)] for _ in range(depth)]
        add('COMPOSITE_EVENTS', id=k, start=60 * MS + k * 3 * MS, cpu=0, threadState=1, globalTid=gp[100 if k % 3 else 200] + 100,
            cpuCycles=0 if k % 10 == 0 else 1)
        for d, f in enumerate(reversed(stack)):
            lost = f == 'f7'
            add('SAMPLING_CALLCHAINS', id=k, symbol=sid('0x7f00%d' % k if lost else f),
                module=sid('/usr/lib/lib&evil;.so' if lost else '/bin/train'), kernelMode=1 if f == 'memcpy' else 0,
                unresolved=1 if lost else 0, specialEntry=0, originalIP=0, stackDepth=d)
    add('SL_LOST_EVENTS', start=5, end=6, globalTid=None, what='calls: <b>no room</b>', count=17)
    add('SL_LOST_EVENTS', start=0, end=9, globalTid=None, what='context switches: lost by the kernel', count=23)
    for sev, text in ((1, 'hello'), (2, 'careful & slow'), (3, '<script>alert(7)</script>')):
        add('DIAGNOSTIC_EVENT', timestamp=0, timestampType=1, source=1, severity=sev, text=text, globalPid=VM)
    for name, value in (('PROCESS_0:COMMAND', 'train <b>'), ('PROCESS_0:ARGUMENT_0', '--x'), ('PROCESS_0:ARGUMENT_10', 'last'),
                        ('PROCESS_0:ARGUMENT_2', '</script>')):
        add('META_DATA_CAPTURE', name=name, value=value)
    for name, value in (('EXPORT_PRODUCT_NAME', 'Sightline'), ('EXPORT_SCHEMA_VERSION', '3.28.1')):
        add('META_DATA_EXPORT', name=name, value=value)
    add('ANALYSIS_DETAILS', globalVid=VM, duration=SPAN, startTime=1000, stopTime=1000 + SPAN)
    add('TARGET_INFO_SESSION_START_TIME', utcEpochNs=1800000000000000000, utcTime='2027-01-15T08:00:00', localTime='x')
    for k, (name, value) in enumerate((('Hostname', 'box"<'), ('CpuCores', '4'), ('CpuArchitecture', 'x86_64'))):
        add('TARGET_INFO_SYSTEM_ENV', globalVid=VM, devStateName='Local (CLI)', name=name, nameEnum=k, value=value)
    db.execute("INSERT OR REPLACE INTO StringIds VALUES (0, '')")
    db.executemany('INSERT OR REPLACE INTO StringIds VALUES (?, ?)', [(i, t) for t, i in strings.items()])
    # Bytes that are no UTF-8 at all.
    db.execute("UPDATE StringIds SET value = CAST(x'fffe3c623e80c3' AS TEXT) WHERE value = 'reduce'")
    for table, rows in tables.items():
        for row in rows if how else ():
            for k in ('start', 'end', 'startedAt', 'endedAt', 'timestamp'):
                if k in row and how == 'since1970' and table != 'ANALYSIS_DETAILS':
                    row[k] += 1800000000 * 1000 * MS
            if how == 'nonsense':
                for k, v in row.items():
                    if isinstance(v, int) and k not in ('id', 'PRIMARY') and r.random() < 0.05:
                        row[k] = r.choice([-1, 0, 2**63 - 1, -2**63, 2**62, -2**62, 2**53 + 1, 10**18])
        if how == 'shuffled':
            random.Random(9).shuffle(rows)
        elif 'start' in rows[0] and not how and table not in ('SAMPLING_CALLCHAINS',):
            # As a collector would write them: nearly in order.
            rows.sort(key=lambda row: row['start'] // (20 * MS) if table != 'SCHED_EVENTS' else row['start'])
        # Columns that may not be NULL and play no part here are 0.
        columns = {c[1]: 0 if c[3] else None for c in db.execute('PRAGMA table_info(%s)' % table)}
        for row in rows:
            assert set(row) <= set(columns), (table, set(row) - set(columns))
        db.executemany('INSERT OR IGNORE INTO %s VALUES (%s)' % (table, ','.join('?' * len(columns))),
                       [[row.get(c, none) for c, none in columns.items()] for row in rows])
    # Reports have only the tables that have rows.
    for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        if not table.startswith(('ENUM_', 'META_', 'sqlite_')) and not db.execute('SELECT 1 FROM %s LIMIT 1' % table).fetchone():
            db.execute('DROP TABLE ' + table)
    db.commit()


build(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else '')

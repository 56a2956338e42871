#!/usr/bin/env python3
"""chrome_truth.py REPORT.sqlite TRACE.json - what a Chrome trace of a report must hold, worked out anew.

All tables are read into memory and everything is looked up the plain way; nothing is shared with the exporter.
Prints the rows (chrome_read.py) in which the trace differs. Lanes are left out of the comparison: chrome_read.py
checks that slices nest. Kinds of events that the real databases have: calls, ranges, GPU work, messages.
"""
import bisect
import collections
import json
import re
import sqlite3
import sys

import chrome_read

db = sqlite3.connect(f'file:{sys.argv[1]}?mode=ro', uri=True)
db.row_factory = sqlite3.Row
db.text_factory = lambda b: b.decode('utf-8', 'replace')


def table(name, order='rowid'):
    try:
        return [dict(r) for r in db.execute(f'SELECT * FROM {name} ORDER BY {order}')]
    except sqlite3.OperationalError:
        return []


def us(ns):
    return f'{"-" if ns < 0 else ""}{abs(ns) // 1000}.{abs(ns) % 1000:03d}'


strings = dict(db.execute('SELECT id, value FROM StringIds'))
labels = {t: {r['id']: r['label'] for r in table(t)}
          for t in ('ENUM_DIAGNOSTIC_SEVERITY_LEVEL', 'ENUM_CUPTI_OVERHEAD_TYPE', 'ENUM_CUDA_UNIF_MEM_MIGRATION')}
processes = {r['globalPid']: r['name'] for r in table('PROCESSES')}
threads = {r['globalTid']: strings[r['nameId']] for r in table('ThreadNames')}
gpus = {r['id']: r for r in table('TARGET_INFO_GPU')}
devices = {(r['pid'], r['cudaId']): r['gpuId'] for r in table('TARGET_INFO_CUDA_DEVICE')}


def pid_of(g):
    return g >> 24 & 0xFFFFFF


def process_name(g):
    return processes.get(g & ~0xFFFFFF) or f'process {pid_of(g)}'


def on_thread(g):
    return process_name(g) + '/' + (threads.get(g) or str(g & 0xFFFFFF))


def on_device(r):
    pid, device = pid_of(r['globalPid']), r['deviceId']
    gpu = gpus.get(devices.get((pid, device)), {}).get('name')
    for g in gpus.values():
        gpu = gpu or (g['name'] if g['cuDevice'] == device else None)
    gpu = gpu or gpus.get(device, {}).get('name')
    owner = processes.get(r['globalPid'])
    return f'GPU {device}' + (f': {gpu}' if gpu else '') + ' (' + (f'{owner} ' if owner else '') + f'{pid})'


def args(r, *fields):
    """fields: "key=column" as it is, "key?column" unless 0."""
    out = {}
    for f in fields:
        key, mark, column = re.match(r'(.*)([=?])(.*)', f).groups()
        value = r.get(column)
        if value is not None and not (mark == '?' and value == 0):
            out[key] = value
    return out


rows = []


def bandwidth(r):
    """As Kineto has it; nothing is moved in no time."""
    ns = r['end'] - r['start'] if r['end'] is not None else 0
    return {'memory bandwidth (GB/s)': f'{r["bytes"] / ns:.9g}'} if ns > 0 else {}


def slice_(r, cat, name, where, more):
    end = r['end']
    if end is None:
        rows.append(['B', cat, name, where, us(r['start']), None, more])
    else:
        rows.append(['X', cat, name, where, us(r['start']), us(max(end - r['start'], 0)), more])


# ---- calls and ranges ----
calls = table('CUPTI_ACTIVITY_KIND_RUNTIME')
for r in calls:
    name = re.sub(r'_v\d{4,}$', '', strings[r['nameId']])
    slice_(r, 'cuda_driver' if r['eventClass'] == 1 else 'cuda_runtime', name, on_thread(r['globalTid']),
           args(r, 'correlation=correlationId', 'result?returnValue'))
has_tree = db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'SL_PROCESS_TREE'").fetchone()[0]
for r in table('OSRT_API'):
    if r.get('eventClass') in (31, 32) and not has_tree:  # where a call of nsys's began and ended: no calls
        continue
    slice_(r, 'osrt', strings[r['nameId']], on_thread(r['globalTid']), args(r, 'result?returnValue'))
for name in ('CUPTI_ACTIVITY_KIND_OVERHEAD', 'PROFILER_OVERHEAD'):
    for r in table(name):
        more = {}
        if name.startswith('CUPTI'):
            more['kind'] = labels['ENUM_CUPTI_OVERHEAD_TYPE'].get(r['overheadType'], str(r['overheadType']))
        slice_(r, 'overhead', strings[r['nameId']], on_thread(r['globalTid']), more)
domain = {(r['globalTid'] >> 24, r['domainId']): r['text'] or strings[r['textId']]
          for r in table('NVTX_EVENTS') if r['eventType'] == 75}
ranges = [r for r in table('NVTX_EVENTS') if r['eventType'] in (34, 59, 60)]
for r in ranges:
    assert r['eventType'] == 59, 'the real databases have no other kinds'
    r['label'] = r['text'] if r['text'] is not None else strings[r['textId']]
    r['domain'] = domain.get((r['globalTid'] >> 24, r['domainId'] or 0))
    slice_(r, 'user_annotation', r['label'], on_thread(r['globalTid']),
           args(r, 'domain=domain', 'range id=rangeId'))

# ---- GPU ----
MEM = ['Pageable', 'Pinned', 'Device', 'Array', 'Managed', 'Device Static', 'Managed Static', 'Unknown']
COPY = {1: 'HtoD', 2: 'DtoH', 8: 'DtoD', 9: 'HtoH', 10: 'PtoP'}
PLACE = ('device=deviceId', 'context=contextId', 'stream=streamId', 'correlation=correlationId')
work = []
for r in table('CUPTI_ACTIVITY_KIND_KERNEL'):
    more = args(r, *PLACE, 'registers per thread=registersPerThread', 'static shared memory?staticSharedMemory',
                'dynamic shared memory?dynamicSharedMemory', 'graph node?graphNodeId', 'green context?greenContextId')
    more['full name'] = strings[r['demangledName']]
    for key in ('grid', 'block'):
        more[key] = [r[key + axis] for axis in 'XYZ']
    work.append((r, 'kernel', strings[r['shortName']], more))
for r in table('CUPTI_ACTIVITY_KIND_MEMCPY'):
    more = args(r, *PLACE, 'bytes=bytes', 'source device=srcDeviceId', 'destination device=dstDeviceId',
                'graph node?graphNodeId')
    if r['migrationCause'] is not None:
        more['migration cause'] = labels['ENUM_CUDA_UNIF_MEM_MIGRATION'].get(r['migrationCause'])
    more.update(bandwidth(r))
    work.append((r, 'gpu_memcpy', f'Memcpy {COPY[r["copyKind"]]} ({MEM[r["srcKind"]]} -> {MEM[r["dstKind"]]})', more))
for r in table('CUPTI_ACTIVITY_KIND_MEMSET'):
    work.append((r, 'gpu_memset', f'Memset ({MEM[r["memKind"]]})',
                 {**args(r, *PLACE, 'bytes=bytes', 'value=value', 'graph node?graphNodeId'), **bandwidth(r)}))
for r in table('CUPTI_ACTIVITY_KIND_GRAPH_TRACE'):
    work.append((r, 'kernel', 'CUDA graph', args(r, *PLACE, 'graph=graphId', 'graph exec=graphExecId')))
for r, cat, name, more in work:
    slice_(r, cat, name, f'{on_device(r)}/stream {r["streamId"]}', more)
SYNC = ['Synchronization', 'Event Sync', 'Stream Wait Event', 'Stream Sync', 'Context Sync']
for r in table('CUPTI_ACTIVITY_KIND_SYNCHRONIZATION'):
    more = args(r, *PLACE)
    if more['stream'] == 0xFFFFFFFF:
        del more['stream']
    slice_(r, 'cuda_sync', SYNC[r['syncType']], on_device(r) + '/Synchronization', more)

# ---- arrows: from a call to all work of its process with its id, if it began after the call ----
started = collections.defaultdict(list)
for w in work:
    started[w[0]['globalPid'] >> 24, w[0]['correlationId']].append(w[0])
for c in calls:
    for r in started[c['globalTid'] >> 24, c['correlationId']]:
        if r['start'] >= c['start']:
            rows.append(['flow', on_thread(c['globalTid']), us(c['start']),
                         f'{on_device(r)}/stream {r["streamId"]}', us(r['start'])])

# ---- ranges on the GPU: all work that calls of the thread started while the range was open ----
of_thread = collections.defaultdict(list)
for c in calls:
    of_thread[c['globalTid']].append((c['start'], c['correlationId']))
for r in ranges:
    own, spans = of_thread[r['globalTid']], {}
    own.sort()
    end = r['end'] if r['end'] is not None else 1 << 62
    for i in range(bisect.bisect_left(own, (r['start'], -1)), len(own)):
        start, correlation = own[i]
        if start >= end:
            break
        for w in started[r['globalTid'] >> 24, correlation]:
            if w['start'] < start:
                continue
            s = spans.setdefault((on_device(w), w['contextId'], w['streamId']), [w['start'], w['end'], 0])
            s[0], s[1], s[2] = min(s[0], w['start']), max(s[1], w['end']), s[2] + 1
    for (where, _, stream), (a, b, cnt) in spans.items():
        more = args(r, 'domain=domain')
        more['operations'] = cnt
        slice_({'start': a, 'end': b}, 'gpu_user_annotation', r['label'],
               f'{where}/NVTX of thread {r["globalTid"] & 0xFFFFFF} on stream {stream}', more)

for r in table('DIAGNOSTIC_EVENT'):
    pid = pid_of(r['globalPid'] or 0)
    rows.append(['i', 'diagnostic', r['text'], process_name(r['globalPid']) if pid else 'CPUs', us(r['timestamp']), None,
                 {'severity': labels['ENUM_DIAGNOSTIC_SEVERITY_LEVEL'][r['severity']]}])


def plain(row):
    # Digits beyond the ninth are a matter of the printer.
    if isinstance(row[-1], dict) and 'memory bandwidth (GB/s)' in row[-1]:
        row[-1]['memory bandwidth (GB/s)'] = f'{float(row[-1]["memory bandwidth (GB/s)"]):.9g}'
    return json.dumps([re.sub(r', lane \d+$', '', x) if isinstance(x, str) else x for x in row], sort_keys=True)


want = collections.Counter(map(plain, rows))
got = collections.Counter(map(plain, chrome_read.rows(sys.argv[2])))
for title, differ in (('missing', want - got), ('too many', got - want)):
    for line in sorted(differ.elements())[:8]:
        print(title, line)
print(sum(want.values()), 'rows')
sys.exit(want != got or not want)

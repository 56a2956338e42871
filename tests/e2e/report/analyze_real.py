"""nsys's six rules on a real database, against rows computed here from the tables alone.

analyze_real.py SIGHTLINE DATABASE
"""
import json, sqlite3, subprocess, sys

sightline, path = sys.argv[1:]
db = sqlite3.connect('file:%s?immutable=1' % path, uri=True)
db.row_factory = sqlite3.Row
have = {r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type='table'")}


def table(name):
    return [dict(r) for r in db.execute('SELECT * FROM ' + name)] if name in have else []


names = dict(db.execute('SELECT id, value FROM StringIds'))
kinds = dict(db.execute('SELECT id, label FROM ENUM_CUDA_MEM_KIND'))
runtime = table('CUPTI_ACTIVITY_KIND_RUNTIME')
memcpy = table('CUPTI_ACTIVITY_KIND_MEMCPY')
memset = table('CUPTI_ACTIVITY_KIND_MEMSET')
ops = table('CUPTI_ACTIVITY_KIND_KERNEL') + memcpy + memset + table('CUPTI_ACTIVITY_KIND_GRAPH_TRACE')
pid = lambda g: g >> 24 & 0xFFFFFF
call = {(r['globalTid'] >> 24, r['correlationId']): r for r in runtime}


def rule(spec):
    run = subprocess.run([sightline, 'analyze', '-q', '-f', 'json', '--limit=0', '--max-bytes=0', '-r', spec, path], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    doc = json.loads(run.stdout)
    return [list(r.values()) for f in doc['findings'] for r in f['evidence']], doc


def same(spec, want, key=None):
    got, doc = rule(spec)
    # equal durations may stand in any order
    key = key or (lambda r: tuple(str(v) for v in r))
    assert [r[0] for r in got] == [r[0] for r in want], (spec, 'order', got[:3], want[:3])
    assert sorted(got, key=key) == sorted(want, key=key), (spec, got[:5], want[:5])
    assert (doc['rules'][0]['result'] == 'finding') == bool(want), (spec, doc['rules'])
    return len(want)


def copies(keep):
    rows = []
    for m in memcpy:
        c = call.get((m['globalPid'] >> 24, m['correlationId']))
        name = names[c['nameId']] if c else None
        if name and name.lower().startswith(('cudamemcpy', 'cumemcpy')) and keep(m, 'Async' in name):
            rows.append([m['end'] - m['start'], m['start'], kinds[m['srcKind']], kinds[m['dstKind']], round(m['bytes'] / 1e6, 3),
                         pid(m['globalPid']), m['deviceId'], m['contextId'], m.get('greenContextId'), m['streamId'], name])
    return sorted(rows, key=lambda r: (-r[0], r[1]))


def merged(spans):
    out = []
    for s, e in sorted(spans):
        if out and s <= out[-1][1]:
            out[-1][1] = max(out[-1][1], e)
        else:
            out.append([s, e])
    return out


gpus = {}
for o in ops:
    gpus.setdefault((o['globalPid'], o['deviceId']), []).append(o)
context = {k: next(iter({o['contextId'] for o in v})) if len({o['contextId'] for o in v}) == 1 else None for k, v in gpus.items()}

n = 0
n += same('cuda_memcpy_async:rows=-1', copies(lambda m, a: a and (m['srcKind'] == 0 or m['dstKind'] == 0)))
n += same('cuda_memcpy_sync:rows=-1', copies(lambda m, a: not a and not (m['copyKind'] == 1 and m['bytes'] <= 64000) and not (
    m['copyKind'] == 8 and m.get('srcDeviceId') == m.get('dstDeviceId'))))

rows = []
for m in memset:
    c = call.get((m['globalPid'] >> 24, m['correlationId']))
    if c and 'Async' not in names[c['nameId']] and m['memKind'] in (1, 4, 6):
        rows.append([m['end'] - m['start'], m['start'], kinds[m['memKind']], round(m['bytes'] / 1e6, 3), pid(m['globalPid']),
                     m['deviceId'], m['contextId'], m.get('greenContextId'), m['streamId'], names[c['nameId']]])
if memset:
    n += same('cuda_memset_sync:rows=-1', sorted(rows, key=lambda r: -r[0]))

sync = ('cudaDeviceSynchronize', 'cudaStreamSynchronize', 'cudaThreadSynchronize', 'cuCtxSynchronize', 'cuStreamSynchronize')
n += same('cuda_api_sync:rows=-1', sorted(
    ([r['end'] - r['start'], r['start'], pid(r['globalTid']), r['globalTid'] & 0xFFFFFF, names[r['nameId']]]
     for r in runtime if names[r['nameId']].startswith(sync)), key=lambda r: -r[0]))

for gap in (0.001, 0.1, 1, 5):
    rows = []
    for (g, d), v in gpus.items():
        spans = [(o['start'], o['end']) for o in v]
        first, last = min(s for s, _ in spans), max(e for _, e in spans)
        spans += [(max(o['start'], first), min(o['end'], last)) for o in table('PROFILER_OVERHEAD')
                  if o['globalTid'] >> 24 == g >> 24 and o['end'] > first and o['start'] < last]
        busy = merged(spans)
        rows += [[b[0] - a[1], a[1], pid(g), d] for a, b in zip(busy, busy[1:]) if b[0] - a[1] > gap * 1e6]
    rows.sort(key=lambda r: (-r[0], r[1]))
    got, _ = rule('gpu_gaps:rows=-1:gap=%g' % gap)
    assert [r[1:5] for r in got] == rows, (gap, got[:5], rows[:5])
    assert [r[0] for r in got] == list(range(1, len(rows) + 1))
    n += len(rows)

for chunks, threshold in ((30, 50), (7, 95), (1000, 20)):
    rows = []
    for (g, d), v in gpus.items():
        busy = merged((o['start'], o['end']) for o in v)
        first, last = busy[0][0], busy[-1][1]
        size = max(-(-(last - first) // chunks), 1)
        low = []
        for i in range(chunks):
            s, e = first + i * size, min(first + (i + 1) * size, last)
            if s >= last:
                break
            use = sum(max(0, min(e, b) - max(s, a)) for a, b in busy)
            if 100 * use < threshold * (e - s):
                if low and low[-1][1] == s:
                    low[-1][1] = e
                    low[-1][2] += use
                else:
                    low.append([s, e, use])
        rows += [[100 * u / (e - s), e - s, s, pid(g), d, context[g, d]] for s, e, u in low]
    rows.sort(key=lambda r: (r[0], r[2]))
    got, _ = rule('gpu_time_util:rows=-1:chunks=%d:threshold=%d' % (chunks, threshold))
    assert len(got) == len(rows), (chunks, len(got), len(rows))
    for i, (a, b) in enumerate(zip(got, rows)):
        assert a[0] == i + 1 and abs(a[1] - b[0]) <= 0.0501 and a[2:] == b[1:], (chunks, a, b)
    n += len(rows)
print(n, 'rows')

"""html_truth.py REPORT PAGE - does the page say what is in the report? All computed here again, in another way."""
import collections
import math
import sqlite3
import sys

from html_page import Page

db = sqlite3.connect('file:%s?mode=ro' % sys.argv[1], uri=True)
db.text_factory = lambda b: b.decode('utf-8', 'replace')
page = Page(sys.argv[2])
tables = {r[0]: {c[1] for c in db.execute('PRAGMA table_info("%s")' % r[0])}
          for r in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
wrong = []


def rows(table, columns, rest=''):
    have = tables.get(table)
    if not have:
        return []
    return db.execute('SELECT %s FROM %s %s' % (', '.join(c if c in have else 'NULL' for c in columns.split()), table, rest)).fetchall()


def same(what, got, want, off=1e-9):
    if got is None or want is None:
        ok = got is want
    else:
        ok = abs(got - want) <= off * max(abs(want), 1)
    if not ok:
        wrong.append('%s: %r, not %r' % (what, got, want))


def figure(name):
    f = page.figure(name)
    return f and f[0]


def union(spans):
    """Spans, merged: by counting how many are open."""
    events = sorted([(s, 1) for s, e in spans] + [(e, -1) for s, e in spans], key=lambda x: (x[0], -x[1]))
    out, depth, since = [], 0, 0
    for at, d in events:
        if depth == 0 and d == 1:
            since = at
        depth += d
        if depth == 0:
            out.append((since, at))
    return out


def length(spans):
    return sum(e - s for s, e in spans)


# ---- the axis ----
events = []
for table, s, e in (('CUPTI_ACTIVITY_KIND_KERNEL', 'start', 'end'), ('CUPTI_ACTIVITY_KIND_MEMCPY', 'start', 'end'),
                    ('CUPTI_ACTIVITY_KIND_MEMSET', 'start', 'end'), ('CUPTI_ACTIVITY_KIND_GRAPH_TRACE', 'start', 'end'),
                    ('CUPTI_ACTIVITY_KIND_RUNTIME', 'start', 'end'), ('OSRT_API', 'start', 'end'), ('SYSCALL', 'start', 'end'),
                    ('SCHED_EVENTS', 'start', 'start'), ('COMPOSITE_EVENTS', 'start', 'start'),
                    ('CUDA_GPU_MEMORY_USAGE_EVENTS', 'start', 'start'), ('OSRT_FILE_ACCESS_EVENTS', 'startedAt', 'endedAt'),
                    ('SL_PROCESS_TREE', 'start', 'end')):
    for a, b in rows(table, s + ' ' + e):
        events += [t for t in (a, b) if t is not None]
if not events:
    for a, b in rows('NVTX_EVENTS', 'start end'):
        events += [t for t in (a, b) if t is not None]
session = max([r[0] for r in rows('ANALYSIS_DETAILS', 'duration')] or [0])
lo, hi = (min(events), max(events)) if events else (0, session)
whole = session > 0 and hi - lo >= session / 4 and lo < session and hi <= session * 1.25
if whole:
    lo, hi = min(lo, 0), max(hi, session)
if hi <= lo:
    hi = lo + 1
span, width = hi - lo, (hi - lo) / 1000


def wall():
    """Life of the process that no other started, or of the first to the last of such; without a tree, of the calls and the GPU."""
    images = [r for r in rows('SL_PROCESS_TREE', 'globalPid parentGlobalPid start end traced') if r[4] == 1]
    pids = {r[0] for r in images}
    lives = []
    for pid in {r[0] for r in images if r[1] not in pids}:
        own = sorted((r for r in images if r[0] == pid), key=lambda r: r[2])
        lives.append((own[0][2], own[-1][3]))
    calls = []
    for table in ('CUPTI_ACTIVITY_KIND_KERNEL', 'CUPTI_ACTIVITY_KIND_MEMCPY', 'CUPTI_ACTIVITY_KIND_MEMSET',
                  'CUPTI_ACTIVITY_KIND_GRAPH_TRACE', 'CUPTI_ACTIVITY_KIND_RUNTIME', 'OSRT_API', 'SYSCALL'):
        calls += [t for row in rows(table, 'start end') for t in row if t is not None]
    calls += [t for kind, *row in rows('NVTX_EVENTS', 'eventType start end') if kind in (34, 59, 60) for t in row if t is not None]
    if not lives:
        return max(calls) - min(calls) if calls else session
    first, last = min(a for a, b in lives), max(max(calls) if b is None else b for a, b in lives)
    if session and first < session and last > 0:
        first, last = max(first, 0), min(last, session)
    return last - first


same('wall', figure('wall'), max(wall(), 1))


def bins(spans, weights=None):
    out = [0.0] * 1000
    for k, (s, e) in enumerate(spans):
        amount = weights[k] if weights else e - s
        s1, e1 = max(s, lo), min(e, hi)
        first, last = max(0, int((s1 - lo) / width) - 1), min(999, int((e1 - lo) / width) + 1)
        if e == s:
            out[min(999, int((s - lo) / width))] += amount
            continue
        for b in range(first, last + 1):
            over = min(e1, lo + (b + 1) * width) - max(s1, lo + b * width)
            if over > 0:
                out[b] += amount * over / (e - s)
    return out


def curve(what, got, want, off=2e-3):
    if got is None:
        wrong.append('%s: no curve' % what)
        return
    top = max(max(want), 1e-9)
    for b, (g, w) in enumerate(zip(got, want)):
        if abs(g - w) > off * top:
            wrong.append('%s: bin %d is %r, not %r' % (what, b, g, w))
            return


# ---- GPUs ----
gpu_of = {(p, c): g for p, c, g in rows('TARGET_INFO_CUDA_DEVICE', 'pid cudaId gpuId')}
work, kernel_ns, copies = collections.defaultdict(lambda: ([], [])), [], []
for table, kind in (('CUPTI_ACTIVITY_KIND_KERNEL', 0), ('CUPTI_ACTIVITY_KIND_GRAPH_TRACE', 0),
                    ('CUPTI_ACTIVITY_KIND_MEMCPY', 1), ('CUPTI_ACTIVITY_KIND_MEMSET', 1)):
    for s, e, dev, gpid, size in rows(table, 'start end deviceId globalPid bytes'):
        pid = (gpid or 0) >> 24 & 0xFFFFFF
        work[gpu_of.get((pid, dev), dev)][kind].append((s, e))
        if table.endswith('KERNEL'):
            kernel_ns.append(e - s)
        if table.endswith('MEMCPY'):
            copies.append(size)
if work:
    same('GPU busy', figure('gpu'), sum(100 * length(union(k + c)) / span for k, c in work.values()) / len(work), 1e-6)
    same('kernels', figure('kernels'), len(kernel_ns))
    same('copied', figure('copied'), sum(copies))
else:
    same('GPU busy', figure('gpu'), None)
if page.data():
    for g, (k, c) in list(work.items())[:16]:
        chart = page.chart('gpu-%d' % g)
        curve('kernels of GPU %d' % g, chart and chart['series'][0]['values'], [100 * v / width for v in bins(union(k))])
        curve('copies of GPU %d' % g, chart and chart['series'][1]['values'], [100 * v / width for v in bins(union(c))])


def edges(step):
    out, x = [0], 1
    while x < 1e19:
        out += [x, 2 * x, 5 * x] if step == 10 else [x]
        x *= step
    return out


def shares(values, weights, limits):
    out = collections.Counter()
    for v, w in zip(values, weights):
        out[max(i for i, x in enumerate(limits) if v >= x)] += w
    total = sum(weights) or 1
    return {k: 100 * v / total for k, v in out.items()}


def histogram(chart, series, values, weights, limits, used, rest=None):
    """rest: how many are in the first slot alone, as no more is known of them; None: there is no such slot"""
    if chart is None:
        wrong.append('no histogram')
        return
    parts, first = shares(values, weights, limits), min(used)
    got = next(s['values'] for s in chart['series'] if s['name'] == series)
    if bool(chart.get('apart')) != (rest is not None):
        wrong.append('%s: a slot for what is not known: %s, %s are' % (series, chart.get('apart'), rest))
        return
    if rest is not None:
        same('%s, sizes not known' % series, got[0], 100 * rest / (len(values) + rest), 1e-3)
        parts = {k: v * len(values) / (len(values) + rest) for k, v in parts.items()}
        got = got[1:]
    if len(got) != max(used) - first + 1:
        wrong.append('%s: %d slots, not %d' % (series, len(got), max(used) - first + 1))
    for i, g in enumerate(got):
        same('%s, slot %d' % (series, i), g, parts.get(first + i, 0), 1e-3)


def slots(values, limits):
    return {max(i for i, x in enumerate(limits) if v >= x) for v in values}


if kernel_ns and page.data():
    used = slots(kernel_ns, edges(10))
    histogram(page.chart('kernel-times'), 'of the kernels', kernel_ns, [1] * len(kernel_ns), edges(10), used)
    histogram(page.chart('kernel-times'), 'of their time', kernel_ns, kernel_ns, edges(10), used)

# ---- memory ----
level, peak, high = collections.Counter(), collections.Counter(), collections.defaultdict(lambda: [0] * 1000)
changes = collections.defaultdict(list)
for at, gpid, dev, size, op, kind in sorted(rows('CUDA_GPU_MEMORY_USAGE_EVENTS', 'start globalPid deviceId bytes memoryOperationType memKind')):
    if kind in (0, 1):
        continue
    g = gpu_of.get((gpid >> 24 & 0xFFFFFF, dev), dev)
    level[g] = max(0, level[g] + (size if op == 0 else -size))
    peak[g] = max(peak[g], level[g])
    changes[g].append((at, level[g]))
same('memory', figure('memory'), max(peak.values()) if peak else None)
if peak and page.data():
    for k, g in enumerate(sorted(changes)):
        want, now, i, c = [], 0, 0, changes[g]
        for b in range(1000):
            most = now
            while i < len(c) and (c[i][0] - lo) / width < b + 1:
                now = c[i][1]
                most = max(most, now)
                i += 1
            want.append(most)
        curve('memory of GPU %d' % g, page.chart('gpu-memory')['series'][k]['values'], want)

# ---- processors ----
threads, last = collections.defaultdict(list), session
for at, run, tid in rows('SCHED_EVENTS', 'start isSchedIn globalTid'):
    if tid is not None:
        threads[tid].append((at, -run))
        last = max(last, at)
cpu = collections.defaultdict(list)
for tid, list_ in threads.items():
    list_.sort()
    for (at, run), (next_at, next_run) in zip(list_, list_[1:] + [(last, 0)]):
        if run and not next_run:
            cpu[tid >> 24].append((at, next_at))
cpus = [int(v) for n, v in rows('TARGET_INFO_SYSTEM_ENV', 'name value') if n == 'CpuCores'] or \
    [max(r[0] for r in rows('SCHED_EVENTS', 'cpu')) + 1 if threads else 0]
if threads:
    same('CPU busy', figure('cpu'), 100 * sum(map(length, cpu.values())) / span / cpus[0], 1e-6)
    if page.data():
        chart = page.chart('cpu')
        want = sorted(cpu, key=lambda p: (-length(cpu[p]), p))[:7]
        for k, p in enumerate(want):
            name = chart['series'][k]['name']
            if not name.endswith('(%d)' % (p & 0xFFFFFF)):
                wrong.append('process %d is %s, not %d' % (k, name, p & 0xFFFFFF))
            curve('CPU of %s' % name, chart['series'][k]['values'], [v / width for v in bins(cpu[p])])
else:
    same('CPU busy', figure('cpu'), None)

# ---- input and output ----
IN = {'read', 'pread', 'readv', 'preadv', 'recv', 'recvfrom', 'recvmsg', 'fread', 'fgets', 'getc', 'fgetc', 'getline', 'sendfile',
      'copy_file_range', 'splice', 'fread_unlocked', 'fgets_unlocked', 'getdents', 'getdelim'}
OUT = {'write', 'pwrite', 'writev', 'pwritev', 'send', 'sendto', 'sendmsg', 'fwrite', 'fputs', 'puts', 'fprintf', 'printf', 'vfprintf',
       'vprintf', 'dprintf', 'fputc', 'putc', 'fwrite_unlocked', 'fputs_unlocked'}
names = dict(rows('StringIds', 'id value'))


def way(name_id):
    n = (names.get(name_id) or '').replace('__', '').replace('_chk', '').replace('64', '')
    return 'in' if n in IN else 'out' if n in OUT else None


calls = [(way(n), s, e, b) for n, s, e, b in rows('OSRT_API', 'nameId start end bytesDone') if b is not None]
totals = [(way(n), b) for n, b in rows('SL_OSRT_TOTALS', 'nameId bytes')]
short = collections.Counter()
for n, c, lost in rows('SL_OSRT_TOTALS', 'nameId count lostCount'):
    short[way(n)] += c + lost
files = [(way(n), s, e, b) for n, s, e, b, t in rows('OSRT_FILE_ACCESS_EVENTS', 'apiCallId startedAt endedAt bytesProcessed eventType')
         if t in (3, 4)]
for name, direction in (('read', 'in'), ('written', 'out')):
    if not any(c[0] for c in calls + totals + ([] if calls or totals else files)):
        same(name, figure(name), None)
    elif calls or totals:
        same(name, figure(name), sum(c[3] for c in calls if c[0] == direction) + sum(b for w, b in totals if w == direction))
    else:
        same(name, figure(name), sum(c[3] for c in files if c[0] == direction))
drawn = [c for c in (files if rows('OSRT_FILE_ACCESS_EVENTS', 'startedAt', 'LIMIT 1') else calls) if c[0]]
if drawn and page.data():
    used = slots([c[3] for c in drawn], edges(4))
    # Calls that have no row; where rows of files are drawn, what other calls there are.
    rest = {w: max(0, sum(c[0] == w for c in calls) + short[w] - sum(c[0] == w for c in drawn)) for w in ('in', 'out')}
    if not calls and not totals:
        rest = dict.fromkeys(rest, 0)
    for series, hist, direction in (('read', 'of the reads', 'in'), ('written', 'of the writes', 'out')):
        part = [c for c in drawn if c[0] == direction]
        if not part:
            continue # (or all of them are too short)
        histogram(page.chart('io-sizes'), hist, [c[3] for c in part], [1] * len(part), edges(4), used,
                  rest[direction] if any(rest.values()) else None)
        if sum(c[3] for c in part) > 0:
            got = next(s['values'] for s in page.chart('io')['series'] if s['name'] == series)
            curve(series, got, [v * 1e9 / width for v in bins([(c[1], c[2]) for c in part], [c[3] for c in part])])

# ---- the rest of the figures ----
if 'SL_PROCESS_TREE' in tables and rows('SL_PROCESS_TREE', 'globalPid'):
    same('processes', figure('processes'), len({r[0] for r in rows('SL_PROCESS_TREE', 'globalPid')}))
else:
    pids = {r[0] >> 24 for t in ('CUPTI_ACTIVITY_KIND_RUNTIME', 'NVTX_EVENTS', 'OSRT_API', 'SYSCALL', 'SCHED_EVENTS')
            for r in rows(t, 'globalTid') if r[0]}
    pids |= {r[0] >> 24 for t in ('KERNEL', 'MEMCPY', 'MEMSET', 'GRAPH_TRACE')
             for r in rows('CUPTI_ACTIVITY_KIND_' + t, 'globalPid') if r[0] is not None}
    same('processes', figure('processes'), len(pids) or None)
LOST_SWITCHES = 'context switches: lost'
same('lost', figure('lost'), sum(n for n, what in rows('SL_LOST_EVENTS', 'count what') if not what.startswith(LOST_SWITCHES)) or None)
same('lost-switches', figure('lost-switches'), sum(n for n, what in rows('SL_LOST_EVENTS', 'count what') if what.startswith(LOST_SWITCHES)) or None)
same('diagnostics', figure('diagnostics'), sum(r[0] in (2, 3) for r in rows('DIAGNOSTIC_EVENT', 'severity')) or None)

# ---- tables: kernels; every text is there as it is, made harmless ----
if kernel_ns:
    time = collections.Counter()
    for s, e, n in rows('CUPTI_ACTIVITY_KIND_KERNEL', 'start end demangledName'):
        time[names.get(n)] += e - s
    # bytes in the unit of the report, which has rounded them
    for r in page.table('cuda_gpu_mem_size_sum') or []:
        for text, v in r[1:2] + r[3:]:
            if text.replace(',', '') != '%.3f MB' % v:
                wrong.append('size of copies: %r for %r' % (text, v))
    got = page.table('cuda_gpu_kern_sum')
    want = [t for n, t in time.most_common(30)]
    if [r[2][1] for r in got] != want:
        wrong.append('kernel table: %s, not %s' % ([r[2][1] for r in got], want))
    shown = {r[0][0] for r in got}

    def tame(t):
        t = ''.join(' ' if c in '\t\n\r' else '\ufffd' if ord(c) < 32 or 0x7f <= ord(c) < 0xa0 or '\u2028' <= c <= '\u202e' or
                    '\u2066' <= c <= '\u2069' else c for c in t)
        return t if len(t.encode()) <= 1000 else t[:1000] + '\u2026'
    # Bytes that are no UTF-8 may be marked one by one or together.
    missing = [n for n, _ in time.most_common(len(got)) if '\ufffd' not in n and '\0' not in n and tame(n) not in shown and len(n) < 900]
    if len(time) <= 30 and missing:
        wrong.append('kernel names: %s' % missing)

# ---- the flame graph ----
samples = {i: (tid, c) for i, tid, c in rows('COMPOSITE_EVENTS', 'id globalTid cpuCycles')}
stacks = collections.defaultdict(list)
for i, d, sym, mod, un in rows('SAMPLING_CALLCHAINS', 'id stackDepth symbol module unresolved'):
    stacks[i].append((d, '[%s]' % names[mod].split('/')[-1] if un else names[sym]))
periodic = any(c for _, c in samples.values())
self_, total, frames, all_ = collections.Counter(), collections.Counter(), collections.Counter(), 0
for i, stack in stacks.items():
    if i not in samples or (periodic and not samples[i][1]):
        continue
    all_ += 1
    path = [n for d, n in sorted(stack, reverse=True)]
    self_[path[-1]] += 1
    total.update(set(path))
    whole_path = (samples[i][0] >> 24,) + tuple(path)
    for k in range(1, len(whole_path) + 1):
        frames[whole_path[:k]] += 1
if all_:
    got = {r[0][0]: (r[1][1], r[2][1]) for r in page.table('functions')}
    for name, (s, t) in got.items():
        same('self of %s' % name, s, self_[name])
        same('total of %s' % name, t, total[name])
    want = sorted(self_.values(), reverse=True)[:len(got)]
    if [v[0] for v in got.values()][:len(want)] != want:
        wrong.append('functions: not the largest first')
    boxes = [e for e in page.by_id('flame-graph')['below'] if e['tag'] == 'svg']
    least = all_ // 1000 + 1
    if len(boxes) != sum(n >= least for n in frames.values()):
        wrong.append('flame graph: %d frames, not %d' % (len(boxes), sum(n >= least for n in frames.values())))
    by = collections.Counter()
    for e in boxes:
        name = e['below'][0]['text'].split('\n')[0]
        by[name, int(e['attrs']['y']) // 18] += float(e['attrs']['width'][:-1])
    want = collections.Counter()
    for path, n in frames.items():
        if n >= least and len(path) > 1:
            want[path[-1], len(path) - 1] += 100 * n / all_
    for k, w in want.items():
        same('frame %s %d' % k, by[k], w, 2e-3)

print('\n'.join(wrong[:40]))
sys.exit(bool(wrong))

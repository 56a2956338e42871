"""stats_nvtx.py random DB: a report of random ranges, calls and GPU work.
stats_nvtx.py check DB REPORT CSV: is the table what the database says? Computed anew here, range by range, the slow way."""
import bisect
import csv
import math
import random
import re
import sqlite3
import statistics
import sys


def make(path):
    rnd = random.Random(4)
    db = sqlite3.connect(path)
    db.executescript('''
    CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);
    CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER,
        endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, correlationId INTEGER, globalPid INTEGER,
        demangledName INTEGER, shortName INTEGER, mangledName INTEGER);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER, end INTEGER, correlationId INTEGER, globalPid INTEGER);
    ''')
    db.executemany('INSERT INTO StringIds VALUES(?,?)', [(i, 'kernel%d' % i) for i in range(20)] + [(50, 'call'), (51, 'registered')])
    nvtx, calls, kernels, copies = [], [], [], []

    def push(t, tid, domain, depth):
        """A range from t on with others and calls inside; its end."""
        start = t
        name = rnd.choice(['a', 'b', 'loop 1', 'loop 22', None])
        at = len(nvtx)
        nvtx.append(None)
        t += rnd.randrange(3)
        for _ in range(rnd.randrange(4)):
            t = push(t, tid, domain, depth + 1) if depth < 5 else t + 1
            t = launch(t, tid) if domain == 0 else t + rnd.randrange(40)
        end = t + rnd.randrange(2)
        nvtx[at] = (start, end, 59, name, tid, None, 51 if name is None else None, domain)
        return end + rnd.randrange(3)

    corr = {}  # the same in every process, and beyond 32 bits, as in a report of many processes

    def launch(t, tid):
        process = tid >> 24
        c = corr[process] = corr.get(process, 1 << 32) + 1
        calls.append((t, t + 5, tid, c, 50))
        for _ in range(rnd.choice([0, 1, 1, 1, 3])):
            at = t + rnd.randrange(500)
            row = (at, at + rnd.randrange(1, 50), c, process << 24)
            if rnd.random() < .2:
                copies.append(row)
            else:
                kernels.append(row + (k := rnd.randrange(20), k % 5, k if k % 2 else None))
        return t + rnd.randrange(5, 9)

    host = 1 << 48
    for pid, tid in ((100, 100), (100, 102), (101, 101)):
        tid = host + (pid << 24) + tid
        for domain in (0, 1):
            t = 10
            while t < 40000:
                t = push(t, tid, domain, 0) + rnd.randrange(20)
                if t > 35000 and rnd.random() < .05:  # the rest happens within a range that is never closed
                    nvtx.append((t, None, 59, 'open', tid, None, None, domain))
    long = host + (300 << 24) + 300  # many calls in a range: sums over blocks of all sizes
    t = 0
    for step in range(500):
        start = t
        for _ in range(100 if step % 97 else 130):
            t = launch(t, long)
        nvtx.append((start, t + rnd.randrange(8), 59, 'step %d' % step, long, None, None, 0))
        t += 9
    nvtx.append((0, t + 100, 59, 'whole', long, None, None, 0))
    for i in range(40):
        a, b = sorted((rnd.randrange(t), rnd.randrange(t)))
        nvtx.append((a, b, 60, 'span', long, rnd.choice([None, long, long, long + 1]), None, rnd.randrange(2)))
    nvtx.append((0, None, 75, 'lib', host + (100 << 24) + 100, None, None, 1))
    nvtx.sort(key=lambda r: r[0])
    db.executemany('INSERT INTO NVTX_EVENTS VALUES(?,?,?,?,?,?,?,?)', nvtx)
    db.executemany('INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(?,?,?,?,?)', calls)
    db.executemany('INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(?,?,?,?,?,?,?)', kernels)
    db.executemany('INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(?,?,?,?)', copies)
    db.commit()


class Report:
    def __init__(self, path):
        self.db = sqlite3.connect('file:%s?mode=ro' % path, uri=True)
        self.strings = dict(self.db.execute('SELECT id, value FROM StringIds'))
        self.names = {}
        self.ranges = []
        rows = list(self.rows('NVTX_EVENTS', 'start,end,eventType,text,textId,globalTid,endGlobalTid,domainId'))
        for start, end, kind, text, text_id, tid, end_tid, domain in rows:
            if kind == 75:
                self.names[tid >> 24, domain] = text or self.strings[text_id]
        for start, end, kind, text, text_id, tid, end_tid, domain in rows:
            if kind not in (59, 60):
                continue
            text = text if text is not None else self.strings.get(text_id, '')
            self.ranges.append({'start': start, 'end': end, 'kind': kind, 'tid': tid, 'domain': domain or 0,
                                'same': end_tid in (None, tid), 'name': '%s:%s' % (self.names.get((tid >> 24, domain), ''), text)})

    def rows(self, table, columns):
        if not self.db.execute('SELECT 1 FROM sqlite_master WHERE name=?', (table,)).fetchone():
            return []
        return self.db.execute('SELECT %s FROM %s' % (columns, table))

    def gpu(self):
        for table in ('KERNEL', 'MEMCPY', 'MEMSET', 'GRAPH_TRACE'):
            for start, end, corr, pid in self.rows('CUPTI_ACTIVITY_KIND_' + table, 'start,end,correlationId,globalPid'):
                yield pid >> 24, corr, start, end

    def calls(self):
        """tid -> calls in order, and their starts"""
        calls = {}
        for start, end, tid, corr in self.rows('CUPTI_ACTIVITY_KIND_RUNTIME', 'start,end,globalTid,correlationId'):
            calls.setdefault(tid, []).append((start, end, (tid >> 24, corr)))
        for list_ in calls.values():
            list_.sort()
        return calls, {tid: [c[0] for c in list_] for tid, list_ in calls.items()}

    def nest(self, ranges):
        """Sets level, parent and children; returns them in order of their stacks."""
        order = sorted(ranges, key=lambda r: (r['tid'], r['domain'], r['start'], r['end'] is not None, -(r['end'] or 0)))
        stack, of = [], None
        for seq, r in enumerate(order):
            if (r['tid'], r['domain']) != of:
                stack, of = [], (r['tid'], r['domain'])
            stack = [s for s in stack if s['end'] is None or s['end'] > r['start']]
            r.update(seq=seq, lvl=len(stack), parent=stack[-1] if stack else None, kids=[])
            if stack:
                stack[-1]['kids'].append(r)
            stack.append(r)
        return order


def path(r):
    return (path(r['parent']) if r['parent'] else '') + ':%d' % r['id']


def ids(tid):
    return [tid >> 24 & 0xFFFFFF, tid & 0xFFFFFF]


def style(kind):
    return 'PushPop' if kind == 59 else 'StartEnd'


def pushpop_trace(rep):
    order = rep.nest([r for r in rep.ranges if r['kind'] == 59])
    order.sort(key=lambda r: (r['start'], r['tid'], r['domain'], r['seq']))
    for i, r in enumerate(order):
        r['id'] = i + 1
    for r in order:
        dur = None if r['end'] is None else r['end'] - r['start']
        inside = sum(k['end'] - k['start'] for k in r['kids'] if k['end'] is not None)
        yield [r['start'], r['end'], dur, inside, None if dur is None else dur - inside, r['name'], *ids(r['tid']), r['lvl'],
               len(r['kids']), r['id'], r['parent'] and r['parent']['id'], path(r), '--' * r['lvl'] + r['name']]


def project(rep):
    work = {}
    for process, corr, start, end in rep.gpu():
        work.setdefault((process, corr), []).append((start, end))
    calls, starts = rep.calls()
    found = []
    for r in rep.ranges:
        if r['end'] is None or not r['same'] or r['tid'] not in calls:
            continue
        lo, hi = bisect.bisect_left(starts[r['tid']], r['start']), bisect.bisect_right(starts[r['tid']], r['end'])
        ops = [op for c in calls[r['tid']][lo:hi] if c[1] <= r['end'] for op in work.get(c[2], ())]
        if ops:
            r.update(n=len(ops), first=min(ops)[0], last=max(o[1] for o in ops))
            found.append(r)
    rep.nest([r for r in found if r['kind'] == 59])
    for r in found:
        if r['kind'] == 60:
            r.update(lvl=0, parent=None, kids=[])
    found.sort(key=lambda r: (r['tid'], r['domain'], r['kind'], r['start'], -r['end']))
    found.sort(key=lambda r: (r['first'], r['start'], -r['end']))
    for i, r in enumerate(found):
        r['id'] = i + 1
    return found


def gpu_proj_trace(rep):
    for r in project(rep):
        yield [r['name'], r['first'], r['last'] - r['first'], r['start'], r['end'] - r['start'], style(r['kind']), *ids(r['tid']), r['n'],
               r['lvl'], len(r['kids']), r['id'], r['parent'] and r['parent']['id'], path(r)]


def figures(values):
    return [statistics.mean(values), float(statistics.median(values)), min(values), max(values),
            statistics.stdev(values) if len(values) > 1 else 0.0]


def gpu_proj_sum(rep):
    groups = {}
    for r in project(rep):
        groups.setdefault((r['name'], style(r['kind'])), []).append(r)
    rows = []
    for (name, kind), rs in groups.items():
        dur = [r['last'] - r['first'] for r in rs]
        rows.append([name, kind, sum(dur), sum(r['end'] - r['start'] for r in rs), len(rs), *figures(dur), sum(r['n'] for r in rs),
                     statistics.mean(r['n'] for r in rs), statistics.mean(r['lvl'] for r in rs), statistics.mean(len(r['kids']) for r in rs)])
    return sorted(rows, key=lambda r: (-r[2], r[1], r[0]))


def kern_sum(rep):
    work = {}
    for start, end, corr, pid, name in rep.rows('CUPTI_ACTIVITY_KIND_KERNEL', 'start,end,correlationId,globalPid,demangledName'):
        work.setdefault((pid >> 24, corr), []).append((rep.strings[name], end - start))
    calls, starts = rep.calls()
    groups = {}
    for r in rep.ranges:
        if r['end'] is None or not r['same'] or r['tid'] not in calls:
            continue
        lo, hi = bisect.bisect_left(starts[r['tid']], r['start']), bisect.bisect_right(starts[r['tid']], r['end'])
        seen = set()
        for c in calls[r['tid']][lo:hi]:
            for kernel, dur in work.get(c[2], ()) if c[1] <= r['end'] else ():
                g = groups.setdefault((r['name'], style(r['kind']), *ids(r['tid']), kernel), [0, []])
                g[0] += kernel not in seen
                seen.add(kernel)
                g[1].append(dur)
    rows = [[*key[:4], n, len(durs), sum(durs), *figures(durs), key[4]] for key, (n, durs) in groups.items()]
    return sorted(rows, key=lambda r: (-r[6], r[0], r[1], r[2], r[3], r[12]))


def range_sum(kinds):
    def rows(rep):
        groups = {}
        for r in rep.ranges:
            if r['kind'] in kinds and r['end'] is not None:
                groups.setdefault((style(r['kind']), r['name']), []).append(r['end'] - r['start'])
        whole = sum(map(sum, groups.values()))
        out = [[100 * sum(d) / whole, sum(d), len(d), *figures(d), *(key if len(kinds) > 1 else key[1:])] for key, d in groups.items()]
        return sorted(out, key=lambda r: (-r[1], r[8:]))
    return rows


def step_trace(rep):
    """For names like "step 7" on main threads."""
    steps = [r for r in rep.ranges if re.fullmatch(r':step \d+', r['name']) and ids(r['tid'])[0] == ids(r['tid'])[1]]
    busy = {}
    for process, _, start, end in sorted(rep.gpu(), key=lambda op: op[2]):
        spans = busy.setdefault(process, [])
        if spans and start <= spans[-1][1]:
            spans[-1][1] = max(spans[-1][1], end)
        else:
            spans.append([start, end])
    durs = [r['end'] - r['start'] for r in steps]
    mid = statistics.median(durs)
    least = mid + 3 * 1.4826 * statistics.median(abs(d - mid) for d in durs)
    for i, r in enumerate(sorted(steps, key=lambda r: r['start'])):
        dur = r['end'] - r['start']
        spans = busy[r['tid'] >> 24]
        at = bisect.bisect_right(spans, [r['start'], 0]) - 1
        work = 0
        for a, b in spans[max(at, 0):]:
            if a >= r['end']:
                break
            work += max(0, min(b, r['end']) - max(a, r['start']))
        yield [i + 1, r['start'], dur, 100 * dur / mid, work, 100 - 100 * work / dur, 'slow' if dur > least else None, *ids(r['tid']), r['name']]


REPORTS = {'step_trace': step_trace, 'nvtx_pushpop_trace': pushpop_trace, 'nvtx_gpu_proj_trace': gpu_proj_trace, 'nvtx_gpu_proj_sum': gpu_proj_sum,
           'nvtx_kern_sum': kern_sum, 'nvtx_sum': range_sum((59, 60)), 'nvtx_pushpop_sum': range_sum((59,)),
           'nvtx_startend_sum': range_sum((60,))}


def same(got, want):
    if want is None:
        return got == ''
    if isinstance(want, str):
        return got == want
    if isinstance(want, int) and '.' not in got:
        return int(got) == want
    return abs(float(got) - want) <= 0.0501 + 1e-12 * abs(want) and not math.isnan(float(got))


def check(path_, report, table):
    got = [row for row in csv.reader(open(table, newline='')) if row][1:]
    want = list(REPORTS[report](Report(path_)))
    assert want, 'nothing to compare'
    assert len(got) == len(want), '%d rows, should be %d' % (len(got), len(want))
    for i, (g, w) in enumerate(zip(got, want)):
        assert len(g) == len(w) and all(map(same, g, w)), 'row %d:\n%s\nshould be\n%s' % (i, g, w)


if sys.argv[1] == 'random':
    make(sys.argv[2])
else:
    check(*sys.argv[2:])

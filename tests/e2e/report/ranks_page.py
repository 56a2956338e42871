"""ranks_page.py PAGE RUN DATASET WEB-FOLDER AXE|- - the page of a run against its rows, computed anew; as a browser shows it. TAP."""
import base64
import csv
import io
import os
import re
import statistics
import struct
import subprocess
import sys
import zlib

page, run, dataset, web, axe = sys.argv[1:]
text = open(page, encoding='utf-8').read()
count = 0


def ok(good, name, more=''):
    global count
    count += 1
    print(f'{"ok" if good else "not ok"} {count} - {name}')
    if not good:
        print('# ' + str(more).replace('\n', '\n# '))


def rows(sql):
    out = subprocess.run(['duckdb', '-init', '/dev/null', '-csv', '-c', sql], capture_output=True, text=True, check=True).stdout
    return [tuple(int(v) if v else None for v in r) for r in list(csv.reader(io.StringIO(out)))[1:]]


def cells(png):
    """Rows of numbers of colours."""
    at, data, wide, tall = 8, b'', 0, 0
    while at < len(png):
        size, name = struct.unpack('>I4s', png[at:at + 8])
        body = png[at + 8:at + 8 + size]
        assert zlib.crc32(name + body) == struct.unpack('>I', png[at + 8 + size:at + 12 + size])[0]
        if name == b'IHDR':
            wide, tall = struct.unpack('>II', body[:8])
        if name == b'IDAT':
            data += body
        at += 12 + size
    data, line = zlib.decompress(data), 1 + (wide + 1) // 2
    return [[data[y * line + 1 + x // 2] >> (0 if x % 2 else 4) & 15 for x in range(wide)] for y in range(tall)]


def level(value, bounds):
    return sum(value >= b for b in bounds)


def grid(found, ranks, columns):
    return [[found.get((r, c), 8) for c in columns] for r in ranks]


pictures = [cells(base64.b64decode(p)) for p in re.findall(r'data:image/png;base64,([^"]*)"', text)]
ok(len(pictures) == 3, 'three pictures', len(pictures))

# ---- own time by rank and step ----
own, whole = {}, {}
for r, s, a, b, exposed in rows(f"SELECT \"rank\", step, start, \"end\", exposedCollNs FROM read_parquet('{dataset}/SL_STEPS/run={run}/*/*.parquet')"):
    own[r, s], whole[r, s] = b - a - (exposed or 0), b - a
ranks, steps = sorted({r for r, _ in own}), range(min(s for _, s in own), max(s for _, s in own) + 1)
median = {s: statistics.median(v for (_, t), v in own.items() if t == s) for s in steps}
share = (1.02, 1.05, 1.1, 1.25, 1.5, 2, 4)
want = {(r, s): level(1 if v - median[s] < 1e5 else v / median[s], share) for (r, s), v in own.items()}
ok(pictures[1] == grid(want, ranks, steps), 'own time by rank and step')
mid = {s: statistics.median(v for (_, t), v in whole.items() if t == s) for s in steps}
ok(pictures[0] == [[level(mid[s] / statistics.median(mid.values()), share) for s in steps]], 'steps of all ranks together')
worst = sorted(((median[s] - v, r, s) for (r, s), v in own.items() if v > 1.02 * median[s] and v - median[s] > 1e5))[:20]
shown = [tuple(map(int, m)) for m in re.findall(r'<tr><td>(\d+)</td><td>(\d+)</td><td>[^<]* [mnµ]?s</td>', text)]
ok(shown == [(r, s) for _, r, s in worst], 'the largest own times by name', (shown[:3], worst[:3]))

# ---- lateness by rank and collective ----
calls = {}
for r, comm, seq, ns in rows(f"SELECT \"rank\", commHash, seq, \"end\" - start FROM read_parquet('{dataset}/SL_COLLECTIVES/run={run}/*/*.parquet')"):
    calls.setdefault((comm, seq), {})[r] = ns
low = {c: min(s for d, s in calls if d == c) for c, _ in calls}
late = {}
for (comm, seq), of in calls.items():
    for r, ns in of.items():
        key = r, seq - low[comm]
        late[key] = max(late.get(key, 0), level(max(of.values()) - ns, (1e5, 1e6, 5e6, 2e7, 1e8, 5e8, 2e9)))
ok(pictures[2] == grid(late, ranks, range(max(c for _, c in late) + 1)), 'lateness by rank and collective')

# ---- outliers ----
means = {r: statistics.mean(v for (q, _), v in own.items() if q == r) for r in ranks}
half = sorted(means.values())[len(means) // 2]
bound = max(half + 6 * 1.4826 * sorted(abs(m - half) for m in means.values())[len(means) // 2], 1.01 * half)
ok([int(r) for r in re.findall(r'<li>rank (\d+) on', text)] == sorted((r for r in ranks if means[r] > bound), key=lambda r: -means[r]), 'outliers by name')

# ---- in a browser ----
sys.path.insert(0, web)
from browser import Browser, find  # noqa: E402

ok('<script' not in text, 'the page runs no script')
if not find():
    print(f'ok {count + 1} - a browser shows the page # SKIP chromium is not installed (package chromium)')
    print(f'1..{count + 1}')
    sys.exit()
with Browser() as b:
    for dark in (False, True):
        b.open(os.path.abspath(page), dark=dark)
        theme = 'dark' if dark else 'light'
        ok(not b.complaints(), f'{theme}: a browser has no complaint', b.complaints())
        ok(b.ask('document.documentElement.scrollWidth <= document.documentElement.clientWidth'), f'{theme}: the page is no wider than the window')
        if axe == '-':
            print(f'ok {count + 1} - {theme}: axe-core finds no fault # SKIP axe-core is not there')
            count += 1
            continue
        b.call('Runtime.evaluate', expression=open(axe, encoding='utf-8').read())
        found = b.call('Runtime.evaluate', expression="axe.run().then(r => r.violations.map(v => v.id + ': ' + v.nodes[0].html.slice(0, 200)).join('\\n'))", awaitPromise=True, returnByValue=True)
        ok(found['result'].get('value') == '', f'{theme}: axe-core finds no fault', found)
print(f'1..{count}')

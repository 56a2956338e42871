"""nsysrep_loop.py TRACE DATABASE: a Chrome trace that was made of a report, and one that a converter for nsys's databases makes of the
database that was made of it: the same calls, kernels, copies, waits of libc and ranges, with the same names, times and places.

The converter is ours: it reads the columns that nCompass's reads, and joins as that does.
"""
import collections
import gzip
import json
import re
import sqlite3
import sys
from decimal import Decimal

trace = json.load((gzip.open if sys.argv[1].endswith('.gz') else open)(sys.argv[1], 'rt', encoding='utf-8'), parse_float=str)
start = Decimal(trace['otherData'].get('sessionStartNs', 0))
ns = lambda us: int(Decimal(us) * 1000)
ours = collections.Counter()
threads = {(e['pid'], e['tid']) for e in trace['traceEvents'] if e['ph'] in 'XB' and e['cat'] in ('cuda_runtime', 'osrt')}
for e in trace['traceEvents']:
    if e['ph'] not in 'XB':
        continue
    kind = {'cuda_runtime': 'call', 'cuda_driver': 'call', 'kernel': 'kernel', 'gpu_memcpy': 'copy', 'osrt': 'osrt', 'user_annotation': 'range'}.get(e['cat'])
    if kind and e['name'] != 'CUDA graph':
        ours[kind, e['name'] if kind != 'copy' else '', int(ns(e['ts']) - start), ns(e['dur']) if 'dur' in e else None] += 1

db = sqlite3.connect('file:%s?mode=ro' % sys.argv[2], uri=True)
strings = dict(db.execute('SELECT id, value FROM StringIds'))
plain = lambda name: re.sub(r'_v[0-9]{4,5}$', '', name)
theirs = collections.Counter()


def add(kind, table, columns, name, where=''):
    if not db.execute('SELECT 1 FROM sqlite_master WHERE name = ?', (table,)).fetchone():
        return
    for a, b, *rest in db.execute('SELECT start, end, %s FROM %s %s' % (columns, table, where)):
        theirs[kind, name(*rest), a, b - a if b is not None and (b > a or kind != 'osrt') else None] += 1


add('call', 'CUPTI_ACTIVITY_KIND_RUNTIME', 'nameId', lambda n: plain(strings[n]))
add('kernel', 'CUPTI_ACTIVITY_KIND_KERNEL', 'shortName', lambda n: strings[n])
add('copy', 'CUPTI_ACTIVITY_KIND_MEMCPY', '1', lambda n: '')
# Notes of nsys among the calls have other classes.
add('osrt', 'OSRT_API', 'nameId', lambda n: strings[n], 'WHERE eventClass = 27')
add('range', 'NVTX_EVENTS', 'text, textId', lambda text, n: text if text is not None else strings[n], 'WHERE eventType = 59')
missing, more = theirs - ours, ours - theirs
print(sum(theirs.values()), 'events,', len({k[0] for k in theirs}), 'kinds; missing', sum(missing.values()), 'more', sum(more.values()))
for what, rows in (('missing', missing), ('more', more)):
    for row in list(rows)[:5]:
        print(what, row)
sys.exit(bool(missing or more or not theirs))

#!/usr/bin/env python3
"""table_truth.py FORMAT REPORT.sqlite OUTPUT [TABLE-REGEX] - the tables in OUTPUT against the database.

FORMAT: json, jsonlines, csv (OUTPUT is a folder). Exits with 1 and says so when a table or a row differs.
"""
import csv
import json
import os
import re
import sqlite3
import sys

form, report, output = sys.argv[1:4]
wanted = re.compile(sys.argv[4] if len(sys.argv) > 4 else '.*', re.IGNORECASE)
HIDDEN = {'jsonText', 'jsonTextId', 'binaryData'}  # without --include-json and --include-blobs


def text(b):
    """UTF-8 with U+FFFD for each byte that is none."""
    return b.decode('utf-8', 'replace')


db = sqlite3.connect(f'file:{report}?mode=ro', uri=True)
db.text_factory = text if form != 'csv' else lambda b: b.decode('latin-1')
want = {}
for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").fetchall():
    rows = db.execute(f'SELECT * FROM "{name}"')
    columns = [c[0] for c in rows.description]
    rows = [{c: None if c in HIDDEN else v for c, v in zip(columns, row)} for row in rows]
    if rows and wanted.fullmatch(name):
        want[name] = rows

got = {}
if form == 'json':
    got = json.load(open(output, encoding='utf-8'))
elif form == 'jsonlines':
    for line in open(output, encoding='utf-8'):
        row = json.loads(line)
        got.setdefault(row.pop('table'), []).append(row)
else:
    want = {t: [{c: '' if v is None else v if isinstance(v, str) else repr(v) for c, v in r.items()} for r in rows]
            for t, rows in want.items()}
    for file in os.listdir(output):
        with open(f'{output}/{file}', encoding='latin-1', newline='') as f:
            assert file.endswith('.csv'), file
            got[file[:-4]] = list(csv.DictReader(f))

infinite = {float('inf'): 'Infinity', float('-inf'): '-Infinity'}
if form != 'csv':
    for rows in want.values():
        for row in rows:
            row.update({c: infinite[v] for c, v in row.items() if isinstance(v, float) and v in infinite})
else:
    for rows in want.values():
        for row in rows:
            row.update({c: '' for c, v in row.items() if v in ('inf', '-inf')})
for name in sorted(want.keys() | got.keys()):
    a, b = want.get(name), got.get(name)
    if a != b:
        print(f'{name}: {a and len(a)} rows wanted, {b and len(b)} there')
        for x, y in zip(a or [], b or []):
            if x != y:
                print(f'  want {x}\n  got  {y}')
                break
        sys.exit(1)
print(len(want), 'tables')
sys.exit(not want)

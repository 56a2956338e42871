"""ranks_engines.py SIGHTLINE DATASET RUN BASE - every question by DuckDB and by plain SQLite: prints what differs.

SQLite has the rows of the dataset in plain tables, and three aggregates of its own: min_by, max_by and percentile_cont.
check-ranks compares Spark with the same.
"""
import csv
import io
import math
import os
import re
import sqlite3
import subprocess
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', '..')
ALL_ROWS = '1000000'


def tables():
    """{table: [(column, type)]} of tables.def."""
    found = {}
    with open(os.path.join(TOP, 'exporters/ranks/tables.def'), encoding='utf-8') as f:
        for line in f:
            m = re.match(r'(TABLE|COLUMN)\((\w+), "?(\w+)', line)
            if m and m.group(1) == 'TABLE':
                found[m.group(2)] = columns = []
            elif m:
                columns.append((m.group(2), 'INTEGER' if m.group(3) == 'INT' else 'TEXT'))
    return found


def run(*argv, **more):
    return subprocess.run(argv, check=True, text=True, stdout=subprocess.PIPE, **more).stdout


# ---- SQLite ----

class By:
    """The first value at the least (or largest) key."""
    is_max = False

    def __init__(self):
        self.best = None

    def step(self, value, key):
        if key is not None and (self.best is None or (key > self.best[1] if self.is_max else key < self.best[1])):
            self.best = value, key

    def finalize(self):
        return self.best and self.best[0]


class MaxBy(By):
    is_max = True


class Percentile:
    def __init__(self):
        self.part, self.values = 0, []

    def step(self, part, value):
        self.part = part
        if value is not None:
            self.values.append(value)

    def finalize(self):
        if not self.values:
            return None
        self.values.sort()
        at = self.part * (len(self.values) - 1)
        low = math.floor(at)
        high = min(low + 1, len(self.values) - 1)
        return self.values[low] + (self.values[high] - self.values[low]) * (at - low)


def plain(sql):
    """percentile_cont(P) WITHIN GROUP (ORDER BY X) -> percentile_cont(P, X): older SQLite knows no such groups."""
    while True:
        m = re.search(r'percentile_cont\(([\d.]+)\) WITHIN GROUP \(ORDER BY ', sql)
        if not m:
            return sql
        at, depth = m.end(), 1
        while depth:
            depth += {'(': 1, ')': -1}.get(sql[at], 0)
            at += 1
        sql = f'{sql[:m.start()]}percentile_cont({m.group(1)}, {sql[m.end():at - 1]}){sql[at:]}'


def open_sqlite():
    db = sqlite3.connect(':memory:')
    db.create_aggregate('min_by', 2, By)
    db.create_aggregate('max_by', 2, MaxBy)
    db.create_aggregate('percentile_cont', 2, Percentile)
    db.create_function('floor', 1, lambda x: x if x is None else math.floor(x))
    db.create_function('greatest', -1, lambda *x: max((v for v in x if v is not None), default=None))
    db.create_function('least', -1, lambda *x: min((v for v in x if v is not None), default=None))
    return db


def load(folder):
    """The dataset in a database, as DuckDB reads the files."""
    db = open_sqlite()
    for table, columns in tables().items():
        names = ['run', 'node'] + [c for c, _ in columns]
        quoted = ', '.join(f'"{n}"' for n in names)
        if not os.path.isdir(f'{folder}/{table}'):
            db.execute(f'CREATE TABLE {table} (run, node, {", ".join(f"{chr(34)}{n}{chr(34)}" for n, _ in columns)})')
            continue
        # Files that older versions wrote lack columns.
        lacks = ' UNION ALL BY NAME SELECT ' + ', '.join(f'NULL::{"BIGINT" if t == "INTEGER" else "VARCHAR"} AS "{n}"' for n, t in columns) + ' WHERE false'
        text = run('duckdb', '-init', '/dev/null', '-bail', '-csv', '-nullvalue', '\\N', '-c',
                   f"SELECT {quoted} FROM (SELECT * FROM read_parquet('{folder}/{table}/*/*/*.parquet', hive_partitioning = true, hive_types_autocast = false, union_by_name = true){lacks})")
        types = ['TEXT', 'TEXT'] + [t for _, t in columns]
        db.execute(f'CREATE TABLE {table} ({", ".join(f"{chr(34)}{n}{chr(34)} {t}" for n, t in zip(names, types))})')
        rows = list(csv.reader(io.StringIO(text)))[1:]
        db.executemany(f'INSERT INTO {table} VALUES ({", ".join("?" * len(names))})', [[None if v == '\\N' else v for v in row] for row in rows])
    return db


# ---- questions ----

def questions(bin_):
    return [line.split()[0] for line in run(bin_, 'ranks', 'ask', '--list').splitlines() if line.strip()]


def script(bin_, question, folder, run_, base, engine='print'):
    return run(bin_, 'ranks', 'ask', question, '-d', folder, '--run', run_, '--base', base, '--top', ALL_ROWS, '--engine', engine)


def statement(text):
    """Without the definitions of views, and without the settings."""
    return '\n'.join(line for line in text.splitlines() if not re.match(r'(CREATE|SET) ', line)).strip().rstrip(';')


def by_sqlite(db, text):
    found = db.execute(plain(statement(text)))
    return [c[0] for c in found.description], [list(row) for row in found.fetchall()]


def value(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return None if text == '\\N' else text


def by_duckdb(text):
    rows = list(csv.reader(io.StringIO(run('duckdb', '-init', '/dev/null', '-bail', '-csv', '-nullvalue', '\\N', input=text))))
    return rows[0] if rows else [], [[value(v) for v in row] for row in rows[1:]]


def same(a, b):
    if a is None or b is None:
        return a is b
    if isinstance(a, str) or isinstance(b, str):
        return str(a) == str(b)
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)


def differs(a, b):
    """What the first difference of two answers is; None: they are equal, row by row."""
    if a[0] != b[0]:
        return f'columns {a[0]} and {b[0]}'
    if len(a[1]) != len(b[1]):
        return f'{len(a[1])} and {len(b[1])} rows'
    for n, (x, y) in enumerate(zip(a[1], b[1])):
        if len(x) != len(y) or not all(map(same, x, y)):
            return f'row {n + 1}: {x} and {y}'
    return None


def main():
    bin_, folder, run_, base = sys.argv[1:5]
    db = load(folder)
    for question in questions(bin_):
        text = script(bin_, question, folder, run_, base)
        want, got = by_sqlite(db, text), by_duckdb(text)
        bad = differs(want, got)
        if bad:
            print(f'{question}: SQLite and DuckDB: {bad}')
        if not got[1] and question not in ('mismatch',):
            print(f'{question}: no rows')


if __name__ == '__main__':
    main()

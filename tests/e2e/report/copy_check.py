"""copy_check.py ORIGINAL COPY [MODE]: is the copy what it should be? Prints what is not; silent when all is well.

same     every row of every table that has rows, in the same order (but for notes of the copy itself)
damaged  every row is one of the original, none twice; prints "TABLE kept lost" for tables that lost some
shift N  as same, but times are N later
"""
import collections
import sqlite3
import sys

TIMES = {'start', 'end', 'timestamp', 'startedAt', 'endedAt', 'wakeupTime'}
NONE_IS_0 = {'openedAt', 'closedAt'}


def open_db(path):
    db = sqlite3.connect(f'file:{path}?mode=ro&immutable=1', uri=True)
    db.text_factory = bytes
    return db


def shifted(table, columns, row, by):
    out = list(row)
    for i, c in enumerate(columns):
        if out[i] is None or table.startswith(('TARGET_INFO_', 'META_', 'ENUM_', 'ANALYSIS_', 'SL_CLOCK')):
            continue
        if c in TIMES or (c in NONE_IS_0 and out[i] != 0):
            out[i] += by
    if table == 'TARGET_INFO_SESSION_START_TIME':
        for c in ('utcEpochNs', 'systemClockNs'):
            if c in columns and out[columns.index(c)] is not None:
                out[columns.index(c)] -= by
    return tuple(out)


def main():
    a, b = open_db(sys.argv[1]), open_db(sys.argv[2])
    mode = sys.argv[3] if len(sys.argv) > 3 else 'same'
    by = int(sys.argv[4]) if mode == 'shift' else 0
    tables = [t.decode() for t, in a.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")]
    for t in tables:
        cursor = a.execute(f'SELECT * FROM "{t}"')
        columns = [d[0] for d in cursor.description]
        want = [shifted(t, columns, r, by) for r in cursor]
        try:
            got = b.execute(f'SELECT * FROM "{t}"').fetchall()
        except sqlite3.OperationalError:
            got = []
        if t == 'META_DATA_EXPORT':
            notes = (b'SL_COPY_', b'EXPORT_PARAM_TIME') if by else (b'SL_COPY_',)
            got = [r for r in got if not r[0].startswith(notes)]
            want = [r for r in want if not r[0].startswith(notes)]
        if mode == 'damaged':
            extra = collections.Counter(got) - collections.Counter(want)
            if extra:
                print(f'{t}: {sum(extra.values())} rows that were not there')
            if len(got) < len(want):
                print(t, len(got), len(want) - len(got))
        elif got != want:
            print(f'{t}: {len(got)} rows, should be {len(want)}: ' + repr([r for r in want if r not in set(got)][:1]))
    if b.execute('PRAGMA integrity_check').fetchone()[0] != b'ok':
        print('not intact')


main()

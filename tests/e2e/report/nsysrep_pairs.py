"""nsysrep_pairs.py SIGHTLINE REPORT DATABASE - does `export -t sqlite` write the rows that nsys wrote to DATABASE?

Tables of both, columns of both, in order. In the pairs, texts that identify people were replaced, on each side by another text of as
many bytes: of such values the length counts. Where that broke a message of the report, settings of one process are missing.
"""
import collections
import os
import sqlite3
import subprocess
import sys

sightline, report, theirs = sys.argv[1:]
ours = os.path.join(os.path.dirname(report), "made.sqlite")
subprocess.run([sightline, "export", "-q", "-t", "sqlite", "-f", "true", "-o", ours, report], check=True, stderr=subprocess.DEVNULL)
OLDER = "2021_kernels" in report  # a schema without versions: tables are compared by the columns that both have
BROKEN = "2024.6.2" in report
REPLACED = ("ENVIRONMENT_VARIABLE", "WORKING_DIR", "ARGUMENT_", "COMMAND", "DeviceEnvironment", "PluginsInfo")


def read(path):
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    db.text_factory = lambda b: b.decode("utf8", "replace")
    return db


def rows(db, table, columns):
    names = ", ".join(f'"{c}"' for c in columns)
    out = db.execute(f'SELECT {names} FROM "{table}" ORDER BY rowid').fetchall()
    if table in ("META_DATA_CAPTURE", "TARGET_INFO_SYSTEM_ENV"):
        out = [r[:-1] + (len(r[-1]),) if any(w in str(r[:-1]) for w in REPLACED) else r for r in out]
    return out


def shape(db, table):
    return [tuple(c[1:4]) + (c[5],) for c in db.execute(f'PRAGMA table_info("{table}")')]


a, b = read(theirs), read(ours)
if b.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
    sys.exit("the database is not sound")
tables = [[r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid")] for db in (a, b)]
bad, count, equal = [], 0, 0
missing = [t for t in tables[0] if t not in tables[1] and not t.startswith("ENUM_") and t != "TARGET_INFO_CUDA_GPU"]
more = [] if OLDER else [t for t in tables[1] if t not in tables[0]]
if missing or more:
    bad.append(f"tables missing: {missing}, more: {more}")
for table in tables[0]:
    if table not in tables[1] or table == "META_DATA_EXPORT":
        continue
    if not OLDER and shape(a, table) != shape(b, table):
        bad.append(f"{table}: columns {shape(b, table)}, not {shape(a, table)}")
    both = [c[0] for c in shape(a, table) if c[0] in [d[0] for d in shape(b, table)]]
    want, got = rows(a, table, both), rows(b, table, both)
    if BROKEN and table == "META_DATA_CAPTURE":
        want = [r for r in want if not r[0].startswith("PROCESS_0:") or r in got]
    count += len(want)
    equal += sum((collections.Counter(want) & collections.Counter(got)).values())
    if want != got:
        lost, extra = collections.Counter(want) - collections.Counter(got), collections.Counter(got) - collections.Counter(want)
        bad.append(f"{table}: {len(want)} rows, {len(got)} got; missing {list(lost)[:2]}, more {list(extra)[:2]}"
                   + ("" if lost or extra else ", in another order"))
print(f"{equal} of {count} rows")
for line in bad:
    print(line)
sys.exit(1 if bad else 0)

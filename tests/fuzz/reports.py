#!/usr/bin/env python3
"""reports.py [-s SECONDS] [-n RUNS] [--seed N] BUILD - spoiled reports into every command that reads reports.

Reports of tests/golden are changed: bytes of the file, values, types, names of columns, tables that become views. No command may
end by a signal, run longer than LIMIT, or let a sanitizer (BUILD is built with them) print anything. What does so stays in
BUILD/crashes, with the command beside it. Status 1 when anything did.
"""
import argparse
import glob
import os
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

LIMIT = 120  # seconds, of a sanitizer's build and a machine that others use
BAD = (b"AddressSanitizer", b"runtime error:", b"LeakSanitizer", b"DEADLYSIGNAL")

COMMANDS = (
    ["stats", "-q"],
    ["stats", "-q", "-f", "json", "--percentiles", "50,99"],
    ["stats", "-q", "--filter-time", "100us-1ms,1.2ms/", "-f", "table"],
    ["analyze"],
    ["analyze", "-f", "json"],
    ["info"],
    ["info", "-f", "json"],
    ["top", "--once"],
    ["top", "--once", "--format", "json"],
    ["compare", "OTHER"],
    ["report", "-f", "true", "-o", "page.html"],
    *(["export", "-f", "true", "-t", kind, "-o", "out." + kind]
      for kind in ("chrome", "perfetto", "folded", "speedscope", "pprof", "csv", "json", "jsonlines", "text", "parquetdir")),
    ["export", "-f", "true", "--time", "100us-1ms", "--anonymize", "true", "-o", "slice.sqlite"],
    ["recover"],
)
VALUES = (None, 0, -1, 1, 2**31, 2**32, 2**53, 2**62, 2**63 - 1, -2**63, 1.5, -0.0, 1e300, float("inf"), "", "x", "-1", "1e999", "\x1b[31m",
          "A" * 70000, "a/../../b", b"", b"\xff\xfe", b"\x00" * 100, "{\"a\":", "%s%n", "ä\u202e<b>")


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def make_seeds(folder):
    seeds = []
    base = text_of("tests/golden/corpus/base.sql")
    for path in sorted(glob.glob("tests/golden/*/*.sql")) + ["collector/schema.sql"]:
        # Each stands on one of these; of the rest the first that fits.
        for before in ("", base, text_of("collector/schema.sql"), base + text_of("tests/golden/corpus/3.28.1.sql")):
            to = os.path.join(folder, f"seed{len(seeds)}.sqlite")
            run = subprocess.run(["sqlite3", "-bail", to], input=before + text_of(path), text=True, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, check=False)
            if run.returncode == 0 and os.path.exists(to) and os.path.getsize(to):
                seeds.append(to)
                break
            if os.path.exists(to):
                os.unlink(to)
    return seeds


def spoil_bytes(rand, path):
    data = bytearray(open(path, "rb").read())
    for _ in range(rand.choice((1, 1, 2, 5, 30))):
        at = rand.randrange(100 if rand.random() < 0.2 else len(data))
        data[at] = rand.randrange(256)
    if rand.random() < 0.1:
        del data[rand.randrange(len(data)):]
    open(path, "wb").write(data)


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def spoil_tables(rand, path):
    db = sqlite3.connect(path, isolation_level=None)
    tables = [t for (t,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")]
    filled = [t for t in tables if db.execute(f"SELECT 1 FROM {quoted(t)} LIMIT 1").fetchone()]
    for _ in range(rand.choice((1, 2, 4, 12))):
        table = quoted(rand.choice(filled or tables))
        columns = [c[1] for c in db.execute(f"PRAGMA table_info({table})")]
        column = quoted(rand.choice(columns)) if columns else "x"
        value = rand.choice(VALUES) if rand.random() < 0.8 else rand.randrange(-2**63, 2**63)
        where = rand.choice(("", " WHERE rowid % 2", " WHERE rowid = 1", f" WHERE rowid > {rand.randrange(5)}"))
        try:
            kind = rand.randrange(10)
            if kind < 6:
                db.execute(f"UPDATE OR IGNORE {table} SET {column} = ?{where}", (value,))
            elif kind == 6:
                db.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
            elif kind == 7:
                db.execute(f"ALTER TABLE {table} RENAME COLUMN {column} TO {quoted(rand.choice(('x', 'start', 'end', 'id', 'value')))}")
            elif kind == 8:
                db.execute(f"INSERT OR IGNORE INTO {table} SELECT * FROM {table}")
            else:
                db.execute(f"ALTER TABLE {table} RENAME TO old_of_it")
                db.execute(f"CREATE VIEW {table} AS SELECT *, 1 AS more FROM old_of_it ORDER BY 1 DESC")
        except (sqlite3.Error, OverflowError):
            pass
    db.close()


def limits():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))


def main():
    parse = argparse.ArgumentParser()
    parse.add_argument("-s", type=float, default=60)
    parse.add_argument("-n", type=int, default=1 << 60)
    parse.add_argument("--seed", type=int, default=int(time.time()))
    parse.add_argument("build")
    args = parse.parse_args()
    binary, kept = os.path.abspath(args.build) + "/sightline", os.path.abspath(args.build) + "/crashes"
    os.makedirs(kept, exist_ok=True)
    found = runs = 0
    with tempfile.TemporaryDirectory(prefix="sightline-reports-") as folder:
        seeds = make_seeds(folder)
        end = time.monotonic() + args.s
        while time.monotonic() < end and runs < args.n:
            rand = random.Random(args.seed * 1000003 + runs)
            name = os.path.join(folder, "spoiled.sqlite")
            for extra in ("", "-wal", "-shm", "-journal"):
                if os.path.exists(name + extra):
                    os.unlink(name + extra)
            seed = rand.choice(seeds)
            shutil.copy(seed, name)
            if rand.random() < 0.7:
                spoil_tables(rand, name)
            else:
                spoil_bytes(rand, name)
            shutil.copy(name, name + ".before")
            words = [seed if w == "OTHER" else w for w in rand.choice(COMMANDS)]
            runs += 1
            try:
                run = subprocess.run([binary, *words, name], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.PIPE, timeout=LIMIT, check=False, preexec_fn=limits)
                ended, said = run.returncode, run.stderr
            except subprocess.TimeoutExpired as late:
                ended, said = "timeout", late.stderr or b""
            if ended in (0, 1, 2, 3) and not any(mark in said for mark in BAD):
                continue
            found += 1
            to = os.path.join(kept, f"reports-{args.seed}-{runs}.sqlite")
            shutil.copy(name + ".before", to)
            open(to + ".txt", "wb").write(" ".join(words).encode() + b"\n" + said)
            lines = [line for line in said.decode(errors="replace").splitlines() if "error" in line.lower() or "SUMMARY" in line]
            print(f"fuzz: reports: {' '.join(words)} {to}: {ended}: {' | '.join(lines[:3])[:400]}", flush=True)
    print(f"fuzz: reports: {runs} runs of {len(seeds)} reports, {found} found")
    sys.exit(found > 0)


main()

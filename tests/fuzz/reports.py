#!/usr/bin/env python3
"""reports.py [-s SECONDS] [-n RUNS] [--seed N] [--first N] BUILD - spoiled reports into every command that reads reports.

Reports of tests/golden are changed: bytes of the file, values, types, names of tables and columns, sizes, and the schema: tables that
become views, without an end or of much text, triggers, generated columns, checks, texts with statements behind them that write other
files. No command may end by a signal, run longer than LIMIT, take more memory than MOST, change the spoiled report or another file,
make a file that is not its output, or let a sanitizer (BUILD is built with them, or not) print anything. What does so stays in
BUILD/crashes, with the command beside it. Status 1 when anything did.
"""
import argparse
import glob
import http.client
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time

LIMIT = 60  # seconds of CPU time: others use the machine
WAIT = 600  # seconds in all: for what waits
MOST = 512  # MiB
SANITIZER = 3  # times as much of both
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
    ["why"],
    ["why", "-f", "json"],
    ["why", "--step"],
    ["why", "--gpu", "0"],
    ["ncu"],
    ["ncu", "--list", "true"],
    ["sql", "REPORT", "SELECT * FROM sl_projection; SELECT value AS name, n, total, median FROM sl_stats_rows((SELECT sl_stats(nameId, end - start) "
     "FROM OSRT_API)) JOIN StringIds ON id = key"],
    ["sql", "REPORT", "SELECT name, sql FROM sqlite_master"],
    ["view"],
    ["view"],
    ["view"],
    ["ranks", "add", "-d", "dataset", "--run", "r", "REPORT=0"],
    ["ranks", "fetch", "-d", "ready", "-f", "true", "-o", "out.sqlite", "REPORT=0"],
    ["compare", "OTHER"],
    ["report", "-f", "true", "-o", "page.html"],
    *(["export", "-f", "true", "-t", kind, "-o", "out." + kind]
      for kind in ("chrome", "perfetto", "folded", "speedscope", "pprof", "csv", "json", "jsonlines", "text", "parquetdir")),
    ["export", "-f", "true", "--time", "100us-1ms", "--anonymize", "true", "-o", "out.sqlite"],
    ["export", "-f", "true", "-t", "sqlite", "-o", "out.sqlite"],
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


def behind(folder, rand):
    """Statements that change what a report has no business with."""
    target = os.path.join(folder, "outside", rand.choice(("made", "kept")))
    return rand.choice((f"; COMMIT; ATTACH '{target}' AS z; CREATE TABLE z.k(v); INSERT INTO z.k VALUES(1); BEGIN",
                        f"; ATTACH '{target}' AS z; CREATE TABLE z.k(v)", f"; VACUUM INTO '{target}'",
                        "; PRAGMA writable_schema = ON; DELETE FROM sqlite_master", "; DROP TABLE StringIds", "; SELECT load_extension('./x')"))


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"


def expression(folder, rand):
    target = os.path.join(folder, "outside", "made")
    return rand.choice(("zeroblob(1 << 30)", "randomblob(900000000)", "hex(zeroblob(400000000))", "printf('%*d', 2000000000, 1)", f"writefile('{target}', 'x')",
                        "load_extension('./x')", f"edit('{target}')", "instr(zeroblob(15000000), randomblob(7000000))", "abs(-9223372036854775808)",
                        "json('[' || replace(hex(zeroblob(50000)), '0', '['))", "sl_stats(1, 2)", "x",
                        "replace(hex(zeroblob(30000)), '0', hex(zeroblob(30000)))", "group_concat(1)", "unknown(1)", "'%s%n'"))


def schema_statements(folder, rand, table, columns):
    """New objects, and what takes the place of a table."""
    value, names = expression(folder, rand), ", ".join(quoted(c) for c in columns) or "1"
    kind = rand.choice((0, 2, 3, 4, 5, 6, 7, 8)) if rand.random() < 0.98 else 1  # an endless view takes all of a command's time
    if kind == 0:
        column = rand.choice(columns) if columns else "x"
        rest = ", ".join(f"{value} AS {quoted(c)}" if c == column else quoted(c) for c in columns) or value
        return [f"ALTER TABLE {table} RENAME TO old_of_it", f"CREATE VIEW {table} AS SELECT {rest} FROM old_of_it"]
    if kind == 1:
        return [f"ALTER TABLE {table} RENAME TO old_of_it", f"CREATE VIEW {table} AS {ENDLESS} SELECT {names} FROM n, old_of_it"]
    if kind == 2:
        return [f"CREATE TRIGGER evil AFTER {rand.choice(('INSERT', 'UPDATE', 'DELETE'))} ON {table} BEGIN DELETE FROM {table}; SELECT {value}; END"]
    if kind == 3:
        return [f"ALTER TABLE {table} ADD COLUMN evil GENERATED ALWAYS AS ({value}) VIRTUAL"]
    if kind == 4:
        name = rand.choice(("../../outside/made", "a/b", "-rf", "\x1b[31m", "x' || '", 'y"z', "sqlite", "A" * 5000, "\u202e<script>", "CON", "a\nb", "..", "%s"))
        return [f"CREATE TABLE {quoted(name)} (a, {quoted(name)} INTEGER, start, end)", f"INSERT INTO {quoted(name)} VALUES(1, 2, 3, 4)"]
    if kind == 5:
        return [f"CREATE TABLE many ({', '.join(f'c{i}' for i in range(rand.choice((10, 300, 1999))))})", "INSERT INTO many DEFAULT VALUES"]
    if kind == 6:
        return [f"CREATE VIEW v0 AS SELECT {names} FROM {table}"] + [f"CREATE VIEW v{i} AS SELECT * FROM v{i - 1}, v{i - 1} AS b" for i in range(1, 12)]
    if kind == 7:
        return [f"CREATE TABLE evil (a DEFAULT ({value}), b CHECK (b IS NULL OR {value}))", "INSERT INTO evil VALUES(1, NULL)",
                "CREATE INDEX evil_at ON evil(a) WHERE a > 0"]
    return [f"CREATE VIRTUAL TABLE evil USING {rand.choice(('fts5(a)', 'rtree(i, a, b)', 'dbstat', 'sl_projection', 'fts3(a)'))}"]


def spoil_schema(rand, path, folder):
    db = sqlite3.connect(path, isolation_level=None)
    tables = [t for (t,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")]
    for _ in range(rand.choice((1, 1, 2, 4))):
        table = rand.choice(tables)
        try:
            columns = [c[1] for c in db.execute(f"PRAGMA table_info({quoted(table)})")]
            for statement in schema_statements(folder, rand, quoted(table), columns):
                db.execute(statement)
        except sqlite3.Error:
            pass
    if rand.random() < 0.5:
        text = behind(folder, rand) if rand.random() < 0.7 else rand.choice((" ", ";", ")", "\x01", " AS SELECT 1", "/*", "A" * 100000))
        try:
            name = rand.choice([n for (n,) in db.execute("SELECT name FROM sqlite_master WHERE sql IS NOT NULL")])
            db.execute("PRAGMA writable_schema = ON")
            db.execute("UPDATE sqlite_master SET sql = sql || ? WHERE name = ?", (text, name))
        except sqlite3.Error:
            pass
    db.close()


def spoil(rand, path, folder):
    how = rand.random()
    if how < 0.4:
        spoil_tables(rand, path)
    elif how < 0.8:
        spoil_schema(rand, path, folder)
    else:
        spoil_bytes(rand, path)


# ---- what a command may do ----
def state_of(folder):
    """Files besides outputs: content of small ones, else size."""
    state = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            short = os.path.relpath(path, folder)
            if short.split("/")[0].split(".")[0] in ("out", "dataset", "page", "cache"):
                continue
            at = os.lstat(path)
            content = open(path, "rb").read() if at.st_size < 1 << 20 and os.path.isfile(path) else at.st_mtime_ns
            state[short] = (at.st_mode, at.st_size, content)
    return state


def ask(port, token, path, body=None):
    """False: no answer in time."""
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT)
    try:
        link.request("POST" if body is not None else "GET", path, body, {"Authorization": "Bearer " + token})
        return link.getresponse().read()
    except TimeoutError:
        return False
    except (OSError, http.client.HTTPException):
        return b""
    finally:
        link.close()


def look(process, rand, errors):
    """Asks a server of `view` all its messages. Whether it answered in time."""
    line = process.stdout.readline().decode()
    if not line.startswith("http://127.0.0.1:"):
        return True
    port, token = int(line.split(":")[2].split("/")[0]), line.strip().split("#t=")[1]
    end = time.monotonic() + WAIT
    report = b""
    while time.monotonic() < end:
        live = ask(port, token, "/v1/live?r=0&gen=-1")
        if live is False:
            return False
        report = ask(port, token, "/v1/report?r=0")
        if report is False or not report.startswith(b"{") or b'"building"' not in live:
            break
        time.sleep(0.05)
    numbers = [rand.choice((0, 1, 2, 7, 100, 2**31, 2**62, -1)) for _ in range(8)]
    tiles = b"".join(struct.pack("<IIq", lane, level, at) for lane in range(6) for level, at in ((0, 0), (20, 0), (40, 0), (63, 1)))
    messages = [("/v1/schema", None), ("/v1/tiles?most=%d" % 2**62, tiles), ("/v1/counters", tiles),
                *(("/v1/event?lane=%d&t=%d" % (lane, numbers[0]), None) for lane in range(6)),
                ("/v1/flow?table=OSRT_API&rowid=%d" % numbers[1], None), ("/v1/flow?table=CUPTI_ACTIVITY_KIND_KERNEL&rowid=1", None),
                ("/v1/search?all=1&t=0&q=a", None), ("/v1/search?t=%d&q=%%25" % numbers[2], None), ("/v1/why?lane=0&t=%d" % numbers[3], None),
                *(("/v1/select", json.dumps({"from": 0, "to": 2**62, "lanes": [0, 1, 2], "table": kind}).encode()) for kind in ("names", "flame", "states")),
                ("/v1/sql", b"SELECT count(*) FROM StringIds"), ("/v1/sql", b"SELECT * FROM sqlite_master"),
                ("/v1/save", json.dumps({"from": 0, "to": 1000, "type": "csv"}).encode())]
    rand.shuffle(messages)
    for path, body in messages[:8]:
        if ask(port, token, path, body) is False:
            errors.append("no answer to " + path)
            return False
    return True


def command(binary, words, folder, said, is_view, rand, times):
    """Status, or what was wrong; peak memory in MiB."""
    environment = {**os.environ, "HOME": folder + "/cache", "XDG_CACHE_HOME": folder + "/cache", "TMPDIR": folder + "/cache/tmp",
                   "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=16:allocator_may_return_null=1"}
    process = subprocess.Popen([binary, *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE if is_view else subprocess.DEVNULL,
                               stderr=said, preexec_fn=lambda: limits(times), env=environment)
    late, errors = False, []
    if is_view:
        late = not look(process, rand, errors)
        os.kill(process.pid, signal.SIGTERM)
    end = time.monotonic() + WAIT
    while True:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        if time.monotonic() > end:
            os.kill(process.pid, signal.SIGKILL)
            late = True
            end = float("inf")
        time.sleep(0.005)
    process.returncode = os.waitstatus_to_exitcode(status)
    if is_view:
        process.stdout.close()
    return " ".join(["timeout", *errors]) if late else process.returncode, used.ru_maxrss // 1024


def limits(times):
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT * times, LIMIT * times + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))


def ready_dataset(binary, seeds, folder):
    for seed in seeds:
        run = subprocess.run([binary, "ranks", "add", "-q", "-d", "ready", "--run", "r", seed + "=0"], cwd=folder, capture_output=True, check=False)
        if run.returncode == 0:
            return


def one(binary, seeds, folder, number, rand, times):
    """What was wrong with one command and one report; None: nothing."""
    name = os.path.join(folder, "spoiled.sqlite")
    for extra in ("", "-wal", "-shm", "-journal", ".view"):
        if os.path.exists(name + extra):
            os.unlink(name + extra)
    for path in ("outside", "cache", "dataset"):
        shutil.rmtree(os.path.join(folder, path), ignore_errors=True)
    os.makedirs(folder + "/outside")
    os.makedirs(folder + "/cache/tmp")
    sqlite3.connect(folder + "/outside/kept").execute("CREATE TABLE kept(a)").connection.close()
    seed = rand.choice(seeds)
    shutil.copy(seed, name)
    spoil(rand, name, folder)
    shutil.copy(name, name + ".before")
    words = rand.choice(COMMANDS)
    is_view = words[0] == "view"
    has_place = any("REPORT" in w for w in words)
    words = [seed if w == "OTHER" else w.replace("REPORT", name) for w in words] + (["--no-open"] if is_view else []) + ([] if has_place else [name])
    before = state_of(folder)
    with tempfile.TemporaryFile() as said:
        ended, memory = command(binary, words, folder, said, is_view, rand, times)
        said.seek(0)
        text = said.read()
    after = state_of(folder)
    # recover may finish it; the index of view and what SQLite keeps beside a report in its journal's mode are no content.
    mine = {"spoiled.sqlite" + extra for extra in ("-wal", "-shm", ".view", ".view-wal", ".view-shm") + (("",) if words[0] == "recover" else ())}
    changed = sorted(n for n in before.keys() | after.keys() if before.get(n) != after.get(n) and n not in mine)
    wrong = [f"changed {' '.join(changed)}"] if changed else []
    if ended not in (0, 1, 2, 3):
        wrong.append(f"status {ended}")
    if memory > MOST * times:
        wrong.append(f"{memory} MiB")
    if any(mark in text for mark in BAD):
        wrong.append(" | ".join(line for line in text.decode(errors="replace").splitlines() if "error" in line.lower() or "SUMMARY" in line)[:400])
    return (f"{number}: {' '.join(words[:4])}: {'; '.join(wrong)}", name + ".before", words, text) if wrong else None


def main():
    parse = argparse.ArgumentParser()
    parse.add_argument("-s", type=float, default=60)
    parse.add_argument("-n", type=int, default=1 << 60)
    parse.add_argument("--first", type=int, default=0, help="number of the first run, to repeat one")
    parse.add_argument("--seed", type=int, default=int(time.time()))
    parse.add_argument("build")
    args = parse.parse_args()
    binary, kept = os.path.abspath(args.build) + "/sightline", os.path.abspath(args.build) + "/crashes"
    os.makedirs(kept, exist_ok=True)
    times = SANITIZER if b"__asan_init" in open(binary, "rb").read() else 1
    found = runs = 0
    with tempfile.TemporaryDirectory(prefix="sightline-reports-") as top:
        folder = os.path.join(top, "at")
        os.makedirs(folder)
        seeds = make_seeds(top)
        ready_dataset(binary, seeds, folder)
        end = time.monotonic() + args.s
        while time.monotonic() < end and runs < args.n:
            number = args.first + runs
            runs += 1
            wrong = one(binary, seeds, folder, number, random.Random(args.seed * 1000003 + number), times)
            if runs % 100 == 0:
                print(f"fuzz: reports: {runs} runs, {found} found", flush=True)
            if not wrong:
                continue
            found += 1
            to = os.path.join(kept, f"reports-{args.seed}-{number}.sqlite")
            shutil.copy(wrong[1], to)
            open(to + ".txt", "wb").write(" ".join(wrong[2]).encode() + b"\n" + wrong[3])
            print(f"fuzz: reports: {wrong[0]}", flush=True)
    print(f"fuzz: reports: seed {args.seed}, {runs} runs of {len(seeds)} reports, {found} found")
    sys.exit(found > 0)


main()

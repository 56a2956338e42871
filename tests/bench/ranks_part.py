"""ranks_part.py - `sightline ranks`: what a report costs that becomes part of a dataset, and a question over a thousand ranks.

The report is that of a node with four ranks; a thousand ranks are those of tests/ranks/many_rows.py. DuckDB's CPU time, of all its
threads. RANKS_STEPS=360 makes 36 M rows (300 MB), 3600 a whole hour.
"""
import os
import shutil
import sqlite3
import subprocess
import sys
from statistics import median

from export_part import events_of, report_of, scan

EVENTS = int(os.environ.get("RANKS_EVENTS", "10000000"))
STEPS = int(os.environ.get("RANKS_STEPS", "36"))
HERE = os.path.dirname(os.path.abspath(__file__))


def with_ranks(bench, path):
    """The same report, each process with a rank."""
    to = os.path.join(bench.tmp, "ranks.sqlite")
    shutil.copy(path, to)
    db = sqlite3.connect(to)
    db.executescript("""CREATE TABLE SL_RANK_VARIABLES(globalPid INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL);
        INSERT INTO SL_RANK_VARIABLES SELECT globalPid, 'RANK', row_number() OVER (ORDER BY globalPid) - 1 FROM PROCESSES;""")
    db.close()
    return to


def ask(bench, table):
    path = os.path.join(bench.build, "tests", "duckdb", "duckdb_cli") + ":" + os.environ["PATH"]
    duckdb, folder = shutil.which("duckdb", path=path), os.path.join(bench.tmp, "dataset")
    if not duckdb:
        return
    subprocess.run([sys.executable, os.path.join(HERE, "..", "ranks", "many_rows.py"), folder, "r", str(STEPS)], env=dict(os.environ, PATH=path), check=True)
    for question in "straggler", "waits":
        script = os.path.join(bench.tmp, "question.sql")
        with open(script, "wb") as f:
            subprocess.run([bench.sightline, "ranks", "ask", question, "-d", folder, "--engine", "print"], stdout=f, check=True)
        runs = [bench.command([duckdb, "-init", "/dev/null", "-bail", "-csv", "-f", script])[1] for _ in range(min(bench.rounds, 3))]
        table.add("ranks ask %s, %.1f M rows: CPU" % (question, STEPS / 10), median(u.cpu for u in runs), unit="s", bar="<= 5 s of 36 M")
        table.add("the same, memory", median(u.rss_kib for u in runs) / 1024, unit="MiB", bar="<= 4096 of 360 M")
    shutil.rmtree(folder)


def part_ranks(bench, table):
    path = with_ranks(bench, report_of(bench, EVENTS))
    rows = events_of(path) / 1e6
    ours, read = [], []
    for n in range(min(bench.rounds, 3)):
        to = os.path.join(bench.tmp, "ranks%d" % n)
        ours.append(bench.command([bench.sightline, "ranks", "add", "-d", to, "--run", "r", path])[1])
        read.append(bench.command(["sqlite3", "-readonly", path, scan(path)])[1])
        shutil.rmtree(to)
    table.add("ranks add, %.0f M rows: CPU per M rows" % rows, median(u.cpu for u in ours) / rows, median(u.cpu for u in read) / rows,
              "columns read, no more", "s", "<= 0.8 s")
    table.add("the same, memory", median(u.rss_kib for u in ours) / 1024, unit="MiB", bar="<= 100 MiB")
    os.remove(path)
    ask(bench, table)

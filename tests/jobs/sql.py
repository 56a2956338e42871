"""SQLite: sql.py KIND bad|good."""
import os
import sqlite3
import sys
import time

KIND, BAD = sys.argv[1], sys.argv[2] == "bad"
db = sqlite3.connect("jobs.db", timeout=10)
db.execute("CREATE TABLE IF NOT EXISTS t (id INTEGER, name TEXT)")


def fill(n):
    db.executemany("INSERT INTO t VALUES (?, ?)", ((i, "name %d" % i) for i in range(n)))
    db.commit()


def commit():
    """A transaction for each row: with a log that stays, what it costs is the sync, and no file that is made and removed."""
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=FULL")
    for i in range(40):
        db.execute("INSERT INTO t VALUES (?, 'x')", (i,))
        if BAD:
            db.commit()  # CULPRIT commit
    db.commit()
    return 40


def index():
    """Looks for rows without an index."""
    fill(20000)
    if not BAD:
        db.execute("CREATE INDEX t_id ON t(id)")
    n = 0
    for i in range(500):
        n += len(db.execute("SELECT name FROM t WHERE id = ?", (i,)).fetchall())  # CULPRIT index
    return n


def busy():
    """Another process keeps its transaction open while it does something else."""
    r, w = os.pipe()
    if not os.fork():
        own = sqlite3.connect("jobs.db")
        own.execute("BEGIN EXCLUSIVE")
        os.write(w, b"x")
        time.sleep(0.6 if BAD else 0.01)
        own.commit()
        os._exit(0)
    os.read(r, 1)
    db.execute("INSERT INTO t VALUES (1, 'x')")  # CULPRIT busy
    db.commit()
    os.wait()
    return 1


def opens():
    """A connection, and the reading of its schema, for each query."""
    db.execute("BEGIN")
    for i in range(250):
        db.execute("CREATE TABLE IF NOT EXISTS t%d (a, b, c)" % i)
    db.commit()
    own, n = sqlite3.connect("jobs.db"), 0
    for i in range(150):
        if BAD:
            own = sqlite3.connect("jobs.db")
        n += own.execute("SELECT count(*) FROM t").fetchone()[0]  # CULPRIT opens
    return n


def rows():
    """Takes all rows to count them."""
    fill(60000)
    n = 0
    for _ in range(12):
        if BAD:
            n = len(db.execute("SELECT * FROM t").fetchall())  # CULPRIT rows
        else:
            n = db.execute("SELECT count(*) FROM t").fetchone()[0]
    return n


def sort():
    """Sorts in the database for each page."""
    fill(30000)
    n = 0
    for page in range(60 if BAD else 1):
        n = len(db.execute("SELECT * FROM t ORDER BY substr(name, 3), name LIMIT 20 OFFSET ?", (20 * page,)).fetchall())  # CULPRIT sort
    return n


print({"commit": commit, "index": index, "busy": busy, "opens": opens, "rows": rows, "sort": sort}[KIND]())

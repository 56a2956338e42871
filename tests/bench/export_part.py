"""export_part.py - how fast a report is turned into a timeline, and in how much memory.

The reference reads every column of the same tables in SQLite, and does nothing with them: no exporter of a
database can be faster than that. Beside it stands the sqlite3 shell, which writes the rows as JSON.
"""
import os
import sqlite3
from statistics import median

EVENTS = int(os.environ.get("EVENTS", "1000000"))
MANY = int(os.environ.get("EVENTS_MANY", "20000000"))
TABLES = ("NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY",
          "CUPTI_ACTIVITY_KIND_MEMSET", "OSRT_API", "SCHED_EVENTS")


def report_of(bench, events, *order):
    path = os.path.join(bench.tmp, "big%d%s.sqlite" % (events, "".join(order)))
    if not os.path.exists(path):
        bench.command([bench.bin("bigreport"), path, str(events), *(("4",) + order if order else ())])
    return path


def scan(path):
    """SQL that reads every column of every row and gives one row per table."""
    db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    sql = []
    for table in TABLES:
        columns = [c[1] for c in db.execute('PRAGMA table_info("%s")' % table)]
        if columns:
            sql.append('SELECT %s FROM "%s"' % (", ".join('count("%s")' % c for c in columns), table))
    db.close()
    return ";".join(sql)


def events_of(path):
    db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    count = 0
    for table in TABLES:
        if db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone():
            count += db.execute('SELECT count(*) FROM "%s"' % table).fetchone()[0]
    db.close()
    return count


def part_export(bench, table):
    path = report_of(bench, EVENTS)
    count = events_of(path)
    export = [bench.sightline, "export", "-q", "-o", "-", "-t"]
    variants = {
        "scan": ["sqlite3", "-readonly", path, scan(path)],
        "shell": ["sqlite3", "-readonly", "-json", path, ";".join("SELECT * FROM %s" % t for t in TABLES)],
        "chrome": export + ["chrome", path],
        "perfetto": export + ["perfetto", path],
        "jsonlines": export + ["jsonlines", path],
        # work of several streams, recorded in the order in which it was asked for: half of the rows are late
        "perfetto, GPU work in order of launch": export + ["perfetto", report_of(bench, EVENTS, "launch")],
    }
    cpu = {name: [] for name in variants}
    for _ in range(bench.rounds):
        for name, argv in variants.items():
            cpu[name].append(bench.command(argv)[1].cpu)
    rate = {name: count / 1e6 / max(median(v), 0.01) for name, v in cpu.items()}
    for name, bar in (("chrome", ">= 1 M/s"), ("perfetto", ">= 2 M/s"), ("perfetto, GPU work in order of launch", None),
                      ("jsonlines", None)):
        table.add("export %s, events per second of CPU" % name, rate[name], rate["scan"], "columns read, no more", "M/s",
                  bar)
    table.add("the sqlite3 shell with -json, rows per second of CPU", rate["shell"], rate["scan"], "columns read, no more",
              "M/s")
    many = report_of(bench, MANY)
    for name in "chrome", "perfetto":
        few, lots = (bench.command(export + [name, p])[1].rss_kib / 1024 for p in (path, many))
        table.add("export %s, memory: %d M events over %d M" % (name, MANY // 1000000, EVENTS // 1000000), lots, few,
                  "with the fewer", "MiB", "<= 1.5")
    os.remove(many)

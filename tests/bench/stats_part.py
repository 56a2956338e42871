"""stats_part.py - how fast the default set of tables is made of ten million events, and in how much memory.

The reference is the sqlite3 shell with the same reports, which are plain SQL: what a report costs without what we
do to make it faster. "info" reads every event once. Reports of NVTX ranges are measured beside their own SQL: one
letter of the comment that marks it is another, so it runs as it stands.
"""
import os
import re
import shutil
import sqlite3
import subprocess
from statistics import median

from export_part import report_of, scan

EVENTS = int(os.environ.get("STATS_EVENTS", "10000000"))
TOP = os.path.join(os.path.dirname(__file__), "..", "..")
REPORTS = os.path.join(TOP, "exporters", "stats", "reports")
TABLES = subprocess.check_output(["sh", os.path.join(TOP, "scripts/schema-columns"), "sql",
                                  os.path.join(TOP, "collector/schema.sql")], text=True)
# Those of the default set that find something in what bigreport makes.
USED = ("nvtx_sum", "osrt_sum", "cuda_api_sum", "cuda_gpu_kern_sum", "cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum",
        "thread_cpu_sum")


def shell(path):
    """One call of the shell for all: views for what the report lacks, then each text."""
    argv = ["sqlite3", "-readonly", "-csv", path]
    for table in "SL_SCHED_DETAIL", "PROFILER_OVERHEAD":
        columns = re.search(r"^%s (.*)$" % table, TABLES, re.M).group(1).split(", ")
        argv.append("CREATE TEMP VIEW %s AS SELECT %s WHERE 0" % (table, ", ".join("NULL AS " + c for c in columns)))
    return argv + [".read '%s'" % os.path.join(REPORTS, name + ".sql") for name in USED]


# Calls into libraries around the launches of a report, one beside each, some within others; sizes of products.
LIBRARY_CALLS = """
CREATE TABLE CUBLAS_EVENTS(start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, nameId INTEGER,
	callId INTEGER, returnValue INTEGER, callchainId INTEGER);
CREATE TABLE CUDNN_EVENTS(start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, nameId INTEGER,
	callId INTEGER, returnValue INTEGER, callchainId INTEGER);
CREATE TABLE SL_GPU_ARGUMENTS(callId INTEGER, position INTEGER, role INTEGER, value INTEGER);
INSERT INTO StringIds VALUES(9000, 'cublasSgemm_v2'), (9001, 'cublasLtMatmul'), (9002, 'cudnnBackendExecute'),
	(9003, 'cublasSetStream_v2');
CREATE TEMP TABLE launch AS
SELECT rowid AS n, start, end, globalTid AS tid FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE nameId IN (1, 2);
INSERT INTO CUBLAS_EVENTS SELECT start - 300, end + 300, 29, tid, 9000 + n % 2, n, 0, NULL FROM launch WHERE n % 4;
INSERT INTO CUBLAS_EVENTS SELECT start - 500, start - 400, 29, tid, 9003, n + 10000000, 0, NULL FROM launch;
INSERT INTO CUBLAS_EVENTS SELECT start - 50, end + 50, 29, tid, 9000, n + 20000000, 0, NULL FROM launch WHERE n % 8 = 0;
INSERT INTO CUDNN_EVENTS SELECT start - 300, end + 300, 28, tid, 9002, n, 0, NULL FROM launch WHERE n % 4 = 0;
INSERT INTO SL_GPU_ARGUMENTS SELECT callId, role - 33, role, 64 << (callId * role % 5)
FROM CUBLAS_EVENTS, (SELECT 33 AS role UNION ALL SELECT 34 UNION ALL SELECT 35) WHERE nameId < 9002 ORDER BY 1, 2;
"""


def library_report(bench, path):
    with_calls = os.path.join(bench.tmp, "library.sqlite")
    if not os.path.exists(with_calls):
        shutil.copy(path, with_calls)
        db = sqlite3.connect(with_calls)
        db.executescript(LIBRARY_CALLS)
        db.close()
    return with_calls


def in_one_pass(bench, table):
    """Reports some of whose lines a table of ours stands in for, and the same SQL without it."""
    events = report_of(bench, 1000000)
    library = library_report(bench, events)
    for name, path, bar in (("nvtx_gpu_proj_sum", events, "<= 0.35"), ("nvtx_gpu_proj_trace", events, "<= 0.35"),
                            ("nvtx_kern_sum", events, "<= 0.35"), ("nvtx_pushpop_trace", events, "<= 0.45"),
                            ("gpu_library_sum", library, "<= 0.3")):
        plain = os.path.join(bench.tmp, name + ".sql")
        with open(os.path.join(REPORTS, name + ".sql")) as text, open(plain, "w") as out:
            out.write(re.sub(r"(?m)^-- \[([a-z-]+)\]", r"-- (\1)", text.read()))
        ours, sql = [], []
        for _ in range(min(bench.rounds, 3)):
            ours.append(bench.command([bench.sightline, "stats", "-q", "-f", "csv", "-r", name, path])[1])
            sql.append(bench.command([bench.sightline, "stats", "-q", "-f", "csv", "-r", plain, path])[1])
        table.add("stats -r %s, CPU time, 1 M events" % name, median(u.cpu for u in ours), median(u.cpu for u in sql),
                  "its SQL as it stands", "s", bar)
        table.add("stats -r %s, memory" % name, median(u.rss_kib for u in ours) / 1024,
                  median(u.rss_kib for u in sql) / 1024, "its SQL as it stands", "MiB")


def part_stats(bench, table):
    path = report_of(bench, EVENTS)
    ours, info, texts, rules, read, why = [], [], [], [], [], []
    for _ in range(min(bench.rounds, 3)):
        ours.append(bench.command([bench.sightline, "stats", "-q", "-f", "csv", path]))
        info.append(bench.command([bench.sightline, "info", path]))
        texts.append(bench.command(shell(path)))
        rules.append(bench.command([bench.sightline, "analyze", "-q", path]))
        why.append(bench.command([bench.sightline, "why", path]))
        read.append(bench.command(["sqlite3", "-readonly", path, scan(path)]))

    def mid(runs, what):
        return median(wall if what == "wall" else getattr(usage, what) for _, usage, wall in runs)

    events = "%d M events" % (EVENTS // 1000000)
    table.add("stats, default set of %s" % events, mid(ours, "wall"), mid(texts, "wall"), "the same SQL in the shell", "s",
              "<= 5")
    table.add("stats, CPU time of it", mid(ours, "cpu"), mid(texts, "cpu"), "the same SQL in the shell", "s")
    table.add("stats, memory", mid(ours, "rss_kib") / 1024, mid(texts, "rss_kib") / 1024, "the same SQL in the shell", "MiB",
              "<= 300")
    table.add("info, %s" % events, mid(info, "wall"), unit="s")
    table.add("analyze, all rules, CPU time", mid(rules, "cpu"), mid(read, "cpu"), "columns read, no more", "s", "<= 5 s")
    table.add("analyze, memory", mid(rules, "rss_kib") / 1024, unit="MiB", bar="<= 300")
    table.add("why, CPU time", mid(why, "cpu"), mid(read, "cpu"), "columns read, no more", "s", "<= 5 s")
    table.add("why, memory", mid(why, "rss_kib") / 1024, unit="MiB", bar="<= 300")
    in_one_pass(bench, table)


def part_compare(bench, table):
    path, page = report_of(bench, EVENTS), os.path.join(bench.tmp, "page.html")
    commands = (("compare with itself", ["compare", path, path], "<= 8", "<= 14 s"),
                ("report, a page of it", ["report", "-q", "-f", "true", "-o", page, path], "<= 6", "<= 12 s"))
    for name, argv, wall, cpu in commands:
        runs = [bench.command([bench.sightline, *argv]) for _ in range(min(bench.rounds, 3))]
        label = "%s, %d M events" % (name, EVENTS // 1000000)
        table.add(label, median(w for _, _, w in runs), unit="s", bar=wall)
        table.add("%s, CPU time" % name, median(u.cpu for _, u, _ in runs), unit="s", bar=cpu)
        table.add("%s, memory" % name, median(u.rss_kib for _, u, _ in runs) / 1024, unit="MiB", bar="<= 300")

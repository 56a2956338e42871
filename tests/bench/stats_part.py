"""stats_part.py - how fast the default set of tables is made of ten million events, and in how much memory.

The reference is the sqlite3 shell with the same reports, which are plain SQL: what a report costs without what we
do to make it faster. "info" reads every event once. Reports of NVTX ranges are measured beside their own SQL: one
letter of the comment that marks it is another, so it runs as it stands.
"""
import os
import re
from statistics import median

from export_part import report_of, scan

EVENTS = int(os.environ.get("STATS_EVENTS", "10000000"))
REPORTS = os.path.join(os.path.dirname(__file__), "..", "..", "exporters", "reports")
# Those of the default set that find something in what bigreport makes.
USED = ("nvtx_sum", "osrt_sum", "cuda_api_sum", "cuda_gpu_kern_sum", "cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum",
        "thread_cpu_sum")


def shell(path):
    """One call of the shell for all: compat.def's views for what the report lacks, then each text."""
    argv = ["sqlite3", "-readonly", "-csv", path]
    for table in "SL_SCHED_DETAIL", "PROFILER_OVERHEAD":
        columns = re.search(r'TABLE\(%s,\s*"([^)]*)"\)' % table,
                            open(os.path.join(REPORTS, "..", "compat.def")).read()).group(1).replace('"', " ").split()
        argv.append("CREATE TEMP VIEW %s AS SELECT %s WHERE 0" % (table, ", ".join("NULL AS " + c for c in columns)))
    return argv + [".read '%s'" % os.path.join(REPORTS, name + ".sql") for name in USED]


def projections(bench, table):
    """Reports whose joins a table of ours stands in for, and the same SQL without it."""
    path = report_of(bench, 1000000)
    for name, bar in (("nvtx_gpu_proj_sum", "<= 0.35"), ("nvtx_gpu_proj_trace", "<= 0.35"), ("nvtx_kern_sum", "<= 0.35"),
                      ("nvtx_pushpop_trace", "<= 0.45")):
        plain = os.path.join(bench.tmp, name + ".sql")
        with open(os.path.join(REPORTS, name + ".sql")) as text, open(plain, "w") as out:
            out.write(re.sub(r"(?m)^-- \[(projection|numbers|stacks|range-kernels)\]", r"-- (\1)", text.read()))
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
    ours, info, texts, rules, read = [], [], [], [], []
    for _ in range(min(bench.rounds, 3)):
        ours.append(bench.command([bench.sightline, "stats", "-q", "-f", "csv", path]))
        info.append(bench.command([bench.sightline, "info", path]))
        texts.append(bench.command(shell(path)))
        rules.append(bench.command([bench.sightline, "analyze", "-q", "-f", "csv", path]))
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
    table.add("analyze, all rules, CPU time", mid(rules, "cpu"), mid(read, "cpu"), "columns read, no more", "s", "<= 4")
    table.add("analyze, memory", mid(rules, "rss_kib") / 1024, unit="MiB", bar="<= 100")
    projections(bench, table)

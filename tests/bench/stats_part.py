"""stats_part.py - how fast the default set of tables is made of ten million events, and in how much memory.

The reference is the sqlite3 shell that reads the columns of the report's tables and computes nothing: what no reader
can go below. "info" reads every event once.
"""
import os
from statistics import median

from export_part import report_of, scan

EVENTS = int(os.environ.get("STATS_EVENTS", "10000000"))


def part_stats(bench, table):
    path = report_of(bench, EVENTS)
    ours, info, rules, read, why = [], [], [], [], []
    for _ in range(min(bench.rounds, 3)):
        ours.append(bench.command([bench.sightline, "stats", "-q", "-f", "csv", path]))
        info.append(bench.command([bench.sightline, "info", path]))
        rules.append(bench.command([bench.sightline, "analyze", "-q", path]))
        why.append(bench.command([bench.sightline, "why", path]))
        read.append(bench.command(["sqlite3", "-readonly", path, scan(path)]))

    def mid(runs, what):
        return median(wall if what == "wall" else getattr(usage, what) for _, usage, wall in runs)

    events = "%d M events" % (EVENTS // 1000000)
    table.add("stats, default set of %s" % events, mid(ours, "wall"), mid(read, "wall"), "columns read, no more", "s",
              "<= 5")
    table.add("stats, CPU time of it", mid(ours, "cpu"), mid(read, "cpu"), "columns read, no more", "s")
    table.add("stats, memory", mid(ours, "rss_kib") / 1024, unit="MiB", bar="<= 300")
    table.add("info, %s" % events, mid(info, "wall"), unit="s")
    table.add("analyze, all rules, CPU time", mid(rules, "cpu"), mid(read, "cpu"), "columns read, no more", "s", "<= 5 s")
    table.add("analyze, memory", mid(rules, "rss_kib") / 1024, unit="MiB", bar="<= 300")
    table.add("why, CPU time", mid(why, "cpu"), mid(read, "cpu"), "columns read, no more", "s", "<= 5 s")
    table.add("why, memory", mid(why, "rss_kib") / 1024, unit="MiB", bar="<= 300")


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

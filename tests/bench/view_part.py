"""view_part.py - the index of `sightline view` and the questions of its page: rates, sizes, memory, viewports of 40 lanes by
1600 pixels. Times are of one thread's CPU."""
import os
import subprocess

from export_part import report_of

EVENTS = int(os.environ.get("VIEW_EVENTS", "10000000"))
VIEWPORTS = 1500


def part_view(bench, table):
    path = report_of(bench, EVENTS)
    figures = {}
    for line in subprocess.run([bench.bin("view"), path, str(VIEWPORTS)], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines():
        name, value, _ = line.split()
        figures[name] = float(value)
    events = figures["events"] / 1e6
    table.add("view, %.0f M events: index, events per second of CPU" % events, figures["build_rate"], None,
              "", "M", ">= 2.5 M")
    if "first_part" in figures:
        table.add("the same, CPU until a first part is shown", figures["first_part"], None, "", "s", "<= 1.5 s at 100 M")
    table.add("the same, memory", figures["build_rss"] / 1024, None, "", "MiB", "<= 64 MiB")
    table.add("the same, bytes per event beside the report", figures["bytes_per_event"], None, "", "B", "<= 12")
    table.add("opening a finished index", figures["open"], None, "", "ms")
    table.add("a viewport, median", figures["viewport_median"], None, "", "ms", "<= 5 ms at 100 M")
    table.add("a viewport, 99 %", figures["viewport_p99"], None, "", "ms", "<= 40 ms at 100 M")
    table.add("totals of everything by name", figures["select_all"], None, "", "s", "<= 1 s at 100 M")
    table.add("search of a name everywhere", figures["search"], None, "", "s", "<= 0.5 s at 100 M")
    table.add("memory after %d viewports" % VIEWPORTS, figures["rss"] / 1024, None, "", "MiB", "<= 200 MiB")

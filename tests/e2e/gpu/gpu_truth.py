#!/usr/bin/env python3
"""gpu_truth.py REPORT SAID [WHAT...]: a report against what a program of tests/gpu said it did; of a program that says
nothing, against what the stand-ins counted (SAID: the folder of STANDIN_COUNTS).

calls       one row for each call that was made, none for others, no row twice
static      the first call into a static runtime is seen as what it asks of the driver: CUPTI is not there yet
partial     as calls, but the program told only some of the names that it called
activity    kernels, copies and fills: counts, bytes, durations on the stand-in
graph       graphs are told as wholes; node: their nodes are
real        on a real GPU: how long kernels and copies take, only the GPU knows
work        kernels, copies, fills and graphs, as many as the stand-in GPU did
joined      everything on the GPU leads to a call
killed      but for what was asked for after the first call that CUPTI did not come to tell of: calls and work lie in
            different buffers, and the program was killed while they were handed over
"""
import collections
import os
import re
import sqlite3
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
COPY_KINDS = {1: "HtoD", 2: "DtoH", 8: "DtoD", 9: "HtoH"}
CALLS = {
    "CUPTI_ACTIVITY_KIND_RUNTIME": "returnValue",
    "CUDNN_EVENTS": "returnValue",
    "CUBLAS_EVENTS": "returnValue",
    "SL_LIBRARY_API": "returnValue",
}
LOW = re.compile(r"(__)?cu(da)?(?!File)[A-Z]")
# What is one library to us: calls inside calls of the same have no rows.
FAMILY = re.compile(r"(?:lib)?(cublas|cudnn|nccl|cufft|cusparse|cusolver|cufile)", re.I)
WORK = ("KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE")
BUS, PAGEABLE, DEVICE, LEAST = 16, 4, 512, 500  # tests/standin/cuda_time.h
wrong = 0


def bad(*what):
    global wrong
    wrong += 1
    print(*what)


def skipped():
    """Names that have no rows by design."""
    names = set()
    folder = os.path.join(TOP, "preload", "gpu", "tables")
    for name in os.listdir(folder):
        if name.endswith(".def"):
            with open(os.path.join(folder, name), encoding="ascii") as f:
                names.update(re.findall(r'^GPU\((\w+), "[^"]*", "skip"\)', f.read(), re.M))
    return names


class Said:
    def __init__(self, path):
        self.calls = collections.Counter()
        self.inner = collections.Counter()
        self.work = collections.Counter()
        self.kernels, self.copies, self.memset = {}, {}, None
        self.node_kernels, self.node_copies, self.node_memset = {}, {}, None
        self.graphs = self.threads = 0
        self.kernel_cnt = None
        if os.path.isdir(path):
            self.threads = None
            for name in os.listdir(path):
                with open(os.path.join(path, name), encoding="ascii") as f:
                    for line in f:
                        self.counted(*line.split()[:3])
            return
        with open(path, encoding="utf-8") as f:
            for line in f:
                self.line(line.split())

    def counted(self, cnt, name, caller):
        """Of runtime and driver the outer call has a row; of libraries above them, what others called."""
        if caller in ("work", "node"):
            self.work[name, caller] += int(cnt)
            return
        of, by = FAMILY.match(name), FAMILY.match(caller)
        if caller != "libcudart" and (LOW.match(name) or not of or not by or of[1].lower() != by[1].lower()):
            self.calls[name] += int(cnt)

    def line(self, words):
        if len(words) < 2:
            return
        key, rest = words[0], words[1:]
        if key == "call":
            self.calls[rest[0]] += int(rest[1])
        elif key == "inner":
            self.inner[rest[0]] += int(rest[1])
        elif key == "kernel":
            self.kernels[rest[0]] = (int(rest[1]), int(rest[2]))
        elif key == "node-kernel":
            self.node_kernels[rest[0]] = (int(rest[1]), int(rest[2]))
        elif key == "copy":
            self.copies = add(self.copies, {rest[0]: (int(rest[1]), int(rest[2]))})
        elif key == "node-copy":
            self.node_copies[rest[0]] = (int(rest[1]), int(rest[2]))
        elif key == "memset":
            before = self.memset or (0, 0)
            self.memset = (before[0] + int(rest[0]), before[1] + int(rest[1]))
        elif key == "node-memset":
            self.node_memset = (int(rest[0]), int(rest[1]))
        elif key == "graph":
            self.graphs = int(rest[0])
        elif key == "kernels":
            self.kernel_cnt = (self.kernel_cnt or 0) + int(rest[0])
        elif key == "thread":
            self.threads += int(rest[0])


class Report:
    def __init__(self, path):
        self.db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
        self.tables = {r[0] for r in self.db.execute("SELECT name FROM sqlite_master")}

    def rows(self, table, sql):
        return list(self.db.execute(sql)) if table in self.tables else []

    def calls(self):
        got = []
        for table in CALLS:
            got += self.rows(
                table,
                "SELECT s.value, t.globalTid, t.start, t.end FROM %s t JOIN StringIds s ON s.id = t.nameId" % table,
            )
        # CUPTI's names of the runtime end in the version at which the function appeared.
        return [(re.sub(r"_v\d{4,5}$", "", n), t, b, e) for n, t, b, e in got]


def add(a, b):
    """What streams did and what graphs did, together."""
    total = dict(a)
    for k, (n, x) in b.items():
        total[k] = (total.get(k, (0, 0))[0] + n, total.get(k, (0, 0))[1] + x)
    return total


def check_calls(report, said, what):
    skip = skipped()
    rows = report.calls()
    got = collections.Counter(r[0] for r in rows)
    want = said.calls + said.inner
    if "static" in what and got["cuInit"] == 1:
        want["cuInit"] = 1
    for name in sorted(want):
        if name not in skip and got[name] != want[name]:
            bad("%s: %d rows, %d calls" % (name, got[name], want[name]))
    for name in sorted(got):
        if name in skip:
            bad("%s: rows, though it is not recorded" % name)
        elif name not in want and "partial" not in what:
            bad("%s: %d rows, never called" % (name, got[name]))
    for row, n in collections.Counter(rows).items():
        if n > 1:
            bad("%s: the same row %d times" % (row[0], n))
    threads = len({r[1] for r in rows})
    # A real runtime that is linked in refuses the child of a fork before it calls the driver.
    if said.threads is not None and threads != said.threads and not ("real" in what and "static" in what and threads == said.threads - 1):
        bad("%d threads called, %d have rows" % (said.threads, threads))
    if "CUPTI_ACTIVITY_KIND_RUNTIME" in report.tables:
        for (n,) in report.db.execute(
            "SELECT count(*) FROM (SELECT 1 FROM CUPTI_ACTIVITY_KIND_RUNTIME GROUP BY correlationId HAVING count(*) > 1)"
        ):
            if n:
                bad("%d correlation ids stand for several calls" % n)
    print("%d rows of calls, %d names" % (len(rows), len(got)))


def compare(what, got, want):
    for key in sorted(set(got) | set(want), key=str):
        if got.get(key) != want.get(key):
            bad("%s %s: %s in the report, %s asked for" % (what, key, got.get(key), want.get(key)))


def check_activity(report, said, what):
    nodes, real = "node" in what, "real" in what
    kernels = report.rows(
        "CUPTI_ACTIVITY_KIND_KERNEL",
        "SELECT s.value, count(*), sum(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL"
        " LEFT JOIN StringIds s ON s.id = mangledName GROUP BY 1",
    )
    if said.kernel_cnt is not None:
        if sum(r[1] for r in kernels) != said.kernel_cnt:
            bad("%d kernels, %d launched" % (sum(r[1] for r in kernels), said.kernel_cnt))
    else:
        compare(
            "kernel",
            {r[0]: (r[1], 0 if real else r[2]) for r in kernels},
            add(said.kernels, said.node_kernels if nodes else {}),
        )
    copies = report.rows(
        "CUPTI_ACTIVITY_KIND_MEMCPY",
        "SELECT copyKind, count(*), sum(bytes) FROM CUPTI_ACTIVITY_KIND_MEMCPY GROUP BY 1",
    )
    compare(
        "copy",
        {COPY_KINDS.get(r[0], r[0]): (r[1], r[2]) for r in copies},
        add(said.copies, said.node_copies if nodes else {}),
    )
    for kind, size, time, pageable in report.rows(
        "CUPTI_ACTIVITY_KIND_MEMCPY",
        "SELECT DISTINCT copyKind, bytes, end - start, 0 IN (srcKind, dstKind) FROM CUPTI_ACTIVITY_KIND_MEMCPY",
    ):
        rate = DEVICE if kind == 8 else PAGEABLE if pageable else BUS
        if not real and time != max(LEAST, size // rate):
            bad("a copy of %d bytes, kind %d, took %d ns" % (size, kind, time))
    memset = report.rows("CUPTI_ACTIVITY_KIND_MEMSET", "SELECT count(*), sum(bytes) FROM CUPTI_ACTIVITY_KIND_MEMSET")
    want = [said.memset] + ([said.node_memset] if nodes else [])
    want = [w for w in want if w]
    compare(
        "memset",
        {0: tuple(memset[0])} if memset else {},
        {0: (sum(w[0] for w in want), sum(w[1] for w in want))} if want else {},
    )
    graphs = report.rows("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE")
    if (graphs[0][0] if graphs else 0) != (0 if nodes else said.graphs):
        bad("graphs: %s in the report, %d launched" % (graphs, said.graphs))
    print("%d names of kernels, %d kinds of copies" % (len(kernels), len(copies)))


def check_work(report, said):
    whole = report.rows("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE")
    if whole and whole[0][0] != said.work["graph", "work"]:
        bad("graphs: %d in the report, %d launched" % (whole[0][0], said.work["graph", "work"]))
    for kind in ("kernel", "memcpy", "memset"):
        table = "CUPTI_ACTIVITY_KIND_" + kind.upper()
        rows = report.rows(table, "SELECT count(*) FROM " + table)
        want = said.work[kind, "work"] + (0 if whole else said.work[kind, "node"])
        if (rows[0][0] if rows else 0) != want:
            bad("%s: %d in the report, %d done" % (kind, rows[0][0] if rows else 0, want))


def check_joined(report, is_killed):
    # Ids that are not CUPTI's lie in a block of their own.
    untold = "(SELECT min(start) FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE correlationId >= 1 << 32)" if is_killed else "NULL"
    for kind in WORK:
        table = "CUPTI_ACTIVITY_KIND_" + kind
        for cnt, alone, early in report.rows(
            table,
            "SELECT count(*), sum(r.start IS NULL AND g.start < ifnull(%s, g.start + 1)), sum(g.start < r.start) FROM"
            " %s g LEFT JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = g.correlationId"
            " AND r.globalTid >> 24 = g.globalPid >> 24" % (untold, table),
        ):
            if alone:
                bad("%s: %d of %d rows lead to no call" % (table, alone, cnt))
            if early:
                bad("%s: %d rows begin before they were asked for" % (table, early))


def main():
    report, said, what = Report(sys.argv[1]), Said(sys.argv[2]), sys.argv[3:]
    if not said.calls:
        bad("the program said nothing")
    if "calls" in what or "partial" in what:
        check_calls(report, said, what)
    if "activity" in what:
        check_activity(report, said, what)
    if "work" in what:
        check_work(report, said)
    if "joined" in what:
        check_joined(report, "killed" in what)
    sys.exit(1 if wrong else 0)


main()

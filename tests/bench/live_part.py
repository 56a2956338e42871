"""live_part.py - `sightline view` on a report that grows: how far what it shows is behind the program, which calls at a steady rate, and
how far the report itself is, which no reader can be ahead of. Wall time: on a machine that is idle. LIVE_S: seconds of it."""
import contextlib
import http.client
import json
import os
import re
import sqlite3
import subprocess
import time
from statistics import median

from tracers import Broken

SECONDS = int(os.environ.get("LIVE_S", "100"))
RATE = int(os.environ.get("LIVE_RATE", "100000"))
EVERY = 0.1  # seconds between two looks


class View:
    """The server, and what its page would have of it now."""

    def __init__(self, bench, path):
        self.process = subprocess.Popen([bench.sightline, "view", "--no-open", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        address = re.match(r"http://127\.0\.0\.1:(\d+)/#t=([0-9a-f]+)", self.process.stdout.readline())
        if not address:
            raise Broken("no address of view")
        self.http = http.client.HTTPConnection("127.0.0.1", int(address[1]), timeout=30)
        self.heads = {"Authorization": "Bearer " + address[2]}
        self.origin = int(self.get("/v1/report")["t0"])

    def get(self, path):
        self.http.request("GET", path, headers=self.heads)
        return json.loads(self.http.getresponse().read())

    def last(self):
        """Of what is shown: the end of the last event, and how many events there are."""
        live = self.get("/v1/live?gen=-1")
        if live["state"] == "building":
            return None, 0
        if self.origin == 0:
            self.origin = int(self.get("/v1/report")["t0"])
        return self.origin + live["span"][1], live["events"]

    def cpu(self):
        with open("/proc/%d/stat" % self.process.pid, encoding="ascii", errors="replace") as f:
            fields = f.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss(self):
        with open("/proc/%d/status" % self.process.pid, encoding="ascii", errors="replace") as f:
            return int(re.search(r"VmHWM:\s+(\d+)", f.read())[1]) / 1024

    def close(self):
        self.process.terminate()
        self.process.wait()


def one(path, sql):
    try:
        with contextlib.closing(sqlite3.connect("file:%s?mode=ro" % path, uri=True)) as db:
            return (db.execute(sql).fetchone() or (None,))[0]
    except sqlite3.OperationalError:
        return None  # not there yet


def watch(bench, program, path):
    """Looks at both for as long as the program runs: [(seconds since the first, behind, the report behind, events)], CPU share, MiB."""
    looks, last = [], "SELECT end FROM OSRT_API ORDER BY rowid DESC LIMIT 1"
    until = time.monotonic() + 60
    while not one(path, last) or not one(path, "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME"):
        if program.poll() is not None or time.monotonic() > until:
            raise Broken("no report that grows")
        time.sleep(0.05)
    zero = one(path, "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME")
    view = View(bench, path)
    try:
        begun, cpu = time.monotonic(), view.cpu()
        while program.poll() is None and time.monotonic() - begun < SECONDS - 3:
            shown, events = view.last()
            now = time.time_ns()
            written = one(path, last)
            later = time.time_ns()
            if shown and written:
                looks.append((time.monotonic() - begun, (now - zero - shown) / 1e9, (later - zero - written) / 1e9, events))
            time.sleep(EVERY)
        return looks, (view.cpu() - cpu) / (time.monotonic() - begun), view.rss()
    finally:
        view.close()


def part_live(bench, table):
    path = os.path.join(bench.tmp, "live.sqlite")
    with subprocess.Popen([bench.sightline, "profile", "-f", "true", "-s", "none", "-t", "osrt", "--osrt-threshold=0", "-o", path,
                           bench.bin("steady"), str(RATE), str(SECONDS)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as program:
        try:
            looks, cpu, rss = watch(bench, program, path)
        finally:
            program.wait()
    if len(looks) < 20:
        raise Broken("view was looked at %d times" % len(looks))
    behind, report = sorted(x[1] for x in looks), sorted(x[2] for x in looks)
    what = "view, live, %.0f k events/s for %d s, %.1f M events: " % (RATE / 1e3, SECONDS, looks[-1][3] / 1e6)
    table.add(what + "behind the program, median", median(behind), median(report), "the report", "s")
    table.add("the same, 99 %", behind[-1 - len(behind) // 100], report[-1 - len(report) // 100], "the report", "s", "<= 1 s")
    table.add("the same, most", behind[-1], report[-1], "the report", "s")
    half = [x[1] for x in looks if x[0] > looks[-1][0] * 0.9]
    table.add("the same, median of the last tenth", median(half), None, "", "s")
    table.add("the server meanwhile, of one processor", 100 * cpu, None, "", "%")
    table.add("the same, memory", rss, None, "", "MiB")
    os.remove(path)

"""flight_part.py - the flight recorder: what it costs beside profiling and beside nothing, and how much memory it takes
while it records far more than fits."""
import os
import subprocess
import threading
from statistics import median

from costs import QUARTILE, over
from tracers import Broken, none, ours, shim, sqlite

CALLS = 1000000
SECONDS = float(os.environ.get("FLIGHT", "20"))
MIB = 64


def flight(*options):
    """As ours(), and there is no report: nothing goes wrong."""
    return ours("--osrt-threshold=0", "--flight=30s", *options, function=None)


class Memory:
    """What the collector and the rings take at most: its own pages, and those of the rings, once each."""

    def __init__(self):
        self.peak, self.stop = 0, threading.Event()

    @staticmethod
    def now(pid):
        with open("/proc/%d/status" % pid) as f:
            own = next(int(line.split()[1]) for line in f if line.startswith("RssAnon"))
        rings, folder = {}, "/proc/%d/map_files" % pid
        for name in os.listdir(folder):
            try:
                if "sightline-ring" in os.readlink(os.path.join(folder, name)):
                    st = os.stat(os.path.join(folder, name))
                    rings[st.st_ino] = st.st_blocks * 512
            except OSError:
                pass
        return own * 1024 + sum(rings.values())

    def watch(self, pid):
        while not self.stop.wait(0.1):
            try:
                self.peak = max(self.peak, self.now(pid))
            except OSError:
                return


def volume(bench, table):
    report, program = os.path.join(bench.tmp, "ours.sqlite"), os.path.join(bench.build, "tests/prog/flight")
    memory = Memory()
    with subprocess.Popen([bench.sightline, "profile", "-f", "true", "-o", report, "--osrt-threshold=0", "--flight=30s",
                           "--flight-size=%dM" % MIB, program, "2", str(SECONDS), "0", "exit3"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as p:
        watch = threading.Thread(target=memory.watch, args=(p.pid,))
        watch.start()
        out = p.communicate()[0]
        memory.stop.set()
        watch.join()
    last = {int(line.split()[0]): int(line.split()[1]) for line in out.splitlines()}
    kept = 0
    for thread, first, end, cnt in sqlite(report, """SELECT fileOffset >> 36, min(fileOffset & 0xfffffffff), max(fileOffset & 0xfffffffff),
            count(*) FROM OSRT_API WHERE fileOffset IS NOT NULL GROUP BY 1"""):
        if end != last[thread] or end - first + 1 != cnt:
            raise Broken("flight: thread %d has %d calls from %d to %d, the last was %d" % (thread, cnt, first, end, last[thread]))
        kept += cnt
    calls = sum(last.values()) + len(last)
    label = "flight recorder, %.0fM calls at full speed, --flight-size=%dM: " % (calls / 1e6, MIB)
    table.add(label + "memory", memory.peak / (1 << 20), MIB + 64, "bar", "MiB", "<= 1")
    table.add("the same: calls in the report, none missing before the last", kept / 1e6, None, "", "M")
    os.remove(report)


def part_flight(bench, table):
    runs = {}
    variants = {"base": none, "forward": shim("forward"), "profile": ours("--osrt-threshold=0", "--on-full=block"),
                "first": flight(), "flight": flight("--flight-size=16M")}
    for _ in range(bench.rounds):
        for name, run in variants.items():
            runs.setdefault(name, []).append(run(bench, [bench.bin("calls"), str(CALLS), "2", "20", "30"]))
    cost = {n: over(runs, n, "forward", QUARTILE) for n in ("profile", "first", "flight")}
    table.add("flight recorder, a recorded pread, 2 threads: over forward-only", cost["flight"], cost["profile"], "profile", "ns")
    table.add("the same, while its memory is used for the first time", cost["first"], cost["profile"], "profile", "ns")
    table.add("the same: wall time of the call", median(r.figures[0][1] for r in runs["flight"]),
              median(r.figures[0][1] for r in runs["base"]), "untraced", "ns")
    table.add("the same: CPU time of the collector", median(r.usage.cpu for r in runs["flight"]),
              median(r.usage.cpu for r in runs["profile"]), "profile", "s")
    volume(bench, table)

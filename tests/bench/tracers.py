"""tracers.py - how to run a program under each tracer. What is not installed, or not permitted here, is
left out with one line.

A tracer is a function(bench, argv) -> Run. Everything it writes goes below bench.tmp."""
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections import namedtuple

# figures: lists of numbers that programs wrote; recorded and lost: calls, or None; usage: of the command itself
Run = namedtuple("Run", "figures recorded lost usage wall")
Usage = namedtuple("Usage", "cpu rss_kib")


class Broken(Exception):
    """Something that must hold does not: the benchmark fails."""


def have(*names):
    return all(shutil.which(n) for n in names)


def peak_rss(pid, out, stop):
    """The kernel's own high-water mark, read until the process is gone."""
    while not stop.is_set():
        try:
            with open("/proc/%d/status" % pid) as f:
                m = re.search(r"VmHWM:\s+(\d+)", f.read())
        except OSError:
            return
        if m:
            out[0] = int(m.group(1))
        stop.wait(0.02)


def own_cpu(pid):
    """CPU seconds of a process that has ended, without its children."""
    with open("/proc/%d/stat" % pid) as f:
        after_name = f.read().rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


class Bench:
    def __init__(self, build, tmp, rounds):
        self.build, self.tmp, self.rounds = build, tmp, rounds
        self.out = os.path.join(tmp, "figures")
        self.sightline = os.path.join(build, "sightline")
        self.library = os.path.join(build, "libtrace.so")
        self.session_daemon = self.pid = self.ended = None

    def bin(self, name):
        return os.path.join(self.build, "tests/bench", name)

    def command(self, argv, env=None, ok=(0,), during=None, stdout=subprocess.DEVNULL):
        """Runs argv; returns its figures, what it used itself (its children not counted) and wall seconds.

        during: called with a function that tells whether it still runs."""
        if os.path.exists(self.out):
            os.remove(self.out)
        full = dict(os.environ, BENCH_OUT=self.out, **(env or {}))
        err = os.path.join(self.tmp, "stderr")
        rss, stop = [0], threading.Event()
        begun = time.monotonic()
        with open(err, "w") as e:
            p = subprocess.Popen(argv, env=full, stdout=stdout, stderr=e)
        self.pid = p.pid
        watch = threading.Thread(target=peak_rss, args=(p.pid, rss, stop))
        watch.start()
        if during:
            during(lambda: not os.waitid(os.P_PID, p.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT))
        os.waitid(os.P_PID, p.pid, os.WEXITED | os.WNOWAIT)
        self.ended = time.monotonic()
        wall = self.ended - begun
        cpu = own_cpu(p.pid)
        _, status = os.waitpid(p.pid, 0)
        stop.set()
        watch.join()
        p.returncode = os.waitstatus_to_exitcode(status)
        if p.returncode not in ok:
            with open(err) as e:
                raise Broken("%s: exit status %d: %s" % (" ".join(argv), p.returncode, e.read()[-300:].strip()))
        figures = []
        if os.path.exists(self.out):
            with open(self.out) as f:
                figures = [[float(x) for x in line.split()] for line in f]
        return figures, Usage(cpu, rss[0]), wall

    def plain(self, argv, env=None, **more):
        figures, usage, wall = self.command(argv, env, **more)
        return Run(figures, None, None, usage, wall)

    def close(self):
        if self.session_daemon:
            subprocess.run(["kill", self.session_daemon], check=False)


def sqlite(path, sql):
    import sqlite3

    db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    try:
        return db.execute(sql).fetchall()
    finally:
        db.close()


def has_table(path, name):
    return bool(sqlite(path, "SELECT 1 FROM sqlite_master WHERE name = '%s'" % name))


def counts(report, name):
    """Calls of one function in a report: with a row, counted as short, lost."""
    name_id = "(SELECT id FROM StringIds WHERE value = '%s')" % name
    rows = short = lost = 0
    if has_table(report, "OSRT_API"):
        rows = sqlite(report, "SELECT count(*) FROM OSRT_API WHERE nameId = " + name_id)[0][0]
    if has_table(report, "SL_OSRT_TOTALS"):
        sums = "SELECT total(count), total(lostCount) FROM SL_OSRT_TOTALS WHERE nameId = "
        short, lost = (int(x) for x in sqlite(report, sums + name_id)[0])
    return rows, short, lost


# ---- ours, and what it is compared with ----

def none(bench, argv):
    return bench.plain(argv)


def shim(name):
    def run(bench, argv):
        return bench.plain(["env", "LD_PRELOAD=" + bench.bin(name + ".so")] + argv)

    return run


def ours(*options, function="pread"):
    def run(bench, argv, during=None):
        report = os.path.join(bench.tmp, "ours.sqlite")
        figures, usage, wall = bench.command(
            [bench.sightline, "profile", "-f", "true", "-o", report, *options] + argv, during=during)
        rows, short, lost = counts(report, function) if function else (None, 0, None)
        return Run(figures, rows + short if function else None, lost, usage, wall)

    return run


def without_collector(*options):
    """Our library and rings, and nobody who reads them; the last figures are fake_session's."""
    def run(bench, argv):
        figures, usage, wall = bench.command([bench.bin("fake_session"), *options, bench.library] + argv)
        return Run(figures[:-1], figures[-1][0], figures[-1][2], usage, wall)

    return run


# ---- peers ----

def lttng(bench, argv):
    where = os.path.join(bench.tmp, "lttng")
    shutil.rmtree(where, ignore_errors=True)

    def do(*words):
        return subprocess.run(["lttng", *words], check=True, capture_output=True, text=True).stdout

    if not bench.session_daemon and subprocess.run(["pgrep", "-x", "lttng-sessiond"], capture_output=True).returncode:
        pid_file = os.path.join(bench.tmp, "lttng.pid")
        subprocess.run(["lttng-sessiond", "--no-kernel", "--daemonize", "--pidfile", pid_file], check=True,
                       capture_output=True)
        with open(pid_file) as f:
            bench.session_daemon = f.read().strip()
    do("create", "sightline-bench", "--output=" + where)
    try:
        do("enable-channel", "-u", "-s", "sightline-bench", "ch", "--subbuf-size=4M", "--num-subbuf=8")
        do("enable-event", "-u", "bench:*", "-s", "sightline-bench", "-c", "ch")
        do("start", "sightline-bench")
        run = bench.plain(["env", "LD_PRELOAD=" + bench.bin("lttng.so")] + argv)
        do("stop", "sightline-bench")
        listing = do("list", "sightline-bench", "-c", "ch")
    finally:
        do("destroy", "sightline-bench")
    lost = sum(int(n) for n in re.findall(r"Discarded events:\s+(\d+)", listing)) // 2
    return run._replace(lost=lost)


def uftrace(bench, argv):
    where = os.path.join(bench.tmp, "uftrace")
    shutil.rmtree(where, ignore_errors=True)
    run = bench.plain(["uftrace", "record", "--force", "-d", where] + argv)
    size = sum(e.stat().st_size for e in os.scandir(where) if re.match(r"\d+\.dat", e.name))
    return run._replace(recorded=size // 32)


def lines(bench, argv, path):
    run = bench.plain(argv)
    with open(path, errors="replace") as f:
        n = sum("pread64" in line and "unfinished" not in line for line in f)
    return run._replace(recorded=n)


def strace(bench, argv):
    path = os.path.join(bench.tmp, "strace.txt")
    return lines(bench, ["strace", "-f", "-e", "trace=pread64", "-o", path] + argv, path)


def perf_trace(bench, argv):
    path = os.path.join(bench.tmp, "perf.txt")
    return lines(bench, ["perf", "trace", "-e", "pread64", "-o", path] + argv, path)


def bpftrace(bench, argv):
    program = ("tracepoint:syscalls:sys_enter_pread64 /pid == cpid/ { @a = count(); } "
               "tracepoint:syscalls:sys_exit_pread64 /pid == cpid/ { @b = count(); }")
    return bench.plain(["sh", "-c", 'ulimit -l unlimited; exec "$@"', "sh", "bpftrace", "-e", program,
                        "-c", " ".join(argv)])


# name, tracer, programs it needs, calls per thread, whether its cost is mostly waiting (then wall time counts)
Peer = namedtuple("Peer", "name run needs calls waits")
PEERS = [
    Peer("uftrace", uftrace, ["uftrace"], 1000000, False),
    Peer("LTTng-UST preload", lttng, ["lttng", "lttng-sessiond"], 1000000, False),
    Peer("bpftrace, counting", bpftrace, ["bpftrace"], 1000000, False),
    Peer("strace", strace, ["strace"], 4000, True),
    Peer("perf trace", perf_trace, ["perf"], 4000, True),
]


def usable_peers(bench):
    for peer in PEERS:
        why = None
        if not have(*peer.needs):
            why = "not installed"
        elif peer.run is lttng and not os.path.exists(bench.bin("lttng.so")):
            why = "built without its headers"
        else:
            try:
                if not peer.run(bench, [bench.bin("calls"), "100", "1", "1"]).figures:
                    why = "did not run the program"
            except (Broken, subprocess.CalledProcessError, OSError) as e:
                why = "does not work here (%s)" % str(e).splitlines()[0][-120:]
        if why:
            print("skipped %s: %s" % (peer.name, why), file=sys.stderr)
        else:
            yield peer

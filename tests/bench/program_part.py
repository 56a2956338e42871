"""program_part.py - whole programs in wall time, where processors are free and where none is: four workers that open and
read files, one process that does, `true` alone and 200 times, a forked child, a script that imports PyTorch."""
import os
import resource
import subprocess
import sys
import time
from statistics import median

from costs import CPU, WALL, expect, interleave, mid, over, ratio
from tracers import none, ours, shim, sqlite

FILES = int(os.environ.get("FILES", "200000"))
HERE = os.path.dirname(os.path.abspath(__file__))


class Load:
    """Keeps every processor busy for the length of a with statement."""

    def __enter__(self):
        self.spinning = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(os.cpu_count())]

    def __exit__(self, *_):
        for p in self.spinning:
            p.kill()
            p.wait()


def check_pool(report, folder):
    like = "(SELECT id FROM StringIds WHERE value GLOB '%s/*')" % folder
    found = {}
    for name, rows, done, errors in sqlite(report, """
            SELECT value, count(*), total(returnValue), count(errnum) FROM OSRT_API JOIN StringIds ON nameId = id
            WHERE pathId IN %s AND errnum IS NULL GROUP BY value""" % like):
        found[name] = rows, done
    opened = sum(found[n][0] for n in found if n.startswith("open"))
    expect("files opened", opened, FILES)
    expect("files closed", found.get("close", (0, 0))[0], FILES)
    expect("bytes read", sum(found[n][1] for n in found if n.startswith("read")), FILES * 4096)


def pool(bench, table, folder, workers):
    # The columns of pool.py.
    wall, cpu, end = CPU, WALL, 2
    late = {}

    def check(name, r):
        if name == "ours":
            check_pool(os.path.join(bench.tmp, "ours.sqlite"), folder)
        late.setdefault(name, []).append(bench.ended - r.figures[0][end])

    argv = [sys.executable, os.path.join(HERE, "pool.py"), folder, str(FILES), str(workers)]
    none(bench, argv)
    runs = interleave(bench, {"base": none, "limit": shim("limit"),
                              "ours": ours("--osrt-file-access=true", "--on-full=block", function=None),
                              "default": ours(function=None)}, argv, check=check)
    label = "python, %s, %d files: " % ("%d workers on %d processors" % (workers, os.cpu_count()) if workers else "one process", FILES)
    for column, kind in (wall, "wall"), (cpu, "CPU"):
        for name, what, bar in ("default", "default threshold", "<= 1.07"), ("ours", "every call", "<= 1.12"), ("limit", "limit shim", None):
            table.add("%s%s per file, %s" % (label, kind, what), mid(runs, name, column) / 1e3, mid(runs, "base", column) / 1e3,
                      "untraced", "us", bar if kind == "wall" and workers else None, ratio(runs, name, "base", column))
    for name, what in ("default", "default threshold"), ("ours", "every call"):
        table.add("%sfrom the end of the program to that of profile, %s" % (label, what), median(late[name]), 1, "bar", "s", "<= 1")


def part_python(bench, table):
    folder = os.path.join(bench.tmp, "files")
    for workers in 4, 0:
        pool(bench, table, folder, workers)


def profiled(*options):
    def run(bench, report, argv):
        return bench.command([bench.sightline, "profile", "-f", "true", "-o", report, *options] + argv)[2]
    return run


def preloaded(bench, report, argv):
    """The wall time of the program; its collector has ended afterwards."""
    env = {"LD_PRELOAD": os.path.join(os.path.dirname(bench.sightline), "libtrace.so"), "SIGHTLINE_OUTPUT": report,
           "SIGHTLINE_OPTIONS": "-f true"}
    wall = bench.command(argv, env=env)[2]
    while not sqlite(report, "SELECT 1 FROM META_DATA_EXPORT WHERE name = 'SL_COMPLETE'"):
        time.sleep(0.05)
    return wall


# The bars hold where processors are free. With LD_PRELOAD alone most is the kernel's, which checks and attaches the programs for
# context switches before the program may start a process that nothing else would show to be the session's.
def start_of_true(bench, table, label, bar):
    report = os.path.join(bench.tmp, "start.sqlite")
    ways = (("profile", profiled(), 40), ("profile -s none", profiled("-s", "none"), 25), ("LD_PRELOAD alone", preloaded, 15))
    extra = {name: [] for name, _, _ in ways}
    for _ in range(bench.rounds * 3):
        bare = bench.command(["true"])[2]
        for name, run, _ in ways:
            extra[name].append((run(bench, report, ["true"]) - bare) * 1e3)
    for name, _, limit in ways:
        table.add("start and end of true, %s, %s: over untraced" % (label, name), median(extra[name]), limit, "bar", "ms", bar and "<= 1")


def cpu_of_children(run):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3


# Names of the C library come from the recordings before, after some dozens of them.
def many_true(bench, table, label, bar):
    report = os.path.join(bench.tmp, "many.sqlite")
    loop = ["sh", "-c", "i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i + 1)); done"]
    ways = (("profile", profiled(), "<= 2.0"), ("profile -s none", profiled("-s", "none"), "<= 1.8"),
            ("profile -s none --cpuctxsw=none", profiled("-s", "none", "--cpuctxsw=none"), "<= 1.6"))
    cpu = {name: [] for name in ["base"] + [way[0] for way in ways]}
    for _ in range(bench.rounds * 3):
        cpu["base"].append(cpu_of_children(lambda: bench.command(loop)))
        for name, run, _ in ways:
            cpu[name].append(cpu_of_children(lambda run=run: run(bench, report, loop)))
    for name, _, limit in ways:
        table.add("200 x true in a shell loop, %s, %s: CPU time" % (label, name), median(cpu[name]), median(cpu["base"]), "untraced", "ms",
                  bar and limit)


def forked_child(bench, table, label, bar):
    runs = interleave(bench, {"base": none, "limit": shim("limit"), "ours": ours(function=None)}, [bench.bin("procs"), "fork", "500"])
    table.add("a forked child, %s: over untraced" % label, over(runs, "ours", "base"), 0.5, "bar", "ms", bar and "<= 1")
    table.add("a forked child, %s: limit shim over untraced" % label, over(runs, "limit", "base"), None, "", "ms")


def torch_script(bench, table, label, bar):
    # Debian's PyTorch is the system's Python's.
    have = [p for p in (sys.executable, "/usr/bin/python3")
            if subprocess.run([p, "-c", "import torch"], capture_output=True, check=False).returncode == 0]
    if not have:
        print("skipped PyTorch: not installed", file=sys.stderr)
        return
    argv = [have[0], os.path.join(HERE, "torch_once.py")]
    runs = interleave(bench, {"base": none, "ours": ours("-t", "cuda,nvtx,osrt,cudnn,cublas", function=None)}, argv)
    whole = {name: [r.wall for r in runs[name]] for name in runs}
    table.add("PyTorch, import and one step, %s: the command" % label, median(whole["ours"]), median(whole["base"]), "untraced", "s",
              bar and "<= 1.05", median(a / b for a, b in zip(whole["ours"], whole["base"])))
    table.add("PyTorch, import and one step, %s: the script" % label, mid(runs, "ours"), mid(runs, "base"), "untraced", "s", None,
              ratio(runs, "ours", "base"))


def part_start(bench, table):
    for part in start_of_true, many_true, forked_child, torch_script:
        part(bench, table, "idle machine", True)
        with Load():
            part(bench, table, "saturated machine", None)

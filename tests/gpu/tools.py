"""tools.py: what the checks of check-gpu share: programs run within a time, reports, what is known of a hang."""
import collections
import concurrent.futures
import functools
import glob
import importlib.util
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
CHECK = os.path.join(HERE, "check")
TRACE = "cuda,nvtx,osrt,cudnn,cublas,nccl"
WORK = ("KERNEL", "MEMCPY", "MEMSET")
AT_END = 8  # seconds that are kept for results


KERNEL_LOSSES = ("context switches", "callers in stacks of CPU samples", "CPU samples", "requests to block devices")


class NotRun(Exception):
    """A check that cannot run here; says why."""


class Failed(Exception):
    """Says what is wrong."""


class Report:
    def __init__(self, path):
        self.path = path
        self.db = sqlite3.connect("file:%s?mode=ro" % path, uri=True, check_same_thread=False)
        self.tables = {r[0] for r in self.db.execute("SELECT name FROM sqlite_master")}

    def rows(self, sql, *tables):
        if any(t not in self.tables for t in tables):
            return []
        return self.db.execute(sql).fetchall()

    def kernels(self, name="demangledName"):
        sql = (
            "SELECT value, count(*), sum(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL"
            " JOIN StringIds ON StringIds.id = %s GROUP BY 1" % name
        )
        return {n: (c, t) for n, c, t in self.rows(sql, "CUPTI_ACTIVITY_KIND_KERNEL")}

    def sums(self, kind):
        table = "CUPTI_ACTIVITY_KIND_" + kind
        found = self.rows("SELECT count(*), coalesce(sum(bytes), 0) FROM " + table, table)
        return tuple(found[0]) if found else (0, 0)

    def diagnostics(self, least=2):
        sql = "SELECT text FROM DIAGNOSTIC_EVENT WHERE severity >= %d" % least
        return [r[0] for r in self.rows(sql, "DIAGNOSTIC_EVENT")]

    def avoided(self):
        """Bugs of this CUPTI that the shim knows and has stepped around."""
        return [t.partition("avoided: ")[2] for t in self.diagnostics(1) if t.startswith("Bug of CUPTI")]

    def cupti(self):
        """The line that says which CUPTI delivers; fails with what is said instead."""
        for text in self.diagnostics(1):
            if text.startswith("CUPTI of CUDA"):
                return text
        raise Failed("CUPTI does not deliver: %s" % ("; ".join(self.diagnostics()) or "nothing is said of it"))

    def lost(self):
        """Losses of calls and of the GPU's work: what a busy machine takes from the kernel's events is no finding here."""
        rows = self.rows("SELECT what, sum(count) FROM SL_LOST_EVENTS GROUP BY 1", "SL_LOST_EVENTS")
        return [r for r in rows if not r[0].startswith(KERNEL_LOSSES)]

    def untold(self):
        """Share of calls that CUPTI did not come to tell of in time: their ids are not its own."""
        rows = self.rows(
            "SELECT count(*), coalesce(sum(correlationId >= 1 << 32), 0) FROM CUPTI_ACTIVITY_KIND_RUNTIME",
            "CUPTI_ACTIVITY_KIND_RUNTIME",
        )
        return rows[0] if rows else (0, 0)

    def sound(self):
        """Whatever the program was: all work leads to a call, lies within its process's life; nothing is lost."""
        said = []
        for kind in WORK + ("GRAPH_TRACE",):
            table = "CUPTI_ACTIVITY_KIND_" + kind
            node = "g.graphNodeId IS NOT NULL" if kind in WORK else "0"
            for cnt, alone, nodes, early, late, odd in self.rows(
                "SELECT count(*), coalesce(sum(r.start IS NULL AND NOT %s), 0), coalesce(sum(r.start IS NULL AND %s), 0),"
                " coalesce(sum(g.start < p.start), 0), coalesce(sum(g.end > p.end), 0), coalesce(sum(g.end < g.start), 0)"
                " FROM %s g LEFT JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = g.correlationId AND"
                " r.globalTid >> 24 = g.globalPid >> 24 LEFT JOIN (SELECT globalPid, min(start) AS start, max(end) AS end"
                " FROM SL_PROCESS_TREE GROUP BY 1) p ON p.globalPid = g.globalPid" % (node, node, table),
                table,
                "CUPTI_ACTIVITY_KIND_RUNTIME",
            ):
                if alone:
                    raise Failed("%d of %d rows of %s lead to no call" % (alone, cnt, table))
                if early or late or odd:
                    raise Failed(
                        "%s: %d rows before, %d after the life of the process, %d end before they begin" % (table, early, late, odd)
                    )
                if cnt:
                    said.append("%d %s%s" % (cnt, kind, " (%d nodes without a call)" % nodes if nodes else ""))
        if self.lost():
            raise Failed("lost: %s" % self.lost())
        if not said:
            raise Failed("nothing of the GPU is in the report; %s" % "; ".join(self.diagnostics()))
        return ", ".join(said)


# ---- what hangs ----


def session(sid):
    """Processes of the session that one of ours leads."""
    found = []
    for stat in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(stat, encoding="utf-8", errors="replace") as f:
                if int(f.read().rpartition(")")[2].split()[3]) == sid:
                    found.append(int(stat.split("/")[2]))
        except (OSError, IndexError, ValueError):
            pass
    return sorted(found)


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read().replace("\0", " ").strip()
    except OSError as e:
        return "(%s)" % e.strerror


def debugger():
    return shutil.which("gdb") or shutil.which("cuda-gdb") or shutil.which("cuda-gdb", path="/usr/local/cuda/bin")


def backtrace(*arguments):
    gdb = debugger()
    if not gdb:
        return "(no debugger)"
    command = [gdb, "-batch", "-ex", "set pagination off", "-ex", "thread apply all bt 24", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=40)
        return done.stdout + done.stderr
    except subprocess.TimeoutExpired as e:
        return "(the debugger took too long) %s" % (e.stdout or "")


def describe(sid):
    """Where the threads of a session are: from the kernel, and where there is a debugger from their stacks."""
    lines = []
    for pid in session(sid):
        lines.append("== %d %s" % (pid, read("/proc/%d/cmdline" % pid)))
        for task in sorted(glob.glob("/proc/%d/task/*" % pid)):
            state = read(task + "/status").partition("State:")[2].split("\n")[0].strip()
            lines.append(
                "%s %s [%s] %s %s" % (task.rsplit("/", 1)[1], read(task + "/comm"), state, read(task + "/wchan"), read(task + "/syscall"))
            )
    for pid in [p for p in session(sid) if "sightline" not in read("/proc/%d/comm" % p)][:2]:
        lines.append("== stacks of %d" % pid)
        lines.append(backtrace("-p", str(pid)))
    return "\n".join(lines) + "\n"


def stop(sid):
    for pid in session(sid):
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass


# ---- which libcupti ----

Copy = collections.namedtuple("Copy", "api path found")  # found: the shim finds it by itself, whatever the program
ASK = """
import ctypes, sys
version = ctypes.c_uint32(0)
sys.exit(ctypes.CDLL(sys.argv[1]).cuptiGetVersion(ctypes.byref(version)) or print(version.value))
"""


def major(api):
    """Of CUDA, by the version of CUPTI's API: 28 -> 12, 130001 -> 13."""
    return api // 10000 if api >= 130000 else 12 if api >= 19 else 11


def ask_version(path):
    """0: it cannot be loaded. In a process of its own: this one shall know nothing of CUDA."""
    try:
        done = subprocess.run([sys.executable, "-c", ASK, path], capture_output=True, text=True, check=False, timeout=20)
        return int(done.stdout)
    except (ValueError, OSError, subprocess.TimeoutExpired):
        return 0


@functools.lru_cache(None)
def copies():
    """Every libcupti that a program may find, the oldest first."""
    roots = ["/usr/local/cuda", os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH")]
    certain = [r + tail for r in roots if r for tail in ("/extras/CUPTI/lib64", "/lib64", "/lib")] + ["/usr/lib/*"]
    others = ["/usr/local/cuda-*/extras/CUPTI/lib64", os.environ.get("CONDA_PREFIX", "/nowhere") + "/lib"]
    others += [os.path.join(p, "nvidia", "*", "lib") for p in sys.path if p]
    there = {}
    for places, found in ((others, False), (certain, True)):
        there.update({os.path.realpath(f): found for p in places for f in glob.glob(p + "/libcupti.so*")})
    return sorted(c for c in (Copy(ask_version(f), f, found) for f, found in there.items()) if c.api)


def driver_number():
    """13000: the driver is one for CUDA 13.0; 0: it does not answer."""
    code = "import ctypes; n = ctypes.c_int(0); print(0 if ctypes.CDLL('libcuda.so.1').cuDriverGetVersion(ctypes.byref(n)) else n.value)"
    try:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=20)
        return int(done.stdout)
    except (ValueError, OSError, subprocess.TimeoutExpired):
        return 0


# ---- programs ----


class Tools:
    def __init__(self, build, work, out=None, standin=False):
        self.build, self.work, self.out, self.standin = build, work, out, standin
        self.deadline = None
        self.lock = threading.Lock()
        _, most = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (most, most))
        self.sightline = self.first(os.path.join(build, "sightline"), os.path.join(build, "bin", "sightline"))
        self.shim = self.first(os.path.join(build, "libtrace.so"), os.path.join(build, "lib", "sightline", "libtrace.so"))
        self.cnt = 0
        self.last = None  # the last report
        self.kept = []
        self.nvcc = None if standin else shutil.which("nvcc") or self.first("/usr/local/cuda/bin/nvcc")
        self.nsys = None if standin else shutil.which("nsys")

    @staticmethod
    def first(*paths):
        return next((p for p in paths if os.access(p, os.R_OK)), None)

    def path(self, name):
        with self.lock:
            self.cnt += 1
            return os.path.join(self.work, "%02d-%s" % (self.cnt, name))

    def usable(self):
        """Copies of libcupti that the driver serves: not those of a later CUDA."""
        mine = os.environ.get("SIGHTLINE_CUPTI")
        if mine:
            return [Copy(ask_version(mine), mine, True)]
        return [c for c in copies() if major(c.api) <= self.driver // 1000]

    @functools.cached_property
    def driver(self):
        return driver_number()

    @functools.cached_property
    def given(self):
        """Where the shim cannot find one by itself, since there are wheels alone or a toolkit too new: the newest that fits."""
        fit = self.usable()
        return {} if not fit or any(c.found for c in fit) else {"SIGHTLINE_CUPTI": fit[-1].path}

    def keep(self, name, text):
        """For whoever reads the results elsewhere."""
        with self.lock:
            self.keep_locked(name, text)

    def keep_locked(self, name, text):
        if self.out:
            path = os.path.join(self.work, "kept", "%02d-%s.txt" % (len(self.kept), name))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            self.kept.append(path)

    def left(self, most):
        """Seconds that a program may take."""
        if self.deadline is None:
            return most
        rest = self.deadline - time.monotonic() - AT_END
        if rest < 5:
            raise NotRun("no time left")
        return min(most, rest)

    def run(self, command, name, env=None, want=0, seconds=120):
        limit = self.left(seconds)
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.work,
            env={**os.environ, "PYTHONFAULTHANDLER": "1", **self.given, **(env or {})},
            start_new_session=True,
        )
        try:
            out, err = child.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            self.keep("hang", "%s\n%s" % (" ".join(command), describe(child.pid)))
            stop(child.pid)
            out, err = child.communicate()
            raise Failed("%s still ran after %d s" % (name, limit)) from None
        out, err = out.decode(errors="replace"), err.decode(errors="replace")
        # Of a program that is killed sightline ends the same way.
        if child.returncode not in (want, 128 - want if want > 128 else want):
            if "version `GLIBC_" in err:
                raise NotRun("%s was built for a newer C library: %s" % (name, err.strip().splitlines()[-1]))
            self.died(command, child.returncode, out, err)
            said = [s for s in (out + err).strip().splitlines() if not s.startswith("sightline: ")] or err.strip().splitlines()
            raise Failed("%s ends with %d: %s" % (name, child.returncode, (said or ["no message"])[-1]))
        return out

    def died(self, command, status, out, err):
        text = "%s\nstatus %d\n%s\n%s\n" % (" ".join(command), status, out[-4000:], err[-4000:])
        for core in glob.glob(os.path.join(self.work, "core*"))[:1]:
            program = command[command.index("-o") + 2] if "-o" in command else command[0]
            text += backtrace(program, core)
        for core in glob.glob(os.path.join(self.work, "core*")):
            os.unlink(core)
        self.keep("died", text)

    def profile(self, command, *options, want=0, env=None, trace=TRACE, seconds=120):
        path = self.path("report.sqlite")
        words = [self.sightline, "profile", "-f", "true", "-t", trace, "-s", "none", *options, "-o", path, *command]
        self.last = path
        out = self.run(words, os.path.basename(command[0]) + " traced", env, want, seconds)
        return Report(path), out

    def several(self, cnt, command, *options, **more):
        """As profile, cnt times, some of them at once: what a machine with a load does, and in a shorter time."""
        with concurrent.futures.ThreadPoolExecutor(2 if self.standin else 4) as pool:
            runs = [pool.submit(self.profile, command, *options, **more) for _ in range(cnt)]
            return [r.result() for r in runs]

    def program(self, name):
        """A program that was built beforehand (make gpu-pack), else compiled here."""
        there = self.first(os.path.join(self.build, "programs", name), os.path.join(self.build, "tests", "gpu", name))
        if there:
            return there
        source, _, runtime = name.partition("-")
        file = os.path.join(CHECK, source + ".cu")
        if self.standin:  # what says of itself the same, for the libraries that are there
            return os.path.join(self.build, "tests", "gpu", "train_static" if runtime == "static" else "train")
        if not os.path.exists(file):
            raise NotRun("%s is not built" % name)
        if not self.nvcc:
            raise NotRun("no nvcc, and %s is not built" % name)
        program = os.path.join(self.work, name)
        if not os.path.exists(program):
            self.run([self.nvcc, "-O2", "-arch=native", "-cudart", runtime or "shared", "-o", program, file], "nvcc", seconds=180)
        return program

    def libraries(self):
        """Where a program of CUDA's runtime finds it."""
        found = [d for d in ("/usr/local/cuda/lib64", "/usr/local/cuda/lib") if glob.glob(d + "/libcudart.so*")]
        for p in sys.path:
            found += [os.path.dirname(f) for f in glob.glob(os.path.join(p, "nvidia", "c*", "lib", "libcudart.so*"))]
        mine = os.environ.get("LD_LIBRARY_PATH")
        words = ([mine] if mine else []) + found[:2]
        return {"LD_LIBRARY_PATH": ":".join(words)} if words else {}

    def script(self, name, *modules):
        if self.standin:
            return [sys.executable, os.path.join(CHECK, "standin_work.py")]
        for m in modules:
            if importlib.util.find_spec(m) is None:
                raise NotRun("no module " + m)
        return [sys.executable, os.path.join(CHECK, name)]

    def truth(self, report, out, *what, trace=None):
        said = self.path("said")
        with open(said, "w", encoding="utf-8") as f:
            f.write(out)
        if "activity" in what and "node" not in what and "CUPTI_ACTIVITY_KIND_GRAPH_TRACE" not in report.tables:
            what += ("node",)  # the default of an old CUPTI
        words = [sys.executable, os.path.join(TOP, "tests", "e2e", "gpu", "gpu_truth.py"), report.path, said, *what]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=self.left(120))
        if done.returncode:
            self.keep("truth", done.stdout + done.stderr)
            lines = (done.stdout + done.stderr).strip().splitlines()
            raise Failed("; ".join(lines[:4]) + ("; ..." if len(lines) > 4 else ""))

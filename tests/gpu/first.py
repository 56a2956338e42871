"""first.py: the checks that come first: no toolkit, no Python package, a minute. What fails here explains the rest."""
import os
import platform
import shutil
import subprocess
import sys
import time

from tools import Failed, NotRun, Report, copies, read

CHECKS = []


def check(name):
    def add(function):
        CHECKS.append((name, function))
        return function

    return add


def ask(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
        return (done.stdout + done.stderr).strip()
    except (OSError, subprocess.TimeoutExpired) as e:
        return "(%s)" % e


@check("the machine")
def machine(tools):
    shm = os.statvfs("/dev/shm") if os.path.isdir("/dev/shm") else None
    facts = [
        ("kernel", platform.release()),
        ("processor", "%d x %s" % (os.cpu_count(), platform.machine())),
        ("clock", read("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
        ("C library", " ".join(platform.libc_ver())),
        ("Python", sys.version.split()[0]),
        ("user", str(os.geteuid())),
        ("/dev/shm", "%d MiB" % (shm.f_bavail * shm.f_frsize >> 20) if shm else "none"),
        ("memory locked", ask("sh", "-c", "ulimit -l")),
        ("driver", read("/proc/driver/nvidia/version").split("\n")[0]),
        ("driver parameters", ask("sh", "-c", "grep -h Profiling /proc/driver/nvidia/params")),
        ("nvidia-smi", ask("nvidia-smi", "--query-gpu=name,driver_version,mig.mode.current,memory.total", "--format=csv,noheader")),
        ("libcupti", " ".join("%s (API %d)" % (c.path, c.api) for c in copies()) or "none"),
        ("SIGHTLINE_CUPTI", tools.given.get("SIGHTLINE_CUPTI") or os.environ.get("SIGHTLINE_CUPTI") or "not set"),
        ("debugger", shutil.which("cuda-gdb") or shutil.which("gdb") or "none"),
        ("core pattern", read("/proc/sys/kernel/core_pattern")),
        ("sightline status", "\n" + ask(tools.sightline, "status", "-e")),
    ]
    tools.keep("machine", "".join("%s: %s\n" % f for f in facts))
    found = ", ".join("%d" % c.api for c in copies()) or "none found"
    given = "; programs are given %s" % tools.given["SIGHTLINE_CUPTI"] if tools.given else ""
    return "%s; API of CUPTI: %s%s" % (platform.release(), found, given)


def ptx(tools, *arguments, options=(), want=0, seconds=60):
    report, out = tools.profile([tools.program("ptx"), *arguments], *options, want=want, trace="cuda", seconds=seconds)
    return report, out


@check("driver calls, not traced")
def untraced(tools):
    out = tools.run([tools.program("ptx")], "ptx", seconds=60)
    if "wrong 0" not in out.splitlines():
        raise Failed("the GPU computes something else: %s" % out.splitlines()[-1])
    return "works"


def one_of_each(tools):
    """The newest copies of libcupti, of each version one."""
    found = {c.api: c for c in tools.usable()}
    if not found:
        raise NotRun("no libcupti that the driver serves: %s" % (", ".join(c.path for c in copies()) or "none found"))
    return [found[api] for api in sorted(found, reverse=True)[:3]]


def between(text, begin, end):
    return text.partition(begin)[2].partition(end)[0]


@check("what CUPTI does")
def probe(tools):
    """Of each copy, with nothing of ours in between: what its documentation leaves open."""
    said = []
    for _, file, _ in one_of_each(tools):
        out = tools.run([tools.program("probe"), file], "probe", tools.libraries(), seconds=30)
        tools.keep("probe", file + "\n" + out)
        version = between(out, "\nversion ", " ")
        ahead = "requested" in between(out, "completed, ", "nothing runs")
        kept = "completed" not in between(out, "is kept back?", "cuptiActivityFlushAll")
        refused = [w for w in out.split("before cuInit:")[1].splitlines() if "Enable" in w and not w.endswith(": 0")]
        said.append(
            "API %s: %s a buffer ahead, %s back what lies beside something that runs%s"
            % (version, "asks for" if ahead else "does not ask for", "keeps" if kept else "does not keep", "; refuses: " + "; ".join(refused) if refused else "")
        )
    return " / ".join(said)


def ask_facts(tools, *words):
    """What facts.c prints: name -> number, the last word of a line."""
    out = tools.run([tools.program("facts"), *[str(w) for w in words]], "facts " + str(words[0]), tools.libraries(), seconds=60)
    tools.keep("facts", " ".join(str(w) for w in words) + "\n" + out)
    return {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in out.splitlines() if line[-1:].isdigit()}, out


@check("times of kernels, by CUPTI alone")
def clocks(tools):
    """By the default clock, which the shim relies on, all must be right; by one of the program's it takes note."""
    cnt, said = 2000 if tools.standin else 100000, []
    for api, file, _ in one_of_each(tools):
        words, wrong = [], {}
        for way, what in (("times", "its own clock"), ("late", "its own, after a context"), ("clock", "the program's")):
            if way == "clock" and api < 17:  # registers none
                continue
            got, _ = ask_facts(tools, way, file, cnt)
            wrong[way] = ["%d %s" % (got[k], k) for k in ("missing", "zero", "backwards", "foreign") if got.get(k)]
            words.append("%s: %s" % (what, " ".join(wrong[way]) or "none wrong"))
        text = "API %d, of %d kernels by %s" % (api, cnt, ", ".join(words))
        if wrong["times"] or wrong["late"]:
            raise Failed(text)
        said.append(text)
    return " / ".join(said)


@check("habits of CUPTI")
def habits(tools):
    """Each of them is the reason for something in the shim; none is an error, whatever the answer."""
    said = []
    for api, file, _ in one_of_each(tools):
        words = ["%s events without being asked" % ask_facts(tools, "events", file, 20)[0].get("unasked", "?")]
        for way, what in (("zeroed", "buffers taken for zeroed after cuptiUnsubscribe"), ("exit", "a flush from a destructor")):
            try:
                words.append("%s: %s" % (what, ask_facts(tools, way, file)[1].split("\n")[-2].rpartition(" ")[2]))
            except Failed as e:
                words.append("%s: %s" % (what, e))
        said.append("API %d: %s" % (api, "; ".join(words)))
    return " / ".join(said)


@check("addresses of cuGetProcAddress")
def addresses(tools):
    """A function that is not exported under any name of the table would be called unseen."""
    got, out = ask_facts(tools, "addresses")
    others = sorted({s.split()[1] for s in out.splitlines() if s.startswith("other ")})
    if others or not got["given"]:
        raise Failed("%d functions are not those that are exported: %s" % (len(others), " ".join(others[:8])))
    return "%d answers for %d names, all exported; %d names of the table are not there" % (
        got["given"], got["names"], got["names"] - got["exported"]
    )


@check("driver calls")
def driver(tools):
    report, out = ptx(tools)
    cupti = report.cupti()
    tools.truth(report, out, "calls", "activity", "joined", *([] if tools.standin else ["real"]))
    untold, cnt = report.untold()[1], report.untold()[0]
    return "%s; %s; %d of %d calls without CUPTI's id" % (cupti, report.sound(), untold, cnt)


@check("times")
def times(tools):
    """Kernels of 100 us by the GPU's clock; each between the call that asks for it and the end of the wait for all."""
    report, out = ptx(tools)
    elapsed = next(float(s.split()[1]) for s in out.splitlines() if s.startswith("elapsed"))
    rows = report.rows(
        "SELECT k.start, k.end, r.start FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.mangledName AND"
        " s.value = 'spin_us100_' JOIN CUPTI_ACTIVITY_KIND_RUNTIME r USING (correlationId) ORDER BY k.start",
        "CUPTI_ACTIVITY_KIND_KERNEL",
        "CUPTI_ACTIVITY_KIND_RUNTIME",
    )
    wait = report.rows(
        "SELECT r.end FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN StringIds s ON s.id = nameId AND value = 'cuEventSynchronize'",
        "CUPTI_ACTIVITY_KIND_RUNTIME",
    )
    if len(rows) != 20 or len(wait) != 1:
        raise Failed("%d kernels of 20, %d waits of 1" % (len(rows), len(wait)))
    length = sorted(end - start for start, end, _ in rows)
    before = min(start - call for start, _, call in rows)
    after = wait[0][0] - rows[-1][1]
    together = rows[-1][1] - rows[0][0]
    text = "a kernel of 100 us: %.1f to %.1f us; %d together %.1f us, events %.1f us" % (
        length[0] / 1e3, length[-1] / 1e3, len(rows), together / 1e3, elapsed / 1e3
    )
    text += "; begins %.1f us after its call, ends %.1f us before the wait" % (before / 1e3, after / 1e3)
    if length[0] < 98000 or length[10] > 130000:
        raise Failed("lengths: " + text)
    if before < -20000 or after < -20000:
        raise Failed("GPU and processor do not agree on the time: " + text)
    # The processor may have paused between the first event and the first kernel: then the events are further apart.
    if together > 1.1 * elapsed + 50000:
        raise Failed("CUDA's events measure something else: " + text)
    return text


@check("nodes of graphs")
def nodes(tools):
    report, out = ptx(tools, options=("--cuda-graph-trace=node",))
    report.cupti()
    tools.truth(report, out, "calls", "activity", "joined", "node", *([] if tools.standin else ["real"]))
    known = report.rows("SELECT count(*) FROM CUDA_GRAPH_NODE_EVENTS", "CUDA_GRAPH_NODE_EVENTS")
    return "%s; %d nodes have an origin" % (report.sound(), known[0][0] if known else 0)


@check("memory, events, unified memory")
def everything(tools):
    """Kinds of records that are asked for seldom: none may be refused, or break the others."""
    options = ["--cuda-%s=true" % o for o in ("memory-usage", "event-trace", "um-gpu-page-faults", "um-cpu-page-faults")]
    report, out = ptx(tools, options=options)
    report.cupti()
    tools.truth(report, out, "calls", "activity", "joined", *([] if tools.standin else ["real"]))
    tables = ["CUPTI_ACTIVITY_KIND_" + k for k in ("CUDA_EVENT", "SYNCHRONIZATION", "OVERHEAD", "JIT")]
    tables += ["CUDA_GPU_MEMORY_USAGE_EVENTS", "TARGET_INFO_GPU"]
    tables += ["TARGET_INFO_CUDA_" + t for t in ("DEVICE", "CONTEXT_INFO", "STREAM")]
    counts = ["%s %d" % (t, report.rows("SELECT count(*) FROM " + t, t)[0][0]) for t in tables if t in report.tables]
    refused = [d for d in report.diagnostics() if "CUPTI" in d]
    if refused:
        raise Failed("; ".join(refused))
    return "%s; %s" % (report.sound(), ", ".join(counts))


@check("a GPU that is never idle")
def busy(tools):
    """CUPTI keeps back a buffer in which something runs: the rest must not wait for it, nor stand twice."""
    report, out = ptx(tools, "ahead", "400" if tools.standin else "1500", options=("--cuda-flush-interval=200",))
    report.cupti()
    tools.truth(report, out, "calls", "activity", "joined", *([] if tools.standin else ["real"]))
    cnt, untold = report.untold()
    return "%s; %d of %d calls without CUPTI's id" % (report.sound(), untold, cnt)


@check("killed")
def killed(tools):
    report, out = ptx(tools, "killed", options=("--cuda-flush-interval=300",), want=137)
    report.cupti()
    tools.truth(report, out, "calls", "activity", "joined", *([] if tools.standin else ["real"]))
    return report.sound()


@check("a kernel that still runs at the end")
def endless(tools):
    report, _ = ptx(tools, "endless")
    report.cupti()
    kernels = sum(c for c, _ in report.kernels().values())
    lost = dict(report.lost())
    if set(lost) - {"GPU work: CUPTI does not know when it was"}:
        raise Failed("lost: %s" % lost)
    table = "CUPTI_ACTIVITY_KIND_KERNEL"
    negative = report.rows("SELECT count(*) FROM %s WHERE end <= start OR start <= 0" % table, table)
    if negative and negative[0][0]:
        raise Failed("%d kernels have no sensible times" % negative[0][0])
    return "%d kernels, %d without times" % (kernels, sum(lost.values()))


def finished(path):
    """The program need not wait until its report is whole."""
    return os.path.exists(path) and not os.path.exists(path + "-wal") and "ANALYSIS_DETAILS" in Report(path).tables


@check("LD_PRELOAD alone")
def preload(tools):
    path = tools.path("bare.sqlite")
    collector = {} if os.access(os.path.join(os.path.dirname(tools.shim), "sightline"), os.X_OK) else {"SIGHTLINE_COLLECTOR": tools.sightline}
    out = tools.run([tools.program("ptx")], "ptx", {"LD_PRELOAD": tools.shim, "SIGHTLINE_OUTPUT": path, **collector}, seconds=60)
    until = time.monotonic() + tools.left(20)
    while not finished(path) and time.monotonic() < until:
        time.sleep(0.05)
    if not finished(path):
        raise Failed("the report is not finished")
    report = Report(path)
    report.cupti()
    tools.truth(report, out, "activity", "joined", *([] if tools.standin else ["real"]))
    return report.sound()


@check("stacks of calls")
def stacks(tools):
    report, _ = ptx(tools, options=("--cudabacktrace=all",))
    report.cupti()
    rows = report.rows("SELECT count(DISTINCT id) FROM CUDA_CALLCHAINS", "CUDA_CALLCHAINS")
    if not rows or not rows[0][0]:
        raise Failed("no call has a stack")
    names = report.rows(
        "SELECT count(*) FROM CUDA_CALLCHAINS JOIN StringIds s ON s.id = symbol WHERE s.value = 'main'", "CUDA_CALLCHAINS"
    )
    return "%d stacks, %d frames of main" % (rows[0][0], names[0][0])

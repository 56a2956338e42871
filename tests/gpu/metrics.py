"""metrics.py: hardware metrics of loads whose intensity is known (intensity.c), and what only a GPU answers about PM sampling.

Each prints measured/expected. On the stand-ins the same commands run, and nothing is measured: the answer is "not measured".
"""
import os
import re
import shutil
import subprocess
import time

from tools import Failed, NotRun

CHECKS = []
MIB = 1 << 20
NS = 1000000000


def check(name):
    def add(function):
        CHECKS.append(("metrics, " + name, function))
        return function

    return add


class Load:
    """A load that was sampled: means of its metrics over the time in which nothing else ran."""

    def __init__(self, tools, words, options=(), hz=10000, trace="none", devices="all"):
        seconds = "0.3" if tools.standin else "3"
        words = [tools.program("intensity"), *[str(w) for w in words], seconds]
        if devices:
            options = ("--gpu-metrics-devices=" + devices, "--gpu-metrics-frequency=%d" % hz, *options)
        self.report, out = tools.profile(words, *options, trace=trace, seconds=60)
        tools.keep("intensity", " ".join(words) + "\n" + out)
        self.said = {line.split()[0]: int(line.split()[1]) for line in out.splitlines() if len(line.split()) == 2}
        self.standin = tools.standin
        sets = self.report.rows("SELECT source, chip, realHz, clocksLocked, reason FROM SL_GPU_METRIC_SETS", "SL_GPU_METRIC_SETS")
        if not sets:
            raise Failed("no hardware metrics: %s" % "; ".join(self.report.diagnostics()))
        self.source, self.chip, self.hz, self.locked, self.reason = sets[0]
        if devices and self.source != "pm":
            raise NotRun("no PM sampling here: %s" % self.reason)

    def seconds(self):
        return (self.said["to"] - self.said["from"]) / NS

    def values(self, name):
        """(begin in CLOCK_MONOTONIC, value) within the load."""
        return self.report.rows(
            "SELECT rawTimestamp, coalesce(exact, value) FROM GPU_METRICS JOIN TARGET_INFO_GPU_METRICS USING (typeId, metricId)"
            " WHERE metricName = '%s' AND typeId & 255 = 0 AND rawTimestamp BETWEEN %d AND %d ORDER BY 1" % (name, self.said["from"], self.said["to"]),
            "GPU_METRICS")

    def mean(self, name):
        found = [v for _, v in self.values(name)]
        if not found:
            raise Failed("%s: no samples" % name)
        return sum(found) / len(found)

    def total(self, name):
        found = [v for _, v in self.values(name)]
        return sum(found) * self.seconds() / (len(found) / self.hz) if found else 0

    def told(self, text, *expected):
        """expected: (what, measured, least, most)"""
        wrong = ["%s %.4g, not %.4g to %.4g" % (w, got, least, most) for w, got, least, most in expected if not least <= got <= most]
        said = "%s: %s" % (text, ", ".join("%s %.4g (%.4g to %.4g)" % e for e in expected))
        if self.standin:
            return "not measured (stand-in): " + text
        if wrong:
            raise Failed("%s: %s" % (text, "; ".join(wrong)))
        return said


ACTIVE, ISSUE = "SMs Active [Throughput %]", "SM Issue [Throughput %]"
READ, WRITE = "DRAM Read Bandwidth [Throughput %]", "DRAM Write Bandwidth [Throughput %]"
RX, TX = "PCIe RX Throughput [Throughput %]", "PCIe TX Throughput [Throughput %]"


def tensor(load):
    names = [r[0] for r in load.report.rows("SELECT metricName FROM TARGET_INFO_GPU_METRICS WHERE metricName LIKE 'Tensor Active%'", "TARGET_INFO_GPU_METRICS")]
    return load.mean(names[0]) if names else float("nan")


def around(value, share=0.1):
    return value * (1 - share), value * (1 + share)


def facts(tools, *prefix, short=False):
    limit = tools.left(60)
    done = subprocess.run([*prefix, tools.program("pm_facts"), "0", *(["short"] if short else [])], capture_output=True, text=True, check=False, timeout=limit,
                          env={**os.environ, **tools.given, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, cwd=tools.work)
    tools.keep("pm_facts", " ".join(prefix) + "\n" + done.stdout + done.stderr)
    if done.returncode < 0:
        raise Failed("pm_facts: signal %d" % -done.returncode)
    return done.stdout


@check("what PM sampling does")
def what_it_does(tools):
    """Context, first sample, cost of a value, bytes of a sample, overflow: by its calls alone."""
    out = facts(tools)
    refused = re.findall(r"^\S+ refused (.*)", out, re.M)
    if refused:
        raise NotRun("PM sampling: %s" % refused[0])
    first = re.findall(r"first-sample value SMs Active \[Throughput %\] (\S+)", out)
    said = re.findall(r"^((?:gpu|context|sampling|clock|evaluate|buffer|metrics) .*)", out, re.M)
    return "%s; SMs Active of first samples: %s%s" % ("; ".join(said), ", ".join(first), "; not measured (stand-in)" if tools.standin else "")


@check("who may sample")
def permission(tools):
    """PM sampling and GPM as root, with one capability, and as nobody."""
    if os.geteuid() or not shutil.which("setpriv"):
        raise NotRun("needs root and setpriv")
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    ways = {"root": [], "nobody": nobody + ["--bounding-set=-all"]}
    for cap in "perfmon", "sys_admin":
        ways["cap_" + cap] = nobody + ["--inh-caps=+" + cap, "--ambient-caps=+" + cap]
    said = []
    for way, prefix in ways.items():
        try:
            out = facts(tools, *prefix, short=True)
        except (OSError, Failed) as e:
            said.append("%s: %s" % (way, e))
            continue
        refused = re.findall(r"refused (.*)", out)
        said.append("%s: %s" % (way, refused[0] if refused else "samples" if "sampling " in out else "cannot run here"))
    return "PM sampling, " + "; ".join(said)


@check("a second sampler")
def second(tools):
    """What the calls of a second client answer, while sightline samples."""
    report = tools.path("first.sqlite")
    first = subprocess.Popen([tools.sightline, "profile", "-f", "true", "-t", "none", "--gpu-metrics-devices=all", "-o", report, "sleep", "8"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **tools.given}, start_new_session=True)
    try:
        time.sleep(1 if tools.standin else 4)
        out = facts(tools, short=True)
    finally:
        first.terminate()
        first.wait()
    refused = re.findall(r"^\S+ refused (.*)", out, re.M)
    return refused[0] if refused else "two processes sample at once%s" % ("; not measured (stand-in)" if tools.standin else "")


@check("idle")
def idle(tools):
    load = Load(tools, ["idle"])
    return load.told("a context alone", ("SMs Active", load.mean(ACTIVE), 0, 1))


@check("some of the SMs")
def some(tools):
    load = Load(tools, ["sms", 4])
    want = 400 / load.said["sms"]
    return load.told("kernels on 4 of %d SMs" % load.said["sms"], ("SMs Active", load.mean(ACTIVE), *around(want)))


@check("half of the time")
def half(tools):
    said = []
    for ms in (1000, 1) if not tools.standin else (1,):
        load = Load(tools, ["duty", ms])
        said.append(load.told("busy for half of each %d ms" % ms, ("SMs Active", load.mean(ACTIVE), *around(50, 0.2))))
    return "; ".join(said)


@check("copies in DRAM")
def copies(tools):
    load = Load(tools, ["copy", 4 if tools.standin else 2048], ["--gpu-metrics-set=file:" + bytes_file(tools)])
    want = load.said["bytes"]
    return load.told("%.0f GB/s each way" % (want / load.seconds() / 1e9), ("read/copied", load.total("DRAM Read [Bytes]") / want, 0.9, 1.1),
                     ("written/copied", load.total("DRAM Write [Bytes]") / want, 0.9, 1.1))


def bytes_file(tools):
    path = os.path.join(tools.work, "bytes.list")
    with open(path, "w", encoding="utf-8") as f:
        f.write("".join(n + "\n" for n in (ACTIVE, READ, WRITE, "L2 Hit Rate [%]", "DRAM Read [Bytes]", "DRAM Write [Bytes]", "PCIe RX [Bytes]", "PCIe TX [Bytes]")))
    return path


@check("reads of DRAM")
def reads(tools):
    load = Load(tools, ["read", 64 if tools.standin else 4096], ["--gpu-metrics-set=file:" + bytes_file(tools)])
    want = load.said["bytes"]
    return load.told("%.0f GB/s" % (want / load.seconds() / 1e9), ("read/asked for", load.total("DRAM Read [Bytes]") / want, 0.9, 1.1),
                     ("DRAM write %", load.mean(WRITE), 0, 3))


@check("reads of L2")
def cache(tools):
    load = Load(tools, ["read", 4], ["--gpu-metrics-set=file:" + bytes_file(tools)])
    hits = load.values("L2 Hit Rate [%]")
    return load.told("4 MiB again and again", ("DRAM read %", load.mean(READ), 0, 3),
                     ("L2 hits %", load.mean("L2 Hit Rate [%]") if hits else 100, 95, 100))


# Multiply-adds of half precision with sums of single precision, per clock and SM, by instructions of a warp.
FMAS = {"TU": 512, "GA100": 1024, "GA": 512, "AD": 512}


@check("tensor cores")
def tensors(tools):
    load = Load(tools, ["tensor"])
    clock = load.mean("GPC Clock Frequency [MHz]")
    rate = next((v for k, v in FMAS.items() if (load.chip or "").startswith(k)), None)
    share = 100 * load.said["fmas"] / load.seconds() / load.said["sms"] / clock / rate if rate else None
    # From Hopper on, instructions of a warp alone do not reach the peak.
    bounds = around(min(share, 100), 0.15) if share else (25, 100)
    return load.told("%.3g multiply-adds/s at %.0f MHz" % (load.said["fmas"] / load.seconds(), clock / 1e6), ("Tensor Active", tensor(load), *bounds),
                     ("SMs Active", load.mean(ACTIVE), 95, 100))


@check("multiply-adds alone")
def fmas(tools):
    load = Load(tools, ["fma"])
    return load.told("single precision", ("Tensor Active", tensor(load), 0, 1), ("SM Issue", load.mean(ISSUE), 80, 100))


@check("PCIe")
def bus(tools):
    said = []
    for way, full, other, name in (("htod", RX, TX, "PCIe RX [Bytes]"), ("dtoh", TX, RX, "PCIe TX [Bytes]")):
        load = Load(tools, [way])
        if not load.values(full):
            raise NotRun("no PCIe metrics on %s" % load.chip)
        said.append(load.told("%s, %.1f GB/s" % (way, load.said["bytes"] / load.seconds() / 1e9), (full.split(" T")[0], load.mean(full), 40, 100),
                              (other.split(" T")[0], load.mean(other), 0, 25)))
        raw = Load(tools, [way], ["--gpu-metrics-set=file:" + bytes_file(tools)])
        said.append(raw.told("payload", ("of %s" % name, raw.said["bytes"] / max(1, raw.total(name)), 0.75, 1)))
    return "; ".join(said)


@check("energy")
def energy(tools):
    load = Load(tools, ["tensor"], ["--gpu-health=10"])
    sums = {}
    for name, cnt, total, mean in load.report.rows(
            "SELECT name, count(value), sum(value), avg(value) FROM SL_COUNTER_SAMPLES JOIN SL_COUNTERS ON id = counterId"
            " WHERE name IN ('Energy', 'Power') AND scope = 'gpu' GROUP BY 1", "SL_COUNTERS", "SL_COUNTER_SAMPLES"):
        sums[name] = (cnt, total, mean)
    if set(sums) != {"Energy", "Power"}:
        raise NotRun("the GPU has no counter of energy, or no sensor of power")
    span = load.report.rows("SELECT (max(timestamp) - min(timestamp)) / 1e9 FROM SL_COUNTER_SAMPLES JOIN SL_COUNTERS ON id = counterId WHERE name = 'Energy'")[0][0]
    return load.told("over the whole run", ("J", sums["Energy"][1], *around(sums["Power"][2] * span, 0.1)))


@check("PM sampling against GPM")
def against_gpm(tools):
    pm, gpm = Load(tools, ["tensor"]), Load(tools, ["tensor"], ["--gpu-health=10"], devices=None, trace="cuda")
    if gpm.source != "gpm":
        raise NotRun("no GPM here")
    if tools.standin and not gpm.values(ACTIVE):
        return "not measured (stand-in)"
    return pm.told("GPM's values", ("SMs Active", pm.mean(ACTIVE), gpm.mean(ACTIVE) - 3, gpm.mean(ACTIVE) + 3),
                   ("Tensor Active", tensor(pm), tensor(gpm) - 3, tensor(gpm) + 3))


@check("what it costs kernels")
def costs_kernels(tools):
    """Multiply-adds in a second with and without, in turns; the clocks that sampling may lock."""
    with_it, without, locked = [], [], set()
    for _ in range(1 if tools.standin else 3):
        load = Load(tools, ["fma"])
        locked.add(load.locked)
        with_it.append(load.said["fmas"] / load.seconds())
        out = tools.run([tools.program("intensity"), "fma", "0.3" if tools.standin else "3"], "intensity", seconds=60)
        said = dict(line.split() for line in out.splitlines())
        without.append(int(said["fmas"]) / (int(said["to"]) - int(said["from"])) * NS)
    share = sorted(with_it)[len(with_it) // 2] / sorted(without)[len(without) // 2]
    return load.told("clocks locked: %s" % ", ".join(str(v) for v in locked), ("rate with/without", share, 0.99, 1.01))


@check("edges of samples")
def edges(tools):
    """The SMs become active with the sample in which the kernel begins: proves the clock."""
    load = Load(tools, ["duty", 20], trace="cuda", hz=10000)
    values = load.values(ACTIVE)
    zero = load.report.rows("SELECT rawTimestamp - timestamp FROM GPU_METRICS LIMIT 1")[0][0]
    begins = [r[0] + zero for r in load.report.rows("SELECT start FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY 1", "CUPTI_ACTIVITY_KIND_KERNEL")]
    ups = [at + int(NS / load.hz * (1 - v / 100)) for (_, low), (at, v) in zip(values, values[1:]) if low < 1 <= v]
    off = sorted(min((abs(u - b), u - b) for b in begins)[1] for u in ups) if begins else []
    if not off:
        return load.told("no edges")
    return load.told("of %d kernels, ns" % len(off), ("median", off[len(off) // 2], -20000 - NS / load.hz, 20000 + NS / load.hz))


@check("what it costs the machine")
def costs_machine(tools):
    """CPU time of sightline and sl-gpu, of a core, at rates; the program sleeps."""
    said = []
    for hz in (1000, 10000) if tools.standin else (1000, 10000, 50000):
        before, begin = os.times(), time.monotonic()
        load = Load(tools, ["idle"], hz=hz)
        after, span = os.times(), time.monotonic() - begin
        used = after.children_user - before.children_user + after.children_system - before.children_system
        said.append("%d Hz (%.0f): %.1f %%" % (hz, load.hz, 100 * used / span))
    return ("not measured (stand-in)" if tools.standin else ", ".join(said) + " of a core, with the program's start")

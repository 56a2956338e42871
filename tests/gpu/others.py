"""others.py: what needs more than a driver: programs of CUDA's runtime, Python packages, PyTorch; and what tracing costs."""
import collections
import json
import statistics

from ends import launches
from tools import Failed, NotRun, TRACE

FAMILIES, PACKAGES, TORCH, COST = [], [], [], []


def check(name, stage):
    def add(function):
        stage.append((name, function))
        return function

    return add


# ---- programs that say themselves what they did ----


def families(tools, runtime, threads, *options):
    command = [tools.program("families-" + runtime)]
    command += ["-t%d" % threads] if tools.standin else [str(threads)]
    if tools.standin and options:
        command.append("-g")
    report, out = tools.profile(command, *options, env=tools.libraries())
    mode = ["node"] if "--cuda-graph-trace=node" in options else []
    tools.truth(report, out, "activity", "partial", *mode, *([] if tools.standin else ["real", runtime]))
    return report.sound()


@check("families, shared runtime", FAMILIES)
def families_shared(tools):
    return families(tools, "shared", 1)


@check("families, static runtime", FAMILIES)
def families_static(tools):
    return families(tools, "static", 1)


@check("families, 4 threads", FAMILIES)
def families_threads(tools):
    return families(tools, "shared", 4)


@check("families, nodes of graphs", FAMILIES)
def families_nodes(tools):
    return families(tools, "shared", 1, "--cuda-graph-trace=node")


def own_kernel(tools, name, *modules):
    report, out = tools.profile(tools.script(name, *modules), seconds=150)
    kernels = report.kernels("shortName")
    for line in out.splitlines():
        words = line.split()
        if words and words[0] == "kernel" and kernels.get(words[1], (0,))[0] != int(words[2]):
            raise Failed("%s: %s rows, %s launches" % (words[1], kernels.get(words[1]), words[2]))
    return report.sound()


@check("CuPy", PACKAGES)
def cupy(tools):
    return own_kernel(tools, "cupy_work.py", "cupy")


@check("Triton", PACKAGES)
def triton(tools):
    return own_kernel(tools, "triton_work.py", "torch", "triton")


@check("JAX", PACKAGES)
def jax(tools):
    return own_kernel(tools, "jax_work.py", "jax")


# ---- PyTorch, against torch.profiler in a second run ----


def read_trace(path):
    with open(path, encoding="utf-8") as f:
        events = json.load(f)["traceEvents"]
    kernels, sums = {}, collections.Counter()
    for e in events:
        if e.get("cat") == "kernel":
            cnt, ns = kernels.get(e["name"], (0, 0))
            kernels[e["name"]] = (cnt + 1, ns + e["dur"] * 1000)
        elif e.get("cat") in ("gpu_memcpy", "gpu_memset"):
            kind = e["cat"][4:].upper()
            sums[kind, "count"] += 1
            sums[kind, "bytes"] += e.get("args", {}).get("bytes", 0)
    return kernels, sums


def same_kernels(got, want):
    """Names and numbers, exactly; else the first few that differ."""
    differ = sorted(n for n in set(got) | set(want) if got.get(n, (0,))[0] != want.get(n, (0,))[0])
    if differ:
        said = ["%s: %s, torch.profiler %s" % (n[:60], got.get(n, (0,))[0], want.get(n, (0,))[0]) for n in differ[:3]]
        total = sum(c for c, _ in got.values()), sum(c for c, _ in want.values())
        raise Failed("%d kernels, torch.profiler has %d; %d names differ: %s" % (*total, len(differ), "; ".join(said)))


def compared(report, kernels, sums):
    """Our kernel time as a part of torch.profiler's, and what there is to say; names and numbers must be the same."""
    got = report.kernels()
    if not kernels:
        raise NotRun("torch.profiler saw no kernels")
    same_kernels(got, kernels)
    for w in ("MEMCPY", "MEMSET"):
        if report.sums(w) != (sums[w, "count"], sums[w, "bytes"]):
            raise Failed("%s: %s, torch.profiler %s" % (w, report.sums(w), (sums[w, "count"], sums[w, "bytes"])))
    mine, theirs = sum(t for _, t in got.values()), sum(t for _, t in kernels.values())
    cnt, untold = report.untold()
    text = "%s; kernel time %.3f ms, %+.2f %%; %d of %d calls without CUPTI's id"
    return mine / theirs, text % (report.sound(), mine / 1e6, 100 * (mine / theirs - 1), untold, cnt)


def against_profiler(tools, kind, *options):
    script = tools.script("torch_work.py", "torch")
    run = {"seconds": 240 if kind == "compile" else 90}
    if kind == "compile":  # fills caches of compilers: both runs below find the same
        tools.run([*script, kind], "untraced " + kind, **run)
    said = []
    for _ in range(2):  # two runs of a GPU that has just woken up may differ by themselves
        trace = tools.path("trace.json")
        tools.run([*script, kind, trace], kind + " under torch.profiler", **run)
        report, _ = tools.profile([*script, kind], *options, **run)
        share, text = compared(report, *read_trace(trace))
        said.append(text)
        if abs(share - 1) <= 0.02:
            return "; again: ".join(said)
    raise Failed("kernels take more or less than 2 % longer: " + "; again: ".join(said))


for torch_kind, torch_options in (
    ("eager", ()),
    ("graphs", ("--cuda-graph-trace=node",)),
    ("loader", ()),
    ("ddp", ()),
    ("compile", ()),
):
    check("PyTorch, " + torch_kind, TORCH)(
        lambda tools, kind=torch_kind, options=torch_options: against_profiler(tools, kind, *options)
    )


def details(path):
    """What torch.profiler has of each kernel, times and ids apart: a field that nobody wrote shows."""
    with open(path, encoding="utf-8") as f:
        events = [e for e in json.load(f)["traceEvents"] if e.get("cat") == "kernel"]
    fields = ("grid", "block", "registers per thread", "shared memory")
    return collections.Counter((e["name"], *(str(e.get("args", {}).get(k)) for k in fields)) for e in events)


@check("PyTorch, torch.profiler twice in the traced program", TORCH)
def rival(tools):
    """It must get what it gets untraced, also from the second time on, and we must say what we lose."""
    script = tools.script("torch_work.py", "torch")
    alone, inside = tools.path("alone.json"), tools.path("inside.json")
    tools.run([*script, "twice", alone], "torch.profiler")
    report, _ = tools.profile([*script, "twice", inside])
    for turn in (".first", ""):
        want, got = details(alone + turn), details(inside + turn)
        if want != got:
            odd = ((got - want) or (want - got)).most_common(1)[0]
            counts = sum(got.values()), sum(want.values())
            raise Failed("torch.profiler sees %d kernels under tracing, %d alone; %d times %s" % (*counts, odd[1], " ".join(odd[0])))
    said = [d for d in report.diagnostics() if "CUPTI" in d or "GPU" in d]
    if not said:
        raise Failed("nothing is said of it: %s" % report.diagnostics())
    return said[0]


@check("PyTorch, reduce-overhead in a capture", TORCH)
def reduced(tools):
    """Its graphs are made long before: each launch must lead to what it did, or at least to a line that says why not."""
    script, said = tools.script("torch_work.py", "torch"), []
    tools.run([*script, "reduce"], "untraced reduce-overhead", seconds=240)  # fills the caches of compilers
    for node in (False, True):
        options = ["--capture-range=cudaProfilerApi", "--capture-range-end=stop"] + (["--cuda-graph-trace=node"] if node else [])
        report, _ = tools.profile([*script, "reduce"], *options, seconds=120)
        report.cupti()
        calls, rows = launches(report, node)
        if not calls:
            raise NotRun("no graphs are launched")
        said.append("%d launches of graphs, %d rows" % (calls, rows))
    return " / ".join(said)


@check("PyTorch, 20 exit statuses", TORCH)
def statuses(tools):
    """Destructors of its libraries run while CUPTI is flushed."""
    script = tools.script("torch_work.py", "torch")
    want = tools.run([*script, "short"], "untraced").splitlines()[0]
    runs = tools.several(4 if tools.standin else 20, [*script, "short"], "--cuda-flush-interval=20", trace="cuda", seconds=90)
    for report, out in runs:
        if out.splitlines()[0] != want:
            raise Failed("it prints %s, untraced %s" % (out.splitlines()[0], want))
        report.cupti()
        text = report.sound()
    return "%d times status 0; %s" % (len(runs), text)


# ---- overhead ----


def medians(tools, ways, rounds):
    """Interleaved rounds, so that a GPU that warms up or a machine that slows down hits all alike."""
    numbers = collections.defaultdict(list)
    for _ in range(1 if tools.standin else rounds):
        for name, command in ways:
            numbers[name].append(float(tools.run(command, name, tools.libraries()).split()[-1]))
    return {name: statistics.median(n) for name, n in numbers.items()}


def overhead(tools, command, profiler=None):
    report = tools.path("over.sqlite")
    trace = [tools.sightline, "profile", "-f", "true"]
    ways = [("untraced", command), ("sightline", [*trace, "-t", "cuda", "-o", report, *command])]
    ways.append(("sightline, all", [*trace, "-t", TRACE, "-o", report, *command]))
    if profiler:
        ways.append(("torch.profiler", profiler))
    if tools.nsys:
        ways.append(("nsys", [tools.nsys, "profile", "-f", "true", "-t", "cuda", "-s", "none", "-o", tools.path("nsys"), *command]))
    median = medians(tools, ways, 3 if profiler else 5)
    base = median["untraced"]
    text = "untraced %.0f ns; added: %s" % (
        base,
        ", ".join("%s %.0f ns (x %.3f)" % (n, m - base, m / base) for n, m in median.items() if n != "untraced"),
    )
    if median["sightline"] > median.get("torch.profiler", float("inf")):
        text = "more than torch.profiler: " + text
    return text + ("" if tools.nsys else "; nsys: not found")


@check("overhead, 5 us kernels from C", COST)
def overhead_c(tools):
    return overhead(tools, tools.script("", "") if tools.standin else [tools.program("loop"), "100000"])


@check("overhead, small kernels from PyTorch", COST)
def overhead_loop(tools):
    script = tools.script("torch_work.py", "torch")
    return overhead(tools, [*script, "loop"], [*script, "loop", tools.path("t.json")])


@check("overhead, training step", COST)
def overhead_step(tools):
    script = tools.script("torch_work.py", "torch")
    return overhead(tools, [*script, "step"], [*script, "step", tools.path("t.json")])

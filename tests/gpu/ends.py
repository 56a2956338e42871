"""ends.py: how programs begin and end, and captures of a part: checks that need no more than a driver."""
from first import one_of_each, ptx
from tools import Failed

CHECKS = []


def check(name):
    def add(function):
        CHECKS.append((name, function))
        return function

    return add


def whole(tools, report, out, *what):
    """Everything that the program counted is there, and nothing else."""
    report.cupti()
    tools.truth(report, out, "activity", "joined", *what, *([] if tools.standin else ["real"]))
    return report.sound()


@check("20 ends of a process")
def exits(tools):
    """Exit handlers and destructors that take long, while CUPTI is flushed often: it may not be called after its end."""
    runs = tools.several(6 if tools.standin else 20, [tools.program("ptx"), "slow"], "--cuda-flush-interval=10", trace="cuda", seconds=60)
    said = {whole(tools, report, out, "calls") for report, out in runs}
    return "%d times status 0; %s" % (len(runs), " / ".join(sorted(said)))


@check("_exit right after the work")
def leaves(tools):
    """In the child of a fork, as multiprocessing does."""
    return whole(tools, *ptx(tools, "leaves"), "calls")


@check("a context that nothing saw")
def unseen(tools):
    """CUPTI comes late: times must be of the right clock, and what is asked for from then on be there."""
    report, out = ptx(tools, "unseen")
    sound = whole(tools, report, out, "partial")
    strangers = []
    for table, condition in (("TARGET_INFO_GPU", "t.id = k.deviceId"), ("TARGET_INFO_CUDA_CONTEXT_INFO", "t.contextId = k.contextId")):
        sql = "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL k WHERE NOT EXISTS (SELECT 1 FROM %s t WHERE %s)" % (table, condition)
        rows = report.rows(sql, table)
        strangers.append(rows[0][0] if rows else "all")
    if strangers[0] or (strangers[1] and tools.standin and "(API 16)" not in report.cupti()):  # which dumps none
        raise Failed("%s kernels are of an unknown device, %s of an unknown context" % tuple(strangers))
    return sound + ("; %s kernels are of an unknown context" % strangers[1] if strangers[1] else "")


def launches(report, node):
    """Each launch of a graph leads to what it did, in the same order. An old CUPTI has nodes, whatever was asked for."""
    node = node or "CUPTI_ACTIVITY_KIND_GRAPH_TRACE" not in report.tables
    calls = report.rows(
        "SELECT correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds s ON s.id = nameId AND value GLOB 'cu*GraphLaunch*'"
        " ORDER BY start",
        "CUPTI_ACTIVITY_KIND_RUNTIME",
    )
    table = "CUPTI_ACTIVITY_KIND_" + ("KERNEL" if node else "GRAPH_TRACE")
    where = " WHERE graphNodeId IS NOT NULL" if node else ""
    work = report.rows("SELECT correlationId, count(*) FROM %s%s GROUP BY 1 ORDER BY min(start)" % (table, where), table)
    if [c for c, in calls] != [w for w, _ in work]:
        raise Failed("%d launches of graphs, %d have work; not the same, or in another order" % (len(calls), len(work)))
    return len(calls), sum(n for _, n in work)


def captures(tools, cnt, end):
    said = []
    for node in (False, True):
        options = ["--capture-range=cudaProfilerApi", "--capture-range-end=" + end] + (["--cuda-graph-trace=node"] if node else [])
        report, out = ptx(tools, "captures", str(cnt), options=options)
        try:
            sound = whole(tools, report, out, *(["node"] if node else []))
            said.append("%s; %d launches of graphs" % (sound, launches(report, node)[0]))
        except Failed as e:  # a bug of this CUPTI that nothing helps against
            warned = [d for d in report.diagnostics() if "from the second capture on" in d]
            if not warned or " in the report, " in str(e):
                raise
            said.append("%s; the report warns: %s" % (e, warned[0]))
    return " / ".join(said)


@check("a graph made before the capture")
def before(tools):
    return captures(tools, 1, "stop")


@check("two captures with graphs")
def twice(tools):
    return captures(tools, 2, "pause")


@check("known bugs of CUPTI")
def known(tools):
    """What the shim steps around, by version; and that all is there nevertheless."""
    copies, said = one_of_each(tools), []
    ways = [(c.api, {"SIGHTLINE_CUPTI": c.path}) for c in copies]
    if tools.standin:  # one library simulates them
        ways = [(v, {"STANDIN_CUPTI_VERSION": str(v)}) for v in (18, 22, 24, 28, 130001)]
    for api, env in ways:
        report, out = tools.profile([tools.program("ptx")], env=env, trace="cuda", seconds=60)
        cupti = report.cupti()
        if "(API %d)" % api not in cupti:
            raise Failed("API %d was asked for: %s" % (api, cupti))

        whole(tools, report, out, "calls")
        said.append("API %d: %s" % (api, "; ".join(report.avoided()) or "none"))
    return " / ".join(said)

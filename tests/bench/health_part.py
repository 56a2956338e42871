"""health_part.py - what samples of GPUs cost: CPU time of the collector and sl-gpu together, with that of the stand-ins for the
driver's libraries, as a share of one processor."""
import os
import resource
import subprocess
from statistics import median

from tracers import Broken, has_table, sqlite

SECONDS = 8
VARIANTS = (("hardware metrics of one GPU at 10 kHz", 1, ("--gpu-metrics-devices=all",), "<= 0.1"),
            ("the same of eight GPUs, at the rate that they get", 8, ("--gpu-metrics-devices=all",), "<= 0.2"),
            ("health of one GPU at 10 Hz", 1, ("--gpu-health=10", "--gpu-metrics-devices=none"), "<= 0.02"))


def cpu_of(argv, env):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def lost(report):
    return sqlite(report, "SELECT count(*) FROM SL_GPU_METRIC_GAPS")[0][0] if has_table(report, "SL_GPU_METRIC_GAPS") else 0


def part_health(bench, table):
    standin, report = os.path.join(bench.build, "tests/standin"), os.path.join(bench.tmp, "health.sqlite")
    for label, gpus, options, bar in VARIANTS:
        env = dict(os.environ, LD_LIBRARY_PATH="%s/nvml:%s" % (standin, standin), SIGHTLINE_CUPTI=standin + "/libcupti.so.13",
                   SL_STANDIN_NVML="gpus=%d" % gpus, STANDIN_DEVICES=str(gpus))
        argv = [bench.sightline, "profile", "-f", "true", "-t", "none", "--cpuctxsw=none", "-s", "none", "-o", report, *options,
                "sleep", str(SECONDS)]
        shares, gaps, rates = [], 0, []
        for _ in range(min(3, bench.rounds)):
            shares.append(cpu_of(argv, env) / SECONDS)
            gaps += lost(report)
            tables = [t for t in ("GPU_METRICS", "SL_COUNTER_SAMPLES") if has_table(report, t)]
            if not tables:
                raise Broken("%s: nothing was sampled" % label)
            rates.append(sum(sqlite(report, "SELECT count(*) FROM " + t)[0][0] for t in tables) / SECONDS)
        table.add("%s, %.0f values per second" % (label, median(rates)), 100 * median(shares), 100, "one processor", "%", bar)
        if "GPU_METRICS" in tables:
            table.add("gaps in that", gaps)

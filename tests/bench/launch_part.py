"""launch_part.py - what tracing a GPU program with CUPTI costs, in instructions, which are the same in every run.

On the stand-ins for NVIDIA's libraries, by callgrind. Counted is what libtrace.so and libtrace-cuda.so execute for a call, in
all threads: the hook, its record, buffers, the conversion of CUPTI's records. Not what the shim does for calls of the C
library that the stand-ins make, nor what CUPTI itself does, which is not known without a GPU. The collector's share, for the
same launches, is another process's.
"""
import collections
import os
import sqlite3

import callgrind
from tracers import Broken

QUERIES = ("cudaEventQuery", "cudaStreamQuery", "cudaStreamIsCapturing", "cudaGetLastError", "cudaGetDevice")
FEW, MANY = 1000, 5000
SHIM, GUEST = "libtrace.so", "libtrace-cuda.so"
# Called by the program, by libtrace-cuda.so, by the thread library.
ENTRIES = {"sl_gpu_forward", "host_record", "host_string", "sl_mono_ns", "sl_gpu_work_begun", "worker"}


def traced(bench, function, n, of_collector=False):
    """Runs the program under callgrind, or the collector; returns callgrind's file."""
    stand_ins = os.path.join(bench.build, "tests/standin")
    out, report = os.path.join(bench.tmp, "callgrind.out"), os.path.join(bench.tmp, "launch")
    program, count = [bench.bin("gpu_work"), function, str(n)], callgrind.command(out)
    tracer = [bench.sightline, "profile", "-f", "true", "-t", "cuda", "-o", report]
    if os.path.exists(out):
        os.remove(out)
    bench.command(count + tracer + program if of_collector else tracer + count + program,
                  env=dict(LD_LIBRARY_PATH=stand_ins, SIGHTLINE_CUPTI=os.path.join(stand_ins, "libcupti.so.13")))
    db = sqlite3.connect(report + ".sqlite")
    if function == "cudaLaunchKernel":
        kernels, = db.execute("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN CUPTI_ACTIVITY_KIND_RUNTIME "
                              "USING (correlationId)").fetchone()
        if kernels != n:
            raise Broken("%d of %d kernels lead to their launch" % (kernels, n))
    db.close()
    return out


def cost(bench, function):
    """Instructions per call of the shim's hook, of CUPTI's records in the shim, and in libtrace-cuda.so."""
    hook = records = guest = 0
    functions, entries = callgrind.per_call(lambda n: traced(bench, function, n), FEW, MANY)
    for f, instructions in functions.items():
        if f.library == GUEST:
            guest += instructions
        elif f.library == SHIM:
            entry = callgrind.entered_by(f, entries[SHIM] | ENTRIES)
            if entry == "sl_gpu_forward":
                hook += instructions
            elif entry in ENTRIES:
                records += instructions
    return hook, records, guest


def part_launch(bench, table):
    if not callgrind.available():
        print("  no valgrind: not measured")
        return
    hook, records, guest = cost(bench, "cudaLaunchKernel")
    ours = hook + records + guest
    table.add("instructions per launch with CUPTI on, in the program", ours, unit="instr.")
    table.add("  the hook and its record", hook, ours, "all", "instr.")
    table.add("  CUPTI's RUNTIME, DRIVER, KERNEL: conversion", guest, ours, "all", "instr.")
    table.add("  the same: into the ring", records, ours, "all", "instr.")
    for name in QUERIES:
        table.add("instructions per %s()" % name, sum(cost(bench, name)), ours, "a launch", "instr.")
    functions, _ = callgrind.per_call(lambda n: traced(bench, "cudaLaunchKernel", n, True), FEW, MANY)
    collector = collections.Counter()
    for f, instructions in functions.items():
        if f.library == "sightline":
            collector[f.source if f.source.startswith("gpu") else ""] += instructions
    match = collector["gpu_match.c"]
    table.add("collector, for a launch: all, SQLite included", sum(collector.values()), unit="instr.")
    table.add("  records to rows (decode/gpu)", sum(collector.values()) - collector[""], unit="instr.")
    table.add("  of these the match of calls and ids (gpu_match.c)", match, unit="instr.")


# ---- PyTorch's own: libkineto, with its allocations and strings ----

def kineto_run(bench, venv, n):
    stand_ins, out = os.path.join(bench.build, "tests/standin"), os.path.join(bench.tmp, "kineto.out")
    if os.path.exists(out):
        os.remove(out)
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kineto_work.py")
    bench.command(callgrind.command(out) + ["--instr-atstart=no", os.path.join(venv, "bin/python"), script, str(n)],
                  env=dict(LD_LIBRARY_PATH="%s/12:%s" % (stand_ins, stand_ins), HOME=bench.tmp, PYTHONWARNINGS="ignore",
                           OMP_NUM_THREADS="1", STANDIN_CUPTI_OUTER="1", STANDIN_CUPTI_LIES="none", STANDIN_CUPTI_VERSION="26",
                           STANDIN_CUDNN_VERSION="91002", STANDIN_NCCL_VERSION="22703"))
    return out


def part_kineto(bench, table):
    """BENCH_KINETO: a virtual environment of `make check-frameworks` with PyTorch for CUDA 12."""
    venv = os.environ.get("BENCH_KINETO")
    if not venv or not callgrind.available():
        print("  no BENCH_KINETO, or no valgrind: not measured")
        return
    ours = sum(cost(bench, "cudaLaunchKernel"))
    functions, _ = callgrind.per_call(lambda n: kineto_run(bench, venv, n), 500, 2500)
    own = everything = 0
    for f, instructions in functions.items():
        callers = f.callers.split("'")
        if f.library == "libtorch_cpu.so" and callers[0].startswith("libkineto::"):
            own += instructions
        if not f.library.startswith(("libcupti", "libcuda")) and any(c.startswith("libkineto::") for c in callers):
            everything += instructions
    if own <= 0:
        raise Broken("callgrind counted nothing of libkineto")
    table.add("instructions per launch in the program, CUPTI on", ours, everything, "libkineto", "instr.", "<= 0.5")
    table.add("  without what libkineto calls of others", ours, own, "libkineto's own code", "instr.")

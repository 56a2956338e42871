"""standin_work.py [KIND [TRACE]]: work for the stand-ins in the place of CuPy, JAX, PyTorch: so that the checks can be tried.

With TRACE it leaves there what torch.profiler would, and takes CUPTI as that does. The last line is a time in ns.
"""
import ctypes
import json
import os
import sys
import time

CNT = 25
cuda = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    result = getattr(cuda, name)(*arguments)
    if result:
        raise SystemExit("%s: %d" % (name, result))


def handle():
    return ctypes.c_void_p(0)


def work(launches):
    context, module, function, stream = handle(), handle(), handle(), handle()
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    call("cuModuleLoadData", ctypes.byref(module), b".version 6.3\n")
    call("cuModuleGetFunction", ctypes.byref(function), module, b"own_us20_")
    call("cuStreamCreate", ctypes.byref(stream), 1)
    begin = time.perf_counter_ns()
    for _ in range(launches):
        call("cuLaunchKernel", function, 1, 1, 1, 32, 1, 1, 0, stream, None, None)
        call("cuStreamSynchronize", stream)
    return (time.perf_counter_ns() - begin) / launches


def take_cupti():
    """As whoever profiles in the process does; the callback is never called."""
    cupti, subscriber = ctypes.CDLL(os.environ["SIGHTLINE_CUPTI"]), handle()
    result = cupti.cuptiSubscribe(ctypes.byref(subscriber), ctypes.cast(cupti.cuptiUnsubscribe, ctypes.c_void_p), None)
    if result:
        raise SystemExit("cuptiSubscribe: %d" % result)


def main():
    trace = sys.argv[2] if len(sys.argv) > 2 else None
    taken = work(CNT) if not trace else None
    if trace:
        call("cuInit", 0)
        take_cupti()
        taken = work(CNT)
        events = [{"cat": "kernel", "name": "own_us20_", "dur": 20.0}] * CNT
        with open(trace, "w", encoding="utf-8") as f:
            json.dump({"traceEvents": events}, f)
    print("kernel own_us20_ %d 0" % CNT)
    print(taken)


main()

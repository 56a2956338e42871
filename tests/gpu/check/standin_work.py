"""standin_work.py [KIND [TRACE]]: work for the stand-ins in the place of CuPy, JAX, PyTorch: so that the checks can be tried.

With TRACE it leaves there what torch.profiler would, and takes CUPTI as that does: from buffers of memory that was used
before. KIND twice profiles twice, reduce has a graph and a capture. The last line is a time in ns.
"""
import ctypes
import json
import os
import sys
import time

CNT = 25
GRAPHS = 4
KERNEL = 10  # CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
BYTES = 1 << 16
REQUESTED = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t), ctypes.POINTER(ctypes.c_size_t))
COMPLETED = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
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


class Profiler:
    """As torch.profiler does it: subscribes once; buffers hold whatever was there."""

    def __init__(self):
        self.cupti, self.subscriber, self.events, self.buffers = ctypes.CDLL(os.environ["SIGHTLINE_CUPTI"]), handle(), [], {}
        self.callbacks = REQUESTED(self.requested), COMPLETED(self.completed)
        # The callback is never called.
        self.do("Subscribe", ctypes.byref(self.subscriber), ctypes.cast(self.cupti.cuptiUnsubscribe, ctypes.c_void_p), None)

    def do(self, name, *arguments):
        result = getattr(self.cupti, "cupti" + name)(*arguments)
        if result:
            raise SystemExit("cupti%s: %d" % (name, result))

    def requested(self, buffer, size, most):
        memory = ctypes.create_string_buffer(b"\xaa" * BYTES, BYTES + 8)
        at = (ctypes.addressof(memory) + 7) & ~7
        self.buffers[at] = memory
        buffer[0], size[0], most[0] = at, BYTES, 0

    def completed(self, _context, _stream, buffer, _size, valid):
        record = ctypes.c_void_p(0)
        while self.cupti.cuptiActivityGetNextRecord(ctypes.c_void_p(buffer), ctypes.c_size_t(valid), ctypes.byref(record)) == 0:
            if ctypes.c_uint32.from_address(record.value).value != KERNEL:
                continue
            start, end = (ctypes.c_uint64 * 2).from_address(record.value + 16)
            grid = list((ctypes.c_uint32 * 3).from_address(record.value + 52))
            # Static shared memory: CUPTI does not write it where it is 0.
            shared = ctypes.c_uint32.from_address(record.value + 76).value
            name = ctypes.c_char_p.from_address(record.value + 104).value.decode()
            arguments = {"grid": grid, "shared memory": shared}
            self.events.append({"cat": "kernel", "name": name, "dur": (end - start) / 1000, "args": arguments})
        del self.buffers[buffer]

    def profile(self, launches):
        self.events = []
        self.do("ActivityRegisterCallbacks", *self.callbacks)
        self.do("ActivityEnable", KERNEL)
        taken = work(launches)
        self.do("ActivityFlushAll", 1)
        self.do("ActivityDisable", KERNEL)
        return taken

    def write(self, path):
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"traceEvents": self.events}, f)


def reduce():
    """A graph is made, and launched in a capture."""
    work(1)
    stream, function, graph, instance = handle(), handle(), handle(), handle()
    module = handle()
    call("cuModuleLoadData", ctypes.byref(module), b".version 6.3\n")
    call("cuModuleGetFunction", ctypes.byref(function), module, b"own_us20_")
    call("cuStreamCreate", ctypes.byref(stream), 1)
    call("cuStreamBeginCapture_v2", stream, 1)
    call("cuLaunchKernel", function, 1, 1, 1, 32, 1, 1, 0, stream, None, None)
    call("cuStreamEndCapture", stream, ctypes.byref(graph))
    call("cuGraphInstantiateWithFlags", ctypes.byref(instance), graph, ctypes.c_ulonglong(0))
    call("cuProfilerStart")
    for _ in range(GRAPHS):
        call("cuGraphLaunch", instance, stream)
    call("cuStreamSynchronize", stream)
    call("cuProfilerStop")


def main():
    kind = sys.argv[1] if len(sys.argv) > 1 else ""
    trace = sys.argv[2] if len(sys.argv) > 2 else None
    if kind == "reduce":
        reduce()
        return
    if trace:
        call("cuInit", 0)
        profiler = Profiler()
        taken = profiler.profile(CNT)
        if kind == "twice":
            profiler.write(trace + ".first")
            taken = profiler.profile(CNT)
        profiler.write(trace)
    else:
        taken = work(CNT)
    print("kernel own_us20_ %d 0" % CNT)
    print(taken)


main()

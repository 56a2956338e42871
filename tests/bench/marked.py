"""marked.py CALLS [ctypes] - what a call costs: of step(), which --python-step marks, of another function, and an open().

With "ctypes", step() is instead wrapped by hand in two calls of C through ctypes, as one would mark it without a tracer.
Figures: CPU ns of a step(), of a call of other(), of opening and closing a file."""
import ctypes
import os
import sys
import time


def step(i):
    return i


def other(i):
    return i


def by_hand(function):
    c = ctypes.PyDLL(None)
    begin, end = c.getppid, c.getppid
    begin.argtypes, end.argtypes = [ctypes.c_void_p], []
    begin.restype = end.restype = None

    def call(*args, **kwargs):
        begin(1)
        try:
            return function(*args, **kwargs)
        finally:
            end()

    return call


def time_of(function, calls):
    """CPU ns per call, the loop's own not counted."""
    begun = time.process_time_ns()
    for i in range(calls):
        function(i)
    called = time.process_time_ns()
    for i in range(calls):
        pass
    return (2 * called - begun - time.process_time_ns()) / calls


def opened(i):
    os.close(os.open("/dev/null", os.O_RDONLY))


calls = int(sys.argv[1])
if sys.argv[2:] == ["ctypes"]:
    step = by_hand(step)
figures = [min(time_of(f, n) for _ in range(5)) for f, n in ((step, calls), (other, calls), (opened, calls // 10))]
with open(os.environ["BENCH_OUT"], "a") as f:
    print(*figures, file=f)

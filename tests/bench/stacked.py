"""stacked.py N - N calls of os.pread() from 20 functions of Python, some of which stand on C. CPU time of one, ns."""
import os
import sys
import time

null = os.open("/dev/null", os.O_RDONLY)


def calls(n):
    pread, fd = os.pread, null
    begin = time.thread_time_ns()
    for _ in range(n):
        pread(fd, 1, 0)
    return (time.thread_time_ns() - begin) / n


def python(depth, n):
    return python(depth - 1, n) if depth else calls(n)


def through_c(depth, n):
    return list(map(through_c, [depth - 1], [n]))[0] if depth else python(13, n)


# <module>, through_c() four times, python() 14 times, calls(): 20; of C some more.
cost = through_c(3, int(sys.argv[1]))
with open(os.environ["BENCH_OUT"], "a") as f:
    print("%.1f" % cost, file=f)

"""python_sample.py SECONDS - two threads, each of which spends that much CPU time in known places: seven, two and one at 70, 20 and
10 per cent, a function that calls itself, a method, a generator, and C in between."""
import functools, sys, threading, time


def seven(n):
    s = 0
    for i in range(n):
        s += i * i  # line of seven
    return s


def two(n):
    s = 0
    for i in range(n):
        s += i * i  # line of two
    return s


def one(n):
    s = 0
    for i in range(n):
        s += i * i  # line of one
    return s


def steps(n):
    yield seven(70 * n)
    yield two(20 * n)
    yield one(10 * n)


class Worker:
    def method(self, n):
        for _ in steps(n):
            pass


def deep(n, depth, worker):
    if depth:
        deep(n, depth - 1, worker)
    else:
        # C calls Python back.
        functools.reduce(lambda _, m: worker.method(m), [n], 0)


def work(end):
    r, worker = 1, Worker()
    while time.thread_time() < end:
        # Never twice the same length: no lockstep with the clock that samples.
        r = (r * 1103515245 + 12345) & 0x7FFFFFFF
        deep(20 + (r >> 16) % 40, 5, worker)


if len(sys.argv) > 2:  # code that is made as it goes, and is gone again
    exec_end = time.thread_time() + float(sys.argv[1])
    i = 0
    while time.thread_time() < exec_end:
        i += 1
        space = {}
        exec("def made_%d(n):\n    s = 0\n    for i in range(n): s += i * i\n    return s\n" % (i % 7), space)
        space["made_%d" % (i % 7)](20000)
else:
    threads = [threading.Thread(target=work, args=(float(sys.argv[1]),)) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()

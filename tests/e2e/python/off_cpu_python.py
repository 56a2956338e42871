"""off_cpu_python.py - waits in functions of its own, and prints of each wait: its name, the monotonic time of its end, its length, ns."""
import functools, os, select, sys, threading, time

waits = []
mutex = threading.Lock()


def clocked(wait):
    def timed(*args):
        began = time.monotonic_ns()
        wait(*args)
        took = time.monotonic_ns() - began
        with mutex:
            waits.append((wait.__name__, began + took, took))

    return timed


@clocked
def sleeps():
    time.sleep(0.03)  # line of sleeps


@clocked
def polls():
    select.select([], [], [], 0.02)  # line of polls


@clocked
def locked(lock):
    with lock:  # line of locked
        pass


@clocked
def briefly():
    time.sleep(0.001)


@clocked
def reads(fd):
    os.read(fd, 1)  # line of reads


def inner(n):
    if n:
        inner(n - 1)
    else:
        # C calls Python back.
        functools.reduce(lambda _, wait: wait(), [sleeps], 0)


class Poller(threading.Thread):
    def run(self):
        for _ in range(8):
            polls()


def hold(lock, held, fd):
    for _ in range(4):
        with lock:
            held.release()
            time.sleep(0.05)
        held.acquire()
        time.sleep(0.05)
        os.write(fd, b"x")


def steps():
    for _ in range(6):
        inner(5)
        yield briefly()


def main():
    lock, held = threading.Lock(), threading.Semaphore(0)
    r, w = os.pipe()
    others = [Poller(), threading.Thread(target=hold, args=(lock, held, w))]
    for t in others:
        t.start()
    for _ in range(4):
        held.acquire()
        locked(lock)
        held.release()
        reads(r)
    for _ in steps():
        pass
    for t in others:
        t.join()
    for wait in waits:
        print(*wait)


main()

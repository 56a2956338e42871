"""Threads of Python that wait in many ways, for ever: dump_threads.py prints "ready" when they are about to."""
import functools
import os
import queue
import socket
import subprocess
import threading
import time

lock = threading.Lock()
end = threading.Event()


class Worker:
    def __init__(self, depth):
        self.depth = depth

    def run(self):
        if self.depth:
            self.depth -= 1
            return self.run()
        return queue.Queue().get()

    @staticmethod
    def sleep():
        time.sleep(1000)


def generator():
    yield 1
    with lock:
        yield 2


def takes():
    return [x for x in generator()]


def decorated(f):
    @functools.wraps(f)
    def inner(*args):
        return f(*args)
    return inner


@decorated
@decorated
def waits():
    end.wait()


def reads():
    os.read(os.pipe()[0], 1)


def receives():
    a, b = socket.socketpair()
    try:
        raise ValueError
    except ValueError:
        a.recv(1)
    finally:
        b.close()


def child():
    subprocess.run(["sleep", "1000"], check=True)


lock.acquire()
targets = [Worker(5).run, Worker(0).sleep, takes, waits, reads, receives, child, lambda: max([1], key=lambda x: lock.acquire())]
for target in targets:
    threading.Thread(target=target, daemon=True).start()
print("ready", flush=True)
end.wait()

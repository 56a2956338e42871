"""Threads of Python that compute, sleep, wait and call back: prints "ready" and the numbers of its threads by their identities, as JSON."""
import asyncio
import functools
import json
import queue
import threading
import time

ids, lock, items = {}, threading.Lock(), queue.Queue()


def deep(n):
    return deep(n - 1) if n else sum(x for x in range(50))


def computes():
    while True:
        deep(6)


class Node:
    def __init__(self, depth):
        self.next = Node(depth - 1) if depth else None

    def __lt__(self, other):
        time.sleep(0.0002)
        return id(self) < id(other)

    @property
    def depth(self):
        return 1 + (self.next.depth if self.next else 0)


def sorts():
    while True:
        sorted([Node(2) for _ in range(5)])


def generates():
    def numbers(n):
        if n:
            yield from numbers(n - 1)
        time.sleep(0.0005)
        yield n
    while True:
        list(numbers(4))


def decorated(f):
    @functools.wraps(f)
    def inner(*args):
        return f(*args)
    return inner


@decorated
def puts():
    while True:
        items.put(max([3, 1], key=lambda x: Node(x).depth))
        time.sleep(0.001)


def gets():
    while True:
        with lock:
            items.get()


def fails():
    while True:
        try:
            raise ValueError(
                "of "
                "several lines")
        except ValueError:
            time.sleep(
                0.0007)
        finally:
            deep(2)


async def naps(n):
    if n:
        await naps(n - 1)
    else:
        await asyncio.sleep(0.0005)
        deep(3)


async def tasks():
    while True:
        await asyncio.gather(naps(3), naps(1))


def run(target):
    ids[threading.get_ident()] = threading.get_native_id()
    target()


ids[threading.get_ident()] = threading.get_native_id()
targets = [computes, computes, sorts, generates, puts, gets, gets, fails, lambda: asyncio.run(tasks())]
for each in targets:
    threading.Thread(target=run, args=(each,), daemon=True).start()
while len(ids) <= len(targets):
    time.sleep(0.01)
print("ready " + json.dumps(ids), flush=True)
while True:
    time.sleep(0.002)
    Node(3)

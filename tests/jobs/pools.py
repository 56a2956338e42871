"""Pools and loaders of data: pools.py KIND bad|good."""
import concurrent.futures
import hashlib
import multiprocessing
import pickle
import queue
import sys
import threading
import time

KIND, BAD = sys.argv[1], sys.argv[2] == "bad"


def decode(i):
    x = b"%d" % i
    for _ in range(30000 if BAD else 300):
        x = hashlib.md5(x).digest()  # CULPRIT decode
    return x


def fetch(i):
    time.sleep(0.03)  # CULPRIT fetch
    return i


def load(tasks, results, item):
    while (i := tasks.get()) is not None:
        results.put(item(i))


def loader(item, workers, n=24):
    """As DataLoader does: index queues in, one queue of results out, batches used one by one."""
    tasks, results = multiprocessing.Queue(), multiprocessing.Queue()
    team = [multiprocessing.Process(target=load, args=(tasks, results, item)) for _ in range(workers)]
    for p in team:
        p.start()
    for i in range(n):
        tasks.put(i)
    for _ in range(n):
        results.get()
        time.sleep(0.001)
    for p in team:
        tasks.put(None)
    for p in team:
        p.join()


def prepare():
    time.sleep(0.5 if BAD else 0.01)  # CULPRIT prepare


def first():
    """Workers that read an index before their first item."""
    with multiprocessing.Pool(2, prepare) as pool:
        pool.map(abs, range(8))


def one():
    """A pool of one thread, and requests that could overlap."""
    with concurrent.futures.ThreadPoolExecutor(1 if BAD else 16) as pool:
        list(pool.map(fetch, range(16)))


def count(table, i):
    return len(table) + i


def large():
    """The same table is pickled with each task."""
    table = list(range(400000)) if BAD else list(range(400))
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        for f in [pool.submit(count, table, i) for i in range(12)]:
            f.result()


def crunch(n):
    x = 0
    for i in range(n):
        x = (x * 31 + i) & 0xffff  # CULPRIT crunch
    return x


def gil():
    """Threads that compute."""
    team = [threading.Thread(target=crunch, args=(2500000 if BAD else 25000,)) for _ in range(3)]
    for t in team:
        t.start()
    for t in team:
        t.join()


def poll():
    """The consumer asks again and again, with a pause."""
    q = queue.Queue()

    def produce():
        for i in range(12):
            time.sleep(0.002)
            q.put(i)
    threading.Thread(target=produce).start()
    got = 0
    while got < 12:
        if not BAD:
            q.get()
            got += 1
            continue
        try:
            q.get_nowait()
            got += 1
        except queue.Empty:
            time.sleep(0.05)  # CULPRIT poll


def straggler(i):
    time.sleep(0.6 if i == 7 and BAD else 0.01)  # CULPRIT straggler
    return i


def last():
    """One task is much longer, and comes last."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(straggler, range(8)))


def copies():
    """A deep copy by pickle of what is only read."""
    table = {i: [str(i)] * 3 for i in range(20000)}
    n = 0
    for _ in range(20):
        n += len(pickle.loads(pickle.dumps(table)) if BAD else table)  # CULPRIT copies
    return n


if __name__ == "__main__":
    {"decode": lambda: loader(decode, 2), "narrow": lambda: loader(fetch, 1 if BAD else 6), "first": first, "one": one, "large": large,
     "gil": gil, "poll": poll, "last": last, "copies": copies}[KIND]()
    print("done")

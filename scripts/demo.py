#!/usr/bin/env python3
"""A small data loader: four forked workers read files, share a lock, and sometimes wait.

It is what `make demo` traces: enough of everything that a report shows, and nothing that needs installing.
"""
import hashlib
import multiprocessing
import os
import sys
import tempfile
import threading
import time

FILES = 400
WORKERS = 4
BYTES = 16384


def load(folder, numbers, lock, results, name):
    """Reads its share of the files; every tenth hash is taken under the lock that all share."""
    done = 0
    for n in numbers:
        with open(os.path.join(folder, "sample-%03d.bin" % n), "rb") as sample:
            data = sample.read()
        if n % 10 == 0:
            with lock:
                hashlib.sha256(data * 20).hexdigest()
        else:
            hashlib.sha256(data).hexdigest()
        if n % 50 == 0:
            time.sleep(0.005)
        done += len(data)
    results.put((name, done))


def heartbeat(stop):
    """A thread that does nothing but wait, as most programs have some."""
    while not stop.wait(0.02):
        pass


def main():
    stop = threading.Event()
    thread = threading.Thread(target=heartbeat, args=(stop,))
    context = multiprocessing.get_context("fork")
    lock, results = context.Lock(), context.Queue()

    with tempfile.TemporaryDirectory() as folder:
        for n in range(FILES):
            with open(os.path.join(folder, "sample-%03d.bin" % n), "wb") as sample:
                sample.write(os.urandom(BYTES))
        workers = [
            context.Process(target=load, args=(folder, range(w, FILES, WORKERS), lock, results, "worker %d" % w))
            for w in range(WORKERS)
        ]
        for worker in workers:
            worker.start()
        thread.start()
        read = dict(results.get() for _ in workers)
        for worker in workers:
            worker.join()
        stop.set()
        thread.join()
    for name in sorted(read):
        print("%s read %d bytes" % (name, read[name]))
    return 0 if sum(read.values()) == FILES * BYTES and not any(w.exitcode for w in workers) else 1


if __name__ == "__main__":
    sys.exit(main())

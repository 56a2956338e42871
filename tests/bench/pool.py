"""pool.py DIR FILES [WORKERS [SECONDS]] - forked workers (4; 0: this process alone) open and read FILES files of 4 KiB
(made here when missing), once or again and again for SECONDS.

Figures: wall ns per file, CPU ns per file (this process and its workers), the monotonic clock at the end in seconds."""
import multiprocessing
import os
import resource
import sys
import time

SIZE = 4096
folder, count = sys.argv[1], int(sys.argv[2])
workers, seconds = int((sys.argv[3:] or [4])[0]), float((sys.argv[4:] or [0])[0])


def name(i):
    return "%s/%05d" % (folder, i)


def load(i):
    with open(name(i), "rb") as f:
        return len(f.read())


def cpu():
    total = 0
    for who in resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN:
        r = resource.getrusage(who)
        total += r.ru_utime + r.ru_stime
    return total


def passes(load_all):
    """Bytes and files."""
    got = files = 0
    end = time.monotonic() + seconds
    while not files or time.monotonic() < end:
        got += sum(load_all(range(count)))
        files += count
    return got, files


if not os.path.exists(name(count - 1)):
    os.makedirs(folder, exist_ok=True)
    for i in range(count):
        with open(name(i), "wb") as f:
            f.write(b"x" * SIZE)

begun = time.perf_counter()
if workers:
    with multiprocessing.get_context("fork").Pool(workers) as pool:
        got, files = passes(lambda numbers: pool.imap_unordered(load, numbers, 16))
        pool.close()
        pool.join()
else:
    got, files = passes(lambda numbers: map(load, numbers))
wall = time.perf_counter() - begun
assert got == SIZE * files
line = "%.9g %.9g %.9f\n" % (wall / files * 1e9, cpu() / files * 1e9, time.monotonic())
if "BENCH_OUT" in os.environ:
    with open(os.environ["BENCH_OUT"], "a") as out:
        out.write(line)
else:
    print(line, end="")

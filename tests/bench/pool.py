"""pool.py DIR FILES - four forked workers open and read FILES files of 4 KiB (made here when missing).

Figures: wall ns per file, CPU ns per file (this process and its workers), files."""
import multiprocessing
import os
import resource
import sys
import time

SIZE = 4096
folder, count = sys.argv[1], int(sys.argv[2])


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


if not os.path.exists(name(count - 1)):
    os.makedirs(folder, exist_ok=True)
    for i in range(count):
        with open(name(i), "wb") as f:
            f.write(b"x" * SIZE)

begun = time.perf_counter()
with multiprocessing.get_context("fork").Pool(4) as pool:
    got = sum(pool.imap_unordered(load, range(count), 16))
    pool.close()
    pool.join()
wall = time.perf_counter() - begun
assert got == SIZE * count
line = "%.9g %.9g %d\n" % (wall / count * 1e9, cpu() / count * 1e9, count)
if "BENCH_OUT" in os.environ:
    with open(os.environ["BENCH_OUT"], "a") as out:
        out.write(line)
else:
    print(line, end="")

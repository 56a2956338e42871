"""A task of a pool of processes computes; the main thread waits for it. reason: COMPUTE"""
import multiprocessing as mp
import sys

BAD = sys.argv[1] == "bad"


def task(i):
    if BAD and i == 3:
        return sum(k % 3 for k in range(3000000)) // 3000000 + i - 1  # CULPRIT
    return i


if __name__ == "__main__":
    with mp.Pool(2) as pool:
        print(sum(pool.map(task, range(8), chunksize=1)))

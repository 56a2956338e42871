"""Small tasks of a pool of processes are sent one by one. reason: COMPUTE"""
import multiprocessing as mp
import sys

BAD = sys.argv[1] == "bad"


def task(i):
    return i * i % 7


if __name__ == "__main__":
    with mp.Pool(2) as pool:
        print(sum(pool.map(task, range(6000), chunksize=1 if BAD else 1000)))  # CULPRIT

"""A task of a pool of threads waits; the main thread waits for it. reason: SLEEP"""
import concurrent.futures as cf
import sys
import time

BAD = sys.argv[1] == "bad"


def task(i):
    if BAD and i == 5:
        time.sleep(0.4)  # CULPRIT
    return i


with cf.ThreadPoolExecutor(3) as pool:
    print(sum(pool.map(task, range(12))))

"""A process that produces for a queue waits before each item. reason: SLEEP"""
import multiprocessing as mp
import sys
import time

BAD = sys.argv[1] == "bad"


def produce(queue):
    for i in range(25):
        if BAD:
            time.sleep(0.02)  # CULPRIT
        queue.put(i)


if __name__ == "__main__":
    queue = mp.Queue()
    p = mp.Process(target=produce, args=(queue,))
    p.start()
    total = sum(queue.get() for _ in range(25))
    p.join()
    print(total)

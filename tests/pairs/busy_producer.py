"""A process that produces for a queue computes before each item. reason: COMPUTE"""
import multiprocessing as mp
import sys

BAD = sys.argv[1] == "bad"


def item(i):
    if BAD:
        return sum(k % 7 for k in range(150000)) // 150000 + i  # CULPRIT
    return 2 + i


def produce(queue):
    for i in range(25):
        queue.put(item(i))


if __name__ == "__main__":
    queue = mp.Queue()
    p = mp.Process(target=produce, args=(queue,))
    p.start()
    total = sum(queue.get() for _ in range(25))
    p.join()
    print(total)

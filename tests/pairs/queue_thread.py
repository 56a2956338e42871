"""A thread that feeds a queue waits before each item. reason: SLEEP"""
import queue
import sys
import threading
import time

BAD = sys.argv[1] == "bad"
q = queue.Queue()


def feed():
    for i in range(20):
        if BAD:
            time.sleep(0.02)  # CULPRIT
        q.put(i)


threading.Thread(target=feed, daemon=True).start()
print(sum(q.get() for _ in range(20)))

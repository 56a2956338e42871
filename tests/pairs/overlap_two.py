"""Two threads load at once; the slower one is the culprit, the other is nearly as slow. reason: SLEEP"""
import sys
import threading
import time

BAD = sys.argv[1] == "bad"


def slow():
    for _ in range(20):
        if BAD:
            time.sleep(0.02)  # CULPRIT


def other():
    for _ in range(20):
        time.sleep(0.012)


threads = [threading.Thread(target=f) for f in (slow, other)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print("done")

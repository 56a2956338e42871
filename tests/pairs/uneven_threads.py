"""One of four threads has most of the waits. reason: SLEEP"""
import sys
import threading
import time

BAD = sys.argv[1] == "bad"
parts = (0.02, 0.02, 0.02, 0.4) if BAD else (0.115,) * 4


def work(s):
    for _ in range(4):
        time.sleep(s / 4)  # CULPRIT


threads = [threading.Thread(target=work, args=(s,)) for s in parts]
for t in threads:
    t.start()
for t in threads:
    t.join()
print("done")

"""The result of a thread is looked for each 40 ms, where 1 ms would do. reason: SLEEP"""
import sys
import threading
import time

BAD = sys.argv[1] == "bad"
ready = []


def work():
    time.sleep(0.045)
    ready.append(1)


for i in range(8):
    ready.clear()
    t = threading.Thread(target=work)
    t.start()
    while not ready:
        time.sleep(0.04 if BAD else 0.001)  # CULPRIT
    t.join()
print("done")

"""A result is polled for with a long period. reason: SLEEP"""
import sys
import threading
import time

BAD = sys.argv[1] == "bad"
ready = []


def work():
    time.sleep(0.02)
    ready.append(1)


for i in range(4):
    ready.clear()
    t = threading.Thread(target=work)
    t.start()
    while not ready:
        time.sleep(0.15 if BAD else 0.005)  # CULPRIT
    t.join()
print("done")

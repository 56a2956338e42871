"""A thread holds a lock while it sleeps. reason: SLEEP"""
import sys
import threading
import time

BAD = sys.argv[1] == "bad"
lock = threading.Lock()


def refresh():
    for _ in range(10):
        with lock:
            if BAD:
                time.sleep(0.03)  # CULPRIT
        if not BAD:
            time.sleep(0.03)
        time.sleep(0.001)


t = threading.Thread(target=refresh, daemon=True)
t.start()
time.sleep(0.005)
for _ in range(10):
    with lock:
        pass
    time.sleep(0.002)
print("done")

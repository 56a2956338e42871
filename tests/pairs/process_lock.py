"""A worker process holds a lock of multiprocessing while it sleeps. reason: SLEEP"""
import multiprocessing as mp
import sys
import time

BAD = sys.argv[1] == "bad"


def refresh(lock, started):
    started.set()
    for _ in range(12):
        with lock:
            if BAD:
                time.sleep(0.03)  # CULPRIT
        if not BAD:
            time.sleep(0.03)
        time.sleep(0.002)


if __name__ == "__main__":
    lock, started = mp.Lock(), mp.Event()
    p = mp.Process(target=refresh, args=(lock, started), daemon=True)
    p.start()
    started.wait()
    time.sleep(0.005)
    for _ in range(12):
        with lock:
            pass
        time.sleep(0.003)
    print("done")

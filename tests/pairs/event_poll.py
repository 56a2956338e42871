"""The main thread looks every 10 ms for the result of a thread that waits. reason: SLEEP"""
import sys
import threading
import time

BAD = sys.argv[1] == "bad"


def work(done):
    if BAD:
        time.sleep(0.377)  # CULPRIT
    done.set()


done = threading.Event()
threading.Thread(target=work, args=(done,)).start()
while not done.wait(0.01):
    pass
print("done")

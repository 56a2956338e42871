"""A thread is joined that still has to wait. reason: SLEEP"""
import sys
import threading
import time

BAD = sys.argv[1] == "bad"


def save():
    if BAD:
        time.sleep(0.3)  # CULPRIT


t = threading.Thread(target=save)
t.start()
t.join()
print("saved")

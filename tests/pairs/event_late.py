"""An event is set late. reason: SLEEP"""
import sys
import threading
import time

BAD = sys.argv[1] == "bad"
go = threading.Event()


def prepare():
    if BAD:
        time.sleep(0.35)  # CULPRIT
    go.set()
    if not BAD:
        time.sleep(0.35)


threading.Thread(target=prepare, daemon=True).start()
go.wait()
print("went")

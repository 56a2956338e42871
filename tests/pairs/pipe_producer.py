"""A child that writes into a pipe waits before each line. reason: SLEEP"""
import os
import sys
import time

BAD = sys.argv[1] == "bad"
r, w = os.pipe()
if os.fork() == 0:
    os.close(r)
    with os.fdopen(w, "w") as out:
        for i in range(20):
            if BAD:
                time.sleep(0.02)  # CULPRIT
            out.write("line %d\n" % i)
            out.flush()
    os._exit(0)
os.close(w)
with os.fdopen(r) as lines:
    print(sum(len(line) for line in lines))
os.wait()

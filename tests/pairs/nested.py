"""A chain: the main thread waits for a thread that waits for a child that computes. reason: COMPUTE"""
import subprocess
import sys
import threading

BAD = sys.argv[1] == "bad"
out = []


def convert():
    if BAD:
        out.append(subprocess.check_output(["awk", "BEGIN { for (i = 0; i < 4000000; i++) n++; print n }"]))  # CULPRIT
    else:
        out.append(b"4000000\n")


t = threading.Thread(target=convert)
t.start()
t.join()
print(out)

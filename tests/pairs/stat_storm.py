"""Each of many steps looks a path up that does not change. reason: KERNEL"""
import os
import sys

BAD = sys.argv[1] == "bad"
path = "/usr/lib/" + "../lib/" * 200
n, known = 0, os.stat(path).st_ino
for i in range(12000):
    if BAD:
        n += os.stat(path).st_ino == known  # CULPRIT
    else:
        n += 1
print(n)

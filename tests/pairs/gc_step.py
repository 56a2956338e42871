"""The garbage collector runs in each step. reason: COMPUTE"""
import gc
import sys

BAD = sys.argv[1] == "bad"
kept = [[i] for i in range(300000)]
n = 0
for step in range(30):
    n += len(kept[step])
    if BAD:
        gc.collect()  # CULPRIT
print(n)

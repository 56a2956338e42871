"""An event loop polls with a timeout for what nobody sends. reason: POLL"""
import os
import select
import sys

BAD = sys.argv[1] == "bad"
r, w = os.pipe()
n = 0
for _ in range(5):
    n += len(select.select([r], [], [], 0.1 if BAD else 0)[0])  # CULPRIT
print(n)

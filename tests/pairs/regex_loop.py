"""A regular expression backtracks in a loop. reason: COMPUTE"""
import re
import sys

BAD = sys.argv[1] == "bad"
slow, fast = re.compile(r"(a+)+b"), re.compile(r"a+b")
texts = ["a" * 17 + "c"] * 20
found = 0
for t in texts:
    if BAD:
        found += slow.search(t) is not None  # CULPRIT
    else:
        found += fast.search(t) is not None
print(found)

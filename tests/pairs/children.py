"""Children run one after the other. reason: SLEEP"""
import subprocess
import sys

BAD = sys.argv[1] == "bad"
if BAD:
    codes = [subprocess.call(["sleep", "0.2"]) for _ in range(3)]  # CULPRIT
else:
    codes = [p.wait() for p in [subprocess.Popen(["sleep", "0.2"]) for _ in range(3)]]
print(codes)

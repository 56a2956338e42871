"""A child computes what is known already. reason: COMPUTE"""
import subprocess
import sys

BAD = sys.argv[1] == "bad"
total = 0
for _ in range(2):
    if BAD:
        total += int(subprocess.check_output(["awk", "BEGIN { for (i = 0; i < 2000000; i++) n++; print n }"]))  # CULPRIT
    else:
        total += 2000000
print(total)

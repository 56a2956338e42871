"""A file is written again and again in the kernel. reason: KERNEL"""
import os
import sys
import tempfile

BAD = sys.argv[1] == "bad"
data = b"x" * (1 << 22)
with tempfile.TemporaryFile(dir=".") as f:
    for i in range(100 if BAD else 1):
        os.pwrite(f.fileno(), data, 0)  # CULPRIT
    print(os.fstat(f.fileno()).st_size)

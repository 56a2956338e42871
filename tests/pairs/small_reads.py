"""A file is read in pieces of 64 bytes. reason: KERNEL"""
import os
import sys
import tempfile

BAD = sys.argv[1] == "bad"
with tempfile.NamedTemporaryFile(dir=".") as f:
    f.write(b"x" * (1 << 24))
    f.flush()
    fd, got = os.open(f.name, os.O_RDONLY), 0
    while True:
        piece = os.read(fd, 64 if BAD else 1 << 20)  # CULPRIT
        if not piece:
            break
        got += len(piece)
print(got)

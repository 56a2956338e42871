"""Each line is brought to the disk. reason: FSYNC"""
import os
import sys
import tempfile

BAD = sys.argv[1] == "bad"
with tempfile.NamedTemporaryFile("w", dir=".") as f:
    for i in range(300):
        f.write("line %d\n" % i)
        if BAD:
            f.flush()
            os.fsync(f.fileno())  # CULPRIT
    f.flush()
    print(os.fstat(f.fileno()).st_size)

"""Compression and streams: pack.py KIND bad|good."""
import bz2
import gzip
import io
import os
import subprocess
import sys
import zlib

KIND, BAD = sys.argv[1], sys.argv[2] == "bad"
TEXT = b"".join(b"%d,%d,%d\n" % (i, i * i % 977, i % 31) for i in range(60000))


def level():
    out = io.BytesIO()
    for _ in range(2):
        with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=9 if BAD else 1) as f:
            f.write(TEXT)  # CULPRIT level
    return out.tell() > 0


def again():
    """The same block compressed for each reader."""
    size = 0
    for i in range(12):
        if BAD or i == 0:
            size += len(bz2.compress(TEXT[:300000]))  # CULPRIT again
    return size > 0


def pieces():
    """A flush after each record."""
    z, out = zlib.compressobj(6), 0
    for line in TEXT.splitlines()[:60000]:
        out += len(z.compress(line))
        if BAD:
            out += len(z.flush(zlib.Z_FULL_FLUSH))  # CULPRIT pieces
    return out >= 0


def reader():
    n = 0
    if BAD:
        while c := os.read(0, 1):  # CULPRIT reader
            n += c == b"\n"
    else:
        while part := os.read(0, 1 << 16):
            n += part.count(b"\n")
    return n


def piped():
    """A filter that is started, fed and read in one thread."""
    p = subprocess.Popen(["zstd", "-q", "-c", "-19" if BAD else "-1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    return len(p.communicate(TEXT)[0]) > 0


print({"level": level, "again": again, "pieces": pieces, "reader": reader, "piped": piped}[KIND]())

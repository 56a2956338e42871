#!/usr/bin/env python3
"""dump_mounts.py SIGHTLINE: programs that hang at file systems of their own, which need root. Of each, "NAME right" where `sightline dump -p` has the
line that waits first, else what is wrong; "NAME skipped" where the kernel does not let mount.

fuse: the server of a file system has stopped to answer. disk: a full one, and a writer that tries again for ever.
"""
import ctypes
import json
import os
import struct
import subprocess
import sys
import tempfile
import time

PATIENCE = 60  # s
NO_MOUNT = 3  # exit status
CLONE_NEWNS, MS_NOSUID, MS_NODEV, MS_REC, MS_PRIVATE = 0x20000, 2, 4, 0x4000, 0x40000
libc = ctypes.CDLL(None, use_errno=True)


def mount(what, where, kind, flags, options):
    def text(t):
        return None if t is None else t.encode()
    if libc.mount(text(what), text(where), text(kind), flags, text(options)):
        os._exit(NO_MOUNT)


def own_mounts():
    """Mounts are gone with the process."""
    if libc.unshare(CLONE_NEWNS):
        os._exit(NO_MOUNT)
    mount("none", "/", None, MS_REC | MS_PRIVATE, None)


def serve(fd):
    """Answers the first request, FUSE_INIT, and no other one."""
    request = os.read(fd, 1 << 20)
    unique, = struct.unpack_from("Q", request, 8)
    major, minor = struct.unpack_from("II", request, 40)
    body = struct.pack("IIIIHHIIHHIIHH", major, min(minor, 31), 4096, 0, 4, 3, 4096, 1, 1, 0, 0, 0, 0, 0).ljust(64, b"\0")
    os.write(fd, struct.pack("IiQ", 16 + len(body), 0, unique) + body)
    while True:
        time.sleep(3600)


def fuse(folder):
    own_mounts()
    try:
        fd = os.open("/dev/fuse", os.O_RDWR)
    except OSError:
        os._exit(NO_MOUNT)
    mount("hangs", folder, "fuse", MS_NOSUID | MS_NODEV, "fd=%d,rootmode=40000,user_id=0,group_id=0" % fd)
    if not os.fork():
        serve(fd)
    os.close(fd)
    os.stat(folder + "/file")  # WAITS fuse


def disk(folder):
    own_mounts()
    mount("hangs", folder, "tmpfs", MS_NOSUID | MS_NODEV, "size=64k")
    with open(folder + "/file", "wb", buffering=0) as f:
        while True:
            try:
                f.write(bytes(4096))
            except OSError:
                time.sleep(30)  # WAITS disk


def judge(sightline, name, pid):
    with open(__file__) as f:
        line = next(n for n, text in enumerate(f, 1) if text.endswith("# WAITS %s\n" % name))
    out = subprocess.run([sightline, "dump", "-p", str(pid), "-f", "json", "--limit=0", "--max-bytes=0"], capture_output=True, text=True)
    answer = json.loads(out.stdout) if out.returncode == 0 else {"threads": [], "deadlocks": 0}
    if not answer["threads"]:
        return out.stderr
    first = answer["threads"][0]
    if not any(f["line"] == line and os.path.basename(f["file"] or "") == os.path.basename(__file__) for f in first["stack"] or []):
        return "first is at %s" % first["place"]
    return "%d deadlocks" % answer["deadlocks"] if answer["deadlocks"] else "right"


def main():
    if len(sys.argv) == 4:
        {"fuse": fuse, "disk": disk}[sys.argv[2]](sys.argv[3])
        return
    for name in "fuse", "disk":
        with tempfile.TemporaryDirectory() as folder:
            p = subprocess.Popen([sys.executable, os.path.abspath(__file__), sys.argv[1], name, folder], start_new_session=True)
            until, verdict = time.monotonic() + PATIENCE, "no answer"
            while verdict != "right" and time.monotonic() < until and p.poll() is None:
                verdict = judge(sys.argv[1], name, p.pid)
                time.sleep(0.1)
            if p.poll() is None:
                # The server ends, too: that ends the wait of the other one.
                os.killpg(p.pid, 9)
            print(name, "skipped" if p.wait() == NO_MOUNT else verdict, flush=True)


main()

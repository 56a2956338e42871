"""loader.py - four threads that read and decompress files as a loader of data does, and one that makes the calls it is asked for.
Ends with status 7 where each piece of data was right."""
import os, queue, sys, tempfile, threading, zlib

folder = tempfile.TemporaryDirectory(prefix="loader.")
SHARDS = 16
for i in range(SHARDS):
    with open("%s/%d" % (folder.name, i), "wb") as f:
        f.write(zlib.compress(bytes((i * j) & 255 for j in range(60000))))
expect = [sum((i * j) & 255 for j in range(60000)) for i in range(SHARDS)]
todo, ends, wrong = queue.Queue(8), threading.Event(), []


def feed():
    i = 0
    while not ends.is_set():
        todo.put(i % SHARDS)
        i += 1


def work():
    while not ends.is_set():
        i = todo.get()
        with open("%s/%d" % (folder.name, i), "rb") as f:
            if sum(zlib.decompress(f.read())) != expect[i]:
                wrong.append(i)


for target in (feed, work, work, work, work):
    threading.Thread(target=target, daemon=True).start()
zero = os.open("/dev/zero", os.O_RDONLY)
print("ready", flush=True)
for line in sys.stdin:
    for i in range(int(line.split()[1])):
        if os.pread(zero, 1, 0) != b"\0":
            wrong.append("pread")
    print("called", flush=True)
ends.set()
os._exit(1 if wrong else 7)

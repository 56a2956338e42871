#!/usr/bin/env python3
"""dump_healthy.py SIGHTLINE JOBS [LOOKS]: programs that are slow and well, each looked at again and again. Prints "NAME claims N looks M".

A claim is a deadlock, or a lock whose owner has ended.
"""
import os
import signal
import subprocess
import sys
import tempfile
import time

PROGRAMS = {
    "sleep": ["sleep", "100"],
    "pipeline": ["sh", "-c", "yes | gzip -1 | cat >/dev/null"],
    "both_ways": [sys.executable, "-c", """
import os
a, b = os.pipe(), os.pipe()
if os.fork():
    while True:
        os.write(a[1], b"x" * 100000 if False else b"x"); os.read(b[0], 1)
while True:
    os.read(a[0], 1); os.write(b[1], b"x")"""],
    "locks": [sys.executable, "-c", """
import threading
locks = [threading.RLock() for _ in range(3)]
def work():
    while True:
        for lock in locks:
            with lock: sum(range(500))
for _ in range(6): threading.Thread(target=work).start()"""],
    "queue": [sys.executable, "-c", """
import queue, threading, time
q = queue.Queue(2)
def work():
    while True: q.get(); time.sleep(0.001)
for _ in range(4): threading.Thread(target=work).start()
while True: q.put(1)"""],
    "pool": [sys.executable, "-c", """
import multiprocessing
def f(x): return sum(range(x))
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(3) as p:
        while True: p.map(f, range(1000, 1100))"""],
    "asyncio": [sys.executable, "-c", """
import asyncio
async def work(n):
    while True: await asyncio.sleep(n / 1000)
async def main(): await asyncio.gather(*map(work, range(1, 20)))
asyncio.run(main())"""],
    "tasks": [sys.executable, "-c", """
import asyncio, random
async def leaf(): await asyncio.sleep(random.random() / 500)
async def pair(n):
    await asyncio.create_task(leaf())
    if n: await asyncio.gather(*[asyncio.create_task(pair(n - 1)) for _ in range(2)])
async def main():
    while True: await asyncio.gather(*[pair(3) for _ in range(20)])
asyncio.run(main())"""],
    "server": [sys.executable, "-c", """
import socket, threading
s = socket.create_server(("127.0.0.1", 0))
def client():
    c = socket.create_connection(s.getsockname())
    while True: c.send(b"x"); c.recv(1)
threading.Thread(target=client).start()
c = s.accept()[0]
while True: c.send(c.recv(1))"""],
    "children": ["sh", "-c", "while :; do sh -c 'sleep 0.01; true'; done"],
    "file": ["sh", "-c", "f() { while :; do flock lock sleep 0.002; done; }; f & f & f"],
    "mutexes": [None],
}


def main():
    sightline, locks = sys.argv[1:3]
    looks = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    PROGRAMS["mutexes"] = [locks]
    for name, command in PROGRAMS.items():
        claims, done = [], 0
        with tempfile.TemporaryDirectory() as folder:
            p = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
            try:
                time.sleep(0.2)
                for _ in range(looks):
                    out = subprocess.run([sightline, "dump", "-p", str(p.pid), "--children"], capture_output=True, text=True).stdout
                    done += out.startswith("Process ")
                    claims += [line for line in out.split("\n") if line.startswith("Deadlock:") or "when it ended" in line]
            finally:
                os.killpg(p.pid, signal.SIGKILL)
                p.wait()
        print(name, "claims", len(claims), "looks", done, *claims, flush=True)


main()

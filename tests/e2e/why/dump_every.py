#!/usr/bin/env python3
"""dump_every.py SECONDS: a thread that spins in three functions, one that computes without Python's lock, and 40 that sleep. Prints "ready", then
the shares of the three functions in the CPU time of their thread, as JSON.
"""
import hashlib
import json
import sys
import threading
import time

own = {}


def spin(name, seconds):
    begun = time.thread_time()
    while time.thread_time() - begun < seconds:
        pass
    own[name] = own.get(name, 0) + time.thread_time() - begun


def heavy():
    spin("heavy", 0.014)


def middle():
    spin("middle", 0.005)


def light():
    spin("light", 0.001)


def without_lock():
    while True:
        hashlib.pbkdf2_hmac("sha256", b"", b"", 1000000)


def sleeps():
    while True:
        time.sleep(3600)


def main():
    for target in [without_lock] + [sleeps] * 40:
        threading.Thread(target=target, daemon=True).start()
    print("ready", flush=True)
    until = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < until:
        heavy()
        middle()
        light()
    print(json.dumps({name: ran / sum(own.values()) for name, ran in own.items()}), flush=True)


main()

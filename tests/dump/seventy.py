"""seventy.py SECONDS: computes in two functions, 70 and 30 of 100 parts of its CPU time: prints "ready", then the share of heavy(), as measured."""
import random
import sys
import time

own = {}


def spin(name, seconds):
    begun = now = time.thread_time()
    while now - begun < seconds:
        now = time.thread_time()
    own[name] = own.get(name, 0) + now - begun


def heavy(part):
    spin("heavy", 0.07 * part)


def light(part):
    spin("light", 0.03 * part)


print("ready", flush=True)
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    some = random.uniform(0.8, 1.2)
    heavy(some)
    light(some)
print(own["heavy"] / sum(own.values()), flush=True)

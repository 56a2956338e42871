"""Steps of jobs that other programs start: work.py STEP bad|good."""
import hashlib
import json
import sys
import time

BAD = sys.argv[-1] == "bad"
ROWS = [{"id": i, "name": "row %d" % i, "tags": ["a", "b", "c"]} for i in range(400)]


def parse():
    text = json.dumps(ROWS)
    rows = None
    for _ in range(2500 if BAD else 3):
        rows = json.loads(text)  # CULPRIT parse
    return len(rows)


def fetch():
    for _ in range(6):
        time.sleep(0.1 if BAD else 0.005)  # CULPRIT fetch
    return 6


def digest():
    seed = b"x"
    for _ in range(500000 if BAD else 5000):
        seed = hashlib.sha256(seed).digest()  # CULPRIT digest
    return len(seed)


def link():
    table = {}
    for i in range(2500000 if BAD else 20000):
        table[i % 1000] = table.get(i % 1000, 0) + i  # CULPRIT link
    return len(table)


def check():
    found = 0
    for i in range(4000 if BAD else 40):
        found += sum(1 for row in ROWS if row["name"] == "row %d" % (i % 400))  # CULPRIT check
    return found > 0


def small():
    return len(json.dumps(ROWS[:20]))


print({"parse": parse, "fetch": fetch, "digest": digest, "link": link, "check": check, "small": small}[sys.argv[1]]() and "done")

"""Files, processes and version control: files.py KIND bad|good."""
import csv
import os
import shutil
import subprocess
import sys
import time

KIND, BAD = sys.argv[1], sys.argv[2] == "bad"


def records():
    """Each record is forced to the disk."""
    with open("records", "wb") as f:
        for i in range(60):
            f.write(b"%d\n" % i * 2000)
            if BAD:
                f.flush()
                os.fsync(f.fileno())  # CULPRIT records
    return 60


def tree():
    """Looks at every file again for each name."""
    os.makedirs("tree", exist_ok=True)
    for i in range(300):
        open("tree/%d" % i, "w").close()
    n = 0
    for i in range(150 if BAD else 1):
        n = max(n, sum(os.stat(e.path).st_size == 0 for e in os.scandir("tree")))  # CULPRIT tree
    return n


def table():
    """Reads the whole table for each row that it looks for."""
    with open("table.csv", "w") as f:
        f.writelines("%d,%d\n" % (i, i * i) for i in range(6000))
    n, rows = 0, None
    for i in range(80):
        if BAD or rows is None:
            rows = list(csv.reader(open("table.csv")))  # CULPRIT table
        n += int(rows[i][1])
    return n


def status():
    """A git for each file."""
    subprocess.run("git init -q . && git config user.email a@b && git config user.name a", shell=True, check=True)
    names = ["f%d" % i for i in range(50)]
    for name in names:
        open(name, "w").write(name)
    if BAD:
        for name in names:
            subprocess.run(["git", "add", name], check=True)  # CULPRIT status
    else:
        subprocess.run(["git", "add"] + names, check=True)
    return 50


def copy():
    """Copies all of a file to append to it."""
    open("big", "wb").write(b"x" * 30000000)
    for i in range(12):
        if BAD:
            shutil.copyfile("big", "big.new")  # CULPRIT copy
            os.replace("big.new", "big")
        open("big", "ab").write(b"y")
    return os.path.getsize("big")


def wait():
    """Waits for a file by looking for it twice a second."""
    if not os.fork():
        time.sleep(0.05)
        open("there", "w").close()
        os._exit(0)
    while not os.path.exists("there"):
        time.sleep(0.5 if BAD else 0.01)  # CULPRIT wait
    os.wait()
    return 1


def lines():
    """Unbuffered output, a line at a time."""
    with open("out", "wb", buffering=0) as f:
        for i in range(150000 if BAD else 1):
            f.write(b"line\n")  # CULPRIT lines
    return 1


print({"records": records, "tree": tree, "table": table, "status": status, "copy": copy, "wait": wait, "lines": lines}[KIND]())

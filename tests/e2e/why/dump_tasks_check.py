#!/usr/bin/env python3
"""dump_tasks_check.py SIGHTLINE PYTHON: the tasks of dump_tasks.py, by `sightline dump -p`, against the program's own list and, from Python 3.14 on,
against `python -m asyncio ps`. Prints "same N" for N tasks, or the first differences.
"""
import json
import os
import signal
import subprocess
import sys


def mine(sightline, pid):
    out = subprocess.run([sightline, "dump", "-p", str(pid), "-f", "json", "--limit=0", "--max-bytes=0"], capture_output=True, text=True)
    if out.returncode:
        return {"": out.stderr}
    tasks = json.loads(out.stdout)["tasks"]
    names = {t["task"]: t["name"] for t in tasks}
    return {t["name"]: [[[f["function"].split(".")[-1], f["line"]] for f in t["stack"] or []], sorted(names[a] for a in t["awaiters"])] for t in tasks}


def by_ps(python, pid):
    """The same without lines: an awaiter in each row, a row without any for a task that nobody waits for."""
    out = subprocess.run([python, "-m", "asyncio", "ps", str(pid)], capture_output=True, text=True).stdout.split("\n")
    at = [out[0].index(title) for title in ("task name", "coroutine stack", "awaiter chain", "awaiter name", "awaiter id")]
    tasks = {}
    for line in out[2:]:
        if not line.strip():
            continue
        # Columns grow with long texts: what is between them is what two blanks part.
        words = [w.strip() for w in line[at[0]:].split("  ") if w.strip()]
        stack = [w.strip().split(".")[-1] for w in words[1].split("->")]
        tasks.setdefault(words[0], [stack, []])
        if len(words) > 4:
            tasks[words[0]][1].append(words[3])
    return tasks


def differences(a, b):
    return ["%s: %s, not %s" % (name, a.get(name), b.get(name)) for name in sorted(set(a) | set(b)) if a.get(name) != b.get(name)]


def main():
    sightline, python = sys.argv[1:3]
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "dump_tasks.py")
    p = subprocess.Popen([python, program], stdout=subprocess.PIPE, text=True)
    try:
        truth = {name: [frames, sorted(waiters)] for name, (frames, waiters) in json.loads(p.stdout.readline()).items()}
        found = mine(sightline, p.pid)
        wrong = differences(found, truth)
        if not wrong and subprocess.run([python, "-c", "import asyncio.tools"], capture_output=True).returncode == 0:
            seen = {name: [[f[0] for f in frames], waiters] for name, (frames, waiters) in found.items()}
            ps = {name: [stack, sorted(waiters)] for name, (stack, waiters) in by_ps(python, p.pid).items()}
            # It does not look into generators that are no coroutines.
            seen["old"][0] = seen["old"][0][-len(ps["old"][0]):]
            wrong = differences(seen, ps)
        print("\n".join(wrong) or "same %d" % len(found))
    finally:
        p.send_signal(signal.SIGKILL)
        p.wait()


main()

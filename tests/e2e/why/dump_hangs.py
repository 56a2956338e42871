#!/usr/bin/env python3
"""dump_hangs.py SIGHTLINE BUILD JOBS NAME...: programs of tests/jobs/hangs.tsv, looked at by `sightline dump -p` while they hang.

Of each: "NAME right" where every thread that waits has its line, one of these stands first, or a thread that one of these waits for, and a
deadlock is named where threads wait for each other; else what is wrong. The look is repeated until the program has come as far.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

# Besides those of the table: processes with one thread that are alone at the other ends, threads at an RLock, or tasks.
CYCLES = {"pipes", "own_end", "py_pipe", "peer", "py_rlocks", "poll", "py_tasks"}
PATIENCE = 120  # s


def lines_of(jobs, word):
    file, tag = word.split("@")
    with open(os.path.join(jobs, file)) as f:
        return file, [n for n, line in enumerate(f, 1) if line.rstrip(" */\n").endswith("WAITS " + tag)]


def look(sightline, pid):
    out = subprocess.run([sightline, "dump", "-p", str(pid), "--children", "-f", "json", "--limit=0", "--max-bytes=0"],
                         capture_output=True, text=True)
    return json.loads(out.stdout) if out.returncode == 0 else {"threads": [], "deadlocks": 0, "said": out.stderr}


def is_at(thread, file, lines):
    """The line of the wait, or one of its stack: a thread may wait inside of a library."""
    places = [(thread["file"], thread["line"])] + [(f["file"], f["line"]) for f in thread["stack"] or []]
    return any(os.path.basename(path or "") == file and line in lines for path, line in places)


def judge(answer, places, is_deadlock):
    threads = answer["threads"]
    for file, lines in places:
        if not any(is_at(t, file, lines) for t in threads):
            return "no thread at %s:%s" % (file, lines)
    guilty = [t for t in threads if any(is_at(t, *p) for p in places)]
    if threads[0] not in guilty and threads[0]["tid"] not in [t["owner"] for t in guilty]:
        return "first is %s" % threads[0]["place"]
    if bool(answer["deadlocks"] + answer["task_deadlocks"]) != is_deadlock:
        return "%d deadlocks" % answer["deadlocks"]
    cycle = [t["name"] for t in answer["tasks"] if t["deadlock"]]
    return "right" if cycle in ([], ["first", "second"], ["second", "first"]) else "tasks %s" % cycle


def main():
    sightline, build, jobs = sys.argv[1:4]
    with open(os.path.join(jobs, "hangs.tsv")) as f:
        rows = [line.rstrip("\n").split("\t") for line in f if line.strip() and not line.startswith("#")]
    wanted = sys.argv[4:] or [r[0] for r in rows]
    for name, command, waits, deadlock in rows:
        if name not in wanted:
            continue
        words = command.format(py=sys.executable, bin=os.path.join(build, "tests/jobs")).split()
        words = [os.path.join(jobs, w) if os.path.exists(os.path.join(jobs, w)) else w for w in words]
        places = [lines_of(jobs, w) for w in waits.split()]
        until = time.monotonic() + PATIENCE
        with tempfile.TemporaryDirectory() as folder:
            p = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
            try:
                verdict = "no answer"
                while verdict != "right" and time.monotonic() < until and p.poll() is None:
                    answer = look(sightline, p.pid)
                    if answer["threads"]:
                        verdict = judge(answer, places, name in CYCLES or deadlock == "deadlock")
            finally:
                os.killpg(p.pid, signal.SIGKILL)
                p.wait()
        print(name, verdict, flush=True)


main()

"""A program whose phases are told from outside: it opens mark-PHASE again and again, where PHASE is what the file phase
says, until that is "end". Exit status 7."""
import os
import time


def phase():
    try:
        with open("phase") as f:
            return f.read().strip()
    except OSError:
        return ""


while True:
    name = phase()
    if name == "end":
        raise SystemExit(7)
    if name:
        os.close(os.open("mark-" + name, os.O_RDONLY | os.O_CREAT))
    time.sleep(0.002)

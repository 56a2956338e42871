"""attach_python.py GO PROGRAM SECONDS - waits for a line in the fifo GO, runs PROGRAM, then what is started when somebody looks on already."""
import os, runpy, subprocess, sys, time, warnings

go, program, seconds = sys.argv[1:]


def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def forked():
    spin(0.2)


def main():
    with open(go) as f:
        f.readline()
    sys.argv = [program, seconds]
    runpy.run_path(program)
    if float(seconds) < 0.5:
        return
    warnings.simplefilter("ignore")  # threads of the program may not be quite gone yet
    if os.fork() == 0:
        forked()
        os._exit(0)
    os.wait()
    code = """
import time
def after_exec():
    end = time.thread_time() + 0.2
    while time.thread_time() < end:
        pass
after_exec()
"""
    subprocess.call([sys.executable, "-c", code])


main()

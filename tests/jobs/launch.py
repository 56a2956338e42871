"""Launchers: their own process only starts others and waits. launch.py KIND bad|good."""
import os
import select
import signal
import subprocess
import sys
import time

KIND, HOW = sys.argv[1], sys.argv[2]
HERE = os.path.dirname(os.path.abspath(__file__))


def rank(number):
    """A part of a stencil; rank 1 has a much larger one."""
    n = 1400 if number == 1 and HOW == "bad" else 60
    row = list(range(1000))
    for _ in range(n):
        row = [(a + b) & 1023 for a, b in zip(row, row[1:] + row[:1])]  # CULPRIT solve
    print("rank", number)


def step(name, how=HOW):
    return [sys.executable, os.path.join(HERE, "work.py"), name, how]


def ranks():
    """As mpirun does: an event loop over the pipes of its ranks."""
    procs = [subprocess.Popen([sys.executable, __file__, "rank%d" % i, HOW], stdout=subprocess.PIPE) for i in range(3)]
    poll = select.poll()
    left = {}
    for p in procs:
        poll.register(p.stdout.fileno(), select.POLLIN | select.POLLHUP)
        left[p.stdout.fileno()] = p
    while left:
        for fd, _ in poll.poll(100):
            if not os.read(fd, 4096):
                poll.unregister(fd)
                left.pop(fd).wait()


def agent():
    """As torchrun does: asks every 50 ms whether a worker is done."""
    procs = [subprocess.Popen(step(name), stdout=subprocess.DEVNULL) for name in ("small", "fetch")]
    while any(p.poll() is None for p in procs):
        time.sleep(0.05)


def supervisor():
    """As masters of servers do: sleeps until a signal says that a child has ended."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    left = {subprocess.Popen(step(name), stdout=subprocess.DEVNULL).pid for name in ("digest", "small")}
    while left:
        signal.sigwait([signal.SIGCHLD])
        while left and (pid := os.waitpid(-1, os.WNOHANG)[0]):
            left.discard(pid)


def chain():
    """One step after the other, each waited for."""
    for name in ("small", "parse", "small"):
        subprocess.run(step(name), stdout=subprocess.DEVNULL, check=True)


def shell():
    subprocess.run("exec env NAME=1 nice -n 1 %s" % " ".join(step("link")), shell=True, stdout=subprocess.DEVNULL, check=True)


if KIND.startswith("rank") and KIND[4:].isdigit():
    rank(int(KIND[4:]))
else:
    {"ranks": ranks, "agent": agent, "supervisor": supervisor, "chain": chain, "shell": shell}[KIND]()
    print("done")

"""deaths.py FILE STEPS RANK FAULT STEP - one rank of a job of PyTorch on gloo, of which one rank dies or hangs in a step, before its collective.

FILE is where the ranks meet. The line with the comment GUILTY and the fault's name is where the rank dies or waits. Rank and size: RANK, WORLD_SIZE.
"""
import os
import queue
import signal
import socket
import sys
import threading
import time

import torch
import torch.distributed as dist

count = 0


def raises():
    raise ValueError("the loss is not a number")  # GUILTY raises


def exits():
    os._exit(3)  # GUILTY exits


def aborts():
    os.abort()  # GUILTY aborts


def killed():
    global count
    pid = os.getpid()
    if os.fork() == 0:
        time.sleep(0.5)
        os.kill(pid, signal.SIGKILL)
        os._exit(0)
    while True: count += 1  # GUILTY killed


def locks():
    first, second, both = threading.Lock(), threading.Lock(), threading.Barrier(2)

    def other():
        with second:
            both.wait()
            first.acquire()  # GUILTY locks too
    threading.Thread(target=other, daemon=True).start()
    first.acquire()
    both.wait()
    second.acquire()  # GUILTY locks


def absent():
    time.sleep(100000)  # GUILTY absent


def empty():
    queue.Queue().get()  # GUILTY empty


def peer():
    a, b = socket.socketpair()
    a.recv(1)  # GUILTY peer
    b.close()


def stops():
    os.kill(os.getpid(), signal.SIGSTOP)  # GUILTY stops
    time.sleep(0)


def spins():
    global count
    while True: count += 1  # GUILTY spins


def main():
    path, steps, victim, fault, step = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], int(sys.argv[5])
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="file://" + path, rank=rank, world_size=size)
    data = torch.ones(256)
    for i in range(1, steps + 1):
        time.sleep(0.02)
        if rank == victim and i == step:
            open(path + ".fault", "w").close()
            globals()[fault]()
        dist.all_reduce(data)
        data.fill_(1)


main()

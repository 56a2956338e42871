"""Programs that hang: hangs.py KIND. They end by themselves after a minute."""
import asyncio
import ctypes
import multiprocessing
import queue
import signal
import subprocess
import sys
import threading

KIND = sys.argv[1]
signal.alarm(60)


def locks():
    a, b = threading.Lock(), threading.Lock()
    both = threading.Barrier(2)

    def other():
        with b:
            both.wait()
            with a:  # WAITS py-locks-other
                pass
    threading.Thread(target=other).start()
    with a:
        both.wait()
        with b:  # WAITS py-locks-main
            pass


def rlocks():
    a, b = threading.RLock(), threading.RLock()
    both = threading.Barrier(2)

    def other():
        with b:
            both.wait()
            with a:  # WAITS py-rlocks-other
                pass
    threading.Thread(target=other).start()
    with a:
        both.wait()
        with b:  # WAITS py-rlocks-main
            pass


def queues():
    """Each side fills the other's queue before it reads its own."""
    there, back = queue.Queue(4), queue.Queue(4)

    def other():
        for i in range(9):
            back.put(i)  # WAITS py-queues-other
        there.get()
    threading.Thread(target=other).start()
    for i in range(9):
        there.put(i)  # WAITS py-queues-main
    back.get()


def pipe():
    """Waits for the end of a program whose output nobody reads."""
    p = subprocess.Popen([sys.executable, "-c", "print('x' * 1000000)"], stdout=subprocess.PIPE)
    p.wait()  # WAITS py-pipe


def gil():
    """A call in C that keeps the GIL: the other threads stop."""
    def beat():
        while True:
            sum(range(1000))  # WAITS py-gil-other
    threading.Thread(target=beat, daemon=True).start()
    ctypes.PyDLL(None).pause()  # WAITS py-gil-main


def cycle():
    """Two coroutines that wait for each other."""
    async def main():
        a, b = asyncio.Event(), asyncio.Event()

        async def one(mine, its):
            await its.wait()
            mine.set()
        await asyncio.gather(one(a, b), one(b, a))
    asyncio.run(main())  # WAITS py-cycle


def tasks():
    """Two tasks that await each other."""
    async def main():
        other = []

        async def one():
            await other[0]

        async def two(task):
            await task
        first = asyncio.create_task(one(), name="first")
        other.append(asyncio.create_task(two(first), name="second"))
        await first
    asyncio.run(main())  # WAITS py-tasks


def join():
    """Joins a process before what it has put into its queue was taken."""
    fork = multiprocessing.get_context("fork")
    q = fork.Queue()
    p = fork.Process(target=q.put, args=("x" * 1000000,))
    p.start()
    p.join()  # WAITS py-join


{"locks": locks, "rlocks": rlocks, "queues": queues, "pipe": pipe, "gil": gil, "cycle": cycle, "tasks": tasks, "join": join}[KIND]()

#!/usr/bin/env python3
"""dump_tasks.py: tasks of asyncio that wait for each other in all ways that asyncio has. Prints, when all of them wait, a line of JSON: of each
task, by name, its coroutines as [function, line], the innermost first, and the names of the tasks that wait for it.
"""
import asyncio
import gc
import json
import sys

WAITERS = {"Task-1": [], "gatherer": ["Task-1"], "left": ["gatherer"], "right": ["gatherer"], "nested": ["Task-1"], "inner": ["nested"],
           "waiter": ["direct"], "waited": ["waiter"], "shielder": ["Task-1"], "shielded": ["shielder"], "direct": ["Task-1"],
           "generator": ["Task-1"], "old": ["Task-1"], "timed": ["Task-1"], "many": ["Task-1", "another"], "another": ["Task-1"]}
GROUP = {"group": ["Task-1"], "one": ["group"], "two": ["group"]}


async def leaf(event):
    await event.wait()


async def middle(event):
    await leaf(event)


async def gathers(event):
    await asyncio.gather(named(middle(event), "left"), named(leaf(event), "right"))


async def nests(event):
    await asyncio.gather(asyncio.gather(named(leaf(event), "inner")))


async def waits(task):
    await asyncio.wait([task])


async def shields(task):
    await asyncio.shield(task)


async def awaits(task):
    await task


async def steps(event):
    await event.wait()
    yield 1


async def iterates(event):
    async for _ in steps(event):
        pass


class Old:
    def __init__(self, event):
        self.event = event

    def __await__(self):
        yield from leaf(self.event).__await__()


async def old_style(event):
    await Old(event)


async def timed(event):
    await asyncio.wait_for(event.wait(), 10000)


async def groups(event):
    async with asyncio.TaskGroup() as group:
        group.create_task(leaf(event), name="one")
        group.create_task(leaf(event), name="two")


def named(coroutine, name):
    return asyncio.get_running_loop().create_task(coroutine, name=name)


def frames(task):
    found, at = [], task.get_coro()
    while at is not None:
        for kind in "cr", "gi", "ag":
            if hasattr(at, kind + "_frame"):
                code, frame = getattr(at, kind + "_code"), getattr(at, kind + "_frame")
                found.insert(0, [code.co_name, frame.f_lineno])
                at = getattr(at, {"cr": "cr_await", "gi": "gi_yieldfrom", "ag": "ag_await"}[kind])
                break
        else:
            # Objects of C that await for another one.
            at = next((o for o in gc.get_referents(at) if hasattr(o, "ag_frame") or hasattr(o, "cr_frame")), None)
    return found


def tell():
    waiters = dict(WAITERS, **(GROUP if hasattr(asyncio, "TaskGroup") else {}))
    told = {}
    for task in asyncio.all_tasks():
        # Up to Python 3.11 wait_for() makes a task, which has no name of the program.
        told[task.get_name()] = [frames(task), waiters.get(task.get_name(), ["timed"])]
    print(json.dumps(told), flush=True)


async def main():
    event = asyncio.Event()
    waited, shielded, many = named(middle(event), "waited"), named(leaf(event), "shielded"), named(leaf(event), "many")
    waiter = named(waits(waited), "waiter")
    tasks = [named(gathers(event), "gatherer"), named(nests(event), "nested"), named(shields(shielded), "shielder"), named(awaits(waiter), "direct"),
             named(iterates(event), "generator"), named(old_style(event), "old"), named(timed(event), "timed"), many, named(awaits(many), "another")]
    if hasattr(asyncio, "TaskGroup"):
        tasks.append(named(groups(event), "group"))
    asyncio.get_running_loop().call_later(0.2, tell)
    await asyncio.gather(*tasks)


sys.setrecursionlimit(500)
asyncio.run(main())

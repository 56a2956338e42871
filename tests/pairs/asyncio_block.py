"""A coroutine blocks the event loop. reason: SLEEP"""
import asyncio
import sys
import time

BAD = sys.argv[1] == "bad"


async def job(i):
    if BAD:
        time.sleep(0.02)  # CULPRIT
    else:
        await asyncio.sleep(0.02)
    return i


async def main():
    print(sum(await asyncio.gather(*(job(i) for i in range(20)))))


asyncio.run(main())

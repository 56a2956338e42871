"""top_part.py - what `sightline top` costs while it watches a session of a million events per second and more: its
own CPU time on a terminal, as a share of one processor, from its start to the end of the recording."""
import os
import pty
import select
import signal
import time
from statistics import median

from tracers import Broken, ours, sqlite

ROWS = int(os.environ.get("FLOOD", "20000000"))


class Watcher:
    """Runs `top` on a terminal of 120 x 40 while the recording runs."""

    def __init__(self, bench):
        self.bench, self.path = bench, os.path.join(bench.tmp, "ours.sqlite")
        self.cpu = self.wall = self.drawn = 0

    def has_sums(self):
        try:
            return bool(sqlite(self.path, "SELECT changed FROM SL_LIVE_SESSION"))
        except Exception: # pylint: disable=broad-except # not there yet
            return False

    def __call__(self, runs):
        while runs() and not self.has_sums():
            time.sleep(0.05)
        begun = time.monotonic()
        pid, fd = pty.fork()
        if pid == 0:
            env = dict(os.environ, TERM="xterm", LINES="40", COLUMNS="120")
            os.execve(self.bench.sightline, ["sightline", "top", self.path], env)
        while runs():
            if select.select([fd], [], [], 0.05)[0]:
                try:
                    self.drawn += len(os.read(fd, 65536))
                except OSError:
                    break
        self.wall = time.monotonic() - begun
        os.kill(pid, signal.SIGTERM)
        usage = os.wait4(pid, 0)[2]
        self.cpu = usage.ru_utime + usage.ru_stime
        os.close(fd)


def part_top(bench, table):
    shares, rates = [], []
    for _ in range(min(3, bench.rounds)):
        watcher = Watcher(bench)
        run = ours("--osrt-threshold=0", "--on-full=block")(
            bench, [bench.bin("calls"), str(ROWS), "1", "1"], during=watcher)
        if run.recorded != ROWS or run.lost:
            raise Broken("calls recorded while somebody watched: %d, lost: %d" % (run.recorded, run.lost))
        if watcher.drawn < 1000 or watcher.wall < 2:
            raise Broken("top drew %d bytes in %.1f s" % (watcher.drawn, watcher.wall))
        shares.append(watcher.cpu / watcher.wall)
        rates.append(ROWS / run.wall)
        os.remove(watcher.path)
    table.add("top at 1 Hz beside %.1f M events/s" % (median(rates) / 1e6), 100 * median(shares), 100, "one processor", "%",
              "<= 0.02")

"""page_part.py - the page of `sightline view` in a headless Chromium: from navigation to the first picture, with the side file there,
warm and cold, and over a connection that takes 50 ms for each answer, or is slow, too; frames while it moves. Wall time: on a machine that is idle."""
import json
import os
import shutil
import subprocess
import time

from export_part import report_of
from tracers import Broken

EVENTS = int(os.environ.get("VIEW_EVENTS", "10000000"))
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def driver(bench):
    """A folder with the driver of tests/web, as the tests install it."""
    home = os.path.join(os.path.dirname(bench.sightline), "tests", "web")
    if not os.path.isdir(os.path.join(home, "node_modules", "playwright-core")):
        os.makedirs(home, exist_ok=True)
        for name in "package.json", "package-lock.json":
            shutil.copy(os.path.join(TOP, "tests", "web", name), home)
        subprocess.run([os.environ.get("NPM", "npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=home, check=True,
                       stdout=subprocess.DEVNULL)
    folder = os.path.join(bench.tmp, "page")
    os.makedirs(folder, exist_ok=True)
    if not os.path.exists(os.path.join(folder, "node_modules")):
        os.symlink(os.path.join(home, "node_modules"), os.path.join(folder, "node_modules"))
    for name in "tests/web/page.mjs", "tests/web/far.mjs", "tests/bench/page_first.mjs":
        shutil.copy(os.path.join(TOP, name), folder)
    return folder


def index(bench, path):
    """The side file is written when the server has read all of the report."""
    server = subprocess.Popen([bench.sightline, "view", "--no-open", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        size, until = -1, time.monotonic() + 600
        while time.monotonic() < until and server.poll() is None:
            time.sleep(1)
            before, size = size, os.path.getsize(path + ".view") if os.path.exists(path + ".view") else -1
            if size > 0 and size == before and not busy(server.pid):
                return
        raise Broken("no side file of %s" % path)
    finally:
        server.terminate()
        server.wait()


def busy(pid):
    def ticks():
        with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as f:
            fields = f.read().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])
    before = ticks()
    time.sleep(0.5)
    return ticks() > before + 5


def forget(*paths):
    """Out of the kernel's page cache."""
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def part_page(bench, table):
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not browser or not shutil.which("node"):
        table.add("the page of view", None, None, "", "no Chromium or no node")
        return
    path, folder = report_of(bench, EVENTS), driver(bench)
    if not os.path.exists(path + ".view"):
        index(bench, path)

    def measure(what):
        run = subprocess.run(["node", os.path.join(folder, "page_first.mjs"), bench.sightline, path, browser, what, str(bench.rounds)],
                             stdout=subprocess.PIPE, text=True, check=True)
        return json.loads(run.stdout)

    what = "view's page, %.0f M events: " % (EVENTS / 1e6)
    cold = []
    for _ in range(3):
        forget(path, path + ".view")
        cold.append(measure("cold")["first"])
    warm, far, slow = measure("warm"), measure("far"), measure("slow")
    table.add(what + "first picture after navigation, warm, median", warm["first"], None, "", "ms", "<= 400 ms")
    table.add("the same, the slowest", warm["slowest"], None, "", "ms")
    table.add("the same, with report, side file and page out of the page cache, server started anew", sorted(cold)[1], None, "", "ms", "<= 1 s")
    table.add("a view, zoomed or moved, until its picture is whole, median", warm["view"], None, "", "ms")
    table.add("the same at an RTT of 50 ms", far["view"], None, "", "ms", "<= 250 ms")
    table.add("the same, 90 %", far["view90"], None, "", "ms")
    table.add("the same, bytes in both directions with what is fetched ahead, median", far["bytes"] / 1000, None, "", "KB")
    table.add("the same, most", far["bytesMost"] / 1000, None, "", "KB", "<= 300 KB")
    table.add("the same, until all in sight is there, median", far["picture"] / 1000, None, "", "KB")
    table.add("the same, most", far["pictureMost"] / 1000, None, "", "KB")
    table.add("ten views at an RTT of 50 ms and 500 KB/s, one 60 ms after the other is whole, all", slow["views"] / 1000, None, "", "s")
    table.add("first picture at an RTT of 50 ms", far["first"], None, "", "ms")
    table.add("frames per second while it moves", warm["fps"], None, "", "/s", ">= 55")
    table.add("a frame while it moves, 95 %", warm["frame95"], None, "", "ms", "<= 25 ms")

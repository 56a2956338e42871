"""programs.py - the programs whose stacks check-dump compares."""
import functools
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
NULL = subprocess.DEVNULL
OLDEST, NEWEST = (3, 8), (3, 15)


class Missing(Exception):
    pass


def need(*names):
    for name in names:
        if not shutil.which(name):
            raise Missing("no " + name)


class Ready:
    """Prints a line when all of its threads have begun."""
    version, ids = None, {}

    def __init__(self, words, name):
        self.name, self.words = name, words
        self.p = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.line = self.p.stdout.readline()
        if not self.line.startswith("ready"):
            self.end()
            raise Missing("%s does not start" % words[0])

    def pid(self):
        return self.p.pid

    def end(self):
        os.killpg(self.p.pid, signal.SIGKILL)
        self.p.wait()


class Python(Ready):
    def __init__(self, path, version, name, _folder):
        super().__init__([path, HERE + "/threads.py"], name)
        self.version, self.ids = version, json.loads(self.line.split(None, 1)[1])


def built(path, name, _folder):
    if not os.access(path, os.X_OK):
        raise Missing("not built")
    return Ready([path], name)


class Loaded:
    """A program of others, and what keeps it busy."""
    version, ids = None, {}

    def __init__(self, name, folder):
        self.name, self.started = name, []
        self.begin(folder)

    def start(self, words, **more):
        p = subprocess.Popen(words, stdout=NULL, stderr=NULL, start_new_session=True, **more)
        self.started.append(p)
        return p

    def end(self):
        for p in self.started:
            try:
                os.killpg(p.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            p.wait()


class Redis(Loaded):
    def begin(self, folder):
        need("redis-server", "redis-benchmark")
        with open(folder + "/redis.conf", "w", encoding="utf-8") as f:
            f.write("port 0\nunixsocket %s/sock\nsave ''\nappendonly no\n" % folder)
        self.start(["redis-server", folder + "/redis.conf"], cwd=folder)
        until(lambda: os.path.exists(folder + "/sock"))
        self.start(["redis-benchmark", "-s", folder + "/sock", "-n", "200000000", "-c", "8", "-t", "set,lpush,zadd", "-q"])
        time.sleep(0.3)

    def pid(self):
        return self.started[0].pid


class Nginx(Loaded):
    def begin(self, folder):
        need("nginx", "ab")
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        os.mkdir(folder + "/html")
        os.chmod(folder, 0o755)
        with open(folder + "/html/file", "w", encoding="utf-8") as f:
            f.write("text\n" * 1000)
        with open(folder + "/nginx.conf", "w", encoding="utf-8") as f:
            f.write("daemon off;\nworker_processes 1;\npid %s/pid;\nerror_log %s/error.log;\nevents { worker_connections 64; }\n"
                    "http { access_log off; server { listen 127.0.0.1:%d; root %s/html; } }\n" % (folder, folder, self.port, folder))
        master = self.start(["nginx", "-p", folder, "-c", folder + "/nginx.conf"])
        children = "/proc/%d/task/%d/children" % (master.pid, master.pid)
        if not until(lambda: os.path.exists(children) and open(children, encoding="utf-8").read()):
            raise Missing("nginx does not start")
        with open(children, encoding="utf-8") as f:
            self.worker = int(f.read().split()[0])
        time.sleep(0.3)
        self.start(["ab", "-n", "100000000", "-c", "4", "-t", "600", "http://127.0.0.1:%d/file" % self.port])

    def pid(self):
        return self.worker


class Git(Loaded):
    """Packs a repository with two threads, over and over."""

    def begin(self, folder):
        need("git")
        for i in range(400):
            with open("%s/file%d" % (folder, i), "w", encoding="utf-8") as f:
                f.write("".join("line %d of file %d\n" % (k * 7919 % (i + 300), i % 7) for k in range(2000)))
        for words in (["init", "-q"], ["add", "."], ["-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "-m", "files"]):
            subprocess.run(["git"] + words, cwd=folder, stdout=NULL, stderr=NULL, check=True)
        self.folder, self.objects = folder, subprocess.run(["git", "rev-list", "--objects", "--all"], cwd=folder, stdout=subprocess.PIPE, check=True).stdout
        self.packs()

    def packs(self):
        p = self.start(["git", "pack-objects", "--threads=2", "--window=250", "--depth=50", "--no-reuse-delta", "--stdout"], cwd=self.folder,
                       stdin=subprocess.PIPE)
        p.stdin.write(self.objects)
        p.stdin.close()
        time.sleep(0.2)

    def pid(self):
        if self.started[-1].poll() is not None:
            self.packs()
        return self.started[-1].pid


def until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def pythons(build):
    """The CPython of each version that is installed: pyenv's first, then the system's, then those of `newer-pythons`."""
    found = {}
    root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    paths = glob.glob(root + "/versions/*/bin/python3") + [p for d in os.environ.get("PATH", "").split(":") for p in glob.glob(d + "/python3.*[0-9]")
                                                           if not d.endswith("/shims")] + glob.glob(build + "/pythons/usr/bin/python3.*")
    for path in paths:
        out = subprocess.run([path, "-c", "import platform, sys; print(platform.python_implementation(), *sys.version_info[:2])"],
                             capture_output=True, text=True, check=False).stdout
        m = re.match(r"CPython (\d+) (\d+)$", out)
        version = (int(m.group(1)), int(m.group(2))) if m else None
        if version and OLDEST <= version <= NEWEST:
            found.setdefault(version, os.path.realpath(path))
    return found


def programs(build):
    """Name -> what starts it, given the name and a folder."""
    have = pythons(build)
    known = {"python%d.%d" % v: functools.partial(Python, have[v], v) for v in sorted(have)}
    for name in ("threads", "templates", "no-frames"):
        known[name] = functools.partial(built, "%s/tests/dump/%s" % (build, name))
    known.update(redis=Redis, nginx=Nginx, git=Git)
    return known

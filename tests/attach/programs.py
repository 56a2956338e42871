"""programs.py - the programs that check-attach enters: how each is started, put under load, and asked for a known number of calls."""
import os
import shutil
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))


class Missing(Exception):
    pass


def need(*names):
    for name in names:
        if not shutil.which(name):
            raise Missing("no " + name)


def until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True


class Driven:
    """Takes "calls N" on its input, answers with a line, computes all the time, and ends with status 7 where it has computed right."""
    function, calls = ("pread", "pread64"), 10000

    def __init__(self, words, folder):
        self.log = open(folder + "/program.log", "wb")
        self.p = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True, cwd=folder)
        self.pids = [self.p.pid]
        if not self.p.stdout.readline():
            raise Missing("does not start: " + open(self.log.name).read()[-200:])

    def call(self, n):
        self.p.stdin.write("calls %d\n" % n)
        self.p.stdin.flush()
        return self.p.stdout.readline().strip() == "called"

    def end(self):
        """Its status, 7 where all was right."""
        self.p.stdin.close()
        try:
            return self.p.wait(30)
        except subprocess.TimeoutExpired:
            self.p.kill()
            return "does not end"


class Python(Driven):
    def __init__(self, folder, build):
        super().__init__([os.path.realpath(sys.executable), HERE + "/loader.py"], folder)


class Torch(Driven):
    def __init__(self, folder, build):
        python = next((p for p in (sys.executable, "/usr/bin/python3") if subprocess.run(
            [p, "-c", "import torch"], stderr=subprocess.DEVNULL, check=False).returncode == 0), None)
        if not python:
            raise Missing("no PyTorch")
        super().__init__([os.path.realpath(python), HERE + "/torch_work.py"], folder)


class Java(Driven):
    function = ("lseek", "lseek64")

    def __init__(self, folder, build):
        need("java")
        super().__init__(["java", HERE + "/Work.java"], folder)


class Node(Driven):
    def __init__(self, folder, build):
        need("node")
        super().__init__(["node", HERE + "/work.js"], folder)


class Threads(Driven):
    """64 threads of C; each makes a part of the calls."""
    calls = 157 * 64

    def __init__(self, folder, build):
        super().__init__([build + "/tests/prog/entered", "64"], folder)

    def call(self, n):
        return super().call(n // 64)


class Churn(Driven):
    """Threads, children, libraries, exceptions and signals in C++, which come and go all the time."""
    function = ("preadv", "preadv64")

    def __init__(self, folder, build):
        super().__init__([build + "/tests/prog/churn", build + "/tests/prog/lib/late_calls.so"], folder)


class Redis:
    """Known calls: orders to write its configuration, each of which renames a file."""
    function, calls = ("rename",), 1000

    def __init__(self, folder, build):
        need("redis-server", "redis-benchmark")
        with open(folder + "/redis.conf", "w") as f:
            f.write("port 0\nunixsocket %s/sock\nsave ''\nappendonly no\n" % folder)
        null = subprocess.DEVNULL
        self.p = subprocess.Popen(["redis-server", folder + "/redis.conf"], stdout=null, stderr=null, cwd=folder)
        self.pids = [self.p.pid]
        until(lambda: os.path.exists(folder + "/sock"))
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(folder + "/sock")
        self.load = subprocess.Popen(["redis-benchmark", "-s", folder + "/sock", "-n", "20000000", "-c", "8", "-t", "set", "-q"],
                                     stdout=null, stderr=null)

    def ask(self, words, n, answer):
        """The same order @n times, a hundred at a time."""
        while n > 0:
            some = min(n, 100)
            self.sock.sendall(words * some)
            got = b""
            while len(got) < len(answer) * some:
                more = self.sock.recv(65536)
                if not more:
                    return False
                got += more
            if got != answer * some:
                return False
            n -= some
        return True

    def call(self, n):
        return self.ask(b"CONFIG REWRITE\r\n", n, b"+OK\r\n")

    def end(self):
        right = self.ask(b"PING\r\n", 1000, b"+PONG\r\n") and self.load.poll() is None
        self.load.kill()
        self.load.wait()
        self.p.terminate()
        return 7 if self.p.wait(30) == 0 and right else "wrong"


class Nginx:
    """Known calls: requests for a file, each of which is one sendfile(); the load gets an answer that has none."""
    function, calls = ("sendfile", "sendfile64"), 10000

    def __init__(self, folder, build):
        need("nginx", "ab")
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        os.chmod(folder, 0o755)
        with open(folder + "/file", "wb") as f:
            f.write(b"x" * 100)
        with open(folder + "/nginx.conf", "w") as f:
            f.write("daemon off; worker_processes 1; pid %s/pid; error_log %s/log;\nevents { worker_connections 64; }\n"
                    "http { access_log off; sendfile on; keepalive_requests 100000000; server { listen 127.0.0.1:%d; root %s;\n"
                    "location /load { return 200 'load'; } } }\n" % (folder, folder, port, folder))
        null = subprocess.DEVNULL
        self.p = subprocess.Popen(["nginx", "-p", folder, "-c", folder + "/nginx.conf"], stdout=null, stderr=null)
        children = "/proc/%d/task/%d/children" % (self.p.pid, self.p.pid)
        if not until(lambda: open(children).read().split() and os.path.exists(folder + "/pid")):
            raise Missing("nginx does not start")
        self.pids = [self.p.pid] + [int(c) for c in open(children).read().split()]
        self.sock = socket.create_connection(("127.0.0.1", port))
        self.length = None
        self.call(1)
        self.load = subprocess.Popen(["ab", "-q", "-k", "-c", "4", "-n", "20000000", "http://127.0.0.1:%d/load" % port], stdout=null, stderr=null)

    def call(self, n):
        words = b"GET /file HTTP/1.1\r\nHost: x\r\n\r\n"
        while n > 0:
            some = min(n, 50) if self.length else 1
            self.sock.sendall(words * some)
            left = (self.length or 1) * some
            got = b""
            while left > 0:
                got = self.sock.recv(min(left, 65536)) if self.length else self.sock.recv(65536)
                if not got:
                    return False
                left -= len(got)
            if not self.length:
                # The file comes behind the headers.
                while not got.endswith(b"x" * 100):
                    got += self.sock.recv(65536)
                self.length = len(got)
            n -= some
        # The last sendfile() has returned when the next answer comes.
        return self.is_alive()

    def is_alive(self):
        self.sock.sendall(b"GET /load HTTP/1.1\r\nHost: x\r\n\r\n")
        got = b""
        while not got.endswith(b"load"):
            more = self.sock.recv(65536)
            if not more:
                return False
            got += more
        return True

    def end(self):
        right = self.call(100) and self.load.poll() is None
        self.load.kill()
        self.load.wait()
        self.sock.close()
        self.p.terminate()
        return 7 if self.p.wait(30) == 0 and right else "wrong"


PROGRAMS = {"threads": Threads, "churn": Churn, "python": Python, "torch": Torch, "redis": Redis, "nginx": Nginx, "java": Java, "node": Node}

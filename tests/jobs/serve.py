"""Servers, with their clients: serve.py KIND bad|good."""
import asyncio
import http.client
import http.server
import os
import select
import signal
import socket
import sys
import threading
import time

KIND, BAD = sys.argv[1], sys.argv[2] == "bad"
ROWS = [("name %d" % i, i * 7 % 13) for i in range(500)]


def render():
    page = ""
    for _ in range(90 if BAD else 1):
        page = "<table>" + "".join("<tr><td>%s</td><td>%d</td></tr>" % row for row in ROWS)  # CULPRIT render
    return page.encode()


def ask(port, n, path="/"):
    for _ in range(n):
        c = http.client.HTTPConnection("127.0.0.1", port)
        c.request("GET", path)
        c.getresponse().read()
        c.close()


def client(port, n, threads=1):
    """In a process of its own."""
    pid = os.fork()
    if pid:
        return pid
    team = [threading.Thread(target=ask, args=(port, n)) for _ in range(threads)]
    for t in team:
        t.start()
    for t in team:
        t.join()
    os._exit(0)


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = self.body()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def prefork():
    """A master that waits for signals, and two workers that accept."""
    class Handler(Page):
        def body(self):
            return render()
    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    workers = []
    for _ in range(2):
        pid = os.fork()
        if not pid:
            signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
            server.serve_forever()
        workers.append(pid)
    asks = client(server.server_port, 40, 2)
    while not os.waitpid(asks, os.WNOHANG)[0]:
        select.select([], [], [], 0.1)
    for pid in workers:
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)


def locked():
    """A thread for each request, and one lock around the database."""
    lock = threading.Lock()

    class Handler(Page):
        def body(self):
            if not BAD:
                time.sleep(0.03)
                return b"row"
            with lock:
                time.sleep(0.03)  # CULPRIT locked
            return b"row"
    threads(Handler, 5, 6)


def logged():
    """Each request is logged, and the log forced to the disk."""
    log = open("access.log", "ab")

    class Handler(Page):
        def body(self):
            log.write(b"GET /\n" * 40000)
            log.flush()
            if BAD:
                os.fsync(log.fileno())  # CULPRIT logged
            return b"ok"
    threads(Handler, 60, 1)


def threads(handler, n, clients):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    os.waitpid(client(server.server_port, n, clients), 0)
    server.shutdown()


def loop():
    """A coroutine that calls something that blocks."""
    async def handle(reader, writer):
        await reader.readline()
        if BAD:
            time.sleep(0.04)  # CULPRIT loop
        else:
            await asyncio.sleep(0.04)
        writer.write(b"ok\n")
        await writer.drain()
        writer.close()

    async def one(port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"hello\n")
        await reader.readline()
        writer.close()

    async def main():
        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        await asyncio.gather(*[one(port) for _ in range(15)])
        server.close()
    asyncio.run(main())


def upstream():
    """A proxy that opens a connection and asks its slow upstream for each request."""
    back = socket.create_server(("127.0.0.1", 0))
    port = back.getsockname()[1]
    pid = os.fork()
    if not pid:
        while True:
            c, _ = back.accept()
            n = c.recv(64)
            if n == b"end":
                os._exit(0)
            time.sleep(0.02)  # CULPRIT upstream
            c.sendall(n)
            c.close()
    cache = {}
    for i in range(25):
        key = b"key %d" % (i % 2)
        if BAD or key not in cache:
            with socket.create_connection(("127.0.0.1", port)) as s:
                s.sendall(key)
                cache[key] = s.recv(64)
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.sendall(b"end")
    os.waitpid(pid, 0)


def poller():
    """A worker that looks for jobs ten times a second."""
    jobs, done = [], threading.Event()

    def worker():
        while not done.is_set():
            if jobs:
                jobs.pop()()
            else:
                time.sleep(0.1 if BAD else 0.001)  # CULPRIT poller
    t = threading.Thread(target=worker)
    t.start()
    for _ in range(8):
        ready = threading.Event()
        jobs.append(ready.set)
        ready.wait()
    done.set()
    t.join()


{"prefork": prefork, "locked": locked, "logged": logged, "loop": loop, "upstream": upstream, "poller": poller}[KIND]()
print("done")

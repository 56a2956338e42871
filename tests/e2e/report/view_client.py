"""view_client.py SIGHTLINE look|refuse REPORT... - asks sightline view what its page asks, and what it must not answer."""
import http.client
import json
import math
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time


class Server:
    def __init__(self, binary, *reports, options=("--no-open",), env=None):
        self.process = subprocess.Popen([binary, "view", *options, *reports], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, env=env)
        line = self.process.stdout.readline()
        address = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/#t=([0-9a-f]{32})\n", line)
        if not address:
            self.process.kill()
            raise AssertionError("no address: " + line + self.process.stderr.read())
        self.port, self.token = int(address[1]), address[2]

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(30)
        assert what[0] or status == 0, "status %d" % status

    def ask(self, path, body=None, heads=None, method=None):
        """(status, bytes, headers)"""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        all_heads = {"Authorization": "Bearer " + self.token}
        all_heads.update(heads or {})
        c.request(method or ("GET" if body is None else "POST"), path, body, {k: v for k, v in all_heads.items() if v is not None})
        r = c.getresponse()
        data = r.read()
        c.close()
        return r.status, data, r.headers

    def get(self, path, body=None):
        status, data, _ = self.ask(path, body)
        assert status == 200, (path, status, data[:300])
        return json.loads(data)

    def ready(self, r=0):
        generation = -1
        for _ in range(1000):
            live = self.get("/v1/live?r=%d&gen=%d" % (r, generation))
            generation = live["generation"]
            if live["state"] != "building":
                return self.get("/v1/report?r=%d" % r)
        raise AssertionError("it is not ready")

    def tiles(self, wanted, cnt=None, most=2**62):
        """Rectangles of each tile: dicts; None: left out, as @most were in those before. @cnt: how many tiles those wanted are."""
        status, d, _ = self.ask("/v1/tiles?most=%d" % most, b"".join(struct.pack("<IIq", *w) for w in wanted))
        assert status == 200, (status, d[:200])
        magic, version, _, tiles, n, names, _, merged = struct.unpack_from("<8I", d)
        assert (magic, version, tiles) == (0x54564C53, 2, cnt or len(wanted))
        at = 32

        def column(cnt, size):
            nonlocal at
            planes = [d[at + i * cnt:at + (i + 1) * cnt] for i in range(size)]
            at += size * cnt
            return [int.from_bytes(v, "little") for v in zip(*planes)]

        per_tile = column(tiles, 2)
        assert sum(cnt for cnt in per_tile if cnt != 65535) == n
        gap, width, name, flags = column(n, 2), column(n, 2), column(n, 2), column(n, 1)
        several = iter(list(zip(column(merged, 2), column(merged, 1))))
        at = (at + 3) // 4 * 4
        self.colors = struct.unpack_from("<%dI" % names, d, at + 4 * names)
        offset = struct.unpack_from("<%dI" % (names + 1), d, at + 8 * names)
        at += 12 * names + 4
        text = [d[at + offset[i]:at + offset[i + 1]].decode("utf-8", "replace") for i in range(names)]
        assert len(d) == at + (offset[-1] + 3) // 4 * 4
        result, i = [], 0
        for cnt in per_tile:
            end, rects = 0, []
            for i in range(i, i + cnt % 65535):
                x = (end + gap[i]) % 65536
                end = x + width[i]
                count, occupied = (1, 255) if flags[i] & 1 else next(several)
                rects.append({"x": x, "w": width[i], "name": text[name[i]] if name[i] != 65535 else None, "count": count,
                              "occupied": occupied, "flags": flags[i]})
            i += len(rects) > 0
            result.append(rects if cnt != 65535 else None)
        assert next(several, None) is None
        return result

    def curves(self, wanted):
        """Of each tile 256 (smallest, largest, last), NaN where nothing was read yet."""
        status, d, _ = self.ask("/v1/counters", b"".join(struct.pack("<IIq", *w) for w in wanted))
        assert status == 200, (status, d[:200])
        magic, version, _, tiles, steps, others = struct.unpack_from("<6I", d)
        assert (magic, version, tiles) == (0x43564C53, 2, len(wanted))
        at = 32 + 256 * tiles

        def reals(cnt):
            nonlocal at
            planes = [d[at + i * cnt:at + (i + 1) * cnt] for i in range(4)]
            at += 4 * cnt
            return iter([struct.unpack("<f", bytes(v))[0] for v in zip(*planes)])

        step, other = reals(steps), reals(3 * others)
        assert len(d) == at
        result = []
        for tile in range(tiles):
            before, px = math.nan, []
            for kind in d[32 + 256 * tile:32 + 256 * (tile + 1)]:
                if kind == 0:
                    px.append((before,) * 3)
                elif kind == 1:
                    value = next(step)
                    known = value if math.isnan(before) else before
                    px.append((min(known, value), max(known, value), value))
                else:
                    px.append((next(other), next(other), next(other)))
                before = px[-1][2]
            result.append(px)
        assert next(step, None) is None and next(other, None) is None
        return result


def look(server, _path):
    """Everything that the page asks, of any report: replies, no crash, and figures that agree with one another."""
    report = server.ready()
    assert report["state"] == "ready", report
    first, last = report["span"]
    lanes = [(lane, row) for row in report["rows"] for lane in row["lanes"] if row["kind"] != "counter"]
    ids = set()
    for row in report["rows"]:
        assert row["parent"] == 0 or row["parent"] in ids, "a row before its parent"
        ids.add(row["id"])
    k = max(0, (max(last - first, 1) - 1).bit_length() - 7)
    length = 256 << k
    for lane, row in lanes[:60]:
        tiles = server.tiles([(lane, k, i) for i in range(first // length, last // length + 1)])
        assert sum(r["count"] for t in tiles for r in t) >= 1, row
        assert server.tiles([(lane, k | (len(tiles) - 1) << 8, first // length)], len(tiles)) == tiles
        # As soon as that many rectangles are there, tiles are left out.
        full = next(i for i, t in enumerate(tiles) if t)
        assert server.tiles([(lane, k | (len(tiles) - 1) << 8, first // length)], len(tiles), 1) == tiles[:full + 1] + [None] * (len(tiles) - full - 1)
    for row in report["rows"][:40]:
        for lane in row["lanes"][:1]:
            if row["kind"] == "counter":
                least, most, latest = zip(*server.curves([(lane, k, i) for i in range(first // length, last // length + 1)])[-1])
                assert math.isnan(latest[-1]) or row["min"] <= min(v for v in least if v == v) <= latest[-1] <= row["max"], (row, latest[-1])
                continue
            event = server.get("/v1/event?lane=%d&t=%d" % (lane, row["span"][0]))
            server.get("/v1/flow?table=%s&rowid=%d" % (event["table"], event["rowid"]))
            if event["rowid"] and event["columns"]:
                when = "start" if any(c[0] == "start" for c in event["columns"]) else "timestamp"
                start = server.get("/v1/sql", b'SELECT %s FROM main."%s" WHERE rowid = %d' % (
                    when.encode(), event["table"].encode(), event["rowid"]))["rows"][0][0]
                assert event["instant"] or row["kind"] in ("state", "nvtx_gpu") or int(start) == event["start"] + int(report["t0"]), (event, start)
    body = json.dumps({"from": first, "to": last + 1, "lanes": []})
    names = server.get("/v1/select", body)
    assert names["events"] == sum(r["count"] for r in names["rows"]) or names["more"]
    server.get("/v1/select", json.dumps({"from": first, "to": last, "lanes": [], "table": "flame"}))
    for row in names["rows"][:3]:
        if row["name"]:
            # A folded name stands for several, with other numbers.
            sought = row["name"].split("#")[0] if row.get("folded") else "=" + row["name"]
            found = server.get("/v1/search?all=1&t=%d&q=%s" % (first - 1, "".join("%%%02x" % b for b in sought.encode())))
            assert found["total"] >= row["count"] and found["found"], (row, found)
    json.loads(server.ask("/v1/save", body)[1])
    assert server.get("/v1/sql", b"SELECT count(*) FROM StringIds")["rows"][0][0] >= 0
    assert "StringIds" in server.get("/v1/schema")["tables"]


def raw(port, data, wait=20):
    s = socket.create_connection(("127.0.0.1", port), timeout=wait)
    s.sendall(data)
    got = b""
    try:
        while chunk := s.recv(65536):
            got += chunk
    except (ConnectionResetError, socket.timeout):
        pass
    s.close()
    return got


def refuse(server, _path):
    host = "127.0.0.1:%d" % server.port
    server.ready()

    def status(path, **heads):
        return server.ask(path, heads={k.replace("_", "-"): v for k, v in heads.items()})[0]
    for want, got in (
            (200, status("/v1/report")),
            (401, status("/v1/report", Authorization=None)), (401, status("/v1/report", Authorization="Bearer " + "0" * 32)),
            (403, status("/v1/report", Host="rebound.example:%d" % server.port)),
            (403, status("/v1/report", Origin="http://evil.example")), (200, status("/v1/report", Origin="http://" + host)),
            (403, status("/v1/report", Sec_Fetch_Site="cross-site")), (403, status("/", Host="evil.example")),
            (404, status("/v1/../v1/report")), (404, status("/../../etc/passwd")), (404, status("/%2e%2e/etc/passwd")),
            (404, status("/v1/nothing")), (404, status("/v1/report?r=1")), (404, status("/v1/report?r=-1")), (200, status("/v1/report?r=999x")),
            (400, status("/v1/event")), (404, status("/v1/event?lane=99999&t=0")), (405, status("/v1/tiles")),
            (405, server.ask("/v1/report", method="PUT")[0])):
        assert want == got, (want, got)
    for bad in (b"", b"x" * 15, b"\0" * 16 * 4097, struct.pack("<IIq", 1, 255 << 8, 0) * 17):
        assert server.ask("/v1/tiles", bad)[0] == 400
    # Any lanes, levels and times.
    server.tiles([(0, 0, 0), (2**32 - 1, 255, 2**63 - 1), (1, 54, -2**63), (1, 54, 1), (1, 0, 2**55), (1, 40, -5)])
    # Refused by its length, by a reply that also a client gets that sends all of it before it reads.
    for size in ((1 << 20) + 1, 2 << 20, 64 << 20):
        assert server.ask("/v1/sql", b"x" * size)[0] == 413, size
    for statement in ("UPDATE StringIds SET value = 1", "ATTACH '/tmp/x' AS y", "PRAGMA journal_mode = DELETE", "DROP TABLE StringIds",
                      "SELECT 1; DELETE FROM StringIds", "VACUUM", "CREATE TEMP TABLE x(a)", "SELECT load_extension('x')", "SELEC"):
        code, data, _ = server.ask("/v1/sql", statement.encode())
        assert code == 400 and json.loads(data)["error"], (statement, code)
    heads = server.ask("/v1/report")[2]
    assert "default-src 'none'" in heads["Content-Security-Policy"] and heads["X-Content-Type-Options"] == "nosniff"
    assert heads["Cache-Control"] == "no-store" and "Access-Control-Allow-Origin" not in heads
    # Heads without end, half requests that go away, replies that are not read.
    assert b"200" not in raw(server.port, b"GET / HTTP/1.1\r\nHost: " + host.encode() + b"\r\nX: " + b"y" * 70000 + b"\r\n\r\n")[:20]
    for half in (b"", b"GET", b"POST /v1/sql HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nSEL", b"\0\xff\r\n\r\n"):
        s = socket.create_connection(("127.0.0.1", server.port))
        s.sendall(half)
        s.close()
    for _ in range(20):
        s = socket.create_connection(("127.0.0.1", server.port))
        s.sendall(b"POST /v1/sql HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: 30\r\n\r\n%-30s" % (
            host.encode(), server.token.encode(), b"SELECT * FROM StringIds"))
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.close()
    assert status("/v1/report") == 200


def endless(server):
    """A body that is too long is read to its end before it is refused, and not for ever."""
    start = time.monotonic()
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as s:
        s.sendall(b"POST /v1/sql HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n" % (
            server.token.encode(), 1 << 60))
        try:
            while time.monotonic() - start < 60:
                s.sendall(b"x" * 4096)
                time.sleep(0.05)
        except (BrokenPipeError, ConnectionResetError):
            pass
    taken = time.monotonic() - start
    assert taken < 45, taken


def slow(server, _path):
    """A byte now and then keeps no connection, nor does a body without end; those that are many wait, and others are answered after them."""
    server.ready()
    endless(server)
    start = time.monotonic()
    idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(40)]
    s = idle[0]
    try:
        while time.monotonic() - start < 60:
            s.sendall(b"G")
            time.sleep(1)
    except (BrokenPipeError, ConnectionResetError):
        pass
    taken = time.monotonic() - start
    assert taken < 45, taken
    assert server.ask("/v1/report")[0] == 200
    for s in idle:
        s.close()


def strangers(server, _path):
    """Another user's connections, which say nothing or do not read, have their own few places: this user's page is answered meanwhile."""
    server.ready()
    told, tell = socket.socketpair()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
        held = []
        for i in range(60):
            s = socket.create_connection(("127.0.0.1", server.port))
            if i % 3 == 1:
                s.sendall(b"GET /app.js HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept-Encoding: gzip\r\n\r\n" * 200)
            elif i % 3 == 2:
                s.sendall(b"POST /v1/sql HTTP/1.1\r\n")
            held.append(s)
        tell.sendall(b"x")
        tell.recv(1)
        # Open: neither end nor reset, whatever lies before it.
        still = 0
        for s in held:
            s.setblocking(False)
            try:
                while s.recv(1 << 20):
                    pass
            except BlockingIOError:
                still += 1
            except OSError:
                pass
        tell.sendall(bytes([still]))
        os._exit(0)
    told.recv(1)
    assert server.ask("/v1/report")[0] == 200
    told.sendall(b"x")
    still = told.recv(1)[0]
    os.waitpid(child, 0)
    assert still <= 16, still
    assert server.ask("/v1/report")[0] == 200


if __name__ == "__main__":
    with Server(sys.argv[1], *sys.argv[3:]) as running:
        {"look": look, "refuse": refuse, "slow": slow, "strangers": strangers}[sys.argv[2]](running, sys.argv[3])

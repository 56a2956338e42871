#!/bin/sh
# view.t - sightline view: what its page asks, against the report's own tables; what it must refuse; reports that are none.
# shellcheck disable=SC2016
. tests/lib.sh
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
"$BIN" view --no-open /dev/null 2>&1 | grep -q 'without libevent' && skip_all 'built without libevent'
client() { "$PY" "$E2E/report/view_client.py" "$BIN" "$@"; }
sqlite3 waits.sqlite <"$TOP/collector/schema.sql" && sqlite3 waits.sqlite <"$TOP/tests/golden/why/waits.sql" || exit 1
sqlite3 empty.sqlite <"$TOP/collector/schema.sql" || exit 1
chmod 444 waits.sqlite

check 'view answers everything that the page asks on a report by hand' client look waits.sqlite
is "$(stat -c %a waits.sqlite.view)" 600 'the index of view is for its owner alone'
check 'view answers the same out of the index' client look waits.sqlite
check 'view refuses other hosts, pages, tokens, paths, statements and sizes' client refuse waits.sqlite
check 'view serves slow and many connections' client slow waits.sqlite
if [ "$(id -u)" = 0 ]; then
	check "another user's connections leave this user's page its places" client strangers waits.sqlite
else
	skip "another user's connections" 'needs root'
fi

# ---- truth: tables of spans, states, arrows ----
cat >truth.py <<'END'
import json, sqlite3, sys
sys.path.insert(0, sys.argv[2])
from view_client import Server
with Server(sys.argv[1], "waits.sqlite") as s:
    report = s.ready()
    db = sqlite3.connect("file:waits.sqlite?mode=ro", uri=True)
    t0, (first, last) = int(report["t0"]), report["span"]
    for a, b in ((first, last + 1), (10_000_000, 41_000_000), (last // 2, last // 2 + 1)):
        rows = s.get("/v1/select", json.dumps({"from": a, "to": b, "lanes": []}))["rows"]
        got = sorted((r["name"], r["count"], r["total"], r["min"], r["max"]) for r in rows if r["kind"] == "osrt")
        want = sorted(db.execute("""SELECT value, count(*), sum(d), min(d), max(d) FROM (SELECT nameId,
            min(end, ?2) - max(start, ?1) AS d FROM OSRT_API WHERE start < ?2 AND (end > ?1 OR start >= ?1))
            JOIN StringIds ON id = nameId GROUP BY nameId""", (a + t0, b + t0)))
        assert got == want, (a, b, got, want)
    # A thread is in one state at each time, and runs as long as it had a CPU.
    states = [r for r in report["rows"] if r["kind"] == "state"]
    assert states
    for row in states:
        rows = s.get("/v1/select", json.dumps({"from": first, "to": last, "lanes": row["lanes"]}))["rows"]
        tid = [r for r in report["rows"] if r["id"] == row["parent"]][0]["tid"]
        switches = db.execute("SELECT start, isSchedIn FROM SCHED_EVENTS WHERE globalTid & 0xffffff = ? ORDER BY start, rowid", [tid]).fetchall()
        ran = sum(b[0] - a[0] for a, b in zip(switches, switches[1:] + [(last + t0, 0)]) if a[1])
        assert sum(r["total"] for r in rows if r["name"] == "running") == ran, (tid, rows, ran)
    woken = 0
    for row in states:
        t = first - 1
        while True:
            status, data, _ = s.ask("/v1/event?lane=%d&t=%d&dir=1" % (row["lanes"][0], t))
            if status == 404:
                break
            e = json.loads(data)
            t = e["start"]
            for arrow in s.get("/v1/flow?table=SCHED_EVENTS&rowid=%d" % e["rowid"])["arrows"]:
                detail = db.execute("SELECT count(*) FROM SL_SCHED_DETAIL WHERE wakeupTime = ? AND start = ?",
                                    (arrow["from"]["start"] + t0, arrow["to"]["start"] + t0)).fetchone()[0]
                assert detail >= 1 and arrow["kind"] == "wakeup", arrow
                woken += 1
    assert woken > 0
    why = s.get("/v1/why?row=%d&from=%d&to=%d" % (states[0]["id"], first, last))
    assert abs(sum(p["ns"] for p in why["parts"]) - (why["to"] - why["from"])) <= 1, why
END
check 'spans, states, wake-ups and causes are those of the tables' "$PY" truth.py "$BIN" "$E2E/report"

# ---- a statement that searches huge values again and again does not keep the server ----
cat >search.py <<'END'
import http.client, signal, sys, threading, time
sys.path.insert(0, sys.argv[2])
from view_client import Server
SQL = b"""WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT sum(instr(printf('%.*c', 300000 + i % 2, 'a'),
    printf('%.*c', 150000, 'a') || 'b')) FROM n"""
def ask(server):
    try:
        server.ask("/v1/sql", SQL)
    except (OSError, http.client.HTTPException):
        pass
with Server(sys.argv[1], "waits.sqlite") as s:
    s.ready()
    thread = threading.Thread(target=ask, args=[s])
    thread.start()
    time.sleep(1)
    s.process.send_signal(signal.SIGINT)
    assert s.process.wait(timeout=60) == 0
    thread.join()
END
check 'one SIGINT ends view within a search of huge values' "$PY" search.py "$BIN" "$E2E/report"

# ---- a report whose collector was killed ----
cp waits.sqlite killed.sqlite && chmod 644 killed.sqlite
sqlite3 killed.sqlite "DELETE FROM META_DATA_EXPORT WHERE name = 'SL_COMPLETE'; INSERT INTO META_DATA_EXPORT VALUES('SL_COMPLETE', '0')"
cat >killed.py <<'END'
import sys
sys.path.insert(0, sys.argv[2])
from view_client import Server
for name, is_unfinished in (("killed.sqlite", True), ("killed.sqlite", True), ("waits.sqlite", False)):
    with Server(sys.argv[1], name) as s:
        report = s.ready()
        assert ("not finished" in report["message"]) == is_unfinished, (name, report["message"])
END
check 'view says that a recording was not finished, also out of the index' "$PY" killed.py "$BIN" "$E2E/report"

cat "$TOP/tests/golden/corpus/base.sql" "$TOP/tests/golden/corpus/3.28.1.sql" | sqlite3 -bail gpu.sqlite || exit 1
cat >launch.py <<'END'
import json, sqlite3, sys
sys.path.insert(0, sys.argv[2])
from view_client import Server
WORK = ("KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE")
with Server(sys.argv[1], "gpu.sqlite") as s:
    report = s.ready()
    db = sqlite3.connect("file:gpu.sqlite?mode=ro", uri=True)
    have = {t for (t,) in db.execute("SELECT name FROM sqlite_master")}
    found = 0
    for row in report["rows"]:
        if row["kind"] not in ("cuda", "stream"):
            continue
        for lane in row["lanes"]:
            t = -1
            while True:
                status, data, _ = s.ask("/v1/event?lane=%d&t=%d&dir=1" % (lane, t))
                if status == 404:
                    break
                e = json.loads(data)
                t = e["start"]
                columns = {c[0]: c[1] for c in e["columns"]}
                arrows = s.get("/v1/flow?table=%s&rowid=%d" % (e["table"], e["rowid"]))["arrows"]
                ends = sorted((a["to" if row["kind"] == "cuda" else "from"][k] for k in ("table", "rowid")) for a in arrows)
                ends = sorted(tuple(x) for x in ends)
                if row["kind"] == "cuda":
                    want = [("CUPTI_ACTIVITY_KIND_" + w, n) for w in WORK if "CUPTI_ACTIVITY_KIND_" + w in have for (n,) in db.execute(
                        "SELECT rowid FROM CUPTI_ACTIVITY_KIND_%s WHERE correlationId = ? AND globalPid >> 24 = ? >> 24" % w,
                        (columns["correlationId"], columns["globalTid"]))]
                else:
                    want = [("CUPTI_ACTIVITY_KIND_RUNTIME", n) for (n,) in db.execute(
                        "SELECT rowid FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE correlationId = ? AND globalTid >> 24 = ? >> 24",
                        (columns["correlationId"], columns["globalPid"]))]
                assert ends == sorted(want), (e, ends, want)
                found += len(ends)
    assert found > 0
END
check 'arrows between calls and GPU work are those of the correlation ids' "$PY" launch.py "$BIN" "$E2E/report"

"$PY" "$E2E/report/view_make.py" "$TOP/collector/schema.sql" train.sqlite 4 || exit 1
cat >ranges.py <<'END'
import json, sqlite3, sys, urllib.parse
sys.path.insert(0, sys.argv[2])
from view_client import Server
with Server(sys.argv[1], "train.sqlite") as s:
    report = s.ready()
    db = sqlite3.connect("file:train.sqlite?mode=ro", uri=True)
    work = " UNION ALL ".join("SELECT start, end, globalPid, contextId, streamId, correlationId FROM CUPTI_ACTIVITY_KIND_" + w for w in ("KERNEL", "MEMCPY"))
    want = sorted(db.execute("""SELECT n.rowid, min(w.start), max(w.end) - min(w.start), w.streamId FROM NVTX_EVENTS AS n
        JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS r ON r.globalTid = n.globalTid AND r.start >= n.start AND r.start < n.end
        JOIN (%s) AS w ON w.correlationId = r.correlationId AND w.globalPid >> 24 = r.globalTid >> 24
        WHERE n.eventType = 59 GROUP BY n.rowid, w.contextId, w.streamId""" % work))
    got = []
    for row in report["rows"]:
        for lane in row["lanes"] if row["kind"] == "nvtx_gpu" else ():
            t = report["span"][0] - 1
            while True:
                status, data, _ = s.ask("/v1/event?lane=%d&t=%d&dir=1" % (lane, t))
                if status == 404:
                    break
                e = json.loads(data)
                t = e["start"]
                columns = {c[0]: c[1] for c in e["columns"]}
                assert e["table"] == "NVTX_EVENTS" and columns["text"] == e["name"], e
                got.append((e["rowid"], e["start"] + int(report["t0"]), e["dur"], row["stream"]))
    assert len(want) > 50 and sorted(got) == want, (len(got), len(want))
    # Arguments, as exports name them.
    for name, of in (("=read", [["path", "/data/"], ["fd", "5"], ["bytes asked", "65536"]]), ("=cudaMemcpyAsync", [["correlation", ""]]),
                     ("=Memcpy HtoD (Pinned -> Device)", [["bytes", "9633792"], ["stream", "13"]]), ("=softmax_warp_forward", [["grid", "128 x 1 x 1"]])):
        found = s.get("/v1/search?t=-1&q=" + urllib.parse.quote(name))["event"]
        args = dict(s.get("/v1/event?lane=%d&t=%d" % (found["lane"], found["start"]))["args"])
        assert all(args.get(k, "no").startswith(v) for k, v in of), (name, args)
END
check 'ranges on the GPU are as long as their work, and have the row of the range' "$PY" ranges.py "$BIN" "$E2E/report"

# ---- tables: self time, by thread, against another report ----
"$PY" "$E2E/report/view_make.py" "$TOP/collector/schema.sql" slower.sqlite 4 40 || exit 1
cat >self.py <<'END'
import json, sqlite3, sys
sys.path.insert(0, sys.argv[2])
from view_client import Server
with Server(sys.argv[1], "train.sqlite", "slower.sqlite") as s:
    report, _ = s.ready(), s.ready(1)
    rows = {r["id"]: r for r in report["rows"]}
    t0 = int(report["t0"])
    db = sqlite3.connect("file:train.sqlite?mode=ro", uri=True)
    ranges = db.execute("SELECT text, start, end, globalTid & 0xffffff FROM NVTX_EVENTS WHERE eventType = 59 ORDER BY start, end DESC").fetchall()
    assert len(ranges) > 20
    def self_times(a, b):
        """By thread and name: the time in the span without that of the ranges directly within."""
        found, open_ = {}, {}
        for text, start, end, tid in ranges:
            stack = open_.setdefault(tid, [])
            while stack and stack[-1][2] <= start:
                stack.pop()
            ns = max(0, min(end, b) - max(start, a))
            if start < b and (end > a or start >= a):
                found[tid, text] = found.get((tid, text), 0) + ns
            if stack:
                found[tid, stack[-1][0]] = found.get((tid, stack[-1][0]), 0) - ns
            stack.append((text, start, end))
        return {k: v for k, v in found.items() if v}
    first, last = report["span"]
    for a, b in ((first, last), ((first + last) // 2, last - 1000), (first + 12345678, first + 98765432)):
        want = self_times(a + t0, b + t0)
        got = s.get("/v1/select", json.dumps({"from": a, "to": b, "lanes": [], "by": "thread"}))["rows"]
        assert {(rows[r["row"]]["tid"], r["name"]): r["self"] for r in got if r["kind"] == "nvtx" and r["self"]} == want, (a, b, got, want)
        whole = s.get("/v1/select", json.dumps({"from": a, "to": b, "lanes": []}))["rows"]
        for key in "count", "total", "self":
            sums = {}
            for r in got:
                sums[r["kind"], r["name"]] = sums.get((r["kind"], r["name"]), 0) + r[key]
            alone = {}
            for r in whole:
                alone[r["kind"], r["name"]] = alone.get((r["kind"], r["name"]), 0) + r[key]
            assert sums == alone, key
    # Steps of the second report all take longer: of the 70 ways to choose four of eight, two are as far apart.
    def p_of(**body):
        return {(r["kind"], r["name"]): r.get("p") for r in s.get("/v1/select", json.dumps({"from": first, "to": last, "lanes": [], **body}))["rows"]}
    p = p_of(other=1)
    assert abs(p["nvtx", "step"] - 2 / 70) < 1e-12, p
    alike = p_of(other=0, other_from=first, other_to=last)
    assert set(alike.values()) == {None, 1}, alike
    assert set(p_of().values()) == set(p_of(other=2).values()) == set(p_of(other=-5).values()) == {None}
    # In a span of the other report that has no four steps nothing is known.
    assert p_of(other=1, other_from=first, other_to=(first + last) // 3)["nvtx", "step"] is None
    lanes = [lane for r in report["rows"] if r["kind"] == "cuda" for lane in r["lanes"]]
    assert p_of(other=1, other_lanes=lanes)["nvtx", "step"] is None
END
check 'tables have self times, lines of each thread, and the test of compare' "$PY" self.py "$BIN" "$E2E/report"

# ---- causes, events, steps, notes ----
cat >causes.py <<'END'
import json, os, sqlite3, subprocess, sys, urllib.parse
sys.path.insert(0, sys.argv[2])
from view_client import Server
binary = sys.argv[1]
def same(got, want):
    assert got == want, "%r, not %r" % (got, want)
for name in "waits.sqlite", "train.sqlite", "gpu.sqlite":
    why = json.loads(subprocess.run([binary, "why", "-f", "json", "--limit=0", "--max-bytes=0", name], stdout=subprocess.PIPE, check=True).stdout)
    with Server(binary, name) as s:
        report = s.ready()
        rows = {r["id"]: r for r in report["rows"]}
        found = s.get("/v1/findings")
        same(found["ns"], why["focus"]["ns"])
        for f in found["findings"]:
            assert f["ns"] <= found["ns"] and f["reason"] and f["colour"], f
            assert "start" not in f or f["row"] in rows and 0 < f["end"] - f["start"] <= f["ns"], f
        # Slices cover the time without gaps.
        for t in found["tracks"]:
            track = s.get("/v1/track?row=%d&from=%d&to=%d" % (t["row"], t["from"], t["to"]))
            starts, kinds = track["slices"][::2], track["slices"][1::2]
            assert starts == sorted(starts) and starts[0] == t["from"] and starts[-1] == t["to"] and kinds[-1] == -1, (name, t, track["slices"][:6])
            sums = {}
            for a, b, kind in zip(starts, starts[1:], kinds):
                reason = track["kinds"][kind]["reason"]
                sums[reason] = sums.get(reason, 0) + b - a
            same(sum(sums.values()), t["to"] - t["from"])
            if t["device"] < 0:
                want = {}
                for p in why["partition"]:
                    want[p["reason"]] = want.get(p["reason"], 0) + p["ns"]
                same(sums, want)
            # A part of it is the same there.
            middle = (t["from"] + t["to"]) // 2
            part = s.get("/v1/track?row=%d&from=%d&to=%d" % (t["row"], middle, t["to"]))
            same((part["from"], sum(b - a for a, b in zip(part["slices"][::2], part["slices"][2::2]))), (middle, t["to"] - middle))
        same((s.ask("/v1/track?row=999999&from=0&to=5")[0], s.ask("/v1/why?row=1&from=5&to=5")[0]), (404, 404))
with Server(binary, "train.sqlite") as s:
    lanes = [lane for r in s.ready()["rows"] if r["kind"] == "osrt" for lane in r["lanes"]]
    db = sqlite3.connect("file:train.sqlite?mode=ro", uri=True)
    def events(**more):
        return s.get("/v1/events?" + urllib.parse.urlencode(more), json.dumps({"lanes": lanes}))
    for sql, more in (
            ("value LIKE '%read%'", {"name": "read"}), ("value = 'read'", {"name": "=read"}), ("value IN ('read', 'close')", {"name": "/^(read|close)$"}),
            ("value = 'read' AND end - start >= 200000", {"name": "=read", "min": 200000}), ("value = 'read' AND end - start <= 99999", {"name": "=read", "max": 99999}),
            ("value = 'openat' AND pathId IN (SELECT id FROM StringIds WHERE value LIKE '%/0001%')", {"name": "=openat", "arg": "/0001"})):
        lengths = [n for (n,) in db.execute("SELECT end - start FROM OSRT_API JOIN StringIds ON id = nameId WHERE %s ORDER BY 1 DESC" % sql)]
        got = events(by=1, down=1, most=7, **more)
        same((got["total"], got["sum"], got["events"][2::4]), (len(lengths), sum(lengths), lengths[:7]))
        same(sum(got["durations"]), len(lengths))
    same(events(name="!=read\n=read")["total"], 0)
    for bad in "/(", "/" + "a" * 300, "/(a{2}){2}", "/(a)\\1":
        same(s.ask("/v1/events?" + urllib.parse.urlencode({"name": bad}), b"{}")[0], 400)
    steps = s.get("/v1/steps")["steps"]
    same(list(zip(steps[::3], steps[1::3])), db.execute("SELECT start, end FROM NVTX_EVENTS WHERE text = 'step' ORDER BY start").fetchall())
    # Notes: for the owner alone; a body that is no object is refused; notes of another recording stay.
    same(s.get("/v1/notes")["state"], "none")
    for bad in b"[1]", b"{", b"{} {}", b"7", b"":
        same((s.ask("/v1/note", bad)[0], bad), (400, bad))
    same(s.ask("/v1/note", b"{" + b" " * (1 << 20) + b"}")[0], 413)
    same(s.ask("/v1/note", b'{"marks": [{"t": 1, "text": "\\u0041<b>"}]}')[0], 200)
    same(os.stat("train.sqlite.notes").st_mode & 0o777, 0o600)
    same(s.get("/v1/notes")["notes"], {"marks": [{"t": 1, "text": "A<b>"}]})
    text = open("train.sqlite.notes").read()
    for other, state in ((text.replace("file ", "file 1"), "other"), (text[:20], "damaged"), ("", "damaged")):
        open("train.sqlite.notes", "w").write(other)
        same((s.get("/v1/notes")["state"], s.ask("/v1/note", b"{}")[0], open("train.sqlite.notes").read()), (state, 409, other))
        same((s.ask("/v1/note?replace=1", b"{}")[0], open("train.sqlite.notes.old").read()), (200, other))
    os.unlink("train.sqlite.notes")
    os.symlink("/etc/hostname", "train.sqlite.notes")
    same(s.get("/v1/notes")["state"], "damaged")
    os.unlink("train.sqlite.notes")
with Server(binary, "waits.sqlite") as s:
    s.ready()
    db = sqlite3.connect("file:waits.sqlite?mode=ro", uri=True)
    want = db.execute("SELECT count(*), coalesce(sum(c.end - c.start), 0) FROM SL_OSRT_LOCKS l JOIN OSRT_API c USING (start, globalTid) WHERE c.end > c.start").fetchone()
    locks = s.get("/v1/locks")["locks"]
    same((sum(l["count"] for l in locks), sum(l["ns"] for l in locks)), want)
END
check 'causes are those of the command, events and steps those of the tables, and notes are kept' "$PY" causes.py "$BIN" "$E2E/report"

cp gpu.sqlite colors.sqlite
sqlite3 colors.sqlite "UPDATE NVTX_EVENTS SET color = 0xFF123456, textId = NULL, text = 'painted' WHERE rowid = (SELECT min(rowid) FROM NVTX_EVENTS
	WHERE eventType = 59)" || exit 1
cat >colors.py <<'END'
import sys
sys.path.insert(0, sys.argv[2])
from view_client import Server
with Server(sys.argv[1], "colors.sqlite") as s:
    s.ready()
    e = s.get("/v1/search?q=%3Dpainted&t=-1")["event"]
    s.tiles([(e["lane"], 0, e["start"] // 256)])
    assert 0x1123456 in s.colors, [hex(c) for c in s.colors]
END
check 'a range has the color that the program gave it' "$PY" colors.py "$BIN" "$E2E/report"

# ---- curves end where sampling does: one interval after the last sample ----
sqlite3 ends.sqlite <"$TOP/tests/golden/reports/health.sql" && cp ends.sqlite early.sqlite &&
	sqlite3 early.sqlite "DELETE FROM SL_COUNTER_SAMPLES WHERE timestamp > 500000000 AND counterId IN (SELECT id FROM SL_COUNTERS WHERE gpuId IS NULL);
	DELETE FROM GPU_METRICS WHERE timestamp > 400000000 AND typeId & 255 = 0" || exit 1
cat >ends.py <<'END'
import math, sys
sys.path.insert(0, sys.argv[2])
from view_client import Server
MS = 1000000
# When a curve ends. Of the machine: CPU Busy and Disk Read have its last samples, of which the shorter interval counts; levels that
# hardly ever change hold up to there.
ENDS = {"GPU 0: SMs Active [Throughput %]": 1000, "GPU 1: SMs Active [Throughput %]": 1000, "GPU 0: Power": 1050, "Memory Total": 2500,
        "cgroup: Memory Used": 2500, "GPU 0: DRAM Read Bandwidth [Throughput %]": 1000, "GPU 0, process 10: GPU Memory Used": 1000}
EARLY = dict(ENDS, **{"GPU 0: SMs Active [Throughput %]": 401, "GPU 0: DRAM Read Bandwidth [Throughput %]": 401, "Memory Total": 750,
                      "cgroup: Memory Used": 750})
for path, ends in ("ends.sqlite", ENDS), ("early.sqlite", EARLY):
    with Server(sys.argv[1], path) as s:
        report = s.ready()
        lanes = {r["name"]: r["lanes"][0] for r in report["rows"] if r["kind"] == "counter"}
        assert report["span"] == [0, 1900 * MS] and report["t0"] == "0", report["span"]
        for name, end in ends.items():
            for t, known in (end * MS - 1, True), (end * MS, False):
                value = s.curves([(lanes[name], 0, t // 256)])[0][t % 256][2]
                assert math.isnan(value) != known, (path, name, t, value)
        means = {c["name"]: c["mean"] for c in s.get("/v1/select", '{"lanes": []}')["counters"]}
        assert abs(means["GPU 0: Power"] - (10 * 100 + 11 * 300) / 21) < 1e-9, means
END
check 'curves end one interval after their last samples' "$PY" ends.py "$BIN" "$E2E/report"

# ---- a report that grows ----
cat >live.py <<'END'
import fcntl, os, sqlite3, struct, subprocess, sys, time
sys.path.insert(0, sys.argv[2])
from view_client import Server
def is_watched():
    """The lock by which the collector sees that rows are wanted at once."""
    with open("live.sqlite", "rb") as f:
        got = fcntl.fcntl(f, fcntl.F_GETLK, struct.pack("hhqqi", fcntl.F_WRLCK, 0, 0x40000200, 1, 0))
    return struct.unpack("hhqqi", got)[0] != fcntl.F_UNLCK
def has_tables():
    try:
        with sqlite3.connect("file:live.sqlite?mode=ro", uri=True) as db:
            return db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'OSRT_API'").fetchone()[0]
    except sqlite3.OperationalError:
        return False
program = subprocess.Popen([sys.argv[1], "profile", "-t", "osrt", "--osrt-threshold", "0", "-o", "live", "sh", "-c",
                            "while [ ! -e enough ]; do sleep 0.2; done"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
try:
    while not has_tables():
        assert program.poll() is None
        time.sleep(0.05)
    with Server(sys.argv[1], "live.sqlite") as s:
        seen, known, generation, watched = [], {}, -1, False
        while len(seen) < 400:
            live = s.get("/v1/live?gen=%d" % generation)
            generation = live["generation"]
            report = s.get("/v1/report")
            # What the page has by number stays what it is.
            for row in report["rows"]:
                before = known.setdefault(row["key"], row)
                assert row["id"] == before["id"] and (row["lanes"] + before["lanes"])[:len(before["lanes"])] == before["lanes"], (row, before)
                known[row["key"]] = row if row["lanes"] else before
            if live["state"] == "live":
                seen.append(live["events"])
                watched |= is_watched()
            if len(set(seen)) >= 4:
                open("enough", "w").close()
            if live["state"] in ("ready", "failed"):
                break
        assert live["state"] == "ready" and sorted(seen) == seen and len(set(seen)) >= 4, (live, seen)
        program.wait()
        assert watched
        got = s.get("/v1/select", '{"lanes": []}')["rows"]
        with sqlite3.connect("file:live.sqlite?mode=ro", uri=True) as db:
            want = db.execute("SELECT count(*), sum(end - start) FROM OSRT_API").fetchone()
        assert (sum(r["count"] for r in got if r["kind"] == "osrt"), sum(r["total"] for r in got if r["kind"] == "osrt")) == want, want
finally:
    open("enough", "w").close()
    program.wait()
END
check 'a report that grows is followed to its end, which is all of it' "$PY" live.py "$BIN" "$E2E/report"

# ---- files ----
cat >files.py <<'END'
import json, sqlite3, sys
sys.path.insert(0, sys.argv[2])
from view_client import Server
with sqlite3.connect("file:live.sqlite?mode=ro", uri=True) as db:
    want = db.execute("SELECT value, count(*), sum(end - start), total(max(bytesDone, 0)) AS bytes FROM OSRT_API JOIN StringIds ON id = pathId "
                      "GROUP BY pathId ORDER BY bytes DESC, 2 DESC, pathId").fetchall()
with Server(sys.argv[1], "live.sqlite") as s:
    rows = s.ready()["rows"]
    group = [r for r in rows if r["kind"] == "files"]
    files = [r for r in rows if r["kind"] == "file"]
    assert len(group) == 1 and all(r["parent"] == group[0]["id"] for r in files) and len(want) > 1
    assert [(r["name"], r["events"]) for r in files] == [w[:2] for w in want], (files, want)
    for row, w in zip(files, want):
        got = s.get("/v1/select", json.dumps({"lanes": row["lanes"]}))["rows"]
        assert (sum(r["count"] for r in got), sum(r["total"] for r in got)) == w[1:3] and {r["kind"] for r in got} == {"file"}, (got, w)
    # Calls that have a row of their file are in the thread's, too, and count once.
    assert "file" not in {r["kind"] for r in s.get("/v1/select", '{"lanes": []}')["rows"]}
    found = s.get("/v1/search?all=1&t=-1&q=%3Dread")
    at = s.get("/v1/event?lane=%d&t=%d" % (files[0]["lanes"][0], files[0]["span"][0]))
    assert found["total"] == s.get("/v1/sql", b"SELECT count(*) FROM OSRT_API JOIN StringIds ON id = nameId WHERE value = 'read'")["rows"][0][0]
    assert at["table"] == "OSRT_API" and [c[2] for c in at["columns"] if c[0] == "pathId"] == [files[0]["name"]], at
END
check 'each file has a row with its calls, those with most bytes first' "$PY" files.py "$BIN" "$E2E/report"

# ---- reports that have nothing, or are none ----
cat >empty.py <<'END'
import sys
sys.path.insert(0, sys.argv[2])
from view_client import Server
with Server(sys.argv[1], "empty.sqlite", "waits.sqlite") as s:
    report = s.ready()
    assert report["rows"] == [] and report["message"], report
    assert len(report["reports"]) == 2 and s.ready(1)["rows"]
END
check 'a report without events has the reason, and the other one beside it' "$PY" empty.py "$BIN" "$E2E/report"
head -c 20000 waits.sqlite >cut.sqlite
printf 'no report' >text.sqlite
for f in cut.sqlite text.sqlite gone.sqlite /dev/null; do
	"$BIN" view --no-open "$f" >out 2>err
	is "$? $(grep -vc 'was built without its page' err) $(wc -c <out)" '1 1 0' "$f is refused with one line and the reason"
done
"$BIN" view >out 2>err
is "$?" 2 'view without a report is refused'

# ---- where the index goes ----
mkdir -m 755 ro && cp waits.sqlite ro/ && chmod 444 ro/waits.sqlite && chmod 555 ro
mkdir -m 777 cache
# Another user's report, in a folder of theirs.
if [ "$(id -u)" -ne 0 ]; then
	XDG_CACHE_HOME=$W/cache check 'a folder that cannot be written to' client look ro/waits.sqlite
	is "$(find cache -name '*.view' | wc -l)" 1 'the index of view is in the cache'
elif command -v setpriv >/dev/null; then
	other=$(nobody_bin)
	as_other() { setpriv --reuid=65534 --regid=65534 --clear-groups env "$@"; }
	cp "$E2E/report/view_client.py" . && chmod a+r view_client.py
	check 'view serves the report of another user, in a folder that cannot be written to' \
		as_other XDG_CACHE_HOME="$W/cache" "$PY" view_client.py "$other" look ro/waits.sqlite
	is "$(find ro cache -name '*.view' -user 65534) $(find cache -perm 600 | wc -l)" "$(find cache -name '*.view') 1" "the index of another user's report is in the cache, for its owner alone"
	check 'view serves a report where there is no cache either' as_other XDG_CACHE_HOME="$W/ro" HOME="$W/ro" "$PY" view_client.py "$other" look ro/waits.sqlite
	# One that another user has put there is not looked at.
	cp waits.sqlite.view taken.view && chown 65534:65534 taken.view && cp waits.sqlite theirs.sqlite && mv taken.view theirs.sqlite.view
	check 'an index of another user is made anew' client look theirs.sqlite
	is "$(stat -c %u theirs.sqlite.view)" 0 "an index that is made anew is the user's own"
fi
chmod 755 ro

# ---- no room for it ----
cat >full.py <<'END'
import os, resource, sys, time
sys.path.insert(0, sys.argv[2])
from view_client import Server
# A file cannot grow beyond this, as where a disk is full.
resource.setrlimit(resource.RLIMIT_FSIZE, (16384, resource.RLIM_INFINITY))
with Server(sys.argv[1], "full.sqlite") as s:
    for _ in range(200):
        report = s.get("/v1/report")
        if report["state"] != "building":
            break
        time.sleep(0.05)
    assert report["state"] == "failed" and "room" in report["message"], report
    assert s.ask("/v1/sql", b"SELECT count(*) FROM OSRT_API")[0] == 200
assert [f for f in os.listdir(".") if f.startswith("full.sqlite")] == ["full.sqlite"], os.listdir(".")
END
cp train.sqlite full.sqlite
check 'view without room for the index says so, and leaves no file' "$PY" full.py "$BIN" "$E2E/report"

cat >ports.py <<'END'
import os, shutil, struct, sys, time
sys.path.insert(0, sys.argv[2])
from view_client import Server
seen = []
with Server(sys.argv[1], "waits.sqlite", options=("--no-open", "--port", "18420")) as a, \
        Server(sys.argv[1], "waits.sqlite", options=("--no-open", "--port", str(a.port))) as b:
    assert b.port > a.port and a.token != b.token
    assert a.ready() and b.ready()
    assert b.ask("/v1/report", heads={"Authorization": "Bearer " + a.token})[0] == 401
# Damage: made anew.
with open("waits.sqlite.view", "r+b") as f:
    f.seek(100)
    f.write(b"damage")
with Server(sys.argv[1], "waits.sqlite") as s:
    assert s.ready()["state"] == "ready"
# Damaged while it is open: noticed, and made anew.
shutil.copy("waits.sqlite", "torn.sqlite")
with Server(sys.argv[1], "torn.sqlite") as s:
    lanes = [lane for r in s.ready()["rows"] for lane in r["lanes"]]
with open("torn.sqlite.view", "r+b") as f:
    for at in range(4096, struct.unpack_from("<Q", f.read(64), 48)[0], 1024): # up to the directory
        f.seek(at + 40)
        f.write(b"torn")
with Server(sys.argv[1], "torn.sqlite") as s:
    s.ready()
    wanted = b"".join(struct.pack("<IIq", lane, 20, 0) for lane in lanes)
    for _ in range(100):
        status = s.ask("/v1/tiles", wanted)[0]
        seen.append(status)
        if status == 200:
            break
        time.sleep(0.1)
    assert seen[0] == 503 and seen[-1] == 200, seen
# Gone while it is open: the picture stays, the details fail with a sentence.
shutil.copy("waits.sqlite", "gone.sqlite")
with Server(sys.argv[1], "gone.sqlite") as s:
    rows = s.ready()["rows"]
    os.unlink("gone.sqlite")
    lane = [r["lanes"][0] for r in rows if r["lanes"]][0]
    s.tiles([(lane, 20, 0)])
    assert s.ask("/v1/sql", b"SELECT 1")[0] == 503
    for _ in range(100):
        live = s.get("/v1/report")
        if live["message"]:
            break
        time.sleep(0.1)
    assert "gone" in live["message"] and live["state"] == "ready" and live["rows"], live
END
check 'view bears a port that is taken, a damaged index and a report that goes away' "$PY" ports.py "$BIN" "$E2E/report"
intact waits.sqlite && result 0 'view leaves the report as it was'

# ---- the browser: all users can read its command line, so the address with the token is in a page of the user's ----
mkdir bin runtime && chmod 700 runtime
cat >bin/xdg-open <<'END'
#!/bin/sh
echo "$*" >"$SEEN"
page=${1#file://}
stat -c %a "$page" >"$SEEN.mode"
cp "$page" "$SEEN.page"
END
chmod 755 bin/xdg-open
for option in '' --perfetto; do
	rm -f seen*
	SEEN=$W/seen DISPLAY=:9 XDG_RUNTIME_DIR=$W/runtime PATH=$W/bin:$PATH "$BIN" view ${option:+"$option"} waits.sqlite >out 2>err &
	job=$!
	wait_for 20 test -s seen.page
	address=$(head -1 out)
	is "$(cat seen)" "file://$(ls "$W"/runtime/sightline-view-*.html)" "view${option:+ $option}: the browser's command line has the page and no token"
	is "$(cat seen.mode) $(grep -cF "url=$address\"" seen.page)" '600 1' "view${option:+ $option}: the page is for the user alone, and leads to the address"
	kill -INT $job
	wait $job
	is "$(ls runtime)" '' "view${option:+ $option}: the page is removed at the end"
done
done_testing

#!/bin/sh
# why.t - sightline why: on a report written by hand (tests/golden/why/, with the arithmetic in its head), on a program
# whose main thread waits for others, and where something is missing.
# shellcheck disable=SC2016
. tests/lib.sh
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
sqlite3 waits.sqlite <"$TOP/collector/schema.sql" && sqlite3 waits.sqlite <"$TOP/tests/golden/why/waits.sql" || exit 1

# "REASON PLACE MS" of each part, the longest first; those of equal length by name.
cat >parts.py <<'END'
import json, sys
y = json.load(sys.stdin)
parts = y["partition"]
assert sum(p["ns"] for p in parts) == y["checks"]["sum_ns"], "sum"
for p in sorted(parts, key=lambda p: (-p["ns"], p["reason"], str(p["place"]))):
    print("%s %s %.1f" % (p["reason"], p["place"], p["ns"] / 1e6))
print("sum %.1f of %.1f" % (y["checks"]["sum_ns"] / 1e6, y["wall"]["ns"] / 1e6))
END
parts() { "$BIN" why -f json --limit=0 --max-bytes=0 "$@" | "$PY" parts.py 2>&1; }

is "$(parts waits.sqlite)" "SLEEP None 34.0
COMPUTE a.py:30 in serve 30.0
SLEEP a.py:20 in hold 28.0
COMPUTE a.py:1 in f 18.0
COMPUTE a.py:2 in f 10.0
KERNEL a.py:50 in f 10.0
NO_CPU a.py:2 in f 10.0
SLEEP a.py:50 in f 10.0
CHILD a.py:50 in f 4.0
COMPUTE None 2.0
COMPUTE a.py:20 in hold 2.0
NO_CPU a.py:40 in f 2.0
sum 160.0 of 160.0" 'each instant has one cause, which is the thread that ended the wait'
is "$(parts --time 50ms-80ms waits.sqlite)" "COMPUTE a.py:30 in serve 30.0
sum 30.0 of 30.0" 'a part of the time: thread 102 computes before it sends'
is "$(parts --thread 101 --time 0-41ms waits.sqlite | tail -1)" 'sum 41.0 of 41.0' 'another thread: its parts add up to its time'
"$BIN" why -f json --limit=0 --max-bytes=0 waits.sqlite >out.json
check 'culprits: lines of the program, with the way to them' "$PY" -c '
import json
y = json.load(open("out.json"))
c = y["culprits"]
assert sorted((k["place"], round(k["ns"] / 1e6)) for k in c) == [("a.py:1 in f", 40), ("a.py:20 in hold", 30), ("a.py:30 in serve", 30),
    ("a.py:50 in f", 60)] and c[0]["line"] == 50, c
child = c[0]["most"]
assert child["thread"] == "sleep 200" and child["chain"][0]["reason"] == "CHILD" and child["chain"][0]["thread"] == "main thread", child
serve = [k for k in c if k["place"] == "a.py:30 in serve"][0]["most"]
assert serve["chain"][0]["object"] == "tcp:127.0.0.1:80" and serve["confidence"] <= 0.7, serve
assert [k for k in c if k["place"] == "a.py:20 in hold"][0]["most"]["confidence"] == 1, c'
"$BIN" why waits.sqlite >text
check 'text: the head has the wall time, its basis and the main thread' grep -q '^waits.sqlite: 160 ms wall time, life of the root process (170 ms recorded); main thread of /usr/bin/python3' text
check 'text: the way from a child to the wait for it' grep -q '<- main thread waiting for a child process, waitpid at a.py:50 in f' text
is "$("$BIN" why waits.sqlite waits.sqlite | grep -c 'wall time')" 2 'two reports: an answer for each'
is "$(wc -l <text | awk '{ print ($1 < 30) }')" 1 'text: fewer than 30 lines'

# ---- rows in any order, times out of all bounds ----
cp waits.sqlite order.sqlite
sqlite3 order.sqlite 'CREATE TABLE x AS SELECT * FROM SCHED_EVENTS ORDER BY start DESC, isSchedIn; DELETE FROM SCHED_EVENTS;
	INSERT INTO SCHED_EVENTS SELECT * FROM x; CREATE TABLE y AS SELECT * FROM OSRT_API ORDER BY start DESC; DELETE FROM OSRT_API;
	INSERT INTO OSRT_API SELECT * FROM y; DROP TABLE x; DROP TABLE y' || exit 1
is "$(parts order.sqlite)" "$(parts waits.sqlite)" 'rows in another order: the same answer'
cp waits.sqlite far.sqlite
sqlite3 far.sqlite 'UPDATE SCHED_EVENTS SET start = 9223372036854775807 WHERE rowid % 5 = 0; UPDATE OSRT_API SET start = -9223372036854775808
	WHERE rowid % 3 = 0; UPDATE COMPOSITE_EVENTS SET start = -9223372036854775808 WHERE rowid % 4 = 0' || exit 1
is "$(parts far.sqlite | tail -1)" 'sum 160.0 of 160.0' 'times out of all bounds: still each instant once'

# ---- places: below the program's line stand a library of the system and a header ----
cp waits.sqlite header.sqlite
sqlite3 header.sqlite "INSERT INTO StringIds VALUES (40, '/usr/include/c++/12/bits/x.h'), (41, '/home/me/a.cc'), (42, '/home/me/a'),
	(43, '/usr/lib/x86_64-linux-gnu/libz.so.1.2'), (44, 'inlined');
	INSERT INTO SL_FRAMES(id, kind, symbol, module, file, line, inlined, kernelMode, unresolved, specialEntry) VALUES
	(17, 0, 44, 43, NULL, NULL, 0, 0, 0, 0), (18, 0, 44, 42, 40, 9, 0, 0, 0, 0), (19, 0, 2, 42, 41, 3, 0, 0, 0, 0);
	INSERT INTO SL_STACKS VALUES (7, 0, 17), (7, 1, 18), (7, 2, 19);
	UPDATE OSRT_API SET callchainId = 7 WHERE nameId = 13 AND start = 140000000" || exit 1
is "$(parts header.sqlite | grep -c '^SLEEP a.cc:3 in f 10.0$')" 1 "a stack: the line of the program, not of a library's header"
sqlite3 header.sqlite 'DELETE FROM SL_STACKS WHERE depth = 2' || exit 1
is "$(parts header.sqlite | grep -c '^SLEEP x.h:9 in inlined 10.0$')" 1 'a stack of headers alone: the line of the header'
cp waits.sqlite unsampled.sqlite
sqlite3 unsampled.sqlite 'DROP TABLE COMPOSITE_EVENTS' || exit 1
"$BIN" why -f json --limit=0 --max-bytes=0 unsampled.sqlite >out.json
check 'without samples: what computes is a culprit of each thread, without a line' "$PY" -c '
import json
c = [k for k in json.load(open("out.json"))["culprits"] if k["place"] is None]
assert round(c[0]["reasons"]["COMPUTE"] / 1e6) >= 28, c
assert len({(k["most"]["tid"], k["most"]["reason"], k["most"]["call"]) for k in c}) == len(c), c'

# ---- what is missing ----
sqlite3 waits.sqlite 'CREATE TABLE x AS SELECT 1; DROP TABLE x' || exit 1
cp waits.sqlite without.sqlite
sqlite3 without.sqlite 'DROP TABLE SCHED_EVENTS; DROP TABLE SL_SCHED_DETAIL; DROP TABLE COMPOSITE_EVENTS' 2>/dev/null
"$BIN" why without.sqlite >text 2>err
is "$? $(cat err)" '0 ' 'without context switches and samples: an answer'
check 'without context switches: a note says so' grep -q 'Not recorded: context switches' text
check 'without context switches: the parts add up to the wall time' sh -c '"$1" why -f json --limit=0 --max-bytes=0 without.sqlite | "$2" parts.py | grep -qx "sum 160.0 of 160.0"' - "$BIN" "$PY"
"$BIN" why --thread 102 --time 1s-2s waits.sqlite >text 2>err
is "$? $(grep -c 'Nothing was recorded' text)" '0 1' 'a time without events: one sentence'
"$BIN" why --thread 103 waits.sqlite >out 2>err
is "$? $(cat err)" '1 sightline: why: waits.sqlite: thread 103 is not in the report; the nearest is 102' 'an unknown thread: refused with the nearest one'
cp waits.sqlite other.sqlite
sqlite3 other.sqlite 'DROP TABLE SCHED_EVENTS; DROP TABLE SL_SCHED_DETAIL' || exit 1
is "$(parts --thread 200 other.sqlite | grep -c '^SLEEP None 34.0$')" 1 'without context switches: a thread of another process sleeps'
"$BIN" why none.sqlite >out 2>err
is "$?" 1 'a report that does not exist: status 1'
"$BIN" why >out 2>err
is "$?" 2 'no report named: status 2'
for r in "$TOP"/../shared/data/nsys/*.sqlite; do
	[ -f "$r" ] || continue
	"$BIN" why "$r" >text 2>err
	is "$? $(cat err)" '0 ' "report of nsys, $(basename "$r"): an answer"
done

# ---- programs ----
# Each step of a thread waits for one of the other: how long the main thread waits depends on the sleeps alone.
cat >lock.py <<'END'
import threading, time
lock = threading.Lock()
held, wanted, over = [threading.Semaphore(0) for _ in range(3)]
def hold():
    for i in range(5):
        with lock:
            held.release()
            wanted.acquire()
            time.sleep(0.05)  # CULPRIT
        over.acquire()
thread = threading.Thread(target=hold)
thread.start()
for i in range(5):
    held.acquire()
    wanted.release()
    with lock:
        pass
    over.release()
thread.join()
END
profile lock --python-sampling=true "$PY" lock.py >log 2>&1
if [ "$(q "$R" 'SELECT count(*) > 0 FROM SCHED_EVENTS')" = 1 ]; then
	"$BIN" why -f json --limit=0 --max-bytes=0 "$R" >out.json
	# The five sleeps of 50 ms are the main thread's, but for the time in which one of the two threads had no CPU, by the report
	# itself: after wake-ups, and where it was taken away; and 1 ms each to get from the semaphore to the lock.
	latency=$(q "$R" "SELECT coalesce(sum(start - wakeupTime), 0) + (SELECT coalesce(sum(back - start), 0) FROM (SELECT start, threadState,
		lead(start) OVER (PARTITION BY globalTid ORDER BY start) AS back FROM SCHED_EVENTS) WHERE threadState = 1) FROM SL_SCHED_DETAIL")
	check 'a lock that another thread holds: the line that sleeps has all of it' "$PY" -c '
import json, sys
y = json.load(open("out.json"))
least = 5 * 50e6 - 5 * 1e6 - int(sys.argv[1])
c = [k for k in y["culprits"] if (k["line"], k["function"]) == (9, "hold")]
assert least <= 0 or (c and c[0]["reasons"]["SLEEP"] >= least), (least, c, y["culprits"][:3])
weight = lambda k: k["ns"] - k["reasons"].get("NO_CPU", 0)
assert not c or y["culprits"][0] == c[0] or weight(y["culprits"][0]) >= least, (least, y["culprits"][:3])
assert not c or [(h["thread"], h["line"]) for h in c[0]["most"]["chain"]] == [("main thread", 16)], c[0]
assert abs(y["checks"]["sum_ns"] - y["wall"]["ns"]) <= y["wall"]["ns"] / 1000, y["checks"]' "$latency"
	# Two of those that make check-pairs looks at: 600 and 350 ms asleep, which nothing but a sleep of another line comes near to.
	"$PY" "$TOP/tests/pairs/check-pairs" -b "$B" -n 0 --keep pairs children poll_event >table 2>&1
	result $? 'two pairs with a culprit: it is named first, with its line' || diag <table
else
	skip 'a lock that another thread holds' 'context switches cannot be recorded'
fi
done_testing

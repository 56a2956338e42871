#!/bin/sh
# --trace=python-gil: which threads hold Python's interpreter lock and wait for it, in every Python that is installed.
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'

cat >ranges.sql <<'END2'
CREATE TEMP VIEW gil AS SELECT value = 'Holding GIL' AS is_hold, start, end, globalTid, globalTid / 0x1000000 AS pid, uint64Value AS number
	FROM NVTX_EVENTS e JOIN StringIds s ON s.id = textId WHERE eventType = 59 AND value IN ('Holding GIL', 'Waiting for GIL')
	AND (domainId, globalTid / 0x1000000) IN (SELECT domainId, globalTid / 0x1000000 FROM NVTX_EVENTS WHERE eventType = 75 AND text = 'GIL Trace');
END2
ask() { { cat ranges.sql; cat; } | sqlite3 "$R"; }
# What must be so of any program: one lock is held by one thread at a time; a thread does one thing at a time; all has an end.
sane() { # NAME
	is "$(ask <<'END2'
SELECT coalesce(sum(start < before), 0) FROM (SELECT start, lag(end) OVER (PARTITION BY pid, number ORDER BY start, end) AS before FROM gil WHERE is_hold);
SELECT coalesce(sum(start < before), 0) FROM (SELECT start, lag(end) OVER (PARTITION BY globalTid ORDER BY start, end) AS before FROM gil);
SELECT count(*) FROM gil WHERE end IS NULL OR end < start;
SELECT count(*) FROM NVTX_EVENTS WHERE eventType = 59 AND (SELECT value FROM StringIds WHERE id = textId) LIKE '% GIL' AND eventId NOT IN
	(SELECT e.eventId FROM NVTX_EVENTS e JOIN NVTX_EVENTS d ON d.eventType = 75 AND d.text = 'GIL Trace' AND d.domainId = e.domainId);
END2
)" "0
0
0
0" "$1: one thread at a time holds the lock, a thread holds or waits, every range ends"
}

# What it prints of each thread: its id, how long it lived at most without what it slept, for how long it did something that
# cannot release the lock, and how often it must have taken it.
cat >threads.py <<'END2'
import threading, time
go = threading.Event()
said = []
def in_c():
    go.wait()
    cpu = time.thread_time_ns()
    sum(range(4000000))
    said.append((threading.get_native_id(), time.thread_time_ns() - cpu, 0, 1))
def compute():
    go.wait()
    x = 0
    for i in range(1000000): x += i
    said.append((threading.get_native_id(), 0, 0, 1))
def lets_go():
    go.wait()
    for i in range(300): time.sleep(0)
    time.sleep(0.2)
    said.append((threading.get_native_id(), 0, 200000000, 301))
threads = [threading.Thread(target=f) for f in (in_c, compute, compute, lets_go, in_c)]
began = time.monotonic_ns()
for t in threads: t.start()
go.set()
for t in threads: t.join()
for tid, held, slept, times in said: print(tid, time.monotonic_ns() - began - slept, held, times)
END2
for python in $(pythons 'sys.version_info >= (3, 8) and not is_free'); do
	v=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
	profile "r$v" -t osrt,python-gil --osrt-threshold=0 "$python" threads.py >said 2>err
	is "$?" 0 "$v: the program ends as it should"
	sane "$v"
	# What the program knows: the longest holding of a thread is as long as what it did without letting go; what it
	# held and waited is no longer than it lived; each letting go begins another holding.
	{
		echo 'CREATE TEMP TABLE said(tid, lived, held, times);'
		sed 's/ /, /g; s/^/INSERT INTO said VALUES(/; s/$/);/' said
		cat <<'END2'
SELECT count(*), sum(longest >= 0.9 * held), sum(held_all + waited <= lived), sum(holds >= times), sum(waited > 0)
FROM said JOIN (SELECT globalTid % 0x1000000 AS tid, max(end - start) FILTER (WHERE is_hold) AS longest, count(*) FILTER (WHERE is_hold) AS holds,
	sum(end - start) FILTER (WHERE is_hold) AS held_all, coalesce(sum(end - start) FILTER (WHERE NOT is_hold), 0) AS waited FROM gil GROUP BY 1) USING (tid);
END2
	} | ask >got
	is "$(cut -d'|' -f1-4 got)" '5|5|5|5' "$v: the lock is held as long and as often as the program says"
	# The calls by which a thread waits are all in its waiting, and there is no waiting without one.
	is "$(ask <<'END2'
CREATE TEMP TABLE w AS SELECT globalTid, start, end FROM gil WHERE NOT is_hold;
CREATE TEMP TABLE c AS SELECT globalTid, start, end FROM OSRT_API WHERE nameId = (SELECT id FROM StringIds WHERE value = 'pthread_cond_timedwait');
SELECT (SELECT count(*) FROM w) > 0;
SELECT count(*) FROM c WHERE NOT EXISTS (SELECT 1 FROM w WHERE w.globalTid = c.globalTid AND c.start >= w.start AND c.end <= w.end);
SELECT count(*) FROM w WHERE NOT EXISTS (SELECT 1 FROM c WHERE w.globalTid = c.globalTid AND c.start >= w.start AND c.end <= w.end);
END2
)" "1
0
0" "$v: waits for the lock are in pthread_cond_timedwait, and nowhere else"
done

# ---- processes: forked ones, one that leaves at once, one that is killed while it holds the lock ----
cat >forks.py <<'END2'
import os, signal, time
def child(how):
    pid = os.fork()
    if pid: return pid
    time.sleep(0.001)
    how()
def killed():
    os.write(w, b"x")
    while True: sum(range(100000))
r, w = os.pipe()
for how in (lambda: os._exit(0), lambda: exit(0)):
    os.waitpid(child(how), 0)
pid = child(killed)
os.read(r, 1)
os.kill(pid, signal.SIGKILL)
os.waitpid(pid, 0)
END2
profile forks -t python-gil "$PY" forks.py 2>err
sane 'fork, _exit, kill'
is "$(echo 'SELECT count(DISTINCT pid), min(n) > 0 FROM (SELECT pid, count(*) AS n FROM gil WHERE is_hold GROUP BY 1);' | ask)" '4|1' 'every forked process holds the lock some time'

# ---- interpreters with a lock of their own ----
cat >inter.py <<'END2'
import threading
try: import _interpreters as i
except ImportError: import _xxsubinterpreters as i
def run():
    one = i.create()
    i.run_string(one, "import time\nfor k in range(50): time.sleep(0)\nx = sum(range(100000))")
    i.destroy(one)
threads = [threading.Thread(target=run) for k in range(3)]
for t in threads: t.start()
for t in threads: t.join()
END2
for python in $(pythons 'sys.version_info >= (3, 8) and not is_free'); do
	"$python" -c 'import sys; sys.exit(sys.version_info < (3, 12))' || continue
	v=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
	profile inter -t python-gil "$python" inter.py 2>err
	is "$?" 0 "$v: interpreters: the program ends as it should"
	sane "$v: interpreters"
	is "$(echo 'SELECT count(*) >= 150, min(number) >= 1 FROM gil WHERE is_hold AND number IS NOT NULL;' | ask)" '1|1' "$v: interpreters have locks of their own"
done

# ---- only a part of the run ----
cat >part.py <<'END2'
import threading, time
import sys
def idle():
    while not done: time.sleep(0.001)
def step(): return sum(range(3000000))
done = False
threads = [threading.Thread(target=idle) for k in range(int(sys.argv[1]))]
for t in threads: t.start()
time.sleep(0.05)
step()
time.sleep(0.05)
done = True
for t in threads: t.join()
END2
for threads in 0 2; do
	profile part -t python-gil --python-step=step=__main__:step -c nvtx -p step@python-step --capture-range-end=stop "$PY" part.py $threads 2>err
	sane "a part, $threads other threads"
	is "$(ask <<'END2'
CREATE TEMP TABLE step AS SELECT globalTid, end FROM NVTX_EVENTS WHERE (SELECT value FROM StringIds WHERE id = textId) = 'step';
SELECT min(g.start), max(g.end) >= (SELECT end FROM step) FROM gil g JOIN step USING (globalTid) WHERE is_hold;
SELECT count(*) FROM gil WHERE start < 0;
SELECT count(*) > 0 FROM SL_NVTX_CLIPPED WHERE eventId IN (SELECT eventId FROM NVTX_EVENTS WHERE (SELECT value FROM StringIds WHERE id = textId) = 'Holding GIL');
END2
)" "0|1
0
1" "a part, $threads other threads: the lock is held from the first moment on, and cut at the last"
	[ $threads -gt 0 ] || is "$(echo 'SELECT count(*) FROM gil WHERE is_hold;' | ask)" 1 'a part: a thread that never lets go holds the lock all the time'
done

# ---- programs without it ----
profile none -t python-gil true 2>err
is "$?,$(echo 'SELECT count(*) FROM gil;' | ask 2>&1 | grep -c 'no such table')" '0,1' 'a program without Python has no ranges of the lock'
profile off -t osrt,nvtx "$PY" threads.py >said 2>err
is "$(echo 'SELECT count(*) FROM gil;' | ask 2>&1 | grep -c 'no such table')" '1' 'a program without -t python-gil has no ranges of the lock'
done_testing

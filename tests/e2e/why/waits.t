#!/bin/sh
# waits.t - sightline why of waits that are followed further: looks with a time limit, locks of Rust and Java, threads that are made during a
# wait, both ends of sockets on one machine, an event loop that is blocked, a pool of one worker.
# shellcheck disable=SC2016
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
"$BIN" status 2>/dev/null | grep -q '^eBPF  *ok' || skip_all 'eBPF is not permitted'

record() { # NAME PROGRAM...
	name=$1
	shift
	"$BIN" profile -f true -o "$name" "$@" >"$name.out" 2>"$name.err"
	is $? 0 "$name: the program ends"
	"$BIN" why -f json --limit=0 --max-bytes=0 "$name.sqlite" >"$name.json"
	"$BIN" why "$name.sqlite" >"$name.txt"
}
# The first culprit is the line marked so in its file; other lines of it wait for a fifth of that at most.
cat >first.py <<'END_PY'
import json, os, sys
name, source, mark = sys.argv[1:]
y = json.load(open(name + ".json"))
lines = [n for n, line in enumerate(open(source), 1) if mark in line]
top = y["culprits"][0]
assert os.path.basename(top["file"] or "") == source and top["line"] in lines, (top["place"], lines)
rest = [p for p in y["partition"] if p["reason"] in ("POLL", "QUEUE", "SOCKET", "SOCKET_ANY", "PIPE", "BLOCKED") and p["line"] not in lines]
assert 5 * sum(p["ns"] for p in rest) <= top["ns"], (top["ns"], rest)
END_PY
first() { # NAME SOURCE MARK WHAT
	check "$1: $4" "$PY" first.py "$1" "$2" "$3"
}

# ---- looks with a time limit ----
cat >event.py <<'END_PY'
import threading, time
done = threading.Event()
def work():
    time.sleep(0.6)  # WORK
    done.set()
threading.Thread(target=work).start()
while not done.wait(0.01):  # LOOK
    pass
END_PY
record event "$PY" event.py
first event event.py WORK 'looks each 10 ms wait for what the thread does that ends the last one'
check 'event: the line that looks is on the way' grep -q 'main thread waiting to be signalled.*event.py:7' event.txt

if command -v gcc >/dev/null; then
	cat >epoll.c <<'END_C'
#include <pthread.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
static int event;
static void *work(void *x)
{
	uint64_t one = 1;
	usleep(600000); /* WORK */
	return write(event, &one, sizeof(one)) == sizeof(one) ? x : NULL;
}
int main(void)
{
	struct epoll_event e = {.events = EPOLLIN};
	int loop = epoll_create1(0);
	pthread_t t;
	event = eventfd(0, 0);
	epoll_ctl(loop, EPOLL_CTL_ADD, event, &e);
	pthread_create(&t, NULL, work, NULL);
	while (epoll_wait(loop, &e, 1, 10) == 0) /* LOOK */
		;
	return 0;
}
END_C
	check 'epoll: the program is made' gcc -g -O1 -fno-omit-frame-pointer -pthread -o epoll epoll.c
	record epoll ./epoll
	first epoll epoll.c WORK 'epoll_wait() of 10 ms waits for the thread that writes'
fi

# ---- locks of other run times ----
if command -v rustc >/dev/null; then
	cat >mutex.rs <<'END_RS'
use std::sync::{Arc, Mutex};
use std::{thread, time::Duration};
fn main() {
    let m = Arc::new(Mutex::new(0u32));
    let n = m.clone();
    let t = thread::spawn(move || {
        let mut g = n.lock().unwrap();
        thread::sleep(Duration::from_millis(600)); // HOLD
        *g += 1;
    });
    thread::sleep(Duration::from_millis(50));
    println!("{}", *m.lock().unwrap()); // WANT
    t.join().unwrap();
}
END_RS
	if HOME=${RUST_HOME:-$HOME} rustc -g -O -C force-frame-pointers=yes -o mutex mutex.rs >log 2>&1; then
		record mutex ./mutex
		first mutex mutex.rs HOLD 'a mutex of Rust, a futex, leads to the thread that has it'
		check 'mutex: the wait for it has a reason' grep -q 'main thread waiting to be signalled, syscall' mutex.txt
	else
		skip 'mutex: a mutex of Rust' 'rustc cannot build here'
	fi
fi
if command -v javac >/dev/null && command -v java >/dev/null; then
	cat >Monitor.java <<'END_JAVA'
public class Monitor {
	static final Object lock = new Object();
	static void hold() { synchronized (lock) { try { Thread.sleep(800); } catch (InterruptedException e) { } } }
	public static void main(String[] a) throws Exception {
		Thread t = new Thread(Monitor::hold);
		t.start();
		Thread.sleep(50);
		synchronized (lock) { System.out.println("x"); }
		t.join();
	}
}
END_JAVA
	javac Monitor.java
	record monitor java Monitor
	if grep -q 'ObjectMonitor' monitor.sqlite; then
		check 'monitor: who waits for a monitor of Java waits for the sleep of the thread that has it' "$PY" -c '
import json
parts = json.load(open("monitor.json"))["partition"]
sleep = [p for p in parts if p["reason"] == "SLEEP" and any(h["reason"] == "LOCK" for h in p["chain"])]
assert sum(p["ns"] for p in sleep) >= 5e8, parts[:3]'
	else
		skip 'monitor: who waits for a monitor of Java' 'libjvm.so has no symbols'
	fi
fi

# ---- a thread that is made during the wait: a process loads, and a thread of it sends ----
cat >feeder.py <<'END_PY'
import os, threading, time
r, w = os.pipe()
if not os.fork():
    time.sleep(0.6)  # LOAD
    t = threading.Thread(target=os.write, args=(w, b"x"))
    t.start()
    t.join()
    os._exit(0)
os.close(w)
os.read(r, 1)
os.wait()
END_PY
record feeder "$PY" feeder.py
first feeder feeder.py LOAD 'before the birth of the thread that sends, its process loaded'

# ---- sockets on one machine are not the network ----
cat >peers.py <<'END_PY'
import socket, sys, threading, time
if sys.argv[1] == "pair":
    a, b = socket.socketpair()
else:
    server = socket.create_server(("127.0.0.1", 0))
    a = socket.create_connection(server.getsockname())
    b, _ = server.accept()
def answer():
    while b.recv(100):
        time.sleep(0.06)  # WORK
        b.send(b"y")
threading.Thread(target=answer, daemon=True).start()
for i in range(10):
    a.send(b"x")
    a.recv(100)
END_PY
for how in pair loopback; do
	record $how "$PY" peers.py $how
	first $how peers.py WORK 'the other end of the socket is the culprit'
	is "$(grep -c 'the network' $how.txt)" 0 "$how: nothing waits for the network"
done

# ---- a blocked event loop, a pool of one ----
cat >loop.py <<'END_PY'
import asyncio, time
async def tick():
    for _ in range(20):
        await asyncio.sleep(0.01)
async def slow():
    for _ in range(4):
        time.sleep(0.1)  # BLOCK
        await asyncio.sleep(0.005)
async def main():
    await asyncio.gather(tick(), slow())
asyncio.run(main())
END_PY
record loop "$PY" loop.py
check 'loop: what blocks the event loop is named, with its place and times' "$PY" -c '
import json
loops = json.load(open("loop.json"))["event_loops"]
assert len(loops) == 1, loops
b = loops[0]
assert b["of"] == "asyncio" and b["line"] == 7 and b["times"] == 4 and b["reason"] == "SLEEP" and b["ns"] >= 3.9e8, b'
check 'loop: the text has the remedy' grep -q '^main thread: its event loop (asyncio) stands still for 4.. ms, 4 times.*loop.py:7 in .*asyncio.to_thread' loop.txt
cat >one.py <<'END_PY'
import concurrent.futures as cf, sys, time
def job(i):
    time.sleep(0.02)  # JOB
    return i
with cf.ThreadPoolExecutor(int(sys.argv[1])) as pool:
    if sys.argv[2] == "all":
        print(sum(f.result() for f in [pool.submit(job, i) for i in range(24)]))
    else:
        print(sum(pool.submit(job, i).result() for i in range(24)))
END_PY
record one "$PY" one.py 1 all
check 'one: a pool of one worker is named, with the place of its jobs' "$PY" -c '
import json
pools = json.load(open("one.json"))["pools_of_one"]
assert len(pools) == 1 and pools[0]["of"] == "concurrent.futures" and pools[0]["line"] == 3 and pools[0]["ns"] >= 4e8, pools'
check 'one: the text has the remedy' grep -q '^A pool of one (concurrent.futures): thread .* one.py:3 in job, .*max_workers' one.txt
record two "$PY" one.py 2 all
is "$(grep -c 'pool of one' two.txt)" 0 'two: a pool of two workers is none of one'
record turns "$PY" one.py 1 turns
is "$(grep -c 'pool of one' turns.txt)" 0 'turns: a second worker has nothing to do where each job waits for the one before'

# ---- waits that never end ----
cat >hang.py <<'END_PY'
import threading
lock = threading.Lock()
lock.acquire()
open("hangs", "w").close()
lock.acquire()
END_PY
"$PY" hang.py &
job=$!
wait_for 20 test -e hangs
"$BIN" attach -f true -p $job -d 2 -o hang >log 2>&1
kill -9 $job
wait $job 2>/dev/null
"$BIN" why hang.sqlite >hang.txt 2>err
check 'hang: the wait that never ended is named' grep -q '^Still waiting at the end$' hang.txt
is "$(grep -c 'nothing recorded says why' hang.txt)" 0 'hang: its reason is said where the time went, too'
done_testing

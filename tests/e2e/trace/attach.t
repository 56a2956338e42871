#!/bin/sh
# sightline attach: what the kernel saw of processes that ran already, compared with what it counted for them and with
# what they know to have done. Nothing is done to them.
# shellcheck disable=SC2016,SC2086,SC2317
. tests/lib.sh

cat >target.py <<'END'
# Waits for a line on the fifo "go", works, writes what the kernel counted meanwhile to "counts", waits for another line.
import os, sys, threading, time
def switches(tid):
    fields = dict(l.split(":\t") for l in open("/proc/self/task/%d/status" % tid).read().splitlines() if ":\t" in l)
    return int(fields["voluntary_ctxt_switches"]) + int(fields["nonvoluntary_ctxt_switches"])
barrier, counts = threading.Barrier(3), {}
def line():
    with open("go") as f: return f.readline()
def sleeper():
    tid = threading.get_native_id()
    barrier.wait()
    barrier.wait()
    before = switches(tid)
    for i in range(300): time.sleep(0.001)
    for i in range(1000): os.getppid()
    counts[tid] = switches(tid) - before
    barrier.wait()
    barrier.wait()
threads = [threading.Thread(target=sleeper) for i in range(2)]
for t in threads: t.start()
barrier.wait()
open("ready", "w").write("%d\n" % os.getpid())
line()
barrier.wait()
barrier.wait()
child = os.fork()
if child == 0:
    for i in range(500): os.getppid()
    os._exit(7)
_, status = os.waitpid(child, 0)
with open("counts.new", "w") as f:
    f.write("".join("%d %d\n" % c for c in counts.items()))
    f.write("child %d\n" % child)
os.rename("counts.new", "counts")
line()
barrier.wait()
for t in threads: t.join()
sys.exit(5)
END
mkfifo go
attach() { # NAME OPTION...: in the background; its number is $A
	R=$W/$1.sqlite
	attach_to=$1
	shift
	rm -f attach.err # what an earlier one wrote is no answer
	"$BIN" attach -f true -o "$attach_to" "$@" >attach.out 2>attach.err &
	A=$!
	wait_for 20 grep -q 'attached to' attach.err || {
		diag <attach.err
		return 1
	}
}
start_target() {
	rm -f ready counts
	"$PY" -S -E target.py &
	T=$!
	wait_for 20 test -s ready
}

start_target
"$BIN" attach -p $T -d 1 --cpuctxsw=none --syscall=process-tree -f true -o probe 2>err
case $? in
0) has_calls=--syscall=process-tree ;;
*) has_calls= ;;
esac
# ---- a process with threads, and what it starts ----
if [ "$(id -u)" = 0 ] && [ -n "$has_calls" ]; then
	check 'attach attaches to a process with threads' attach a -p $T --syscall=process-tree --syscall-threshold=500
	echo work >go
	check 'the attached process works on' wait_for 30 test -s counts
	kill -INT $A
	wait $A
	is $? 0 'Ctrl-C ends the recording of attach with status 0'
	check 'attach names its report when Ctrl-C ends it' grep -q "report: .*a.sqlite" attach.err
	check 'Ctrl-C to attach does not end the attached process' kill -0 $T
	check 'the report of attach is sound' intact "$R"
	while read -r tid want; do
		[ "$tid" = child ] && continue
		got=$(q "$R" "SELECT count(*) FROM SCHED_EVENTS WHERE NOT isSchedIn AND globalTid & 0xffffff = $tid")
		# Waiting for the barriers adds a few; kernels of some virtual machines keep some to themselves.
		check "thread $tid has $got switch rows, the kernel counted $want" [ $((got - want)) -ge $((-want / 50 - 2)) ] &&
			check "thread $tid has at most 15 switches more than the kernel counted" [ $((got - want)) -le 15 ]
		is "$(q "$R" "SELECT total(n) FROM (SELECT count(*) AS n, nameId, globalTid FROM SYSCALL GROUP BY 2, 3
			UNION ALL SELECT count, nameId, globalTid FROM SL_SYSCALL_TOTALS) JOIN StringIds s ON s.id = nameId
			WHERE value = 'getppid' AND globalTid & 0xffffff = $tid")" 1000.0 "all 1000 calls of getppid() by thread $tid are in the report"
	done <counts
	child=$(sed -n 's/^child //p' counts)
	is "$(q "$R" "SELECT total(n) FROM (SELECT count(*) AS n, nameId, globalTid FROM SYSCALL GROUP BY 2, 3
		UNION ALL SELECT count, nameId, globalTid FROM SL_SYSCALL_TOTALS) JOIN StringIds s ON s.id = nameId
		WHERE value = 'getppid' AND globalTid & 0xffffff = $child")" 500.0 'all 500 calls of getppid() by a child born while attached are in the report'
	is "$(q "$R" "SELECT kind || ' ' || exitStatus || ' ' || (parentGlobalPid >> 24 & 0xffffff) FROM SL_PROCESS_TREE
		WHERE globalPid >> 24 & 0xffffff = $child")" "1 1792 $T" 'a child born while attached has its birth, parent and exit status'
	is "$(q "$R" "SELECT kind || ' ' || traced || ' ' || (start < 0) || ' ' || (start > -60e9) FROM SL_PROCESS_TREE
		WHERE globalPid >> 24 & 0xffffff = $T")" '0 0 1 1' 'the attached process began before the recording'
	check 'the attached process has its command line' sh -c "sqlite3 '$R' 'SELECT commandLine FROM SL_PROCESS_TREE' | grep -q target.py"
	is "$(q "$R" "SELECT count(*) FROM ThreadNames WHERE globalTid >> 24 & 0xffffff = $T")" 3 'the threads of the attached process have names'
	is "$(q "$R" "SELECT count(*) FROM (SELECT isSchedIn = lag(isSchedIn, 1, 0) OVER (PARTITION BY globalTid ORDER BY start, rowid) AS twice
		FROM SCHED_EVENTS) WHERE twice")" 0 'rows of SCHED_EVENTS alternate for each thread, and begin with a switch in'
else
	skip 'switches and system calls of a running process' "$(grep -v attached err | head -1)"
fi
echo end >go
wait $T
is $? 5 'the attached process ends with its own status'

# ---- a family ----
if [ "$(id -u)" = 0 ]; then
	cat >family.py <<'END'
import os, time, sys
def spin(name):
    open("family." + name, "w").close()
    end = time.monotonic() + 60
    while time.monotonic() < end and not os.path.exists("family.end"): pass
pids = []
for i in range(3):
    pid = os.fork()
    if pid == 0:
        if i == 0 and os.fork() == 0: spin("grandchild"); os._exit(0)
        spin("child%d" % i); os._exit(0)
spin("parent")
END
	"$PY" -S -E family.py &
	F=$!
	wait_for 20 test -e family.child0 -a -e family.child1 -a -e family.child2 -a -e family.grandchild -a -e family.parent
	check 'attach attaches to a family of processes' attach f -p $F -d 1
	wait $A
	is $? 0 '--duration ends attach with status 0'
	is "$(q "$R" "SELECT count(DISTINCT globalPid) FROM SL_PROCESS_TREE WHERE kind = 0")" 5 'attach has the children and grandchildren that were there'
	is "$(q "$R" "SELECT count(*) FROM SL_PROCESS_TREE c JOIN SL_PROCESS_TREE p ON c.parentGlobalPid = p.globalPid")" 4 'attach has the parent of each process of a family'
	is "$(q "$R" "SELECT count(DISTINCT globalTid >> 24) FROM SCHED_EVENTS WHERE isSchedIn")" 5 'each process of a family has a switch onto a CPU, though none sleeps'
	check 'the processes of a family have no more time on CPUs than the CPUs have' [ "$(q "$R" "SELECT sum(CASE WHEN isSchedIn THEN -start ELSE start END) / 1000000 FROM SCHED_EVENTS WHERE rowid <= (SELECT max(rowid) FROM SCHED_EVENTS WHERE NOT isSchedIn)")" -lt $(($(nproc) * 1500)) ]
	: >family.end
	wait $F
	# ---- one that is stopped, several at once, one that ends ----
	sleep 30 &
	S1=$!
	sleep 30 &
	S2=$!
	wait_for 20 sh -c "grep -q sleep /proc/$S1/comm && grep -q sleep /proc/$S2/comm"
	kill -STOP $S1
	check 'attach attaches to a stopped process and another' attach s -p $S1,$S2 -p $S2
	is "$(cut -d' ' -f3 /proc/$S1/stat)" T 'a stopped process stays stopped while it is attached'
	kill -CONT $S1
	kill $S1
	wait "$S1" 2>/dev/null
	check 'attach goes on while one of its processes is left' kill -0 $A
	kill $S2
	wait $A
	is $? 0 'attach ends with status 0 when all its processes have ended'
	is "$(q "$R" "SELECT group_concat(exitStatus) FROM SL_PROCESS_TREE")" '15,15' 'attach has the exit statuses of both processes'
	mkfifo soon
	cat soon &
	check 'attach attaches to a process that ends soon' attach e -p $!
	: >soon
	wait $A
	is $? 0 'attach ends with status 0 when its only process ends'
	if command -v redis-server >/dev/null; then
		redis-server --port 0 --unixsocket "$W/redis.sock" >redis.log 2>&1 &
		D=$!
		wait_for 20 test -S redis.sock
		check 'attach attaches to redis-server' attach d -p $D --syscall=process-tree
		redis-benchmark -s "$W/redis.sock" -n 2000 -q -t set >bench.log 2>&1
		kill -INT $A
		wait $A
		# Where others want the CPUs, too, the kernel's buffer may be full; then it is counted.
		got=$(q "$R" "SELECT total(n) FROM (SELECT count(*) AS n, nameId FROM SYSCALL GROUP BY 2 UNION ALL SELECT sum(count), nameId FROM SL_SYSCALL_TOTALS GROUP BY 2) JOIN StringIds s ON s.id = nameId WHERE value = 'read'" | cut -d. -f1)
		gone=$(q "$R" "SELECT ifnull(sum(count), 0) FROM SL_LOST_EVENTS WHERE what LIKE 'system calls%'")
		check "all 2000 requests were read by redis-server ($got rows and totals, $gone lost)" [ $((got + gone)) -ge 2000 ]
		kill $D
	fi
else
	skip 'attach attaches to a family of processes' 'needs root'
fi

# ---- as an unprivileged user ----
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 777 .
	sleep 20 &
	S=$!
	setpriv --reuid=65534 --regid=65534 --clear-groups "$(nobody_bin)" attach -p $S -d 1 -o theirs 2>err
	is $? 1 'attach to a process of another user is refused'
	check 'the refusal for a process of another user names a capability' grep -q 'not permitted.*CAP_' err
	check 'a refused attach leaves no report' [ ! -e theirs.sqlite ]
	kill $S
	if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ]; then
		mkfifo own.fifo && chmod 666 own.fifo
		rm -f err
		setpriv --reuid=65534 --regid=65534 --clear-groups sh -c "cat own.fifo & exec '$(nobody_bin)' attach -p \$! -o own" 2>err &
		A=$!
		wait_for 20 grep -q 'attached to' err
		: >own.fifo
		wait $A
		is $? 0 "a user without rights can attach to a process of its own"
		check 'attach without rights names perf_event_open as missing' grep -q 'perf_event_open' err
		check 'the report of a user without rights is sound' intact own.sqlite
	fi
else
	skip 'attach to a process of another user is refused' 'needs root and setpriv (package util-linux)'
fi

# ---- bad input ----
refused() { # STATUS TEXT NAME OPTION...
	want=$1 text=$2 name=$3
	shift 3
	"$BIN" attach "$@" -o bad 2>err
	is $? "$want" "attach to $name is refused"
	check "attach to $name is refused in one line" sh -c "[ \$(wc -l <err) -eq 1 ] && grep -q \"$text\" err"
}
refused 1 'no process 4194000' 'a process that is not there' -p 4194000
refused 2 'numbers of processes' 'a name' -p python3
refused 2 'numbers of processes' 'a negative number' -p -5
refused 2 'no process given' 'nothing'
refused 2 'nothing to record' 'a process with nothing to record' -p 1 --cpuctxsw=none --sample=none
sh -c "exec \"$BIN\" attach -p \$\$ -o bad" 2>err
is $? 1 'attach to itself is refused'
check 'the refusal of attach to itself gives the reason' grep -q 'this command itself' err
for k in /proc/[0-9]*; do
	k=${k#/proc/}
	[ "$k" -gt 1 ] && [ ! -e /proc/"$k"/exe ] && grep -q '^Kthread:[[:space:]]*1' /proc/"$k"/status 2>/dev/null && break
	k=
done
if [ -n "$k" ]; then refused 1 'thread of the kernel' 'a thread of the kernel' -p "$k"; else skip 'attach to a thread of the kernel is refused' 'none to be seen'; fi
"$PY" -c 'import threading, time, os
t = threading.Thread(target=time.sleep, args=(20,)); t.start(); print(t.native_id, flush=True); t.join()' >tid &
P=$!
wait_for 20 test -s tid
refused 1 'thread of process' 'a thread' -p "$(cat tid)"
kill $P
sh -c 'sleep 0.1 & exec sleep 60' &
P=$!
find_zombie() {
	zombie=$(cat /proc/[0-9]*/stat 2>/dev/null | awk -v p=$P '$4 == p && $3 == "Z" { print $1 }')
	[ -n "$zombie" ]
}
wait_for 10 find_zombie
if [ -n "$zombie" ]; then refused 1 'has ended' 'a zombie' -p "$zombie"; else skip 'attach to a zombie is refused' 'there is none'; fi
kill $P
check 'refused attaches leave no report' [ ! -e bad.sqlite ]

# ---- a process that carries libtrace.so ----
"$BIN" launch --session-new="attach-$$" -t osrt "$PY" -S -E -c 'import time, os
for i in range(600): os.getppid(); open("/dev/null").close(); time.sleep(0.1)' >launch.log 2>&1 &
L=$!
inside=
find_inside() {
	inside=$(pgrep -P $L -f 'os.getppid' | head -1)
	[ -n "$inside" ] && tr '\0' '\n' <"/proc/$inside/environ" | grep -q ^SIGHTLINE_SESSION=
}
if wait_for 20 find_inside; then
	"$BIN" attach -p "$inside" -d 1 -f true -o inside 2>err
	is $? 0 'attach to a program under libtrace.so succeeds'
	check 'attach to a program under libtrace.so names its session' grep -q "session 'attach-$$'" err
	check 'attach to a program under libtrace.so records its calls' [ "$(q inside.sqlite 'SELECT count(*) FROM OSRT_API')" -gt 0 ]
	"$BIN" shutdown --session="attach-$$" --kill=sigterm 2>>err
else
	result 1 'a launched program runs under libtrace.so'
	diag <launch.log
fi
wait $L
done_testing

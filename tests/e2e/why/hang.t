#!/bin/sh
# hang.t - sightline why of programs that hang: each thread that waits at the end has a line, with what it waits for, and threads that wait
# for each other are named first; when the recording ends, after a kill, and of a process that hung before sightline attach came; the same
# without eBPF and without an option.
# shellcheck disable=SC2016
. tests/lib.sh
command -v gcc >/dev/null || skip_all 'gcc is not installed (package gcc)'
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
"$BIN" status 2>/dev/null | grep -q '^eBPF  *ok' || skip_all 'eBPF is not permitted'

cat >hang.c <<'END_C'
/* Hangs in one of several ways. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both, three;
static void *first(void *x) { pthread_mutex_lock(&a); pthread_barrier_wait(&both); pthread_mutex_lock(&b); return x; } /* FIRST */
static void *second(void *x) { pthread_mutex_lock(&b); pthread_barrier_wait(&both); pthread_mutex_lock(&a); return x; } /* SECOND */
static void *wants(void *x) { pthread_mutex_lock(&a); return x; }
static void *ends(void *x) { pthread_mutex_lock(&a); return x; }
static void *party(void *x) { pthread_barrier_wait(&three); return x; } /* PARTY */
static void fill(int fd) { char page[65536]; memset(page, 1, sizeof(page)); for (;;) if (write(fd, page, sizeof(page)) < 0) exit(1); } /* FULL */
int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	pthread_mutexattr_t robust;
	pthread_t t, u;
	int to[2], from[2], fd;
	pthread_barrier_init(&both, NULL, 2);
	pthread_barrier_init(&three, NULL, 3);
	close(open("ready", O_CREAT | O_WRONLY, 0644));
	if (!strcmp(how, "locks")) {
		pthread_create(&t, NULL, first, NULL); pthread_create(&u, NULL, second, NULL);
		pthread_join(t, NULL);
	} else if (!strcmp(how, "join")) {
		pthread_mutex_lock(&a); pthread_create(&t, NULL, wants, NULL);
		pthread_join(t, NULL);
	} else if (!strcmp(how, "self")) {
		pthread_mutex_lock(&a); pthread_mutex_lock(&a);
	} else if (!strcmp(how, "dead")) {
		pthread_create(&t, NULL, ends, NULL); pthread_join(t, NULL);
		pthread_mutex_lock(&a); /* DEAD */
	} else if (!strcmp(how, "robust")) {
		pthread_mutexattr_init(&robust); pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
		pthread_mutex_init(&a, &robust);
		pthread_mutex_lock(&a); pthread_create(&t, NULL, wants, NULL);
		pthread_join(t, NULL); /* ROBUST */
	} else if (!strcmp(how, "barrier")) {
		pthread_create(&t, NULL, party, NULL);
		pthread_barrier_wait(&three);
	} else if (!strcmp(how, "pipes")) {
		if (pipe(to) || pipe(from)) return 1;
		if (!fork()) fill(from[1]);
		fill(to[1]);
	} else if (!strcmp(how, "child")) {
		if (!fork()) { pause(); _exit(0); }
		wait4(-1, &fd, 0, NULL);
	} else if (!strcmp(how, "record")) {
		fd = open("file", O_CREAT | O_RDWR, 0644); fcntl(fd, F_SETLKW, &(struct flock){.l_type = F_WRLCK});
		if (!fork()) { fcntl(fd, F_SETLKW, &(struct flock){.l_type = F_WRLCK}); _exit(0); } /* RECORD */
		pause(); /* PAUSE */
	} else if (!strcmp(how, "file")) {
		fd = open("file", O_CREAT | O_RDWR, 0644); flock(fd, LOCK_EX);
		if (!fork()) { fd = open("file", O_RDWR); flock(fd, LOCK_EX); _exit(0); }
		wait(NULL);
	}
	return 0;
}
END_C
check 'the program is made' gcc -g -O1 -fno-omit-frame-pointer -pthread -o hang hang.c

# Of the answer: the waits, "REASON CALL LINE OWNER" of each, main thread M and others by their lines, and the cycle.
cat >waits.py <<'END_PY'
import json, os, sys
y = json.load(open(sys.argv[1]))
at = {w["tid"]: w["line"] or 0 for w in y["open_waits"]}
for w in sorted(y["open_waits"], key=lambda w: (w["line"] or 0, w["reason"])):
    print(w["reason"], (w["object"] or "-").split(":")[0].split("/")[-1], w["line"] or "-", "by %s" % at.get(w["owner"], "?") if w["owner"] else "-",
          "deadlock" if w["deadlock"] else "-", "killed" if w["killed"] else "-")
    assert w["ns"] >= 1e9, w
assert not any(g["upper_ns"] > 1e9 for g in y["gains"]), y["gains"]
END_PY
line() { grep -n "$1" hang.c | head -1 | cut -d: -f1; }
hang() { # HOW
	"$BIN" profile -f true -d 2 --off-cpu-threshold=80000 -o "$1" ./hang "$1" >log 2>&1
	"$BIN" why "$1.sqlite" >"$1.txt" 2>err
	"$BIN" why -f json --limit=0 --max-bytes=0 "$1.sqlite" >"$1.json"
	"$PY" waits.py "$1.json" 2>&1
}
F=$(line FIRST) S=$(line SECOND) J=$(line 'pthread_join(t')
is "$(hang locks)" "LOCK - $F by $S deadlock -
LOCK - $S by $F deadlock -
JOIN - $J by $F - -" 'two locks: both threads wait for each other, and the main thread for one of them'
check 'two locks: the deadlock is named first' sh -c 'sed -n 2p locks.txt | grep -q "^Deadlock: thread .* waiting for a lock, futex at hang.c:$1 in first, which thread .* has; thread .* at hang.c:$2 in second, which thread"' - "$F" "$S"
J=$(grep -n 'pthread_join(t' hang.c | sed -n 2p | cut -d: -f1)
is "$(hang join)" "LOCK - $(line '\*wants') by $J deadlock -
JOIN - $J by $(line '\*wants') deadlock -" 'lock and join: a cycle'
is "$(hang self)" "LOCK - $(line '"self"' | awk '{ print $1 + 1 }') by $(line '"self"' | awk '{ print $1 + 1 }') deadlock -" 'a lock that the thread has itself: a cycle'
is "$(hang barrier)" "QUEUE - $(line PARTY) - - -
QUEUE - $(line 'pthread_barrier_wait(&three);$') - - -" 'a barrier with a missing party: both threads, and no deadlock'
is "$(hang pipes)" "PIPE pipe $(line FULL) - - -
PIPE pipe $(line FULL) - - -" 'full pipes: both processes'
is "$(hang file)" "LOCK file $(line 'fd = open("file", O_RDWR)') by $(line 'wait(NULL)') deadlock -
CHILD - $(line 'wait(NULL)') by $(line 'fd = open("file", O_RDWR)') deadlock -" 'a lock on a file and a wait for the child: a cycle of two processes'
is "$(hang record | grep LOCK)" "LOCK file $(line 'RECORD \*/') by $(line 'PAUSE \*/') - -" 'a lock on a part of a file: the process that has it'
check 'a lock on a file: the text has its owner' grep -q 'waiting for a lock, flock of .*/file at hang.c:.*; main thread has it$' file.txt || diag <file.txt
is "$(hang dead)" "LOCK - $(line DEAD) by ? - -" 'a lock of a dead thread: it has an owner'
check 'a lock of a dead thread: the text says that it has ended' grep -q 'waiting for a lock, futex at hang.c:.* thread [0-9]* had it when it ended$' dead.txt
is "$(hang robust)" "LOCK - $(line '\*wants') by $(line "ROBUST \*/") deadlock -
JOIN - $(line "ROBUST \*/") by $(line '\*wants') deadlock -" 'a robust lock and join: a cycle'
is "$(hang child | awk '{ print $1 }' | sort | tr '\n' ' ')" 'CHILD SIGNAL ' 'a child that is not reaped: it waits for a signal, its parent for it'

# ---- without eBPF, and without an option ----
bare_hang() { # HOW
	"$PROG/denied" bpf "$BIN" profile -f true -d 2 -o "bare_$1" ./hang "$1" >log 2>&1
	"$BIN" why -f json --limit=0 --max-bytes=0 "bare_$1.sqlite" >"$1.json"
	"$PY" waits.py "$1.json" 2>&1
}
is "$(bare_hang locks)" "LOCK - $F by $S deadlock -
LOCK - $S by $F deadlock -
JOIN - $(line 'pthread_join(t') by $F - -" 'two locks without eBPF: lines and owners'
is "$(bare_hang file | grep -v CHILD)" "LOCK file $(line 'fd = open("file", O_RDWR)') by $(line 'wait(NULL)') deadlock -" 'a lock on a file without eBPF: line and owner'
is "$(bare_hang pipes)" "PIPE pipe $(line FULL) - - -
PIPE pipe $(line FULL) - - -" 'full pipes without eBPF: both lines'
cat >dead.py <<'END_PY'
import threading, time
a, b = threading.Lock(), threading.Lock()
def one():
    with a:
        time.sleep(0.2)
        b.acquire()  # ONE
def two():
    with b:
        time.sleep(0.2)
        a.acquire()  # TWO
threads = [threading.Thread(target=f) for f in (one, two)]
for t in threads: t.start()
for t in threads: t.join()  # JOIN
END_PY
"$PROG/denied" bpf "$BIN" profile -f true -d 2 -o locks_py "$PY" dead.py >log 2>&1
"$BIN" why locks_py.sqlite >locks_py.txt
for mark in ONE TWO; do
	check "two locks of Python without eBPF: the line of thread $mark" grep -q "at dead.py:$(grep -n "# $mark" dead.py | cut -d: -f1) in" locks_py.txt || diag <locks_py.txt
done

# ---- killed ----
rm -f ready
"$PROG/denied" bpf "$BIN" profile -f true -o bare_killed ./hang locks >log 2>&1 &
job=$!
wait_for 20 test -e ready
T=$(pgrep -P $job -x hang)
sleep 3
kill -KILL "$T"
wait $job 2>/dev/null
"$BIN" why -f json --limit=0 --max-bytes=0 bare_killed.sqlite >killed.json
is "$("$PY" waits.py killed.json 2>&1 | awk '{ print $1, $3, $5, $6 }')" "LOCK $F $S deadlock
LOCK $S $F deadlock
JOIN $(line 'pthread_join(t') $F -" 'killed without eBPF: lines and owners as they were looked at while it ran'
rm -f ready
"$BIN" profile -f true --off-cpu-threshold=80000 -o killed ./hang locks >log 2>&1 &
job=$!
wait_for 20 test -e ready
T=$(pgrep -P $job -x hang)
sleep 1.5
kill -KILL "$T"
wait $job 2>/dev/null
"$BIN" why -f json --limit=0 --max-bytes=0 killed.sqlite >killed.json
is "$("$PY" waits.py killed.json 2>&1 | awk '{ print $3, $6 }' | sort | tr '\n' ' ')" "$(printf '%s killed\n' "$F" "$S" "$(line 'pthread_join(t')" | sort | tr '\n' ' ')" 'killed: each thread has the line where it hung'

# ---- a process that hung before ----
rm -f ready
./hang locks &
T=$!
at_exit="kill -KILL $T 2>/dev/null; $at_exit"
wait_for 20 test -e ready
sleep 0.3
"$BIN" attach -p $T -d 2 -f true -o attached >log 2>&1
is $? 0 'attach to a process that hangs: it ends'
"$BIN" why attached.sqlite >attached.txt 2>err
check 'attach to a process that hangs: the deadlock is named' grep -q '^Deadlock: thread .* waiting for a lock, futex at hang.c:.*, which thread .* has; thread .* at hang.c:.*, which thread' attached.txt
check 'attach to a process that hangs: the main thread waits for one of them to end' grep -q "thread $T: waiting for a thread to end" attached.txt
kill -KILL $T

# ---- stopped ----
sleep 60 &
T=$!
at_exit="kill -KILL $T 2>/dev/null; $at_exit"
kill -STOP $T
"$BIN" attach -p $T -d 2 -f true -o stopped >log 2>&1
check 'a stopped process: the answer says so' sh -c '"$1" why stopped.sqlite | grep -q "stopped by a signal"' - "$BIN"
kill -KILL $T
# ---- a program that does not hang ----
"$BIN" profile -f true --off-cpu-threshold=80000 -o fine sleep 1.5 >log 2>&1
is "$("$BIN" why fine.sqlite | grep -c 'Still waiting')" 0 'a program that ends by itself: no wait is open'
done_testing

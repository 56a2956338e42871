#!/bin/sh
# dump.t - sightline dump -p: what threads of running processes wait for, and their stacks; against gdb and py-spy; of programs that hang and
# of programs that are slow and well; without privileges; and its errors.
# shellcheck disable=SC2016
. tests/lib.sh
command -v gcc >/dev/null || skip_all 'gcc is not installed (package gcc)'
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
"$PY" -c 'open("/proc/self/syscall").read()' 2>/dev/null || skip_all 'the kernel shows no system calls in /proc'

# ---- programs that hang ----
"$PY" "$E2E/why/dump_hangs.py" "$BIN" "$B" "$TOP/tests/jobs" locks dead_owner dead_process pipes own_end file stopped tcp poll lock_pipe py_rlocks py_gil py_pipe py_tasks py_join >hangs.txt 2>&1
is "$(grep -c ' right$' hangs.txt)" 15 'programs that hang: the guilty line first, deadlocks and those alone named' || diag <hangs.txt

"$PY" "$E2E/why/dump_mounts.py" "$BIN" >mounts.txt 2>&1
if grep -q ' skipped$' mounts.txt; then
	skip 'a file system that does not answer, and a full one: the line that waits first' 'mounts are not permitted'
else
	is "$(grep -c ' right$' mounts.txt)" 2 'a file system that does not answer, and a full one: the line that waits first' || diag <mounts.txt
fi

# ---- programs that are well ----
"$PY" "$E2E/why/dump_healthy.py" "$BIN" "$PROG/dump_mutexes" 4 >healthy.txt 2>&1
is "$(grep -c ' claims 0 looks 4$' healthy.txt)" 12 'programs that are slow and well: no deadlock is claimed, no owner that has ended' || diag <healthy.txt

# ---- against other tools ----
witness() { # NAME KIND WITNESS COMMAND...
	w_name=$1
	shift
	"$PY" "$E2E/why/dump_witness.py" "$BIN" "$@" >witness.txt 2>&1
	is "$(sed 's/[0-9]*$/N/' witness.txt)" 'same N' "$w_name" || diag <witness.txt
}
if command -v gdb >/dev/null && command -v g++ >/dev/null; then
	g++ -O2 -g -fomit-frame-pointer -pthread -o waits "$E2E/why/dump_waits.cc"
	witness 'C++ without frame pointers: the lines of all frames are those of gdb' gdb gdb ./waits
else
	skip 'C++ without frame pointers: the lines of all frames are those of gdb' 'gdb or g++ is not installed'
fi
for py in $(pythons "$(pythons_read 8)"); do
	v=$("$py" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
	name="Python $v: functions, files and lines of all threads are those of py-spy"
	if command -v py-spy >/dev/null; then
		witness "$name" py-spy py-spy "$py" "$E2E/why/dump_threads.py"
	else
		skip "$name" 'py-spy is not installed (PyPI)'
	fi
done

# ---- tasks of asyncio, and locks of Python ----
for py in $(pythons "$(pythons_read 8)"); do
	v=$("$py" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
	"$py" "$E2E/why/dump_hangs.py" "$BIN" "$B" "$TOP/tests/jobs" py_rlocks py_gil >hangs.txt 2>&1
	is "$(grep -c ' right$' hangs.txt)" 2 "Python $v: owners of an RLock and of the GIL" || diag <hangs.txt
	"$PY" "$E2E/why/dump_tasks_check.py" "$BIN" "$py" >tasks.txt 2>&1
	is "$(sed 's/[0-9]*$/N/' tasks.txt)" 'same N' "Python $v: tasks, their coroutines with lines, and their waiters are those of the program, and of asyncio ps" || diag <tasks.txt
done
"$PY" "$TOP/tests/jobs/hangs.py" tasks &
T=$!
at_exit="kill -KILL $T 2>/dev/null; $at_exit"
wait_for 20 sh -c '"$1" dump -p "$2" | grep -q ^Deadlock' - "$BIN" $T
"$BIN" dump -p $T -o tasks >tasks.txt 2>tasks.err
check 'two tasks: why of the report begins with the deadlock' sh -c '"$1" why tasks.sqlite | sed -n 2p | grep -q "^Deadlock: task "' - "$BIN"
"$BIN" why -f json tasks.sqlite >why.json
check 'two tasks: JSON of why follows its schema' "$PY" "$E2E/lib/schema.py" "$TOP/exporters/schemas/why.json" why.json
"$BIN" dump -p $T -f json >tasks.json
check 'tasks: JSON follows its schema' "$PY" "$E2E/lib/schema.py" "$TOP/exporters/schemas/dump.json" tasks.json
check 'two tasks: the deadlock stands above the threads, with both lines' sh -c 'sed -n 2p tasks.txt | grep -q "^Deadlock: task \"[a-z]*\" at .*hangs.py:[0-9]* in [a-z.<>]* awaits task \"[a-z]*\"; task \"[a-z]*\" at .*hangs.py:[0-9]* in [a-z.<>]* awaits task "' || diag <tasks.txt
check 'two tasks: below the one that waits stands the other one' sh -c 'grep -A1 "^task .first.: waiting for task .second. (deadlock 1)" tasks.txt | tail -1 | grep -q "(.*hangs.py:[0-9]*)"' || diag <tasks.txt
kill -KILL $T

# ---- text ----
"$B/tests/jobs/hangs" locks &
T=$!
at_exit="kill -KILL $T 2>/dev/null; $at_exit"
wait_for 20 sh -c '"$1" dump -p "$2" | grep -q ^Deadlock' - "$BIN" $T
"$BIN" dump -p $T >locks.txt 2>err
is $? 0 'two locks: status 0'
check 'two locks: the deadlock stands above the threads, with both lines and owners' sh -c 'sed -n 2p locks.txt | grep -q "^Deadlock: thread .* waiting for a lock, futex at hangs.c:.* in first, which thread .* has; thread .* at hangs.c:.* in second, which thread"'
check 'two locks: each thread has its stack, down to the beginning' sh -c '[ "$(grep -c "^    clone3\|^    _start\|^    clone " locks.txt)" -ge 3 ]' || diag <locks.txt
is "$(cat err)" '' 'two locks: nothing on stderr'
is "$(awk '/^State/ { print $2 }' /proc/$T/status)" S 'the process is as before: it sleeps'
is "$(find /dev/shm /tmp -maxdepth 1 -name 'sightline-dump.*' -user "$(id -un)" 2>/dev/null | head -1)" '' 'no file is left'
"$BIN" dump -p $T -f json >locks.json
check 'JSON follows its schema' "$PY" "$E2E/lib/schema.py" "$TOP/exporters/schemas/dump.json" locks.json
"$BIN" dump -p $T -f json --limit=1 >one.json
check 'JSON of one thread: the rest is counted, and the command is named' sh -c 'grep -q "\"omitted\": {\"threads\": {\"count\": 2" one.json && grep -q "\"next\": \"sightline dump -p '$T' -f json --limit" one.json' || diag <one.json
"$BIN" dump -p $T -o kept >kept.txt 2>kept.err
is "$(cat kept.err)" "sightline: report: $W/kept.sqlite" '--output keeps the report'
"$BIN" dump kept.sqlite >again.txt
is "$(cat again.txt)" "$(cat kept.txt)" 'dump of that report says the same'
check 'why of that report: the deadlock' sh -c '"$1" why kept.sqlite | sed -n 2p | grep -q ^Deadlock' - "$BIN"
kill -KILL $T

# ---- threads that run ----
"$PY" -c 'def f():
    while True: pass
f()' &
T=$!
at_exit="kill -KILL $T 2>/dev/null; $at_exit"
wait_for 20 sh -c '"$1" dump -p "$2" | grep -q "f (<string>:2)"' - "$BIN" $T
check 'a thread that runs: the frames of Python, and what is missing' sh -c '"$1" dump -p "$2" >run.txt; grep -q "^Thread '$T': running, or ready to run; it has the GIL" run.txt && grep -q "not recorded: compiled code, for the thread runs" run.txt' - "$BIN" $T || diag <run.txt
kill -KILL $T

# ---- samples ----
"$PY" "$E2E/why/dump_every_check.py" "$BIN" "$PY" 4 >every.txt 2>&1
is "$(cat every.txt)" right '--every: shares of functions and the lock as the program has them, and a wait of each thread that sleeps' || diag <every.txt
"$BIN" export -t folded -o - every.sqlite >every.folded
check '--every: stacks for flame graphs' grep -q ';heavy;spin [0-9]' every.folded || diag <every.folded
"$BIN" why every.sqlite >every.why
check '--every: why names a function that computes' grep -q 'in spin\|in without_lock' every.why || diag <every.why
sleep 100 &
T=$!
at_exit="kill -KILL $T 2>/dev/null; $at_exit"
"$BIN" dump -p $T --every=10ms -o ended &
D=$!
wait_for 20 test -s ended.sqlite
kill -INT $D
wait $D
is $? 0 '--every: Ctrl-C ends the samples: status 0'
is "$("$PY" -c 'import sqlite3; print(sqlite3.connect("ended.sqlite").execute("SELECT count(*) FROM COMPOSITE_EVENTS WHERE cpuCycles = 0").fetchone()[0])')" 1 '--every: the wait that goes on is in the report'
kill -KILL $T

# ---- a report of a recording ----
profile hung -d 2 "$B/tests/jobs/hangs" locks >log 2>&1
check 'a recording that hung: dump of its report has the deadlock and the stacks' sh -c '"$1" dump hung.sqlite >hung.txt; grep -q ^Deadlock hung.txt && grep -q "^    first (" hung.txt' - "$BIN" || diag <hung.txt
profile well true >log 2>&1
"$BIN" dump well.sqlite >well.txt
is $? 4 'a report without waits: status 4'

# ---- errors ----
fails() { # STATUS TEXT NAME ARG...
	f_status=$1 f_text=$2 f_name=$3
	shift 3
	"$BIN" dump "$@" >out 2>err
	is "$? $(wc -l <err) $(wc -c <out)" "$f_status 1 0" "$f_name: status $f_status, one line" || diag <err
	check "$f_name: the line has the reason" grep -q -e "$f_text" err || diag <err
}
sleep 100 &
T=$!
at_exit="kill -KILL $T 2>/dev/null; $at_exit"
fails 1 'there is no process 4194304' 'no such process' -p 4194304
fails 2 "takes numbers of processes, not 'x'" 'no number' -p x
fails 2 'takes one of processes' 'a process and a report' -p $T kept.sqlite
fails 2 'are for processes' '--output without a process' -o x
fails 2 '--format is for' '--format of a session' -f json

fails 2 'takes a time of at least 1ms' '--every without a time' -p $T --every=x -o y
fails 2 'takes a time of at least 1ms' '--every too often' -p $T --every=1us -o y
fails 2 'writes a report' '--every without a name' -p $T --every=10ms
fails 2 'goes with --every' '--for without --every' -p $T --for=10s
fails 2 'are for processes' '--every without a process' --every=10ms
fails 1 "thread of the kernel" 'a thread of the kernel' -p 2
cp kept.sqlite before.sqlite
fails 1 "'kept.sqlite' exists (replace it with --force-overwrite=true," 'an existing report' -p $T -o kept
check 'an existing report: it is as before' cmp kept.sqlite before.sqlite
"$BIN" dump -p $T -o kept --force-overwrite=true >out 2>err
is "$? $(cat err)" "0 sightline: report: $W/kept.sqlite" 'the option that the error names replaces the report'
check 'the report that replaced another is of the new process' sh -c '"$1" dump kept.sqlite | grep -q "^Thread $2:"' - "$BIN" $T
"$PY" -c 'import os, time
if os.fork(): print(1, flush=True); time.sleep(100)' >zombie &
Z=$!
at_exit="kill -KILL $Z 2>/dev/null; $at_exit"
wait_for 20 sh -c 'grep -q "^State:.Z" /proc/$(pgrep -P '$Z')/status'
fails 1 'it is a zombie' 'a zombie' -p "$(pgrep -P $Z)"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$W"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$BIN" dump -p $T >out 2>err
	is "$? $(grep -c "another user's.*as root$" err)" '1 1' "another user's process: one line with the remedy" || diag <err
	setpriv --reuid=65534 --regid=65534 --clear-groups sh -c 'sleep 100 & "$1" dump -p $!; kill $!' - "$BIN" >own.txt 2>err
	check "one's own process without privileges: its stack" grep -q '^    .*nanosleep' own.txt || diag <err
else
	skip "another user's process: one line with the remedy" 'not root'
	skip "one's own process without privileges: its stack" 'not root'
fi
done_testing

#!/bin/sh
# hang_trigger.t - the triggers hang and signal of the flight recorder: a report with the stacks of all threads, which why begins with.
# shellcheck disable=SC2016
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'

record() { # NAME TRIGGER PROGRAM...: in the background, in a process group of its own; $job
	r_name=$1 r_trigger=$2
	shift 2
	setsid "$BIN" profile --flight=60s --trigger="$r_trigger" -f true -o "$r_name" "$@" >"$r_name.log" 2>&1 &
	job=$!
	at_exit="kill -KILL -$job 2>/dev/null; $at_exit"
}
is_written() { # NAME: the report is complete
	[ "$(sqlite3 -readonly "$1.sqlite" "SELECT value FROM META_DATA_EXPORT WHERE name = 'SL_COMPLETE'" 2>/dev/null)" = 1 ]
}
reason() { sqlite3 -readonly "$1.sqlite" "SELECT value FROM META_DATA_CAPTURE WHERE name = 'SL_CAPTURE_FLIGHT_REASON'"; }

# ---- a deadlock ----
record locks 'hang > 2s' "$B/tests/jobs/hangs" locks
check 'two locks: a report is written while the program hangs' wait_for 60 is_written locks || diag <locks.log
check 'two locks: the program still runs' pgrep -P $job
kill -KILL -- -$job
check 'two locks: the reason' sh -c 'echo "$1" | grep -q "the program does nothing: for .* s no call, range or work of a GPU has ended.*(trigger .hang > 2s.)"' - "$(reason locks)"
"$BIN" why locks.sqlite >locks.txt 2>err
check 'two locks: why begins with the deadlock' sh -c 'sed -n 2p locks.txt | grep -q "^Deadlock: thread .* waiting for a lock, futex at hangs.c:.* in .*, which thread .* has"' || diag <locks.txt
"$BIN" dump locks.sqlite >dump.txt
check 'two locks: dump has the stack of each thread' sh -c '[ "$(grep -c "^    first (\|^    second (\|^    locks (" dump.txt)" = 3 ]' || diag <dump.txt

# ---- Python: a thread that looks around makes no progress ----
cat >hang.py <<'END'
import threading, time
a = threading.Lock()
a.acquire()
def looks():
    while True: time.sleep(0.1)
def waits():
    a.acquire()  # WAITS
threading.Thread(target=looks, daemon=True).start()
threading.Thread(target=waits).start()
END
record py 'hang > 2s' "$PY" hang.py
check 'Python with a thread that looks around: a report is written' wait_for 60 is_written py || diag <py.log
kill -KILL -- -$job
"$BIN" dump py.sqlite >py.txt
check 'Python: dump has the line that waits' grep -q "waits (.*/hang.py:$(grep -n '# WAITS' hang.py | cut -d: -f1))" py.txt || diag <py.txt

# ---- a program that is slow, and goes on ----
cat >slow.py <<'END'
import os, sys, time
end = time.monotonic() + 12
fd = os.open("/dev/null", os.O_WRONLY)
while time.monotonic() < end:
    os.write(fd, b"x" * 10000000)
    with open("/proc/self/maps") as f: f.read()
    time.sleep(0.3)
END
"$BIN" profile --flight=60s --trigger='hang > 9s' --osrt-threshold=0 -f true -o slow "$PY" slow.py >slow.log 2>&1
is "$? $(ls slow.sqlite 2>/dev/null)" '0 ' 'a program that makes calls: no report' || diag <slow.log

# ---- signals ----
"$BIN" profile --flight=60s -f true -o quiet sh -c 'sleep 50 & kill -TERM $!; wait; exit 0' >quiet.log 2>&1
is "$(ls quiet.sqlite 2>/dev/null)" '' 'a child that is ended by SIGTERM is no reason without a trigger' || diag <quiet.log
"$BIN" profile --flight=60s --trigger=signal -f true -o term sh -c 'sleep 50 & kill -TERM $!; wait; exit 0' >term.log 2>&1
check 'a child that is ended by SIGTERM is a reason with the trigger signal' sh -c 'echo "$1" | grep -q "^process [0-9]* (.*) was killed by signal 15 (trigger .signal.)$"' - "$(reason term)" || diag <term.log
done_testing

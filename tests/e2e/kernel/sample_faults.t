#!/bin/sh
# Programs that fork in threads, whose threads and processes end by the hundred, that close what is not theirs, forbid
# themselves system calls or are killed, while their CPU samples are taken: they end as they would have, and the report is
# sound. sample.t has what stacks look like then.
# shellcheck disable=SC2016
. tests/lib.sh

"$BIN" profile -t none -s process-tree -o probe true 2>err
grep -q 'no CPU samples' err && skip_all "$(grep -m1 'no CPU samples' err)"
python=--python-sampling=true
"$BIN" profile -t none $python -o probe -f true true 2>err
grep -q 'need eBPF' err && python=

# WANT NAME COMMAND...: status and report
survives() {
	want=$1 name=$2
	shift 2
	profile "$name" -s process-tree $python "$@" >out 2>err
	is $? "$want" "$name: ends as it would have"
	check "$name: the report is sound" intact "$R"
}
samples() { q "$1" 'SELECT count(*) FROM COMPOSITE_EVENTS'; }
in_spin() { q "$1" "SELECT count(DISTINCT c.globalTid) FROM COMPOSITE_EVENTS c JOIN SL_STACKS k ON k.id = c.stackId
	JOIN SL_FRAMES f ON f.id = k.frameId JOIN StringIds s ON s.id = f.symbol WHERE s.value IN ('spin', 'turn')"; }

for trace in cuda,nvtx,osrt none; do
	survives 3 forks -t $trace "$PROG/sample_faults" forks
	got=$(in_spin "$R")
	check "forks, $trace: threads that have samples: $got of 96" [ "$got" -ge 85 ]
	survives 3 threads -t $trace "$PROG/sample_faults" threads 200
	got=$(in_spin "$R")
	check "threads, $trace: threads that have samples: $got of 200" [ "$got" -ge 175 ]
	survives 3 execs -t $trace "$PROG/sample_faults" execs
	got=$(samples "$R")
	check "execs, $trace: $got samples of a hundred images" [ "$got" -ge 200 ]
	survives 3 closes -t $trace "$PROG/sample_faults" closes
	got=$(samples "$R")
	check "closes, $trace: $got samples after that" [ "$got" -ge 200 ]
	survives 3 strict -t $trace "$PROG/sample_faults" strict
	is "$(wc -c <out)" 300 "strict, $trace: all of its output"
	check "strict, $trace: samples" [ "$(samples "$R")" -ge 50 ]
done

# A small limit of open files, for the collector and the program.
for files in 24 32 48 100; do
	R=$W/files.sqlite
	rm -f "$R"
	sh -c 'ulimit -n '$files' && exec "$@"' sh "$BIN" profile -s process-tree $python -f true -o "$W/files" "$PROG/sample_faults" threads 80 >out 2>err
	is $? 3 "$files descriptors: ends as it would have"
	[ ! -e "$R" ] || check "$files descriptors: the report is sound" intact "$R"
	check "$files descriptors: there are samples, or it says why not" sh -c '[ -s err ] && grep -q "sightline: " err'
done

# ---- SIGKILL ----
cat >cut_busy.py <<'END'
import os, sys, threading, time
def busy_of_python(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1000))
if os.fork() == 0:
    busy_of_python(30)
    os._exit(0)
for _ in range(3):
    threading.Thread(target=busy_of_python, args=(30,), daemon=True).start()
busy_of_python(30)
END
enough() { # NUMBER of samples, for wait_for: each look is a process of its own, so not too often
	sleep 0.2
	[ "$(sqlite3 -readonly "$R" 'SELECT count(*) FROM COMPOSITE_EVENTS' 2>/dev/null)" -ge "$1" ] 2>/dev/null
}
python_names() { q "$R" "SELECT count(*) FROM SL_STACKS k JOIN SL_FRAMES f ON f.id = k.frameId AND f.kind = 1
	JOIN StringIds s ON s.id = f.symbol WHERE s.value = 'busy_of_python'"; }
if [ -n "$python" ] && [ -x "$PY" ]; then
	R=$W/killed.sqlite
	"$BIN" profile -s process-tree $python -f true -o "$W/killed" "$PY" cut_busy.py 2>err &
	run=$!
	wait_for 30 enough 300
	send KILL $(pgrep -f "^$PY cut_busy.py\$")
	wait $run
	is $? 137 'the program is killed: its status'
	check 'the report is sound' intact "$R"
	check "Python's functions are there" [ "$(python_names)" -gt 0 ]

	R=$W/cut.sqlite
	"$BIN" profile -s process-tree $python -f true -o "$W/cut" "$PY" cut_busy.py 2>err &
	run=$!
	wait_for 30 enough 300
	send KILL "$(pgrep -f "profile .* -o $W/cut " | head -1)"
	wait $run
	check 'the collector is killed: the program goes on' pgrep -f "^$PY cut_busy.py\$"
	kill -KILL $(pgrep -f "^$PY cut_busy.py\$")
	check 'the collector is killed: recover' "$BIN" recover --now "$R"
	check 'the report is sound' intact "$R"
	check "Python's functions are there" [ "$(python_names)" -gt 0 ]
else
	skip 'SIGKILL of the program and of the collector' 'no eBPF, or no Python'
fi
done_testing

#!/bin/sh
# Captures: what begins and ends one, in which process of which layout, and what stands in the reports. One line per
# combination: its options, what the program does (tests/prog/capture.c) and the calls that each report must hold.
# capture_truth.py compares each report with the program's log: no more, no less, in the right place and time.
# shellcheck disable=SC2046,SC2086
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
S=$B/tests/standin
[ -f "$S/libcupti.so.13" ] || skip_all 'the stand-ins are not built'
LD_LIBRARY_PATH=$S${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
SIGHTLINE_CUPTI=$S/libcupti.so.13
CAPTURE_LOG=$W/log
export LD_LIBRARY_PATH SIGHTLINE_CUPTI CAPTURE_LOG
unset NSYS_NVTX_PROFILER_REGISTER_ONLY SIGHTLINE_NVTX_REGISTER_ONLY
T=nvtx,osrt # a program that CUPTI looks at takes a moment for each report
CUDA='-c cudaProfilerApi' NVTX='-c nvtx -p step@train'

# The reports of a case, in order: case.sqlite, or case.1.sqlite and so on.
reports() { find . -name 'case*.sqlite' | sort -t. -k3n; }
# NAME, OPTIONS, STEPS, CALLS in each report (-: nothing was captured, N: some), STATUS of the program
try() {
	rm -f case* log.*
	"$BIN" profile -t $T --osrt-threshold=0 -o case $2 "$PROG/capture" "$3" >out 2>err
	try_status=$?
	RECORDS=$RECORDS "$PY" "$E2E/trace/capture_truth.py" "$W/log" "$2 $env" "$4" $(reports) >said 2>&1 && [ $try_status -eq "${5:-0}" ]
	result $? "$1" || { echo "status $try_status"; cat said err; } | diag
}
names() { is "$(reports | tr '\n' ' ')" "$1 " "$2"; }
env=

# ---- what begins it, and what its end leads to ----
steps='call 5 start call 10 stop call 20 start call 30 stop call 40'
try 'no range: the capture is the whole program' '' 'call 5 start call 10 stop call 20' 35
try 'end none: the capture lasts from the first cudaProfilerStart to the end of the program' "$CUDA --capture-range-end=none" "$steps" 100
try 'end stop: only the first range is captured' "$CUDA --capture-range-end=stop" "$steps" 10
names ./case.sqlite 'end stop: the report has the name of --output'
try 'end stop-shutdown: the first range is captured, and SIGTERM ends the program' "$CUDA" "$steps sleep 20000" 10 143
ends() { # VALUE COUNT NAME: that many lines name the option that lets the program run on
	is "$(grep -c "the program is ended with it (--capture-range-end=$1 lets it run on)" err)" "$2" "$3"
}
ends stop 1 'end stop-shutdown: one line names the option that lets the program run on'
try 'end stop-shutdown, --kill=sigkill: SIGKILL ends the program' "$CUDA --kill=sigkill" "$steps sleep 20000" 10 137
try 'end stop-shutdown, --kill=none: the program runs to its end' "$CUDA --kill=none" "$steps" 10
ends stop 0 'end stop-shutdown, --kill=none: no line says that the program is ended'
try 'end repeat: each of three ranges has its report' "$CUDA --capture-range-end=repeat" "$steps start call 3 stop" '10 30 3'
names './case.1.sqlite ./case.2.sqlite ./case.3.sqlite' 'end repeat: three reports are numbered 1 to 3'
try 'end repeat, one range: one report holds it' "$CUDA --capture-range-end=repeat" 'call 5 start call 10 stop call 20' 10
names ./case.1.sqlite 'end repeat, one range: the report has number 1'
try 'end repeat:2: only two of three ranges are captured' "$CUDA --capture-range-end=repeat:2" "$steps start call 3 stop call 9" '10 30'
try 'end repeat-shutdown:2: the program is ended after two ranges' "$CUDA --capture-range-end=repeat-shutdown:2" "$steps sleep 20000" '10 30' 143
ends repeat:N 1 'end repeat-shutdown:2: one line names the option that lets the program run on'
try 'end repeat-shutdown:3, two ranges: the program runs to its end' "$CUDA --capture-range-end=repeat-shutdown:3" "$steps" '10 30'
try 'end pause: one report holds all three ranges' "$CUDA --capture-range-end=pause" "$steps start call 3 stop" 43
names ./case.sqlite 'end pause: the report has the name of --output'
try 'end repeat:sync: each range has its report' "$CUDA --capture-range-end=repeat:sync" "$steps" '10 30'
try 'end repeat:2:sync: only two of three ranges are captured' "$CUDA --capture-range-end=repeat:2:sync" "$steps start call 3 stop" '10 30'
try 'end stop:sync: only the first range is captured' "$CUDA --capture-range-end=stop:sync" "$steps" 10
try 'end repeat:async: five ranges with nothing between them have a report each' "$CUDA --capture-range-end=repeat:async" \
	'repeat 5 { start call 10 stop }' '10 10 10 10 10'
try 'cuProfilerStart and cuProfilerStop of the driver bound ranges' "$CUDA --capture-range-end=repeat" 'call 5 cu-start call 10 cu-stop call 20 start call 7 cu-stop call 1' '10 7'
try 'a range that stays open ends with the program' "$CUDA --capture-range-end=repeat" "$steps start call 3" '10 30 3'

steps='call 5 push =step@train call 10 pop @train call 20 push =step@train call 30 pop @train call 40'
try 'nvtx, end none: the capture lasts from the first range to the end of the program' "$NVTX --capture-range-end=none" "$steps" 100
try 'nvtx, end stop: only the first range is captured' "$NVTX --capture-range-end=stop" "$steps" 10
try 'nvtx, end stop-shutdown: the program is ended after the first range' "$NVTX" "$steps sleep 20000" 10 143
try 'nvtx, end repeat: each range has its report' "$NVTX --capture-range-end=repeat" "$steps" '10 30'
try 'nvtx, end repeat:1: only the first range is captured' "$NVTX --capture-range-end=repeat:1" "$steps" 10
try 'nvtx, end repeat-shutdown:2: the program is ended after two ranges' "$NVTX --capture-range-end=repeat-shutdown:2" "$steps sleep 20000" '10 30' 143
try 'nvtx, end pause: one report holds both ranges' "$NVTX --capture-range-end=pause" "$steps" 40
try 'nvtx, end repeat:sync: each range has its report' "$NVTX --capture-range-end=repeat:sync" "$steps" '10 30'
try 'nvtx: ranges by start and end are captured like pushed ones' "$NVTX --capture-range-end=repeat" \
	'call 5 range =step@train call 10 end =step@train call 20 range =step@train call 7 end =step@train' '10 7'

# ---- which NVTX range ----
try 'nvtx: a range of another domain, or of the default one, begins no capture' "$NVTX" 'push =step@test call 9 pop @test push =step call 9 pop' -
try 'nvtx, a name without domain: a range of the default domain begins the capture' '-c nvtx -p step --capture-range-end=stop' 'push =step@test call 5 pop @test push =step call 9 pop' 9
try 'nvtx, name@*: ranges of any domain are captured' '-c nvtx -p step@* --capture-range-end=repeat' \
	'push =step@test call 5 pop @test push =step call 9 pop push =other call 3 pop' '5 9'
try 'nvtx: a message that is no registered string begins no capture' "$NVTX" 'push step@train call 9 pop @train' -
near() { # TEXT NAME
	check "$2" grep -Fq -- "no process opened that range$1)" err
}
near ": 'step' was opened, but its message is no registered string; SIGHTLINE_NVTX_REGISTER_ONLY=0 makes it count" 'nvtx: the message on a plain string names the variable that makes it count'
try 'nvtx: a range of the domain other begins no capture of step@train' "$NVTX" 'push =load@train pop @train push =step@other call 9 pop @other' -
near ": 'step' was opened in the domain 'other'; --nvtx-capture=step@other" 'nvtx: the message on a range of another domain names the option for it'
try 'nvtx: a range of the default domain begins no capture of step@train' "$NVTX" 'push =step call 9 pop' -
near ": 'step' was opened in the default domain; --nvtx-capture=step" 'nvtx: the message on a range of the default domain names the option for it'
try 'nvtx: a range with one more letter begins no capture' "$NVTX" 'range =load@train range =steps@train call 9' -
near "; 'steps' was opened" 'nvtx: the message on a misspelt range has the nearest name'
try 'nvtx: a range with an unlike name begins no capture' "$NVTX" 'push =load@train call 9 pop @train' -
near '' 'nvtx: the message names no range where none is alike'
try 'nvtx: a mark begins no capture' "$NVTX" 'mark =step@train call 9' -
export NSYS_NVTX_PROFILER_REGISTER_ONLY=0
env=REGISTER_ONLY=0
try 'NSYS_NVTX_PROFILER_REGISTER_ONLY=0: a plain string begins a capture' "$NVTX --capture-range-end=stop" 'push step@train call 9 pop @train call 3' 9
unset NSYS_NVTX_PROFILER_REGISTER_ONLY
export SIGHTLINE_NVTX_REGISTER_ONLY=0
try 'SIGHTLINE_NVTX_REGISTER_ONLY=0: plain and registered strings begin captures' "$NVTX --capture-range-end=repeat" 'push step@train call 9 pop @train push =step@train call 3 pop @train' '9 3'
unset SIGHTLINE_NVTX_REGISTER_ONLY
env=
try 'nvtx: a range inside itself is captured from the outer push to its pop' "$NVTX --capture-range-end=repeat" \
	'call 5 push =step@train call 1 push =step@train call 2 pop @train call 4 pop @train call 9' 7
try 'nvtx: overlapping ranges of two threads are captured from the first to the last' "$NVTX --capture-range-end=stop" \
	'thread w { push =step@train call 5 raise a await b call 5 pop @train raise c } await a push =step@train call 1 raise b await c call 1 pop @train call 9' 12
try 'nvtx: a range begun in one thread and ended in another is captured' "$NVTX --capture-range-end=stop" \
	'range =step@train thread w { call 7 end =step@train } join call 9' 7
try 'nvtx: pops of other ranges do not end the capture' "$NVTX --capture-range-end=repeat" \
	'push =step@train push =load@train call 4 pop @train call 6 pop @train push =load@train call 9 pop @train' 10

# ---- ranges that reach over an edge ----
edges='push all@d push before range r1 sleep 150 call 2 start call 3 sleep 1 pop push within call 1 pop range r2 sleep 1 stop
	call 1 end r1 sleep 1 start call 3 sleep 1 end r2 push late sleep 1 stop call 1 pop pop @d'
try 'NVTX ranges that reach over the edges of two captures are right in both reports' "$CUDA --capture-range-end=repeat" \
	"$edges" '4 3'
try 'NVTX ranges that reach over the edges of two captures are right in one report' "$CUDA --capture-range-end=pause" \
	"$edges" 7
try 'calls that reach over an edge of the range are as the log has them' "$CUDA --capture-range-end=stop" \
	'thread w { long 60 } start call 5 thread v { long 60 } sleep 30 stop join call 9' 5

# ---- where it is opened and closed ----
try 'a process opens twice and closes once: the first close ends the range' "$CUDA --capture-range-end=repeat" 'start call 1 start call 2 stop call 4 stop call 8' 3
try 'a range that is closed and never opened captures nothing' "$CUDA --capture-range-end=stop" 'call 5 stop call 6' -
try 'a close before the open does not count' "$CUDA --capture-range-end=stop" 'call 5 stop call 6 start call 7 stop' 7
try 'a range opened in a child is captured' "$CUDA --capture-range-end=stop" 'call 5 fork { call 3 start call 4 stop call 5 } wait call 6' 4
try 'a range opened by one child and closed by the other is captured' "$CUDA --capture-range-end=stop" \
	'fork { start call 4 raise a await b } await a fork { call 5 stop call 9 raise b } wait call 6' 9
try 'a range opened by the parent and closed by a child is captured' "$CUDA --capture-range-end=stop" \
	'call 1 start call 2 fork { call 4 stop call 8 } wait call 16' 6
try 'a range opened by a thread and closed by another is captured' "$CUDA --capture-range-end=stop" 'thread a { start call 2 } join thread b { call 3 stop } join call 8' 5
try 'the process that opened the range ends: the capture ends with it' "$CUDA --capture-range-end=repeat" \
	'call 1 fork { start call 4 exit 0 } wait gone case.1.sqlite-wal call 8 start call 2 stop' '4 2'
try 'a program that execs in its range is captured on' "$CUDA --capture-range-end=stop" 'call 1 start call 2 exec { call 4 stop call 8 }' 6
try 'the range of a daemon is captured' "$CUDA --capture-range-end=stop" 'daemon { call 2 start call 4 stop call 8 raise a } await a call 16' 4
for make in fork spawn; do
	rank='{ repeat 2 { call 5 meet a 2 start call 10 meet b 2 stop meet c 2 } call 7 }'
	try "two ranks by $make: ranges at the same time are one capture" "$CUDA --capture-range-end=repeat" \
		"$make $rank $make $rank wait call 3" '20 20'
	try "two ranks by $make: overlapping ranges are captured from the first to the last" "$CUDA --capture-range-end=repeat" \
		"$make { start call 10 raise a await b call 5 stop raise c } $make { await a start call 7 raise b await c call 5 stop } wait call 3" 27
	try "two ranks by $make: ranges one after the other have a report each" "$CUDA --capture-range-end=repeat" \
		"$make { start call 10 stop raise a } $make { await a start call 7 stop } wait call 3" '10 7'
	try "workers by $make go on through three ranges of the main process" "$CUDA --capture-range-end=repeat" \
		"$make { raise a flood z 5 200 } $make { raise b flood z 5 200 } await a await b repeat 3 { call 5 start call 10 sleep 20 stop sleep 5 } raise z wait" 'N N N'
	try "workers by $make go on through three NVTX ranges in one report" "$NVTX --capture-range-end=pause" \
		"$make { raise a flood z 5 200 } $make { raise b flood z 5 200 } await a await b repeat 3 { call 5 push =step@train call 10 sleep 20 pop @train sleep 5 } raise z wait" N
	try "workers by $make have an NVTX range each, the launcher none" "$NVTX --capture-range-end=stop" \
		"$make { push =step@train call 10 raise a await b pop @train } $make { await a push =step@train call 7 pop @train raise b } wait call 3" 17
done
cat >launch.py <<'EOF'
import os, signal, subprocess, sys
ranks = [subprocess.Popen([sys.argv[1], sys.argv[2]], env=dict(os.environ, RANK=str(i), WORLD_SIZE="2")) for i in (0, 1)]
ends = [r.wait() for r in ranks]
if min(ends) < 0:
    os.kill(os.getpid(), signal.SIGTERM)
sys.exit(max(ends))
EOF
T=cuda,nvtx,osrt
PLAIN_PROG=$PROG
launch() { # the ranks, as torchrun would
	PROG=$W
	printf '#!/bin/sh\nexec "%s" "%s" "%s" "$@"\n' "$PY" "$W/launch.py" "$PLAIN_PROG/capture" >capture
	chmod +x capture
	try "$@"
	PROG=$PLAIN_PROG
}
ranks='repeat 2 { call 5 meet a 2 start call 10 launch 3 sync meet b 2 stop meet c 2 } call 20'
launch 'a launcher with two ranks, end stop: the first range of both is captured' "$CUDA --capture-range-end=stop" "$ranks" 20
launch 'a launcher with two ranks, end repeat: each range of both has its report' "$CUDA --capture-range-end=repeat" "$ranks" '20 20'
launch 'a launcher with two ranks, end pause: one report holds all ranges' "$CUDA --capture-range-end=pause" "$ranks" 40
launch 'a launcher with two ranks, end stop-shutdown: both are ended after the first range' "$CUDA" "$ranks sleep 20000" 20 143
launch 'a launcher with two ranks, nvtx, end repeat: each range of both has its report' "$NVTX --capture-range-end=repeat" \
	'repeat 2 { call 5 meet a 2 push =step@train call 10 meet b 2 pop @train meet c 2 } call 20' '20 20'

# ---- threads, totals, files ----
T=nvtx,osrt
try 'threads go on through three ranges with a report each' "$CUDA --capture-range-end=repeat" \
	'thread a { name aa flood z 5 200 } thread b { flood z 5 200 } repeat 3 { call 5 start call 10 sleep 20 stop sleep 10 } raise z join' 'N N N'
try 'calls below the threshold are counted in each of five reports' "$CUDA --capture-range-end=repeat --osrt-threshold=1000000000" \
	'call 1000 repeat 3 { start call 500 stop call 300 } thread w { start call 20 stop } join start call 7' '500 500 500 20 7'
try 'calls below the threshold are counted over pauses in one report' "$CUDA --capture-range-end=pause --osrt-threshold=1000000000" \
	'call 1000 repeat 3 { start call 500 stop call 300 }' 1500
try 'end repeat with files opened before: each report has its calls' "$CUDA --capture-range-end=repeat --osrt-file-access=true" \
	'call 5 repeat 2 { start call 10 stop call 5 } file other.data call 5 start call 10 stop' '10 10 10'
is "$(for r in $(reports); do q "$r" "SELECT DISTINCT filePath FROM OSRT_FILE_ACCESS_EVENTS JOIN OSRT_FILE_ACCESS_DESCRIPTORS USING (fileAccessId)
	JOIN StringIds ON id = apiCallId WHERE value LIKE 'pread%'" | sed 's/.*\///' | tr '\n' ' '; done)" 'log.data log.data other.data ' \
	'each report knows the paths of files opened before it'
try 'names given to threads before a capture are in its report' "$CUDA --capture-range-end=repeat" \
	'thread early { name worker raise a await b call 3 raise c } await a start raise b await c stop join start call 2 stop' '3 2'

# ---- the GPU ----
T=cuda,nvtx,osrt
try 'each report has the kernels of its range' "$CUDA --capture-range-end=repeat" 'launch 5 repeat 3 { start launch 10 call 1 stop launch 3 } sync start launch 2 sync stop' '1 1 1 0'
try 'one report over pauses has the kernels of all ranges' "$CUDA --capture-range-end=pause" 'launch 5 repeat 3 { start launch 10 call 1 stop launch 3 } sync' 3
try 'each report has the kernels of its NVTX range' "$NVTX --capture-range-end=repeat" 'launch 5 repeat 2 { push =step@train launch 10 call 1 pop @train launch 3 } sync' '1 1'
T=nvtx,osrt

# ---- time ----
try '--delay: calls before its end stay out' '-y 1' 'call 5 sleep 1800 call 10' 10
try '--delay longer than the run: nothing is captured' '-y 30' 'call 5' -
try '--delay with a range: the first range after the delay is captured' "$CUDA -y 1 --capture-range-end=repeat" 'start call 5 stop sleep 1800 start call 7 stop' 7
try '--duration ends a range that is still open' "$CUDA -d 1 --capture-range-end=stop" 'start call 5 sleep 1800 call 7 stop' 5
try '--duration with stop-shutdown ends the program' "$CUDA -d 1" 'start call 5 sleep 20000 call 7 stop' 5 143
try '--delay and --duration: the calls between are captured' '-y 1 -d 2 --kill=none' 'call 5 sleep 1800 call 7 sleep 2200 call 9' 7

# ---- --kill=none: what still runs is waited for, as without a limit of time ----
"$BIN" profile -t osrt -d 1 --kill=none -o waited sh -c 'sleep 2; echo ended >ended; exit 7' >out 2>err
is "$? $(cat ended) $(grep -c 'report: .*waited' err)" '7 ended 1' '--duration with --kill=none: the program ends by itself, with its status'
"$BIN" profile -t osrt -d 1 --kill=none -o waited2 "$PY" -c 'import signal, sys, time
signal.signal(signal.SIGTERM, lambda *a: sys.exit(9))
open("handles", "w")
time.sleep(60)' >out 2>waiting.err &
waiting=$!
wait_for 20 grep -qs report: waiting.err
wait_for 20 [ -e handles ]
kill -TERM $waiting
wait $waiting
is $? 9 'profile passes a signal on to the program it waits for after --duration'

# ---- nothing ----
try 'a range that never opens captures nothing' "$CUDA" 'call 5 push =step pop call 3' -
grep -q 'cudaProfilerStart' err
result $? 'stderr names cudaProfilerStart when no range opened' || diag <err
is "$(q "$(reports)" "SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE text LIKE '%cudaProfilerStart%'")" 1 'the report names cudaProfilerStart when no range opened'
try 'a program without NVTX and CUDA captures nothing with -c nvtx' "$NVTX" 'call 5' -
"$BIN" profile -o plain -c nvtx -p x true >out 2>err
is $? 0 'a program of the system under -c nvtx ends with status 0'
for r in $(reports) plain.sqlite; do
	for what in 'stats' 'info' 'analyze' 'export -t json -o -' 'report -f true -o page.html'; do
		check "sightline ${what%% *} reads a report of nothing" "$BIN" $what "$r"
	done
done

# ---- the rest of the tools ----
T=cuda,nvtx,osrt
try 'end repeat with ranges, kernels and a busy thread: two reports are as the log has them' "$CUDA --capture-range-end=repeat" \
	'push all thread w { flood z 5 200 } call 5 repeat 2 { start push =in@d launch 5 sync call 10 pop @d stop } raise z join' 'N N'
for r in $(reports); do
	for what in 'stats' 'info' 'analyze' 'export -t json -o json' 'export -t perfetto -o trace' 'report -o page.html' 'recover'; do
		rm -f json trace page.html
		check "sightline ${what%% *} reads $r" "$BIN" $what "$r"
	done
	# A call that began in the capture may end behind it.
	is "$(q "$r" '.read '"$E2E"'/trace/sane.sql' | grep -v '^OSRT_API after the session')" '' "the rows of $r fit together"
done
check 'sightline compare compares two captures' "$BIN" compare $(reports)
done_testing

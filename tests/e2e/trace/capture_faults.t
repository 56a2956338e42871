#!/bin/sh
# What goes wrong around a capture: whichever process is killed or stopped, wherever there is no room, the program runs as
# it would, and what was recorded is in a report that is sound.
# shellcheck disable=SC2016,SC2046,SC2086
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
S=$B/tests/standin
[ -f "$S/libcupti.so.13" ] || skip_all 'the stand-ins are not built'
LD_LIBRARY_PATH=$S${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
SIGHTLINE_CUPTI=$S/libcupti.so.13
CAPTURE_LOG=$W/log
export LD_LIBRARY_PATH SIGHTLINE_CUPTI CAPTURE_LOG
C='-c cudaProfilerApi' REPEAT='-c cudaProfilerApi --capture-range-end=repeat'

# The program and this script wait for each other: flags of tests/prog/capture.c, words in a file.
await() { wait_for 20 sh -c '[ "$(od -An -td4 -j $2 -N 4 "$1" | tr -d " ")" -gt 0 ]' sh "$W/log.flags" "$(place "$1")"; }
raise() { printf '\1' | dd of="$W/log.flags" bs=1 seek="$(place "$1")" conv=notrunc 2>/dev/null; }
place() { echo $((($(printf '%d' "'$1") - 97) * 4)); }
reports() { find . -name 'case*.sqlite' | sort -t. -k3n; }
calls() { q "$1" "SELECT (SELECT count(*) FROM call WHERE name LIKE 'pread%') + coalesce((SELECT sum(count) FROM total WHERE name LIKE 'pread%'), 0)"; }
begin() { # OPTIONS STEPS: in the background
	rm -f case* log.*
	"$BIN" profile -t cuda,nvtx,osrt --osrt-threshold=0 -o case $1 "$PROG/capture" "$2" >out 2>err &
	job=$!
}
try() { # NAME, OPTIONS, STEPS, CALLS of each report, STATUS
	begin "$2" "$3"
	wait $job
	try_status=$?
	RECORDS=$RECORDS "$PY" "$E2E/trace/capture_truth.py" "$W/log" "$2" "$4" $(reports) >said 2>&1 && [ $try_status -eq "${5:-0}" ]
	result $? "$1" || { echo "status $try_status"; cat said err; } | diag
}
ours() { # processes of sightline that are about this script's reports
	for p in /proc/[0-9]*; do
		[ "$(readlink "$p/exe")" = "$BIN" ] || continue
		[ "$(readlink "$p/cwd")" = "$W" ] && echo "${p#/proc/}"
	done 2>/dev/null
}
goes_on() { # NAME: the program says "done" and all is well with it
	wait $job 2>/dev/null
	wait_for 20 grep -q '^done' out
	result $? "$1: the program goes on" || { cat out err | diag; }
}

# ---- SIGKILL of the program, of a part of it, of all ----
try 'the program is killed in its range: the report has its calls' "$REPEAT" 'call 1 start call 50 die 9' 50 137
try 'the program is killed after its range: the report has the range alone' "$REPEAT" 'call 1 start call 50 stop call 7 die 9' 50 137
try 'the program crashes in its range: the report has its calls' "$C" 'call 1 push all start call 50 die 11' 50 139
try 'a worker is killed in its range: the next range is another report' "$REPEAT" \
	'fork { start call 5 die 9 } wait gone case.1.sqlite-wal call 7 start call 2 stop' '5 2'
try 'one of two ranks is killed in the range of both: the report has the calls of both' "$REPEAT" \
	'fork { start call 5 meet a 2 die 9 } spawn { start call 6 meet a 2 sleep 300 call 3 stop call 1 } wait' 14
try 'a daemon made in a range is captured to the end of the range' "$REPEAT" \
	'call 1 start call 2 daemon { call 4 raise a await b call 8 raise c } await a call 16 stop raise b call 32 await c' 22

# ---- SIGKILL of the collector ----
begin "$C" 'call 1 start call 50 raise a await b call 7 stop call 3 start call 1 stop say done'
committed() { [ "$(calls case.sqlite 2>/dev/null || echo 0)" -ge "$1" ]; }
await a && wait_for 10 committed 50
send KILL $(ours)
raise b
goes_on 'SIGKILL while recording'
check 'SIGKILL while recording: recover succeeds' "$BIN" recover case.sqlite
check 'SIGKILL while recording: the report is sound' intact case.sqlite
have=$(calls case.sqlite)
check "SIGKILL while recording: 50 calls are there ($have), none from before" eval "[ $have -ge 50 ] && [ $have -le 61 ]"
check 'SIGKILL while recording: the tools read it' "$BIN" stats case.sqlite

begin "$C" 'call 1 raise a await b call 7 start call 4 stop call 3 say done'
await a
send KILL $(ours)
raise b
goes_on 'SIGKILL before a range'
check 'SIGKILL before a range: recover succeeds' "$BIN" recover case.sqlite
check 'SIGKILL before a range: the report is sound' intact case.sqlite
is "$(calls case.sqlite)" 0 'SIGKILL before a range: the report is empty'

begin "$REPEAT" 'call 1 start call 5 stop raise a await b call 7 start call 4 stop call 3 say done'
await a
wait_for 20 finished case.1.sqlite
send KILL $(ours)
raise b
goes_on 'SIGKILL between two ranges'
is "$(reports) $(calls case.1.sqlite)" './case.1.sqlite 5' 'SIGKILL between two ranges: the first report is whole'
check 'SIGKILL between two ranges: the first report is sound' intact case.1.sqlite

begin "$REPEAT" 'thread w { flood z 50 100 } start call 1000 sleep 200 stop raise a await b start call 4 stop raise z say done'
await a
send KILL $(ours)
raise b
goes_on 'SIGKILL while a report is completed'
[ -e case.1.sqlite-wal ] || q case.1.sqlite "SELECT 1 FROM SL_STATE" >/dev/null 2>&1 && "$BIN" recover case.1.sqlite >/dev/null 2>&1
check 'SIGKILL while a report is completed: the report is sound' intact case.1.sqlite
check 'SIGKILL while a report is completed: the calls are there' test "$(calls case.1.sqlite)" -ge 1000

# ---- a collector that stands still ----
begin "$C --capture-range-end=stop" 'call 1 raise a await b call 7 start call 4 stop call 3 say done'
await a
victims=$(ours)
send STOP $victims
raise b
wait_for 20 grep -q '^done' out
result $? 'a stopped collector: the call that opens a range comes back all the same'
send CONT $victims
wait $job
is $? 0 'a stopped collector: profile ends with status 0 after SIGCONT'
check 'a stopped collector: the report is sound' intact case.sqlite

# ---- names that are taken ----
rm -f case*
echo mine >case.1.sqlite
"$BIN" profile $REPEAT -o case "$PROG/capture" 'say ran' >out 2>err
is "$? $(cat out case.1.sqlite)" '1 mine' 'the first name is taken: nothing is run'
begin "$REPEAT" 'await b start call 3 stop start call 4 stop'
wait_for 10 test -e log.flags
echo mine >case.2.sqlite
raise b
wait $job
is "$? $(cat case.2.sqlite)" '0 mine' 'the second name is taken meanwhile: it is left alone'
rm case.2.sqlite
is "$(for r in $(reports); do calls "$r"; done | tr '\n' ' ')" '3 4 ' 'the second name is taken meanwhile: both ranges have their reports'
try 'one range is captured into case.1.sqlite' "$REPEAT" 'start call 3 stop' 3
echo mine >case.2.sqlite
"$BIN" profile -t cuda,osrt --osrt-threshold=0 -f true $REPEAT -o case "$PROG/capture" 'start call 3 stop start call 4 stop' >out 2>err
is "$? $(calls case.1.sqlite) $(calls case.2.sqlite)" '0 3 4' 'force-overwrite replaces the reports of both ranges'

# ---- Ctrl-C, and nothing left ----
cat >group.py <<'EOF'
# Ctrl-C when the program has raised flag a.
import os, signal, subprocess, sys, time
p = subprocess.Popen(sys.argv[1:], start_new_session=True)
while not (os.path.exists("log.flags") and open("log.flags", "rb").read(1) not in (b"", b"\0")):
    time.sleep(0.02)
os.killpg(p.pid, signal.SIGINT)
print(p.wait())
EOF
rm -f case* log.*
is "$("$PY" group.py "$BIN" profile -t cuda,osrt -y 30 -o case "$PROG/capture" 'call 5 raise a sleep 20000' 2>err)" -2 'Ctrl-C while --delay waits ends profile by SIGINT'
check 'Ctrl-C while --delay waits: the report names --delay' eval 'intact case.sqlite && q case.sqlite "SELECT text FROM DIAGNOSTIC_EVENT" | grep -q delay'
rm -f case* log.*
is "$("$PY" group.py "$BIN" profile -t cuda,osrt --osrt-threshold=0 $REPEAT -o case "$PROG/capture" 'start call 3 stop start call 5 raise a sleep 20000' 2>err)" -2 'Ctrl-C in a range ends profile by SIGINT'
is "$(for r in $(reports); do calls "$r"; done | tr '\n' ' ')" '3 5 ' 'Ctrl-C in a range: both reports have their calls'

# ---- no room ----
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	mkdir full small
	rm -f log.*
	unshare -m sh -c 'mount -t tmpfs -o size=1m tmpfs "$1/full" || exit 99
		"$2" profile -t cuda,osrt --osrt-threshold=0 -c cudaProfilerApi --capture-range-end=repeat -o "$1/full/case" "$3" "$4"
		echo $? >"$1/status"
		cp "$1"/full/* "$1/small/"' sh "$W" "$BIN" "$PROG/capture" \
		'start call 10 stop start call 60000 stop start call 10 stop say done' >out 2>err
	is "$(cat status) $(cat out)" '0 done' 'a full disk: the program goes on'
	for r in small/*.sqlite; do
		check "a full disk: ${r#small/} is sound" intact "$r"
	done
	check 'a full disk: stderr has a message' grep -q '^sightline: .*\(full\|space\|disk\)' err
else
	skip 'a full disk: the program goes on' 'needs root and mount namespaces'
fi

# ---- what was asked is wrong ----
refused() { # NAME, WORDS, OPTIONS...
	refused_name=$1 refused_words=$2
	shift 2
	"$BIN" profile "$@" -o never true >out 2>err
	is "$? $(wc -l <err) $(grep -c -- "$refused_words" err) $(ls never* 2>/dev/null)" '2 1 1 ' "$refused_name is refused in one line, and nothing is run" || diag <err
}
refused 'an unknown range' 'capture-range' -c gpu
refused 'an unknown end' 'capture-range-end' -c nvtx -p x --capture-range-end=never
refused 'repeat-shutdown without a number' 'capture-range-end' $C --capture-range-end=repeat-shutdown
refused 'repeat:0' 'capture-range-end' $C --capture-range-end=repeat:0
refused 'nvtx without a name' 'nvtx-capture' -c nvtx
refused 'a name without nvtx' 'nvtx-capture' $C -p x
refused 'an empty name' 'nvtx-capture' -c nvtx -p @x
refused 'an unknown key' 'hotkey' -c hotkey --hotkey-capture=F13
done_testing

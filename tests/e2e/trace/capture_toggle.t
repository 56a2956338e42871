#!/bin/sh
# On and off again, a thousand times, while eight threads go on: each call that began while it was on is there, once,
# and no other is; nothing is torn; the program notices nothing.
# shellcheck disable=SC2046,SC2086
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
S=$B/tests/standin
[ -f "$S/libcupti.so.13" ] || skip_all 'the stand-ins are not built'
LD_LIBRARY_PATH=$S${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
SIGHTLINE_CUPTI=$S/libcupti.so.13
CAPTURE_LOG=$W/log
export LD_LIBRARY_PATH SIGHTLINE_CUPTI CAPTURE_LOG

threads= # eight, with a range of NVTX that is always open
for i in 1 2 3 4 5 6 7 8; do
	threads="$threads thread t$i { push open@t$i meet a 9 flood z 10 300 pop @t$i }"
done
threads="$threads meet a 9"
reports() { find . -name 'case*.sqlite' | sort -t. -k3n; }
kinds=nvtx,osrt
try() { # NAME, OPTIONS, STEPS, CALLS of each report
	rm -f case* log.*
	"$BIN" profile -t $kinds --osrt-threshold=0 --on-full=block -o case $2 "$PROG/capture" "$3" >out 2>err
	try_status=$?
	RECORDS=$RECORDS "$PY" "$E2E/trace/capture_truth.py" "$W/log" "$2" "$4" $(reports) >said 2>&1 && [ $try_status -eq 0 ]
	result $? "$1" || { echo "status $try_status"; cat said err; } | diag
}
often() { # N WORD: so often
	awk -v n="$1" -v w="$2" 'BEGIN { while (n-- > 0) printf "%s ", w }'
}

P='-c cudaProfilerApi --capture-range-end=pause' R='-c cudaProfilerApi --capture-range-end=repeat'
try '1,000 times on and off, 8 threads: one report has each call made while on' "$P" "$threads repeat 1000 { start call 2 stop call 2 } raise z join" N
is "$(q case.sqlite 'SELECT count(*) FROM SL_CAPTURES')" 1000 '1,000 times on and off: the report has 1,000 stretches'
try '300 times on and off: calls that are only counted are those made while on' "$P --osrt-threshold=1000000000" "$threads repeat 300 { start call 2 stop call 2 } raise z join" N
try '300 times on and off by NVTX: one report has each call made while on' '-c nvtx -p s@d --capture-range-end=pause' "$threads repeat 300 { push =s@d call 2 pop @d call 2 } raise z join" N
try '60 reports of 8 threads have each its calls' "$R" "$threads repeat 60 { start call 2 sleep 1 stop call 2 } raise z join" "$(often 60 N)"
try '20 reports of calls that are only counted have each its calls' "$R --osrt-threshold=1000000000" "$threads repeat 20 { start call 2 sleep 1 stop call 2 } raise z join" "$(often 20 N)"
rank='{ repeat 20 { meet b 2 start call 3 meet c 2 stop meet d 2 call 3 } }'
try 'two processes that open and close at the same time: 20 reports have each its calls' "$R" "fork $rank spawn $rank wait" "$(often 20 6)"
kinds=cuda,nvtx,osrt
try '8 reports of 8 threads with CUPTI have each its calls' "$R" "$threads repeat 8 { start launch 5 call 2 stop call 2 } raise z join" "$(often 8 N)"
done_testing

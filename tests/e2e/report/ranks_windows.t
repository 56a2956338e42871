#!/bin/sh
# Every kind of window into a job that has run for a while: a delay, start and stop for the whole job, a dump of the flight recorders,
# and the trigger rank-late. Communicators were made before, and steps have no number in their name: the late rank is named with its
# reason, and steps have the numbers that they have in the program. Collectives really wait.
. tests/lib.sh
. "$TOP/tests/e2e/lib/ranks.sh"
. "$TOP/tests/e2e/lib/job.sh"
command -v duckdb >/dev/null || skip_all 'duckdb is not there: PyPI could not be reached (package duckdb-cli)'
LD_LIBRARY_PATH=$STANDIN/job:$LD_LIBRARY_PATH

WORK=2
ranks() { # RUN LATE_MS LATE_STEP OPTION...: four sessions of one rank each
	run=$1 late=$2 step=$3
	shift 3
	JOB=$W/ds/_jobs/$run pids=
	for i in 0 1 2 3; do
		RANKS_SAY=1 RANK=$i LOCAL_RANK=$i WORLD_SIZE=4 "$BIN" profile --ranks="$W/ds" --run="$run" -o "$W/$run-$i" --session-new="$run-$i" -t cuda,nvtx,osrt,nccl --gpu-health=0 "$@" \
			"$GPU/ranks" "$W/meet-$run" 4000 $WORK 2 "$late" $step >"said-$run.$i" 2>"err.$i" &
	done
}
# How many steps have begun.
begun() { "$PY" -c "import struct, sys; d = open(sys.argv[1], 'rb').read(); print(sum(x > 0 for x in struct.unpack(f'{len(d) // 4}I', d)[:-1]))" "$W/meet-$run" 2>/dev/null || echo 0; }
has_begun() { [ "$(begun)" -ge "$1" ]; }
more() { check "$run: the program goes on" wait_for 120 has_begun $(($(begun) + $1)); }
end() {
	: >"$W/meet-$run.stop"
	wait
}
# Each row of SL_STEPS has the number of the step around its middle.
numbers() {
	duckdb -csv -noheader -c "SELECT \"rank\", step, (start + \"end\") // 2 FROM read_parquet('ds/SL_STEPS/run=$run/*/*.parquet')" 2>&1 | "$PY" -c "
import sys
said = {i: {int(n): (int(a), int(b)) for n, a, b in map(str.split, open(f'said-$run.{i}'))} for i in range(4)}
rows = [tuple(map(int, line.split(','))) for line in sys.stdin]
wrong = [r for r in rows if not said[r[0]].get(r[1], (1, 0))[0] <= r[2] <= said[r[0]].get(r[1], (1, 0))[1]]
print({r[0] for r in rows} == {0, 1, 2, 3}, min(r[1] for r in rows) > 5, len(wrong), wrong[:3] or '')" 2>&1
}
rows() { # QUESTION EXPRESSION of d, the rows
	"$BIN" ranks ask "$1" -d ds --run "$run" -f json 2>err | "$PY" -c "import json, sys; d = json.load(sys.stdin); print($2)" 2>&1
}
answers() {
	is "$(rows straggler 'd[0]["rank"], d[0]["share"] > 0.5')" '2 True' "$run: straggler names the rank" || "$BIN" ranks check -d ds 2>&1 | diag
	is "$(numbers)" 'True True 0 ' "$run: steps keep the numbers that they have in the program"
	is "$(rows steps "2 * sum(r['straggler'] == 2 for r in d) > len(d) > 3 or $late > 100 and d[0]['straggler'] == 2")" True "$run: steps name the rank"
	is "$(rows mismatch 'len(d)')" 0 "$run: no collective is taken to be missing"
	if [ "$(q "$(echo "$run"-2*.sqlite | cut -d ' ' -f 1)" 'SELECT count(*) FROM SCHED_EVENTS' 2>&1)" = 0 ]; then
		skip "$run: why names rank and reason" 'context switches are not recorded here'
		return
	fi
	is "$(rows why "max((r[c], r['rank'], c) for r in d for c in r if c.endswith('Ms') and c not in ('excessMs', 'runnableMs'))[1:]")" "(2, 'sleepMs')" \
		"$run: why names rank and reason" || "$BIN" ranks ask why -d ds --run "$run" | diag
}

in_state() { [ "$("$BIN" sessions list | grep -c " $1 .*$run-[0-3]")" = 4 ]; }

ranks delay 20 '' --delay=1
check 'delay: all ranks are recorded' wait_for 60 in_state Collection
more 40
end
answers

ranks start 20 '' --start-later=true
check 'start: all sessions are there' wait_for 60 there 4
more 20
job start --run=start
is "$? $(cat err)" '0 ' 'start: start --job succeeds'
more 40
job stop --run=start
is $? 0 'start: stop --job succeeds'
end
answers

ranks dump 20 '' --flight=3s
check 'dump: all sessions are there' wait_for 60 there 4
more 200
job dump --run=dump
is $? 0 'dump: dump --job succeeds'
end
answers

WORK=50
# The window ends while the others wait for it.
ranks late 2000 160 --flight=10s --trigger='rank-late > 1000ms'
check 'late: a report of each session' wait_for 120 sh -c '[ "$(ls late-*.sqlite | wc -l)" = 4 ]'
end
answers
done_testing

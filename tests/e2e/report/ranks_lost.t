#!/bin/sh
# Jobs that lack something: the part of a rank, a collector that was killed, a rank that was killed. The answer stays, and what is
# missing stands before it. Four ranks that really wait, of which one sleeps for 20 ms in each step.
. tests/lib.sh
. "$TOP/tests/e2e/lib/ranks.sh"
command -v duckdb >/dev/null || skip_all 'duckdb is not there: PyPI could not be reached (package duckdb-cli)'
LD_LIBRARY_PATH=$STANDIN/job:$LD_LIBRARY_PATH

ranks() { # RUN: their profiles are $pids
	run=$1 pids=
	for i in 0 1 2 3; do
		RANK=$i LOCAL_RANK=$i WORLD_SIZE=4 "$BIN" profile --ranks="$W/ds" --run="$run" -o "$W/$run-$i" -t cuda,nvtx,osrt,nccl --gpu-health=0 "$GPU/ranks" "$W/meet-$run" 4000 2 2 20 >out.$i 2>err.$i &
		pids="$pids $!"
	done
	check "$run: the ranks have made 40 steps" wait_for 60 has_begun 40
}
begun() { "$PY" -c "import struct; d = open('$W/meet-$run', 'rb').read(); print(sum(x > 0 for x in struct.unpack(f'{len(d) // 4}I', d)[:-1]))" 2>/dev/null || echo 0; }
has_begun() { [ "$(begun)" -ge "$1" ]; }
pid() { # NUMBER of a profile: its process
	# shellcheck disable=SC2086
	set -- $(($1 + 1)) $pids
	shift "$1"
	echo "$1"
}
program() { pgrep -P "$(pid "$1")" -x ranks; } # NUMBER
end() {
	: >"$W/meet-$run.stop"
	wait
}
rows() { # QUESTION EXPRESSION of d, the rows
	"$BIN" ranks ask "$1" -d "${DATASET:-ds}" --run "$run" -f json 2>err | "$PY" -c "import json, sys; d = json.load(sys.stdin); print(($2))" 2>&1
}
answers() { # WHAT COVERAGE
	is "$(rows straggler 'd[0]["rank"], d[0]["share"] > 0.5')" '(2, True)' "$1: straggler names the rank" || "$BIN" ranks check -d "${DATASET:-ds}" 2>&1 | diag
	is "$(grep -c "^sightline: run $run: $2" err)" 1 "$1: $2" || diag <err
	if [ "$(q "$(echo "$run"-2*.sqlite | cut -d ' ' -f 1)" 'SELECT count(*) FROM SCHED_EVENTS' 2>&1)" = 0 ]; then
		skip "$1: why names rank and reason" 'context switches are not recorded here'
		return
	fi
	is "$(rows why "max((r[c], r['rank'], c) for r in d for c in r if c.endswith('Ms') and c not in ('excessMs', 'runnableMs'))[1:]")" "(2, 'sleepMs')" \
		"$1: why names rank and reason"
	is "$(grep -c "^sightline: run $run: $2" err)" 1 "$1: why: $2" || diag <err
}

# ---- a part ----
ranks part
end
answers 'whole' '4 of 4 ranks'
for lost in 0 3; do
	rm -rf less
	cp -r ds less
	find less -depth -name "node=*-$lost*" -exec rm -r {} +
	DATASET=less answers "without the part of rank $lost" '3 of 4 ranks'
done

# ---- a collector ----
ranks collector
collector=$(pid 1)
program=$(program 1)
kill -9 "$collector"
check 'collector: the program goes on without it' kill -0 "$program"
check 'collector: all ranks make further steps' wait_for 60 has_begun $(($(begun) + 40))
end
answers 'a collector that was killed' '3 of 4 ranks'
"$BIN" recover "$W/collector-1.sqlite" >out 2>err
"$BIN" ranks add -q -d ds --run collector --node '%h-%r' collector-1.sqlite 2>>err
answers 'recover and add' '4 of 4 ranks' || diag <out

# ---- a rank; the launcher ends the others ----
ranks rank
kill -9 "$(program 3)"
check 'rank: its report is written' wait_for 60 sh -c 'grep -q "^sightline: report: " err.3'
for i in 0 1 2; do kill "$(program $i)"; done
wait
answers 'a rank that was killed' '[34] of 4 ranks'
done_testing

#!/bin/sh
# Ranks that really wait: the kernel of a collective ends when the last rank has begun. Whatever makes a rank late, and whether one profile
# has all ranks of the node or each rank has its own: the same rank is named, with its reason, and no other has its time.
. tests/lib.sh
. "$TOP/tests/e2e/lib/ranks.sh"
command -v duckdb >/dev/null || skip_all 'duckdb is not there: PyPI could not be reached (package duckdb-cli)'
LD_LIBRARY_PATH=$STANDIN/job:$LD_LIBRARY_PATH
STEPS=24 LATE_MS=20
WHAT='-t cuda,nvtx,osrt,nccl --gpu-health=0'

# shellcheck disable=SC2016
RANKS='for i in 0 1 2 3; do RANK=$i LOCAL_RANK=$i WORLD_SIZE=4 "$0" "$@" & done; wait'
one() { # FAULT: one profile over all ranks
	# shellcheck disable=SC2086
	RANKS_FAULT=$1 "$BIN" profile --ranks=ds --run="one-$1" -o "one-$1" $WHAT sh -c "$RANKS" "$GPU/ranks" "$W/meet-one-$1" $STEPS 2 2 $LATE_MS >out 2>err || diag <err
}
each() { # FAULT: one profile per rank
	for i in 0 1 2 3; do
		# shellcheck disable=SC2086
		RANKS_FAULT=$1 RANK=$i LOCAL_RANK=$i WORLD_SIZE=4 "$BIN" profile --ranks=ds --run="each-$1" -o "each-$1-$i" $WHAT "$GPU/ranks" "$W/meet-each-$1" $STEPS 2 2 $LATE_MS >out.$i 2>err.$i &
	done
	wait
}
rows() { # QUESTION RUN EXPRESSION of d, the rows
	"$BIN" ranks ask "$1" -d ds --run "$2" -f json 2>err | "$PY" -c "import json, sys; d = json.load(sys.stdin); print($3)" 2>&1
}

while IFS="|" read -r fault cause column; do
	for how in one each; do
		$how "$fault"
		run=$how-$fault
		is "$(rows straggler "$run" 'd[0]["rank"], d[0]["share"] > 0.5')" '2 True' "$run: straggler names the rank"
		if [ "$(q "$(echo "$how-$fault"*.sqlite | cut -d ' ' -f 1)" 'SELECT count(*) FROM SCHED_EVENTS')" = 0 ]; then
			skip "$run: why names rank and reason" 'context switches are not recorded here'
			continue
		fi
		# The machine may be busy: what ranks wait for a CPU is not planted.
		is "$(rows why "$run" "[max((r[c], r['rank'], c) for r in d for c in r if c.endswith('Ms') and c not in ('excessMs', 'runnableMs'))[1:], {r['cause'] for r in d if r['rank'] == 2} <= {'$cause', 'waiting for a CPU'}]")" "[(2, '$column'), True]" "$run: why names rank and reason" ||
			"$BIN" ranks ask why -d ds --run "$run" | diag
		# Of the others, the planted reason is a small part: their waits for the rank are waits.
		is "$(rows why "$run" "max(r['$column'] for r in d if r['rank'] != 2) < 0.25 * [r['$column'] for r in d if r['rank'] == 2][0]")" True "$run: no other rank has the time of the late one" ||
			"$BIN" ranks ask why -d ds --run "$run" | diag
		is "$(rows whatif "$run" 'd[0]["lost"] > 0.4')" True "$run: whatif counts the time of the late rank"
	done
done <<'FAULTS'
sleep|sleeping|sleepMs
compute|computing|cpuMs
fsync|files|fileMs
lock|locks, GIL|lockMs
child|sleeping|sleepMs
FAULTS

# ---- a pipeline: each rank receives from the one before, works, and sends to the next; rank 1 is late ----
# shellcheck disable=SC2086
RANKS_PIPELINE=1 RANKS_FAULT=sleep "$BIN" profile --ranks=ds --run=pipe -o pipe $WHAT sh -c "$RANKS" "$GPU/ranks" "$W/meet-pipe" $STEPS 2 1 $LATE_MS >out 2>err || diag <err
is "$(rows waits pipe 'sorted((r["comm"], r["culprit"]) for r in d if r["collectives"] > '$STEPS' / 2 and r["rankSeconds"] > 0.01), {(r["op"], r["bytes"]) for r in d}')" "[('0 > 1', 0), ('1 > 2', 1), ('2 > 3', 2)] {('SendRecv', 4096)}" 'pipeline: waits names messages and their senders'
is "$(rows straggler pipe 'd[0]["rank"], d[0]["share"] > 0.5')" '1 True' 'pipeline: straggler names the late stage'
is "$(rows network pipe 'sorted({(r["comm"], r["collectives"]) for r in d})')" "[('0 > 1', $STEPS), ('1 > 2', $STEPS), ('2 > 3', $STEPS)]" 'pipeline: network has each pair of ranks'
is "$(rows mismatch pipe 'd')" '[]' 'pipeline: each message has both of its sides'
done_testing

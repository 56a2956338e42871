#!/bin/sh
# CUPTI serves one tool per process: a program that wants it gets it as if it was alone, whether it or the shim comes first,
# the shim has it again when the program has ended its use, and the report has what that costs.
# shellcheck disable=SC2086
. tests/lib.sh
STANDIN=$B/tests/standin
[ -f "$STANDIN/libcuda.so.1" ] || skip_all 'the stand-ins are not built'
LD_LIBRARY_PATH=$STANDIN${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
SIGHTLINE_CUPTI=$STANDIN/libcupti.so.13
RIVAL_CUPTI=$SIGHTLINE_CUPTI
export LD_LIBRARY_PATH SIGHTLINE_CUPTI RIVAL_CUPTI

STANDIN_CUPTI_VERSION=130200
export STANDIN_CUPTI_VERSION
for order in first later second; do
	"$B/tests/gpu/rival" $order >want 2>&1
	is $? 0 "$order: works untraced"
	profile $order -t cuda "$B/tests/gpu/rival" $order >got 2>err
	is $? 0 "$order: works"
	check "$order: same output, the program has CUPTI" cmp want got
	is "$(grep -c CUPTI err)" 1 "$order: one message"
	is "$(q "$R" "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId WHERE value GLOB 'cudaMemset*'")" 2 \
		"$order: calls are recorded all along"
	is "$(q "$R" "SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE severity = 2 AND text LIKE 'The program % traces the GPU itself%'")" 1 "$order: the report says so"
done
is "$(q "$W/first.sqlite" "SELECT count(*) FROM sqlite_master WHERE name = 'CUPTI_ACTIVITY_KIND_MEMSET'")" 0 \
	'first: nothing of what the GPU did'
for order in later second; do
	is "$(q "$W/$order.sqlite" "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_MEMSET JOIN CUPTI_ACTIVITY_KIND_RUNTIME USING (correlationId)")" 1 \
		"$order: what it did until then"
done
unset STANDIN_CUPTI_VERSION

# ---- in the middle of a subscription of the shim's, by another thread ----

meanwhile() { # WHEN MS MESSAGES
	"$B/tests/gpu/rival" $1 >want 2>&1
	is $? 0 "$1: works untraced"
	STANDIN_CUPTI_SLOW_SUBSCRIBE=$2
	export STANDIN_CUPTI_SLOW_SUBSCRIBE
	profile $1 -t cuda "$B/tests/gpu/rival" $1 >got 2>err
	is $? 0 "$1: works"
	unset STANDIN_CUPTI_SLOW_SUBSCRIBE
	check "$1: same output, the program has CUPTI" diff want got
	is "$(q "$R" "SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE text LIKE 'The program % traces the GPU itself%'")" $3 \
		"$1: the report says so"
}
meanwhile meanwhile 2000 1
meanwhile again 500 2

# ---- as Kineto does, before and after August 2026 ----

# Fills by step (those of a profile are not seen), work that leads to no call or is of another time, times that are missing.
kineto() { # NAME STEPS FILLS GAPS LOST PROGRAM OLD|NEW [OPTION...]
	name=$1 steps=$2 fills=$3 gaps=$4 lost=$5 program=$6 which=$7
	shift 7
	"$B/tests/gpu/$program" $which $steps >want 2>&1
	is $? 0 "$name: works untraced"
	profile kineto -t cuda "$@" "$B/tests/gpu/$program" $which $steps >got 2>err
	is $? 0 "$name: works"
	check "$name: its records are the same" diff want got
	is "$(q "$R" "SELECT group_concat(step || ':' || cnt, ' ') FROM (SELECT bytes / 4096 AS step, count(*) AS cnt
		FROM CUPTI_ACTIVITY_KIND_MEMSET GROUP BY 1)")" "$fills" "$name: what the GPU did outside of its profiles"
	is "$(q "$R" "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_MEMSET m LEFT JOIN CUPTI_ACTIVITY_KIND_RUNTIME r USING (correlationId)
		WHERE r.start IS NULL OR m.start < r.start OR m.start > r.end + 1000000000")" 0 "$name: each belongs to a call before it"
	is "$(q "$R" "SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE text LIKE 'What the GPU did % is missing from %'")" $gaps \
		"$name: when something is missing"
	is "$(q "$R" "SELECT sum(count) FROM SL_LOST_EVENTS WHERE what LIKE 'GPU work: the program%'")" $lost "$name: how many"
	is "$(q "$R" "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId WHERE value GLOB 'cudaMemset*'")" \
		$(($(echo $steps | tr -dc w | wc -c) * 10 + lost)) "$name: calls are recorded all along"
	is "$(grep -c 'sightline: .*traces the GPU itself' err)" 1 "$name: one message"
}
# What the program's profiler gets from a CUPTI with bugs is not the same twice.
STANDIN_CUPTI_LIES=none
export STANDIN_CUPTI_LIES
# Clock and settings of the CUPTI of several versions.
for version in 18 22 26 130001; do
	for which in old new; do
		STANDIN_CUPTI_VERSION=$version
		export STANDIN_CUPTI_VERSION
		kineto "$which, API $version" wpwpw '1:10 3:10 5:10' 2 40 kineto $which
		unset STANDIN_CUPTI_VERSION
	done
done
for which in old new; do
	kineto "$which first" pwp '2:10' 2 40 kineto $which
	kineto "$which, linked with CUPTI" wpw '1:10 3:10' 1 20 kineto_linked $which
	KINETO_PER_THREAD=1
	export KINETO_PER_THREAD
	kineto "$which, buffers per thread" wpwp '1:10 3:10' 2 40 kineto $which
	unset KINETO_PER_THREAD
done
kineto 'never fetched' wusw '1:10 4:10' 1 20 kineto new --cuda-flush-interval=100

# Finalized: each of its calls is answered, and what it does not do is recorded.
for which in old new; do
	"$B/tests/gpu/kineto" $which wpwtwpw >want 2>&1
	profile down -t cuda "$B/tests/gpu/kineto" $which wpwtwpw >got 2>err
	is $? 0 "$which, finalized: works"
	check "$which, finalized: its records are the same" diff want got
	is "$(q "$R" "SELECT group_concat(step || ':' || cnt, ' ') FROM (SELECT bytes / 4096 AS step, count(*) AS cnt
		FROM CUPTI_ACTIVITY_KIND_MEMSET GROUP BY 1)")" "1:10 3:10 5:10 7:10" "$which, finalized: what the GPU did"
done
done_testing

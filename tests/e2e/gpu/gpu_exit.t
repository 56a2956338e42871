#!/bin/sh
# However a process ends: what the GPU did is in the report, nothing is asked of CUPTI once that has begun to fall apart,
# and the exit status is the program's.
# shellcheck disable=SC2086
. tests/lib.sh
GPU=$B/tests/gpu
STANDIN=$B/tests/standin
[ -f "$STANDIN/libcupti.so.13" ] || skip_all 'the stand-ins are not built'
LD_LIBRARY_PATH=$STANDIN${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
SIGHTLINE_CUPTI=$STANDIN/libcupti.so.13
export LD_LIBRARY_PATH SIGHTLINE_CUPTI

# Fills, those that lead to a call, and what was missing at the end.
ends() { # STATUS FILLS NAME HOW [OPTION...]
	want=$1 fills=$2 name=$3 how=$4
	shift 4
	profile ends -t cuda "$@" "$GPU/ending" 40 "$how" >out 2>err
	is "$?/$(cat out)" "$want/" "$name: exit status"
	is "$(q "$R" "SELECT count(*), count(r.correlationId) FROM CUPTI_ACTIVITY_KIND_MEMSET m LEFT JOIN CUPTI_ACTIVITY_KIND_RUNTIME r
		USING (correlationId)" 2>&1)" "$fills|$fills" "$name: what the GPU did"
	is "$(q "$R" "SELECT text FROM DIAGNOSTIC_EVENT WHERE severity > 1 AND text NOT LIKE '%context-switch%'" 2>&1)$(q "$R" "SELECT * FROM SL_LOST_EVENTS
		WHERE $RECORDS" 2>&1)" '' "$name: nothing is missing"
}

# ---- the handlers and destructors of others run for long ----
ENDING_MS=300
export ENDING_MS
ends 0 40 'slow end, many flushes meanwhile' slow --cuda-flush-interval=20
ENDING_MS=0
ends 0 40 'no worker' slow --cuda-flush-interval=0

# ---- ends that no exit handler sees ----
for how in _exit _Exit quick_exit; do
	ends 7 40 "$how" $how
	ends 7 40 "$how, no worker" $how --cuda-flush-interval=0
done
ends 7 40 '_exit in a signal handler' signal
ends 7 80 'child and parent' fork
ends 7 40 'a child asks for functions by name' lookup
is "$(q "$R" "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId WHERE value GLOB 'cudaMalloc*'" 2>&1)" 1 \
	'a child asks for functions by name: its first call is seen'
ends 7 80 'a child of vfork ends' vfork
ends 0 40 'another program' exec
ends 7 80 'another program that is not there' noexec
profile ends -t cuda --cuda-flush-interval=60000 "$GPU/ending" 40 raw >out 2>err
is "$?/$(q "$R" 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_MEMSET' 2>&1)" 7/40 'the system call: what was done a while before'

# ---- a flush is always in progress, but not while the process forks ----
STANDIN_CUPTI_FLUSH=5
export STANDIN_CUPTI_FLUSH
ends 7 840 'forks between flushes' forks --cuda-flush-interval=1
unset STANDIN_CUPTI_FLUSH

# ---- the allocator's lock is held by the thread that ends: CUPTI may need it, and there is a limit ----
profile ends -t cuda "$GPU/ending" 40 locked >out 2>err
is "$?" 7 'a lock is held: ends all the same'

done_testing

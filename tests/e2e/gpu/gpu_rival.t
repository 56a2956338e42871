#!/bin/sh
# CUPTI serves one tool per process: a program that wants it gets it, whether it or the shim comes first, and the report
# has what that costs.
# shellcheck disable=SC2086
. tests/lib.sh
STANDIN=$B/tests/standin
[ -f "$STANDIN/libcuda.so.1" ] || skip_all 'the stand-ins are not built'
LD_LIBRARY_PATH=$STANDIN${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
SIGHTLINE_CUPTI=$STANDIN/libcupti.so.13
RIVAL_CUPTI=$SIGHTLINE_CUPTI
export LD_LIBRARY_PATH SIGHTLINE_CUPTI RIVAL_CUPTI

for order in first later; do
	"$B/tests/gpu/rival" $order >want 2>&1
	is $? 0 "$order: works untraced"
	profile $order -t cuda "$B/tests/gpu/rival" $order >got 2>err
	is $? 0 "$order: works"
	check "$order: same output, the program has CUPTI" cmp want got
	is "$(grep -c CUPTI err)" 1 "$order: one message"
	is "$(q "$R" "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId WHERE value GLOB 'cudaMemset*'")" 2 \
		"$order: calls are recorded all along"
	is "$(q "$R" "SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE severity = 2 AND text LIKE '%CUPTI%'")" 1 "$order: the report says so"
done
is "$(q "$W/first.sqlite" "SELECT count(*) FROM sqlite_master WHERE name = 'CUPTI_ACTIVITY_KIND_MEMSET'")" 0 \
	'first: nothing of what the GPU did'
is "$(q "$W/later.sqlite" "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_MEMSET JOIN CUPTI_ACTIVITY_KIND_RUNTIME USING (correlationId)")" 1 \
	'later: what it did until then'
done_testing

#!/bin/sh
# Versions of CUPTI that give wrong times, or records of wrong kinds: the report has every row all the same, or counts what
# it lacks, and names the bugs that were avoided.
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
GPU=$B/tests/gpu
STANDIN=$B/tests/standin
[ -f "$STANDIN/libcupti.so.13" ] || skip_all 'the stand-ins are not built'
LD_LIBRARY_PATH=$STANDIN${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
SIGHTLINE_CUPTI=$STANDIN/libcupti.so.13
export LD_LIBRARY_PATH SIGHTLINE_CUPTI

steps=100
train() { # NAME [ENVIRONMENT...]
	name=$1
	shift
	profile "$name" -t cuda env "$@" "$GPU/train" -n $steps >said 2>err
	result $? "$name: works" || diag <err
}
lost() {
	q "$R" "SELECT what, sum(count) FROM SL_LOST_EVENTS WHERE $RECORDS GROUP BY 1" 2>&1
}
kernels() {
	q "$R" 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL' 2>&1
}

for version in 15 21 24 26 28 130001 130100; do
	train "API $version" STANDIN_CUPTI_VERSION=$version
	check "API $version: all work is there, and leads to its calls" "$PY" "$E2E/gpu/gpu_truth.py" "$R" said activity joined
	is "$(lost)" '' "API $version: nothing is lost"
	is "$(q "$R" "SELECT count(*) FROM sqlite_schema WHERE name = 'CUPTI_ACTIVITY_KIND_CUDA_EVENT'")" 0 "API $version: no events unless asked for"
	is "$(q "$R" "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_OVERHEAD WHERE globalTid >> 24 NOT IN (SELECT globalTid >> 24 FROM CUPTI_ACTIVITY_KIND_RUNTIME)" 2>&1)" 0 \
		"API $version: overhead is the process's own"
done
train avoided STANDIN_CUPTI_VERSION=26
is "$(q "$R" "SELECT severity, count(*) FROM DIAGNOSTIC_EVENT WHERE text LIKE 'Bug of CUPTI of CUDA 12.8 (API 26) avoided: no timestamp callback%'" 2>&1)" '1|1' \
	'the report names a bug that was avoided'
is "$(grep -c 'Bug of CUPTI' err)" 0 'a bug that was avoided is no warning'
all=$(kernels)

# ---- another clock ----
train 'other clock' STANDIN_CUPTI_LIES=OTHER_CLOCK
check 'other clock: all work is there, and leads to its calls' "$PY" "$E2E/gpu/gpu_truth.py" "$R" said activity joined
is "$(lost)" '' 'other clock: nothing is lost'

# ---- what cannot be repaired is counted, with a line ----
train ticks STANDIN_CUPTI_LIES=TICKS
is "$(lost)" "GPU work: CUPTI does not know when it was|$((all / 25))" 'ticks: counted'
is "$(kernels)" $((all - all / 25)) 'ticks: the others have rows'
check 'ticks: a warning' grep -q 'CUPTI gives times of a clock that is not its own' err
train backward STANDIN_CUPTI_LIES=END_BEFORE_START
is "$(lost)" "GPU work: CUPTI has an end before the start for it|$((all / 20))" 'end before start: counted'
is "$(kernels)" $((all - all / 20)) 'end before start: the others have rows'
is "$(grep -c 'device buffers are exhausted' err)" 1 'end before start: one warning'
train incomplete STANDIN_CUPTI_LIES=INCOMPLETE
is "$(lost | grep -c '^GPU records: at least, in buffers that CUPTI did not complete|[1-9]')" 1 'incomplete: counted'
check 'incomplete: a warning' grep -q 'in buffers that CUPTI did not complete' err
train late STANDIN_CUPTI_LATE=100
check 'late buffers: all work is there, and leads to its calls' "$PY" "$E2E/gpu/gpu_truth.py" "$R" said activity joined
is "$(lost)" '' 'late buffers: nothing is lost'
train 'ticks of an unknown version' STANDIN_CUPTI_VERSION=139900 STANDIN_CUPTI_LIES=TICKS
is "$(kernels)" $((all - all / 25)) 'ticks of an unknown version: no sign of an unknown layout'
# What lies behind an incomplete record is lost, half of all: so many that some of each kind lies before one.
steps=1000
train 'all at once' STANDIN_CUPTI_LIES=TICKS,END_BEFORE_START,INCOMPLETE,OTHER_CLOCK,COUPLED_KINDS STANDIN_CUPTI_LATE=50 STANDIN_CUPTI_DROP=9
is "$(lost | wc -l)" 4 'all at once: each loss is named'
done_testing

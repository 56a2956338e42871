#!/bin/sh
# Random programs on a CUPTI in its worst mood; the same ones each time. More: make check-gpu-random.
# shellcheck disable=SC2086
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
[ -f "$B/tests/standin/libcupti.so.13" ] || skip_all 'the stand-ins are not built'

check 'twenty random programs: all as untraced, all work is there or counted' \
	"$PY" "$E2E/gpu/gpu_random.py" -b "$B" 1 20
# CUPTI changes hands, and has records of both: dropped, without times, in a buffer of the other one.
for seed in 41 51 93 115; do
	check "seed $seed: no less and no more is counted" "$PY" "$E2E/gpu/gpu_random.py" -b "$B" $seed 1
done
done_testing

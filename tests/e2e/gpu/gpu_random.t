#!/bin/sh
# Random programs on a CUPTI in its worst mood; the same twenty each time. More: make check-gpu-random.
# shellcheck disable=SC2086
. tests/lib.sh
[ -x "$PY" ] || skip_all 'no python3'
[ -f "$B/tests/standin/libcupti.so.13" ] || skip_all 'the stand-ins are not built'

check 'twenty random programs: all as untraced, all work is there or counted' \
	"$PY" "$E2E/gpu/gpu_random.py" -b "$B" 1 20
done_testing

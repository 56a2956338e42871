#!/bin/sh
# gpu_programs.t - programs that others wrote, on the stand-ins: they find what they find untraced, and what the libraries
# counted is what the report has rows of. PyCUDA and Numba are tested where they are installed.
. tests/lib.sh
[ -x "$PY" ] || skip_all 'no python3'
STANDIN=$B/tests/standin
[ -f "$STANDIN/libcupti.so.12" ] || skip_all 'the stand-ins are not built'
# Those of CUDA 12 first: what Numba makes of a newer driver's names is its own affair.
LD_LIBRARY_PATH=$STANDIN/12:$STANDIN${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
SIGHTLINE_CUPTI=$STANDIN/libcupti.so.12
export LD_LIBRARY_PATH SIGHTLINE_CUPTI

program() { # WHICH
	"$PY" "$E2E/gpu_programs.py" "$1" >want 2>want.err
	status=$?
	if [ $status -eq 77 ]; then
		skip "$1" "$(tail -n 1 want)"
		return
	fi
	result $status "$1: works untraced" || diag <want.err
	mkdir "counts.$1"
	STANDIN_COUNTS=$W/counts.$1
	export STANDIN_COUNTS
	profile "$1" -t cuda,nvtx,osrt,cublas "$PY" "$E2E/gpu_programs.py" "$1" >said 2>err
	is $? $status "$1: same status"
	unset STANDIN_COUNTS
	check "$1: same output" cmp want said
	is "$(grep -v '^sightline: ' err)" "$(cat want.err)" "$1: same errors"
	check "$1: sound report" intact "$R"
	check "$1: rows = what the libraries counted, work leads to calls" "$PY" "$E2E/gpu_truth.py" "$R" "counts.$1" calls joined
	is "$(grep -h unsupported "counts.$1"/*)" '' "$1: asked for nothing that is not there"
	is "$(q "$R" 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL')" \
		"$(awk '$2 ~ /^cuLaunch(Kernel|Grid)/ { n += $1 } END { print n + 0 }' "counts.$1"/*)" "$1: a kernel for each launch"
}

program ctypes
is "$(cat said)" "b'table' 64
b'factors' 48
[(0, 42)]
b'\\x05\\x05\\x05\\x05\\x05\\x05\\x05\\x05\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00'
b'0123456789abcdef'" 'ctypes: what a driver would have answered'
is "$(q "$R" 'SELECT copyKind, srcKind, dstKind, bytes FROM CUPTI_ACTIVITY_KIND_MEMCPY ORDER BY start' | tr '\n' ' ')" \
	'2|2|0|16 3|0|3|16 5|3|3|16 4|3|0|16 ' 'ctypes: copies into, between and out of arrays'
program pycuda
program numba
done_testing

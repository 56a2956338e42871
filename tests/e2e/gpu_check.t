#!/bin/sh
# The checks for a real GPU cannot run here; that they are skipped where there is none, and parse, can be seen.
. tests/lib.sh
[ -x "$PY" ] || skip_all 'no python3'
[ -f "$B/tests/standin/libcuda.so.1" ] || skip_all 'the stand-ins are not built'
LD_LIBRARY_PATH=$B/tests/standin "$PY" "$TOP/tests/gpu/check-gpu" -b "$B" -o results >out 2>err
is "$?$(cat err)" 0 'without a GPU check-gpu succeeds'
is "$(cat out)" 'check-gpu: skipped: the driver is a stand-in' 'and says that it did nothing'
check 'no results are written then' test ! -e results
for f in "$TOP"/tests/gpu/check/*.py; do
	check "$(basename "$f") parses" "$PY" -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$f"
done
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
for f in "$TOP"/tests/gpu/check/*.cu; do
	if [ -x "$nvcc" ]; then
		check "$(basename "$f") compiles" "$nvcc" -cudart shared -o program "$f"
	else
		skip "$(basename "$f") compiles" 'no CUDA toolkit'
	fi
done
"$PY" "$TOP/tests/gpu/check-gpu" -l >want
sed -n 's/^| \([^|]*\) | \(not run\|passed\|FAILED\) |.*/\1/p' "$TOP/tests/gpu/RESULTS.md" >got
check 'RESULTS.md tells of every check' cmp want got
done_testing

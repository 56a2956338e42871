#!/bin/sh
# The checks for a real GPU cannot run here; that they are skipped where there is none, can. And on the stand-ins each of
# them runs, so that none fails there for itself: of names, options and columns they know what a report has.
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
STANDIN=$B/tests/standin
[ -f "$STANDIN/libcuda.so.1" ] || skip_all 'the stand-ins are not built'
CHECK=$TOP/tests/gpu/check-gpu
LD_LIBRARY_PATH=$STANDIN${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
SIGHTLINE_CUPTI=$STANDIN/libcupti.so.13
export LD_LIBRARY_PATH SIGHTLINE_CUPTI

"$PY" "$CHECK" -b "$B" -o results >out 2>err
is "$?$(cat err)" 0 'check-gpu succeeds where there is no GPU'
is "$(cat out)" 'check-gpu: skipped: the driver is a stand-in' 'check-gpu states that it did nothing where there is no GPU'
check 'check-gpu writes no results where there is no GPU' test ! -e results

# ---- all of them, on the stand-ins, where libcupti came in wheels and no toolkit is installed ----
mkdir -p bare wheels/nvidia/cu13/lib wheels/nvidia/cuda_cupti/lib
for f in "$STANDIN"/*.so* "$STANDIN/count"; do
	case $f in */libcupti*) ;; *) ln -s "$f" bare ;; esac
done
ln -s "$STANDIN/nvml/libnvidia-ml.so.1" bare
cp "$STANDIN/libcupti.so.13" wheels/nvidia/cu13/lib
cp "$STANDIN/libcupti.so.12" wheels/nvidia/cuda_cupti/lib
hidden=
for f in /usr/local/cuda* /opt/cuda /usr/lib/*/libcupti.so*; do
	if [ -d "$f" ]; then hidden="$hidden --tmpfs $f"; elif [ -e "$f" ]; then hidden="$hidden --ro-bind /dev/null $f"; fi
done
is_alone=1
alone() { # COMMAND...: neither a toolkit nor a word on where libcupti is
	set -- env -u SIGHTLINE_CUPTI -u CUDA_HOME -u CUDA_PATH -u CONDA_PREFIX LD_LIBRARY_PATH="$W/bare" PYTHONPATH="$W/wheels" "$@"
	# shellcheck disable=SC2086 # words
	[ -z "$hidden" ] || set -- bwrap --dev-bind / / $hidden "$@"
	"$@"
}
if [ "$hidden" ] && ! alone true 2>/dev/null; then
	alone() { "$@"; }
	is_alone=
	skip 'wheels alone' 'a toolkit is installed, and bwrap cannot hide it'
fi
alone "$PY" "$CHECK" --standin -b "$B" -d first >out 2>err
is "$?$(cat err)" 0 'all checks succeed on the stand-ins' || diag <out
"$PY" "$CHECK" -l >want
sed -n 's/^| \([^|]*\) | passed | .* |$/\1/p' first/RESULTS.md >got
check 'each check ran on the stand-ins' cmp want got
is "$(tar tzf first/details.tar.gz | grep -c 'machine.txt')" 1 'details have a description of the machine'
check 'the description of the machine has sightline status' sh -c 'tar xzOf first/details.tar.gz 00-machine.txt | grep -q "^sightline status"'
if [ "$is_alone" ]; then
	is "$(sed -n 's/^| driver calls | .* (\(API [0-9]*\)), \([^;]*\);.*/\1 \2/p' first/RESULTS.md)" \
		"API 130001 $W/wheels/nvidia/cu13/lib/libcupti.so.13" 'the newest libcupti that the driver serves is found'
	STANDIN_DRIVER_VERSION=12090 alone "$PY" "$CHECK" --standin -b "$B" -d older 'driver calls' >out
	is "$?$(grep -c "(API [12][0-9]), $W/wheels/nvidia/cuda_cupti/lib/libcupti.so.12;" out)" 01 'an older libcupti is found for an older driver' || diag <out
fi

# ---- what fails, hangs or has no time is reported, and the others run ----
mkdir broken broken/programs
ln -s "$BIN" "$SHIM" "$B/libtrace-cuda.so" broken
printf '#!/bin/sh\necho wrong 0\nexec sleep 1000\n' >broken/programs/ptx
chmod +x broken/programs/ptx
"$PY" "$CHECK" --standin -b broken -d second --limit 14 'driver calls, not' 'killed' JAX >out 2>err
is $? 1 'a check that fails is a failure'
check 'a check that hangs is ended' grep -q '^FAILED   driver calls, not traced: ptx still ran after' out || diag <out
check 'the stack of a check that hung is kept' sh -c 'tar xzOf second/details.tar.gz | grep -q "\[S (sleeping)\]"'
is "$(grep -c '^not run .*no time left' out)" 2 'what there is no time for is not run' || diag <out

# ---- a CUPTI and a driver that are worse than is known: found ----
finds() { # VARIABLES CHECK TEXT
	# shellcheck disable=SC2086 # words
	env $1 "$PY" "$CHECK" --standin -b "$B" "$2" >out 2>err
	is "$?$(grep -c "^FAILED .*$3" out)" 11 "$2 finds it" || cat out err | diag
}
finds STANDIN_CUPTI_LIES=OTHER_CLOCK 'times of kernels' 'its own clock: [0-9]* foreign'
finds STANDIN_PROC_OTHER=cuMemAlloc 'addresses' '1 functions .*: cuMemAlloc'
finds STANDIN_CUPTI_DROP=20 'driver calls' ''
finds STANDIN_CUPTI_LIES=END_BEFORE_START 'known bugs' 'spin_us100_'
finds STANDIN_CUPTI_FAIL=ActivityEnableAndDump:8=21,ActivityEnable:8=21 'a context that' 'unknown device'
finds 'STANDIN_CUPTI_VERSION=130200 STANDIN_CUPTI_LIES=GRAPH_CORRELATION' 'two captures' 'lead to no call'

# ---- results of several commands ----
sed -i 's/^| JAX | passed | .* |/| JAX | FAILED | no luck |/' first/RESULTS.md
"$PY" "$CHECK" -o merged --merge first/RESULTS.md second/RESULTS.md
is "$(grep -c '| passed |' merged),$(sed -n 's/^| JAX | \(.*\) |$/\1/p' merged),$(grep -c 'still ran' merged)" \
	"$(($(wc -l <want) - 2)),FAILED | no luck,1" 'results of several commands become one file'
check 'merged results have the versions' grep -q '^| CUDA of the driver | ' merged

for f in "$TOP"/tests/gpu/check/*.py; do
	check "$(basename "$f") parses" "$PY" -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$f"
done
for f in "$TOP"/tests/gpu/check/*.cu; do
	if [ -x "$NVCC" ]; then
		check "$(basename "$f") compiles" "$NVCC" -cudart shared -o program "$f"
	else
		skip "$(basename "$f") compiles" 'no nvcc'
	fi
done
sed -n 's/^| \([^|]*\) | \(not run\|passed\|FAILED\) |.*/\1/p' "$TOP/tests/gpu/RESULTS.md" >got
check 'RESULTS.md has every check' cmp want got
done_testing

#!/bin/sh
# Programs of CUDA and the libraries above it, on the stand-ins: they find what they find untraced, and every call they
# make is a row, once, whatever way they came by the library.
# shellcheck disable=SC2086
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
GPU=$B/tests/gpu
STANDIN=$B/tests/standin
[ -f "$STANDIN/libcuda.so.1" ] || skip_all 'the stand-ins are not built'
LD_LIBRARY_PATH=$STANDIN${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
SIGHTLINE_CUPTI=$STANDIN/libcupti.so.13 # whatever toolkit is installed here
export LD_LIBRARY_PATH SIGHTLINE_CUPTI

run_no=0
# Runs it untraced, under profile and under the bare preload; the output must be the same, the report what it prints.
calls() { # WHAT PROGRAM [ARG...]
	what=$1
	shift
	name=$(basename "$1")${2:+ $2}${3:+ $3}
	"$@" >want 2>want.err
	result $? "$name: works untraced" || diag <want.err
	for how in profile bare; do
		run_no=$((run_no + 1)) # a new name: the collector of a bare run may still be finishing
		mkdir counts$run_no
		STANDIN_COUNTS=$W/counts$run_no
		export STANDIN_COUNTS
		case $how in
		profile) profile g$run_no -t cuda,cublas,cudnn,nccl "$@" >said 2>err ;;
		bare)
			SIGHTLINE_OPTIONS='-t cuda,cublas,cudnn,nccl'
			export SIGHTLINE_OPTIONS
			bare g$run_no "$@" >said 2>err
			status=$?
			unset SIGHTLINE_OPTIONS
			wait_for 20 finished "$R"
			(exit $status)
			;;
		esac
		result $? "$name, $how: works" || diag <err
		check "$name, $how: same output" cmp want said
		is "$(grep -v '^sightline: ' err)" "$(cat want.err)" "$name, $how: same errors"
		check "$name, $how: sound report" intact "$R"
		check "$name, $how: rows = calls" "$PY" "$E2E/gpu/gpu_truth.py" "$R" said $what
		unset STANDIN_COUNTS
		case $1 in # a static runtime counts nothing
		*static) continue ;;
		esac
		check "$name, $how: rows = what the libraries counted" "$PY" "$E2E/gpu/gpu_truth.py" "$R" counts$run_no calls
	done
}

calls calls "$GPU/train"
calls calls "$GPU/train" -l
calls calls "$GPU/train" -g -f
calls calls "$GPU/train" -t4 -s3
calls calls "$GPU/train_ptsz" -l
calls calls "$GPU/train_12"
calls calls "$GPU/train_dlopen" -t3 -l
calls calls "$GPU/train_dlopen" -g
calls "calls static" "$GPU/train_static" -t2
calls "calls static" "$GPU/train_static" -l
calls calls "$GPU/driver"
calls calls "$GPU/driver_proc"
calls calls "$GPU/libs" -n3
if [ -x "$GPU/nvcc" ]; then
	calls partial "$GPU/nvcc"
	calls partial "$GPU/nvcc_ptsz"
	calls partial "$GPU/nvcc_static"
else
	skip 'programs compiled by nvcc' 'there is no CUDA toolkit: PyPI could not be reached (scripts/toolkits)'
fi

# ---- which layers have rows: the outermost of runtime and driver; libraries in tables of their own ----
profile layers -t cuda,cublas,cudnn,nccl "$GPU/libs" -n 4 >said 2>err
is "$(q "$R" "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE eventClass = 1" 2>&1)" 0 \
	'what the runtime asks of the driver has no row'
is "$(q "$R" "SELECT group_concat(n, ' ') FROM (SELECT count(*) n FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN StringIds s
	ON s.id = r.nameId JOIN CUBLAS_EVENTS b ON b.globalTid = r.globalTid AND r.start BETWEEN b.start AND b.end
	JOIN StringIds t ON t.id = b.nameId WHERE s.value LIKE 'cudaLaunchKernel%' GROUP BY t.value ORDER BY t.value)" 2>&1)" \
	"4 4 8 4 4" 'calls of cuBLAS hold their launches' # GemmEx, LtMatmul, Sdot, Sgemm, SgemmStridedBatched
is "$(q "$R" "SELECT count(*) FROM CUBLAS_EVENTS b JOIN StringIds s ON s.id = b.nameId WHERE value = 'cublasLtMatmul'" 2>&1)" 4 \
	'what cuBLAS asks of cuBLASLt has no row'
is "$(q "$R" "SELECT count(*) FROM CUDNN_EVENTS WHERE eventClass = 28" 2>&1)" "$(awk '/^call cudnn/ { n += $3 } END { print n }' said)" \
	'cuDNN has its table'
is "$(q "$R" "SELECT value || ' ' || count(*) FROM SL_LIBRARY_API l JOIN StringIds s ON s.id = l.library" 2>&1)" \
	"nccl $(awk '/^call nccl/ { n += $3 } END { print n }' said)" 'NCCL has its table'
profile part -t cudnn "$GPU/libs" >said 2>err
is "$(q "$R" "SELECT (SELECT count(*) FROM CUBLAS_EVENTS) + (SELECT count(*) FROM SL_LIBRARY_API) +
	(SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME)" 2>&1)" 0 'only what -t names is recorded'

# ---- arguments and errors ----
profile arguments -t cuda "$GPU/train" -n 2 -c 4096 >said 2>err
is "$(q "$R" "SELECT DISTINCT e.name || ' ' || a.value FROM SL_GPU_ARGUMENTS a JOIN ENUM_SL_GPU_ROLE e ON e.id = a.role
	JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = a.callId JOIN StringIds s ON s.id = r.nameId
	WHERE s.value LIKE 'cudaLaunchKernel%' AND e.name IN ('gridx', 'gridy', 'gridz', 'blockx', 'blocky', 'blockz', 'shared')
	ORDER BY e.id" 2>&1 | tr '\n' ' ')" \
	"gridx 8 gridy 2 gridz 1 blockx 128 blocky 1 blockz 1 shared 1024 " 'grids and blocks'
is "$(q "$R" "SELECT count(*) || ' ' || sum(a.value) FROM SL_GPU_ARGUMENTS a JOIN ENUM_SL_GPU_ROLE e ON e.id = a.role
	JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = a.callId JOIN StringIds s ON s.id = r.nameId
	WHERE s.value LIKE 'cudaMemcpyAsync%' AND e.name = 'bytes'" 2>&1)" "6 24576" 'bytes of copies'
is "$(q "$R" "SELECT s.value || ' ' || r.returnValue FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN StringIds s ON s.id = r.nameId
	WHERE r.returnValue != 0" 2>&1 | sed 's/_v[0-9]* / /')" 'cudaFree 1' 'a call that failed says why'

profile structure -t cuda "$GPU/driver" >said 2>err
is "$(q "$R" "SELECT DISTINCT e.name || ' ' || a.value FROM SL_GPU_ARGUMENTS a JOIN ENUM_SL_GPU_ROLE e ON e.id = a.role
	JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = a.callId JOIN StringIds s ON s.id = r.nameId
	WHERE s.value = 'cuLaunchKernelEx' AND e.name NOT IN ('kernel', 'stream') ORDER BY e.id" 2>&1 | tr '\n' ' ')" \
	"gridx 3 gridy 1 gridz 1 blockx 32 blocky 2 blockz 1 shared 0 " 'a launch whose grid lies in a structure'
is "$(q "$R" "SELECT count(DISTINCT a.value) || ' ' || count(DISTINCT s.value) FROM SL_GPU_ARGUMENTS a JOIN ENUM_SL_GPU_ROLE e ON e.id = a.role
	JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = a.callId JOIN StringIds s ON s.id = r.nameId
	WHERE s.value LIKE 'cuLaunchKernel%' AND e.name = 'stream' AND a.value != 0" 2>&1)" '1 2' 'on the stream of the other launches'

# ---- no CUDA: nothing changes, and nothing of it appears ----
(unset LD_LIBRARY_PATH && exec "$GPU/weak") >want
(unset LD_LIBRARY_PATH && profile weak -t cuda,nvtx,osrt,cudnn,cublas,nccl "$GPU/weak" >said 2>err)
R=$W/weak.sqlite
check 'weak references and questions are answered as before' cmp want said
is "$(q "$R" 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME' 2>&1)" 0 'no calls of CUDA without CUDA'

# ---- NVIDIA's runtime on the stand-in driver: it binds through our hooks, and is refused by the driver ----
binding() { # NAME PROGRAM [ARG...]
	name=$1
	shift
	"$@" >want 2>want.err
	is "$(sort -u want | tr '\n' ' ')" 'count 801 malloc 801 ' "$name: refused untraced"
	profile binding -t cuda "$@" >said 2>err
	check "$name: refused in the same way" cmp want said
}
if [ -x "$GPU/binding_static" ]; then
	binding 'real static runtime' "$GPU/binding_static"
	mkdir driver
	ln -s "$STANDIN/libcuda.so.1" driver/
	LD_LIBRARY_PATH=$W/driver:$KIT/lib64
	binding 'real shared runtime' "$GPU/binding"
	is "$(q "$R" "SELECT s.value || ' ' || r.returnValue FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN StringIds s ON s.id = r.nameId
		WHERE s.value LIKE 'cudaMalloc%' ORDER BY r.start" 2>&1 | sed 's/_v[0-9]* / /' | tr '\n' ' ')" 'cudaMalloc 801 cudaMalloc 801 ' \
		'real shared runtime: its calls are rows, with the error'
	LD_LIBRARY_PATH=$STANDIN
else
	skip "NVIDIA's own runtime" 'there is no CUDA toolkit: PyPI could not be reached (scripts/toolkits)'
fi

# ---- a machine without a driver, or without a device ----
mkdir only
ln -s "$STANDIN/libcudart.so.13" only/
for how in 'no driver:35' 'no device:100'; do
	case $how in
	no\ driver*) path=$W/only devices=1 ;;
	*) path=$STANDIN devices=0 ;;
	esac
	LD_LIBRARY_PATH=$path STANDIN_DEVICES=$devices "$GPU/train" >want 2>want.err
	profile none -t cuda env LD_LIBRARY_PATH=$path STANDIN_DEVICES=$devices "$GPU/train" >said 2>err
	is "$?$(grep -v '^sightline: ' err)" "1$(cat want.err)" "${how%:*}: same error"
	case $(cat want.err) in
	*"cudaGetDeviceCount: ${how#*:}"*) result 0 "${how%:*}: the error that it should be" ;;
	*) result 1 "${how%:*}: the error that it should be" || diag <want.err ;;
	esac
done
done_testing

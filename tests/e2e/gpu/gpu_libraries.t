#!/bin/sh
# cuFFT, cuSPARSE, cuSOLVER and cuFile, on the stand-ins: every call is a row of its library, calls hold what they launch, and
# the arguments are there that reports need. And what takes two processes: memory that both use (CUDA IPC), NCCL. And kernels of the
# same name.
# shellcheck disable=SC2086
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
GPU=$B/tests/gpu
STANDIN=$B/tests/standin
[ -f "$STANDIN/libcupti.so.13" ] || skip_all 'the stand-ins are not built'
LD_LIBRARY_PATH=$STANDIN/more:$STANDIN${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
SIGHTLINE_CUPTI=$STANDIN/libcupti.so.13 # whatever toolkit is installed here
export LD_LIBRARY_PATH SIGHTLINE_CUPTI
ALL=cuda,cublas,nccl,cufft,cusparse,cusolver,gds

run_no=0
# Runs it untraced, under profile and under the bare preload: the same output, the rows that the libraries counted, and each
# piece of work leads to a call. $WORK: what is compared with the program's output.
program() { # NAME PROGRAM [ARG...]
	name=$1
	shift
	"$@" >want 2>want.err
	result $? "$name: works untraced" || diag <want.err
	for how in profile bare; do
		run_no=$((run_no + 1)) # a new name: the collector of a bare run may still be finishing
		mkdir counts$run_no
		STANDIN_COUNTS=$W/counts$run_no
		export STANDIN_COUNTS
		case $how in
		profile) profile g$run_no -t $ALL "$@" >said 2>err ;;
		bare)
			SIGHTLINE_OPTIONS="-t $ALL -s none"
			export SIGHTLINE_OPTIONS
			bare g$run_no "$@" >said 2>err
			status=$?
			unset SIGHTLINE_OPTIONS
			wait_for 20 finished "$R"
			(exit $status)
			;;
		esac
		result $? "$name, $how: works" || diag <err
		unset STANDIN_COUNTS
		check "$name, $how: same output" cmp want said
		is "$(grep -v '^sightline: ' err)" "$(cat want.err)" "$name, $how: same errors"
		check "$name, $how: sound report" intact "$R"
		check "$name, $how: rows = what the libraries counted" "$PY" "$E2E/gpu/gpu_truth.py" "$R" counts$run_no calls
		check "$name, $how: work as asked for, each leads to a call" "$PY" "$E2E/gpu/gpu_truth.py" "$R" said activity joined
		is "$(q "$R" "SELECT * FROM SL_LOST_EVENTS WHERE $RECORDS" 2>&1)" '' "$name, $how: nothing lost"
	done
}
# What was kept of the arguments of calls of such a name, in their order: "ROLE=VALUE ..." a call.
arguments() { # NAME ROLE...
	like=$1
	shift
	roles=$(printf "'%s'," "$@")
	q "$R" "SELECT group_concat(e.name || '=' || a.value, ' ') FROM (SELECT callId, position, role, value FROM SL_GPU_ARGUMENTS
		ORDER BY callId, position) a JOIN SL_LIBRARY_API l USING (callId) JOIN StringIds s ON s.id = l.nameId
		JOIN ENUM_SL_GPU_ROLE e ON e.id = a.role WHERE s.value = '$like' AND e.name IN (${roles%,}) GROUP BY callId ORDER BY l.start" 2>&1
}
# Which calls of libraries have launches inside, and how many: "NAME N".
launches() { # TABLE PATTERN
	q "$R" "SELECT t.value || ' ' || count(*) FROM $1 l JOIN StringIds t ON t.id = l.nameId JOIN CUPTI_ACTIVITY_KIND_RUNTIME r
		ON r.globalTid = l.globalTid AND r.start BETWEEN l.start AND l.end JOIN StringIds s ON s.id = r.nameId
		WHERE s.value LIKE 'cudaLaunchKernel%' AND t.value GLOB '$2' GROUP BY t.value ORDER BY t.value" 2>&1
}

program numeric "$GPU/numeric" -n 4
profile numeric -t $ALL "$GPU/numeric" -n 4 >said 2>err
is "$(q "$R" "SELECT group_concat(library || ' ' || n, ', ') FROM (SELECT l.value AS library, count(*) AS n FROM SL_LIBRARY_API a
	JOIN StringIds l ON l.id = a.library GROUP BY 1 ORDER BY 1)" 2>&1)" \
	"$(awk '/^call cu(fft|sparse|solver|File)/ && $2 !~ /^cusparseSpMatGetSize$/ {
		match($2, /^cu(fft|sparse|solver|File)/); n[tolower(substr($2, 1, RLENGTH))] += $3 }
		END { printf "cufft %d, cufile %d, cusolver %d, cusparse %d", n["cufft"], n["cufile"], n["cusolver"], n["cusparse"] }' said)" \
	'each library has its rows'
is "$(launches SL_LIBRARY_API 'cufft*')" 'cufftExecC2C 12
cufftExecR2C 4
cufftExecZ2D 4
cufftExecZ2Z 8' 'cuFFT: executions hold their kernels'
is "$(launches SL_LIBRARY_API 'cusparse*')" 'cusparseSgtsv2 4
cusparseSpGEMM_compute 4
cusparseSpGEMM_copy 4
cusparseSpGEMM_workEstimation 4
cusparseSpMM 4
cusparseSpMV 4' 'cuSPARSE: calls that work hold their kernels, those that ask hold none'
is "$(launches SL_LIBRARY_API 'cusolver*')" 'cusolverDnDgesvd 4
cusolverDnDgetrf 4
cusolverDnDgetrs 12
cusolverDnSpotrf 8
cusolverDnXgetrf 4
cusolverDnXsyevd 4
cusolverSpDcsrlsvqr 1' 'cuSOLVER: its calls have rows, and those of cuBLAS inside them'
is "$(launches CUBLAS_EVENTS 'cublas*')" 'cublasDsyrk_v2 4
cublasDtrsm_v2 8' 'cuBLAS inside has rows of its own'
is "$(q "$R" "SELECT DISTINCT t.value || ' in ' || o.value FROM CUBLAS_EVENTS b JOIN StringIds t ON t.id = b.nameId
	JOIN SL_LIBRARY_API l ON l.globalTid = b.globalTid AND b.start >= l.start AND b.end <= l.end
	JOIN StringIds o ON o.id = l.nameId WHERE t.value GLOB 'cublasD[st]*' ORDER BY 1" 2>&1)" 'cublasDsyrk_v2 in cusolverDnSpotrf
cublasDtrsm_v2 in cusolverDnDgetrs' 'calls of cuBLAS lie inside those of cuSOLVER'

# ---- arguments and results ----
is "$(arguments cufftPlan1d n type batch)" 'n=1024 type=41 batch=8
n=16 type=77 batch=1' 'plans of one dimension, also one that could not be made'
is "$(arguments cufftPlan3d m n k type)" 'm=16 n=32 k=8 type=105' 'a plan of three'
is "$(arguments cufftPlanMany n type batch)" 'n=32 type=42 batch=4' 'a plan of many' # n: the first of its sizes
is "$(arguments cufftMakePlanMany64 count n type batch)" 'count=1 n=512 type=41 batch=2' 'a plan of sizes of 64 bits'
is "$(arguments cufftExecC2C op | sort -n | uniq -c | tr -s ' \n' ' ')" ' 8 op=-1 5 op=1 ' 'cuFFT: each call has its direction'
is "$(arguments cusparseSpMM op compute | uniq -c | tr -s ' \n' ' ')" ' 4 op=1 op=0 compute=0 1 op=0 op=1 compute=0 ' \
	'sparse by dense: both operations, the type'
is "$(arguments cusparseCreateCsr m n count type | sort -u)" 'm=100 n=100 count=0 type=0
m=100 n=100 count=500 type=0' 'sparse matrices'
is "$(arguments cusolverDnDgetrs op n count | uniq)" 'op=1 n=60 count=3' 'a system of equations'
is "$(arguments cusolverDnXgetrf m n atype compute | uniq)" 'm=60 n=70 atype=1 compute=1' 'a factorisation by sizes of 64 bits'
is "$(arguments cuFileWrite bytes offset)" 'bytes=3145728 offset=4096' 'what was written, and where'
is "$(arguments cuFileRead bytes offset | tr '\n' ' ')" \
	'bytes=2097157 offset=4096 bytes=8192 offset=3145728 bytes=10 offset=0 bytes=10 offset=0 ' 'what was to be read'
is "$(arguments cuFileReadAsync bytes offset)" 'bytes=100000 offset=4096' 'by a stream: what the pointers led to'
is "$(arguments cuFileBatchIOSubmit count bytes op flags)" 'count=3 bytes=59192 op=0 flags=0
count=3 flags=0' \
	'a batch: what all of it asked for; of one that was refused nothing was read'
is "$(arguments cuFileBufRegister bytes)" 'bytes=3145728' 'a buffer that was registered'
is "$(q "$R" "SELECT value || ' ' || returnValue FROM SL_LIBRARY_API JOIN StringIds ON id = nameId WHERE value GLOB 'cuFile[RWH]*'
	ORDER BY value, returnValue" 2>&1)" 'cuFileHandleDeregister 0
cuFileHandleRegister 0
cuFileHandleRegister 5028
cuFileRead -5027
cuFileRead -5001
cuFileRead 4096
cuFileRead 2097157
cuFileReadAsync 0
cuFileWrite 3145728' 'results: a status, bytes, an error below 0, and 0 where there is none'

# ---- two processes in one report: the child of a fork, and a program of its own ----
processes() { # TABLE: rows by process
	q "$R" "SELECT group_concat(n, ' ') FROM (SELECT count(*) AS n FROM $1 GROUP BY globalTid >> 24 ORDER BY n)" 2>&1
}
rows_by() { # PATTERN: of calls by name, how many each process made
	q "$R" "SELECT name || ' ' || group_concat(n, ' ') FROM (SELECT s.value AS name, r.globalTid >> 24 AS pid, count(*) AS n
		FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN StringIds s ON s.id = r.nameId WHERE s.value GLOB '$1' GROUP BY 1, 2 ORDER BY 1, 3)
		GROUP BY name ORDER BY name" 2>&1 | sed 's/_v[0-9]* / /'
}
for how in fork spawn; do
	program "IPC, $how" "$GPU/two" -n 5 share $how
	is "$(rows_by 'cudaIpc*')" 'cudaIpcCloseMemHandle 3
cudaIpcGetEventHandle 2
cudaIpcGetMemHandle 2
cudaIpcOpenEventHandle 1
cudaIpcOpenMemHandle 1 4' "IPC, $how: each process has its calls"
	is "$(q "$R" "SELECT s.value || ' ' || r.returnValue FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN StringIds s ON s.id = r.nameId
		WHERE r.returnValue != 0 ORDER BY 1" 2>&1 | sed 's/_v[0-9]* / /' | tr '\n' ' ')" \
		'cudaFree 1 cudaIpcCloseMemHandle 1 cudaIpcGetEventHandle 400 cudaIpcGetMemHandle 1 cudaIpcOpenMemHandle 1 cudaIpcOpenMemHandle 1 cudaIpcOpenMemHandle 201 ' \
		"IPC, $how: calls that fail have their errors"
	# A handle is 64 bytes on the stack; behind it come the flags. Where it failed there is no address.
	is "$(q "$R" "SELECT group_concat(t, ', ') FROM (SELECT group_concat(e.name || iif(e.name = 'flags', '=' || a.value, ''), ' ') AS t
		FROM SL_GPU_ARGUMENTS a JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = a.callId JOIN StringIds s ON s.id = r.nameId
		JOIN ENUM_SL_GPU_ROLE e ON e.id = a.role WHERE s.value GLOB 'cudaIpcOpenMemHandle*' AND r.returnValue != 201
		GROUP BY callId ORDER BY 1)" 2>&1)" 'addr flags=1, addr flags=1, flags=0, flags=1' "IPC, $how: arguments behind a handle"
	is "$(q "$R" "SELECT count(DISTINCT a.value) FROM SL_GPU_ARGUMENTS a JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = a.callId
		JOIN StringIds s ON s.id = r.nameId JOIN ENUM_SL_GPU_ROLE e ON e.id = a.role WHERE e.name = 'addr' AND (s.value GLOB
		'cudaIpcOpenMemHandle*' OR s.value GLOB 'cudaIpcCloseMemHandle*')" 2>&1)" 1 "IPC, $how: opened and closed at one address"

	program "NCCL, $how" "$GPU/two" -n 5 reduce $how
	# One that has no such rank, seven that work, the group's begin and end, making and destroying (twice); one makes the id.
	is "$(processes SL_LIBRARY_API)" '59 60' "NCCL, $how: each process has its calls"
	is "$(processes CUPTI_ACTIVITY_KIND_RUNTIME)" "$(awk '/^call cuda/ { n += $3 } /^kernels/ { n += $2 } END { print (n / 2 + 2) " " (n / 2 + 2) }' said)" \
		"NCCL, $how: each collective has the kernels that it launched"
	is "$(arguments ncclAllReduce count type op | sort | uniq -c | tr -s ' \n' ' ')" \
		' 10 count=1000 type=7 op=2 10 count=2 type=7 op=0 10 count=2000 type=7 op=0 ' "NCCL, $how: counts, types and operations"
	is "$(arguments ncclBroadcast count root | sort | uniq -c | tr -s ' \n' ' ')" ' 10 count=2 root=1 2 count=2 root=2 ' "NCCL, $how: roots"
	is "$(arguments ncclSend count type peer | sort | uniq -c | tr -s ' \n' ' ')$(arguments ncclRecv peer | sort | uniq -c | tr -s ' \n' ' ')" \
		' 5 count=2 type=7 peer=0 5 count=2 type=7 peer=1  5 peer=0 5 peer=1 ' "NCCL, $how: sender and receiver"
	is "$(arguments ncclCommInitRank ranks rank | sort | tr '\n' ' ')" 'ranks=2 rank=0 ranks=2 rank=1 ' "NCCL, $how: ranks, behind an id of 128 bytes"
	is "$(q "$R" "SELECT t.value || ' ' || count(*) FROM SL_LIBRARY_API l JOIN StringIds t ON t.id = l.nameId
		JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.globalTid = l.globalTid AND r.start BETWEEN l.start AND l.end
		JOIN CUPTI_ACTIVITY_KIND_KERNEL k ON k.correlationId = r.correlationId GROUP BY t.value ORDER BY 1" 2>&1 | tr '\n' ' ')" \
		'ncclAllGather 10 ncclAllReduce 20 ncclBroadcast 10 ncclGroupEnd 30 ncclReduce 10 ncclReduceScatter 10 ' \
		"NCCL, $how: kernels are asked for by the call, or by the end of its group"
done

# ---- one name in several modules, modules one after the other at one place, binaries that come back ----
for mode in lazy eager; do
	CUDA_MODULE_LOADING=$(echo $mode | tr '[:lower:]' '[:upper:]')
	export CUDA_MODULE_LOADING
	program "modules, $mode" "$GPU/modules"
	is "$(head -1 said)" $mode "modules, $mode: loaded so"
	is "$(q "$R" "SELECT count(DISTINCT mangledName) || ' ' || count(DISTINCT shortName) || ' ' || count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL" 2>&1)" \
		'5 5 140' "modules, $mode: five names"
done
# ---- plugins are no libraries: they come before NCCL here, and have none of its functions ----
if printf 'int sightline_plugin;\n' | ${CC:-cc} -shared -fPIC -x c - -o libnccl-net.so 2>cc.err; then
	cp libnccl-net.so libnccl-0123abcd.so
	cp libnccl-net.so libnccl-profiler-0123abcd.so
	for plugin in net 0123abcd profiler-0123abcd; do
		profile plugin -t cuda,nccl env LD_PRELOAD="$W/libnccl-$plugin.so" "$GPU/two" reduce fork -n 2 >said 2>err
		is "$?$(q "$R" "SELECT count(*) > 0 FROM SL_LIBRARY_API JOIN StringIds ON id = nameId WHERE value = 'ncclAllReduce'" 2>&1)" 01 \
			"libnccl-$plugin.so: NCCL's calls are rows"
		is "$(q "$R" "SELECT text FROM DIAGNOSTIC_EVENT WHERE text LIKE '%second copy%'")" '' "libnccl-$plugin.so: is no second copy"
	done
else
	skip 'plugins of NCCL' "not built: $(head -1 cc.err)"
fi
done_testing

#!/bin/sh
# What the GPU did, as CUPTI reports it, on the stand-ins: every kernel, copy and fill is a row with its bytes and times,
# and leads to exactly one call, whichever source reported the call; when the program is killed, and when the collector is.
# shellcheck disable=SC2086
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
GPU=$B/tests/gpu
STANDIN=$B/tests/standin
[ -f "$STANDIN/libcupti.so.13" ] || skip_all 'the stand-ins are not built'
LD_LIBRARY_PATH=$STANDIN${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
SIGHTLINE_CUPTI=$STANDIN/libcupti.so.13
export LD_LIBRARY_PATH SIGHTLINE_CUPTI

truth() { # NAME WHAT...
	truth_name=$1
	shift
	check "$truth_name" "$PY" "$E2E/gpu/gpu_truth.py" "$R" said "$@"
}
count() { # TABLE [CONDITION]
	sqlite3 -readonly "$R" "SELECT count(*) FROM $1 WHERE ${2:-1}" 2>/dev/null || echo 0
}

# ---- every way to call, every kind of work ----
# One thread: what others do while the first call sets CUPTI up, CUPTI does not see.
for program in train 'train -s3' 'train -g' 'train -l' train_12 train_dlopen train_static; do
	calls=calls
	case $program in train_static*) calls='calls static' ;; esac
	profile work -t cuda,cublas,cudnn,nccl $GPU/$program >said 2>err
	truth "$program: calls, work, and which leads to which" $calls activity joined
	profile node -t cuda --cuda-graph-trace=node $GPU/$program >said 2>err
	truth "$program: the same with nodes of graphs" $calls activity node joined
done
profile libs -t cuda,cublas,cudnn,nccl "$GPU/libs" -n 5 >said 2>err
truth 'libraries: calls, work, and which leads to which' calls activity joined

# ---- streams that the program gave names to ----
profile streams -t cuda,nvtx "$GPU/streams" >said 2>err
is "$(sqlite3 -readonly "$R" "SELECT DISTINCT m.bytes || ' ' || n.name FROM TARGET_INFO_NVTX_CUDA_STREAM n
	JOIN CUPTI_ACTIVITY_KIND_MEMSET m USING (deviceId, contextId, streamId) ORDER BY 1")" "$(cat said)" 'names of streams are rows'
is "$(count TARGET_INFO_NVTX_CUDA_STREAM)" 6 'streams without a name have no row of names'
is "$("$BIN" export -t chrome -o - "$R" 2>&1 | grep -o 'stream [0-9]*: [a-z]*' | sort -u | sed 's/.*: //' | sort | tr '\n' ' ')" \
	'default driver first late new second ' 'time lines have them'

# ---- names and places ----
profile names -t cuda "$GPU/train" >said 2>err
is "$(sqlite3 -readonly "$R" "SELECT group_concat(value, '; ') FROM (SELECT DISTINCT value FROM CUPTI_ACTIVITY_KIND_KERNEL
	JOIN StringIds ON id = demangledName ORDER BY value)")" \
	'forward_us30_(float const*, float const*, float*, int); update(float*, float const*, float); void layer::backward_us50_<float, 4>(float*, int)' \
	'kernels have their signatures'
is "$(sqlite3 -readonly "$R" "SELECT group_concat(value, ' ') FROM (SELECT DISTINCT value FROM CUPTI_ACTIVITY_KIND_KERNEL
	JOIN StringIds ON id = shortName ORDER BY value)")" 'backward_us50_ forward_us30_ update' 'kernels have bare names'
is "$(sqlite3 -readonly "$R" "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL k LEFT JOIN TARGET_INFO_CUDA_DEVICE d
	ON d.cudaId = k.deviceId AND d.pid = k.globalPid >> 24 & 0xffffff LEFT JOIN TARGET_INFO_GPU g ON g.id = d.gpuId
	LEFT JOIN TARGET_INFO_CUDA_CONTEXT_INFO c ON c.contextId = k.contextId AND c.processId = d.pid
	WHERE g.name IS NULL OR c.nullStreamId IS NULL")" 0 'kernels lead to their GPU and their context'
is "$(sqlite3 -readonly "$R" "SELECT count(*) FROM (SELECT start, end FROM CUPTI_ACTIVITY_KIND_KERNEL UNION ALL SELECT start, end
	FROM CUPTI_ACTIVITY_KIND_RUNTIME) WHERE end < start OR start < 0 OR end > (SELECT duration FROM ANALYSIS_DETAILS)")" 0 \
	'times lie inside the session'
for name in cuda_api_sum cuda_gpu_kern_sum cuda_gpu_mem_time_sum cuda_gpu_mem_size_sum; do
	check "$name has something to say" eval '"$BIN" stats -q -r $name --format csv "$R" | grep -q "[0-9],"'
done

# ---- what is asked for, and what is not ----
profile less -t cuda "$GPU/train" >said 2>err
is "$(count CUDA_GPU_MEMORY_USAGE_EVENTS) $(count CUPTI_ACTIVITY_KIND_CUDA_EVENT)" '0 0' 'no memory, no events unless asked for'
profile more -t cuda --cuda-memory-usage=true --cuda-event-trace=true --cuda-flush-interval=200 "$GPU/train" >said 2>err
is "$(count CUDA_GPU_MEMORY_USAGE_EVENTS 'memoryOperationType = 0') $(count CUDA_GPU_MEMORY_USAGE_EVENTS 'memoryOperationType = 1')" \
	"$(awk '/^call cudaMalloc/ { a += $3 } /^call cudaFree/ { f += $3 } END { print a, f - 1 }' said)" \
	'--cuda-memory-usage: as much as was allocated and freed' # one free is of nothing
check '--cuda-event-trace: events' test "$(count CUPTI_ACTIVITY_KIND_CUDA_EVENT)" -gt 0
is "$(sqlite3 -readonly "$R" "SELECT group_concat(value) FROM META_DATA_CAPTURE WHERE name LIKE 'PROCESS_0:%CUDA%'")" \
	'true,true,200,graph' 'the settings stand in the report'

# ---- unified memory: of all GPUs ----
profile um -t cuda --cuda-um-gpu-page-faults=true env STANDIN_DEVICES=4 STANDIN_CUPTI_UM=4 "$GPU/train" >said 2>err
is "$?$(grep -i 'counters' err)" 0 '--cuda-um-gpu-page-faults: the counters of four GPUs'

# ---- CUPTI is left to the program ----
profile none -t cuda --cuda-cupti=none "$GPU/train" >said 2>err
is "$?$(grep -v '^sightline: report' err)" 0 '--cuda-cupti=none: no message'
is "$(q "$R" "SELECT count(*) > 10, (SELECT count(*) FROM sqlite_master WHERE name = 'CUPTI_ACTIVITY_KIND_KERNEL') FROM CUPTI_ACTIVITY_KIND_RUNTIME")" '1|0' \
	'--cuda-cupti=none: calls and nothing else'

# ---- two processes, one report ----
profile two -t cuda sh -c '"$0" >said.1; "$0" >said.2' "$GPU/train" 2>err
is "$(sqlite3 -readonly "$R" "SELECT count(DISTINCT globalPid) || ' ' || (SELECT count(*) - count(DISTINCT correlationId) FROM
	CUPTI_ACTIVITY_KIND_RUNTIME) || ' ' || (count(*) - (SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN
	CUPTI_ACTIVITY_KIND_RUNTIME USING (correlationId))) FROM CUPTI_ACTIVITY_KIND_KERNEL")" '2 0 0' \
	'ids are unique in the report, and join without the process'

# ---- SIGKILL of the program: calls are there to the last, the GPU's work up to the last flush ----
profile kill -t cuda --cuda-flush-interval=50 "$GPU/train" -n 300 -k >said 2>err
is $? 137 'SIGKILL of the program'
truth 'SIGKILL: every call has its row, and work leads to it' calls joined killed
have=$(count CUPTI_ACTIVITY_KIND_KERNEL)
check "SIGKILL: $have kernels of 900 were flushed in time" test "$have" -gt 300

# ---- SIGKILL of the collector, while rows wait for CUPTI; then recover ----
profile lost -t cuda --cuda-flush-interval=0 "$GPU/train" -w 6000 >said 2>err &
R=$W/lost.sqlite
wait_for 10 grep -q '^wrong' said
sleep 0.6 # read and committed; without an interval there is no first flush either
check 'rows wait for CUPTI' test "$(count CUPTI_ACTIVITY_KIND_RUNTIME)" -lt 10
# Before the program has ended: found at once, whatever runs here.
send KILL $(pgrep -f "^$BIN .*$W/lost")
sleep 0.3
check 'recover works' "$BIN" recover "$R"
truth 'SIGKILL of the collector: nothing is missing, nothing is there twice' calls activity joined
is "$(count sqlite_master "name = 'SL_STATE'")" 0 'the recovered report is finished'
wait

# Names of streams are found when CUPTI reports the work: the collector that recovers needs them.
profile names -t cuda,nvtx --cuda-flush-interval=20000 "$GPU/streams" "$W/go" >said 2>err &
R=$W/names.sqlite
all_calls() { # have been read, and wait: the ones of the last streams
	sqlite3 -readonly "$R" "SELECT count(*) FROM SL_NVTX_NAMES WHERE name = 'unused'" | grep -qx 1
}
wait_for 10 all_calls || diag <err
is "$(count TARGET_INFO_NVTX_CUDA_STREAM)" 0 'names of streams wait for CUPTI'
send KILL $(pgrep -f "^$BIN .*$W/names")
: >go
check 'recover works' "$BIN" recover "$R"
is "$(sqlite3 -readonly "$R" "SELECT DISTINCT m.bytes || ' ' || n.name FROM TARGET_INFO_NVTX_CUDA_STREAM n
	JOIN CUPTI_ACTIVITY_KIND_MEMSET m USING (deviceId, contextId, streamId) ORDER BY 1")" "$(cat said)" \
	'SIGKILL of the collector: names of streams'
is "$(count TARGET_INFO_NVTX_CUDA_STREAM)" 6 'streams without a name have no row of names'
wait

done_testing

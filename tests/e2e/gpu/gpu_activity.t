#!/bin/sh
# What the GPU did, on the stand-ins: kernels, copies and fills as many, as large and as long as was asked for, each
# leading to the call that asked; graphs whole and by their nodes; what is left after a kill.
# shellcheck disable=SC2086
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
GPU=$B/tests/gpu
STANDIN=$B/tests/standin
[ -f "$STANDIN/libcupti.so.13" ] || skip_all 'the stand-ins are not built'
LD_LIBRARY_PATH=$STANDIN${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
SIGHTLINE_CUPTI=$STANDIN/libcupti.so.13 # whatever toolkit is installed here
export LD_LIBRARY_PATH SIGHTLINE_CUPTI

activity() { # WHAT PROGRAM [ARG...]; $OPTIONS: more of profile's
	what=$1
	shift
	name=$(basename "$1")${2:+ $2}${3:+ $3}${OPTIONS:+ $OPTIONS}
	profile activity -t cuda,cublas,cudnn,nccl $OPTIONS "$@" >said 2>err
	result $? "$name: works" || diag <err
	check "$name: what it asked for is there, and leads to its calls" "$PY" "$E2E/gpu/gpu_truth.py" "$R" said activity joined $what
	is "$(q "$R" "SELECT * FROM SL_LOST_EVENTS WHERE $RECORDS" 2>&1)" '' "$name: nothing lost"
}

OPTIONS=
activity '' "$GPU/train"
activity '' "$GPU/train" -c 100000 -l
activity '' "$GPU/train" -t4 -s3
activity '' "$GPU/train" -f
activity '' "$GPU/train_ptsz" -t2
activity '' "$GPU/train_12"
activity '' "$GPU/train_dlopen" -t2 -l
activity '' "$GPU/train_static" -t2
activity '' "$GPU/driver"
activity calls "$GPU/ptx"
activity '' "$GPU/driver_proc"
activity '' "$GPU/libs" -n20
activity '' "$GPU/train" -n2000 -c4096
if [ -x "$GPU/nvcc" ]; then
	activity '' "$GPU/nvcc"
	activity '' "$GPU/nvcc_static"
else
	skip 'programs compiled by nvcc' 'there is no CUDA toolkit: PyPI could not be reached (scripts/toolkits)'
fi

# ---- graphs ----
for OPTIONS in '' --cuda-graph-trace=graph; do
	activity '' "$GPU/train" -g -n30
	activity '' "$GPU/train_dlopen" -g -t2
done
OPTIONS=--cuda-graph-trace=node
activity node "$GPU/train" -g -n30
is "$(q "$R" 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE graphNodeId IS NULL' 2>&1)" 0 'kernels of a graph name their nodes'
is "$(sqlite3 "$R" 'SELECT count(DISTINCT graphNodeId) FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN CUDA_GRAPH_NODE_EVENTS USING (graphNodeId)' 2>&1)" 3 \
	'nodes that kernels name are known'
activity node "$GPU/train_static" -g -t2
[ ! -x "$GPU/nvcc" ] || activity node "$GPU/nvcc"
OPTIONS=

# ---- names, sizes, places ----
profile names -t cuda "$GPU/train" -n 1 -s 2 >said 2>err
is "$(q "$R" "SELECT d.value || '|' || s.value FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds d ON d.id = demangledName
	JOIN StringIds s ON s.id = shortName ORDER BY start" 2>&1)" "forward_us30_(float const*, float const*, float*, int)|forward_us30_
void layer::backward_us50_<float, 4>(float*, int)|backward_us50_
update(float*, float const*, float)|update" 'kernels have readable names'
is "$(q "$R" "SELECT DISTINCT gridX || ' ' || gridY || ' ' || blockX || ' ' || dynamicSharedMemory || ' ' || streamId
	FROM CUPTI_ACTIVITY_KIND_KERNEL" 2>&1)" '8 2 128 1024 13' 'kernels have their size and stream'
is "$(q "$R" "SELECT DISTINCT copyKind || ' ' || srcKind || ' ' || dstKind FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE bytes > 64 ORDER BY 1" 2>&1)" \
	"1 1 2
2 2 1
8 2 2" 'copies know from where to where' # 1 pinned, 2 device
is "$(sqlite3 "$R" "SELECT cudaId, numMultiprocessors > 0 FROM TARGET_INFO_CUDA_DEVICE; SELECT nullStreamId, deviceId FROM
	TARGET_INFO_CUDA_CONTEXT_INFO" 2>&1)" "0|1
7|0" 'device and context'
is "$(sqlite3 "$R" 'SELECT streamId, flag FROM TARGET_INFO_CUDA_STREAM WHERE streamId != 7 ORDER BY 1' 2>&1)" "13|2
14|2" 'streams that do not block'
is "$(sqlite3 "$R" "SELECT count(*), count(DISTINCT deviceId), max(deviceId) FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION WHERE syncType = 3" 2>&1)" \
	'1|1|0' 'waits for a stream'
is "$(q "$R" "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL k, ANALYSIS_DETAILS a WHERE k.start < 0 OR k.end > a.duration" 2>&1)" 0 \
	'the work lies inside the session'

# ---- the one thread that is started, and only where it has something to do ----
workers() {
	q "$R" "SELECT count(*) FROM ThreadNames JOIN StringIds ON id = nameId WHERE value = '[Sightline]'" 2>&1
}
profile worker -t cuda "$GPU/train" -n 3 -w 100 >said 2>err
is "$(workers)" 1 'CUPTI has a worker'
profile worker -t cuda --cuda-flush-interval=0 "$GPU/train" -n 3 -w 100 >said 2>err
is "$(workers)" 0 'none where buffers go as they are full'
check 'everything is there at the end all the same' "$PY" "$E2E/gpu/gpu_truth.py" "$R" said calls activity joined

# ---- a GPU that is never idle: CUPTI keeps back what lies in one buffer with something that still runs ----
# (That few or none are given up meanwhile is seen in tests/unit/cupti/cupti.c; here it depends on the machine.)
OPTIONS=--cuda-flush-interval=100
activity calls "$GPU/ptx" ahead 1000
OPTIONS=

# ---- a kernel that still runs at the end: CUPTI has no times for it ----
profile endless -t cuda "$GPU/ptx" endless >said 2>err
is $? 0 'endless: works'
is "$(sqlite3 "$R" "SELECT what, sum(count) FROM SL_LOST_EVENTS WHERE $RECORDS" 2>&1)" \
	'GPU work: CUPTI does not know when it was|1' 'endless: the one that still ran is counted'
is "$(sqlite3 "$R" 'SELECT count(*), sum(end <= start OR start <= 0) FROM CUPTI_ACTIVITY_KIND_KERNEL' 2>&1)" '30|0' 'endless: the others have their rows'
check 'endless: a message' grep -q 'CUPTI has no times for them' err

# ---- killed: all calls are there, and what the GPU did up to the last flush; the rest is counted as lost ----
profile killed -t cuda --cuda-flush-interval=300 "$GPU/train" -n 20 -w 2000 -k >said 2>err
is $? 137 'the program ends by SIGKILL'
check 'killed when idle for long: nothing is lost' "$PY" "$E2E/gpu/gpu_truth.py" "$R" said calls activity joined
profile killed -t cuda --cuda-flush-interval=20000 "$GPU/train" -n 20 -w 0 -k >said 2>err
check 'killed at once: every call is there' "$PY" "$E2E/gpu/gpu_truth.py" "$R" said calls
is "$(q "$R" "SELECT count(*) > 0 FROM DIAGNOSTIC_EVENT WHERE severity >= 2 AND text LIKE '%GPU%'" 2>&1)" 1 \
	'killed at once: what is missing is reported'

# ---- a libcupti that no headers are known of: records that grew are read; where fields lie elsewhere there are calls alone ----
for version in 130600 140000; do
	profile unseen -t cuda env STANDIN_CUPTI_VERSION=$version STANDIN_DRIVER_VERSION=${version%00}0 "$GPU/train" >said 2>err
	is "$?$(grep -v '^sightline: ' err)" 0 "CUPTI $version: works"
	check "CUPTI $version: everything is there" "$PY" "$E2E/gpu/gpu_truth.py" "$R" said calls activity joined
	profile unseen -t cuda env STANDIN_CUPTI_VERSION=$version STANDIN_DRIVER_VERSION=${version%00}0 STANDIN_CUPTI_SHIFT=8 "$GPU/train" >said 2>err
	is "$?$(grep -v '^sightline: ' err)" 0 "CUPTI $version with other records: works"
	check "CUPTI $version with other records: every call is there" "$PY" "$E2E/gpu/gpu_truth.py" "$R" said calls
	is "$(q "$R" "SELECT count(*) FROM sqlite_master WHERE name = 'CUPTI_ACTIVITY_KIND_KERNEL'" 2>&1)/$(grep -c 'it cannot read' err)" 0/1 \
		"CUPTI $version with other records: no kernels, one line"
done

# ---- processes: each has its own ----
profile processes -t cuda sh -c '"$0" -n 3 & "$0" -n 5; wait' "$GPU/train" >said 2>err
is "$(q "$R" "SELECT count(DISTINCT globalPid) || ' ' || count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL" 2>&1)" '2 24' 'two processes'
check 'two processes: each kernel leads to a call of its own process' "$PY" "$E2E/gpu/gpu_truth.py" "$R" said joined
is "$(sqlite3 "$R" "SELECT count(*) - count(DISTINCT correlationId) FROM CUPTI_ACTIVITY_KIND_RUNTIME" 2>&1)" 0 \
	'two processes: correlation ids are unique in the report'
done_testing

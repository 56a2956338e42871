#!/bin/sh
# CUDA graphs that a program makes before the capture that replays them: CUPTI has to know them from the start. On the
# stand-ins, which never report a graph that was instantiated too early, nor survive what crashes the real ones.
# shellcheck disable=SC2086
. tests/lib.sh
GPU=$B/tests/gpu
STANDIN=$B/tests/standin
[ -f "$STANDIN/libcupti.so.13" ] || skip_all 'the stand-ins are not built'
LD_LIBRARY_PATH=$STANDIN${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
SIGHTLINE_CUPTI=$STANDIN/libcupti.so.13 # whatever toolkit is installed here
export LD_LIBRARY_PATH SIGHTLINE_CUPTI

graphs() { # rows of whole graphs, and of kernels and fills; how many of these lead to no call
	for table in GRAPH_TRACE KERNEL MEMSET; do
		if [ "$(q "$R" "SELECT count(*) FROM sqlite_master WHERE name = 'CUPTI_ACTIVITY_KIND_$table'")" = 0 ]; then
			echo "$table|0|0"
		else
			q "$R" "SELECT '$table', count(*), sum(r.correlationId IS NULL) FROM CUPTI_ACTIVITY_KIND_$table t
				LEFT JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = t.correlationId"
		fi
	done 2>&1 | tr '\n' ' '
}
launches() {
	q "$R" "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId WHERE value GLOB 'cudaGraphLaunch*'" 2>&1
}
whole='GRAPH_TRACE|7|0 KERNEL|0|0 MEMSET|0|0 ' nodes='GRAPH_TRACE|0|0 KERNEL|7|0 MEMSET|7|0 '

captured() { # VERSION OPTION WANT
	STANDIN_CUPTI_VERSION=$1
	export STANDIN_CUPTI_VERSION
	name="CUPTI $1${2:+, $2}"
	profile api -t cuda $2 -c cudaProfilerApi --capture-range-end=stop "$GPU/range" 1 graph >out 2>err
	is $? 0 "$name, cudaProfilerApi: runs" || diag <err
	is "$(graphs)" "$3" "$name, cudaProfilerApi: the work of its graphs, and no other"
	profile nvtx -t cuda,nvtx $2 -c nvtx -p step --capture-range-end=stop "$GPU/range" nvtx graph >out 2>err
	is "$(graphs)" "$3" "$name, an NVTX range"
	profile again -t cuda $2 -c cudaProfilerApi --capture-range-end=repeat:3 "$GPU/range" 3 graph >out 2>err
	for R in "$W"/again*.sqlite; do
		is "$(graphs)" "$3" "$name, repeated, ${R##*/}"
	done
	rm -f "$W"/again*.sqlite
	unset STANDIN_CUPTI_VERSION
}
captured 130001 '' "$whole"
captured 24 '' "$whole"
captured 130001 --cuda-graph-trace=node "$nodes"
captured 130000 --cuda-graph-trace=node "$nodes"
# Whole graphs crash there: nodes, unless the user insists.
captured 18 '' "$nodes"
captured 22 '' "$nodes"

profile delayed -t cuda -y 1 "$GPU/range" long graph >out 2>err
is $? 0 'a delay: runs'
is "$(q "$R" 'SELECT count(*) > 0 FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE' 2>&1)" 1 'a delay: graphs of before'
is "$(q "$R" 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE' 2>&1)" "$(launches)" 'a delay: as many as were launched since'

STANDIN_CUPTI_VERSION=22
export STANDIN_CUPTI_VERSION
profile old -t cuda "$GPU/range" long >out 2>err
is "$(q "$R" "SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE severity = 1 AND text LIKE '%by their nodes%'")" 1 'older: the report says that nodes are traced'
STANDIN_CUPTI_LIES=none
export STANDIN_CUPTI_LIES
profile insists -t cuda --cuda-graph-trace=graph "$GPU/range" 1 graph >out 2>err
is "$(q "$R" 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE' 2>&1)" 17 'older, on request: whole graphs'
check 'older, on request: a warning' grep -q 'may crash the program' err
done_testing

#!/bin/sh
# CUPTI is there before the driver is initialized, whatever does that: the program, the runtime on a call that is not
# recorded, the runtime inside of cuBLAS. And not before: a process that only asks for addresses forks children that use CUDA.
. tests/lib.sh
GPU=$B/tests/gpu
STANDIN=$B/tests/standin
[ -f "$STANDIN/libcupti.so.13" ] || skip_all 'the stand-ins are not built'
LD_LIBRARY_PATH=$STANDIN/own:$STANDIN${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
SIGHTLINE_CUPTI=$STANDIN/libcupti.so.13
STANDIN_CUPTI_EARLY=1
export LD_LIBRARY_PATH SIGHTLINE_CUPTI STANDIN_CUPTI_EARLY

begins() { # HOW LIBRARIES TABLE ROWS PROCESSES
	profile begins -t "$2" "$GPU/early" "$1" >out 2>err
	is "$?/$(grep -v 'context-switch\|^sightline: report:' err)" 0/ "$1, $2: runs"
	is "$(q "$R" "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_$3" 2>&1 | sed 's/.*no such table.*/0/')" "$4" "$1, $2: what the GPU did"
	is "$(q "$R" "SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE text LIKE 'CUPTI of CUDA %'")" "$5" "$1, $2: processes that have CUPTI"
	is "$(q "$R" "SELECT text FROM DIAGNOSTIC_EVENT WHERE severity > 1 AND text NOT LIKE '%context-switch%'")" '' "$1, $2: nothing is missing"
}

for traced in cuda cuda,cublas; do
	begins count $traced MEMSET 1 1
	begins only $traced MEMSET 0 1
	begins blas $traced KERNEL 1 1
	begins asks $traced MEMSET 1 1
	begins library $traced MEMSET 1 1
done
begins blas cublas KERNEL 0 0
done_testing

#!/bin/sh
# Captures and what the GPU did, on the stand-ins: work launched in a capture is there, all of it and no other, with what
# existed before; in the process that asked and in others.
. tests/lib.sh
GPU=$B/tests/gpu
STANDIN=$B/tests/standin
[ -f "$STANDIN/libcupti.so.13" ] || skip_all 'the stand-ins are not built'
LD_LIBRARY_PATH=$STANDIN${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
SIGHTLINE_CUPTI=$STANDIN/libcupti.so.13 # whatever toolkit is installed here
export LD_LIBRARY_PATH SIGHTLINE_CUPTI

kernels() { # of the report $R, by process and name
	q "$R" "SELECT s.value, count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.shortName
		GROUP BY k.globalPid, 1 ORDER BY 1, 2" 2>&1
}
calls() {
	q "$R" "SELECT s.value, count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN StringIds s ON s.id = r.nameId
		WHERE s.value GLOB 'cudaLaunchKernel*' OR s.value GLOB 'cudaProfiler*' GROUP BY 1 ORDER BY 1" 2>&1
}

for flush in 1000 0; do
	profile one -t cuda -c cudaProfilerApi --capture-range-end=stop --cuda-flush-interval=$flush "$GPU/range" 1 >out 2>err
	is "$?" 0 "runs, flushed every $flush ms"
	is "$(kernels)" 'inside_us10|7' 'kernels of the capture, and no others'
	is "$(calls | sed 's/_v[0-9]*|/|/')" 'cudaLaunchKernel|7
cudaProfilerStart|1
cudaProfilerStop|1' 'calls of the capture, with its beginning and its end'
	is "$(sqlite3 "$R" "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL k LEFT JOIN CUPTI_ACTIVITY_KIND_RUNTIME r USING (correlationId)
		WHERE r.correlationId IS NULL" 2>&1)" 0 'each leads to its call'
	is "$(sqlite3 "$R" "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN TARGET_INFO_CUDA_STREAM s ON s.streamId = k.streamId" 2>&1)" 7 \
		'the stream that was there before is known'
	is "$(sqlite3 "$R" 'SELECT count(*) FROM TARGET_INFO_CUDA_DEVICE; SELECT count(*) FROM TARGET_INFO_CUDA_CONTEXT_INFO' 2>&1)" '1
1' 'device and context from before the capture are known'
	is "$(q "$R" "SELECT * FROM SL_LOST_EVENTS WHERE $RECORDS" 2>&1)" '' 'nothing lost'
done

profile end -t cuda -c cudaProfilerApi "$GPU/range" 100 >out 2>err
is "$?" 143 'the capture ends the program'
is "$(kernels)" 'inside_us10|7' 'what the GPU did until then is there'
is "$(q "$R" "SELECT text FROM DIAGNOSTIC_EVENT WHERE text LIKE '%missing%'" 2>&1)" '' 'what the GPU did until the end is known to be all'

profile two -t cuda -c cudaProfilerApi --capture-range-end=stop "$GPU/range" two >out 2>err
is "$?" 0 'two processes: runs'
is "$(kernels)" 'inside_us10|4
inside_us10|7' 'the one that did not ask, too'

profile nvtx -t cuda,nvtx -c nvtx -p step --capture-range-end=stop "$GPU/range" nvtx >out 2>err
is "$?" 0 'an NVTX range: runs'
is "$(kernels)" 'inside_us10|7' 'kernels of the range, and no others'
is "$(q "$R" "SELECT coalesce(n.text, s.value), n.end IS NOT NULL FROM NVTX_EVENTS n LEFT JOIN StringIds s ON s.id = n.textId
	WHERE n.eventType = 59" 2>&1)" 'step|1' 'the NVTX range itself is whole'

profile again -t cuda -c cudaProfilerApi --capture-range-end=repeat:3 "$GPU/range" 3 >out 2>err
is "$?" 0 'three captures: runs'
for R in "$W"/again*.sqlite; do
	is "$(kernels)" 'inside_us10|7' "kernels of ${R##*/}"
done
is "$(find "$W" -name 'again*.sqlite' | wc -l)" 3 'each capture has a report'
rm -f "$W"/again*.sqlite

# A version that must not disable kernels: it reports those before, between and after as well.
STANDIN_CUPTI_VERSION=130000
export STANDIN_CUPTI_VERSION
profile again -t cuda -c cudaProfilerApi --capture-range-end=repeat:3 "$GPU/range" 3 >out 2>err
for R in "$W"/again*.sqlite; do
	is "$(kernels)" 'inside_us10|7' "kernels that stay enabled, ${R##*/}"
done
profile stays -t cuda,nvtx -c nvtx -p step --capture-range-end=stop --cuda-flush-interval=100 "$GPU/range" nvtx >out 2>err
is "$(kernels)" 'inside_us10|7' 'kernels that stay enabled, an NVTX range'
done_testing

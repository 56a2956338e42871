#!/bin/sh
# gpu_memory.t - reports on memory of a program whose peak, leaks and pool are known (tests/gpu/memory.c), on the stand-ins: as the program
# counts them itself; the track of memory in a time line.
# shellcheck disable=SC2016
. tests/lib.sh
[ -x "$PY" ] || skip_all 'no python3'
GPU=$B/tests/gpu
STANDIN=$B/tests/standin
[ -f "$STANDIN/libcupti.so.13" ] || skip_all 'the stand-ins are not built'
LD_LIBRARY_PATH=$STANDIN${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
SIGHTLINE_CUPTI=$STANDIN/libcupti.so.13
export LD_LIBRARY_PATH SIGHTLINE_CUPTI

st() { "$BIN" stats -q -f csv:nohdr -r "$1" "$R" | sed '/^$/d'; }
of() { awk -v what="$1" '$1 == what { print $2 }' said; }

profile memory -t cuda --cuda-memory-usage=true --cudabacktrace=all:0 "$GPU/memory" >said 2>err
is "$(st cuda_mem_peak | awk -F, '$2 == 0 { print $3, $10 }')" "$(of peak) cudaMalloc" 'the peak, and the call that reached it'
is "$(st cuda_mem_peak | awk -F, '$2 == 0 { print $11 }' | grep -o '^grow ([^)]*) <- step ([^)]*) <- main ' | sed 's/:[0-9]*//g')" \
	'grow (memory.c) <- step (memory.c) <- main ' 'its stack'
is "$(st cuda_mem_peak | awk -F, '$2 == 1 { print $3, $11 }' | grep -o '^[0-9]* grow ([^)]*) <- main ' | sed 's/:[0-9]*//g')" \
	'8388608 grow (memory.c) <- main ' 'what was largest then, and its stack'
is "$(st cuda_mem_peak | wc -l)" 11 'and the ten largest'
is "$(st cuda_mem_leaks | awk -F, '{ print $1, $2, $7, $10, $11 }')" "$(of leak) 12 process Device cudaMalloc
$(of host) 1 process Pinned cudaMallocHost" 'what was never given back'
is "$(st cuda_mem_leaks | sed -n 1p | grep -o ',forget ([^)]*) <- step ' | sed 's/:[0-9]*//')" ',forget (memory.c) <- step ' 'by its stack'
is "$(st cuda_mem_sum | awk -F, '{ print $1, $3, $6, $8, $9, $12 }')" "$((8388608 + 3145728 + 11 * 1048576)) 25 12 0 0 Device
5242880 2 0 0 0 Device
54321 1 0 0 0 Managed
12345 1 1 0 0 Pinned" 'the sums'
is "$(st cuda_mem_pool_sum | cut -d, -f1-3,5,6,8-10)" '6291456,5242880,6291456,0,0,2,1,created destroyed' 'the pool: reserved, used, unused'
"$BIN" export -q -t chrome -o line.json "$R"
is "$("$PY" -c '
import json
values = [v for e in json.load(open("line.json"))["traceEvents"] if e["ph"] == "C" and e["name"].startswith("GPU memory: device") for v in e["args"].values()]
print(max(values), values[-1])')" "$((8388608 + 3145728 + 11 * 1048576)) $(of leak)" 'the track in a time line: its peak and its end'
profile none -t cuda "$GPU/memory" >said 2>err
is "$("$BIN" stats -r cuda_mem_peak "$R" | grep -c SKIPPED)" 1 'without --cuda-memory-usage there is none'
done_testing

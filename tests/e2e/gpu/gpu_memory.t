#!/bin/sh
# gpu_memory.t - reports on memory of a program whose peak, leaks and pool are known (tests/gpu/memory.c), on the stand-ins: as the program
# counts them itself; the track of memory in a time line.
# shellcheck disable=SC2016
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
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
	'grow (memory.c) <- step (memory.c) <- main ' 'the call that reached the peak has its stack'
is "$(st cuda_mem_peak | awk -F, '$2 == 1 { print $3, $11 }' | grep -o '^[0-9]* grow ([^)]*) <- main ' | sed 's/:[0-9]*//g')" \
	'8388608 grow (memory.c) <- main ' 'what was largest then, and its stack'
is "$(st cuda_mem_peak | wc -l)" 11 'cuda_mem_peak lists the ten largest'
is "$(st cuda_mem_leaks | awk -F, '{ print $1, $2, $7, $10, $11 }')" "$(of leak) 12 process Device cudaMalloc
$(of host) 1 process Pinned cudaMallocHost" 'what was never given back'
is "$(st cuda_mem_leaks | sed -n 1p | grep -o ',forget ([^)]*) <- step ' | sed 's/:[0-9]*//')" ',forget (memory.c) <- step ' 'what was not freed is listed by its stack'
is "$(st cuda_mem_sum | awk -F, '{ print $1, $3, $6, $8, $9, $12 }')" "$((8388608 + 3145728 + 11 * 1048576)) 25 12 0 0 Device
5242880 2 0 0 0 Device
54321 1 0 0 0 Managed
12345 1 1 0 0 Pinned" 'sums of memory by kind'
is "$(st cuda_mem_pool_sum | cut -d, -f1-3,5,6,8-10)" '6291456,5242880,6291456,0,0,2,1,created destroyed' 'the pool: reserved, used, unused'
"$BIN" export -q -t chrome -o line.json "$R"
is "$("$PY" -c '
import json
values = [v for e in json.load(open("line.json"))["traceEvents"] if e["ph"] == "C" and e["name"].startswith("GPU memory: device") for v in e["args"].values()]
print(max(values), values[-1])')" "$((8388608 + 3145728 + 11 * 1048576)) $(of leak)" 'the track in a time line: its peak and its end'
# ---- rules ----
finds() { "$BIN" analyze -q -f json -r cuda_mem_full,cuda_mem_growth "$R" | "$PY" -c '
import json, re, sys
for f in json.load(sys.stdin)["findings"]: print(f["rule"], f["severity"], re.sub(r":[0-9]+|; at that rate.*steps", "", f["finding"]))'; }
profile grows -t cuda,nvtx --cuda-memory-usage=true --cudabacktrace=all:0 "$GPU/memory" >said 2>err
is "$(finds)" 'cuda_mem_growth info Allocated memory of GPU 0 grew by 1.05 MB per step: 12.6 MB at the end of step 4, 21.0 MB at the end of step 12. Most of it is allocated by forget (memory.c) <- step (memory.c) <- main (memory.c).' \
	'what each step keeps, and where'
profile clean -t cuda,nvtx --cuda-memory-usage=true --cudabacktrace=all:0 "$GPU/memory" clean >said 2>err
is "$(finds)$(st cuda_mem_leaks | cut -d, -f1)" "$(of host)" 'the same steps that free what they take: nothing'
profile tight -t cuda,nvtx --cuda-memory-usage=true --cudabacktrace=all:0 "$GPU/memory" tight >said 2>err
is "$(finds | grep full)" 'cuda_mem_full bad 1 allocation failed because no memory was left on the GPU.
cuda_mem_full info 99.0 % of the memory of GPU 0 was allocated at its peak: 17.0 GB of 17.2 GB; it was reached by grow (memory.c) <- step (memory.c) <- main (memory.c).' \
	'memory nearly full, and an allocation that fails'

profile none -t cuda "$GPU/memory" >said 2>err
is "$("$BIN" stats -r cuda_mem_peak "$R" | grep -c SKIPPED)" 1 'cuda_mem_peak is skipped in a report without --cuda-memory-usage'
done_testing

#!/bin/sh
# gpu_numbers.t - device 0 of two processes is two GPUs (CUDA_VISIBLE_DEVICES): every output calls a GPU by its number.
. tests/lib.sh
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'

# Process 100 has GPU 5 as its device 0, process 200 GPU 6; each launches, copies, waits and allocates.
sqlite3 two.sqlite <"$TOP/collector/schema.sql" || exit 1
"$PY" - <<'E' || exit 1
import sqlite3
db = sqlite3.connect('two.sqlite')
names = ['main', 'axpy', 'void axpy(float*)', '_Z4axpyPf', 'cudaLaunchKernel_v7000', 'cudaMemcpy_v3020', 'cudaDeviceSynchronize_v3020', 'cudaMalloc_v3020']
db.executemany('INSERT INTO StringIds VALUES (?, ?)', list(enumerate(names, 1)))
db.execute("INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.28.1')")
db.execute('INSERT INTO ANALYSIS_DETAILS VALUES (1 << 48, 1000000000, 0, 1000000000)')
row = lambda table, **v: db.execute('INSERT INTO %s (%s) VALUES (%s)' % (table, ', '.join(v), ', '.join('?' * len(v))), list(v.values()))
call = 0
for pid, gpu in ((100, 5), (200, 6)):
    process, thread = 1 << 48 | pid << 24, 1 << 48 | pid << 24 | pid
    row('PROCESSES', globalPid=process, pid=pid, name='app%d' % pid)
    row('ThreadNames', nameId=1, priority=20, globalTid=thread)
    row('TARGET_INFO_GPU', vmId=1 << 48, id=gpu, name='Toy', memoryBandwidth=10 ** 9, smCount=8)
    row('TARGET_INFO_CUDA_DEVICE', gpuId=gpu, cudaId=0, pid=pid)
    work = dict(deviceId=0, contextId=1, streamId=7, globalPid=process)
    for i in range(200):
        at = i * 4000000
        call += 3
        for n, name, length in ((0, 5, 2000), (1, 6, 900000), (2, 7, 1500000)):
            row('CUPTI_ACTIVITY_KIND_RUNTIME', start=at + n * 1000000, end=at + n * 1000000 + length, eventClass=0, globalTid=thread,
                correlationId=call + n, nameId=name, returnValue=0)
        row('CUPTI_ACTIVITY_KIND_KERNEL', start=at + 10000, end=at + 12000, correlationId=call, demangledName=3, shortName=2, mangledName=4,
            registersPerThread=32, gridX=4, gridY=1, gridZ=1, blockX=64, blockY=1, blockZ=1, staticSharedMemory=0, dynamicSharedMemory=0,
            localMemoryPerThread=0, localMemoryTotal=0, gridId=i, tensorSizeMinusOneElements='[]', **work)
        row('CUPTI_ACTIVITY_KIND_MEMCPY', start=at + 1100000, end=at + 1800000, correlationId=call + 1, bytes=4096, copyKind=1, srcKind=0, dstKind=2,
            **work)
        row('CUPTI_ACTIVITY_KIND_MEMSET', start=at + 1900000, end=at + 1950000, correlationId=call, value=0, bytes=4096, memKind=2, **work)
        row('CUPTI_ACTIVITY_KIND_SYNCHRONIZATION', start=at + 2000000, end=at + 3500000, correlationId=call + 2, syncType=4, eventId=4294967295, **work)
        row('CUDA_GPU_MEMORY_USAGE_EVENTS', start=at + 5, globalPid=process, deviceId=0, contextId=1, address=4096 * (i + 1), pc=0, bytes=4096,
            memKind=2, memoryOperationType=0, correlationId=call, streamId=7, localMemoryPoolAddress=77, localMemoryPoolReleaseThreshold=0,
            localMemoryPoolSize=1 << 20, localMemoryPoolUtilizedSize=4096 * (i + 1))
db.commit()
E

cat >numbers.py <<'E'
"""The numbers behind "GPU " or in brackets behind its name, and in columns about devices, of a text."""
import csv, re, sys
text = sys.stdin.read()
found = set(re.findall(r'GPU (\d+)', text)) | set(re.findall(r'Toy \((\d+)\)', text))
rows = [r for r in csv.reader(text.splitlines())]
for i, head in enumerate(rows):
    for at, name in enumerate(head):
        if name in ("Device", "Device ID", "DevId", "GPU"):
            found |= {r[at] for r in rows[i + 1:] if len(r) == len(head) and r[at].isdigit()}
print(' '.join(sorted(found)))
E
numbers() { "$PY" numbers.py; }

for report in cuda_gpu_trace cuda_kern_exec_sum cuda_kern_exec_trace cuda_mem_sum cuda_mem_leaks cuda_mem_peak cuda_mem_pool_sum; do
	is "$("$BIN" stats -q -f csv -r $report two.sqlite | numbers)" '5 6' "stats -r $report calls GPUs by their numbers"
done
for rule in cuda_default_stream cuda_small_copies cuda_copy_exposed cuda_memcpy_sync cuda_memset_sync cuda_sync_idle gpu_gaps gpu_time_util gpu_imbalance \
	cuda_small_kernels cuda_copy_bandwidth cuda_memcpy_async stream_imbalance nccl_exposed data_loading; do
	"$BIN" analyze -q -f csv -r $rule two.sqlite 2>err | numbers >found
	case $(cat found) in
	'' | 5 | 6 | '5 6') result 0 "rule $rule calls GPUs by their numbers" ;;
	*) result 1 "rule $rule calls GPUs by their numbers" && cat found err | diag ;;
	esac
done
is "$("$BIN" analyze -q -f csv -r cuda_small_copies,cuda_sync_idle two.sqlite | numbers)" '5 6' 'rules have both GPUs'
is "$("$BIN" export -q -t text -a kernel,gpu-mem -o - two.sqlite | numbers)" '5 6' 'export -t text calls GPUs by their numbers'
"$BIN" export -q -t chrome -a kernel,gpu-mem,sync,cuda-api,memory -o two.json two.sqlite
is "$(numbers <two.json)" '5 6' 'export -t chrome calls tracks of GPUs by their numbers'
is "$("$PY" -c '
import json
print(sorted({e["args"]["device"] for e in json.load(open("two.json"))["traceEvents"] if "device" in e.get("args", {})}))')" '[5, 6]' \
	'export -t chrome has the numbers of GPUs as arguments'
"$BIN" export -q -t perfetto -a kernel,gpu-mem -o two.pf two.sqlite
is "$(strings -n 5 two.pf | grep -o 'GPU [0-9]*: Toy' | sort -u | tr '\n' ' ')" 'GPU 5: Toy GPU 6: Toy ' 'export -t perfetto calls GPUs by their numbers'
"$BIN" report -q -o two.html two.sqlite >said 2>&1
is "$(grep -o 'GPU [0-9][0-9]*, Toy' two.html | sort -u | tr '\n' ' ')" 'GPU 5, Toy GPU 6, Toy ' 'report calls GPUs by their numbers'
is "$("$BIN" ncu --kernel=axpy two.sqlite 2>err | grep -o 'GPU [0-9]*' | sort -u | tr '\n' ' ')" 'GPU 5 GPU 6 ' 'ncu calls GPUs by their numbers'
is "$("$BIN" export -q -t jsonlines --tables=CUPTI_ACTIVITY_KIND_KERNEL -o - two.sqlite | grep -o '"deviceId":[0-9]*' | sort -u)" '"deviceId":0' \
	'columns of tables keep the number of the process'
done_testing

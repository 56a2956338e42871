#!/bin/sh
# nvprof.t - databases of nvprof, which the Visual Profiler reads: named as such, and read as far as their tables are CUPTI's.
. tests/lib.sh
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'

"$PY" - <<'E' || exit 1
import sqlite3, struct
db = sqlite3.connect('run.nvprof')
ID = '_id_ INTEGER PRIMARY KEY AUTOINCREMENT, '
T0 = 1496933427584362152
def table(name, columns):
    db.execute('CREATE TABLE %s (%s%s)' % (name, ID, ', '.join(c + (' BLOB' if c == 'objectId' else ' INT NOT NULL') for c in columns.split())))
def row(into, **v):
    db.execute('INSERT INTO %s (%s) VALUES (%s)' % (into, ', '.join(v), ', '.join('?' * len(v))), list(v.values()))
db.execute('CREATE TABLE Version (version INTEGER)')
db.execute('INSERT INTO Version VALUES (11)')
db.execute('CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, value TEXT NOT NULL UNIQUE)')
for i, text in ((1, '_Z4axpyIfEvPT_'), (2, 'Tesla V100'), (3, 'step'), (4, 'not_mangled'), (5, 'mark')):
    db.execute('INSERT INTO StringTable VALUES (?, ?)', (i, text))
for name in ('RUNTIME', 'DRIVER'):
    table('CUPTI_ACTIVITY_KIND_' + name, 'cbid start end processId threadId correlationId returnValue')
table('CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL', 'registersPerThread start end completed deviceId contextId streamId gridX gridY gridZ blockX blockY '
      'blockZ staticSharedMemory dynamicSharedMemory localMemoryPerThread localMemoryTotal correlationId gridId name')
table('CUPTI_ACTIVITY_KIND_MEMCPY', 'copyKind srcKind dstKind flags bytes start end deviceId contextId streamId correlationId runtimeCorrelationId')
table('CUPTI_ACTIVITY_KIND_MEMSET', 'value bytes start end deviceId contextId streamId correlationId flags memoryKind')
table('CUPTI_ACTIVITY_KIND_MARKER', 'flags timestamp id objectKind objectId name domain')
table('CUPTI_ACTIVITY_KIND_DEVICE', 'globalMemoryBandwidth globalMemorySize l2CacheSize coreClockRate numMultiprocessors id name')
table('CUPTI_ACTIVITY_KIND_METRIC', 'id value')
row('CUPTI_ACTIVITY_KIND_METRIC', id=1, value=2)
row('CUPTI_ACTIVITY_KIND_DEVICE', globalMemoryBandwidth=898048000, globalMemorySize=1 << 34, l2CacheSize=6291456, coreClockRate=1530000, numMultiprocessors=80, id=0, name=2)
main, other = 0x7f0011223344 & 0xFFFFFFFF, -5
thread = lambda t: struct.pack('<III', 77, t & 0xFFFFFFFF, 0)
row('CUPTI_ACTIVITY_KIND_MARKER', flags=2, timestamp=T0 + 500, id=1, objectKind=2, objectId=thread(main), name=3, domain=0)
row('CUPTI_ACTIVITY_KIND_MARKER', flags=4, timestamp=T0 + 9500, id=1, objectKind=2, objectId=thread(main), name=0, domain=0)
row('CUPTI_ACTIVITY_KIND_MARKER', flags=1, timestamp=T0 + 600, id=2, objectKind=2, objectId=thread(main), name=5, domain=0)
for i in range(3):
    at, c = T0 + 1000 + 2000 * i, 10 + 3 * i
    # cudaLaunchKernel and, of the last one, a call of the driver; the memset has a call that no version knows.
    row('CUPTI_ACTIVITY_KIND_DRIVER' if i == 2 else 'CUPTI_ACTIVITY_KIND_RUNTIME', cbid=307 if i == 2 else 211, start=at, end=at + 100, processId=77,
        threadId=main if i else other, correlationId=c, returnValue=0)
    row('CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL', registersPerThread=32, start=at + 150, end=at + 1150, completed=0, deviceId=0, contextId=1, streamId=7,
        gridX=8, gridY=1, gridZ=1, blockX=64, blockY=1, blockZ=1, staticSharedMemory=0, dynamicSharedMemory=16, localMemoryPerThread=0,
        localMemoryTotal=0, correlationId=c, gridId=i, name=4 if i == 1 else 1)
    row('CUPTI_ACTIVITY_KIND_RUNTIME', cbid=31, start=at + 200, end=at + 300, processId=77, threadId=main, correlationId=c + 1, returnValue=0)
    row('CUPTI_ACTIVITY_KIND_MEMCPY', copyKind=1, srcKind=1, dstKind=3, flags=0, bytes=4096, start=at + 1200, end=at + 1300, deviceId=0, contextId=1,
        streamId=7, correlationId=c + 1, runtimeCorrelationId=0)
    row('CUPTI_ACTIVITY_KIND_RUNTIME', cbid=99999, start=at + 310, end=at + 320, processId=77, threadId=main, correlationId=c + 2, returnValue=1)
    row('CUPTI_ACTIVITY_KIND_MEMSET', value=0, bytes=64, start=at + 1400, end=at + 1410, deviceId=0, contextId=1, streamId=7, correlationId=c + 2, flags=0,
        memoryKind=3)
# Work that was never done has no times.
row('CUPTI_ACTIVITY_KIND_MEMSET', value=0, bytes=64, start=0, end=0, deviceId=0, contextId=1, streamId=7, correlationId=900, flags=0, memoryKind=0)
db.commit()
E

md5sum run.nvprof >before
"$BIN" info run.nvprof >said 2>err
is "$? $(cut -d: -f 2- err)" '0  run.nvprof: the tables CUPTI_ACTIVITY_KIND_METRIC of nvprof were left out' 'info reads a database of nvprof and names what it leaves out'
is "$(md5sum run.nvprof)" "$(cat before)" 'the database of nvprof stays as it is'
R=run.nvprof.sqlite
ask() { sqlite3 -separator ' ' "$R" "$1"; }
is "$(ask 'SELECT s.value, d.value, m.value, k.start, k.end - k.start, deviceId, streamId, gridX, blockX, dynamicSharedMemory, correlationId FROM CUPTI_ACTIVITY_KIND_KERNEL AS k
	JOIN StringIds AS s ON s.id = shortName JOIN StringIds AS d ON d.id = demangledName JOIN StringIds AS m ON m.id = mangledName')" \
	'axpy void axpy<float>(float*) _Z4axpyIfEvPT_ 650 1000 0 7 8 64 16 10
not_mangled not_mangled not_mangled 2650 1000 0 7 8 64 16 13
axpy void axpy<float>(float*) _Z4axpyIfEvPT_ 4650 1000 0 7 8 64 16 16' 'kernels have their names, times, sizes and calls'
is "$(ask 'SELECT eventClass, s.value, count(*), sum(end - start), count(DISTINCT globalTid) FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds AS s ON s.id = nameId
	GROUP BY 1, 2 ORDER BY 1, 2')" '0 [unknown call 99999 of the runtime] 3 30 1
0 cudaLaunchKernel_v7000 2 200 2
0 cudaMemcpy_v3020 3 300 1
1 cuLaunchKernel 1 100 1' 'calls of runtime and driver have the names that CUPTI gives their numbers'
is "$(ask 'SELECT o.label, a.label, b.label, sum(bytes), sum(end - start), count(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY JOIN ENUM_CUDA_MEMCPY_OPER AS o ON o.id = copyKind
	JOIN ENUM_CUDA_MEM_KIND AS a ON a.id = srcKind JOIN ENUM_CUDA_MEM_KIND AS b ON b.id = dstKind')" 'Host-to-Device Pageable Device 12288 300 3' 'copies have their kinds'
is "$(ask 'SELECT count(*), sum(bytes), sum(end - start) FROM CUPTI_ACTIVITY_KIND_MEMSET')" '3 192 30' 'fills that were done are there'
is "$(ask 'SELECT start, end, eventType, text, globalTid >> 24 & 16777215 FROM NVTX_EVENTS')" '0 9000 59 step 77
100  34 mark 77' 'ranges and marks of NVTX are there'
is "$(ask 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL AS k JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS r USING (correlationId) WHERE r.globalTid >> 24 = k.globalPid >> 24')" 3 \
	'kernels find their calls'
is "$(ask 'SELECT g.name, smCount, totalMemory, memoryBandwidth, clockRate, d.pid FROM TARGET_INFO_GPU AS g JOIN TARGET_INFO_CUDA_DEVICE AS d ON d.gpuId = g.id')" \
	'Tesla V100 80 17179869184 898048000000 1530000000 77' 'the GPU has its facts'
is "$(ask 'SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME')" 1496933427584362652 'time 0 is that of the first event'
is "$("$BIN" stats -q -r cuda_gpu_kern_sum:base -f csv run.nvprof | cut -d, -f 2,3,9 | sed -n 2,3p)" '2000,2,axpy
1000,1,not_mangled' 'stats sums up the kernels'
for command in analyze why 'export -t text -o -' 'export -t chrome -f true -o x.json' 'export -t perfetto -f true -o x.pf' ncu 'report -f true -o r.html'; do
	# shellcheck disable=SC2086 # words
	"$BIN" $command run.nvprof >out 2>err
	is "$? $(grep -c . err)" '0 0' "$command reads a database of nvprof" || diag <err
done
"$BIN" export -q -t sqlite -o plain.sqlite run.nvprof
is "$? $(sqlite3 plain.sqlite 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL')" '0 3' 'export writes a database in the shape of nsys'

if ls "$B"/toolkits/*/include/cupti_runtime_cbid.h >/dev/null 2>&1; then
	check 'the numbers of calls are those of CUPTI' "$PY" - "$TOP/exporters/read/nvprof/calls.def" "$B"/toolkits/1[12].*/include/cupti_*_cbid.h <<'E'
import re, sys
calls = re.findall(r'CALL\((\w+), (\d+), (\w+)\)', open(sys.argv[1]).read())
named = {}
for path in sys.argv[2:]:
    for kind, name, number in re.findall(r'CUPTI_(RUNTIME|DRIVER)_TRACE_CBID_(\w+)\s*=\s*(\d+)\s*,', open(path).read()):
        if name not in ('INVALID', 'SIZE'):
            named.setdefault((kind.lower(), number), set()).add(name)
assert {(k, n) for k, n, _ in calls} == set(named), {(k, n) for k, n, _ in calls} ^ set(named)
assert all(name in named[k, n] for k, n, name in calls)
E
else
	skip 'the numbers of calls are those of CUPTI' 'no toolkit is here (make toolkits)'
fi

# ---- others ----
sqlite3 empty.nvvp 'CREATE TABLE StringTable(_id_ INTEGER PRIMARY KEY, value TEXT); CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (_id_ INTEGER)'
is "$("$BIN" stats -q -r cuda_api_sum empty.nvvp >out 2>err; echo "$? $(grep -c . err)")" '0 0' 'a database of nvprof with other columns is read as far as it goes'
sqlite3 views.nvvp "CREATE TABLE StringTable(_id_ INTEGER PRIMARY KEY, value TEXT); CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(start) AS (
	SELECT 1 UNION ALL SELECT start + 1 FROM n) SELECT start FROM n"
is "$(timeout 20 "$BIN" info views.nvvp >out 2>err; echo $?)" 0 'a view in place of a table is not read: it may not end'
cp run.nvprof cut.nvprof && truncate -s 12288 cut.nvprof
"$BIN" info cut.nvprof >out 2>err
is "$? $(grep -c . err) $(find . -name 'cut.nvprof.*')" '1 1 ' 'a database of nvprof that is cut off leaves no database'
done_testing

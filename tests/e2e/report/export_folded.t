#!/bin/sh
# export_folded.t - stacks for flame graphs: folded and for speedscope, against sums worked out by hand.
. tests/lib.sh
GOLD=$TOP/tests/golden/export
REAL=$TOP/../shared/data/nsys
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'

ex() { "$BIN" export -t "$@"; }
folded() { ex folded -o - "$@" | sort; }
speedscope() {
	ex speedscope -f true -o speedscope.json "$@" && "$PY" "$E2E/report/speedscope.py" speedscope.json
}
for r in stacks small; do
	sqlite3 $r.sqlite <"$TOP/collector/schema.sql" && sqlite3 $r.sqlite <"$GOLD/$r.sql" || exit 1
done
md5sum ./*.sqlite >before.md5

is "$(folded stacks.sqlite)" 'app;app;main;work 3
app;app;main;work;std::vector<int>: sort 1
app;thread;main;[kernel] 1
app;thread;main;read 2' 'folded has samples where there are some'
is "$(speedscope stacks.sqlite)" 'app 100, app 100 | main;work 3
app 100, app 100 | main;work;std::vector<int>; sort 1
app 100, thread 101 | main;[kernel] 1
app 100, thread 101 | main;read 2' 'speedscope has samples where there are some'
want='app;app;step 800
app;app;step;cublasSgemm_v2 200
app;app;step;cublasSgemm_v2;cudaLaunchKernel 100
app;app;step;read 300
app;app;step;read;inner 100
app;thread;fread 50'
is "$(folded -a nvtx,library,cuda-api,osrt stacks.sqlite)" "$want" 'folded has the time of ranges and calls, less what they enclose'
is "$(speedscope -a nvtx,library,cuda-api,osrt stacks.sqlite)" 'app 100, app 100 | step 800
app 100, app 100 | step;cublasSgemm_v2 200
app 100, app 100 | step;cublasSgemm_v2;cudaLaunchKernel 100
app 100, app 100 | step;read 300
app 100, app 100 | step;read;inner 100
app 100, thread 101 | fread 50' 'speedscope has the time of ranges and calls'
sqlite3 stacks.sqlite .dump | sed '/COMPOSITE_EVENTS/d' >dump.sql
sqlite3 unsampled.sqlite <dump.sql 2>/dev/null
is "$(folded unsampled.sqlite)" "$want" 'folded without samples has the time of ranges and calls'
is "$(folded -a nvtx stacks.sqlite)" 'app;app;step 1400
app;app;step;inner 100' 'folded -a nvtx has ranges alone'
is "$(folded -a sched stacks.sqlite)" 'app;app;off CPU: runnable 100
app;app;off CPU: waiting for I/O 400
app;app;on CPU 650' 'folded -a sched has the time on the CPU, and off it by the reason'
is "$(folded -a nvtx,sched stacks.sqlite)" "$(folded -a nvtx stacks.sqlite)" 'folded -a nvtx,sched: switches do not nest with ranges'
is "$(folded -a kernel,memcpy small.sqlite)" 'app;GPU 0: Toy GPU;stream 7;Memcpy HtoD (Pageable -> Device) 100
app;GPU 0: Toy GPU;stream 7;gemm 1300
other;GPU 0: Toy GPU;stream 7;Memset (Device) 100' 'folded -a kernel,memcpy has the time of the GPU'
is "$(folded --time=2.05us-2.25us -a cuda-api small.sqlite)" 'app;app;cudaLaunchKernel 100' 'folded --time cuts calls at its ends'
ex folded -a nvtx -o packed.folded.gz stacks.sqlite
is "$(gzip -dc packed.folded.gz | sort)" "$(folded -a nvtx stacks.sqlite)" 'folded named .gz is the same, packed'
is "$(speedscope -a all small.sqlite | wc -l)" 1 'speedscope of a report with one sample has one line'
"$PY" - <<'EOT'
import sqlite3
db = sqlite3.connect('unsampled.sqlite')
db.execute('DELETE FROM NVTX_EVENTS')
# 40 threads with 1000 ranges in ranges each: more than a block of the temporary file
for t in range(40):
    db.executemany('INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId) VALUES (?, ?, 59, ?, ?, 0)',
                   [(i * 10 + d, i * 10 + 10 - d, f'r{i % 3}.{d}', 281476654433000 + t) for i in range(500) for d in range(2)])
db.commit()
EOT
speedscope -a nvtx unsampled.sqlite | sed 's/.* | //' | "$PY" -c '
import collections, sys
c = collections.Counter()
for line in sys.stdin:
    stack, n = line.rsplit(" ", 1)
    c[stack] += int(n)
for k in sorted(c): print(k, c[k])' >speedscope.sum
is "$(cat speedscope.sum)" 'r0.0 13360
r0.0;r0.1 53440
r1.0 13360
r1.0;r1.1 53440
r2.0 13280
r2.0;r2.1 53120' 'speedscope of many threads and events has the sums of SQL'
is "$(folded -a nvtx unsampled.sqlite | sed 's/app;thread;//' | LC_ALL=C sort)" "$(LC_ALL=C sort speedscope.sum)" 'folded of many threads and events has the sums of SQL'
if [ -d "$REAL" ]; then
	for f in "$REAL"/*.sqlite; do
		cp "$f" real.sqlite && chmod u+w real.sqlite
		want=$(sqlite3 real.sqlite "SELECT ifnull(sum(end - start), 0) FROM $(sqlite3 real.sqlite .tables | tr -s ' \n' '\n' | grep -x -e CUPTI_ACTIVITY_KIND_KERNEL)")
		is "$(ex folded -a kernel -o - real.sqlite | grep -v 'CUDA graph' | awk '{ sum += $NF } END { printf "%d", sum }')" "$want" \
			"$(basename "$f" .sqlite): the sum of all stacks is the sum of all kernels"
		check "$(basename "$f" .sqlite): speedscope has a profile that nests" "$PY" "$E2E/report/speedscope.py" "$(ex speedscope -f true -o real.json real.sqlite; echo real.json)"
	done
else
	skip 'real reports: the sum of all stacks is the sum of all kernels' 'there are none here'
fi
check 'folded does not change a report' md5sum -c before.md5

# ---- numbers that PyTorch gives its operators ----
sqlite3 ops.sqlite "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT); CREATE TABLE NVTX_EVENTS(start, end, eventType, text, globalTid);
	INSERT INTO NVTX_EVENTS VALUES (0, 10, 59, 'aten::add, seq = 4, op_id = 1001', 16777217), (20, 25, 59, 'aten::add, seq = 31, op_id = 9', 16777217),
		(30, 37, 59, 'layer 3', 16777217), (40, 48, 59, 'layer 4', 16777217), (50, 51, 59, 'x = y', 16777217)"
is "$(ex folded -o - ops.sqlite 2>/dev/null | sed 's/.*;//' | sort | tr '\n' '|')" 'aten::add, seq = #, op_id = # 15|layer 3 7|layer 4 8|x = y 1|' \
	'folded sums up operators and keeps layers apart'

done_testing

#!/bin/sh
# stats_cuda.t - reports on CUDA, unified memory, libc and system calls: a database written by hand against figures
# that stats_cuda.py worked out (and that were looked through), the same with ids packed without the machine's
# number, databases with next to nothing in them, and real databases against stats_cuda.py.
. tests/lib.sh
GOLD=$TOP/tests/golden/reports
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'

st() { "$BIN" stats -q "$@"; }

# ---- written by hand ----
sqlite3 cuda.sqlite <"$GOLD/cuda.sql" || exit 1
sed 's/(1 << 48) + //g' "$GOLD/cuda.sql" >short.sql
sqlite3 short.sqlite <short.sql || exit 1
is "$(sqlite3 short.sqlite 'SELECT max(globalTid) >> 48 FROM CUPTI_ACTIVITY_KIND_RUNTIME')" 0 'ids of processes have no number of the machine'
md5sum ./*.sqlite >before.md5
reports=
for want in "$GOLD"/cuda-*.csv; do
	r=$(basename "$want" .csv)
	r=$(echo "${r#cuda-}" | tr + :)
	reports="$reports $r"
	for db in cuda short; do
		st -r "$r" -f csv $db.sqlite | sed '/^$/d' >got
		check "$r of $db.sqlite is as worked out by hand" diff -u "$want" got
	done
	"$PY" "$E2E/report/stats_cuda.py" cuda.sqlite "$r" csv >got
	check "$r: the golden figures are those worked out" diff -u "$want" got
done
st -r cuda_gpu_kern_gb_sum:nvtx-name,cuda_kern_exec_sum:base,um_total_sum,um_cpu_page_faults_sum -f column --timeunit usec \
	cuda.sqlite >got
check 'tables in columns are as worked out by hand' diff -u "$GOLD/cuda-column.txt" got

# ---- old names ----
for pair in apigpusum:cuda_api_gpu_sum cudaapisum:cuda_api_sum cudaapitrace:cuda_api_trace gpukerngbsum:cuda_gpu_kern_gb_sum \
	gpukernsum:cuda_gpu_kern_sum gpumemsizesum:cuda_gpu_mem_size_sum gpumemtimesum:cuda_gpu_mem_time_sum gpusum:cuda_gpu_sum \
	gputrace:cuda_gpu_trace kernexecsum:cuda_kern_exec_sum kernexectrace:cuda_kern_exec_trace unifiedmemory:um_sum \
	unifiedmemorytotals:um_total_sum umcpupagefaults:um_cpu_page_faults_sum osrtsum:osrt_sum; do
	is "$(st -r "${pair%:*}" -f csv cuda.sqlite)" "$(st -r "${pair#*:}" -f csv cuda.sqlite)" "${pair%:*} is the same as ${pair#*:}"
done

# ---- one row; all ties; none ----
cp cuda.sqlite one.sqlite
for table in RUNTIME KERNEL MEMCPY MEMSET; do
	sqlite3 one.sqlite "DELETE FROM CUPTI_ACTIVITY_KIND_$table WHERE rowid > 1"
done
is "$(st -r cuda_kern_exec_sum,cuda_api_gpu_sum,um_total_sum -f csv:nohdr one.sqlite | sed '/^$/d')" \
	'100,100,0,1,1,1150.0,1150.0,1150,1150,0.0,100.0,100.0,100,100,0.0,50.0,50.0,50,50,0.0,1000.0,1000.0,1000,1000,0.0,cudaLaunchKernel,"void add<float>(float const*, float*)"
47.6,1000,1,1000.0,1000.0,1000,1000,0.0,CUDA_KERNEL,"void add<float>(float const*, float*)"
38.1,800,1,800.0,800.0,800,800,0.0,MEMORY_OPER,[CUDA memset]
9.5,200,1,200.0,200.0,200,200,0.0,MEMORY_OPER,[CUDA memcpy Host-to-Device]
4.8,100,1,100.0,100.0,100,100,0.0,CUDA_API,cudaLaunchKernel
,,4,15,0x7F0000010000,0x7F0000200000' 'one row of each has no deviation, and sizes of nothing are empty'
sqlite3 one.sqlite 'DELETE FROM CUDA_UM_GPU_PAGE_FAULT_EVENTS; UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET globalPid = globalPid + (1 << 24)'
is "$(st -r um_sum -f csv:nohdr one.sqlite | sed '/^$/d')" '0x7F0000010000,0.000,0.000,3,,
0x7F0000040000,0.000,0.000,1,,' 'columns without any record are empty'
is "$(st -r cuda_kern_exec_trace,cuda_kern_exec_sum:nvtx-name -f csv:nohdr one.sqlite | grep -c .)" 0 'the correlation id of another process is another'
sqlite3 one.sqlite 'UPDATE CUPTI_ACTIVITY_KIND_MEMSET SET end = start; DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY; DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL'
is "$(st -r cuda_gpu_sum -f csv:nohdr one.sqlite | sed '/^$/d')" ',0,1,0.0,0.0,0,0,0.0,MEMORY_OPER,[CUDA memset]' 'a table of no time has no share'
sqlite3 none.sqlite 'CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)'
for r in $reports; do
	is "$(st -r "$r" -f csv none.sqlite; "$BIN" stats -r "$r" none.sqlite | grep -c 'SKIPPED: none.sqlite does not contain .* data')" 1 \
		"$r says that there is no data"
done
sqlite3 cuda.sqlite .schema | sqlite3 empty.sqlite
is "$(for r in $reports; do "$BIN" stats -r "$r" empty.sqlite; done | grep -c SKIPPED)" "$(echo "$reports" | wc -w)" 'reports say that there is no data in tables without rows'

# ---- and the same in the sqlite3 shell, which has no views for columns that are not there ----
cp cuda.sqlite shell.sqlite
sqlite3 shell.sqlite 'ALTER TABLE CUPTI_ACTIVITY_KIND_MEMCPY ADD greenContextId INTEGER; ALTER TABLE CUPTI_ACTIVITY_KIND_MEMSET ADD greenContextId INTEGER'
sqlite3 shell.sqlite 'CREATE TABLE IF NOT EXISTS SL_OSRT_TOTALS(nameId, count, totalNs, minNs, maxNs, bytes, errorCount, lostCount, lostTotalNs, isUntimed);
	CREATE TABLE IF NOT EXISTS SL_SYSCALL_TOTALS(nameId, count, totalNs, minNs, maxNs, errorCount)'
# The shell has no three decimals for megabytes.
rows() {
	"$PY" -c 'import csv, re, sys
csv.writer(sys.stdout, lineterminator="\n").writerows(
    [re.sub(r"^(-?\d+\.\d+?)0*$", r"\1", x) for x in row] for row in csv.reader(sys.stdin))'
}
for r in $reports; do
	case $r in *:rows=*) continue ;; esac
	{
		echo '.mode csv'
		echo '.headers on'
		echo "$r" | tr : '\n' | sed -n '1d; s/-/_/g; s/.*/.parameter set :& 1/p'
		"$BIN" stats --show-sql="${r%%:*}"
	} | sql_shell shell.sqlite 2>&1 | tr -d '\r' | rows >got
	rows <"$GOLD/cuda-$(echo "$r" | tr : +).csv" >want
	check "$r in the sqlite3 shell gives the same rows" diff -u want got
done
check 'stats of CUDA does not change a report' md5sum -c before.md5

# ---- real databases ----
cat >compare.py <<'EOP'
import json, sys
sys.path.insert(0, sys.argv[1])
import stats_cuda
got = json.load(sys.stdin)
name, *args = sys.argv[3].split(':')
want = stats_cuda.REPORTS[name](stats_cuda.Database(sys.argv[2]), args)
assert len(got) == len(want) > 0, (len(got), len(want))
for at, (g, w) in enumerate(zip(got, want)):
    assert list(g.items()) == list(w.items()), (at, [(k, g.get(k), w[k]) for k in w if g.get(k) != w[k]])
EOP
real=$TOP/../shared/data/nsys
[ -d "$real" ] || skip 'real databases: reports are those of Python, to the digit' 'they are not here'
for db in "$real"/*.sqlite; do
	[ -f "$db" ] || continue
	cp "$db" real.sqlite
	chmod u+w real.sqlite
	more=
	[ -z "$(sqlite3 real.sqlite "SELECT 1 FROM sqlite_master WHERE name = 'OSRT_API'")" ] || more=osrt_sum
	for r in cuda_api_sum cuda_api_trace cuda_gpu_kern_sum cuda_gpu_kern_sum:nvtx-name:base cuda_gpu_kern_gb_sum:mangled cuda_gpu_mem_size_sum \
		cuda_gpu_mem_time_sum cuda_gpu_sum:base cuda_api_gpu_sum cuda_gpu_trace:nvtx-name cuda_kern_exec_trace \
		cuda_kern_exec_sum cuda_kern_exec_sum:nvtx-name $more; do
		st -r "$r" -f json --limit=0 --max-bytes=0 real.sqlite >got.json
		check "$r of $(basename "$db") is that of Python, to the digit" "$PY" compare.py "$E2E/report" real.sqlite "$r" <got.json
	done
done
done_testing

#!/bin/sh
# stats_nvtx.t - reports of ranges, steps, MPI, directives, graphics and devices: small databases worked out by hand in
# tests/golden/reports/DATABASE-REPORT.csv (a "+" stands for the colon before arguments), and large ones against python.
. tests/lib.sh
GOLD=$TOP/tests/golden/reports
TRUTH=$E2E/report/stats_nvtx.py
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'

st() { "$BIN" stats -q -f csv "$@" | sed '/^$/d'; }
rows() { "$PY" -c '
import csv, sys
for row in csv.reader(sys.stdin): print(row)'; }

# ---- by hand, in the binary and in the sqlite3 shell ----
cat "$B/gen/report_tables.def" "$TOP/exporters/read/compat.def" >tables.def
"$PY" - tables.def >rest.sql <<'EOF'
import re, sys
for name, columns in re.findall(r'TABLE\((\w+),((?:\s*"[^"]*")+)\)', open(sys.argv[1]).read()):
    columns = ', '.join('"%s"' % c for c in ''.join(re.findall('"([^"]*)"', columns)).split())
    print('CREATE TABLE IF NOT EXISTS %s(%s);' % (name, columns))
EOF
for d in nvtx steps optimizer profiler mpi directives graphics devices; do
	sqlite3 "$d.sqlite" <"$GOLD/$d.sql" || exit 1
	cp "$d.sqlite" shell.sqlite
	sqlite3 shell.sqlite <rest.sql
	md5sum "$d.sqlite" >"$d.md5"
	for f in "$GOLD/$d"-*.csv; do
		r=$(basename "$f" .csv)
		r=$(echo "${r#"$d"-}" | tr + :)
		st -r "$r" "$d.sqlite" >got.csv
		check "$d: $r is as worked out by hand" diff -u "$f" got.csv
		case $r in *:*) continue ;; esac
		"$BIN" stats --show-sql="$r" | sql_shell -csv -header shell.sqlite 2>&1 | tr -d '\r' | rows >shell.rows
		rows <"$f" >want.rows
		check "$d: $r in the sqlite3 shell gives the same rows" diff -u want.rows shell.rows
	done
	check "$d: stats of NVTX does not change the report" md5sum -c "$d.md5"
done

# ---- other ids, older schemas ----
sed 's/(1<<48)+//g' "$GOLD/nvtx.sql" | sqlite3 plain.sqlite
for r in nvtx_pushpop_trace nvtx_gpu_proj_trace nvtx_kern_sum; do
	st -r $r plain.sqlite >got.csv
	check "$r: ids have no number of the machine" diff -u "$GOLD/nvtx-$r.csv" got.csv
done
# One process, whose GPU work does not say whose it is; no domains; no graphs.
cp nvtx.sqlite old.sqlite
sqlite3 old.sqlite 'DELETE FROM NVTX_EVENTS WHERE globalTid >> 24 & 0xFFFFFF = 100;
	DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE globalTid >> 24 & 0xFFFFFF = 100;
	DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE globalPid >> 24 & 0xFFFFFF = 100;
	DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY; DROP TABLE CUPTI_ACTIVITY_KIND_MEMSET; DROP TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
	ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP globalPid; ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP mangledName;
	ALTER TABLE NVTX_EVENTS DROP domainId; ALTER TABLE NVTX_EVENTS DROP endGlobalTid'
grep -E '^NVTX|,200,200,' "$GOLD/nvtx-nvtx_kern_sum.csv" >want.csv
st -r nvtx_kern_sum:mangled old.sqlite >got.csv
check 'nvtx_kern_sum reads an old schema' diff -u want.csv got.csv
st -r nvtx_gpu_proj_trace old.sqlite | cut -d, -f1-9 >got.csv
grep -E '^Name|,200,200,' "$GOLD/nvtx-nvtx_gpu_proj_trace.csv" | cut -d, -f1-9 >want.csv
check 'nvtx_gpu_proj_trace reads an old schema' diff -u want.csv got.csv

# ---- percentiles: nearest rank ----
is "$(st -r mpi_msg_size_sum --percentiles 50,90 mpi.sqlite | cut -d, -f7-9 | head -n 2 | tr '\n' ' ')" 'StdDev,P50,P90 353.6,500,1000 ' \
	'percentiles of bytes are those worked out by hand'
is "$(st -r nvtx_gpu_proj_sum --percentiles 50 nvtx.sqlite | cut -d, -f10-11 | head -n 2 | tr '\n' ' ')" \
	'Proj StdDev (ns),Proj P50 (ns) 3232.2,300 ' 'percentiles of projections are those worked out by hand'
is "$(st -r nvtx_kern_sum --percentiles 50 nvtx.sqlite | cut -d, -f12-13 | head -n 2 | tr '\n' ' ')" \
	'StdDev (ns),P50 (ns) 35.4,50 ' 'percentiles of kernels in ranges are those worked out by hand'

# ---- against python: random ranges with many calls, and real reports ----
"$PY" "$TRUTH" random random.sqlite || exit 1
against() { # DATABASE REPORT...
	against_db=$1
	shift
	for r; do
		st -r "$r" "$against_db" >got.csv
		check "$(basename "$against_db" .sqlite): $r is as Python computes it" "$PY" "$TRUTH" check "$against_db" "$r" got.csv
	done
}
NVTX='nvtx_sum nvtx_pushpop_sum nvtx_pushpop_trace nvtx_gpu_proj_trace nvtx_gpu_proj_sum nvtx_kern_sum'
# shellcheck disable=SC2086
against random.sqlite $NVTX nvtx_startend_sum step_trace
for f in nsysai_h100_2gpu_1s nsysai_mfu_2gpu_before nsysai_mfu_2gpu_after; do
	if [ -f "$TOP/../shared/data/nsys/$f.sqlite" ]; then
		cp "$TOP/../shared/data/nsys/$f.sqlite" . && chmod u+w $f.sqlite
		# shellcheck disable=SC2086
		against $f.sqlite $NVTX
	else
		skip "$f: reports are as Python computes them" 'the database is not here'
	fi
done

# ---- what we record ourselves: two threads, per step a copy in load, kernels in forward, backward and update, a copy back ----
if [ -x "$B/tests/gpu/steps" ] && [ -f "$B/tests/standin/libcupti.so.13" ]; then
	(
		export LD_LIBRARY_PATH="$B/tests/standin" SIGHTLINE_CUPTI="$B/tests/standin/libcupti.so.13"
		profile own -t cuda,nvtx "$B/tests/gpu/steps" 20 >/dev/null 2>&1
	)
	is "$(st -r nvtx_gpu_proj_sum own.sqlite | cut -d, -f1,2,5,11-14 | LC_ALL=C sort | tr '\n' ' ')" ':backward,PushPop,40,80,2.0,1.0,1.0 '\
':forward,PushPop,40,40,1.0,1.0,0.0 :load,PushPop,40,40,1.0,1.0,0.0 :step,PushPop,40,200,5.0,0.0,3.0 :update,PushPop,40,40,1.0,2.0,0.0 '\
'Range,Style,Range Instances,Total GPU Ops,Avg GPU Ops,Avg Range Lvl,Avg Num Child ' 'nvtx_gpu_proj_sum has the GPU work of each range'
	is "$(st -r step_sum own.sqlite | cut -d, -f1,15 | tr '\n' ' ')" 'Steps,Range 20,:step 20,:step ' 'step_sum has the steps of a report'
	against own.sqlite nvtx_pushpop_trace nvtx_gpu_proj_trace nvtx_kern_sum
else
	skip 'nvtx_gpu_proj_sum has the GPU work of each range' 'the stand-ins are not built'
fi

# ---- names, and the messages without data ----
for a in nvtxppsum=nvtx_pushpop_sum nvtxpptrace=nvtx_pushpop_trace nvtxkernsum=nvtx_kern_sum nvtxgpuproj=nvtx_gpu_proj_trace; do
	is "$(st -r "${a%=*}" nvtx.sqlite | md5sum)" "$(st -r "${a#*=}" nvtx.sqlite | md5sum)" "${a%=*} is the same as ${a#*=}"
done
for r in cuda_api_gpu_sum cuda_api_sum cuda_api_trace cuda_gpu_kern_gb_sum cuda_gpu_kern_sum cuda_gpu_mem_size_sum cuda_gpu_mem_time_sum \
	cuda_gpu_sum cuda_gpu_trace cuda_kern_exec_sum cuda_kern_exec_trace dx11_pix_sum dx12_gpu_marker_sum dx12_pix_sum mpi_event_sum \
	mpi_event_trace mpi_msg_size_sum network_congestion nvtx_gpu_proj_sum nvtx_gpu_proj_trace nvtx_kern_sum nvtx_pushpop_sum \
	nvtx_pushpop_trace nvtx_startend_sum nvtx_sum nvvideo_api_sum openacc_sum opengl_khr_gpu_range_sum opengl_khr_range_sum openmp_sum \
	osrt_sum syscall_sum um_cpu_page_faults_sum um_sum um_total_sum vulkan_api_sum vulkan_api_trace vulkan_gpu_marker_sum \
	vulkan_marker_sum wddm_queue_sum; do
	"$BIN" stats "--help-reports=$r" >>names.log 2>&1 || echo "$r" >>missing
done
is "$(grep -c ' -- ' names.log) $(cat missing 2>/dev/null)" '40 ' '--help-reports knows all 40 reports of nsys'
sqlite3 none.sqlite 'CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT)'
for f in "$GOLD"/nvtx-*.csv "$GOLD"/[smdg]*-*.csv; do
	r=$(basename "$f" .csv)
	r=${r#*-}
	echo "${r%%+*}"
done | sort -u >names
while read -r r; do
	"$BIN" stats -r "$r" none.sqlite >log 2>&1
	is "$? $(grep -c 'does not contain .* data' log)" '0 1' "$r says that there is no such data"
done <names
done_testing

#!/bin/sh
# corpus.t - every command that reads reports, with every report, rule and format it has, on databases of all
# schema versions (tests/golden/corpus/) and on the real ones: all succeed, and none leaves a trace.
# A new report, rule or type is tried without an edit here; a new command needs a line in try().
# shellcheck disable=SC2016
. tests/lib.sh
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'
GOLD=$TOP/tests/golden/corpus
NSYS=$TOP/../shared/data/nsys

mkdir db out json
for sql in "$GOLD"/*.sql; do
	name=$(basename "$sql" .sql)
	[ "$name" = base ] && continue
	cat "$GOLD/base.sql" "$sql" | sqlite3 -bail "db/$name.sqlite" || result 1 "$name can be made"
done
sqlite3 db/ours.sqlite <"$TOP/collector/schema.sql"
sqlite3 db/bare.sqlite 'CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT)'
# A report whose writer was killed: what it wrote last is only in the log, of which there is no index.
cat "$GOLD/base.sql" "$GOLD/3.25.0.sql" | sqlite3 killed.sqlite
"$PY" - <<'EOP'
import os, shutil, sqlite3
db = sqlite3.connect('killed.sqlite', isolation_level=None)
db.execute('PRAGMA journal_mode=wal')
db.execute('PRAGMA wal_autocheckpoint=0')
db.execute("INSERT INTO OSRT_API SELECT start, end, 27, globalTid, 14, 0, 0, 0 FROM OSRT_API")
for end in '', '-wal': shutil.copy('killed.sqlite' + end, 'db/killed.sqlite' + end)
os._exit(0)
EOP
for f in "$NSYS"/*.sqlite; do
	[ -f "$f" ] && cp "$f" db/
done
[ -d "$NSYS" ] || skip 'real databases are read by every command' 'they are not here'
chmod 444 db/*
listing() { (cd db && ls -lA --time-style=full-iso . && md5sum ./*); }
listing >before

names() { "$BIN" "$1" "--help-$2" | sed -n 's/^  [* ] \([a-z0-9_]\{1,\}\) .*/\1/p' | paste -sd, -; }
reports=$(names stats reports) rules=$(names analyze rules) types=$("$BIN" export --type '?' db/bare.sqlite 2>&1 | sed -n 's/.*it takes \([a-z,]*\).*/\1/p' | tr , ' ')
check 'the names of reports, rules and types can be listed' test "$(echo "$reports" | tr , '\n' | wc -l)" -gt 10 -a -n "$rules" -a -n "$types"

HAS_VIEW=$("$BIN" view --no-open /dev/null 2>&1 | grep -v 'without libevent')
# 4: the report lacks the data for an answer.
answers() {
	"$@"
	case $? in 0 | 4) ;; *) return 1 ;; esac
}
try() { # COMMAND DATABASE: 2 when there is no way to try it
	case $1 in
	stats)
		"$BIN" stats -q -r "$reports" -f csv -o out/s "$2" &&
			"$BIN" stats -q --percentiles 50,99 --filter-time 100us-1ms,1.2ms/ -r "$reports" -f json -o out/p "$2" &&
			"$BIN" stats -f table "$2"
		;;
	sql) "$BIN" sql "$2" "SELECT key, n, median FROM sl_stats_rows((SELECT sl_stats(nameId, end - start) FROM OSRT_API))" ;;
	info) "$BIN" info "$2" && "$BIN" info -f json "$2" >out/info.json ;;
	view | ui) # its index is what it leaves
		[ -z "$HAS_VIEW" ] || "$PY" "$TOP/tests/e2e/report/view_client.py" "$BIN" look "$2" && rm -f "$2.view"
		;;
	why) answers "$BIN" why "$2" && answers "$BIN" why -f json --limit=0 --max-bytes=0 "$2" >out/why.json ;;
	analyze) answers "$BIN" analyze -q -r "$rules" -f json "$2" >out/analyze.json && answers "$BIN" analyze "$2" ;;
	export)
		for try_type in $types; do
			"$BIN" export -q --type "$try_type" -o "out/e_$try_type" "$2" || {
				echo "export --type $try_type"
				return 1
			}
		done
		;;
	compare) "$BIN" compare "$2" "$2" && "$BIN" compare -f json "$2" db/3.25.0.sqlite >out/compare.json ;;
	ncu) # without kernels there is nothing to profile
		"$BIN" ncu --top 3 --list -f json "$2" >out/n 2>out/err && mv out/n out/ncu.json && "$BIN" ncu --replay-mode kernel "$2" ||
			grep -q 'the report has no kernels' out/err
		;;
	ranks)
		"$BIN" ranks add -d out/dataset --run corpus --node node --rank 0 -f "$2" 2>out/err || {
			grep -q 'the report has no processes' out/err
			return
		}
		"$BIN" ranks check -d out/dataset -f json >out/ranks.json &&
			"$BIN" ranks check -d out/dataset --fail-on files
		;;
	dump | threads) "$BIN" "$1" "$2" || [ $? -eq 4 ] ;;
	top) "$BIN" top --once "$2" && "$BIN" top --once -f json "$2" >out/top.json ;;
	report) "$BIN" report -o out/r.html "$2" ;;
	mcp)
		for try_tool in summary why findings; do
			printf '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s","arguments":{"report":"%s"}}}\n' "$try_tool" "${2##*/}"
		done | "$BIN" mcp "$(dirname "$2")" >out/mcp.lines && [ "$(grep -c '"isError":false' out/mcp.lines)" -eq 3 ]
		;;
	# These read no report, or none that is finished.
	profile | status | recover | collect | symbols | finish | job | help | version | launch | start | stop | cancel | sessions | shutdown | attach) ;;
	*) return 2 ;;
	esac
}
commands=$(sed -n 's/^CMD(\([a-z]*\),.*/\1/p' "$TOP/collector/commands.def")
for c in $commands; do
	try "$c" db/bare.sqlite >/dev/null 2>&1
	[ $? -ne 2 ] || result 1 "$c: there is no line for it in try()"
	rm -rf out/*
done
for db in db/*.sqlite; do
	for c in $commands; do
		try "$c" "$db" >log 2>err
		rc=$?
		if [ $rc -eq 0 ] && ! grep -qE 'damaged|Sanitizer|runtime error' err; then
			:
		else
			result 1 "$c $(basename "$db")"
			tail -n 5 err | diag
			tail -n 2 log | diag
		fi
		for json in out/*.json; do
			[ ! -e "$json" ] || mv "$json" "json/$(basename "$db" .sqlite).$(basename "$json")" || result 1 "$json is kept"
		done
		rm -rf out/*
	done
	listing >after
	check "$(basename "$db"): all commands, and nothing has changed" diff before after
done
check 'each command that has JSON wrote one document per database' "$PY" - db json <<'EOP'
import collections, json, os, sys
found, wrong = collections.defaultdict(set), []
for name in os.listdir(sys.argv[2]):
    db, command, _ = name.rsplit('.', 2)
    found[command].add(db)
    try:
        json.loads(open(os.path.join(sys.argv[2], name), encoding='utf-8').read())
    except ValueError as e:
        wrong.append('%s: %s' % (name, e))
every = {n[:-len('.sqlite')] for n in os.listdir(sys.argv[1]) if n.endswith('.sqlite')}
wrong += ['%s: no JSON of %s' % (c, sorted(every - found[c])) for c in ('info', 'why', 'analyze', 'compare', 'top') if every - found[c]]
wrong += ['%s: no JSON of any database' % c for c in ('ncu', 'ranks') if not found[c]]
sys.exit('\n'.join(wrong) or None)
EOP

# ---- what is known of the versions ----
for v in 2021 3.4.0 3.13.2 3.16.1 3.24.0 3.25.0 3.28.1 ids; do
	is "$("$BIN" stats -q -f json -r cuda_gpu_kern_sum db/$v.sqlite | "$PY" -c '
import json, sys
print([(r["Name"], r["Instances"], r["Min (ns)"], r["Max (ns)"]) for r in json.load(sys.stdin)])')" \
		"[('void gemm<float>(int, T1)', 30, 11003, 11039)]" "$v: kernels have their names and times"
done
is "$("$BIN" stats -q -f csv:nohdr -r cuda_gpu_mem_time_sum db/2021.sqlite | grep -o '\[.*' | sort)" '[CUDA memcpy Device-to-Host]
[CUDA memcpy Host-to-Device]
[CUDA memcpy Unified Device-to-Host]
[CUDA memcpy Unified Host-to-Device]
[CUDA memset]' 'enumerations that a report lacks have the values of nsys'
printf 'SELECT id, name, smCount, computeMajor FROM TARGET_INFO_GPU UNION ALL SELECT nullStreamId, processId, deviceId, contextId FROM TARGET_INFO_CUDA_CONTEXT_INFO;' >former.sql
is "$("$BIN" stats -q -f csv:nohdr -r ./former.sql db/2021.sqlite | grep .)" '0,Tesla V100,80,7
7,4242,0,1
7,4343,0,1' 'tables under their former names are read'
# The table has had its name since some time in 2021, and its columns since 2022.
cp db/2021.sqlite named.sqlite && chmod 644 named.sqlite && sqlite3 named.sqlite 'ALTER TABLE TARGET_INFO_CUDA_GPU RENAME TO TARGET_INFO_GPU'
is "$("$BIN" stats -q -f csv:nohdr -r ./former.sql named.sqlite | head -n 1)" '0,Tesla V100,80,7' 'columns under their former names are read'
is "$("$BIN" stats -q -f json -r cuda_gpu_trace named.sqlite | "$PY" -c '
import json, sys
print({r["Device"] for r in json.load(sys.stdin)})')" "{'Tesla V100 (0)'}" 'the name of a GPU stands with its work, under former names'
is "$("$BIN" info -f json db/killed.sqlite | "$PY" -c '
import json, sys
print([t["rows"] for t in json.load(sys.stdin)["tables"] if t["name"] == "OSRT_API"])')" '[160]' 'rows that are only in the log of a killed writer count'
is "$("$BIN" stats -q -r cuda_gpu_kern_sum,cuda_api_sum -f csv -o out/x db/newer.sqlite 2>&1)" \
	'sightline: db/newer.sqlite has schema 3.99, which is newer than 3.28 known here: what has new names in it reads as absent' \
	'a newer minor version is read, with one message'
cp db/newer.sqlite 4.sqlite && chmod 644 4.sqlite && sqlite3 4.sqlite "UPDATE META_DATA_EXPORT SET value = '4.0.0' WHERE name = 'EXPORT_SCHEMA_VERSION'"
is "$("$BIN" stats -q -r cuda_gpu_kern_sum -o out/y 4.sqlite 2>&1; echo $?)" \
	'sightline: stats: 4.sqlite has schema 4.0, which is newer than 3.28 known here; SIGHTLINE_ANY_SCHEMA=1 reads it nevertheless
1' 'a newer major version is refused'
check 'a newer major version is read with SIGHTLINE_ANY_SCHEMA=1' env SIGHTLINE_ANY_SCHEMA=1 "$BIN" stats -q -r cuda_gpu_kern_sum -f csv 4.sqlite

# ---- the default set is that of nsys, in its order, with ours behind ----
"$PY" - "$TOP"/exporters/stats/reports/*.sql >got <<'EOP'
import os, re, sys
order = {}
for p in sys.argv[1:]:
    m = re.search(r'^-- default: (\d+)', open(p).read(), re.M)
    if m: order[os.path.basename(p)[:-4]] = int(m.group(1))
assert len(set(order.values())) == len(order), 'two at one place'
nsys = '''nvtx_sum osrt_sum cuda_api_sum cuda_gpu_kern_sum cuda_gpu_mem_time_sum cuda_gpu_mem_size_sum openmp_sum opengl_khr_range_sum
opengl_khr_gpu_range_sum vulkan_marker_sum vulkan_gpu_marker_sum dx11_pix_sum dx12_gpu_marker_sum dx12_pix_sum wddm_queue_sum um_sum um_total_sum
um_cpu_page_faults_sum openacc_sum syscall_sum'''.split()
names = sorted(order, key=order.get)
print([n for n in nsys if n not in names], [n for n in names if n in nsys] == [n for n in nsys if n in names],
      all(n not in nsys for n in names[len([n for n in names if n in nsys]):]))
EOP
is "$(cat got)" '[] True True' 'the default reports are those of nsys, in its order'
for old in cudaapisum gpukernsum gpumemtimesum gpumemsizesum osrtsum nvtxsum gputrace cudaapitrace kernexecsum kernexectrace nvtxppsum; do
	check "$old is still the name of a report" sh -c '"$1" stats --help-reports="$2" >/dev/null' - "$BIN" $old
done
for r in cuda_api_gpu_sum cuda_api_sum cuda_api_trace cuda_gpu_kern_gb_sum cuda_gpu_kern_sum cuda_gpu_mem_size_sum cuda_gpu_mem_time_sum cuda_gpu_sum \
	cuda_gpu_trace cuda_kern_exec_sum cuda_kern_exec_trace dx11_pix_sum dx12_gpu_marker_sum dx12_pix_sum mpi_event_sum mpi_event_trace \
	mpi_msg_size_sum network_congestion nvtx_gpu_proj_sum nvtx_gpu_proj_trace nvtx_kern_sum nvtx_pushpop_sum nvtx_pushpop_trace nvtx_startend_sum \
	nvtx_sum nvvideo_api_sum openacc_sum opengl_khr_gpu_range_sum opengl_khr_range_sum openmp_sum osrt_sum syscall_sum um_cpu_page_faults_sum \
	um_sum um_total_sum vulkan_api_sum vulkan_api_trace vulkan_gpu_marker_sum vulkan_marker_sum wddm_queue_sum; do
	case ,$reports, in *,$r,*) ;; *) result 1 "there is a report $r" ;; esac
done

# ---- what is wrong with a file is one line, at once, from every command that reads ----
size=$(wc -c <db/3.25.0.sqlite)
mkdir bad && mkfifo bad/fifo && mkdir bad/folder && : >bad/empty && echo 'not a database, but long enough to be one of these' >bad/text
head -c $((size / 2)) db/3.25.0.sqlite >bad/half
{
	head -c 100 db/3.25.0.sqlite
	head -c $((size - 100)) /dev/zero | tr '\0' '\377'
} >bad/corrupt
sqlite3 bad/foreign 'CREATE TABLE t(a)'
cp 4.sqlite bad/major
cp db/3.25.0.sqlite bad/journal
"$PY" - <<'EOP'
import os, shutil, sqlite3
db = sqlite3.connect('bad/journal', isolation_level=None)
db.execute('PRAGMA cache_size=1')
db.execute('BEGIN')
db.execute('UPDATE StringIds SET value = value || "x"')
db.execute('UPDATE OSRT_API SET nestingLevel = 1')
for end in '', '-journal': shutil.copy('bad/journal' + end, 'bad/torn' + end)
os._exit(0)
EOP
rm -f bad/journal bad/journal-journal
touch so err ls.before ls.after
for f in nope fifo folder empty text half corrupt foreign major torn; do
	for c in stats info analyze export compare report; do
		echo "$commands" | grep -qx "$c" || continue
		ls bad . >ls.before
		case $c in
		compare) timeout 20 "$BIN" $c "bad/$f" db/3.25.0.sqlite >so 2>err ;;
		export) timeout 20 "$BIN" $c --type chrome -o bad/out "bad/$f" >so 2>err ;;
		report) timeout 20 "$BIN" $c -o bad/out.html "bad/$f" >so 2>err ;;
		*) timeout 20 "$BIN" $c "bad/$f" >so 2>err ;;
		esac
		rc=$?
		ls bad . >ls.after
		is "$rc $(wc -l <err) $(grep -c "bad/$f" err) $(wc -c <so)" '1 1 1 0' "$c: $f is one line that names it"
		cmp -s ls.before ls.after || result 1 "$c: $f leaves nothing behind"
	done
done

# A writer that holds the file for itself is waited for, a while.
cat db/3.25.0.sqlite >locked.sqlite
"$PY" -c '
import sqlite3, time
db = sqlite3.connect("locked.sqlite", isolation_level=None)
db.execute("BEGIN EXCLUSIVE")
open("held", "w").close()
time.sleep(60)' &
writer=$!
at_exit='kill $writer 2>/dev/null'
wait_for 10 test -e held
is "$(timeout 20 "$BIN" info locked.sqlite 2>&1; echo $?)" 'sightline: info: locked.sqlite: database is locked
1' 'a locked database is refused with one line'
"$BIN" info locked.sqlite >so 2>err &
reader=$!
wait_for 10 sh -c 'ls -l /proc/'$reader'/fd | grep -q locked.sqlite'
kill $writer
wait $reader
is "$? $(cat err)" '0 ' 'a locked database that is released in time is read'

# A file that goes away while it is read: what was opened is there to the end.
cp db/3.25.0.sqlite gone.sqlite && chmod 644 gone.sqlite
is "$("$BIN" stats -q -f csv:nohdr -r osrt_trace,cuda_api_trace -o '@rm -f gone.sqlite; cat >/dev/null' gone.sqlite 2>&1; echo $?)" \
	'sightline: stats: gone.sqlite: No such file or directory
1' 'a file that vanishes between two tables gives one line'
done_testing

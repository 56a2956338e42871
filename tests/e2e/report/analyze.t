#!/bin/sh
# analyze.t - rules against what was worked out by hand (tests/golden/rules/) and, on real databases, by an
# independent computation; the list, its formats and places, --fail-on, and what can be wrong with all that.
# shellcheck disable=SC2010,SC2012,SC2016
. tests/lib.sh
GOLD=$TOP/tests/golden/rules
REAL=$TOP/../shared/data/nsys
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'

an() { "$BIN" analyze "$@"; }

# ---- rules ----
for sql in "$TOP"/exporters/analyze/rules/*.sql; do
	r=$(basename "$sql" .sql)
	check "$r has a database written by hand" test -s "$GOLD/$r.sql"
	if [ -e "$GOLD/$r.txt" ]; then
		check "$r finds what it should, and nothing else" "$PY" "$E2E/report/analyze_rules.py" "$BIN" "$GOLD" "$r"
	fi
done
rm -f ./*.sqlite
for db in nsysai_h100_2gpu_1s nsysai_mfu_2gpu_before nsysai_mfu_2gpu_after flameox_nsight_2025.5.2; do
	if [ -e "$REAL/$db.sqlite" ]; then
		cp "$REAL/$db.sqlite" real.sqlite
		check "$db: every rule runs" sh -c '"$0" analyze real.sqlite >out 2>err && [ ! -s err ] && grep -q "first to the last" out' "$BIN"
		check "$db: the rules of nsys as python computes them" "$PY" "$E2E/report/analyze_real.py" "$BIN" real.sqlite
		check "$db was not changed" cmp real.sqlite "$REAL/$db.sqlite"
		rm -f real.sqlite
	else
		skip "$db" 'the database is not here'
	fi
done

# ---- the list ----
# The wall is 2 s. Low use: of GPU 0 the chunks from 200 to 700 and from 750 to 1250 ms, 1 s (GPU 1: 890 ms). Gaps: 890 ms.
# Kernels: 300 and 20 ms on GPUs of process 10, 10 ms on one of 20; the mean is 110, the busiest has 190 more. Default
# stream of GPU 0: 200 ms of copies beside 350 ms of kernels, 50 ms of which overlap each other already: 150 ms.
cat "$GOLD/tables.sql" "$GOLD/gpu_gaps.sql" | sqlite3 run.sqlite
sqlite3 run.sqlite "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1400000000, 1500000000, 0, 1, 7, 18, 0x100000A000000, 8, 1, 1, 2);
	INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10, 1010, 0x100000A00000A, 3, 8)"
cp run.sqlite other.sqlite
md5sum run.sqlite >before.md5
an run.sqlite >out
is "$(grep -E '^ +[0-9]+\. ' out | sed 's/ *(.*//')" '  1. severe  44.5 % of the time, 890 ms: GPU Gaps
  2. bad  9.5 % of the time, 190 ms: Uneven Load of GPUs
  3. bad  7.5 % of the time, 150 ms: Copies and Kernels in the Default Stream
  4. info  CUDA Synchronization APIs
  5. info  GPU Time Utilization' 'what costs most comes first'
is "$(grep -o '^ \*\* .*' out)" ' ** GPU Gaps (gpu_gaps):
 ** Uneven Load of GPUs (gpu_imbalance):
 ** Copies and Kernels in the Default Stream (cuda_default_stream):
 ** CUDA Synchronization APIs (cuda_api_sync):
 ** GPU Time Utilization (gpu_time_util):' 'evidence follows in the same order'
no_line() { tr -s '\n ' ' ' <out | grep -c 'on the device (cudaStreamWaitEvent). What it costs: rule cuda_sync_idle. > No stack names a line: --cudabacktrace=all records more.'; }
is "$(no_line)" 1 'a finding without a line names the option that gives one'
is "$(grep -c 'No stack names' out)" 1 'a finding that no stack would help names no option'
check 'analyze names the rules that were silent and those without data' sh -c 'tr -s "\\n " " " <out >flat
	grep -q "looked and clean: [a-z_, ]*cuda_memcpy_sync" flat && ! grep -q "looked and clean: [a-z_, ]*gpu_gaps" flat &&
		grep -q "not recorded: .*io_syncs (OS Runtime trace)" flat'
sqlite3 run.sqlite 'VACUUM INTO "host.sqlite"'
sqlite3 host.sqlite "SELECT 'DROP TABLE ' || name || ';' FROM sqlite_schema WHERE type = 'table' AND name LIKE 'CUPTI!_%' ESCAPE '!'" >drop.sql
sqlite3 host.sqlite <drop.sql
an host.sqlite >out
check 'rules about GPUs are one word where there is no GPU' sh -c 'tr -s "\n " " " <out >flat
	grep -qE "not recorded: [0-9]+ rules about GPUs \(no CUDA call, no GPU work\), .*io_syncs" flat && ! grep -qE "cuda_|gpu_" flat'
an -r gpu_gaps,cuda_alloc host.sqlite >out
check 'rules about GPUs that are asked for are named where there is no GPU' sh -c 'tr -s "\n " " " <out | grep -q "not recorded: gpu_gaps (.*), cuda_alloc (.*)"'
check '--quiet prints only findings and tables' sh -c '"$0" analyze -q run.sqlite >out && ! grep -qE "looked and clean|  not recorded:" out' "$BIN"
check 'analyze into a file prints no colour' sh -c '! grep -q "$(printf "\\033")" out'
an run.sqlite other.sqlite >out
is "$(grep -cE '^ +[0-9]+\. .* in (run|other).sqlite$' out)" 10 'several reports give one list of findings'
is "$(grep -cE '^(run|other).sqlite:$' out)" 10 'several reports give the evidence of each'

# Ranks: 600 and 200 ms of kernels in 1 s; the mean is 400. What each did alone is even.
for rank in 0 1; do
	cat "$GOLD/tables.sql" | sqlite3 rank$rank.sqlite
	sqlite3 rank$rank.sqlite "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (0, 1000, 0xA00000A, 1, 1), (999999000, 1000000000, 0xA00000A, 2, 1);
		INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (0, 600000000 - $rank * 400000000, 0, 1, 7, 1, 0xA000000, 31, 30)"
done
is "$(an -q -r gpu_imbalance rank0.sqlite rank1.sqlite | head -5)" '
  1. severe  20.0 % of the time, 200 ms: Uneven Load of Ranks (gpu_imbalance)
     Of 2 GPUs in all reports the least busy, GPU 0 of rank1.sqlite, ran kernels for 200 ms, the
     busiest, GPU 0 of rank0.sqlite, for 600 ms: a ratio of 0.33.
     > Cut the work into parts of equal time rather than equal size: the ranks wait for the slowest.' 'gpu_imbalance compares the ranks of a job'
is "$(an -q -f json -r gpu_imbalance rank0.sqlite rank1.sqlite | "$PY" -c '
import json, sys
for f in json.load(sys.stdin)["findings"]: print(f["report"], f["cost_ns"], f["time_percent"], "evidence" in f)')" 'None 200000000 20.0 False' 'gpu_imbalance of ranks is in the JSON without a report and evidence'
is "$(an -q -r gpu_imbalance rank0.sqlite other.sqlite | grep -c 'Ranks') $(an -q -r gpu_imbalance rank0.sqlite rank0.sqlite | grep -c Ranks)" '1 0' 'gpu_imbalance is silent on even ranks'

# ---- formats and places ----
an -q -f json run.sqlite other.sqlite >doc.json
check 'JSON has the list, the evidence and the rules that ran' "$PY" -c '
import json
d = json.load(open("doc.json"))
assert [r["report"] for r in d["reports"]] == ["run.sqlite", "other.sqlite"] and d["reports"][0]["wall_ns"] == 2000000000
f = d["findings"]
assert [x["rule"] for x in f[:3]] == ["gpu_gaps"] * 2 + ["gpu_imbalance"], f
assert f[0]["severity"] == "severe" and f[0]["cost_ns"] == 890000000 and f[0]["time_percent"] == 44.5 and f[0]["advice"]
assert f[0]["evidence"][0] == {"Row#": 1, "Duration (ns)": 890000000, "Start (ns)": 10000000, "PID": 10, "Device ID": 1, "Context ID": 2}
assert f[-1]["cost_ns"] is None and f[-1]["time_percent"] is None
by = {r["rule"]: r for r in d["rules"]}
assert by["gpu_gaps"]["result"] == "finding" and by["cuda_memcpy_sync"]["result"] == "silent"
assert by["io_syncs"] == {"report": by["io_syncs"]["report"], "rule": "io_syncs", "result": "no data", "missing": "OS Runtime trace"}'
is "$(an -q -f csv -r gpu_gaps run.sqlite | head -3)" 'Rank,Severity,Time (%),Cost (ns),Rule,Finding,Advice,Report
1,severe,44.5,890000000,gpu_gaps,"GPU 1 had nothing to do for 890 ms in 1 gap of more than 500 ms, the longest 890 ms.",'"$(
	an -q -f csv -r gpu_gaps run.sqlite | sed -n '2s/.*longest 890 ms\.",//p')" 'CSV has the list as a table'
is "$(an -q -f csv --timeunit msec -r gpu_gaps run.sqlite | cut -d, -f1-4 | head -2)" 'Rank,Severity,Time (%),Cost (ms)
1,severe,44.5,890.000000' 'times of the CSV list take --timeunit'
mkdir files
an -f csv -o files/x run.sqlite >log
is "$(ls files | tr '\n' ' ')" 'x_cuda_api_sync.csv x_cuda_default_stream.csv x_findings.csv x_gpu_gaps.csv x_gpu_imbalance.csv x_gpu_time_util.csv ' \
	'-o writes a file for the list, and one for the evidence of each finding'
is "$(sed 1d files/x_gpu_gaps.csv | sed '/^$/d')" '1,890000000,10000000,10,1,2
2,500000001,750000000,10,0,1' 'evidence in a file has the rows of the finding'
an -f csv -o files/y -r gpu_gaps,cuda_memcpy_sync run.sqlite >log
is "$(ls files/y* | tr '\n' ' ')" 'files/y_cuda_memcpy_sync.csv files/y_findings.csv files/y_gpu_gaps.csv ' 'rules asked for by name always have their evidence in a file'
an -q -f json -o files/z -r gpu_gaps run.sqlite
is "$(ls files/z*)" files/z_findings.json '-o with JSON writes one document'
check '-o does not replace an existing file' sh -c '! "$0" analyze -f json -o files/z -r gpu_gaps run.sqlite 2>err && grep -q "z_findings.json exists already" err' "$BIN"
check '-o replaces an existing file with --force-overwrite=true' an -q -f json -o files/z -r gpu_gaps --force-overwrite=true run.sqlite
an -q -f json -o '@cat >piped.json' -r gpu_gaps run.sqlite
check '-o writes into a pipe' "$PY" -m json.tool piped.json

# ---- --fail-on ----
status() { # WANT OPTION...
	want=$1
	shift
	an -q "$@" >/dev/null 2>err
	is "$?" "$want" "analyze $* ends with status $want"
}
status 0 run.sqlite
status 3 --fail-on=severe run.sqlite
is "$(cat err)" 'sightline: analyze: --fail-on=severe: run.sqlite: gpu_gaps: GPU 1 had nothing to do for 890 ms in 1 gap of more than 500 ms, the longest 890 ms.' \
	'--fail-on names the finding and the report'
status 3 --fail-on info -r cuda_api_sync run.sqlite
status 0 --fail-on bad -r cuda_api_sync run.sqlite
status 3 --fail-on 44.5% -r gpu_gaps run.sqlite
status 0 --fail-on 44.6% -r gpu_gaps run.sqlite
status 3 --fail-on cuda_memcpy_sync,gpu_gaps run.sqlite
status 0 --fail-on cuda_memcpy_sync run.sqlite
status 2 --fail-on sever run.sqlite
is "$(cat err)" "sightline: analyze: --fail-on: 'sever' is no severity, no percentage and no rule that runs here; did you mean 'severe'?" '--fail-on names the nearest severity for a misspelt one'
status 2 --fail-on cuda_api_sync -r gpu_gaps run.sqlite

# ---- parts of a report ----
is "$(an -q -f csv -r gpu_gaps:start=600000000:end=1300000000 run.sqlite | grep -A9 Row | sed '/^$/d')" 'Row#,Duration (ns),Start (ns),PID,Device ID,Context ID
1,500000001,750000000,10,0,1' 'a rule looks at a part of the time'
is "$(an -q -f json --filter-time 600ms-1300ms -r gpu_gaps,gpu_gaps:start=0 run.sqlite | "$PY" -c '
import json, sys
for f in json.load(sys.stdin)["findings"]: print(f["cost_ns"], f["time_percent"])')" '500000001 83.333
890000000 44.5' '--filter-time gives all rules a part, whose wall is from the first to the last event in it'
sqlite3 run.sqlite "CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, domainId INTEGER);
	INSERT INTO NVTX_EVENTS VALUES (700000000, 1290000000, 59, 'step', 0x100000A00000A, 0);
	INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT start, start + 10, 0x100000A00000A, correlationId, 13 FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE globalPid = 0x100000A000000"
is "$(an -q -f csv -r gpu_gaps:nvtx=step run.sqlite | grep -A9 Row | sed '/^$/d')" 'Row#,Duration (ns),Start (ns),PID,Device ID,Context ID
1,500000001,750000000,10,0,1' 'a rule looks at the work of an NVTX range'
check 'analyze refuses an NVTX range that does not exist' sh -c '! "$0" analyze -q -r gpu_gaps:nvtx=stop run.sqlite 2>err && [ "$(wc -l <err)" = 1 ] && grep -q stop err' "$BIN"

# ---- rules of one's own ----
cat >mine.sql <<'END'
-- title: Calls
-- arg: most=2, calls that are fine
-- advice: Call less.
-- column: Calls = how many
CREATE TEMP TABLE calls AS SELECT count(*) AS n FROM CUPTI_ACTIVITY_KIND_RUNTIME;
SELECT 'bad' AS severity, 20000000 AS cost, '{' || n || ' call|calls}, {1500 ns}, {2500000 B}, {x}.' AS finding FROM calls WHERE n > :most;
SELECT n AS "Calls" FROM calls;
END
an -q -r ./mine.sql,./mine.sql:most=1000 other.sqlite >out 2>&1
is "$(cat out)" '
  1. bad  1.0 % of the time, 20 ms: Calls (mine)
     3 calls, 1.50 us, 2.50 MB, {x}.
     > Call less.


 ** Calls (mine):

 Calls
 -----
     3


 ** Calls (mine):

 Calls
 -----
     3' 'a rule from a file gives its finding and table'
mkdir dir && sed 's/calls that are fine/&/; s/n > :most/1/' mine.sql >dir/gpu_gaps.sql
check '--rule-dir goes before the rules of sightline' sh -c '"$0" analyze -q --rule-dir dir -r gpu_gaps other.sqlite | grep -q "Calls (gpu_gaps)"' "$BIN"
wrong() { # NAME SQL WANT
	printf '%s\n' "$2" >wrong.sql
	an -q -r ./wrong.sql,gpu_gaps other.sqlite >out 2>err
	is "$?" 1 "a rule with $1: analyze ends with status 1"
	is "$(cat err)" "sightline: analyze: other.sqlite: rule wrong: $3" "a rule with $1: one line names the mistake"
	check "a rule with $1: the other rules report" grep -q 'GPU Gaps' out
}
wrong 'no SQL' 'SELEKT 1;' 'near "SELEKT": syntax error'
wrong 'no table' 'CREATE TEMP TABLE x(y);' 'its last statement gives no table'
wrong 'no such severity' "SELECT 'awful' AS severity, 1 AS cost, 'x' AS finding; SELECT 1;" 'its verdict has no good severity'
wrong 'no cost' "SELECT 'bad' AS severity, 'x' AS finding; SELECT 1;" 'its verdict has no good cost'
wrong 'no sentence' "SELECT 'bad' AS severity, 1 AS cost; SELECT 1;" 'its verdict has no good finding'

# ---- wrong use ----
use() { # WANT WORDS OPTION...
	want=$1 words=$2
	shift 2
	an "$@" >out 2>err
	is "$?" "$want" "analyze $*: exit $want"
	check "analyze $*: one line has the reason" sh -c '[ "$(wc -l <err)" = 1 ] && grep -qF "$1" err && [ ! -s out ]' - "$words"
}
use 2 'no report is named'
an run.sqlite >out && an -r all run.sqlite >all
check '-r all prints the same as no -r' cmp out all
use 2 "no rule is called 'gpu_gap'; did you mean 'gpu_gaps'?" -r gpu_gap run.sqlite
use 2 "rule gpu_gaps does not take ':gab=1'; it takes gap=500, rows=50, start=<ns>, end=<ns>, nvtx=<range[@domain]>" -r gpu_gaps:gab=1 run.sqlite
use 2 "no format is called 'xml'" -f xml run.sqlite
use 1 'No such file' none.sqlite
printf 'no database' >text.sqlite
use 1 'text.sqlite is not an SQLite database' text.sqlite
: >empty.sqlite
use 1 'empty.sqlite is empty' empty.sqlite
head -c 5000 other.sqlite >cut.sqlite
use 1 'cut.sqlite is cut off' cut.sqlite
sqlite3 nothing.sqlite 'CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT)'
check 'analyze of a report without events names what was not recorded' sh -c '"$0" analyze nothing.sqlite >out 2>err; [ $? -eq 4 ] && [ ! -s err ] && grep -q "not recorded" out' "$BIN"
check 'analyze -f json of a report without events is JSON' sh -c '"$0" analyze -f json nothing.sqlite | "$1" -m json.tool' "$BIN" "$PY"

# ---- help ----
check '--help-rules lists all' sh -c 'for r in "$0"/exporters/analyze/rules/*.sql; do "$1" analyze --help-rules | grep -q " $(basename "$r" .sql) " || exit 1; done' "$TOP" "$BIN"
check '--help-rules=NAME has arguments and columns' sh -c '"$0" analyze --help-rules=gpu_gaps >out && grep -q "gap=500" out && grep -q "rows=50" out && grep -q "Row#" out' "$BIN"
check '--help has examples' sh -c '"$0" analyze --help | grep -q "Examples:"' "$BIN"
is "$(ls ./*-wal ./*-shm ./*.?????? 2>/dev/null | grep -vE '\.(sqlite|json)$')" '' 'analyze leaves no file'
check 'analyze does not change a report' sh -c 'sed s/run/other/ before.md5 | md5sum -c --quiet'
done_testing

#!/bin/sh
# stats_stacks.t - reports on stacks: a database written by hand, as Sightline and as nsys write it, against figures worked
# out by hand in tests/golden/reports/stacks_DATABASE-REPORT.csv (where nsys prints the same, there is one); and that sums
# are those of plain SQL.
. tests/lib.sh
GOLD=$TOP/tests/golden
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'

st() { "$BIN" stats -q -f csv "$@" | sed '/^$/d'; }
cat "$TOP/collector/schema.sql" "$GOLD/export/chains.sql" | sqlite3 -bail chains.sqlite || exit 1
cat "$TOP/collector/schema.sql" "$GOLD/export/chains.sql" "$GOLD/export/chains_nsys.sql" | sqlite3 -bail nsys.sqlite || exit 1
md5sum ./*.sqlite >before.md5
for f in "$GOLD"/reports/stacks_chains-*.csv; do
	n=$(basename "$f" .csv)
	n=${n#stacks_chains-}
	r=$(echo "$n" | tr + : | sed 's/:skip$/:skip=*.py|libfoo*/')
	for db in chains nsys; do
		want=$f
		[ $db = nsys ] && [ -f "$GOLD/reports/stacks_nsys-$n.csv" ] && want=$GOLD/reports/stacks_nsys-$n.csv
		st -r "$r" $db.sqlite >got
		check "$r of $db.sqlite is as worked out by hand" diff -u "$want" got
	done
done

# ---- sums, and what a known program did ----
st -r python_sum chains.sqlite >python.csv
sum() { "$PY" -c 'import csv, sys; print(sum(int(r[sys.argv[1]]) for r in csv.DictReader(sys.stdin)))' "$1" <python.csv; }
is "$(sum 'GPU Time (ns)')" "$(sqlite3 chains.sqlite 'SELECT sum(d) FROM (SELECT sum(end - start) AS d FROM CUPTI_ACTIVITY_KIND_KERNEL
	UNION ALL SELECT sum(end - start) FROM CUPTI_ACTIVITY_KIND_MEMCPY)')" 'python_sum has all GPU time'
is "$(($(sum 'Read (bytes)') + $(sum 'Written (bytes)')))" "$(sqlite3 chains.sqlite 'SELECT sum(bytesDone) FROM OSRT_API')" 'python_sum has all bytes'
is "$(sum 'OS Time (ns)')" "$(sqlite3 chains.sqlite 'SELECT sum(end - start) FROM OSRT_API WHERE nestingLevel = 0')" 'python_sum has all time in the C library'
is "$(sum Self)" "$(sqlite3 chains.sqlite 'SELECT count(*) FROM COMPOSITE_EVENTS WHERE cpuCycles = 1')" 'python_sum has all samples'
is "$(st -r python_sum --filter-time 7us/7.35us chains.sqlite | sed 1d)" '0,0,1,300,0,0,0,0,step,/home/eva/train.py:20' '--filter-time keeps the line of a launch before it'

# The import system: load() of data.py, and the frames of train() at line 11, which call it.
sqlite3 chains.sqlite .dump | sqlite3 imports.sqlite
sqlite3 imports.sqlite "UPDATE StringIds SET value = '<frozen importlib._bootstrap_external>' WHERE id = 21;
	UPDATE SL_FRAMES SET file = 21 WHERE line = 11"
is "$(st -r python_sum imports.sqlite | grep importlib)" '6,1500,1,70,300,50,2,2,[importlib],""' 'python_sum has the import system as one row'
sqlite3 imports.sqlite "DELETE FROM META_DATA_CAPTURE WHERE name = 'LINUX_PERF_OPTIONS:SAMPLING_FREQUENCY'"
is "$(st -r python_sum imports.sqlite | sed -n 2p)" '6,1500,1,70,300,50,2,2,[importlib],""' 'python_sum is sorted by other times where there is no frequency of samples'
rm imports.sqlite

# ---- what is not there ----
sqlite3 none.sqlite <"$TOP/collector/schema.sql"
for r in python_sum callers_sum sample_sum; do
	"$BIN" stats -r $r -f csv none.sqlite >out 2>&1
	check "$r of a report that has no stacks says so" grep -q -e 'stacks' -e 'CPU samples' out
done
# Calls with stacks, but none of Python.
sqlite3 chains.sqlite .dump | sqlite3 native.sqlite
sqlite3 native.sqlite 'DELETE FROM SL_STACKS WHERE frameId IN (SELECT id FROM SL_FRAMES WHERE kind = 1); DELETE FROM SL_FRAMES WHERE kind = 1'
is "$(st -r python_sum native.sqlite | grep -c 'no Python')" 0 'python_sum of stacks that have no Python has no rows'
is "$(st -r callers_sum native.sqlite | grep -e ',cudaMemcpyAsync,' -e ',write,' | cut -d, -f2,9-)" '700,write,[libfoo.so]
40,cudaMemcpyAsync,Py_RunMain (python3.11)' 'the caller in stacks that have no Python is the innermost frame outside of system libraries'
check 'stats of stacks does not change a report' md5sum -c before.md5
done_testing

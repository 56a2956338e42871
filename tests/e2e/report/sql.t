#!/bin/sh
# sql.t - sightline sql: statements on a report with the SQL functions, and the same as an extension of sqlite3.
# shellcheck disable=SC2016
. tests/lib.sh
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'
GOLD=$TOP/tests/golden/stats
sqlite3 ours.sqlite <"$TOP/collector/schema.sql" && sqlite3 ours.sqlite <"$GOLD/ours.sql" || exit 1
sqlite3 none.sqlite 'CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT)'
sqlite3 foreign.sqlite 'CREATE TABLE t(a)'
md5sum ./*.sqlite >before.md5

sql() {
	"$BIN" sql -f csv "$@" 2>err | sed '/^$/d'
}
fails() { # STATUS WHAT-STDERR-HOLDS NAME ARG...
	want=$1 text=$2 name=$3
	shift 3
	"$BIN" sql "$@" >out 2>err </dev/null
	status=$?
	is "$status $(wc -c <out) $(wc -l <err)" "$want 0 1" "$name: exit status $want, one line"
	check "$name: the message has the reason" grep -qF -e "$text" err
}

# ---- statements ----
fails 1 'authorization denied' 'VACUUM INTO' ours.sqlite "VACUUM INTO 'copy.sqlite'"
check 'VACUUM INTO makes no file' test ! -e copy.sqlite
cp ours.sqlite piped.sqlite && mkfifo piped.sqlite-journal
for command in sql info stats recover; do
	[ $command != sql ] && set -- || set -- 'VALUES(1)'
	timeout 600 "$BIN" $command piped.sqlite "$@" >out 2>err </dev/null
	is "$? $(wc -l <err)" '1 1' "a pipe in the place of a report's journal: $command ends with a message"
done
rm piped.sqlite*
is "$(sql ours.sqlite "ATTACH 'none.sqlite' AS other; SELECT count(*) AS x FROM other.StringIds")" 'x
0' 'another report can be attached'
is "$(sql ours.sqlite 'SELECT count(*) AS rows FROM OSRT_API')" "rows
$(sqlite3 ours.sqlite 'SELECT count(*) FROM OSRT_API')" 'sql answers one statement'
is "$(sql ours.sqlite 'SELECT 1; CREATE TEMP TABLE t AS SELECT 5 AS x; -- more
	SELECT x + 1 AS y FROM t -- the last')" 'y
6' 'the last of several statements gives the table, and may use temporary ones'
is "$(echo 'SELECT 7 AS z' | sql ours.sqlite -)" 'z
7' 'sql reads statements from stdin'
is "$(sql ours.sqlite 'SELECT :nothing IS NULL AS x')" 'x
1' 'a parameter that is not bound is NULL'
is "$(sql none.sqlite 'SELECT count(*) AS x FROM CUPTI_ACTIVITY_KIND_KERNEL')" 'x
0' 'tables that a report lacks are empty'
is "$("$BIN" sql -f json ours.sqlite "SELECT 'a' AS x, 1.5 AS y, NULL AS z")" '[
  {"x": "a", "y": 1.5, "z": null}
]' 'sql -f json prints rows as objects'
is "$("$BIN" sql ours.sqlite "SELECT 1 AS x WHERE 0" | grep -c .)" 2 'sql prints the heading alone where there is no row'
is "$(sql --filter-time=0/1 ours.sqlite 'SELECT count(*) < (SELECT count(*) FROM main.OSRT_API) AS less FROM OSRT_API')" 'less
1' 'sql takes the filters of stats'

# ---- functions ----
is "$(sql --percentiles 50,100 ours.sqlite 'SELECT key, n, total, min, max, mean, median, stddev, p0, p1 FROM sl_stats_rows((
	SELECT sl_stats(column1, column2) FROM (VALUES (1, 3), (2, 10), (1, 5), (1, 10))))')" 'key,n,total,min,max,mean,median,stddev,p0,p1
1,3,18,3,10,6.0,5.0,3.605551275463989,5,10
2,1,10,10,10,10.0,10.0,0.0,10,10' 'sl_stats computes totals, means, medians and percentiles'
is "$(sql ours.sqlite "SELECT group_concat(coalesce(sl_is_library(column1), '-'), ' ') AS x FROM (VALUES ('/lib/x86_64-linux-gnu/libc.so.6'),
	('/opt/lib/libc10_cuda.so'), ('/usr/lib/python3.11/json/decoder.py'), ('/v/site-packages/a.py'), ('<frozen os>'), ('[vdso]'),
	('/usr/bin/python3.11'), ('/me/lib/python/a.py'), ('/me/libcx.so'), ('/me/a.py'), (''), (NULL))")" 'x
1 1 1 1 1 1 1 0 0 0 0 -' 'sl_is_library tells libraries from programs'
is "$(sql ours.sqlite 'WITH
-- include: io_functions
SELECT count(*) AS x FROM kind WHERE id < 0')" 'x
0' 'a statement may include a step that reports share'
for r in osrt_sum nvtx_gpu_proj_trace step_sum; do
	"$BIN" stats --show-sql=$r | sql ours.sqlite - >got
	"$BIN" stats -q -f csv -r $r ours.sqlite 2>/dev/null | sed '/^$/d' >want
	[ -s want ] || head -1 got >want # stats leaves out what has no data
	check "$r: the text that stats shows gives its rows" diff -u want got
done
"$BIN" stats --show-sql=osrt_sums >out 2>err
is "$? $(wc -c <out) $(grep -c "did you mean 'osrt_sum'" err)" '2 0 1' '--show-sql of an unknown report is refused'

# ---- the extension ----
query='SELECT key || " " || n || " " || total FROM sl_stats_rows((SELECT sl_stats(nameId, end - start) FROM OSRT_API)) ORDER BY key'
query=$(echo "$query" | tr '"' "'")
is "$(sql_shell ours.sqlite "$query")" "$(sql ours.sqlite "$query" | sed 1d)" 'sqlite3 with libsightline_sql gives the same rows as sql'
check 'Python with libsightline_sql gives the same rows as sql' "$PY" -c '
import sqlite3, sys
db = sqlite3.connect("ours.sqlite")
db.enable_load_extension(True)
db.load_extension(sys.argv[1])
assert db.execute("SELECT count(*) FROM sl_stats_rows((SELECT sl_stats(1, 2)))").fetchone() == (1,)
db.close()' "$B/libsightline_sql"
is "$(sql_shell :memory: 'SELECT count(*) FROM sl_projection' 2>&1 | grep -c 'no such table')" 1 'a table that is not there is an error in sqlite3'

# ---- wrong use, bad input ----
fails 2 'are needed, not 0 words' 'no words'
fails 2 'are needed, not 1 words' 'no statement' ours.sqlite
fails 2 'are needed, not 3 words' 'too much' ours.sqlite 'SELECT 1' 'SELECT 2'
fails 2 "did you mean 'json'" 'a format that does not exist' -f jsn ours.sqlite 'SELECT 1'
fails 2 'no percentile' 'a percentile that is none' --percentiles=0 ours.sqlite 'SELECT 1'
fails 2 '--formt' 'an option that does not exist' --formt=csv ours.sqlite 'SELECT 1'
fails 1 'no such table: missing' 'a table that does not exist' ours.sqlite 'SELECT * FROM missing'
fails 1 'syntax error' 'no SQL' ours.sqlite 'SELEC 1'
fails 1 'gives no table' 'no table' ours.sqlite 'CREATE TEMP TABLE t(a)'
fails 1 'gives no table' 'an empty statement' ours.sqlite ''
fails 1 "'nonsense'" 'a shared step that does not exist' ours.sqlite ' -- include: nonsense'
fails 1 'readonly' 'a report stays as it is' ours.sqlite 'DELETE FROM OSRT_API'
fails 1 'missing.sqlite' 'no such file' missing.sqlite 'SELECT 1'
fails 1 'foreign.sqlite' 'not a report' foreign.sqlite 'SELECT 1'
check 'a statement of two megabytes is refused' sh -c '! yes "SELECT 1;" | head -c 2000000 | "$1" sql ours.sqlite - 2>err && grep -q stdin err' - "$BIN"
check '--help has the usage with a statement' sh -c '"$1" sql --help | grep -q "STATEMENT|-"' - "$BIN"
check 'sql does not change a report' md5sum -c before.md5
done_testing

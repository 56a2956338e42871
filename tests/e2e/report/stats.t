#!/bin/sh
# stats.t - every report in every format against tests/golden/stats/, figures against an independent
# computation, and everything that can be wrong with what stats is given.
# GOLDEN=update writes the expected files anew: look at the difference before committing it.
# shellcheck disable=SC2012,SC2016
. tests/lib.sh
GOLD=$TOP/tests/golden/stats
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'

st() { "$BIN" stats "$@"; }

sqlite3 ours.sqlite <"$TOP/collector/schema.sql" && sqlite3 ours.sqlite <"$GOLD/ours.sql" || exit 1
cp ours.sqlite files.sqlite && sqlite3 files.sqlite <"$GOLD/files.sql" || exit 1
sqlite3 nsys34.sqlite <"$GOLD/nsys34.sql" || exit 1
md5sum ./*.sqlite >before.md5

# ---- golden: one file per report, all formats in it ----
golden() { # DATABASE REPORT NAME
	for f in column table csv tsv json htable hdoc column:nohdr:nofmt tsv:esc; do
		echo "== $f"
		st -r "$2" -f "$f" "$1.sqlite" 2>&1 || echo "exit $?"
	done >"$3.got"
	{
		echo '== msec'
		st -q -r "$2" -f csv --timeunit msec "$1.sqlite" 2>&1
	} >>"$3.got"
	if [ "${GOLDEN-}" = update ]; then cp "$3.got" "$GOLD/$3.txt"; fi
	check "golden $3" diff -u "$GOLD/$3.txt" "$3.got"
}
for r in osrt_sum osrt_exact_sum osrt_trace file_access_sum thread_cpu_sum run_queue_sum cpu_sum process_tree lost_events; do
	golden ours $r $r
done
golden files file_access_sum file_access_sum-recorded
# The first run of a thread ends the wait since its wake-up.
cat "$TOP/collector/schema.sql" "$TOP/tests/golden/export/sched.sql" | sqlite3 -bail sched.sqlite || exit 1
is "$(st -q -f csv -r thread_cpu_sum sched.sqlite | cut -d, -f7,12)" "Run Wait (ns),Tid
600,100
1000,101" 'waits for a CPU in thread_cpu_sum begin with the wake-up of a new thread'
is "$(st -q -f csv -r run_queue_sum sched.sqlite | cut -d, -f1,13)" "Run Wait (ns),Tid
1000,101
600,100" 'waits for a CPU in run_queue_sum begin with the wake-up of a new thread'
for r in osrt_sum thread_cpu_sum syscall_sum cuda_api_sum cuda_gpu_kern_sum cuda_gpu_kern_sum:base cuda_gpu_mem_time_sum \
	cuda_gpu_mem_size_sum nvtx_sum; do
	golden nsys34 $r "nsys34-$(echo $r | tr : -)"
done
for d in faults block; do
	cat "$TOP/collector/schema.sql" "$TOP/tests/golden/reports/$d.sql" | sqlite3 -bail $d.sqlite || exit 1
	for f in "$TOP/tests/golden/reports/$d"-*.csv; do
		r=$(basename "$f" .csv | cut -d- -f2 | tr + :)
		st -q -f csv -r "$r" $d.sqlite | sed '/^$/d' >got.csv
		check "golden $r, worked out by hand" sh -c 'sed "/^$/d" "$1" | diff -u - got.csv' - "$f"
	done
	rm -f $d.sqlite
done
for d in ours nsys34; do
	st $d.sqlite >defaults.got 2>&1
	if [ "${GOLDEN-}" = update ]; then cp defaults.got "$GOLD/defaults-$d.txt"; fi
	check "default reports of $d are as worked out by hand" diff -u "$GOLD/defaults-$d.txt" defaults.got
done

# ---- every report is covered here; the sqlite3 shell gives the same rows with the functions loaded ----
cp nsys34.sqlite all.sqlite
grep -v '^INSERT INTO ENUM' "$TOP/collector/schema.sql" | sed 's/^CREATE TABLE /CREATE TABLE IF NOT EXISTS /' |
	sed '/^    ([-0-9]*,/d' | sqlite3 all.sqlite
sqlite3 all.sqlite 'ALTER TABLE OSRT_API RENAME TO old; ALTER TABLE SCHED_EVENTS RENAME TO old2'
sed -n '/^CREATE TABLE OSRT_API /,/^);/p; /^CREATE TABLE SCHED_EVENTS /,/^);/p' "$TOP/collector/schema.sql" | sqlite3 all.sqlite
sqlite3 all.sqlite "INSERT INTO OSRT_API SELECT *, 0, 3, NULL, NULL, NULL, NULL, NULL, NULL FROM old;
	INSERT INTO SCHED_EVENTS SELECT *, NULL, NULL FROM old2"
# The shell has no views for tables and columns that are not there: the rest of the schema, empty.
cat "$B/gen/report_tables.def" "$TOP/exporters/read/compat.def" >tables.def
"$PY" - tables.def all.sqlite "$TOP/exporters/read/stack_views.c" <<'EOF'
import re, sqlite3, sys
db = sqlite3.connect(sys.argv[2])
for name, columns in re.findall(r'TABLE\((\w+),((?:\s*"[^"]*")+)\)', open(sys.argv[1]).read()):
    columns = ''.join(re.findall('"([^"]*)"', columns)).split()
    db.execute('CREATE TABLE IF NOT EXISTS %s(%s)' % (name, ', '.join('"%s"' % c for c in columns)))
    have = [r[1] for r in db.execute('PRAGMA table_info(%s)' % name)]
    for c in columns:
        if c not in have: db.execute('ALTER TABLE %s ADD "%s"' % (name, c))
# Nor those of stacks, which its comment lists.
for name, columns in re.findall(r'^ \*\s+(SL_CHAIN_\w+)\(([^)]*)\)$', open(sys.argv[3]).read(), re.M):
    db.execute('CREATE TABLE %s(%s)' % (name, ', '.join('"%s"' % c for c in columns.split(', '))))
db.commit()
EOF
for sql in "$TOP"/exporters/stats/reports/*.sql; do
	r=$(basename "$sql" .sql)
	check "$r has a golden file" sh -c 'ls "$1"/*"$2".txt 2>/dev/null || ls "$1"/../reports/*"$2"[.+]*' - "$GOLD" "$r"
	"$BIN" stats --show-sql="$r" | sql_shell -csv -header all.sqlite 2>&1 | tr -d '\r' | "$PY" -c '
import csv, re, sys
for row in csv.reader(sys.stdin): print([re.sub(r"^(-?\d+\.\d+?)0*$", r"\1", x) for x in row])' >shell.rows
	st -q -r "$r" -f csv all.sqlite | sed '/^$/d' | "$PY" -c '
import csv, re, sys
for row in csv.reader(sys.stdin): print([re.sub(r"^(-?\d+\.\d+?)0*$", r"\1", x) for x in row])' >ours.rows
	if [ "$(wc -l <ours.rows)" -gt 1 ]; then # a heading alone is nothing to the shell
		check "$r: the shell gives the same" diff -u shell.rows ours.rows
	else
		check "$r runs in the shell" sh -c '! grep -i error shell.rows'
	fi
done

# ---- figures against an independent computation ----
"$PY" - random.sqlite <<'EOF'
import random, sqlite3, sys
random.seed(7)
db = sqlite3.connect(sys.argv[1])
db.execute('CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT)')
db.execute('CREATE TABLE OSRT_API(start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, nameId INTEGER, returnValue INTEGER)')
for i in range(9):
    db.execute('INSERT INTO StringIds VALUES(?,?)', (i, 'f%d' % i))
    for _ in range([1, 2, 3, 4, 999, 1000, 5000, 20000, 7][i]):
        s = random.randrange(10**12)
        d = random.choice([random.randrange(1000, 1010), random.randrange(1000, 10**9), 10**13])
        db.execute('INSERT INTO OSRT_API VALUES(?,?,27,1,?,0)', (s, s + d, i))
db.commit()
EOF
cat >figures.py <<'EOF'
import json, sqlite3, statistics, sys
rows = json.load(open(sys.argv[2]))
calls = {}
for name, d in sqlite3.connect(sys.argv[1]).execute(
        'SELECT value, end-start FROM OSRT_API JOIN StringIds ON id=nameId'):
    calls.setdefault(name, []).append(d)
whole = sum(map(sum, calls.values()))
assert len(rows) == len(calls), (len(rows), len(calls))
assert [r['Total Time (ns)'] for r in rows] == sorted((sum(c) for c in calls.values()), reverse=True)
for r in rows:
    c = calls[r['Name']]
    want = {'Total Time (ns)': sum(c), 'Num Calls': len(c), 'Min (ns)': min(c), 'Max (ns)': max(c)}
    near = {'Avg (ns)': statistics.mean(c), 'Med (ns)': statistics.median(c), 'Time (%)': 100 * sum(c) / whole,
            'StdDev (ns)': statistics.stdev(c) if len(c) > 1 else 0}
    for k, v in want.items(): assert r[k] == v, (r['Name'], k, r[k], v)
    for k, v in near.items(): assert abs(r[k] - v) <= 0.0501 + 1e-12 * abs(v), (r['Name'], k, r[k], v)
EOF
st -q -r osrt_sum -f json random.sqlite >figures.json
check 'osrt_sum has the figures that Python computes' "$PY" figures.py random.sqlite figures.json

# ---- default tables on a terminal: an overview; a table that is asked for is whole ----
sqlite3 long.sqlite "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);
	CREATE TABLE OSRT_API(start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, nameId INTEGER, returnValue INTEGER);
	WITH RECURSIVE i(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM i WHERE i < 57)
	INSERT INTO StringIds SELECT i, printf('f%02d', i) FROM i;
	INSERT INTO OSRT_API SELECT 0, 1000 * id, 27, 1, id, 0 FROM StringIds"
on_terminal() { "$PY" -c 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)' "$BIN" stats "$@" </dev/null | tr -d '\r'; }
is "$(on_terminal -q long.sqlite | grep -c ' f[0-9][0-9]$'),$(on_terminal -q long.sqlite | grep -c '^ … 37 more rows (-r osrt_sum --all)$')" 20,1 'stats on a terminal prints the top 20 rows'
is "$(on_terminal -q -r osrt_sum long.sqlite | grep -c ' f[0-9][0-9]$')" 57 'stats -r on a terminal that has no size prints all rows'
is "$(st -q long.sqlite | grep -c ' f[0-9][0-9]$')" 57 'stats into a pipe prints all rows'
"$BIN" stats -q -r osrt_trace random.sqlite 2>head.err | head -n 1 >/dev/null
is "$(cat head.err)" '' 'a reader that has enough ends it quietly'

# ---- formats that programs read ----
for r in osrt_trace file_access_sum process_tree; do
	st -q -r $r -f json ours.sqlite >r.json
	st -q -r $r -f csv ours.sqlite >r.csv
	check "$r: json and csv are well-formed and agree" "$PY" -c '
import csv, json
j = json.load(open("r.json"))
text = open("r.csv", newline="", errors="replace").read()
c = [row for row in csv.DictReader(text.splitlines(keepends=True)) if any(row.values())]
assert len(j) == len(c) > 0, (len(j), len(c))
for a, b in zip(j, c):
    for k in a:
        v = "" if a[k] is None else a[k]
        assert str(v) == b[k] or float(v) == float(b[k]), (k, a[k], b[k])'
done
check 'tsv:esc keeps a row on a line' sh -c '
	[ "$("$1" stats -q -r osrt_trace -f tsv:esc:nohdr ours.sqlite | grep -ac .)" -eq 15 ] &&
	[ "$("$1" stats -q -r osrt_trace -f tsv:nohdr ours.sqlite | grep -a . | awk -F"\t" "NF != 14" | wc -l)" -eq 0 ]' - "$BIN"
check 'names on a terminal cannot steer it' sh -c '
	! "$1" stats -q ours.sqlite -r osrt_trace,file_access_sum | grep -q "$(printf "\033")"' - "$BIN"
is "$(st -q -r osrt_sum -f json nsys34.sqlite | "$PY" -c 'import json, sys; print(json.load(sys.stdin)[0]["Name"])')" poll \
	'json on the console is only JSON'
is "$(st -r lost_events -f csv ours.sqlite 2>/dev/null | head -n 1)" \
	'Count,Start (ns),Duration (ns),Pid,Tid,Thread Name,What' 'csv on the console begins with its heading'
is "$(st -q -r osrt_sum -f column:.:0:0:0:0:0:0:0:6 nsys34.sqlite | sed -n '4,$p')" ' Time (%)   Name
 --------  ------
    100.0  poll' 'column takes widths and hidden columns'

# ---- outputs ----
mkdir out && cp ours.sqlite out/x.sqlite
check 'reports, formats and outputs pair by position' st -r osrt_sum,thread_cpu_sum,lost_events -f csv,json -o .,out/y out/x.sqlite
is "$(ls out)" 'x.sqlite
x_osrt_sum.csv
y_lost_events.json
y_thread_cpu_sum.json' 'the last format and output go on for more reports'
st -q -r osrt_sum -f csv ours.sqlite | sed '/^$/d' >console.csv
check 'a file holds what the console shows' diff console.csv out/x_osrt_sum.csv
rm out/[xy]_*
is "$(st -r osrt_sum -o out/x ours.sqlite)" 'Processing [ours.sqlite] with [osrt_sum] to [out/x_osrt_sum.csv]... PROCESSED' 'stats prints the name of the file that it wrote'
sum=$(md5sum out/x_osrt_sum.csv)
echo mine >>out/x_osrt_sum.csv
is "$(st -r lost_events,osrt_sum -o out/x ours.sqlite 2>&1; echo $?)" \
	'sightline: stats: out/x_osrt_sum.csv exists already; --force-overwrite=true replaces it
1' 'stats does not replace an existing file'
is "$(tail -n 1 out/x_osrt_sum.csv) $(ls out | wc -l)" 'mine 2' 'an existing file is left alone, and no other is written'
st -q -r osrt_sum -o out/x --force-overwrite=true ours.sqlite
is "$(md5sum out/x_osrt_sum.csv)" "$sum" '--force-overwrite replaces an existing file'
is "$(st -q -r osrt_sum -f csv:nohdr -o '@cut -d\, -f9 | sort | head -n 2' ours.sqlite)" '__pread64_chk
fread' '-o @COMMAND gives the table to the command'
st -q -r osrt_trace -f csv -o '@true' random.sqlite
is $? 0 '-o @COMMAND succeeds though the command does not read'
st -q -r osrt_sum -o '@exit 3' ours.sqlite 2>err
is "$? $(cat err)" "1 sightline: stats: ours.sqlite: 'exit 3' ended with status 3" '-o @COMMAND fails with the command'
is "$(st -q -r osrt_sum -o out/no/such ours.sqlite 2>&1; echo $?)" \
	'sightline: stats: ours.sqlite: cannot write out/no/such_osrt_sum.csv: No such file or directory
1' '-o refuses a folder that does not exist'
is "$(st -q -r osrt_sum -o same ours.sqlite nsys34.sqlite 2>&1; echo $?)" \
	"sightline: stats: two tables would go to same_osrt_sum.csv; name another -o, or use '-o .'
2" '-o refuses two tables for one file'
rm -f out/x_*
(
	ulimit -f 1
	st -q -r osrt_trace -f hdoc -o out/x ours.sqlite
) 2>err
is "$? $(cat err) $(ls out)" '1 sightline: stats: ours.sqlite: cannot write out/x_osrt_trace.html: File too large x.sqlite' \
	'stats fails with one line where files may not grow, without half a file'
printf -- '-- needs: OSRT_API = x\nSELECT 1 AS a UNION ALL SELECT length(zeroblob(1 << 40));' >late.sql
st -q -r ./late.sql -o out/x ours.sqlite 2>err
is "$? $(cat err) $(ls out)" '1 sightline: stats: ours.sqlite: report late: string or blob too big x.sqlite' 'a report that fails midway leaves no file'
check 'a full disk on the console fails' sh -c '[ -w /dev/full ] || exit 0; "$1" stats -q -r osrt_sum ours.sqlite >/dev/full; [ $? -eq 1 ]' - "$BIN"
check 'a full disk on the console fails with one message for many tables' sh -c '[ -w /dev/full ] || exit 0
	"$1" stats -r osrt_sum,osrt_trace,process_tree ours.sqlite >/dev/full 2>full.err; [ $? -eq 1 ] && [ "$(grep -c stdout full.err)" -eq 1 ]' - "$BIN"

# ---- own reports ----
cat >my.sql <<'EOF'
-- title: My Report
-- arg: rows=<n>, how many
CREATE TEMP TABLE t AS SELECT end - start AS d FROM OSRT_API;
SELECT d AS "Dur (ns)" FROM t ORDER BY d DESC LIMIT coalesce(:rows, 1); -- the end
/* done */
EOF
is "$(st -q -f csv:nohdr -r ./my.sql,my.sql:rows=2 ours.sqlite | tr '\n' ' ')" '700000  700000 250000  ' 'a report from a file takes its argument'
is "$(st -q -f csv:nohdr -r my --report-dir=. --timeunit usec ours.sqlite)" 700.000 '--report-dir finds reports in a folder'
is "$(st -q -r ./my.sql:cols=2 ours.sqlite 2>&1; echo $?)" "sightline: stats: report my does not take ':cols=2'; it takes rows=<n>
2" 'a report refuses an argument that it does not have'
echo 'SELEKT 1' >bad.sql
is "$(st -q -r ./bad.sql ours.sqlite 2>&1; echo $?)" 'sightline: stats: ours.sqlite: report bad: near "SELEKT": syntax error
1' 'a report with wrong SQL fails with one line'
echo 'DELETE FROM OSRT_API; SELECT 1' >write.sql
st -q -r ./write.sql ours.sqlite 2>err
is "$? $(cat err)" '1 sightline: stats: ours.sqlite: report write: attempt to write a readonly database' 'a report with SQL that writes fails'

# ---- wrong use ----
is "$(st -r osrt_smu ours.sqlite 2>&1; echo $?)" "sightline: stats: no report is called 'osrt_smu'; did you mean 'osrt_sum'? (see --help-reports)
2" 'stats names the nearest report for an unknown one'
is "$(st -f jsn ours.sqlite 2>&1; echo $?)" "sightline: stats: no format is called 'jsn'; did you mean 'json'? (see --help-formats)
2" 'stats names the nearest format for an unknown one'
is "$(st -f csv:nohead ours.sqlite 2>&1; echo $?)" "sightline: stats: format csv does not take ':nohead'; it takes :nohdr
2" 'stats names the modifiers for an unknown one'
st >log 2>&1
is "$? $(wc -l <log)" '2 1' 'stats without a report is refused'
st --timeunit fortnights ours.sqlite >log 2>&1
is "$? $(wc -l <log)" '2 1' 'stats refuses an unknown unit'
is "$(st -q -f csv:nohdr ours.sqlite -r lost_events | wc -l)" 3 'options of stats may follow the file'
is "$(st -q -f csv:nohdr -r lost_events -- ours.sqlite | wc -l)" 3 'options of stats end before --'

# ---- bad input: one line that names what is wrong, exit 1, nothing on stdout, nothing written ----
bad() { # FILE MESSAGE-PART NAME
	ls -A out . >ls.before
	st -f csv -o out/bad "$1" >so 2>se
	rc=$?
	ls -A out . >ls.after
	is "$rc $(wc -c <so) $(wc -l <se) $(grep -cF "$2" se)" '1 0 1 1' "stats of $3 fails with one line"
	cmp -s ls.before ls.after || result 1 "stats of $3 writes nothing"
}
touch so se ls.before ls.after
bad nope.sqlite 'nope.sqlite: No such file' 'a missing file'
bad out 'out is a directory' 'a directory'
: >empty.sqlite
bad empty.sqlite 'empty.sqlite is empty' 'an empty file'
echo 'Hello, I am no database, but long enough to be one, am I not' >text.sqlite
bad text.sqlite 'text.sqlite is not an SQLite database' 'a text that is no database'
size=$(wc -c <ours.sqlite)
head -c 50 ours.sqlite >head.sqlite
bad head.sqlite 'head.sqlite is cut off' 'a cut-off header'
head -c $((size / 2)) ours.sqlite >half.sqlite
bad half.sqlite "half.sqlite is cut off: $((size / 2)) of at least $size bytes" 'a cut-off database'
{
	head -c 100 ours.sqlite
	head -c $((size - 100)) /dev/zero | tr '\0' '\377'
} >corrupt.sqlite
bad corrupt.sqlite 'corrupt.sqlite is damaged' 'a damaged database'
sqlite3 foreign.sqlite 'CREATE TABLE t(a)'
bad foreign.sqlite 'foreign.sqlite is an SQLite database, but no report' "another program's database"
mkfifo pipe.sqlite
bad pipe.sqlite 'pipe.sqlite is no regular file' 'a named pipe'
bad x.nsys-rep 'x.nsys-rep: No such file' 'an nsys-rep that is not there'
{
	page=$(sqlite3 ours.sqlite "SELECT rootpage - 1 FROM sqlite_master WHERE name = 'OSRT_API'")
	head -c $((page * 4096)) ours.sqlite
	head -c 4096 /dev/zero | tr '\0' '\252'
	tail -c +$((page * 4096 + 4097)) ours.sqlite
} >inside.sqlite
st -q -r osrt_sum -o out/bad inside.sqlite 2>err
is "$? $(wc -l <err) $(grep -c 'damaged' err) $(ls out)" '1 1 1 x.sqlite' 'damage found while a table is read fails with one line'
st -q -r osrt_sum -o out/bad ours.sqlite half.sqlite >/dev/null 2>&1
is "$? $(ls out)" '1 x.sqlite' 'one bad report of two: nothing is written'

# ---- what stands for another file, and what is still being written ----
: >run.nsys-rep && cp ours.sqlite run.sqlite
is "$(st -f csv:nohdr -r lost_events run.nsys-rep 2>&1 | head -n 1)" 'sightline: using run.sqlite for run.nsys-rep' 'stats reads x.sqlite for x.nsys-rep'
is "$(st -q -f csv:nohdr -r lost_events --sqlite run.sqlite run.nsys-rep 2>&1 | wc -l)" 3 '--sqlite names the database of x.nsys-rep'
touch -d '1 hour ago' run.sqlite
bad run.nsys-rep 'run.sqlite is older than run.nsys-rep; make it anew' 'a database of an earlier recording'
is "$(st -q -f csv:nohdr -r lost_events --force-export=true run.sqlite 2>&1 | wc -l)" 3 'a database of an earlier recording is read under its own name'
cp ours.sqlite 'odd ?%23#name.sqlite' && sqlite3 'odd ?%23#name.sqlite' 'PRAGMA journal_mode=wal' >wal
is "$(st -q -f csv:nohdr -r lost_events 'odd ?%23#name.sqlite' | wc -l) $(ls odd* | wc -l)" '3 1' 'a report in WAL mode without a log, with an odd name, is read'
cat >live.py <<'EOF'
import hashlib, json, sqlite3, subprocess, sys
db = sqlite3.connect('live.sqlite', isolation_level=None)
db.execute('PRAGMA journal_mode=wal')
db.execute('PRAGMA wal_autocheckpoint=0')
row = 'INSERT INTO OSRT_API VALUES(1,2001,27,1,1,0,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL)'
def calls():
    out = subprocess.run([sys.argv[1], 'stats', '-q', '-f', 'json', '-r', 'osrt_sum', 'live.sqlite'], check=True,
                         stdout=subprocess.PIPE).stdout
    return sum(r['Num Calls'] for r in json.loads(out))
def digest(): return hashlib.md5(open('live.sqlite', 'rb').read()).hexdigest()
for n in range(3): db.execute(row)
before, first = digest(), calls()
db.execute('BEGIN IMMEDIATE')
db.execute(row)
assert calls() == first, 'sees what is not committed'
db.execute('COMMIT')
assert calls() == first + 1, (calls(), first)
assert digest() == before, 'the file was written to'
EOF
cp ours.sqlite live.sqlite
check 'a report that is being written is read as committed, without a lock' "$PY" live.py "$BIN"
is "$(st -f csv -r osrt_sum ours.sqlite 2>&1 >/dev/null | grep -c 'not finished')" 0 'stats of a finished report has no message'
sqlite3 live.sqlite "DELETE FROM META_DATA_EXPORT WHERE name = 'SL_COMPLETE'; INSERT INTO META_DATA_EXPORT(name, value) VALUES ('SL_COMPLETE', '0')"
is "$(st -f csv -r osrt_sum live.sqlite 2>&1 >/dev/null | grep -c 'live.sqlite is not finished')" 1 'stats of an unfinished report says so'
is "$(st -q -f csv -r osrt_sum live.sqlite 2>&1 >/dev/null | wc -l)" 0 'stats -q of an unfinished report has no message'
check 'stats does not change a report' md5sum -c before.md5

# ---- help ----
check '--help-reports lists the reports' sh -c '"$1" stats --help-reports | grep -q "osrt_sum .*OS Runtime Summary"' - "$BIN"
check '--help-reports=NAME describes one report' sh -c '"$1" stats --help-reports=osrtsum | grep -q "StdDev (ns) .*n - 1"' - "$BIN"
check '--help-reports ALL describes all reports' sh -c '[ "$("$1" stats --help-reports ALL | grep -c " -- ")" -eq "$(ls "$2"/exporters/stats/reports/*.sql | wc -l)" ]' - "$BIN" "$TOP"
check '--help-formats lists the formats' sh -c '"$1" stats --help-formats | grep -q "csv .*RFC 4180"' - "$BIN"
check '--help-reports lists reports of own folders' sh -c '"$1" stats --report-dir=. --help-reports | grep -q "my  *in \." && "$1" stats --report-dir . --help-reports my | grep -q "My Report"' - "$BIN"
st --help-reports=osrt_smu >log 2>&1
is $? 2 '--help-reports of an unknown report is refused'
done_testing

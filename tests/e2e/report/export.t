#!/bin/sh
# export.t - sightline export: formats against truth that was written or computed without it, and what can go wrong.
# shellcheck disable=SC2012,SC2016
. tests/lib.sh
GOLD=$TOP/tests/golden/export
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'

ex() { "$BIN" export "$@"; }
read_chrome() { "$PY" "$E2E/report/chrome_read.py" "$@"; }

sqlite3 small.sqlite <"$TOP/collector/schema.sql" && sqlite3 small.sqlite <"$GOLD/small.sql" || exit 1
md5sum ./*.sqlite >before.md5

# ---- chrome: a report in which everything occurs, worked out by hand ----
ex -t chrome -a all -o small.json small.sqlite
check 'chrome has every event and arrow of a small report' read_chrome small.json "$GOLD/small.expected"
check 'chrome: order, nesting and ids are right' read_chrome small.json
check 'chrome: json.tool reads it' "$PY" -m json.tool small.json
sed '/"name":"gemm"/{s/"ts":8.000/"ts":8.001/}' small.json >spoilt.json
check 'the comparison finds a difference of a nanosecond' sh -c '! "$1" "$2" spoilt.json "$3"' - "$PY" "$E2E/report/chrome_read.py" "$GOLD/small.expected"
sed 's/"dur":5.500/"dur":0.500/; s/"ts":7.000,"dur":3.000/"ts":7.000,"dur":9.000/' small.json >spoilt.json
check 'the comparison finds ranges that do not nest' sh -c '! "$1" "$2" spoilt.json' - "$PY" "$E2E/report/chrome_read.py"

ex -t chrome -a kernel,cuda-api -o part.json small.sqlite
is "$("$PY" -c '
import json
print(sorted({e.get("cat", e["ph"]) for e in json.load(open("part.json"))["traceEvents"]}))')" \
	"['M', 'ac2g', 'cuda_driver', 'cuda_runtime', 'kernel']" '--activities selects the events'
ex -t chrome -a kernel -o - small.sqlite >part.json
is "$(grep -c '"ph":"[sf]"' part.json)" 0 'chrome has no arrow where only one end is exported'
ex -t chrome -o - small.sqlite >part.json
is "$("$PY" -c '
import json
have = {e.get("cat", "") for e in json.load(open("part.json"))["traceEvents"]}
print("kernel" in have, "osrt" in have, have & {"cuda_sync", "gpu_user_annotation"})')" 'True True set()' \
	'chrome has by default no waits for the GPU, which HTA counts as its work'
ex -t chrome -a kernel,cuda-api small.sqlite -o shared.json
is "$("$PY" -c '
import json
events = json.load(open("shared.json"))["traceEvents"]
print(sorted((e["pid"], e["id"]) for e in events if e["ph"] == "s"))')" '[(100, 1)]' 'the id of an arrow is the correlation id'
ex -t chrome -a osrt --ts-shift=5000 -o - small.sqlite | grep -q '"ts":0.000,"dur":1.000.*"name":"read"'
is $? 0 '--ts-shift moves the times'
ex -t chrome -a nvtx --ts-normalize=true -o - small.sqlite | grep -q '"ts":1001.000,"dur":8.000'
is $? 0 '--ts-normalize gives times since 1970'
ex -t chrome -a all --pid 200 -o - small.sqlite | grep -c '"ph":"[XBbi]"' >count
is "$(cat count)" 5 '--pid selects a call, its work, a time on a CPU, and all messages'
ex -t chrome -a cuda-api --time 2.25us-2.405us -o - small.sqlite | grep -c '"ph":"X"' >count
is "$(cat count)" 1 '--time selects the events of that time'

cp small.sqlite named.sqlite
sqlite3 named.sqlite "INSERT INTO NVTX_EVENTS (start, eventType, text, globalTid, eventId) VALUES(0, 39, 'loader', 281478332154056, 90)"
ex -t chrome -a cuda-api -o - named.sqlite | grep -q '"pid":200,"tid":200,"name":"thread_name","args":{"name":"loader"}'
is $? 0 'a thread named by NVTX has that name'

# ---- the order in which rows lie in a table does not matter ----
"$PY" - <<'EOT'
import random, sqlite3
a, b = sqlite3.connect('small.sqlite'), sqlite3.connect('shuffled.sqlite')
a.text_factory = b.text_factory = bytes
random.seed(1)
for name, sql in a.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall():
    name, sql = name.decode(), sql.decode()
    b.execute(sql)
    rows = a.execute(f'SELECT * FROM "{name}"').fetchall()
    random.shuffle(rows)
    for row in rows:
        b.execute(f'INSERT INTO "{name}" VALUES({",".join("CAST(? AS TEXT)" if isinstance(v, bytes) else "?" for v in row)})', row)
b.commit()
EOT
ex -t chrome -a all -o shuffled.json shuffled.sqlite
check 'chrome has every event of rows in any order' read_chrome shuffled.json "$GOLD/small.expected"
check 'chrome of rows in any order: order, nesting and ids are right' read_chrome shuffled.json

# ---- text, json, jsonlines, csv ----
ex -t text -a nvtx,kernel,cuda-api --pid 100 -o - small.sqlite | grep -v -e async -e mark -e open >got.txt
check 'text has the events as worked out by hand' diff -u "$GOLD/small.txt" got.txt
is "$(ex -t text -a osrt -o - small.sqlite | grep -cF 'path="\\n\x01\xFF')" 1 'text: nothing that upsets a terminal' ||
	ex -t text -a osrt -o - small.sqlite | diag
for f in json jsonlines csv; do
	ex -t $f -o "every.$f" small.sqlite
	check "$f has every row of every table" "$PY" "$E2E/report/table_truth.py" $f small.sqlite every.$f
	ex -t $f -o "some.$f" --tables='NVTX.*,stringids' small.sqlite
	check "$f --tables has the rows of the tables named" "$PY" "$E2E/report/table_truth.py" $f small.sqlite some.$f 'NVTX.*|stringids'
done
check 'json: json.tool reads it' "$PY" -m json.tool every.json
ex -t csv -o all.csv --lazy=false small.sqlite
is "$(ls all.csv | wc -l) $(cat all.csv/CUBLAS_EVENTS.csv)" "$(grep -cE '^CREATE (TABLE|VIEW)' "$TOP/collector/schema.sql") start,end,eventClass,globalTid,nameId,callId,returnValue,callchainId$(printf '\r')" 'csv --lazy=false has empty tables, too'
ex -t jsonlines --tables='OSRT_API' --ts-shift=-1 -o - small.sqlite | head -n 1 | grep -q '"start":14999999,"end":24999999'
is $? 0 'jsonlines --ts-shift moves the times'

# ---- packed ----
ex -t chrome -a all -f true -o small.json small.sqlite
ex -t chrome -a all -o small.json.gz small.sqlite 2>log
if grep -q 'without zlib' log; then
	skip 'a result named .gz is the same, packed by gzip' 'built without zlib (package zlib1g-dev)'
else
	gzip -dc small.json.gz | cmp - small.json
	is $? 0 'a result named .gz is the same, packed by gzip'
fi
ex -t chrome -a all -o small.json.zst small.sqlite 2>log
if grep -q 'without libzstd' log; then
	skip 'a result named .zst is the same, packed by zstd' 'built without libzstd (package libzstd-dev)'
elif command -v zstd >/dev/null; then
	zstd -dc small.json.zst | cmp - small.json
	is $? 0 'a result named .zst is the same, packed by zstd'
else
	is "$(od -An -tx1 -N4 small.json.zst | tr -d ' ')" 28b52ffd 'a result named .zst begins like one of zstd (no zstd to unpack it)'
fi

# ---- names of results ----
mkdir names && cp small.sqlite names/run.sqlite
(cd names && "$BIN" export -t chrome run.sqlite && "$BIN" export -t text run.sqlite && "$BIN" export run.sqlite -t csv)
is "$(ls names | tr '\n' ' ')" 'run.csv.d run.json run.sqlite run.txt ' 'names of results follow the name of the report'
ex -t chrome -o names/run.json small.sqlite 2>log
is "$? $(cat log)" '1 sightline: export: names/run.json exists already; --force-overwrite=true replaces it' 'export does not replace an existing file'
check 'export replaces an existing file with -f true' ex -t chrome -f true -o names/run.json small.sqlite
mkfifo names/pipe && ln -s pipe names/to_pipe
for name in pipe to_pipe; do
	for type in chrome sqlite; do
		ex -t $type -f true -o names/$name small.sqlite 2>log
		is "$? $(cat log)" "1 sightline: export: small.sqlite: cannot write names/$name: it is no plain file" "export -t $type -f true replaces nothing but a plain file: $name"
	done
done
check 'a pipe that export was told to replace is there' test -p names/pipe -a -L names/to_pipe
rm names/pipe names/to_pipe
echo mine >names/run.csv.d/mine.txt
csv_cnt=$(ls names/run.csv.d | wc -l)
ex -t csv -f true -o names/run.csv.d small.sqlite 2>log
is "$? $(ls names/run.csv.d | wc -l) $(wc -l <log)" "1 $csv_cnt 1" 'export does not replace a folder with a file of another kind'
rm names/run.csv.d/mine.txt
mkdir -p names/run.csv.d
check 'export replaces a folder that has only its files' ex -t csv -f true -o names/run.csv.d small.sqlite
is "$(ls names | wc -l)" 4 'export leaves no other file'
: >run.nsys-rep && cp small.sqlite run.sqlite
is "$(ex -t text -a kernel -o - run.nsys-rep 2>&1 | head -n 1)" 'sightline: using run.sqlite for run.nsys-rep' 'export reads x.sqlite for x.nsys-rep'

touch -d '2 days ago' run.sqlite
is "$(ex -t text -a kernel -o - run.nsys-rep 2>&1 | cut -d' ' -f 1-9)" 'sightline: export: run.sqlite is older than run.nsys-rep; make it' 'export refuses x.sqlite of an earlier recording than x.nsys-rep'

# ---- wrong use, bad input ----
wrong() { # STATUS MESSAGE-PART NAME ARGUMENT...
	want_status=$1 part=$2 name=$3
	shift 3
	ls -A . names >ls.before
	ex "$@" >so 2>se
	rc=$?
	ls -A . names >ls.after
	is "$rc $(wc -c <so) $(wc -l <se) $(grep -cF -e "$part" se)" "$want_status 0 1 1" "$name" || diag <se
	cmp -s ls.before ls.after || result 1 "$name: a refused export leaves no file"
}
touch so se ls.before ls.after
wrong 2 "did you mean 'chrome'" 'a type that is misspelt' -t chrom small.sqlite
wrong 2 "does not know 'arrow'" 'a type of nsys that is not here' -t arrow small.sqlite
wrong 2 "did you mean 'kernel'" 'an activity that is misspelt' -t chrome -a kernl -o x.json small.sqlite
wrong 2 'two' 'two reports' -t chrome small.sqlite run.sqlite
wrong 2 'no report is named' 'no report' -t chrome
wrong 2 'cannot go to stdout' 'a folder to stdout' -t csv -o - small.sqlite
wrong 2 'is the report itself' 'into the report' -t chrome -f true -o ./small.sqlite small.sqlite
wrong 2 'is for timelines' 'activities of tables' -t json -a kernel -o x.json small.sqlite
wrong 2 'is for tables' 'tables of a timeline' -t chrome --tables=OSRT_API -o x.json small.sqlite
wrong 2 'is for type sqlite' 'private data would stay' -t chrome --anonymize=true -o x.json small.sqlite
wrong 2 '--ts-shift' 'a shift that is none' -t chrome --ts-shift=x -o x.json small.sqlite
wrong 1 'no regular expression' 'a regular expression that is none' -t json --tables='(' -o x.json small.sqlite
wrong 1 'no table' 'tables that are not there' -t json --tables='nix' -o x.json small.sqlite
wrong 1 'No such file' 'a folder that is not there' -t chrome -o nope/x.json small.sqlite
wrong 1 'nope.sqlite: No such file' 'a report that is not there' -t chrome nope.sqlite
echo 'Hello, I am no database, but long enough to be one, am I not' >hello.sqlite
wrong 1 'not an SQLite database' 'a text' -t chrome hello.sqlite
size=$(wc -c <small.sqlite)
head -c $((size / 2)) small.sqlite >half.sqlite
wrong 1 'half.sqlite is cut off' 'a report that is cut off' -t chrome half.sqlite
{
	page=$(sqlite3 small.sqlite "SELECT rootpage - 1 FROM sqlite_master WHERE name = 'OSRT_API'")
	head -c $((page * 4096)) small.sqlite
	head -c 4096 /dev/zero | tr '\0' '\252'
	tail -c +$((page * 4096 + 4097)) small.sqlite
} >inside.sqlite
for t in chrome json csv parquetdir text; do
	wrong 1 'damaged' "damage found on the way: $t" -t $t -o x.out inside.sqlite
done
sqlite3 empty.sqlite 'CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT)'
ex -t chrome -o empty.json empty.sqlite
is "$? $("$PY" -c 'import json; print(json.load(open("empty.json"))["traceEvents"])')" '0 []' 'a report without events'

# ---- a full disk, a closed pipe, a signal ----
if [ -w /dev/full ]; then
	ex -t chrome -o - small.sqlite >/dev/full 2>log
	is "$? $(cat log)" '1 sightline: export: small.sqlite: cannot write to stdout: No space left on device' 'export to a full stdout fails with one line'
else
	skip 'export to a full stdout fails with one line' 'no /dev/full'
fi
sqlite3 large.sqlite <"$TOP/collector/schema.sql"
sqlite3 large.sqlite "INSERT INTO StringIds VALUES(1, 'read');
	INSERT INTO OSRT_API (start, end, eventClass, globalTid, nameId, returnValue, callchainId, argumentsId)
	WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 700000)
	SELECT i * 10, i * 10 + 5, 27, 281476654432356, 1, i, 0, 0 FROM n"
mkdir tmp
for t in chrome json csv; do
	(ulimit -f 2048 && ex -t $t -o tmp/large large.sqlite) 2>log
	is "$? $(wc -l <log) $(ls tmp | wc -l)" '1 1 0' "export of $t fails where the file may not grow" || diag <log
done
ex -t chrome -o - large.sqlite 2>log | head -n 1 >/dev/null
is "$(wc -l <log)" 0 'export ends quietly when its reader has enough'
for t in chrome json csv parquetdir; do
	"$BIN" export -t $t -o tmp/large large.sqlite 2>log &
	pid=$!
	while kill -0 $pid && [ -z "$(ls tmp)" ]; do :; done
	kill -TERM $pid
	wait $pid 2>/dev/null
	is "$? $(wc -l <log) $(ls tmp | wc -l)" '143 0 0' "export of $t that a signal ends leaves no file" || ls tmp | diag
done

# ---- databases of nsys: against a converter that was written independently ----
for db in flameox_nsight_2025.5.2 nsysai_h100_2gpu_1s nsysai_mfu_2gpu_before nsysai_mfu_2gpu_after; do
	real=$TOP/../shared/data/nsys/$db.sqlite
	if [ ! -f "$real" ]; then
		skip "$db" 'not here'
		continue
	fi
	cp "$real" real.sqlite
	md5sum real.sqlite >real.md5
	ex -t chrome -a all -f true -o real.json real.sqlite
	check "$db: chrome has every event and arrow" "$PY" "$E2E/report/chrome_truth.py" real.sqlite real.json
	check "$db: chrome: order, nesting and ids are right" read_chrome real.json
	for f in json jsonlines csv; do
		ex -t $f -f true -o real.$f real.sqlite
		check "$db: $f has every row of every table" "$PY" "$E2E/report/table_truth.py" $f real.sqlite real.$f
	done
	check "$db is as it was" sh -c 'md5sum -c real.md5 && [ ! -e real.sqlite-wal ] && [ ! -e real.sqlite-journal ]'
done
check 'export does not change a report' md5sum -c before.md5

ex --help >help
"$BIN" export --completion-data >table
is "$(grep -c '^[ta].*[,	]\(chrome\|nvtx-kernel\),' table)" 2 'completion offers types and activities'
is "$(grep -c -e '^  chrome ' -e '^  nvtx-kernel ' -e '--force-overwrite' help)" 3 '--help has types, activities and options'

# ---- ids of our own reports: unique in all processes, the number of the process above 32 bits ----
sqlite3 many.sqlite "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringIds VALUES (1, 'launch'), (2, 'k');
	CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, end, eventClass, globalTid, correlationId, nameId, returnValue);
	CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName, shortName);
	WITH p(n) AS (VALUES (0), (1), (2)) INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT 10, 20, 0, (1 << 48) + ((7 + n) << 24) + 7 + n, (n << 32) + 5, 1, 0 FROM p;
	WITH p(n) AS (VALUES (0), (1), (2)) INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 30, 40, 0, 1, 7, (n << 32) + 5, (1 << 48) + ((7 + n) << 24), 2, 2 FROM p"
"$BIN" export -t chrome -o many.json many.sqlite 2>/dev/null
is "$("$PY" -c 'import json
e = json.load(open("many.json"))["traceEvents"]
s, f = ({x["id"]: x["pid"] for x in e if x["ph"] == p} for p in "sf")
print(len(f), s.keys() == f.keys(), [x >> 32 for x in sorted(s)], {x & 0xFFFFFFFF for x in s})')" '3 True [0, 1, 2] {5}' 'arrows of the second and third process have ids of their own'

# ---- nsys's rows for where a call began (eventClass 31) and ended (32), beside that of the call ----
sqlite3 phases.sqlite "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringIds VALUES (1, 'read');
	CREATE TABLE PROCESSES(globalPid, pid, name); INSERT INTO PROCESSES VALUES ((1 << 48) + (7 << 24), 7, 'phased');
	CREATE TABLE OSRT_API(start, end, eventClass, globalTid, nameId, returnValue);
	INSERT INTO OSRT_API SELECT t, t + 10 * (c = 27), c, (1 << 48) + (7 << 24) + 7, 1, 0 FROM
		(SELECT 100 AS t UNION SELECT 200), (SELECT 27 AS c UNION SELECT 31 UNION SELECT 32)"
"$BIN" export -t chrome -o phases.json phases.sqlite 2>/dev/null
is "$(grep -c '"name":"read"' phases.json)" 2 'events where calls began and ended are no calls in chrome'
is "$("$BIN" top --once -f json phases.sqlite 2>/dev/null | "$PY" -c 'import json, sys
d = json.load(sys.stdin)
print([(p["process"], p["calls"]) for p in d["processes"]], [(f["function"], f["calls"]) for f in d["functions"]])')" \
	"[('phased', 2)] [('read', 2)]" 'events where calls began and ended are no calls in top'
sqlite3 phases.sqlite 'DROP TABLE OSRT_API; CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, end, eventClass, globalTid, correlationId, nameId, returnValue);
	INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 0, (1 << 48) + (7 << 24) + 7, 1, 1, 0)'
is "$("$BIN" top --once -f json phases.sqlite 2>/dev/null | "$PY" -c 'import json, sys
d = json.load(sys.stdin)
print([(p["process"], p.get("calls")) for p in d["processes"]])')" "[('phased', None)]" 'chrome of a report of CUDA alone names processes'

done_testing

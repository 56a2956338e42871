#!/bin/sh
# bounded.t - answers in JSON have a bounded size, meet their schemas, and say what they left out; exit status 4: cannot answer.
. tests/lib.sh

schema() { "$PY" "$E2E/lib/schema.py" "$TOP/exporters/schemas/$1.json" "$2"; }
sqlite3 many.sqlite "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);
	CREATE TABLE OSRT_API(start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, nameId INTEGER, returnValue INTEGER);
	WITH RECURSIVE i(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM i WHERE i < 3000)
	INSERT INTO StringIds SELECT i, printf('%s_%04d', replace(hex(zeroblob(60)), '00', 'f'), i) FROM i;
	INSERT INTO OSRT_API SELECT 10000 * id, 10000 * id + id, 27, 1677721700, id, 0 FROM StringIds"
sqlite3 empty.sqlite 'CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT)'

for command in why analyze info; do
	"$BIN" "$command" -f json many.sqlite >"$command.json" 2>err
	is "$?,$(cat err)" 0, "$command answers"
	check "$command: at most 64 KiB without an option" test "$(wc -c <"$command.json")" -le 65536
	check "$command: the answer meets its schema" schema "$command" "$command.json"
done
"$BIN" compare -f json many.sqlite many.sqlite >compare.json
check 'compare: at most 64 KiB without an option' test "$(wc -c <compare.json)" -le 65536
check 'compare: the answer meets its schema' schema compare compare.json
is "$("$PY" -c 'import json; d = json.load(open("why.json")); print(len(d["partition"]), d["omitted"]["partition"]["count"] + len(d["partition"]) > 1000)')" \
	'50 True' 'why: 50 parts, and the number of the others'
next=$("$PY" -c 'import json; print(json.load(open("why.json"))["next"])')
is "$(echo "$next" | sed "s|^sightline|$BIN|" | sh | "$PY" -c 'import json, sys; print(len(json.load(sys.stdin)["partition"]) > 50)')" True \
	'why: the next command shows more'
is "$("$BIN" why -f json --limit=0 --max-bytes=0 many.sqlite | "$PY" -c 'import json, sys; d = json.load(sys.stdin)
print("omitted" in d, sum(p["ns"] for p in d["partition"]) == d["checks"]["sum_ns"])')" 'False True' 'why --limit=0 --max-bytes=0 is whole'
for bytes in 1000 3000 20000; do
	for command in why analyze info 'compare many.sqlite'; do
		# shellcheck disable=SC2086 # words
		"$BIN" $command -f json --max-bytes=$bytes many.sqlite >out.json
		is "$("$PY" -m json.tool out.json >/dev/null && [ "$(wc -c <out.json)" -le $((bytes + 1600)) ] && echo yes)" yes "$command --max-bytes=$bytes"
	done
done

# ---- tables: an array, as nsys has it, where all rows fit, and in files; else an object; one where a size is asked for ----
for words in '-q -r osrt_trace' '-q -r osrt_sum,osrt_trace'; do
	# shellcheck disable=SC2086 # words
	"$BIN" stats $words -f json many.sqlite >table.json
	check "stats $words: at most 64 KiB without an option" test "$(wc -c <table.json)" -le 65536
done
"$BIN" stats -q -r osrt_trace -f json many.sqlite >table.json
check 'stats of many rows: the answer meets its schema' schema table table.json
is "$("$PY" -c 'import json; d = json.load(open("table.json")); print(len(d["rows"]) > 50, len(d["rows"]) + d["omitted"]["rows"]["count"])')" 'True 3000' \
	'stats of many rows counts the rows left out'
next=$("$PY" -c 'import json; print(json.load(open("table.json"))["next"])')
is "$(echo "$next" | sed "s|^sightline|$BIN|" | sh | "$PY" -c 'import json, sys
print(len(json.load(sys.stdin)["rows"]) > len(json.load(open("table.json"))["rows"]))')" True 'stats: the next command shows more'
"$BIN" sql -f json many.sqlite 'SELECT * FROM OSRT_API' >table.json
check 'sql of many rows: at most 64 KiB without an option' test "$(wc -c <table.json)" -le 65536
check 'sql of many rows: the answer meets its schema' schema table table.json
"$BIN" sql -f json many.sqlite "SELECT replace(hex(zeroblob(50000)), '00', 'x') AS long" >table.json
check 'sql of one long text: at most 64 KiB without an option' test "$(wc -c <table.json)" -le 65536
is "$("$BIN" sql -f json many.sqlite 'SELECT * FROM OSRT_API LIMIT 100' | "$PY" -c 'import json, sys; print(len(json.load(sys.stdin)))')" 100 \
	'sql of rows that fit is the array of them'
is "$("$BIN" sql -f json --limit=0 --max-bytes=0 many.sqlite 'SELECT * FROM OSRT_API' | "$PY" -c 'import json, sys; print(len(json.load(sys.stdin)))')" 3000 \
	'sql --limit=0 --max-bytes=0 is the array of all rows'
"$BIN" stats -q -r osrt_trace -f json -o whole many.sqlite
is "$("$PY" -c 'import glob, json; print(len(json.load(open(glob.glob("whole*")[0]))))')" 3000 'stats -o writes the array of all rows'
"$BIN" stats -q -r osrt_sum -f json --limit=20 many.sqlite >table.json
check 'stats --limit: the answer meets its schema' schema table table.json
is "$("$PY" -c 'import json; d = json.load(open("table.json")); print(len(d["rows"]), d["omitted"]["rows"]["count"], 0 < d["omitted"]["rows"]["time_share"] < 1)')" \
	'20 2980 True' 'stats --limit has so many rows, and counts the others'
"$BIN" sql -f json --max-bytes=2000 many.sqlite 'SELECT * FROM OSRT_API' >table.json
check 'sql --max-bytes: the answer meets its schema' schema table table.json
check 'sql --max-bytes: no more bytes' test "$(wc -c <table.json)" -le 2000
is "$("$PY" -c 'import json; d = json.load(open("table.json")); print(len(d["rows"]) + d["omitted"]["rows"]["count"])')" 3000 'sql --max-bytes counts the rows left out'
is "$("$BIN" stats -q -r osrt_trace -f csv --limit=3 many.sqlite 2>err | grep -c ffff),$(grep -c 'osrt_trace: 2997 more rows' err)" 3,1 \
	'stats -f csv --limit prints three rows and counts the others on stderr'

# ---- cannot answer ----
"$BIN" why -f json empty.sqlite >out.json
is $? 4 'why of a report without events: exit status 4'
check 'why of a report without events: the shape of an abstained answer' "$PY" -c 'import json
d = json.load(open("out.json")); assert d["abstained"] is True and d["reason"] and d["remedy"] and d["report"] == "empty.sqlite", d'
check 'an abstained answer meets the schema' schema why out.json
"$BIN" why empty.sqlite >/dev/null
is $? 4 'why as text, without events: exit status 4'
"$BIN" analyze -q -f json -r gpu_gaps many.sqlite >out.json
is "$?,$("$PY" -c 'import json; print(json.load(open("out.json"))["abstained"])')" 4,True 'analyze: no rule has data: exit status 4'
"$BIN" analyze -q -f json -r io_syncs many.sqlite >out.json
is "$?,$("$PY" -c 'import json; d = json.load(open("out.json")); print("abstained" in d, d["rules"][0]["result"])')" '0,False silent' 'analyze: looked and clean is an answer'
"$BIN" stats -q -r cuda_gpu_kern_sum -f json --limit=5 many.sqlite >out.json 2>err
is "$?,$("$PY" -c 'import json; print(json.load(open("out.json"))["abstained"])')" 4,True 'stats --limit of absent data: exit status 4'
"$BIN" stats -q -r cuda_gpu_kern_sum -f json many.sqlite >out.json
is "$?,$(cat out.json)" 0, 'stats of absent data without the option: nothing, as nsys'
"$BIN" why -f json absent.sqlite >out.json 2>err
is "$?,$(cat out.json)" 1, 'a failure is no abstained answer'
done_testing

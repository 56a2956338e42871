#!/bin/sh
# Questions over datasets of many ranks: the fault that was put in is named first, by DuckDB; the same text parses for Spark.
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
PATH=$B/tests/duckdb/duckdb_cli:$PATH
command -v duckdb >/dev/null || skip_all 'duckdb is not there: PyPI could not be reached (package duckdb-cli)'
export PATH
ask() { "$BIN" ranks ask "$@" 2>err; }
first() { # QUESTION COLUMN [OPTION...]: of the first row
	first_question=$1 first_column=$2
	shift 2
	ask "$first_question" -f json "$@" | "$PY" -c 'import json, sys; d = json.load(sys.stdin); print(d[0][sys.argv[1]] if d else "nothing")' "$first_column" 2>&1
}
make() { "$PY" "$E2E/report/ranks_make.py" "$@"; }

# ---- faults of 1 % of a step, some seeds each ----
named() { # FAULT QUESTION COLUMN: the question names it first, for each seed
	wrong=
	for seed in 1 2 3; do
		want=$(make "ds_$1" "$1$seed" 16 40 "$1" $seed)
		got=$(first "$2" "$3" -d "ds_$1" --run "$1$seed")
		[ "$got" = "$want" ] || wrong="$wrong $seed: $got instead of $want"
	done
	is "$wrong" '' "$1: $2 names it"
}
named late straggler rank
named cpu why rank
named file why rank
named gpu gpus rank
named types gpus rank
named link network commHash
named mount files mount
named missing data firstMissing
is "$(first why cause -d ds_cpu --run cpu1) $(first why cause -d ds_file --run file1) $(first why cause -d ds_gpu --run gpu1)" 'computing files GPU' \
	'why has the cause of cpu, file and gpu'
# ---- a GPU that is throttled has its cause ----
is "$(first gpus throttled -d ds_gpu --run gpu1) $(first gpus cause -d ds_gpu --run gpu1)" 'None None' 'gpus of a dataset without health knows no cause'
rank=$(first gpus rank -d ds_gpu --run gpu1)
mkdir -p ds_gpu/SL_GPU_HEALTH/run=gpu1/node=n0
duckdb -init /dev/null -bail -c "COPY (SELECT CAST(r AS BIGINT) AS \"rank\", CAST(0 AS BIGINT) AS minute, name, unit, isSum, n, CAST(CASE WHEN r = $rank THEN bad ELSE good END AS BIGINT) AS total,
	CAST(0 AS BIGINT) AS least, CAST(CASE WHEN r = $rank THEN bad ELSE good END AS BIGINT) AS most, CAST(0 AS BIGINT) AS restart
	FROM range(16) AS a(r), (VALUES ('SM Clock', 'Hz', 0::BIGINT, 1::BIGINT, 1980000000, 1200000000), ('Throttled: Power', 'ns', 1, 1, 0, 1000000000),
	('Throttled: HW Thermal Slowdown', 'ns', 1, 1, 0, 3000000000), ('Throttled: Low Utilization', 'ns', 1, 1, 9000000000, 9000000000), ('Temperature', 'C', 0, 1, 60, 93),
	('xid 63', 'events', 1, 1, 0, 1)) AS b(name, unit, isSum, n, good, bad)) TO 'ds_gpu/SL_GPU_HEALTH/run=gpu1/node=n0/part-0.parquet' (FORMAT parquet)" >/dev/null
is "$(ask gpus -f json -d ds_gpu --run gpu1 | "$PY" -c 'import json, sys
d = json.load(sys.stdin)
print([d[0][k] for k in ("throttled", "cause", "clockMhz", "hottest", "errors")], {tuple(r[k] for k in ("throttled", "cause", "clockMhz", "hottest", "errors")) for r in d[1:]})')" \
	"[0.75, 'HW Thermal Slowdown', 1200.0, 93, 1] {(0.0, None, 1980.0, 60, 0)}" 'gpus names the slow GPU with the cause of its throttling'
is "$(ask gpus -f json -d ds_types --run types1 | "$PY" -c 'import json, sys
d = json.load(sys.stdin)
print(sorted({r["gpu"] for r in d}), d[0]["slower"] > 1.008, all(r["slower"] < 1.003 for r in d[1:]))')" "['A100', 'H100'] True True" 'gpus compares GPUs with those of the same type'
make ds_none none 16 40 none 1 >/dev/null
is "$(ask straggler -f json -d ds_none | "$PY" -c 'import json, sys; print(json.load(sys.stdin)[0]["share"] < 0.5)')" True 'no rank stands out of a run that has no fault'

# ---- all of them run ----
make all before 16 40 none 1 >/dev/null
make all after 16 40 gpu 2 >/dev/null
questions=$("$BIN" ranks ask --list | awk '{ print $1 }')
is "$(echo "$questions" | wc -l)" "$(ls "$TOP"/exporters/ranks/questions/*.sql | wc -l)" '--list has each file of exporters/ranks/questions'
for question in $questions; do
	check "$question: DuckDB answers it" ask "$question" -d all --run after --base before
	check "$question has a title, an explanation and columns" sh -c 'for k in title about column; do grep -q "^-- $k: " "$0" || exit 1; done' "$TOP/exporters/ranks/questions/$question.sql"
done
is "$(first changed kind -d all --run after --base before)" kernel 'changed names the kernel that became slower'
is "$(ask steps -d all --run after -f csv --top 3 | wc -l)" 4 '--top limits the rows of an answer'
make all missing 16 40 missing 3 >/dev/null
is "$(first data missing -d all --run missing)" 1 'a rank that is missing is named'

# ---- a rank that is missing: of a node of four, no fault is on it ----
rank=$(make holes late1 16 40 late 1 4)
for node in 0 1 2 3; do
	[ "$node" = $((rank / 4)) ] || lost=$node
done
whole=$(first straggler rankSeconds -d holes --run late1)
rm -r holes/*/run=late1/node=n"$lost" holes/_nodes/run=late1/node=n"$lost".json
is "$(first straggler rank -d holes --run late1)" "$rank" 'a node that is missing leaves the late rank the first'
check 'a node that is missing makes waits shorter by what it waited at most' awk -v a="$(first straggler rankSeconds -d holes --run late1)" -v b="$whole" 'BEGIN { exit !(a <= b && a > 0.5 * b) }'
is "$(ask mismatch -f csv -d holes --run late1 | wc -l)" 1 'ranks that are missing are no mismatch'

# ---- rows changed by hand ----
edit() { # DATASET TABLE RUN SELECT: of the table t
	for file in "$1/$2/run=$3"/*/part-0.parquet; do
		duckdb -init /dev/null -bail -c "COPY (WITH t AS (SELECT * FROM read_parquet('$file', hive_partitioning = false)) $4) TO 'edited' (FORMAT parquet); " >/dev/null && mv edited "$file"
	done
}
make hand base 16 40 none 1 >/dev/null
make hand run 16 40 none 1 >/dev/null
edit hand SL_KERNELS run "SELECT * REPLACE (CASE name WHEN 'gemm0' THEN 'gemm_new' ELSE name END AS name, CASE name WHEN 'gemm0' THEN 3 * ns WHEN 'gemm1' THEN 2 * ns ELSE ns END AS ns, CASE name WHEN 'gemm1' THEN 10 * n ELSE n END AS n) FROM t"
is "$(ask changed -f json -d hand --run run --base base | "$PY" -c 'import json, sys
print([(r["name"], r["change"]) for r in json.load(sys.stdin) if r["kind"] == "kernel"][:3])')" "[('gemm_new', 'new'), ('gemm0', 'gone'), ('gemm1', 'more')]" 'changed names kernels that are new, gone, called more often'
edit hand SL_STEPS run 'SELECT * REPLACE (fileNs + 50000000 AS fileNs) FROM t'
is "$(ask changed -f json -d hand --run run --base base | "$PY" -c 'import json, sys
print([(r["name"], r["change"]) for r in json.load(sys.stdin) if r["kind"] == "step"][0])')" "('files', 'slower')" 'changed names the part of the steps that became longer'
edit hand SL_RANKS run "SELECT * REPLACE (CAST(11 AS BIGINT) AS lost, CASE WHEN \"rank\" < 8 THEN 'a' ELSE 'b' END AS report) FROM t"
is "$(first data lost -d hand --run run)" 22 'losses of a report with eight ranks count once'
edit hand SL_FILES run "SELECT CAST(f.\"rank\" AS BIGINT) AS \"rank\", CAST(m AS BIGINT) AS minute, '/fast' AS mount, '/fast/one' AS path, 'read' AS op, CAST(1 AS BIGINT) AS n, CAST(1 AS BIGINT) AS bytes,
	CAST(f.ns AS BIGINT) AS ns, CAST(f.ns AS BIGINT) AS maxNs FROM (VALUES (1, 1000000000, 10), (2, 2000000000, 1)) AS f(\"rank\", ns, minutes), range(10) AS r(m) WHERE m < f.minutes"
is "$(first files slowestRank -d hand --run run)" 1 'files names the rank with most time, not the one with the longest minute'
edit hand SL_COLLECTIVES base "SELECT * REPLACE (CASE WHEN seq % 2 = 0 THEN 'Broadcast' ELSE op END AS op, CASE WHEN seq % 2 = 0 AND \"rank\" = 3 THEN start + 1 ELSE \"end\" END AS \"end\") FROM t"
is "$(ask straggler -f json -d hand --run base | "$PY" -c 'import json, sys; print(json.load(sys.stdin)[0]["share"] < 0.5)')" True 'a rank that is done early with a broadcast is not late'
edit hand SL_COLLECTIVES run 'SELECT * FROM t WHERE NOT ("rank" = 5 AND seq = 7)'
is "$(first mismatch lacks -d hand --run run) $(first mismatch seq -d hand --run run)" '5 7' 'mismatch names the rank that did not reach a collective'

# ---- --fail-on ----
fails() { # RUN CONDITION...
	"$BIN" ranks ask straggler -f csv -d holes --run "$1" --fail-on "$2" >out 2>err
	echo "$? $(wc -l <out) $(grep -c fail-on err)"
}
rows=$(ask straggler -f csv -d holes --run late1 | wc -l)
is "$(fails late1 'share > 0.5')" "3 $rows 1" '--fail-on of a condition that holds: status 3 after the answer'
is "$(fails late1 'share>=1.5')" "0 $rows 0" '--fail-on of a condition that does not hold: status 0'
is "$(fails late1 'rank < 1e300')" "3 $rows 1" '--fail-on takes any column of the answer'
for bad in 'share' 'share >' 'none > 1' 'share > 1; SELECT 1' 'share > x' 'share > nan' '"share" > 1'; do
	is "$(fails late1 "$bad")" '2 0 1' "--fail-on '$bad': status 2, one line"
done

# ---- the same by plain SQLite ----
make two before 16 40 none 1 2 >/dev/null
for run in "after gpu 2" "lack missing 3"; do
	set -- $run
	make two "$1" 16 40 "$2" "$3" 2 >/dev/null
	"$BIN" ranks clock -d two --run "$1" >out 2>&1
	is "$("$PY" "$E2E/report/ranks_engines.py" "$BIN" two "$1" before 2>&1)" '' "$1: every question has the same rows by DuckDB and by plain SQLite"
done

# ---- clocks: 200 us, 50 ppm, 20 us of jitter ----
for seed in 1 2 3; do
	node=$(make drift "r$seed" 16 400 clock $seed 4)
	"$BIN" ranks clock -d drift --run "r$seed" >out 2>&1
	is "$(duckdb -init /dev/null -csv -noheader -c "WITH line AS (SELECT *, lead(time) OVER (PARTITION BY node ORDER BY time) AS until, row_number() OVER (PARTITION BY node ORDER BY time) AS no
		FROM read_parquet('drift/SL_CLOCK_FIT/run=r$seed/*/*.parquet', hive_partitioning = true)
	), tick AS (SELECT 1790000000000000000 + t * 100000000 AS t FROM range(401) AS r(t)
	), shown AS (SELECT t, node, CASE WHEN node = '$node' THEN t + 200000 + (t - 1790000000000000000) // 20000 ELSE t END AS own FROM tick, (SELECT DISTINCT node FROM line))
	SELECT count(*), count(*) FILTER (WHERE abs(own + offsetNs + driftPpb * (own - time) // 1000000000 - t) > 10000), count(*) FILTER (WHERE errorNs > 10000)
	FROM shown JOIN line USING (node) WHERE (own >= time OR no = 1) AND (until IS NULL OR own < until)")" '1604,0,0' "clock: $node is fitted within 10 us at all times ($seed)"
	is "$(first clocks node -d drift --run "r$seed")" "$node" "clock: clocks names $node ($seed)"
done
is "$(ask clocks -d drift --run r1 -f json --top 1 | "$PY" -c 'import json, sys; d = json.load(sys.stdin)[0]; print(abs(d["ppm"] + 50) < 1, d["source"])')" \
	'True collectives' 'clock: clocks has a drift of 50 ppm'
"$BIN" ranks clock -d drift --run r1 >/dev/null 2>&1
cp -r drift/SL_COLLECTIVES/run=r1 raw
"$BIN" ranks clock -d drift --run r1 >out 2>&1
check 'clock: times of events stay as they are' diff -r raw drift/SL_COLLECTIVES/run=r1
make single r1 16 10 none 1 >/dev/null
"$BIN" ranks clock -d single >out 2>err
is "$? $(cat err)" '0 sightline: ranks clock: run r1 has too few collectives that nodes share: their clocks are compared by the kernel'"'"'s bounds only' 'clock of one node names the bounds that are left'

# ---- text, csv, steps, explanations ----
ask straggler -d ds_late --run late1 >out
is "$(grep -c '[0-9]\.[0-9]\{6,\}' out) $(grep -c '^│' out)" "0 $(($(ask straggler -d ds_late --run late1 -f csv | wc -l)))" 'text has numbers of a few digits'
is "$(ask when -d ds_late --run late1 | grep -c '│ 20[0-9][0-9]-[0-9][0-9]-[0-9][0-9] [0-9][0-9]:[0-9][0-9] ')" 1 'text has minutes as dates'
is "$(ask data -d all --run after -f csv | tail -1 | cut -d , -f 3)" '' 'csv has nothing where a value is not known'
is "$(ask data -d all --run after | grep -c NULL)" 0 'text has no NULL'
is "$(ask steps -d ds_late --run late1 --steps 10-12 -f json | "$PY" -c 'import json, sys; print(sorted(r["step"] for r in json.load(sys.stdin)))')" '[10, 11, 12]' '--steps has these steps alone'
is "$(ask waits -d ds_late --run late1 --steps 7 -f json --top 100 | "$PY" -c 'import json, sys; print(sum(r["collectives"] for r in json.load(sys.stdin)))')" 8 '--steps has the collectives of these steps alone'
for question in $questions; do
	"$BIN" ranks ask "$question" --explain >out 2>err
	is "$? $(wc -l <out) $(cat err)" "0 $(grep -c '^-- \(title\|about\|column\):' "$TOP/exporters/ranks/questions/$question.sql") " "$question: --explain has title, explanation and columns"
	columns=$(ask "$question" -d all --run after --base before -f csv | head -1 | tr , '\n' | xargs) # none of an answer without rows
	is "$columns" "${columns:+$(sed -n 's/^-- column: \([A-Za-z0-9]*\) .*/\1/p' "$TOP/exporters/ranks/questions/$question.sql" | xargs)}" "$question: the columns that are explained are those of the answer"
done

# ---- words ----
is "$(ask whatif -d all --engine print | grep -o 'CREATE TEMP VIEW [A-Z_]*')" 'CREATE TEMP VIEW SL_STEPS' 'print has the views that the statement needs'
is "$("$BIN" ranks sql -d all | grep -c 'CREATE TEMP VIEW')" "$(grep -c '^TABLE' "$TOP/exporters/ranks/tables.def")" 'sql has the views of all tables'
check 'DuckDB runs the output of sql, and a statement behind it' sh -c '("$0" ranks sql steps -d all --run after --top 2 && echo "SELECT count(*) FROM SL_RANKS;") | duckdb -init /dev/null -bail -csv >out' "$BIN"
is "$(wc -l <out) $(tail -1 out)" '5 47' 'DuckDB answers the statement behind the output of sql'
is "$("$BIN" ranks sql straggler -d s3://bucket/x --run "it's" --engine spark | grep -c "USING parquet OPTIONS (path 's3://bucket/x/\|run = 'it\\\\'s'")" \
	$(($(grep -c '^TABLE' "$TOP/exporters/ranks/tables.def") + $(grep -c 'run = :run' "$TOP/exporters/ranks/questions/straggler.sql"))) 'sql --engine spark has the views of a dataset elsewhere'
check 'DuckDB runs the output of --engine print' sh -c '"$0" ranks ask waits -d all --engine print 2>/dev/null | duckdb -init /dev/null -bail -csv >out' "$BIN"
says() { # STATUS TEXT NAME COMMAND...
	says_status=$1 says_text=$2 says_name=$3
	shift 3
	"$@" >out 2>err
	is "$? $(cat err)" "$says_status sightline: ranks ask: $says_text" "$says_name"
}
says 2 "there is no question 'stragler'; did you mean 'straggler'?" 'a question that is not there' "$BIN" ranks ask stragler -d all
says 2 "--steps: '7-3' is no FIRST-LAST" 'steps that end before they begin' "$BIN" ranks ask steps -d all --steps 7-3
says 2 "--steps: files does not ask about steps: it has sums per minute" 'steps of a question without them' "$BIN" ranks ask files -d all --steps 3
says 2 "changed needs --base=RUN" 'a run to compare with' "$BIN" ranks ask changed -d all
says 1 "all has no run nine ('sightline ranks check' shows them)" 'a run that is not there' "$BIN" ranks ask why -d all --run nine
says 2 "-d DATASET is missing (see 'sightline ranks ask --help')" 'no dataset' "$BIN" ranks ask why
says 1 "no engine is in PATH: 'pip install duckdb-cli' installs one; 'sightline ranks sql' prints what it would run" 'no engine' \
	env PATH=/nowhere "$BIN" ranks ask why -d all
head -c 50 all/SL_STEPS/run=after/node=n0/part-0.parquet >half && cp half all/SL_STEPS/run=after/node=n0/part-0.parquet
ask why -d all --run after >out
is $? 1 'an error of the engine ends ask with a message'
done_testing

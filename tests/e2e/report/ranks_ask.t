#!/bin/sh
# Questions over datasets of many ranks: the fault that was put in is named first, by DuckDB; the same text parses for Spark.
. tests/lib.sh
[ -x "$PY" ] || skip_all 'no python3'
PATH=$B/tests/duckdb/duckdb_cli:$PATH
command -v duckdb >/dev/null || skip_all 'no duckdb (PyPI was not reached)'
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
named link network commHash
named mount files mount
is "$(first why cause -d ds_cpu --run cpu1) $(first why cause -d ds_file --run file1) $(first why cause -d ds_gpu --run gpu1)" 'computing files GPU' \
	'and why is right about the cause'
make ds_none none 16 40 none 1 >/dev/null
is "$(ask straggler -f json -d ds_none | "$PY" -c 'import json, sys; print(json.load(sys.stdin)[0]["share"] < 0.5)')" True 'without a fault no rank stands out'

# ---- all of them run ----
make all before 16 40 none 1 >/dev/null
make all after 16 40 gpu 2 >/dev/null
questions=$("$BIN" ranks ask --list | awk '{ print $1 }')
is "$(echo "$questions" | wc -l)" 14 'questions'
for question in $questions; do
	check "$question: DuckDB answers it" ask "$question" -d all --run after --base before
	check "$question: has a head" sh -c 'for k in title about column; do grep -q "^-- $k: " "$0" || exit 1; done' "$TOP/exporters/ranks/questions/$question.sql"
done
is "$(first changed kind -d all --run after --base before)" kernel 'what changed is a kernel'
is "$(ask steps -d all --run after -f csv --top 3 | wc -l)" 4 '--top'
make all missing 16 40 missing 3 >/dev/null
is "$(first data missing -d all --run missing)" 1 'a rank that is missing'

# ---- words ----
is "$(ask straggler -d all --engine print | grep -c 'CREATE TEMP VIEW')" 8 'print: views for DuckDB'
is "$(ask straggler -d s3://bucket/x --run "it's" --engine print-spark | grep -c "USING parquet OPTIONS (path 's3://bucket/x/\|run = 'it''s'")" 10 'print-spark: of a dataset elsewhere'
check 'what is printed is what DuckDB runs' sh -c '"$0" ranks ask waits -d all --engine print 2>/dev/null | duckdb -init /dev/null -bail -csv >out' "$BIN"
says() { # STATUS TEXT NAME COMMAND...
	says_status=$1 says_text=$2 says_name=$3
	shift 3
	"$@" >out 2>err
	is "$? $(cat err)" "$says_status sightline: ranks ask: $says_text" "$says_name"
}
says 2 "there is no question 'stragler'; did you mean 'straggler'?" 'a question that is not there' "$BIN" ranks ask stragler -d all
says 2 "changed needs --base=RUN" 'a run to compare with' "$BIN" ranks ask changed -d all
says 1 "all has no run nine ('sightline ranks check' shows them)" 'a run that is not there' "$BIN" ranks ask why -d all --run nine
says 2 "-d DATASET is missing (see 'sightline ranks ask --help')" 'no dataset' "$BIN" ranks ask why
says 1 "no engine is in PATH: 'pip install duckdb-cli' installs one; --engine=print prints what it would run" 'no engine' \
	env PATH=/nowhere "$BIN" ranks ask why -d all
head -c 50 all/SL_STEPS/run=after/node=n0/part-0.parquet >cut && cp cut all/SL_STEPS/run=after/node=n0/part-0.parquet
ask why -d all --run after >out
is $? 1 'an error of the engine is one'
done_testing

#!/bin/sh
# Reports of a job of 16 ranks, each a recorded one that does other things by 1 % of a step: what was planted is named first by the
# right question, with its cause, by way of 'ranks add'; a node whose clock is off is found. ranks_ask.t has the same of made-up rows.
. tests/lib.sh
. "$TOP/tests/e2e/lib/ranks.sh"
command -v duckdb >/dev/null || skip_all 'duckdb is not there: PyPI could not be reached (package duckdb-cli)'
LD_LIBRARY_PATH=$STANDIN/job:$LD_LIBRARY_PATH
first() { # QUESTION COLUMN RUN
	"$BIN" ranks ask "$1" -d ds --run "$3" -f json 2>err | "$PY" -c 'import json, sys; d = json.load(sys.stdin); print(d[0][sys.argv[1]] if d else "nothing")' "$2" 2>&1
}
multiply() { "$PY" "$E2E/report/ranks_make.py" ds "$1$2" 16 "${3:-20}" "$1" "$2" "${4:-2}" "$BIN" "$W/real.sqlite"; }

head -c 1M /dev/urandom >data
RANKS_DATA=$W/data RANK=0 WORLD_SIZE=1 profile real -t cuda,nvtx,osrt,nccl --gpu-health=0 "$GPU/ranks" "$W/meet" 12 5 9 0 >said 2>err
check 'add takes the report of one rank' intact real.sqlite
switches=$(q real.sqlite 'SELECT count(*) FROM SCHED_EVENTS')

named() { # FAULT QUESTION COLUMN [CAUSE]: for each seed; CAUSE: that of why
	wrong=
	for seed in 1 2; do
		want=$(multiply "$1" $seed 2>err)
		got=$(first "$2" "$3" "$1$seed")
		[ "$got" = "$want" ] || wrong="$wrong $seed: $got instead of $want $(cat err)"
		[ -z "$4" ] || [ "$switches" = 0 ] || [ "$(first why rank "$1$seed") $(first why cause "$1$seed")" = "$want $4" ] ||
			wrong="$wrong $seed: why has $(first why rank "$1$seed"), $(first why cause "$1$seed")"
	done
	is "$wrong" '' "$1: $2 names it"
}
named late straggler rank sleeping
named cpu straggler rank computing
named file straggler rank files
named gpu gpus rank GPU
named link network commHash ''
named mount files mount ''
named missing data firstMissing ''
multiply none 1 >said
is "$("$PY" -c "print($(first straggler share none1) < 0.5)")" True 'no rank stands out of a run that has no fault'
is "$("$BIN" ranks check -d ds --run late1 -f json | "$PY" -c 'import json, sys
print([(n["node"], [r["rank"] for r in n["ranks"]] == list(range(8 * i, 8 * i + 8)), {(r["worldSize"], r["steps"], r["collectives"]) for r in n["ranks"]}) for i, n in enumerate(json.load(sys.stdin)["runs"][0]["nodes"])])')" \
	"[('n0', True, {(16, 20, 20)}), ('n1', True, {(16, 20, 20)})]" 'every rank has all of its steps and collectives'

# ---- by other ways ----
want=$(multiply clock 3 150 4)
"$BIN" ranks clock -d ds --run clock3 >said 2>err
is "$(first clocks node clock3) $("$PY" -c "print(abs($(first clocks aheadUs clock3) + 200) < 20, abs($(first clocks ppm clock3) + 50) < 5)")" "$want True True" 'clock: names the node, whose clock is 200 us ahead and gains 50 ppm'
"$BIN" ranks clock -d ds --run file1 >said 2>err
is "$("$PY" "$E2E/report/ranks_engines.py" "$BIN" ds file1 none1 2>&1)" '' 'every question has the same rows by DuckDB and by plain SQLite'
"$BIN" ranks fetch -d ds --run clock3 --rank 0,15 -o two.sqlite clock3-n0.sqlite clock3-n3.sqlite 2>err
is "$(cat err) $(q two.sqlite "SELECT count(*), count(DISTINCT globalPid) FROM CUPTI_ACTIVITY_KIND_KERNEL")" ' 600|2' 'fetch gets two of the ranks'
done_testing

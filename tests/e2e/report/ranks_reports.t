#!/bin/sh
# A dataset of eight reports and the reports themselves, attached to plain SQLite: its tables and the answers of all questions are equal.
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
PATH=$B/tests/duckdb/duckdb_cli:$PATH
command -v duckdb >/dev/null || skip_all 'duckdb is not there: PyPI could not be reached (package duckdb-cli)'
export PATH
ranks() { "$BIN" ranks "$@" >out 2>err; }
compare() { "$PY" "$E2E/report/ranks_reports.py" "$BIN" ds after before after-?.sqlite before-?.sqlite 2>&1; }
first() { # QUESTION COLUMN
	"$BIN" ranks ask "$1" -d ds --run after --base before -f json 2>err | "$PY" -c 'import json, sys; print(json.load(sys.stdin)[0][sys.argv[1]])' "$2" 2>&1
}

check 'the reports of eight ranks are made' "$PY" "$E2E/report/ranks_reports_make.py" "$TOP/collector/schema.sql" . after 8 20 1 file
check 'the reports of an earlier run of two ranks are made' "$PY" "$E2E/report/ranks_reports_make.py" "$TOP/collector/schema.sql" . before 2 20 2
for n in 0 1 2 3; do
	check "node $n: add takes two reports" ranks add -d ds --run after --node "n$n" "after-$((2 * n)).sqlite" "after-$((2 * n + 1)).sqlite"
done
is "$(grep -c 'have no kernel\|made before' err)" 2 'add names collectives that have no kernel, or no communicator'
check 'add takes the reports of the earlier run' ranks add -d ds --run before --node n0 before-0.sqlite before-1.sqlite
check 'clock fits the clocks of the run' ranks clock -d ds --run after
is "$(sed -n 's/ us, drifts.*//p' out | xargs)" 'n1 -50.0 n2 -100.0 n3 -150.0' 'clock finds the drifts that were planted'
is "$(compare)" '' 'DuckDB over the dataset and SQLite over the reports have the same rows of all tables and questions'
is "$(first straggler rank) $(first why rank) $(first why cause) $(first files slowestRank) $(first data cut) $(first mismatch seq)" '5 5 files 5 1 14' 'the questions name what was planted'

# ---- the comparison can fail ----
sqlite3 after-6.sqlite "UPDATE OSRT_API SET end = end + 1 WHERE rowid = (SELECT min(rowid) FROM OSRT_API WHERE nameId = (SELECT id FROM StringIds WHERE value = 'read'))"
sqlite3 after-4.sqlite "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE rowid = (SELECT max(rowid) FROM CUPTI_ACTIVITY_KIND_KERNEL)"
is "$(compare | sed 's/:.*//' | sort | xargs)" 'SL_CALLS SL_COLLECTIVES SL_FILES SL_KERNELS SL_STEPS changed files network overlap straggler waits' 'the comparison finds rows that differ'
done_testing

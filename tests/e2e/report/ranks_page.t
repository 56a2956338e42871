#!/bin/sh
# The page of a run of many ranks: its pictures are the rows of the dataset, and a browser shows it.
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
PATH=$B/tests/duckdb/duckdb_cli:$PATH
command -v duckdb >/dev/null || skip_all 'duckdb is not there: PyPI could not be reached (package duckdb-cli)'
# With the driver comes axe-core, from its lock file.
(. "$TOP/tests/web/driver.sh" && web_driver) >/dev/null 2>&1
axe=$B/tests/web/node_modules/axe-core/axe.min.js
[ -f "$axe" ] || axe=-

"$PY" "$E2E/report/ranks_make.py" ds run 16 40 gpu 1 4 >/dev/null || exit 1
rm -r ds/*/run=run/node=n0 ds/_nodes/run=run/node=n0.json
"$BIN" ranks report -q -d ds -o page.html 2>err || diag <err
"$PY" "$E2E/report/ranks_page.py" page.html run ds "$TOP/tests/web" "$axe" >tap 2>&1 || diag <tap
while IFS= read -r line; do
	case $line in
	'ok '*'# SKIP '*) line=${line#*- } && skip "${line%% # SKIP*}" "${line##*SKIP }" ;;
	'ok '*) result 0 "${line#*- }" ;;
	'not ok '*) result 1 "${line#*- }" ;;
	'#'*) echo "$line" | diag ;;
	esac
done <tap
check 'the page has been looked at to its end' grep -q '^1\.\.' tap

# ---- names that want out, and wrong use ----
edit() { # TABLE SELECT: of the table t
	for file in ds/"$1"/run=run/*/part-0.parquet; do
		duckdb -init /dev/null -bail -c "COPY (WITH t AS (SELECT * FROM read_parquet('$file', hive_partitioning = false)) $2) TO 'edited' (FORMAT parquet); " >/dev/null && mv edited "$file"
	done
}
edit SL_COLLECTIVES "SELECT * REPLACE ('<b>|\"' || chr(10) AS op) FROM t"
edit SL_RANKS "SELECT * REPLACE ('</li><script>x' AS host) FROM t"
"$BIN" ranks report -q -f true -d ds -o page.html 2>err
is "$? $(grep -c '<b>\|<script' page.html) $(grep -c '&#60;b&#62;' page.html)" '0 0 2' 'names of a dataset are text'
"$BIN" ranks report -d ds -o page.html >out 2>err
is "$? $(cat err)" '1 sightline: ranks report: page.html exists already; --force-overwrite=true replaces it' 'a page that is there stays'
"$BIN" ranks report -d ds more >out 2>err
is "$? $(wc -l <err)" '1 1' 'a fetched report that is not there: status 1, one line'
for bad in '' '-d ds --rank 1'; do
	# shellcheck disable=SC2086
	"$BIN" ranks report $bad >out 2>err
	is "$?-$(wc -l <err)" 2-1 "report $bad: status 2, one line"
done
"$BIN" ranks report -d ds --run none -o none.html >out 2>err
is "$?-$(wc -l <err)-$(ls none.html 2>/dev/null)" 1-1- 'a run that is not there leaves no page'
done_testing

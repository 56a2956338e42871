#!/bin/sh
# export_parquet.t - export -t parquetdir: every value as a reader that is not ours finds it, and what can go wrong.
. tests/lib.sh
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'

ex() { "$BIN" export -t parquetdir "$@"; }
sqlite3 small.sqlite <"$TOP/collector/schema.sql" && sqlite3 small.sqlite <"$TOP/tests/golden/export/small.sql" || exit 1

# ---- names, overwriting, what is refused ----
cp small.sqlite run.sqlite
ex run.sqlite
is "$? $(ls -d run*)" "0 run.sqlite
run_pqtdir" 'the folder of parquet is called as nsys calls it'
is "$(for f in run_pqtdir/*; do case $f in *.parquet) head -c 4 "$f" && tail -c 4 "$f" ;; *) echo "$f" ;; esac; done | sed 's/PAR1PAR1//g')" '' 'each file of parquet begins and ends with PAR1'
ex run.sqlite 2>log
is "$? $(grep -c 'exists already' log)" '1 1' 'parquet does not replace an existing folder'
check 'parquet replaces an existing folder with -f true' ex -f true run.sqlite
echo mine >run_pqtdir/mine.txt
ex -f true run.sqlite 2>log
is "$? $(cat log)" '1 sightline: export: run.sqlite: cannot replace run_pqtdir: it has mine.txt in it, which is of no export' 'parquet does not replace a folder with another file in it'
rm run_pqtdir/mine.txt
cp -r run_pqtdir before
mkdir run_pqtdir/folder.parquet
ex -f true run.sqlite 2>log
is "$?$(diff -r before run_pqtdir)" '1Only in run_pqtdir: folder.parquet' 'a folder that is not replaced keeps its files'
rmdir run_pqtdir/folder.parquet
check 'parquet writes into a folder named with a slash' ex -o slash/ run.sqlite
check 'parquet replaces a folder named with a slash' ex -f true -o slash/ --tables=OSRT_API run.sqlite
ln -s slash link
check 'parquet replaces a folder that a link leads to' ex -f true -o link --tables=StringIds run.sqlite
is "$(ls -d slash* link* | tr '\n' ' ')$(readlink link) $(ls slash)" 'link slash slash StringIds.parquet' 'a folder that a link leads to is replaced behind the link'
rm -r slash
: >file
ex -f true -o file run.sqlite 2>log
is "$? $(cat log)" '1 sightline: export: file is no folder' 'parquet refuses a file in place of a folder'
ex -o - small.sqlite 2>log
is "$? $(grep -c 'cannot go to stdout' log)" '2 1' 'parquet refuses stdout'
ex -o packed.zst small.sqlite 2>log
is "$? $(grep -c 'cannot be packed' log)" '2 1' 'parquet refuses a packed name'
ex -o some --tables='OSRT_API,stringids' small.sqlite
is "$(ls some | tr '\n' ' ')" 'OSRT_API.parquet StringIds.parquet ' 'parquet --tables writes the tables named'
ex -o all --lazy=false small.sqlite
is "$(ls all | wc -l)" "$(grep -cE '^CREATE (TABLE|VIEW)' "$TOP/collector/schema.sql")" 'parquet --lazy=false has empty tables, too'

# ---- what SQLite lets into a column ----
cp small.sqlite edge.sqlite
sqlite3 edge.sqlite "
	CREATE TABLE E_NUMBERS (i INTEGER, r REAL, n INTEGER NOT NULL, none INTEGER, \"odd\"\"name\" TEXT);
	WITH k(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM k WHERE i < 140000)
	INSERT INTO E_NUMBERS SELECT CASE i % 7 WHEN 0 THEN NULL WHEN 1 THEN 9223372036854775807 WHEN 2 THEN -9223372036854775807 - 1
		WHEN 3 THEN -i ELSE i * i END, CASE i % 5 WHEN 0 THEN 1e308 * 10 WHEN 1 THEN -1.5 WHEN 2 THEN NULL ELSE i / 3.0 END,
		i, NULL, CASE WHEN i / 100 % 3 THEN '' WHEN i % 2 THEN 'ä€😀' END FROM k;
	CREATE TABLE E_REAL (v INTEGER); INSERT INTO E_REAL VALUES (1), (NULL), (-2.5);
	CREATE TABLE E_WORD (v INTEGER, w); INSERT INTO E_WORD VALUES (1, 1), (2, NULL), ('three', 'x');
	CREATE TABLE E_BYTES (t TEXT, b BLOB); INSERT INTO E_BYTES VALUES ('a', NULL), (CAST(x'ff41' AS TEXT), x''), ('', x'00ff');
	CREATE TABLE E_LATE (v INTEGER);
	WITH k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k WHERE i < 140000) INSERT INTO E_LATE SELECT i FROM k;
	INSERT INTO E_LATE VALUES ('late');
	CREATE TABLE E_LONG (b BLOB); INSERT INTO E_LONG VALUES (zeroblob(3000000)), (x'01'), (NULL)"
check 'parquet exports values that are not of their column' ex -o edge --include-json=true --include-blobs=true edge.sqlite
check 'parquet exports a whole report' ex -o small --include-json=true --include-blobs=true small.sqlite

# ---- a reader that is not ours ----
reader=
if command -v npm >/dev/null && command -v node >/dev/null && node -e '[].toSorted()' 2>/dev/null; then
	mkdir -p "$B/parquet" && cp "$E2E/report/parquet/package.json" "$E2E/report/parquet/package-lock.json" "$B/parquet"
	[ -d "$B/parquet/node_modules/hyparquet-compressors" ] ||
		(cd "$B/parquet" && timeout 60 npm ci --ignore-scripts --no-audit --no-fund) >npm.log 2>&1
	[ -d "$B/parquet/node_modules/hyparquet-compressors" ] && reader=yes
fi
if [ "$reader" ]; then
	same() { node "$E2E/report/parquet/read.mjs" "$1" "$2" "$B/parquet"; }
	check 'parquet has every value of a small report' same small.sqlite small
	check 'parquet has every value that SQLite let into a column' same edge.sqlite edge
	sqlite3 edge.sqlite 'UPDATE E_NUMBERS SET n = n + 1 WHERE n = 131072'
	check 'the comparison finds one value that differs' sh -c '! node "$1" edge.sqlite edge "$2"' - "$E2E/report/parquet/read.mjs" "$B/parquet"
else
	skip 'parquet has every value of a small report' 'the npm registry could not be reached (packages nodejs, npm)'
fi

# ---- no room ----
mkdir tmp
(ulimit -f 40 && ex -o tmp/edge edge.sqlite) 2>log
is "$? $(wc -l <log) $(ls tmp | wc -l)" '1 1 0' 'parquet fails where files may not grow' || diag <log
# ---- an allocation fails, once, at 60 places: the export is as it should be, or there is none and one line of error ----
no_memory=$PROG/lib/no_memory.so
export SIGHTLINE_PRELOADED=$no_memory # the command stays in it
NO_MEMORY_FD=3 LD_PRELOAD=$no_memory ex -o whole --tables='OSRT_API,StringIds,META.*,TARGET.*' small.sqlite 3>cnt
is $? 0 'the test library counts allocations'
step=$(($(cat cnt) / 60)) failed=0
: >odd
for at in $(seq 1 $step "$(cat cnt)"); do
	NO_MEMORY_AT=$at LD_PRELOAD=$no_memory ex -o tmp/part --tables='OSRT_API,StringIds,META.*,TARGET.*' small.sqlite 2>log
	case "$? $(wc -l <log) $(ls -A tmp | wc -l)" in
	'0 0 1') diff -r whole tmp/part >>odd 2>&1 || echo "number $at" >>odd ;;
	[12]' 1 0') failed=$((failed + 1)) ;;
	*) { echo "number $at:" && ls -A tmp && cat log; } >>odd ;;
	esac
	rm -rf tmp/part
done
is "$(cat odd)" '' "parquet without memory, $failed times of 60 noticed, writes all or nothing"
done_testing

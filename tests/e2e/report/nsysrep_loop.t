#!/bin/sh
# nsysrep_loop.t - what a user of a converter does with a folder of reports: for f in *.nsys-rep; one Chrome trace of each, which has what
# such a converter makes of nsys's database of that report (nsysrep_loop.py).
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
PAIRS=${NSYSREP_PAIRS:-$TOP/../shared/data/nsysrep}
"$PROG/nsysrep_make" one.nsys-rep >/dev/null && "$PROG/nsysrep_make" 'two of them.nsys-rep' 1 >/dev/null &&
	"$PROG/nsysrep_make" three.nsys-rep 1 2025@1@1@103-251135427971v0. >/dev/null || exit 1
if "$BIN" info one.nsys-rep 2>&1 | grep -q 'built without LZ4'; then
	skip_all 'built without LZ4 (package liblz4-dev)'
fi
rm -f ./*.sqlite
for file in "$PAIRS"/*rep; do
	[ -f "$file" ] && cp "$file" "pair $(basename "${file%.*}").nsys-rep"
done
head -c 5000 one.nsys-rep >broken.nsys-rep

# ---- the loop ----
failed=
for f in *.nsys-rep; do
	"$BIN" export -q -t chrome -o "${f%.nsys-rep}.json.gz" "$f" 2>>err || failed="$failed $f"
done
is "$failed" ' broken.nsys-rep' 'the loop makes a trace of each report that is whole'
is "$(grep -c 'broken.nsys-rep is cut off' err)" 1 'of the one that is cut off it says so'
is "$(find . -name '*.json.gz' | wc -l)" "$(($(find . -name '*.nsys-rep' | wc -l) - 1))" 'there is a trace of each, and no other file of that kind'
is "$(find . -name 'broken.*' | wc -l)" 1 'nothing is left of the broken one but itself'
before=$(ls -i ./*.nsys-rep.sqlite)
for f in *.nsys-rep; do
	[ "$f" = broken.nsys-rep ] || "$BIN" export -q -t chrome --force-overwrite=true -o "${f%.nsys-rep}.json.gz" "$f" 2>>err || result 1 "again: $f"
done
is "$(ls -i ./*.nsys-rep.sqlite)" "$before" 'a second loop reads each report from the database that the first one made'

# ---- the traces ----
for f in *.nsys-rep; do
	name=${f%.nsys-rep}
	[ "$f" = broken.nsys-rep ] && continue
	"$BIN" export -q -t sqlite --force-overwrite=true -o "$name.sqlite" "$f" 2>>err || result 1 "database: $f"
	check "$name: calls, kernels, copies and ranges are those of a converter on its database" \
		"$PY" "$E2E/report/nsysrep_loop.py" "$name.json.gz" "$name.sqlite"
	check "$name: order, nesting and ids of the trace are right" "$PY" "$E2E/report/chrome_read.py" "$name.json.gz"
done
is "$(sqlite3 three.sqlite "SELECT count(*) FROM sqlite_master WHERE name GLOB 'ENUM_*'; SELECT count(*) FROM ENUM_DXGI_FORMAT; SELECT label FROM ENUM_OPENMP_WORK WHERE id = 1" |
	tr '\n' ' ')" '63 121 Loop region ' 'a database of the shape of 2025.1 has all tables of names that one of nsys has'
is "$(sqlite3 one.sqlite "SELECT count(*) FROM sqlite_master WHERE name GLOB 'ENUM_*'")" 28 'one of the shape of 2026 has fewer'
# The comparison looks.
sqlite3 one.sqlite 'UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = end + 1 WHERE rowid = 7' 2>/dev/null &&
	check 'the comparison finds a nanosecond' sh -c '! "$@"' - "$PY" "$E2E/report/nsysrep_loop.py" one.json.gz one.sqlite
done_testing

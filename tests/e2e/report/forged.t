#!/bin/sh
# forged.t - figures of a report that no run could have: sums beyond 64 bits cost no table and no page.
. tests/lib.sh
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'

cat "$TOP/tests/golden/corpus/base.sql" "$TOP/tests/golden/corpus/3.28.1.sql" | sqlite3 -bail corpus.sqlite || exit 1
check 'figures at the limits of 64 bits do no harm' "$PY" "$E2E/report/forged.py" "$BIN" "$W/corpus.sqlite"
# One that reads for a century: only what changes is written.
profile years --osrt-threshold=0 cat "$TOP/LICENSE" >/dev/null 2>err
sqlite3 "$R" "UPDATE OSRT_API SET end = 1 << 61 WHERE rowid = (SELECT min(o.rowid) FROM OSRT_API o JOIN StringIds s ON s.id = nameId
	WHERE value LIKE 'read%' AND returnValue > 0)"
timeout 60 "$BIN" export -f true -t chrome -o years.json "$R" >/dev/null 2>err
is "$? $("$PY" -c 'import json, sys; print(len(json.load(open(sys.argv[1]))["traceEvents"]) < 10000)' years.json)" '0 True' 'a call that lasts for years does no harm'
done_testing

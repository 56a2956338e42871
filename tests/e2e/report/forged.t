#!/bin/sh
# forged.t - figures of a report that no run could have: sums beyond 64 bits cost no table and no page.
. tests/lib.sh
command -v sqlite3 >/dev/null || skip_all 'needs the sqlite3 shell'

cat "$TOP/tests/golden/corpus/base.sql" "$TOP/tests/golden/corpus/3.28.1.sql" | sqlite3 -bail corpus.sqlite || exit 1
check 'figures at the limits' "$PY" "$E2E/report/forged.py" "$BIN" "$W/corpus.sqlite"
done_testing

#!/bin/sh
# terminal.t - what is in a report, and what a report is called, does not steer the terminal that a command writes to.
. tests/lib.sh
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'

cat "$TOP/tests/golden/corpus/base.sql" "$TOP/tests/golden/corpus/3.28.1.sql" | sqlite3 -bail corpus.sqlite || exit 1
sqlite3 -bail info.sqlite <"$TOP/tests/golden/info/info.sql" || exit 1
check 'names in reports cannot steer the terminal of any command' "$PY" "$E2E/report/terminal.py" "$BIN" "$W/corpus.sqlite" "$W/info.sqlite"
done_testing

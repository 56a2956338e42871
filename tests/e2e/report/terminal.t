#!/bin/sh
# terminal.t - what is in a report, and what a report is called, does not steer the terminal that a command writes to.
. tests/lib.sh
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'

cat "$TOP/tests/golden/corpus/base.sql" "$TOP/tests/golden/corpus/3.28.1.sql" | sqlite3 -bail corpus.sqlite || exit 1
sqlite3 -bail info.sqlite <"$TOP/tests/golden/info/info.sql" || exit 1
check 'names in reports cannot steer the terminal of any command' "$PY" "$E2E/report/terminal.py" "$BIN" "$W/corpus.sqlite" "$W/info.sqlite"
# 60 functions and names of 200 characters.
cp info.sqlite wide.sqlite
"$PY" - wide.sqlite <<'END'
import sqlite3
import sys
db = sqlite3.connect(sys.argv[1])
columns = [row[1] for row in db.execute("PRAGMA table_info(OSRT_API)")]
first = dict(zip(columns, db.execute("SELECT * FROM OSRT_API LIMIT 1").fetchone()))
for i in range(60):
    db.execute("INSERT INTO StringIds(id, value) VALUES (?, ?)", (900000 + i, "/function/%02d" % i + "x" * 190))
    first.update(nameId=900000 + i)
    db.execute("INSERT INTO OSRT_API (%s) VALUES (%s)" % (", ".join(columns), ", ".join("?" * len(columns))), [first[c] for c in columns])
db.commit()
END
is "$("$PY" "$E2E/report/terminal_width.py" "$BIN" wide.sqlite)" '' 'on a terminal a table is as wide and as long as that, and says what is left out'
done_testing

#!/bin/sh
# `ranks add` takes a bounded amount of memory, however many rows a report has, and the dataset is the same as with all events in memory.
. tests/lib.sh
if nm "$BIN" 2>/dev/null | grep -q __asan_report; then
	skip_all 'AddressSanitizer takes memory of its own'
fi
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
REPORT="$B/tests/bench/bigreport"
"$REPORT" many.sqlite 4000000 4 launch
ok $? 'bigreport makes a report of four million rows'
"$REPORT" few.sqlite 200000 4
ok $? 'bigreport makes a report of 200,000 rows'
cp few.sqlite calls.sqlite

"$PY" - calls.sqlite 700000 <<'E'
import sqlite3
import sys

db = sqlite3.connect(sys.argv[1])
db.executescript(f"""PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF;
CREATE TABLE MPI_COLLECTIVES_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId INTEGER, commHandle INTEGER,
    commUid INTEGER, rootRank INTEGER, size INTEGER, recvSize INTEGER, requestHandle INTEGER, seq INTEGER);
INSERT INTO StringIds SELECT max(id) + 1, 'MPI_Allreduce' FROM StringIds;
INSERT INTO MPI_COLLECTIVES_EVENTS WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {sys.argv[2]})
    SELECT begin + n, begin + n + 1, tid, (SELECT max(id) FROM StringIds), 7, 7, NULL, 4096, NULL, NULL, n
    FROM n, (SELECT min(start) AS begin, min(globalTid) AS tid FROM CUPTI_ACTIVITY_KIND_RUNTIME);
""")
db.commit()
E

peak() { # OUT COMMAND...: the most MiB that the command had in memory, as words of a bound
	"$PY" - "$@" <<'E'
import resource
import subprocess
import sys

with open(sys.argv[1], "w", encoding="utf-8") as out:
    status = subprocess.run(sys.argv[2:], stderr=out, check=False).returncode
most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
print("status %d" % status if status else "at most 128 MiB" if most <= 128 else "%d MiB" % most)
E
}
add() { # NAME [COMMAND...]: NAME.sqlite into the dataset NAME
	name=$1
	shift
	peak "err.$name" env "$@" "$BIN" ranks add -d "ds.$name" --run one --node one "$name.sqlite=0"
}
is "$(add many)" 'at most 128 MiB' 'add takes at most 128 MiB for four million rows'
is "$(grep -o 'steps: [0-9]*' err.many)" "steps: 988" 'the report of four million rows has its steps'
is "$(add calls)" 'at most 128 MiB' 'add takes at most 128 MiB for 700,000 collectives'
is "$(grep -o 'collectives: [0-9]*' err.calls)" 'collectives: 700000' 'the collectives are in the dataset'

# No file can be made there, so the events are memory; SQLite has other folders.
is "$(add few SQLITE_TMPDIR=/nowhere/at/all)" 'at most 128 MiB' 'add needs no folder for its file'
mv ds.few ds.memory
is "$(add few)" 'at most 128 MiB' 'add takes at most 128 MiB for 200,000 rows'
check 'the dataset is the same whether events lie in a file or in memory' diff -r ds.few ds.memory
mv ds.calls ds.file
add calls SQLITE_TMPDIR=/nowhere/at/all >out
check 'the dataset is the same whether collectives lie in a file or in memory' diff -r ds.file ds.calls
done_testing

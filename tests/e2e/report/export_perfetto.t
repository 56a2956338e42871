#!/bin/sh
# export_perfetto.t - traces of Perfetto, read by protobuf's own decoder: against truth worked out by hand, against
# plain SQL over real reports, and what a reader relies on (perfetto.py checks that while it reads).
# shellcheck disable=SC2016
. tests/lib.sh
GOLD=$TOP/tests/golden/export
REAL=$TOP/../shared/data/nsys
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'
command -v protoc >/dev/null || skip_all 'needs protoc (protobuf-compiler)'
"$PY" -c 'import google.protobuf' 2>/dev/null || skip_all 'needs python3-protobuf'
protoc -I"$GOLD" --python_out=. perfetto.proto || exit 1

ex() { "$BIN" export -t perfetto "$@"; }
dump() { "$PY" "$E2E/report/perfetto.py" . "$1" dump; }
new() { # NAME: a report from tests/golden/export/NAME.sql
	sqlite3 "$1.sqlite" <"$TOP/collector/schema.sql" && sqlite3 "$1.sqlite" <"$GOLD/$1.sql" || exit 1
}

# ---- by hand ----
for r in small sched; do
	new $r
	md5sum $r.sqlite >$r.md5
	check "$r: perfetto exports it" ex -a all -o $r.pf $r.sqlite
	dump $r.pf >$r.got
	check "$r: perfetto is as worked out by hand" diff -u "$GOLD/$r.perfetto" $r.got
	check "$r: perfetto does not change the report" md5sum -c $r.md5
done
check 'protoc decodes a Perfetto trace' sh -c 'protoc -I"$1" --decode=pf.Trace perfetto.proto <small.pf >decoded && grep -q "thread_name: \"worker\"" decoded' - "$GOLD"
ex -a kernel,cuda-api -o part.pf small.sqlite
is "$(dump part.pf | sed -n 's/^slice.*\] \.*\([a-z_]*\):.*/\1/p' | sort | uniq -c | tr -s ' \n' ' ')" \
	' 1 cuda_driver 3 cuda_runtime 2 kernel ' 'perfetto --activities selects the slices'
ex -a osrt --ts-shift=1000000 -o shifted.pf sched.sqlite
is "$(dump shifted.pf | grep ^clocks)" 'clocks boot=7001000000 monotonic=5000000000 real=1700000000000000000' 'perfetto --ts-shift moves all times but the clocks'
ex -a sched --ts-normalize=true -o utc.pf sched.sqlite
is "$(dump utc.pf | grep -e ^clocks -e '^cpu1 .* 101')" 'clocks boot=1700000000000000000 monotonic=5000000000 real=1700000000000000000
cpu1 1700000000000005000 state=0 -> 101 helper prio=110' 'perfetto --ts-normalize gives times in UTC'
is "$(ex -a all -o - small.sqlite | cmp - small.pf && echo same)" same 'perfetto to stdout is the same'
ex -a all -o packed.pf.gz small.sqlite
is "$(gzip -dc packed.pf.gz | cmp - small.pf && echo same)" same 'perfetto named .gz is the same, packed'

# ---- more names than are remembered, deep nesting, long texts, thousands of switches ----
sqlite3 many.sqlite <"$TOP/collector/schema.sql"
sqlite3 many.sqlite "
INSERT INTO StringIds VALUES (1, 'read'), (3, 'path'), (17000000, 'far'), (9000000000, 'farther');
INSERT INTO ThreadNames VALUES (1, 20, 281476654432356);
WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId) SELECT i * 100, i * 100 + 90, 59, 'iteration ' || (i % 12000),
	281476654432356, 0 FROM n;
WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId) SELECT 10000000 + i, 10002000 - i, 59, 'deep', 281476654432356, 0 FROM n;
INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId) VALUES
	(20000000, 20000001, 59, hex(zeroblob(200000)), 281476654432356, 0), (20000002, 20000003, 59, '', 281476654432356, 0);
WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
INSERT INTO OSRT_API (start, end, eventClass, globalTid, nameId, returnValue, nestingLevel, callchainId, argumentsId, pathId)
	SELECT 30000000 + i * 10, 30000000 + i * 10 + 5, 27, 281476654432356 + i % 300, iif(i % 3, 1, iif(i % 2, 17000000, 9000000000)), i, 0, 0, 0, 3 FROM n;
WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
INSERT INTO SCHED_EVENTS SELECT 40000000 + i / 2 * 20, i / 2 % 3, i % 2 = 0, 281476654432356 + i / 2 % 100, 2, NULL FROM n WHERE i > 1"
ex --why=false -o many.pf many.sqlite
check 'perfetto defines every slice, switch and name before its use' "$PY" "$E2E/report/perfetto.py" . many.pf compare many.sqlite
dump many.pf >many.dump
is "$(grep -c 'slice .*: iteration ' many.dump) $(grep 'slice .*: iteration ' many.dump | sed 's/.*: iteration \([0-9]*\) .*/\1/' | sort -u | wc -l)" \
	'20000 12000' 'perfetto exports texts that are too many to remember'
is "$(grep -c '\] \.\.*user_annotation: deep' many.dump) $(grep -c "\] $(printf '%499s' '' | tr ' ' .)user_annotation: deep" many.dump)" '499 1' 'perfetto exports ranges that nest 500 deep'
is "$(awk 'length($0) > 400000 && /: 0*0 /' many.dump | wc -l) $(grep -c 'user_annotation:  {}' many.dump)" '1 1' 'perfetto exports a long text, and an empty one'
is "$(grep -c ': read ' many.dump) $(grep -c ': far ' many.dump) $(grep -c ': farther ' many.dump)" '2000 500 500' 'perfetto exports numbers of names that are far apart'

# ---- rows that lie in another order than an index has them ----
new chains
sqlite3 chains.sqlite 'UPDATE COMPOSITE_EVENTS SET start = 1000000 - start; CREATE INDEX turned ON COMPOSITE_EVENTS(start)'
ex -o chains.pf chains.sqlite
is "$(dump chains.pf 2>&1 | grep -c ^sample)" "$(sqlite3 chains.sqlite 'SELECT count(*) FROM COMPOSITE_EVENTS WHERE end IS NULL')" 'perfetto has samples in the order of time'

# ---- the decoder is one that can fail ----
"$PY" -c '
d = bytearray(open("small.pf", "rb").read())
d[len(d) // 2] ^= 0x5A
open("spoilt.pf", "wb").write(d)'
check 'the comparison notices a spoilt trace' sh -c '! { "$1" "$2" . spoilt.pf dump | cmp -s - small.got; }' - "$PY" "$E2E/report/perfetto.py"

# ---- nothing to show ----
sqlite3 empty.sqlite <"$TOP/collector/schema.sql"
ex -o empty.pf empty.sqlite
is "$(dump empty.pf)" 'clocks boot=0' 'perfetto exports a report without events'

# ---- real reports ----
if [ -d "$REAL" ]; then
	for f in "$REAL"/*.sqlite; do
		name=$(basename "$f" .sqlite)
		cp "$f" real.sqlite && chmod u+w real.sqlite
		ex --why=false -f true -o real.pf real.sqlite
		check "$name: counts, times and arrows of perfetto are those of SQL" "$PY" "$E2E/report/perfetto.py" . real.pf compare real.sqlite
	done
else
	skip 'real reports: counts, times and arrows of perfetto are those of SQL' 'there are none here'
fi

# ---- Perfetto itself, where it has been built: TRACE_PROCESSOR=trace_processor_shell ----
if [ -n "${TRACE_PROCESSOR-}" ]; then
	ask() { # TRACE SQL
		echo "$2" >ask.sql
		"$TRACE_PROCESSOR" -q ask.sql "$1" 2>/dev/null | tail -n +2
	}
	for t in small sched many; do
		is "$(ask $t.pf "SELECT name, value FROM stats WHERE value > 0 AND severity != 'info'")" '' "$t: trace_processor has no complaint"
	done
	is "$(ask sched.pf 'SELECT tid, ts - 7000000000, dur, state FROM thread_state JOIN thread USING (utid) ORDER BY 1, 2' | tr -d '"')" \
		'100,400,600,R
100,1000,2000,Running
100,3000,-1,R+
101,2500,500,R
101,3000,1000,Running
101,4000,500,D
101,4500,500,R
101,5000,1000,Running
101,6000,-1,T' 'trace_processor reads the states of threads'
else
	skip 'trace_processor reads the states of threads' 'TRACE_PROCESSOR is not set'
fi
done_testing

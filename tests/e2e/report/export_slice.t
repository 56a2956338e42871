#!/bin/sh
# export_slice.t - reports as reports: the copy has the same rows and gives the same tables; a part of it is what
# stats shows of that part; what is damaged is read around; nothing private is left where that was asked for.
# shellcheck disable=SC2016
. tests/lib.sh
GOLD=$TOP/tests/golden
REAL=$TOP/../shared/data/nsys
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'

ex() { "$BIN" export -t sqlite "$@"; }
same() { "$PY" "$E2E/report/copy_check.py" "$@"; }
new() { # NAME FILE...: a report of our schema with what the files put in
	sqlite3 "$1.sqlite" <"$TOP/collector/schema.sql" || exit 1
	new_name=$1
	shift
	for f; do sqlite3 "$new_name.sqlite" <"$f" || exit 1; done
}
reports=$(basename -s .sql "$TOP"/exporters/stats/reports/*.sql | paste -sd, -)
stats() { # REPORT NAMES [OPTION...]
	stats_of=$1 stats_names=$2
	shift 2
	"$BIN" stats -q -f csv -r "$stats_names" "$@" "$stats_of" 2>&1 | sed "s/$(basename "$stats_of")/REPORT/g"
}

new small "$GOLD/export/small.sql"
new ours "$GOLD/stats/ours.sql"
sqlite3 nsys34.sqlite <"$GOLD/stats/nsys34.sql"
new secret "$GOLD/export/secret.sql"
md5sum ./*.sqlite >before.md5

# ---- all of it ----
for r in small ours nsys34; do
	ex -o $r-copy.sqlite $r.sqlite
	is "$(same $r.sqlite $r-copy.sqlite)" '' "$r: the copy has the same rows"
	stats $r.sqlite "$reports" >$r.want
	stats $r-copy.sqlite "$reports" >$r.got
	check "$r: every report shows the same" diff -u $r.want $r.got
done
is "$(for t in $(sqlite3 ours-copy.sqlite .tables); do [ "$(sqlite3 ours-copy.sqlite "SELECT EXISTS (SELECT 1 FROM $t)")" = 1 ] || echo "$t"; done | grep -v META_DATA)" '' \
	'the copy has no empty table'
plan() { sqlite3 ours-copy.sqlite "EXPLAIN QUERY PLAN $1" | grep -c 'USING.*INDEX'; }
is "$(plan 'SELECT * FROM OSRT_API WHERE globalTid = 5 AND start > 7') $(plan 'SELECT * FROM OSRT_API WHERE start BETWEEN 1 AND 2')" '1 1' 'the copy has the indexes'
ex -o small-copy2.sqlite small-copy.sqlite
is "$(same small-copy.sqlite small-copy2.sqlite)" '' 'a copy can be copied'
ex --lazy=false -o all.sqlite nsys34.sqlite
is "$(sed -n 's/^-- @table \([^ ]*\) \(always\|lazy\)$/\1/p' "$TOP/collector/schema.sql" | sort >all.want
	sqlite3 all.sqlite "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')" | sort | comm -23 all.want - | head -3)" '' '--lazy=false copies every table of the schema'
is "$(same nsys34.sqlite all.sqlite)" '' '--lazy=false copies the same rows'

# ---- parts ----
# (of a part with no row stats shows headings, where a copy has no table at all)
rows() { grep -v -e '^Time (%)' -e '^$' -e SKIPPED -e 'stats:' | sort; }
for t in :1us/8us: 2us/3us 3.2us-5us; do
	ex -f true --time=$t -o part.sqlite small.sqlite
	some=nvtx_sum,cuda_api_sum,cuda_gpu_kern_sum,cuda_gpu_mem_time_sum,osrt_sum
	is "$(stats part.sqlite $some | rows)" "$(stats small.sqlite $some --filter-time=$t | rows)" "--time=$t: stats of the copy are those of that time"
done
ex --nvtx=registered@NCCL -o part-nvtx.sqlite small.sqlite
is "$(stats part-nvtx.sqlite cuda_api_sum)" "$(stats small.sqlite cuda_api_sum --filter-nvtx registered@NCCL)" '--nvtx: stats of the copy are those of that range'
ex --pid=200 -o part-pid.sqlite small.sqlite
is "$(sqlite3 part-pid.sqlite 'SELECT value FROM StringIds; SELECT pid FROM PROCESSES; SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME;
	SELECT count(*) FROM SCHED_EVENTS' | paste -sd' ' -)" 'cudaMemsetAsync_v3020 200 1 2' '--pid copies one process, its names and nothing else'
is "$(sqlite3 part-pid.sqlite '.tables' | tr -s ' \n' '\n' | grep -c -x -e 'CUPTI.*KERNEL' -e 'ThreadNames' -e 'OSRT_API' -e 'NVTX_EVENTS' -e '.*CALLCHAINS')" 0 '--pid copies no table without rows'
ex --tables='CUPTI.*,NVTX_events' -o part-tables.sqlite small.sqlite
is "$(sqlite3 part-tables.sqlite .tables | tr -s ' \n' '\n' | grep -v ENUM | sort | paste -sd' ' -)" \
	"CUPTI_ACTIVITY_KIND_KERNEL CUPTI_ACTIVITY_KIND_MEMCPY CUPTI_ACTIVITY_KIND_MEMSET CUPTI_ACTIVITY_KIND_RUNTIME CUPTI_ACTIVITY_KIND_SYNCHRONIZATION META_DATA_CAPTURE META_DATA_EXPORT NVTX_EVENTS StringIds" '--tables copies the tables named'
is "$(sqlite3 part-tables.sqlite "SELECT count(*) FROM StringIds WHERE value IN ('read', 'write', 'app')")" 0 '--tables copies no name without a reference'

# ---- times ----
ex --ts-shift=1000000 -o shift.sqlite small.sqlite
is "$(same small.sqlite shift.sqlite shift 1000000)" '' '--ts-shift moves the times of a copy'
is "$(sqlite3 shift.sqlite "SELECT value FROM META_DATA_EXPORT WHERE name = 'EXPORT_PARAM_TIME_SHIFT'")" 1000000 "--ts-shift is in the copy's metadata"
ex --ts-normalize=true -o utc.sqlite small.sqlite
is "$(same small.sqlite utc.sqlite shift 1000000) $(sqlite3 utc.sqlite "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME;
	SELECT value FROM META_DATA_EXPORT WHERE name = 'EXPORT_PARAM_TIME_NORMALIZE'" | paste -sd' ' -)" ' 0 true' '--ts-normalize: the axis of a copy begins in 1970'

# ---- nothing private ----
ex --anonymize=true -o anon.sqlite secret.sqlite
sed -n 's/^-- //p' "$GOLD/export/secret.txt" | while read -r sql; do
	echo "-- $sql"
	sqlite3 anon.sqlite "$sql"
done >anon.txt
check '--anonymize replaces every text' diff -u "$GOLD/export/secret.txt" anon.txt
is "$(grep -a -o -i -E 'secret[a-z]+_?|alice|10\.11\.12|456789abcdef|0530|05:30|fe80|ANALYSIS_FILE' anon.sqlite | sort -u)" 'secrethost_' \
	'--anonymize leaves no secret in the file (but a part of a name of a function)'
is "$(grep -a -c -i secretproject secret.sqlite | sed 's/[1-9][0-9]*/some/')" some 'the report before --anonymize has the secrets'
is "$(stats anon.sqlite osrt_sum)" "$(stats secret.sqlite osrt_sum)" '--anonymize keeps the sums'
ex --anonymize=true --include-json=true --include-blobs=true -o anon2.sqlite secret.sqlite
is "$(sqlite3 anon2.sqlite 'SELECT jsonText, binaryData FROM NVTX_EVENTS WHERE eventId = 1')" '{"prompt": "secretprompt"}|FF' '--include-blobs copies the payloads of a report'

# ---- damage ----
sqlite3 big.sqlite <"$TOP/collector/schema.sql"
sqlite3 big.sqlite "INSERT INTO StringIds VALUES (1, 'read');
WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
INSERT INTO OSRT_API (start, end, eventClass, globalTid, nameId, returnValue, nestingLevel, callchainId, argumentsId)
	SELECT i * 100, i * 100 + 90, 27, 281476654432356, 1, i, 0, 0, 0 FROM n;
WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId) SELECT i * 100, i * 100 + 90, 59, 'iteration ' || i, 281476654432356, 0 FROM n;
INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId) VALUES (9000000, 9000001, 59, hex(zeroblob(50000)), 281476654432356, 0);
WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
INSERT INTO SL_LOST_EVENTS SELECT i, i, NULL, 'x', i FROM n"
sqlite3 big.sqlite 'CREATE TABLE page AS SELECT 1' 'DROP TABLE page'
cat >damage.py <<'EOT'
"""Fills pages of a table with rubbish: damage.py FILE TABLE leaf|inner|overflow COUNT."""
import sqlite3, subprocess, sys
path, table, kind, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
data = bytearray(open(path, 'rb').read())
root, = sqlite3.connect(path).execute('SELECT rootpage FROM sqlite_master WHERE name = ?', (table,)).fetchone()
def big(at, n): return int.from_bytes(data[at:at + n], 'big')
def pages(page, want):
    at = (page - 1) * 4096
    if data[at] == 13:
        return [page] if want == 'leaf' else []
    assert data[at] == 5, data[at]
    below = [big(at + big(at + 12 + 2 * i, 2), 4) for i in range(big(at + 3, 2))] + [big(at + 8, 4)]
    inner = [page] if want == 'inner' and page != root else []
    return inner + [p for b in below for p in pages(b, want)]
if kind == 'overflow':  # the last cell of the last leaf but one page ends in the number of its first overflow page
    at = (pages(root, 'leaf')[-1] - 1) * 4096
    found = [at]
    cells = [big(at + 8 + 2 * i, 2) for i in range(big(at + 3, 2))]
    first = min(cells)
    for c in cells:
        p, size = at + c, 0
        while True:
            size = size << 7 | data[p] & 127
            p += 1
            if not data[p - 1] & 128: break
        if size > 4061:
            while data[p] & 128: p += 1
            local = 489 - 0 + (size - 489) % 4092
            local = local if local <= 4061 else 489
            hit = [big(p + 1 + local, 4)]
else:
    all_pages = pages(root, kind)
    step = max(1, len(all_pages) // (count + 1))
    hit = all_pages[step::step][:count]
for page in hit:
    data[(page - 1) * 4096:page * 4096] = b'\xAA' * 4096
open(path, 'wb').write(data)
EOT
damaged() { # NAME WANT-PATTERN
	ex -f true -o fixed.sqlite hurt.sqlite 2>err
	is "$? $(same big.sqlite fixed.sqlite damaged | tr '\n' ';' | sed 's/[0-9][0-9]*/N/g')" "$2" "$1"
	same big.sqlite fixed.sqlite damaged | while read -r table kept lost; do
		grep -q "of $table, .*$lost rows.* are lost, $kept are kept" err || echo "$table: lost $lost, kept $kept, told: $(cat err)"
	done >told
	is "$(cat told)" '' "$1: what is lost is reported"
}
cp big.sqlite hurt.sqlite && "$PY" damage.py hurt.sqlite OSRT_API leaf 7
damaged 'seven damaged pages of a table' '0 OSRT_API N N;'
cp big.sqlite hurt.sqlite && "$PY" damage.py hurt.sqlite OSRT_API inner 1
damaged 'a damaged page of pages' '0 OSRT_API N N;'
cp big.sqlite hurt.sqlite && "$PY" damage.py hurt.sqlite NVTX_EVENTS overflow 1
damaged 'a damaged page of a long text' '0 NVTX_EVENTS N N;'
is "$(same big.sqlite fixed.sqlite damaged)" 'NVTX_EVENTS 5000 1' 'a damaged page of a long text: only that one row is lost'
stats hurt.sqlite osrt_sum >before.txt
is "$(stats fixed.sqlite osrt_sum)" "$(cat before.txt)" 'a copy of a damaged report: the tables that were whole give the same stats'
size=$(wc -c <big.sqlite)
head -c $((size * 2 / 3)) big.sqlite >hurt.sqlite
ex -f true -o fixed.sqlite hurt.sqlite 2>err
is "$? $(same big.sqlite fixed.sqlite damaged | grep -c 'were not there') $(sqlite3 fixed.sqlite 'SELECT count(*) > 50000 FROM OSRT_API') $(grep -c 'and all behind them' err | sed 's/[1-9]/some/')" \
	'0 0 1 some' 'a report that is cut off is copied as far as it goes'
is "$(sqlite3 fixed.sqlite "SELECT count(*) > 0 FROM META_DATA_EXPORT WHERE name = 'SL_COPY_LOST'")" 1 'a copy of a report that is cut off has SL_COPY_LOST'
is "$(stats hurt.sqlite osrt_sum | grep -c 'is cut off')" 1 'stats refuses a report that is cut off'
ex -f true --time=1us-2us -o fixed.sqlite big.sqlite 2>/dev/null
cp big.sqlite hurt.sqlite && "$PY" damage.py hurt.sqlite OSRT_API leaf 7
rm -f fixed.sqlite
ex --time=1us-900ms -o fixed.sqlite hurt.sqlite 2>err
is "$? $(wc -l <err) $(grep -c 'copy it whole first' err) $(ls fixed.sqlite* 2>/dev/null)" '1 1 1 ' 'a part of a damaged report is refused with one line, without a file'

# ---- wrong use ----
ex --tables='(' -o no.sqlite small.sqlite 2>err
is "$? $(wc -l <err) $(grep -c "'(' is no regular expression" err) $(ls no.sqlite* 2>/dev/null)" '1 1 1 ' '--tables refuses a wrong regular expression'
ex -o - small.sqlite 2>err
is "$? $(wc -l <err)" '2 1' 'a database is refused on stdout'
mkdir full && (
	ulimit -f 10
	ex -o full/x.sqlite big.sqlite 2>err
)
is "$? $(wc -l <err) $(ls full)" '1 1 ' 'a copy onto a full disk fails with one line, without half a file'
check 'a copy does not change its report' md5sum -c before.md5

# ---- real reports ----
if [ -d "$REAL" ]; then
	for f in "$REAL"/*.sqlite; do
		name=$(basename "$f" .sqlite)
		cp "$f" real.sqlite && chmod u+w real.sqlite
		ex -f true -o real-copy.sqlite real.sqlite
		is "$(same real.sqlite real-copy.sqlite)" '' "$name: the copy has the same rows"
		stats real.sqlite "$reports" | md5sum >want
		is "$(stats real-copy.sqlite "$reports" | md5sum)" "$(cat want)" "$name: stats of the copy are the same"
	done
else
	skip 'real reports: the copy has the same rows' 'there are none here'
fi
# ---- stacks: shared by calls and samples, or with numbers of their own ----
cat "$TOP/collector/schema.sql" "$GOLD/export/chains.sql" | sqlite3 -bail chains.sqlite || exit 1
cat "$TOP/collector/schema.sql" "$GOLD/export/chains.sql" "$GOLD/export/chains_nsys.sql" | sqlite3 -bail nsys.sqlite || exit 1
flames() { for what in cpu off-cpu gpu bytes-read allocations; do "$BIN" export -q -t folded --flame=$what -o - "$1" | LC_ALL=C sort; done; }
for db in chains nsys; do
	"$BIN" export -q -f true -o copy.sqlite $db.sqlite
	is "$(flames copy.sqlite)" "$(flames $db.sqlite)" "$db: a copy has the same stacks"
	"$BIN" export -q -f true --time=1.55us-1.95us -o part.sqlite $db.sqlite
	is "$(flames part.sqlite)" 'python;python;Py_RunMain;train;load;pread64 300
python;python;Py_RunMain;train;load;pread64;/data/b.bin 200' "$db: a part has its stacks"
	is "$(sqlite3 part.sqlite 'SELECT count(*) FROM OSRT_CALLCHAINS')" 3 "$db: a part has no stacks of other times"
done
"$BIN" export -q -f true --time=1.55us-1.95us -o part.sqlite chains.sqlite
is "$(sqlite3 part.sqlite "SELECT (SELECT group_concat(DISTINCT id) FROM SL_STACKS), (SELECT group_concat(id) FROM SL_FRAMES),
	(SELECT count(*) FROM SL_SPACES), (SELECT count(*) FROM SL_MODULES), (SELECT count(*) FROM StringIds WHERE value LIKE '%libtorch%')")" \
	'2|3,7,9|1|3|1' 'a part has only the stacks, frames and texts that it refers to'
is "$(sqlite3 chains.sqlite 'SELECT start, end FROM SL_MODULES')" "$("$BIN" export -q -f true --ts-shift=1000 -o moved.sqlite chains.sqlite
	sqlite3 moved.sqlite 'SELECT start, end FROM SL_MODULES')" '--ts-shift leaves addresses of modules alone'
is "$(sqlite3 moved.sqlite 'SELECT count(*) FROM SAMPLING_CALLCHAINS')" "$(sqlite3 chains.sqlite 'SELECT count(*) FROM SAMPLING_CALLCHAINS')" 'a copy has the stacks of samples'
is "$(sqlite3 moved.sqlite "SELECT type FROM sqlite_master WHERE tbl_name = 'SAMPLING_CALLCHAINS' ORDER BY type")" 'index
table' 'a copy has SAMPLING_CALLCHAINS as a table, as nsys has it'
is "$(sqlite3 moved.sqlite 'SELECT * FROM SAMPLING_CALLCHAINS ORDER BY id, stackDepth')" "$(
	sqlite3 chains.sqlite 'SELECT * FROM SAMPLING_CALLCHAINS ORDER BY id, stackDepth')" 'a copy has SAMPLING_CALLCHAINS frame by frame'
"$BIN" export -q -f true --time=1.2us-1.35us -o again.sqlite moved.sqlite
is "$(sqlite3 again.sqlite 'SELECT DISTINCT id FROM SAMPLING_CALLCHAINS ORDER BY id' | paste -sd, -)" 2,3 \
	'a part of a copy has the stacks of its samples'
"$BIN" export -q -f true --tables=OSRT_API -o few.sqlite chains.sqlite
is "$(sqlite3 few.sqlite "SELECT count(*) FROM sqlite_master WHERE type = 'view'")" 0 '--tables copies no view without its tables'
"$BIN" export -q -f true --lazy=false -o eager.sqlite chains.sqlite
is "$(sqlite3 eager.sqlite 'SELECT count(*) > 0 FROM SAMPLING_CALLCHAINS')" 1 '--lazy=false copies stacks of samples'
cp nsys.sqlite bare.sqlite
sqlite3 bare.sqlite 'DROP TABLE SAMPLING_CALLCHAINS'
"$BIN" export -q -f true --lazy=false -o eager.sqlite bare.sqlite
check 'a copy of nsys samples without stacks has no view that cannot be read' "$BIN" export -q -f true -t jsonlines -o rows.jsonl eager.sqlite
for db in chains nsys; do
	"$BIN" export -q -f true --anonymize -o anon.sqlite $db.sqlite
	is "$(sqlite3 anon.sqlite .dump | grep -c -e eva -e libtorch -e libfoo -e train.py)" 0 "$db: --anonymize replaces paths"
	is "$(flames anon.sqlite | grep -v data | sed 's/;\[x[0-9]*\.so\]//g; s#;/[a-z]*/x[0-9]*\.bin##')" \
		"$(flames $db.sqlite | grep -v data | sed 's/;\[libfoo.so\]//g')" "$db: --anonymize keeps functions"
done
"$BIN" export -q -f true -t jsonlines -o rows.jsonl chains.sqlite
is "$(grep -c -e '"table":"SL_STACKS"' rows.jsonl),$(grep -c -e '"table":"SL_FRAMES"' rows.jsonl),$(grep -c -e '"table":"SAMPLING_CALLCHAINS"' rows.jsonl)" \
	"$(sqlite3 chains.sqlite "SELECT (SELECT count(*) FROM SL_STACKS) || ',' || (SELECT count(*) FROM SL_FRAMES) || ',' || (SELECT count(*) FROM SAMPLING_CALLCHAINS)")" \
	'a copy of several reports has the rows of all of them'

done_testing

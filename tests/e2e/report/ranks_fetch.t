#!/bin/sh
# A span of ranks out of the reports of two nodes: the rows that they have, on one axis by the clocks that were compared.
. tests/lib.sh
. "$TOP/tests/e2e/lib/ranks.sh"
fetch() { "$BIN" ranks fetch -d ds -f true "$@" >out 2>err; }
sql() { sqlite3 "$1" "$2"; }

# Processes have other numbers than their ranks.
RANK=1 WORLD_SIZE=3 profile r1 -t cuda,nvtx,osrt "$GPU/steps" 20 >said 2>err
RANK=0 WORLD_SIZE=3 profile r0 -t cuda,nvtx,osrt "$GPU/steps" 20 >said 2>err
for n in 0 1; do sql r$n.sqlite "UPDATE TARGET_INFO_SYSTEM_ENV SET value = 'g07$n' WHERE name = 'Hostname'"; done
# A sample each, which no test waits for; an index holds all that one look at their times reads.
for n in 0 1; do
	sql r$n.sqlite "$(sed -n '/^CREATE TABLE COMPOSITE_EVENTS/,/^);/p' "$TOP/collector/schema.sql")
		INSERT INTO COMPOSITE_EVENTS(id, start, cpu, threadState, globalTid, cpuCycles) SELECT 1, max(start), 1, 1, globalTid, 1 FROM OSRT_API;
		CREATE INDEX sampled ON COMPOSITE_EVENTS(start)"
done
# A third node, whose processes have the ids of the first one's.
cp r0.sqlite r2.sqlite
sql r2.sqlite "UPDATE SL_RANK_VARIABLES SET value = '2' WHERE name = 'RANK'; UPDATE TARGET_INFO_SESSION_START_TIME SET utcEpochNs = utcEpochNs + 5000000"
for n in 0 1 2; do "$BIN" ranks add -d ds --run one --node "n$n" "r$n.sqlite" 2>err; done

# ---- one rank ----
check 'fetch gets one rank' fetch --rank 1 -o one.sqlite r0.sqlite r1.sqlite r2.sqlite
rows() { # REPORT: of each table with events
	for rows_table in NVTX_EVENTS CUPTI_ACTIVITY_KIND_RUNTIME CUPTI_ACTIVITY_KIND_KERNEL CUPTI_ACTIVITY_KIND_MEMCPY OSRT_API; do
		sql "$1" "SELECT '$rows_table', count(*), sum(end - start) FROM $rows_table" 2>/dev/null
	done
}
is "$(rows one.sqlite)" "$(rows r1.sqlite)" 'a fetched rank has the rows of its report'
is "$(sql one.sqlite 'SELECT min(start) FROM CUPTI_ACTIVITY_KIND_KERNEL')" "$(sql r1.sqlite 'SELECT min(start) FROM CUPTI_ACTIVITY_KIND_KERNEL')" 'a fetched rank has the times of its report'
is "$(sql one.sqlite 'SELECT name FROM PROCESSES WHERE globalPid IN (SELECT globalPid FROM SL_RANK_PROCESSES WHERE rank = 1)')" 'rank 1, g071: steps' \
	'the process of a fetched rank has the rank in its name'

# ---- three, on one axis ----
origin=$(for n in 0 1 2; do sql "r$n.sqlite" "SELECT utcEpochNs + (SELECT min(start) FROM SL_PROCESS_TREE) FROM TARGET_INFO_SESSION_START_TIME"; done | sort -n | head -1)
at=$(sql r1.sqlite 'SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME')
mkdir -p ds/_clock
cat >ds/_clock/run=one.json <<END
{"lines": [{"node": "n0", "time": $origin, "offsetNs": 0, "driftPpb": 0, "source": "reference"},
	{"node": "n1", "time": $at, "offsetNs": -200000, "driftPpb": 50000, "source": "collectives"},
	{"node": "n1", "time": $((at + 100000000)), "offsetNs": -195000, "driftPpb": 0, "source": "collectives"},
	{"node": "n2", "time": $at, "offsetNs": 700000, "driftPpb": 0, "source": "collectives"}]}
END
check 'fetch gets ranks of three nodes' fetch --rank 0,1,2 -o all.sqlite r0.sqlite r1.sqlite r2.sqlite
is "$(cat err)" '' 'fetch of compared clocks has no message'
is "$(sql all.sqlite 'SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME')" "$origin" 'the axis of fetched ranks begins with the run'
is "$(for t in NVTX_EVENTS CUPTI_ACTIVITY_KIND_RUNTIME CUPTI_ACTIVITY_KIND_KERNEL OSRT_API; do sql all.sqlite "SELECT count(*) FROM $t"; done | xargs)" \
	"$(for t in NVTX_EVENTS CUPTI_ACTIVITY_KIND_RUNTIME CUPTI_ACTIVITY_KIND_KERNEL OSRT_API; do
		echo $(($(sql r0.sqlite "SELECT count(*) FROM $t") * 2 + $(sql r1.sqlite "SELECT count(*) FROM $t")))
	done | xargs)" 'no row of fetched ranks is lost'
is "$(sql all.sqlite "ATTACH 'r1.sqlite' AS r1; SELECT count(*), count(DISTINCT abs(a.start - (r.start + $at - $origin + CASE WHEN r.start < 100000000 THEN -200000 + r.start / 20000 ELSE -195000 END)) <= 1)
	FROM (SELECT start, row_number() OVER (ORDER BY start) AS no FROM main.CUPTI_ACTIVITY_KIND_KERNEL WHERE globalPid >> 56 = 1) AS a
	JOIN (SELECT start, row_number() OVER (ORDER BY start) AS no FROM r1.CUPTI_ACTIVITY_KIND_KERNEL) AS r USING (no)
	WHERE abs(a.start - (r.start + $at - $origin + CASE WHEN r.start < 100000000 THEN -200000 + r.start / 20000 ELSE -195000 END)) <= 1")" \
	"$(sql r1.sqlite 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL')|1" 'each kernel is where offset and drift of its node put it'
is "$(sql all.sqlite "ATTACH 'r0.sqlite' AS r0; SELECT min(d), max(d) FROM (SELECT c.start - a.start AS d
	FROM (SELECT start, row_number() OVER (ORDER BY start) AS no FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE globalPid >> 56 = 0) AS a
	JOIN (SELECT start, row_number() OVER (ORDER BY start) AS no FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE globalPid >> 56 = 2) AS c USING (no))")" '5700000|5700000' \
	'a node that is the first one, 5 ms later and 0.7 ms behind, has its times'
is "$(sql all.sqlite 'SELECT count(*), count(DISTINCT globalPid), count(DISTINCT pid), group_concat(name) FROM (SELECT * FROM PROCESSES ORDER BY name)')" \
	'3|3|3|rank 0, g070: steps,rank 1, g071: steps,rank 2, g070: steps' 'processes of fetched ranks have ids of their own, and names with rank and host'
is "$(sql all.sqlite 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL AS k JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS r ON r.correlationId = k.correlationId AND r.globalTid >> 24 = k.globalPid >> 24')" \
	"$(sql all.sqlite 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL')" 'each fetched kernel finds its launch'
is "$(sql all.sqlite 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL AS k JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS r ON r.correlationId = k.correlationId')" \
	"$(sql all.sqlite 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL')" 'each fetched kernel finds no other launch'
is "$(sql all.sqlite 'SELECT count(DISTINCT id) - count(DISTINCT value) FROM StringIds')" 0 'a name in fetched ranks has one number'
is "$("$BIN" stats -q -f csv -r cuda_gpu_kern_sum all.sqlite | cut -d, -f3- | head -2 | tail -1 | cut -d, -f1)" "$((3 * $("$BIN" stats -q -f csv -r cuda_gpu_kern_sum r0.sqlite | sed -n 2p | cut -d, -f3)))" \
	'stats adds fetched ranks up'
check 'the report of fetched ranks is sound' intact all.sqlite
for format in perfetto chrome; do
	"$BIN" export -q true -f true --why=false -t $format -o all.$format all.sqlite 2>err
	is "$? $(cat err)" '0 ' "$format exports all fetched ranks"
done
is "$(grep -o '"name":"rank [0-9], g07[01]: steps"' all.chrome | sort -u | wc -l)" 3 'a Chrome trace of fetched ranks names each rank'
is "$(sql all.sqlite 'SELECT host, firstCpu, cpus FROM SL_RANK_CPUS ORDER BY 1' | xargs) $(sql all.sqlite "SELECT group_concat(cpu) FROM (SELECT cpu FROM COMPOSITE_EVENTS ORDER BY globalTid >> 56)")" \
	'g070|0|2 g071|2|2 1,3,1' 'CPUs of two hosts have numbers of their own'

# Perfetto's page has processes in the order of a number of theirs; each is called by the first word of its command.
if command -v protoc >/dev/null && "$PY" -c 'import google.protobuf' 2>/dev/null && protoc -I"$TOP/tests/golden/export" --python_out=. perfetto.proto; then
	check 'perfetto: counts, times and arrows equal those of SQL, in the order of time' "$PY" "$E2E/report/perfetto.py" . all.perfetto compare all.sqlite
	is "$("$PY" -c '
import perfetto_pb2 as pb
t = pb.Trace()
t.ParseFromString(open("all.perfetto", "rb").read())
d = sorted((p.track_descriptor.process for p in t.packet if p.track_descriptor.HasField("process")), key=lambda p: p.legacy_sort_index)
words = {p.pid: p.cmdline[0] for q in t.packet for p in q.process_tree.processes}
print([p.process_name for p in d] == [words[p.pid] for p in d], ", ".join(p.process_name for p in d))' 2>&1)" \
		'True rank 0, g070: steps, rank 1, g071: steps, rank 2, g070: steps' 'perfetto: ranks stand in their order, with rank and host'
else
	skip 'perfetto: ranks stand in their order' 'protoc is not installed (packages protobuf-compiler, python3-protobuf)'
fi

cp all.sqlite forged.sqlite
sql forged.sqlite "UPDATE COMPOSITE_EVENTS SET cpu = 9223372036854775807 WHERE globalTid >> 56 = 0; UPDATE SL_RANK_PROCESSES SET rank = 1 << 40, host = '%s%n' WHERE rank = 1"
check 'fetch takes a report that was fetched, whatever it has' fetch --rank 0,1 -o again.sqlite forged.sqlite r1.sqlite
kernels=$(sql r1.sqlite 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL')
is "$(sql again.sqlite "SELECT count(*), count(DISTINCT k.globalPid) FROM CUPTI_ACTIVITY_KIND_KERNEL AS k JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS r USING (correlationId) WHERE r.globalTid >> 24 = k.globalPid >> 24;
	SELECT count(*) FROM META_DATA_EXPORT WHERE name = 'SL_MERGE_OF'" | xargs)" "$((3 * kernels))|3 4" 'a report that was fetched again has three processes, of four reports'
check 'a report that was fetched again is exported' "$BIN" export -q true -f true -t chrome -o again.chrome again.sqlite
is "$(sql again.sqlite 'SELECT max(firstCpu) FROM SL_RANK_CPUS')" 1048576 'no host of a forged report has a million CPUs'

# ---- a span ----
from=$(sql all.sqlite "SELECT start FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE globalPid >> 56 = 1 ORDER BY start LIMIT 1 OFFSET 50")
from=$((from + 1000))
to=$(sql all.sqlite "SELECT start FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE globalPid >> 56 = 1 ORDER BY start LIMIT 1 OFFSET 70")
to=$((to - 1000))
check 'fetch gets a span of the time' fetch --rank 1,2 --time "$from/$to" -o span.sqlite r1.sqlite r2.sqlite
is "$(sql span.sqlite "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE globalPid >> 56 = 0")" \
	"$(sql all.sqlite "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE globalPid >> 56 = 1 AND start < $to AND end > $from")" 'a fetched span has the kernels that overlap it'

# ---- reports that do not show their rank: exports of nsys ----
mkdir nsys
for n in 0 1; do
	cat "$TOP/tests/golden/corpus/base.sql" "$TOP/tests/golden/corpus/3.25.0.sql" | sqlite3 -bail "nsys/job.rank$n.sqlite"
	sql "nsys/job.rank$n.sqlite" "UPDATE TARGET_INFO_SESSION_START_TIME SET utcEpochNs = utcEpochNs + $n * 1000000"
done
check 'nsys: add takes a rank named by FILE=RANK' "$BIN" ranks add -d ds2 --run n --node a nsys/job.rank0.sqlite=0
check 'nsys: add takes a rank named by --rank-from' "$BIN" ranks add -d ds2 --run n --node b --rank-from 'rank%r' nsys/job.rank1.sqlite
nsys() { "$BIN" ranks fetch -d ds2 -f true "$@" >out 2>err; }
kernels() { sql "$1" 'SELECT count(*), sum(end - start), min(start), max(end) FROM CUPTI_ACTIVITY_KIND_KERNEL'; }
check 'nsys: fetch gets the ranks that were added' nsys --rank 0,1 -o nsys.sqlite nsys/job.rank0.sqlite nsys/job.rank1.sqlite
is "$(sql nsys.sqlite 'SELECT count(*), count(DISTINCT globalPid >> 56), max(end) - (SELECT max(end) FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE globalPid >> 56 = 0) FROM CUPTI_ACTIVITY_KIND_KERNEL')" \
	"$(($(kernels nsys/job.rank0.sqlite | cut -d'|' -f1) * 2))|2|1000000" 'nsys: fetched ranks have the kernels of both, a millisecond apart'
is "$(sql nsys.sqlite "SELECT count(DISTINCT rank) FROM SL_RANK_PROCESSES JOIN PROCESSES AS p USING (globalPid) WHERE p.name GLOB 'rank [01]*'")" 2 'nsys: names of processes have the rank'
check 'nsys: the page of view and the formats take it' "$BIN" export -q true -f true -t perfetto -o nsys.pf nsys.sqlite
mv nsys/job.rank0.sqlite nsys/other.sqlite
for how in '--rank-from=othe%r nsys/other.sqlite=0' 'nsys/other.sqlite=0'; do
	# shellcheck disable=SC2086
	check "nsys: fetch gets a rank by $how" nsys --rank 0 -o one-nsys.sqlite $how
	is "$(kernels one-nsys.sqlite)" "$(kernels nsys/other.sqlite)" "nsys: a rank by $how has its kernels"
done

# ---- words ----
says() { # STATUS TEXT NAME COMMAND...
	says_status=$1 says_text=$2 says_name=$3
	shift 3
	"$@" >out 2>err
	is "$? $(cat err)" "$says_status sightline: ranks fetch: $says_text" "$says_name"
}
rm ds/_clock/run=one.json
"$BIN" ranks fetch -d ds -f true --rank 0,1 -o raw.sqlite r0.sqlite r1.sqlite 2>err
is "$? $(grep -c 'its clock is taken as it is' err)" '0 2' 'fetch names clocks that were not compared'
says 1 'rank 7 is in none of the reports' 'a rank that is not there' "$BIN" ranks fetch -d ds --rank 0,7 -o no.sqlite r0.sqlite
says 1 "rank 0 is in none of the reports, and nsys/other.sqlite does not show which rank it is of: nsys/other.sqlite=N, or --rank-from=PATTERN takes it from the file's name" \
	'a report of no rank' "$BIN" ranks fetch -d ds2 --rank 0 -o no.sqlite nsys/other.sqlite
says 2 "nsys/other.sqlite: no number where --rank-from=rank%r has %r (nsys/other.sqlite=RANK has it for this one)" 'a name without a number' \
	"$BIN" ranks fetch -d ds2 --rank 0 --rank-from 'rank%r' -o no.sqlite nsys/other.sqlite
says 2 "--rank-from=rank has no %r" 'a pattern without a place' "$BIN" ranks fetch -d ds2 --rank 0 --rank-from rank -o no.sqlite nsys/other.sqlite
says 2 "--rank takes numbers, as in 3,7, not 'x'" 'no rank' "$BIN" ranks fetch -d ds --rank x -o no.sqlite r0.sqlite
says 2 'one.sqlite exists already; --force-overwrite=true replaces it' 'a file that is there' "$BIN" ranks fetch -d ds --rank 0 -o one.sqlite r0.sqlite
says 2 '--rank=N is missing (see '"'sightline ranks fetch --help')" 'nothing asked' "$BIN" ranks fetch -d ds r0.sqlite
is "$(ls no.sqlite ./*.part* 2>/dev/null)" '' 'fetch leaves no other file'
done_testing

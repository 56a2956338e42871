#!/bin/sh
# ranks_view.t - ranks of two hosts, fetched into one report, on the page of `sightline view` in a headless Chromium (ranks_view.mjs):
# they stand in their order, and the clock of the second host, 50 ms ahead, is put right.
. tests/lib.sh
. "$TOP/tests/e2e/lib/ranks.sh"
. "$TOP/tests/web/driver.sh"
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'
[ -s "$B/view/index.html" ] || skip_all 'built without the page of sightline view: the npm registry could not be reached (package npm)'
"$BIN" view --help >/dev/null 2>&1 || skip_all 'built without sightline view (package libevent-dev)'
web_driver "$E2E/report/ranks_view.mjs" || exit 1

LD_LIBRARY_PATH=$STANDIN/job:$LD_LIBRARY_PATH
for i in 2 0 1; do
	RANK=$i WORLD_SIZE=3 "$BIN" profile -o r$i -t cuda,nvtx,osrt,nccl -s none --gpu-health=0 "$GPU/ranks" "$W/meet" 4 5 9 0 >out.$i 2>err.$i &
done
wait
sql() { sqlite3 "$1" "$2" || exit 1; }
for i in 0 1 2; do
	# What a kernel without context switches does not show.
	sql r$i.sqlite "UPDATE TARGET_INFO_SYSTEM_ENV SET value = 'g07$((i % 2))' WHERE name = 'Hostname';
		$(sed -n '/^CREATE TABLE SCHED_EVENTS/,/^);/p' "$TOP/collector/schema.sql" | sed 's/TABLE/& IF NOT EXISTS/');
		DELETE FROM SCHED_EVENTS; INSERT INTO SCHED_EVENTS(start, cpu, isSchedIn, globalTid) SELECT min(start) + x * 1000000, 1, x = 0, globalTid FROM NVTX_EVENTS, (SELECT 0 AS x UNION SELECT 1)
			WHERE eventType = 59"
done
sql r1.sqlite 'UPDATE TARGET_INFO_SESSION_START_TIME SET utcEpochNs = utcEpochNs + 50000000'
for i in 0 1 2; do "$BIN" ranks add -q -d ds --run one --node n$i r$i.sqlite 2>err || exit 1; done
mkdir ds/_clock && cat >ds/_clock/run=one.json <<'END'
{"lines": [{"node": "n0", "time": 0, "offsetNs": 0, "driftPpb": 0, "source": "reference"}, {"node": "n1", "time": 0, "offsetNs": -50000000, "driftPpb": 0, "source": "collectives"},
	{"node": "n2", "time": 0, "offsetNs": 0, "driftPpb": 0, "source": "collectives"}]}
END
"$BIN" ranks fetch -d ds --rank 0,1,2 -o all.sqlite r2.sqlite r1.sqlite r0.sqlite 2>err || exit 1
timeout 300 node run/ranks_view.mjs "$BIN" "$W" "$browser"
status=$?
[ -z "${VIEW_PICTURES-}" ] || cp ./*.png "$VIEW_PICTURES"
exit $status

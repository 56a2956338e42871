#!/bin/sh
# export_counters.t - counters of GPUs and of the machine as tracks: each sample in the formats for timelines, gaps as such.
. tests/lib.sh
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'
sqlite3 health.sqlite <"$TOP/tests/golden/reports/health.sql" || exit 1

check 'a Chrome trace is written' "$BIN" export -f true -t chrome -o trace.json health.sqlite
check 'a Chrome trace has each sample of the report, and nothing else' "$PY" "$E2E/report/export_counters.py" health.sqlite trace.json
"$BIN" export -f true -t text -o all.txt health.sqlite 2>err
# The ends of six sums, a gap in one, a level that ended, and the gap of two metrics.
is "$(grep -c ' = not known$' all.txt)" 10 'text has words where a value is not known'
is "$(grep -c 'GPU 0 not sampled for 50.0 ms: overflow' all.txt)" 1 'text names the gap in the samples of a GPU'
"$BIN" export -f true -t text --activities=kernel -o none.txt health.sqlite 2>err
is "$(grep -cE 'metric|counter|not sampled' none.txt)" 0 'text of other activities has no metrics'
if command -v protoc >/dev/null && "$PY" -c 'import google.protobuf' 2>/dev/null; then
	protoc --proto_path="$TOP/tests/golden/export" --python_out=. perfetto.proto
	"$BIN" export -f true -t perfetto -o trace.pftrace health.sqlite 2>err
	"$PY" "$E2E/report/perfetto.py" . trace.pftrace dump >dump.txt 2>&1
	is "$(grep -c '^counter ' dump.txt)" "$(grep -c '"ph":"C"' trace.json)" 'perfetto has as many values as the Chrome trace'
	check 'perfetto has the units of counters' grep -q 'GPU 0: Power.* unit=W' dump.txt
else
	skip 'perfetto has as many values as the Chrome trace' 'no protoc'
fi
done_testing

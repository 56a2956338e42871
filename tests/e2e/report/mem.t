#!/bin/sh
# mem.t - reports on memory: random allocations, with frees and allocations that are lost, against sums made in another way
# (mem_truth.py); and a few whose figures are plain.
# shellcheck disable=SC2016
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'
truth() { "$PY" "$E2E/report/mem_truth.py" "$@"; }
st() { "$BIN" stats -q -f csv:nohdr "$@" | sed '/^$/d'; }

for seed in 1 2 3 4 5 6; do
	truth make "$TOP/collector/schema.sql" random$seed.sqlite $seed || exit 1
	check "random allocations $seed: the tables are those of Python" truth check random$seed.sqlite "$BIN"
done
last="(SELECT max(rowid) FROM CUDA_GPU_MEMORY_USAGE_EVENTS WHERE address > 0 AND memoryOperationType"
for change in "bytes = bytes + 1 WHERE rowid = $last = 0)" "memoryOperationType = 0 WHERE rowid = $last = 1)"; do
	cp random1.sqlite changed.sqlite
	"$BIN" stats -q -r cuda_mem_sum -f csv random1.sqlite >one
	sqlite3 changed.sqlite "UPDATE CUDA_GPU_MEMORY_USAGE_EVENTS SET $change"
	"$BIN" stats -q -r cuda_mem_sum -f csv changed.sqlite >other
	check 'the comparison finds one record that differs' sh -c '! cmp -s one other'
done

# ---- written by hand; the figures are worked out in its head ----
cat "$TOP/collector/schema.sql" "$TOP/tests/golden/reports/memory.sql" | sqlite3 -bail memory.sqlite || exit 1
for want in "$TOP"/tests/golden/reports/memory-*.csv; do
	r=$(basename "$want" .csv)
	r=${r#memory-}
	"$BIN" stats -q -r "$r" -f csv memory.sqlite | sed '/^$/d' >got
	check "$r" diff -u "$want" got
done

# The same peak everywhere: a time line, a comparison.
"$BIN" export -q -t chrome -o line.json memory.sqlite
is "$("$PY" -c '
import json
print([v for e in json.load(open("line.json"))["traceEvents"] if e["ph"] == "C" and e["name"] == "GPU memory: device" for v in e["args"].values()])')" \
	'[160, 210, 280, 180, 130, 60]' 'the track of memory in a time line begins with the memory that was there'
is "$("$BIN" compare -f json memory.sqlite memory.sqlite | grep -A1 '"name": "gpu_memory"' | grep -o '280[.0-9]*' | sort -u)" 280 'compare has the peak of GPU memory'

# ---- events alone: process 7 on its device 0 ----
new() { # FILE: the events of standard input: at, address, bytes, kind, 0 or 1
	rm -f "$1"
	{
		cat "$TOP/collector/schema.sql"
		echo 'CREATE TEMP TABLE e(at, address, bytes, kind, op);'
		sed 's/.*/INSERT INTO e VALUES(&);/'
		echo 'INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS(start, globalPid, deviceId, contextId, address, pc, bytes, memKind,
			memoryOperationType) SELECT at, (1 << 48) + (7 << 24), 0, 1, address, 0, bytes, kind, op FROM e;'
	} | sqlite3 -bail "$1"
}
new plain.sqlite <<'E'
10, 16, 100, 2, 0
20, 32, 50, 2, 0
30, 16, 100, 2, 1
40, 48, 60, 2, 0
50, 32, 50, 2, 1
60, 64, 1000, 1, 0
E
is "$(st -r cuda_mem_sum plain.sqlite)" '1000,60,1,1000,1000,1,1000,0,0,7,0,Pinned,
150,20,3,210,100,1,60,0,0,7,0,Device,' 'cuda_mem_sum has a row for each kind of memory'
is "$(st -r cuda_mem_peak plain.sqlite)" '0,0,150,100.0,,20,7,Device,0x20,,[no call]
0,1,100,66.7,,10,7,Device,0x10,,[no call]
0,2,50,33.3,,20,7,Device,0x20,,[no call]' 'cuda_mem_peak has the memory at the peak, without that of the host'
is "$(st -r cuda_mem_leaks plain.sqlite)" '1000,1,1,1000,60,60,recording,7,0,Pinned,,[no call]
60,1,3,60,40,40,recording,7,0,Device,,[no call]' 'cuda_mem_leaks has what was not freed by the end of the recording'
is "$(st -r cuda_mem_sum --filter-time 25ns/ plain.sqlite | grep Device)" '150,,1,60,60,1,60,150,0,7,0,Device,' \
	'--filter-time: memory from before the part counts as there'
sqlite3 plain.sqlite "INSERT INTO SL_PROCESS_TREE(globalPid, start, end, kind, traced, exitStatus) VALUES((1 << 48) + (7 << 24), 0, 100, 2, 1, 9)"
is "$(st -r cuda_mem_leaks plain.sqlite | cut -d, -f7 | tr '\n' ' ')" 'process process ' 'cuda_mem_leaks has what was not freed by the end of the process'
new lost.sqlite <<'E'
10, 16, 100, 2, 1
20, 16, 40, 2, 0
30, 16, 70, 2, 0
40, 16, 70, 2, 1
50, 16, 30, 2, 1
60, 0, 0, 2, 1
E
is "$(st -r cuda_mem_sum lost.sqlite)" '100,,2,110,70,0,0,100,2,7,0,Device,' 'cuda_mem_sum counts frees and allocations that are lost'
is "$(st -r cuda_mem_leaks lost.sqlite)" '' 'an address that was allocated again is no leak'
new reset.sqlite <<'E'
10, 16, 100, 2, 0
30, 32, 40, 2, 0
E
sqlite3 reset.sqlite "INSERT INTO StringIds VALUES(1, 'cudaDeviceReset_v3020');
	INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(15, 20, 0, (1 << 48) + (7 << 24) + 7, 1, 1, 0, NULL)"
is "$(st -r cuda_mem_sum reset.sqlite; st -r cuda_mem_leaks reset.sqlite)" '100,10,2,140,100,1,40,0,0,7,0,Device,
100,1,2,100,10,10,context,7,0,Device,,[no call]
40,1,2,40,30,30,recording,7,0,Device,,[no call]' 'a reset of the device frees all of its memory'
sqlite3 none.sqlite 'CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)'
for r in cuda_mem_sum cuda_mem_peak cuda_mem_leaks cuda_mem_pool_sum cuda_mem_driver_sum; do
	is "$("$BIN" stats -r $r none.sqlite | grep -c SKIPPED)" 1 "$r says that there is no data"
done
done_testing

#!/bin/sh
# why_gpu.t - sightline why of GPUs, and of threads that wait for them, on a report written by hand (tests/golden/why/gpu.sql, with
# the arithmetic in its head).
. tests/lib.sh
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
sqlite3 gpu.sqlite <"$TOP/collector/schema.sql" && sqlite3 gpu.sqlite <"$TOP/tests/golden/why/gpu.sql" || exit 1
# "REASON PLACE MS" of each part, by reason and place.
cat >parts.py <<'END'
import json
y = json.load(open("out.json"))
assert sum(p["ns"] for p in y["partition"]) == y["focus"]["ns"] == y["checks"]["sum_ns"], "sum"
for p in sorted(y["partition"], key=lambda p: (p["reason"], str(p["place"]), p["ns"])):
    print("%s %s %.1f" % (p["reason"], p["place"], p["ns"] / 1e6))
print("of %.1f" % (y["focus"]["ns"] / 1e6))
END
parts() { "$BIN" why -f json --limit=0 --max-bytes=0 "$@" >out.json && "$PY" parts.py; }

is "$(parts --gpu 0 gpu.sqlite)" 'GPU_CALL a.py:3 in f 2.0
GPU_KERNEL a.py:2 in f 8.0
GPU_KERNEL a.py:2 in f 8.5
GPU_KERNEL a.py:2 in f 10.0
GPU_KERNEL a.py:2 in f 12.0
GPU_LATENCY a.py:2 in f 0.5
GPU_LATENCY a.py:2 in f 1.0
GPU_LATENCY a.py:5 in f 1.0
GPU_LAUNCH a.py:2 in f 2.0
GPU_LAUNCH a.py:5 in f 1.0
GPU_ONLY a.py:5 in f 6.0
NO_CPU a.py:4 in f 2.0
SLEEP a.py:20 in f 9.0
SLEEP a.py:4 in f 17.0
of 80.0' 'a GPU: kernels, copies alone, and why it was idle'
is "$(parts --gpu 3 gpu.sqlite)" 'GPU_KERNEL a.py:21 in f 3.0
GPU_LATENCY a.py:21 in f 1.0
GPU_LAUNCH a.py:21 in f 1.0
of 5.0' 'another GPU, by its number in the report'
is "$(parts --gpu 0 --time 20ms-40ms gpu.sqlite)" 'GPU_CALL a.py:3 in f 1.0
GPU_KERNEL a.py:2 in f 10.0
SLEEP a.py:4 in f 9.0
of 20.0' 'a GPU in a part of the time'
is "$(parts gpu.sqlite)" 'COMPUTE a.py:1 in f 19.0
GPU a.py:2 in f 1.0
GPU a.py:2 in f 5.0
GPU_CALL a.py:2 in f 1.0
GPU_CALL a.py:2 in f 3.0
GPU_CALL a.py:3 in f 4.0
GPU_CALL a.py:5 in f 1.0
GPU_COPY a.py:5 in f 6.0
GPU_SYNC a.py:3 in f 32.0
NO_CPU a.py:4 in f 2.0
SLEEP a.py:20 in f 9.0
SLEEP a.py:4 in f 17.0
of 100.0' 'the thread that waits: for work, and needlessly'
check 'JSON: each GPU' "$PY" -c '
import json
g = json.load(open("out.json"))["gpu"]
keys = ("device", "operations", "start", "end", "kernel_ns", "copy_only_ns", "launch_latency_ns", "launching_ns", "host_ns", "not_recorded_ns")
assert [tuple(x[k] for k in keys) for x in g] == [(0, 5, 10e6, 90e6, 38.5e6, 6e6, 2.5e6, 3e6, 30e6, 0), (3, 1, 92e6, 97e6, 3e6, 0, 1e6, 1e6, 0, 0)], g
assert all(x["ns"] == sum(x[k] for k in keys[4:]) for x in g)'
"$BIN" why gpu.sqlite >text
check 'text: a line for each GPU, and the way from it' sh -c '
grep -qx "GPU 0 busy 56 % (copies alone 8 %); idle: host 38 %, launching 4 %, launch latency 3 %; of 80 ms from first launch to last completion" text &&
	grep -qx "  idle 17 ms <- main thread sleeping, clock_nanosleep at a.py:4 in f" text && grep -q "^GPU 3 busy 60 %" text'
"$BIN" why --gpu 0 gpu.sqlite >text
check 'a wait for another thread: its line, and the way' sh -c '
grep -A1 "9.0 ms  a.py:20 in f: sleeping, clock_nanosleep  .thread 101." text |
	grep -q "<- main thread waiting to be signalled, sem_wait at a.py:6 in f"'
is "$(sed -n 2p text)" '80 ms from the first launch to the last completion; shares are of this time' 'text: a GPU: what the shares are of'

# Beside k4 a kernel in another stream, 82-84, and nothing after: of 8 and 2 ms, each stream could have had 5.
cp gpu.sqlite uneven.sqlite
sqlite3 uneven.sqlite 'CREATE TEMP TABLE k AS SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE correlationId = 7; UPDATE k SET streamId = 9, end = 84000000;
	INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT * FROM k; DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE deviceId = 1' || exit 1
is "$(parts uneven.sqlite | grep -E '^GPU(_UNEVEN|_SYNC)? ')" 'GPU a.py:2 in f 1.0
GPU a.py:2 in f 5.0
GPU_SYNC a.py:3 in f 29.0
GPU_UNEVEN a.py:2 in f 3.0' 'streams that share the work unevenly'

cp gpu.sqlite lines.sqlite
sqlite3 lines.sqlite 'UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET callchainId = NULL; UPDATE CUBLAS_EVENTS SET callchainId = NULL' || exit 1
"$BIN" why lines.sqlite >text
check 'calls without stacks: the name of the call, and the option that records stacks' sh -c '
grep -q "^  1 .*main thread, no stack: waiting for the GPU, which then has nothing to do, cudaDeviceSynchronize" text && grep -q -- --cudabacktrace=all text'

# ---- ranks (tests/golden/why/ranks.sql) ----
sqlite3 ranks.sqlite <"$TOP/collector/schema.sql" && sqlite3 ranks.sqlite <"$TOP/tests/golden/why/ranks.sql" || exit 1
is "$(parts ranks.sqlite)" 'COMPUTE a.py:1 in f 10.0
GPU a.py:2 in f 3.0
GPU a.py:21 in f 8.0
GPU_CALL a.py:2 in f 1.0
GPU_CALL a.py:3 in f 2.0
GPU_LATENCY a.py:21 in f 1.0
GPU_LATENCY a.py:23 in f 1.0
GPU_LAUNCH a.py:21 in f 1.0
GPU_LAUNCH a.py:23 in f 1.0
SLEEP a.py:20 in f 8.0
SLEEP a.py:22 in f 5.0
of 41.0' 'a kernel of NCCL that waits for another rank: what that one does'
"$BIN" why ranks.sqlite >text
check 'text: the way to the rank that is late' sh -c 'grep -A1 "a.py:20 in f: sleeping" text | grep -q "<- main thread waiting for another rank, ncclDevKernel_AllReduce_Sum_f32_RING_LL at a.py:2 in f"'
sqlite3 ranks.sqlite "UPDATE StringIds SET value = 'reduce' WHERE id = 41" || exit 1
is "$(parts ranks.sqlite | grep -c SLEEP)" 0 'other kernels do not wait for each other'

# ---- what is missing ----
"$BIN" why --gpu 1 gpu.sqlite >out 2>err
is "$? $(cat err out)" '1 sightline: why: gpu.sqlite: GPU 1 is not in the report; the nearest is 0' 'an unknown GPU: refused with the nearest one'
"$BIN" why --gpu 0 --time 98ms-99ms gpu.sqlite >out 2>err
is "$? $(cat err out)" '1 sightline: why: gpu.sqlite: no work of a GPU was recorded in this time' 'a time without work of a GPU: refused'
cp gpu.sqlite lost.sqlite
sqlite3 lost.sqlite 'UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET correlationId = NULL WHERE correlationId = 7' || exit 1
check 'a launch that was not recorded' sh -c '"$1" why -f json --limit=0 --max-bytes=0 --gpu 0 lost.sqlite | "$2" -c "
import json, sys
y = json.load(sys.stdin)
assert y[\"gpu\"][0][\"not_recorded_ns\"] == 12e6 and y[\"gpu\"][0][\"ns\"] == 80e6 == y[\"checks\"][\"sum_ns\"], y[\"gpu\"]"' - "$BIN" "$PY"
sqlite3 lost.sqlite 'DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL; DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY' || exit 1
"$BIN" why --gpu 0 lost.sqlite >out 2>err
is "$? $(cat err out)" '1 sightline: why: lost.sqlite: no work of a GPU was recorded' 'no work of a GPU at all: refused'

sqlite3 nothing.sqlite 'CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT)'
"$BIN" why --gpu 0 nothing.sqlite >out 2>err
is "$? $(cat err out)" '1 sightline: why: nothing.sqlite: no work of a GPU was recorded' 'a report without events, of a GPU: refused'
check 'a report without events: JSON of its thread' sh -c '"$1" why -f json --limit=0 --max-bytes=0 nothing.sqlite | "$2" -m json.tool' - "$BIN" "$PY"
cp gpu.sqlite far.sqlite
sqlite3 far.sqlite 'UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = -9223372036854775808 WHERE rowid % 3 = 0; UPDATE CUPTI_ACTIVITY_KIND_KERNEL
	SET end = 9223372036854775807 WHERE rowid % 3 = 1; UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET deviceId = -1; UPDATE CUPTI_ACTIVITY_KIND_RUNTIME
	SET start = 9223372036854775807 WHERE rowid % 4 = 0' || exit 1
is "$(parts far.sqlite | tail -1) $(parts --gpu 0 far.sqlite | tail -1)" 'of 100.0 of 100.0' 'times out of all bounds: still each instant once'

# ---- reports of nsys, against a sweep of their tables ----
cat >sweep.py <<'END'
import json, sqlite3, sys
y = json.load(open("out.json"))
db = sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True)
there = [n for n, in db.execute("SELECT name FROM sqlite_master")]
for g in y["gpu"]:
    edges = []
    for kind, table in enumerate(("KERNEL", "GRAPH_TRACE", "MEMCPY", "MEMSET")):
        if "CUPTI_ACTIVITY_KIND_" + table in there:
            for a, b in db.execute("SELECT start, end FROM CUPTI_ACTIVITY_KIND_%s WHERE deviceId = ? AND end > start" % table, (g["device"],)):
                edges += [(max(a, g["start"]), 1, kind // 2), (min(b, g["end"]), -1, kind // 2)]
    kernel = copy = at = 0
    open_ = [0, 0]
    for time, step, kind in sorted(edges):
        kernel += (time - at) * (open_[0] > 0)
        copy += (time - at) * (open_[0] == 0 and open_[1] > 0)
        open_[kind] += step
        at = time
    assert (kernel, copy) == (g["kernel_ns"], g["copy_only_ns"]), (kernel, copy, g)
    assert g["ns"] == g["end"] - g["start"] == sum(v for k, v in g.items() if k.endswith("_ns")), g
END
for r in "$TOP"/../shared/data/nsys/*.sqlite "$TOP"/../../shared/data/nsys/*.sqlite; do
	[ -f "$r" ] || continue
	"$BIN" why -f json --limit=0 --max-bytes=0 "$r" >out.json
	check "kernels and copies alone as the tables have them, $(basename "$r")" "$PY" sweep.py "$r"
done

# ---- programs on the stand-ins ----
profile one "$PY" -c pass >log 2>&1
if [ "$(q "$R" 'SELECT count(*) > 0 FROM SCHED_EVENTS')" = 1 ]; then
	"$PY" "$TOP/tests/pairs/check-pairs" -b "$B" -n 0 --keep pairs gpu_load_blocks gpu_late_rank >table 2>&1
	result $? 'two pairs with a culprit: it is named first, with its line' || diag <table
else
	skip 'two pairs with a culprit' 'context switches cannot be recorded'
fi
done_testing

#!/bin/sh
# analyze_places.t - rules name the place in the program where the report has stacks: databases written by hand.
. tests/lib.sh
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
GOLD=$TOP/tests/golden/rules
sqlite3 empty.sqlite <"$TOP/collector/schema.sql" || exit 1
cat >show.py <<'END'
import json, sys
report = json.load(sys.stdin)
for f in report["findings"]:
    print(f["severity"], f["cost_ns"], f["finding"])
    for row in f["evidence"]:
        print("|".join("" if v is None else str(v) for v in row.values()))
print(*[r["result"] for r in report["rules"] if r["result"] != "finding"])
END

says() { # NAME RULE WANT [SQL]: what a rule says of its database and stacks, after a change
	cp empty.sqlite run.sqlite
	cat "$GOLD/${2%%:*}.sql" "$GOLD/places.sql" | sqlite3 run.sqlite || exit 1
	sqlite3 run.sqlite "PRAGMA synchronous=off; ${4-}" >/dev/null || exit 1
	is "$("$BIN" analyze -q -f json -r "$2" run.sqlite 2>&1 | "$PY" show.py 2>&1 | sed 's/ *$//; /^$/d')" "$3" "$2: $1"
}

# ---- which frame it is ----
sync() { # PLACE: the sentence of io_syncs that ends with it
	echo "bad 57000000 Thread 101 (writer) waited 60 ms in 20 syncs, 3 ms each, 20 per second; most are of /data/journal$1.
60000000|20|3000000.0|3000000|21.0|100|101|fsync|/data/journal"
}
says 'the innermost frame of the program, not of packages' io_syncs "$(sync '; 60 ms of it at train.py:41 in save')" 'UPDATE OSRT_API SET callchainId = 1'
says 'Python, where there is nothing else' io_syncs "$(sync '; 60 ms of it at os.py:5 in fsync')" 'UPDATE OSRT_API SET callchainId = 2'
says 'of a program in C' io_syncs "$(sync '; 60 ms of it at app.c:7 in work')" 'UPDATE OSRT_API SET callchainId = 3'
says 'functions are named where there are no lines' io_syncs "$(sync '; 60 ms of it at work in app')" 'UPDATE OSRT_API SET callchainId = 3; UPDATE SL_FRAMES SET file = NULL, line = NULL WHERE id = 7'
says 'no address without a name' io_syncs "$(sync '')" 'UPDATE OSRT_API SET callchainId = 4'
says 'no stacks at all' io_syncs "$(sync '')"
says 'the place that took most' io_syncs "$(sync '; 33 ms of it at app.c:7 in work')" 'UPDATE OSRT_API SET callchainId = 1 + 2 * (start >= 450000000)'
says 'other threads do not count' io_syncs "$(sync '; 60 ms of it at train.py:41 in save')" 'UPDATE OSRT_API SET callchainId = 1 + 2 * (globalTid % 0x1000000 = 102)'

# ---- every rule that reports the caller ----
for rule in io_syncs io_small_reads io_cold_reads lock_contention python_gil data_loading; do
	cp empty.sqlite run.sqlite
	cat "$GOLD/$rule.sql" "$GOLD/places.sql" | sqlite3 run.sqlite || exit 1
	sqlite3 run.sqlite 'UPDATE OSRT_API SET callchainId = 1'
	"$BIN" analyze -q -f csv -r $rule run.sqlite >out 2>&1
	check "$rule names the line" grep -q 'at train.py:41 in save' out
done
for rule in cuda_alloc:bad=1 cuda_api_sync cuda_sync_idle cuda_memcpy_sync cuda_memcpy_async; do
	rm -f run.sqlite
	cat "$GOLD/tables.sql" "$GOLD/${rule%%:*}.sql" "$GOLD/places.sql" | sqlite3 run.sqlite || exit 1
	sqlite3 run.sqlite 'ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME ADD COLUMN callchainId INTEGER; UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET callchainId = 1'
	"$BIN" analyze -q -f csv -r $rule run.sqlite >out 2>&1
	check "$rule names the line" grep -q 'at train.py:41 in save' out
done

# ---- waiting for the DataLoader ----
kernel='INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName, shortName, gridX,
	gridY, gridZ, blockX, blockY, blockZ, registersPerThread, staticSharedMemory, dynamicSharedMemory, localMemoryPerThread, localMemoryTotal,
	gridId, tensorSizeMinusOneElements)
	VALUES(0, 1000000000, 0, 1, 7, 1, (1<<48)+(100<<24), 4, 4, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, '"'[]')"
loader='Thread 100 (trainer) waited 140 ms for its DataLoader, in 3 long calls; most at train.py:88 in main'
rows='140000000|2|100|100|trainer|poll|train.py:88 in main
0|1|100|100|trainer|read|train.py:88 in main'
says 'the call of the workers that took longest is named' loader_wait "severe 140000000 $loader. Its workers were longest in read at train.py:9 in Files.__getitem__, 60 ms together.
$rows"
says 'workers that only wait say nothing' loader_wait "severe 140000000 $loader.
$rows" 'DELETE FROM OSRT_API WHERE globalTid % 0x1000000 = 200 AND nameId = 3'
says 'of a process with a GPU, what it costs is not known' loader_wait "info None $loader. Its workers were longest in read at train.py:9 in Files.__getitem__, 60 ms together.
$rows" "$kernel"
says '2 % are not worth it' loader_wait silent 'UPDATE OSRT_API SET end = start + 10000000 WHERE callchainId = 5; DELETE FROM OSRT_API WHERE nameId = 3'
says 'no DataLoader is called' loader_wait silent 'UPDATE OSRT_API SET callchainId = 1'
says 'who imports it does not wait for it' loader_wait silent "UPDATE StringIds SET value = '<module>' WHERE id = 916"

# ---- libraries ----
says 'calls inside of others count once' library_loading:time=0.2 'info None Thread 101 (python3) loaded libraries for 210 ms, 21 % of the run, in 2 calls.
210000000|2|150000000|100|101|python3
20000000|1|20000000|100|102|'
says 'the place that loads them is named' library_loading:time=0.2 'info None Thread 101 (python3) loaded libraries for 210 ms, 21 % of the run, in 2 calls; most for train.py:41 in save.
210000000|2|150000000|100|101|python3
20000000|1|20000000|100|102|' 'UPDATE OSRT_API SET callchainId = 1'
says 'below ten seconds it is a share of the time, no finding' library_loading silent ''
says 'a tenth is not much' library_loading:time=0.01 silent 'UPDATE OSRT_API SET end = 100000000 WHERE end = 150000000; DELETE FROM OSRT_API WHERE start = 200000000'
done_testing

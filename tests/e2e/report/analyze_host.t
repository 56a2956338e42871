#!/bin/sh
# analyze_host.t - the rules on what happens outside the GPU: databases written by hand (tests/golden/rules/, with the
# arithmetic in their heads), what each rule must say of them, and what it must leave alone at the edges.
. tests/lib.sh
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
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

begin() { # RULE: the database that the next checks are about
	rule=$1
	cp empty.sqlite base.sqlite
	sqlite3 base.sqlite <"$TOP/tests/golden/rules/$rule.sql" || exit 1
}
says() { # NAME WANT [SQL [ARGS]]: what the rule says after a change of the database
	cp base.sqlite run.sqlite
	sqlite3 run.sqlite "PRAGMA synchronous=off; ${3-}" >/dev/null || exit 1
	is "$("$BIN" analyze -q -f json -r "$rule${4-}" run.sqlite 2>&1 | "$PY" show.py 2>&1 | sed 's/ *$//; /^$/d')" "$2" "$rule: $1"
}
place() { # WANT [SQL]: "START END ROW" of the worst occurrence
	cp base.sqlite run.sqlite
	sqlite3 run.sqlite "PRAGMA synchronous=off; ${2-}" >/dev/null || exit 1
	is "$("$BIN" analyze -q -f json -r "$rule" run.sqlite | "$PY" -c 'import json, sys
for f in json.load(sys.stdin)["findings"]: print(*[f["worst"][k] for k in ("start", "end", "row")] if "worst" in f else ["nowhere"])')" "$1" "$rule: the place to look at first"
}
TID='(1<<48)+(100<<24)+101'

# ---- small reads ----
begin io_small_reads
place '0 100000 101'
says 'of one thread, by file and those without a row' 'bad 49950000 2,000 reads of 64 B on average took 50 ms of thread 101 (loader); the largest known part, 200, of /data/a.bin.
30000000|1800|115200|64.0|16666.7|100|101|pread64|
20000000|200|12800|64.0|100000.0|100|101|pread64|/data/a.bin'
says 'of a file that has half of all, short ones included' 'bad 49950000 2,000 reads of 64 B on average took 50 ms of thread 101 (loader); most of them were of /data/b.bin.
30000000|1800|115200|64.0|16666.7|100|101|pread64|
20000000|200|12800|64.0|100000.0|100|101|pread64|/data/a.bin' "INSERT INTO OSRT_FILE_ACCESS_DESCRIPTORS(fileAccessId, processId, openedAt, closedAt, filePath)
	VALUES (8, 100, 0, 0, '/data/b.bin'), (9, 100, 0, 0, '/data/c.bin');
	INSERT INTO SL_FILE_TOTALS VALUES ($TID, 8, 3, 0, 1000, 64000, 20000000), ($TID, 9, 3, 0, 800, 51200, 10000000)"
says 'too few' silent 'UPDATE SL_OSRT_TOTALS SET count = 799 WHERE count = 1800'
says 'just enough' 'severe 199800000 1,000 reads of 64 B on average took 200 ms of thread 101 (loader); the largest known part, 200, of /data/a.bin.
180000000|800|51200|64.0|225000.0|100|101|pread64|
20000000|200|12800|64.0|100000.0|100|101|pread64|/data/a.bin' \
	'UPDATE SL_OSRT_TOTALS SET count = 800, totalNs = 180000000, bytes = 51200 WHERE count = 1800'
says 'of 4096 bytes are not small' silent 'UPDATE SL_OSRT_TOTALS SET bytes = 4096 * count; UPDATE OSRT_API SET bytesDone = 4096 WHERE pathId = 4'
says 'of 4096 bytes are small where that is asked for' 'bad 46850000 2,000 reads of 4.10 kB on average took 50 ms of thread 101 (loader); the largest known part, 200, of /data/a.bin. Pieces of this size are often what a buffered stream reads to fill its buffer: a larger one (setvbuf, buffering=) makes them fewer.
30000000|1800|7372800|4096.0|16666.7|100|101|pread64|
20000000|200|819200|4096.0|100000.0|100|101|pread64|/data/a.bin' \
	'UPDATE SL_OSRT_TOTALS SET bytes = 4096 * count; UPDATE OSRT_API SET bytesDone = 4096 WHERE pathId = 4' :small=4097
# files of 4,100 bytes through a buffer of 4,096: two reads each, 2,050 on average; with 4,094 bytes in them 2,047
refills() { printf '%s' "UPDATE SL_OSRT_TOTALS SET bytes = $1 * count; UPDATE OSRT_API SET bytesDone = $1 WHERE pathId = 4"; }
buffered() { "$BIN" analyze -q -f json -r io_small_reads run.sqlite | grep -c 'buffered stream reads to fill its buffer'; }
cp base.sqlite run.sqlite && sqlite3 run.sqlite "$(refills 2050)"
is "$(buffered)" 1 'io_small_reads: reads that fill a buffer have the buffer as advice'
cp base.sqlite run.sqlite && sqlite3 run.sqlite "$(refills 2047)"
is "$(buffered)" 0 'io_small_reads: smaller reads are those of the program'
says 'reads that take 2 % of the time are not worth it' silent 'UPDATE SL_OSRT_TOTALS SET totalNs = 20019 WHERE count = 1800'
says 'reads of pipes are not meant' silent "DELETE FROM SL_OSRT_TOTALS WHERE count = 1800"

# ---- syncs ----
begin io_syncs
place '50000000 54000000 101' 'UPDATE OSRT_API SET end = end + 1000000 WHERE pathId = 3 AND start = 50000000'
says 'in a loop' 'bad 57000000 Thread 101 (writer) waited 60 ms in 20 syncs, 3 ms each, 20 per second; most are of /data/journal.
60000000|20|3000000.0|3000000|21.0|100|101|fsync|/data/journal'
says 'too few' silent 'DELETE FROM OSRT_API WHERE pathId = 3 AND start = 0'
says '10 per second' 'bad 57000000 Thread 101 (writer) waited 60 ms in 20 syncs, 3 ms each, 10 per second; most are of /data/journal.
60000000|20|3000000.0|3000000|10.0|100|101|fsync|/data/journal' \
	'UPDATE OSRT_API SET start = 1997000000, end = 2000000000 WHERE pathId = 3 AND start = 950000000'
says 'less than 10 per second' silent 'UPDATE OSRT_API SET start = 1997000001, end = 2000000001 WHERE pathId = 3 AND start = 950000000'
says 'syncs without a name of a file are found' 'bad 57000000 Thread 101 (writer) waited 60 ms in 20 syncs, 3 ms each, 20 per second.
60000000|20|3000000.0|3000000|21.0|100|101|msync|' 'UPDATE OSRT_API SET pathId = NULL, nameId = 5 WHERE pathId = 3'

# ---- cold files ----
begin io_cold_reads
place '0 10000000 101'
says 'sleeps for the disk inside reads' 'bad 60000000 Thread 101 (reader) waited 60 ms for the disk in 10 calls on files that were not in memory (10 MB). Most of it was for /data/cold.bin.
60000000|10|6000000.0|10000000|10000000|100|101|read|/data/cold.bin'
says '5 % is not much' silent "UPDATE OSRT_API SET end = 1200000000 WHERE nameId = 1"
says 'a little more than 5 %' 'bad 60000000 Thread 101 (reader) waited 60 ms for the disk in 10 calls on files that were not in memory (10 MB). Most of it was for /data/cold.bin.
60000000|10|6000000.0|10000000|10000000|100|101|read|/data/cold.bin' "UPDATE OSRT_API SET end = 1199999999 WHERE nameId = 1"
says 'without context switches: slow reads' 'severe 110000000 Thread 101 (reader) waited 110 ms for the disk in 11 calls on files that were not in memory (11 MB); so did another thread, for less. Most of it was for /data/cold.bin.
110000000|11|10000000.0|10000000|11000000|100|101|read|/data/cold.bin
100000000|10|10000000.0|10000000|10000000|100|102|read|/data/warm.bin' 'DELETE FROM SCHED_EVENTS; DELETE FROM SL_SCHED_DETAIL'
says 'without context switches: 500 MB/s are not slow' silent 'DELETE FROM SCHED_EVENTS; DELETE FROM SL_SCHED_DETAIL;
	UPDATE OSRT_API SET bytesDone = 5000000 WHERE nameId = 2'
says 'without context switches: 0.1 ms is not long' silent 'DELETE FROM SCHED_EVENTS; DELETE FROM SL_SCHED_DETAIL;
	UPDATE OSRT_API SET end = start + 100000 WHERE nameId = 2'

# ---- locks ----
begin lock_contention
place '200000000 240000000 101'
says 'waits, and the thread that is waited for' 'bad 70000000 2 threads waited 80 ms for locks altogether; thread 101 (alice) waited 70 ms in 2 calls, mostly of pthread_mutex_lock, for what thread 102 (bob) held.
70000000|2|35000000.0|40000000|102|bob|100|101|alice|pthread_mutex_lock
10000000|1|10000000.0|10000000|101|alice|100|102|bob|pthread_mutex_lock'
says 'holder not known' 'bad 70000000 2 threads waited 80 ms for locks altogether; thread 101 (alice) waited 70 ms in 2 calls, mostly of pthread_mutex_lock.
70000000|2|35000000.0|40000000|||100|101|alice|pthread_mutex_lock
10000000|1|10000000.0|10000000|||100|102|bob|pthread_mutex_lock' 'DROP TABLE SL_SCHED_DETAIL'
says 'one thread, 10 % and a little' 'severe 100000001 Thread 101 (alice) waited 100 ms in 2 calls, mostly of pthread_mutex_lock, for what thread 102 (bob) held.
100000001|2|50000000.5|70000001|102|bob|100|101|alice|pthread_mutex_lock' \
	'DELETE FROM OSRT_API WHERE start = 300000000; UPDATE OSRT_API SET end = 270000001 WHERE start = 200000000'
says 'one call is one call' 'bad 20000001 Thread 101 (alice) waited 20.0 ms in 1 call, mostly of pthread_mutex_lock.
20000001|1|20000001.0|20000001|||100|101|alice|pthread_mutex_lock' \
	'DELETE FROM OSRT_API WHERE start IN (200000000, 300000000); UPDATE OSRT_API SET end = 120000001 WHERE start = 100000000; DROP TABLE SL_SCHED_DETAIL'
says '2 % are not worth it' silent 'DELETE FROM OSRT_API WHERE start = 200000000; UPDATE OSRT_API SET end = 120000000 WHERE start = 100000000'

begin python_gil
place '20000000 27000000 101' "UPDATE OSRT_API SET end = end + 1000000 WHERE nameId = 2 AND start = 20000000 AND globalTid = $TID"
says 'threads that wait for it' 'bad 60000000 2 threads of process 100 (python3) waited 172 ms altogether for Python'"'"'s interpreter lock, thread 101 120 ms.
120000000|20|20|6000000|100|101|python3
52000000|12|10|5000000|100|100|'
says 'threads of a rank that was fetched' 'bad 60000000 2 threads of process 100 (rank 7, g070: pt_main_thread) waited 172 ms altogether for Python'"'"'s interpreter lock, thread 101 120 ms.
120000000|20|20|6000000|100|101|python3
52000000|12|10|5000000|100|100|' "UPDATE PROCESSES SET name = 'rank 7, g070: pt_main_thread' WHERE pid = 100"
# 100 waits 6 times for 10 ms, 101 8 times and twice for 1 ms, 102 100 times for 1 ms. The calls do not matter then.
traced="INSERT INTO StringIds VALUES(4, 'Waiting for GIL');
WITH RECURSIVE i(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 99)
INSERT INTO NVTX_EVENTS(start, end, eventType, globalTid, textId, domainId)
SELECT i * 10000000, (i + 1) * 10000000, 59, $TID - 1, 4, 1 FROM i WHERE i < 6 UNION ALL
SELECT i * 10000000, i * 10000000 + CASE WHEN i < 8 THEN 10000000 ELSE 1000000 END, 59, $TID, 4, 1 FROM i WHERE i < 10 UNION ALL
SELECT i * 10000000, i * 10000000 + 1000000, 59, $TID + 1, 4, 1 FROM i"
says 'recorded as such' 'bad 41000000 2 threads of process 100 (python3) waited 142 ms altogether for Python'"'"'s interpreter lock, thread 101 82 ms.
82000000|10|8|10000000|100|101|python3
60000000|6|6|10000000|100|100|' "$traced"
says 'recorded as such, without the calls' 'bad 41000000 2 threads of process 100 (python3) waited 142 ms altogether for Python'"'"'s interpreter lock, thread 101 82 ms.
82000000|10|8|10000000|100|101|python3
60000000|6|6|10000000|100|100|' "$traced; DROP TABLE OSRT_API"
says 'on one CPU it is not to blame' silent 'UPDATE TARGET_INFO_SYSTEM_ENV SET value = 1'
says 'a thread alone has it' silent "DELETE FROM OSRT_API WHERE nameId = 2 AND globalTid = $TID"
says 'a few waits are nothing' silent "DELETE FROM OSRT_API WHERE nameId = 2 AND start >= 40000000"
says 'other conditions are not it' silent "UPDATE OSRT_API SET end = start + 4899999 WHERE nameId = 2"
says '2 % are not worth it' silent "UPDATE OSRT_API SET end = 2000000000 + 1000000000 WHERE nameId = 1"

# ---- CPUs ----
begin cpu_oversubscribed
place nowhere
says 'four threads on two CPUs' 'bad None For 400 ms, 40 % of the run, more threads wanted to run than the 2 CPUs could take: 4.0 on average, 4 at most. Threads stood in the queue for 800 ms and ran for 1.40 s.
200000000|400000000|33.3|1|100|101|job|worker
200000000|400000000|33.3|1|100|102|job|worker
200000000|300000000|40.0|1|100|103|job|worker
200000000|300000000|40.0|1|100|104|job|worker'
says 'one that calls CUDA among them' 'severe 200000000 For 400 ms, 40 % of the run, more threads wanted to run than the 2 CPUs could take: 4.0 on average, 4 at most. Threads stood in the queue for 800 ms and ran for 1.40 s; one that calls CUDA stood there for 200 ms.
200000000|400000000|33.3|1|100|101|job|worker
200000000|400000000|33.3|1|100|102|job|worker
200000000|300000000|40.0|1|100|103|job|worker
200000000|300000000|40.0|1|100|104|job|worker' "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(1, 2, 0, $TID, 1, 1, 0, NULL)"
says 'three threads on two CPUs are few enough' silent 'DELETE FROM SCHED_EVENTS WHERE globalTid % 256 = 104 % 256'
says 'three are too many where that is asked for' 'bad None For 400 ms, 40 % of the run, more threads wanted to run than the 2 CPUs could take: 3.0 on average, 3 at most. Threads stood in the queue for 600 ms and ran for 1.10 s.
200000000|400000000|33.3|1|100|101|job|worker
200000000|400000000|33.3|1|100|102|job|worker
200000000|300000000|40.0|1|100|103|job|worker' 'DELETE FROM SCHED_EVENTS WHERE globalTid % 256 = 104 % 256' :factor=1.49
says 'threads asleep want no CPU' silent 'UPDATE SCHED_EVENTS SET threadState = 2 WHERE threadState = 1'
says 'a tenth of the time' silent 'UPDATE OSRT_API SET end = 4000000000'
# 101 and 103 alone, one CPU: between 200 and 600 ms both want it.
one="DELETE FROM SCHED_EVENTS WHERE cpu = 1; INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES(1<<48, 'Local (CLI)', 'CpuCores', 4, '4')"
says 'two on the one CPU that they may use' 'bad None For 400 ms, 40 % of the run, more threads wanted to run than the 1 CPU could take: 2.0 on average, 2 at most. Threads stood in the queue for 400 ms and ran for 700 ms.
200000000|400000000|33.3|1|100|101|job|worker
200000000|300000000|40.0|1|100|103|job|worker' "$one"
# 103 loses the CPU at 250 and 101 gets it at 500: of 700 ms, they have it for 450, less than 0.7 of them; of the 400 for 150.
others="$one; UPDATE SCHED_EVENTS SET start = 250000000 WHERE start = 400000000 AND isSchedIn = 0;
	UPDATE SCHED_EVENTS SET start = 500000000 WHERE start = 400000000"
says 'one of several CPUs, which others are on' silent "$others"
says 'the only CPU, which others are on' 'bad None For 400 ms, 40 % of the run, more threads wanted to run than the 1 CPU could take: 2.0 on average, 2 at most. Threads stood in the queue for 650 ms and ran for 450 ms. Other programs had 63 % of the CPUs meanwhile.
350000000|150000000|70.0|1|100|103|job|worker
300000000|300000000|50.0|1|100|101|job|worker' "$others; UPDATE TARGET_INFO_SYSTEM_ENV SET value = '1'"

begin cpu_taken
place nowhere
says 'a CPU that others have' 'info None For 300 ms, 30 % of the run, threads waited for a CPU for 300 ms in all, though the program had 1.0 of the 2 CPUs that it was seen on: other programs had the rest, or a limit kept it from them.
300000000|400000000|42.9|100|101|job|worker'
says 'for more than half of the time' 'bad None For 300 ms, 60 % of the run, threads waited for a CPU for 300 ms in all, though the program had 1.0 of the 2 CPUs that it was seen on: other programs had the rest, or a limit kept it from them.
300000000|400000000|42.9|100|101|job|worker' 'UPDATE OSRT_API SET end = 500000000'
says 'a fifth is not enough' silent 'UPDATE OSRT_API SET end = 1500000000'
says 'a fifth is enough where that is asked for' 'info None For 300 ms, 20 % of the run, threads waited for a CPU for 300 ms in all, though the program had 1.0 of the 2 CPUs that it was seen on: other programs had the rest, or a limit kept it from them.
300000000|400000000|42.9|100|101|job|worker' 'UPDATE OSRT_API SET end = 1500000000' :share=19
says 'a CPU that the program was never on may be forbidden to it' silent 'UPDATE SCHED_EVENTS SET cpu = 0'
says 'its own threads on all CPUs' silent "INSERT INTO SCHED_EVENTS SELECT start, 0, isSchedIn, globalTid + 2, threadState, NULL FROM
	(SELECT 200000000 AS start, 1 AS isSchedIn, $TID AS globalTid, NULL AS threadState UNION ALL SELECT 500000000, 0, $TID, 5)"

begin cpu_imbalance
place '0 400000000 100'
says 'threads that are waited for' 'bad 100000000 3 threads (worker) of process 100 share a job badly: the busiest ran for 300 ms, the least busy for 100 ms.
300000000|100.0||100|101|worker|threads
200000000|66.7||100|102|worker|threads
100000000|33.3||100|103|worker|threads'
says 'half as much is even enough' silent 'UPDATE SCHED_EVENTS SET start = 150000000 WHERE start = 100000000'
says 'no thread waits for them' silent 'DELETE FROM OSRT_API WHERE nameId = 4'
says 'at barriers' 'severe 150000000 3 threads (worker) of process 100 share a job badly: the busiest ran for 300 ms, the least busy for 100 ms; they waited for each other at barriers for 150 ms each.
300000000|100.0|0|100|101|worker|threads
200000000|66.7|150000000|100|102|worker|threads
100000000|33.3|300000000|100|103|worker|threads' \
	"INSERT INTO OSRT_API(start, end, eventClass, globalTid, nameId, returnValue, callchainId, argumentsId)
	VALUES(400000000, 400000000, 27, $TID, 5, 0, 0, 0), (250000000, 400000000, 27, $TID + 1, 5, 0, 0, 0),
	(100000000, 400000000, 27, $TID + 2, 5, 0, 0, 0)"
# Named as the process is: only what they do shows whether they are peers.
born="UPDATE StringIds SET value = 'job' WHERE id = 2"
says 'with the name of their process, busy as long as they live' 'bad 100000000 3 threads (job) of process 100 share a job badly: the busiest ran for 300 ms, the least busy for 100 ms.
300000000|100.0||100|101|job|threads
200000000|66.7||100|102|job|threads
100000000|33.3||100|103|job|threads' "$born"
# 103 runs for 50 ms, sleeps until 390 and runs for 50 more; 102 alone is half as busy as 101, or more.
stage="UPDATE SCHED_EVENTS SET start = 50000000 WHERE globalTid = $TID + 2 AND isSchedIn = 0;
	INSERT INTO SCHED_EVENTS VALUES(390000000, 0, 1, $TID + 2, NULL, NULL), (440000000, 0, 0, $TID + 2, 2, NULL)"
says 'one that sleeps while it lives is another stage' silent "$born; $stage"
says 'one that sleeps while it lives is a peer where it has their name' 'bad 100000000 3 threads (worker) of process 100 share a job badly: the busiest ran for 300 ms, the least busy for 100 ms.
300000000|100.0||100|101|worker|threads
200000000|66.7||100|102|worker|threads
100000000|33.3||100|103|worker|threads' "$stage"
says 'by the name of the first thread' silent "UPDATE StringIds SET value = 'renamed' WHERE id = 2;
	INSERT INTO ThreadNames VALUES(2, 20, (1<<48)+(100<<24)+100); $stage"
# 101 lives for 400 ms: a fifth is 80.
late="UPDATE SCHED_EVENTS SET start = start + 80000000 WHERE globalTid = $TID + 2"
says 'one that begins a little later is one of them' 'bad 100000000 3 threads (job) of process 100 share a job badly: the busiest ran for 300 ms, the least busy for 100 ms.
300000000|100.0||100|101|job|threads
200000000|66.7||100|102|job|threads
100000000|33.3||100|103|job|threads' "$born; $late"
says 'one that begins later has another job' silent "$born; $late; UPDATE SCHED_EVENTS SET start = start + 1 WHERE globalTid = $TID + 2"
says 'at barriers they are peers, whatever the name, and the others are not' 'severe 150000000 2 threads (job) of process 100 share a job badly: the busiest ran for 300 ms, the least busy for 100 ms; they waited for each other at barriers for 150 ms each.
300000000|100.0|0|100|101|job|threads
100000000|33.3|300000000|100|103|job|threads' "$born; $stage;
	INSERT INTO OSRT_API(start, end, eventClass, globalTid, nameId, returnValue, callchainId, argumentsId)
	VALUES(400000000, 400000000, 27, $TID, 5, 0, 0, 0), (50000000, 350000000, 27, $TID + 2, 5, 0, 0, 0)"
says 'processes side by side' 'severe 125000000 2 processes (rank) share a job badly: the busiest ran for 300 ms, the least busy for 50 ms.
300000000|100.0||200||rank|processes
50000000|16.7||201||rank|processes' \
	"DELETE FROM OSRT_API WHERE nameId = 4; DELETE FROM SCHED_EVENTS;
	INSERT INTO SCHED_EVENTS VALUES(0, 0, 1, (1<<48)+(200<<24)+200, NULL, NULL), (300000000, 0, 0, (1<<48)+(200<<24)+200, 2, NULL),
	(0, 1, 1, (1<<48)+(201<<24)+201, NULL, NULL), (50000000, 1, 0, (1<<48)+(201<<24)+201, 2, NULL);
	INSERT INTO SL_PROCESS_TREE VALUES((1<<48)+(200<<24), (1<<48)+(100<<24), 0, 400000000, 1, 1, '/bin/job', 'job', 0),
	((1<<48)+(201<<24), (1<<48)+(100<<24), 100, 400000000, 1, 1, '/bin/job', 'job', 0)"
says 'processes one after the other' silent \
	"DELETE FROM OSRT_API WHERE nameId = 4; DELETE FROM SCHED_EVENTS;
	INSERT INTO SCHED_EVENTS VALUES(0, 0, 1, (1<<48)+(200<<24)+200, NULL, NULL), (300000000, 0, 0, (1<<48)+(200<<24)+200, 2, NULL),
	(300000000, 1, 1, (1<<48)+(201<<24)+201, NULL, NULL), (350000000, 1, 0, (1<<48)+(201<<24)+201, 2, NULL);
	INSERT INTO SL_PROCESS_TREE VALUES((1<<48)+(200<<24), (1<<48)+(100<<24), 0, 300000000, 1, 1, '/bin/job', 'job', 0),
	((1<<48)+(201<<24), (1<<48)+(100<<24), 300000000, 400000000, 1, 1, '/bin/job', 'job', 0)"

# ---- processes ----
begin cpu_short_processes
place '100000000 104000000 1010'
says 'one program for every item' 'bad None /bin/sed was started 50 times, 101 per second, for 4 ms each; one or another of them was there for 180 ms.
180000000|50|4000000.0|101.2|/bin/sed'
says 'too few' silent "DELETE FROM SL_PROCESS_TREE WHERE globalPid = (1<<48)+(1007<<24)"
says 'processes that live for 50 ms are not short' silent "UPDATE SL_PROCESS_TREE SET end = start + 50000000 WHERE exe = '/bin/sed'"
# four of 2 ms, six of 3, forty of 4: together 186 ms; the fifth lives for 3 ms: 50 * 3 = 150
says 'the luckiest do not count' 'bad None /bin/sed was started 50 times, 101 per second, for 4 ms each; one or another of them was there for 186 ms.
186000000|50|4000000.0|101.2|/bin/sed' "UPDATE SL_PROCESS_TREE SET end = start + 2000000 WHERE exe = '/bin/sed' AND start < 40000000;
	UPDATE SL_PROCESS_TREE SET end = start + 3000000 WHERE exe = '/bin/sed' AND start BETWEEN 40000000 AND 90000000"
says '5 % are not worth it' silent "UPDATE SL_PROCESS_TREE SET end = start + 1000000 WHERE exe = '/bin/sed'"
# python 12 times, one after another, each for 80 ms (the first for 60): 940 ms of 1 s; sed is there for less
few="DELETE FROM SL_PROCESS_TREE WHERE exe NOT IN ('/bin/sh', '/bin/sed');
	WITH RECURSIVE i(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 11)
	INSERT INTO SL_PROCESS_TREE SELECT (1<<48)+((4000+i)<<24), (1<<48)+(100<<24), i * 80000000, i * 80000000 + iif(i, 80000000, 60000000),
		2, 1, '/bin/python3', 'python3 x.py', 0 FROM i;"
says 'a few that are all of the run are found' 'bad None /bin/python3 was started 12 times, 12 per second, for 80 ms each; one or another of them was there for 940 ms.
940000000|12|80000000.0|12.5|/bin/python3
180000000|50|4000000.0|101.2|/bin/sed' "$few"
# 9 of them: 700 ms, yet too few to say that they are started over and over
says 'fewer than ten are no series' "bad None /bin/sed was started 50 times, 101 per second, for 4 ms each; one or another of them was there for 180 ms.
180000000|50|4000000.0|101.2|/bin/sed" "$few DELETE FROM SL_PROCESS_TREE WHERE globalPid >= (1<<48)+(4009<<24)"
# 480 ms of 1 s
says 'a few that are less than half of the run are not worth it' "bad None /bin/sed was started 50 times, 101 per second, for 4 ms each; one or another of them was there for 180 ms.
180000000|50|4000000.0|101.2|/bin/sed" "$few UPDATE SL_PROCESS_TREE SET end = start + 40000000 WHERE exe = '/bin/python3'"
# each for 199 ms: two and more at a time
says 'a few side by side are a pool' "bad None /bin/sed was started 50 times, 101 per second, for 4 ms each; one or another of them was there for 180 ms.
180000000|50|4000000.0|101.2|/bin/sed" "$few UPDATE SL_PROCESS_TREE SET end = start + 199000000 WHERE exe = '/bin/python3'"
# awk 50 times: two of 97.6 ms, and of those of 0.1 ms 40 at other times: 199.2 ms, more than sed, but to start one costs 0.1 ms
says 'a program that costs nothing hides no other' 'bad None /bin/sed was started 50 times, 101 per second, for 4 ms each; one or another of them was there for 180 ms.
199200000|50|100000.0|51.0|/bin/awk
180000000|50|4000000.0|101.2|/bin/sed' "DELETE FROM SL_PROCESS_TREE WHERE exe = '/bin/awk';
	WITH RECURSIVE i(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 49)
	INSERT INTO SL_PROCESS_TREE SELECT (1<<48)+((3000+i)<<24), (1<<48)+(100<<24), i * 20000000, i * 20000000 + iif(i % 25, 100000, 97600000),
		2, 1, '/bin/awk', 'awk', 0 FROM i"

begin cpu_short_threads
place '0 100000 101'
says 'one for every item' 'bad 45000000 Thread 101 (server) made 500 threads, 500 per second, and was busy with that alone for 45 ms.
45000000|500|90000.0|500.0|100|101|server'
says 'too few' silent 'UPDATE SL_OSRT_TOTALS SET count = 99'
says '100 per second are few' silent 'UPDATE OSRT_API SET end = 5000000000 WHERE nameId = 1; UPDATE SL_OSRT_TOTALS SET totalNs = 900000000'
says '2 % are not worth it' silent 'UPDATE OSRT_API SET end = 2250000000 WHERE nameId = 1'
says 'a little more than 2 %' 'bad 45000000 Thread 101 (server) made 500 threads, 222 per second, and was busy with that alone for 45 ms.
45000000|500|90000.0|222.2|100|101|server' 'UPDATE OSRT_API SET end = 2249999999 WHERE nameId = 1'

# ---- data for the GPU ----
begin data_loading
place '110000000 112000000 200'
says 'the GPU is idle while a worker reads' 'bad 78000000 GPU 0 of process 100 had nothing to do for 78 ms while files were read for it, 13 % of the time it was in use: 20 calls on 2 files, most of them in /data/a/.
40000000|20|2|20000|10000.0|200|/data/a/'
says 'what a worker waits for is not reading' silent "INSERT INTO OSRT_API(start, end, eventClass, globalTid, nameId, returnValue, callchainId, argumentsId)
	SELECT end + 100, start + 3900000, 27, globalTid, 1, 0, 0, 0 FROM (SELECT start, start + 2000000 AS end, globalTid FROM OSRT_API WHERE pathId IN (3, 4))"
says 'a tenth of the time' silent 'UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = 780000000 WHERE end = 600000000 AND start > 0'
says 'a little more than a tenth' 'bad 78000000 GPU 0 of process 100 had nothing to do for 78 ms while files were read for it, 10 % of the time it was in use: 20 calls on 2 files, most of them in /data/a/.
40000000|20|2|20000|10000.0|200|/data/a/' 'UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = 779000000 WHERE end = 600000000 AND start > 0'
says 'three times as much' 'severe 78000000 GPU 0 of process 100 had nothing to do for 78 ms while files were read for it, 13 % of the time it was in use: 20 calls on 2 files, most of them in /data/a/.
40000000|20|2|20000|10000.0|200|/data/a/' '' :share=4
says 'to ask about folders is not to read' silent "UPDATE StringIds SET value = 'lstat64' WHERE id = 2"
says 'to list folders is not to read' silent "UPDATE StringIds SET value = 'opendir' WHERE id = 2"
says 'to ask about what is read later is part of it' 'bad 74000000 GPU 0 of process 100 had nothing to do for 74 ms while files were read for it, 12 % of the time it was in use: 10 calls on 1 file, most of them in /data/a/.
20000000|10|1||0.0|200|/data/a/' "INSERT INTO StringIds VALUES(8, 'stat'); UPDATE OSRT_API SET nameId = 8 WHERE nameId = 2 AND start < 190000000"
says 'processes outside of the tree' silent "DELETE FROM SL_PROCESS_TREE"
says 'without GPU work: no data' 'no data' 'DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL'
done_testing

#!/bin/sh
# Stacks of threads without a CPU, compared with a program that knows where it waited and for how long, and with the
# context switches.
# shellcheck disable=SC2086
. tests/lib.sh

command -v gcc >/dev/null || skip_all 'gcc is not installed (package gcc)'
"$BIN" profile -t none --off-cpu-threshold=80000 -o probe true 2>err
grep -q 'need eBPF' err && skip_all "$(grep 'need eBPF' err)"
cat >waits.c <<'END'
/* Waits in functions of its own, without frame pointers, and tells: function, calls, those of 10 ms and longer, ns. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#define PLAIN __attribute__((noinline, noclone))
static volatile int sink;
static long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000L + t.tv_nsec; }
static void rest(long ms) { struct timespec t = {0, ms * 1000000}; while (nanosleep(&t, &t) && errno == EINTR) ; }
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t come = PTHREAD_COND_INITIALIZER;
static int turn;
PLAIN void naps(void) { rest(30); sink++; }
PLAIN void inner(int n) { if (n) inner(n - 1); else naps(); sink++; }
PLAIN void briefly(void) { rest(1); sink++; }
PLAIN void polls(void) { poll(NULL, 0, 20); sink++; }
PLAIN void waits(void)
{
	pthread_mutex_lock(&lock);
	while (!turn) pthread_cond_wait(&come, &lock);
	turn = 0;
	pthread_mutex_unlock(&lock);
	sink++;
}
static volatile int waiter_tid;
/* A wait is as long as it is said below only if it has begun. */
static void until_asleep(void)
{
	char path[64], state = 0;
	for (FILE *f; state != 'S'; rest(1)) {
		snprintf(path, sizeof(path), "/proc/self/task/%d/stat", waiter_tid);
		if (!waiter_tid) continue;
		if (!(f = fopen(path, "r"))) return;
		if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1) state = 'S';
		fclose(f);
	}
}
PLAIN void wakes(void) { until_asleep(); rest(25); pthread_mutex_lock(&lock); turn = 1; pthread_cond_signal(&come); pthread_mutex_unlock(&lock); sink++; }
PLAIN void deep(void) { volatile char much[65536]; memset((char *)much, 1, sizeof(much)); rest(15); sink += much[5]; }
static void tell(const char *name, void (*f)(void), int n)
{
	long all = 0, took, cnt = 0;
	for (int i = 0; i < n; i++) { took = now(); f(); took = now() - took; all += took; cnt += took >= 10000000; }
	printf("%s %d %ld %ld\n", name, n, cnt, all);
}
PLAIN void recursive(void) { inner(7); sink++; }
static void *poller(void *arg) { tell("polls", polls, 12); return arg; }
static void *waiter(void *arg) { waiter_tid = gettid(); tell("waits", waits, 5); return arg; }
int main(int argc, char **argv)
{
	pthread_t a, b;
	FILE *f;
	if (argc > 1) {
		f = fopen("ready.new", "w"); fclose(f); rename("ready.new", "ready");
		f = fopen(argv[1], "r"); if (!f || fgetc(f) == EOF) return 1; fclose(f);
	}
	pthread_create(&a, NULL, poller, NULL);
	pthread_create(&b, NULL, waiter, NULL);
	tell("naps", recursive, 10);
	tell("briefly", briefly, 20);
	tell("wakes", wakes, 5);
	tell("deep", deep, 3);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	fflush(stdout);
	if (argc > 2) pause();
	return 0;
}
END
check 'the program is made' gcc -O2 -g -fomit-frame-pointer -pthread -o waits waits.c
mkfifo go

STACK="JOIN SL_STACKS s ON s.id = c.stackId JOIN SL_FRAMES f ON f.id = s.frameId JOIN StringIds n ON n.id = f.symbol"
said() { awk -v name="$1" -v col="$2" '$1 == name { print $col }' out; }
# Every function of the program's: as many rows as it waited, with the time that it asked for at least. A thread that is
# preempted on the way to its wait waits less, or not at all: by_switches() is exact. The program's own time
# includes other reasons for being off-CPU, and so may two of the functions have a second wait: for the lock.
by_function() { # NAME: of $R and out
	for fn in naps/30 polls/20 waits/25 wakes/25; do
		ms=${fn#*/} fn=${fn%/*}
		got=$(q "$R" "SELECT count(*) || ' ' || total(end - start) FROM (SELECT DISTINCT c.id, c.start, c.end FROM COMPOSITE_EVENTS c $STACK WHERE n.value = '$fn' AND cpuCycles = 0)")
		case $fn in naps | polls) check "$1: $fn: ${got% *} rows of $(said $fn 2) waits" [ "${got% *}" -le "$(said $fn 2)" ] ;; esac
		check "$1: $fn: nearly all" [ $((${got% *} * 4)) -ge $(($(said $fn 2) * 3)) ]
		check "$1: $fn: $got of $(said $fn 4) ns" awk "BEGIN { exit !(${got#* } <= $(said $fn 4) && ${got#* } >= ${got% *} * $ms * 900000) }"
	done
	check "$1: none of those that were shorter" [ "$(q "$R" "SELECT count(DISTINCT c.id) FROM COMPOSITE_EVENTS c $STACK WHERE cpuCycles = 0 AND n.value = 'briefly'")" -le "$(said briefly 3)" ]
	is "$(q "$R" "SELECT DISTINCT group_concat(value, ' ') FROM (SELECT c.id, n.value FROM COMPOSITE_EVENTS c $STACK
		WHERE kind = 0 AND n.value IN ('naps', 'inner', 'recursive', 'main', '_start') ORDER BY c.id, s.depth)
		GROUP BY id HAVING group_concat(value, ' ') LIKE 'naps%'")" 'naps inner inner inner inner inner inner inner inner recursive main _start' "$1: all callers"
	is "$(q "$R" "SELECT count(*) FROM (SELECT c.id FROM COMPOSITE_EVENTS c $STACK WHERE cpuCycles = 0 AND n.value = 'polls' AND kind = 0
		AND EXISTS (SELECT 1 FROM SL_STACKS t JOIN SL_FRAMES g ON g.id = t.frameId WHERE t.id = c.stackId AND t.depth = 0 AND g.kind = 2))")" "$(q "$R" "SELECT count(DISTINCT c.id) FROM COMPOSITE_EVENTS c $STACK WHERE cpuCycles = 0 AND n.value = 'polls'")" "$1: the kernel's part is on top"
}
# What is as long as that, and only that; by the context switches.
by_switches() { # NAME
	if [ "$(q "$R" "SELECT count(*) FROM SL_LOST_EVENTS WHERE what LIKE 'context switches%'")" != 0 ]; then
		skip "$1: as the context switches say" 'the kernel kept switches to itself'
		return
	fi
	is "$(q "$R" "WITH away AS (SELECT globalTid, start, threadState, isSchedIn, lead(start) OVER (PARTITION BY globalTid ORDER BY start, rowid) AS till FROM SCHED_EVENTS)
		SELECT count(*) FROM COMPOSITE_EVENTS c WHERE cpuCycles = 0 AND NOT EXISTS (SELECT 1 FROM away a WHERE NOT isSchedIn AND a.globalTid = c.globalTid
			AND a.start = c.start AND coalesce(a.till, c.end) = c.end AND a.threadState = c.threadState AND c.end - c.start >= 10000000)")" 0 "$1: each is an interval between two switches"
	# One that ends is not asked any more, and one that is about to exec may not be known yet.
	is "$(q "$R" "WITH away AS (SELECT globalTid, start, threadState, isSchedIn, lead(start) OVER w AS till, lead(start, 2) OVER w AS last FROM SCHED_EVENTS WINDOW w AS (PARTITION BY globalTid ORDER BY start, rowid))
		SELECT count(*) FROM away a WHERE NOT isSchedIn AND threadState IN (2, 3, 4) AND till - start >= 10000000 AND EXISTS (SELECT 1 FROM away b WHERE b.globalTid = a.globalTid AND b.start > last)
			AND start > (SELECT min(start) FROM COMPOSITE_EVENTS c WHERE c.globalTid = a.globalTid)
			AND NOT EXISTS (SELECT 1 FROM COMPOSITE_EVENTS c WHERE c.globalTid = a.globalTid AND c.start = a.start)")" 0 "$1: none is missing"
}
off() { folded_sum=$("$BIN" export -q -t folded --flame=off-cpu -o - "$1" | awk '{ n += $NF } END { printf "%.0f", n }'); echo "$folded_sum"; }

# ---- another program, without the shim and with it ----
profile plain -t none --off-cpu-threshold=10000000 ./waits >out 2>err
is $? 0 'without calls: runs'
check 'the report is sound' intact "$R"
by_function plain
by_switches plain
is "$(grep -c 'stacks of threads' err)" 1 'what is not whole is reported once'
is "$(q "$R" "SELECT count FROM SL_LOST_EVENTS WHERE what LIKE 'callers in stacks of threads without a CPU: deeper%'")" "$(q "$R" "SELECT count(DISTINCT c.id) FROM COMPOSITE_EVENTS c $STACK WHERE n.value = 'deep'")" 'stacks that are too deep are counted'
is "$(q "$R" "SELECT DISTINCT cpuCycles || (end IS NULL) FROM COMPOSITE_EVENTS")" 00 'nothing else is in the table'
is "$(off "$R")" "$(q "$R" 'SELECT sum(end - start) FROM COMPOSITE_EVENTS')" 'flame graph: all of it'
is "$("$BIN" stats -q -f csv -r sample_sum -o - "$R" 2>/dev/null | grep -c waits)" 0 'they are no samples'

profile both -t osrt -s process-tree --off-cpu-threshold=10000000 --osrt-backtrace-threshold=1000000000 ./waits >out 2>err
is $? 0 'waits beside calls and samples: the program runs'
by_function both
is "$("$BIN" export -q -t folded --flame=cpu -o - "$R" 2>/dev/null | awk '{ n += $NF } END { print n + 0 }')" "$(q "$R" 'SELECT count(*) FROM COMPOSITE_EVENTS WHERE cpuCycles = 1')" 'samples are counted without them'
is "$(off "$R")" "$(q "$R" "SELECT (SELECT sum(end - start) FROM OSRT_API WHERE nestingLevel = 0) + (SELECT ifnull(sum(end - start), 0) FROM COMPOSITE_EVENTS c WHERE cpuCycles = 0
	AND NOT EXISTS (SELECT 1 FROM OSRT_API o WHERE o.globalTid = c.globalTid AND o.nestingLevel = 0 AND o.start <= c.start AND o.end > c.start))")" 'flame graph: calls, and what is in none of them'
check 'calls without stacks have these' [ "$("$BIN" export -q -t folded --flame=off-cpu -o - "$R" | awk '/recursive/ { n += $NF } END { printf "%.0f", n }')" -ge $(($(said naps 4) / 3)) ]
check 'the page of off-CPU stacks is written' "$BIN" report -f true -o both.html "$R"
check 'the timeline of off-CPU stacks is written' "$BIN" export -t perfetto -f true -o both.pftrace "$R"
check 'a part of it' "$BIN" export -t sqlite --time 0s-100s -f true -o part.sqlite "$R"
is "$(q part.sqlite 'SELECT count(*), total(end - start) FROM COMPOSITE_EVENTS')" "$(q "$R" 'SELECT count(*), total(end - start) FROM COMPOSITE_EVENTS')" 'the copied report has every off-CPU stack'

# ---- one that runs already, and waits at the end ----
rm -f ready
./waits go x >out &
T=$!
wait_for 20 test -e ready
rm -f err
"$BIN" attach -p $T -f true -s none --off-cpu-threshold=10000000 -o attached 2>err &
A=$!
wait_for 20 grep -q 'attached to' err
echo x >go
wait_for 60 grep -q deep out
sleep 0.3
kill -INT $A
wait $A
is $? 0 'attached: ends'
R=$W/attached.sqlite
by_function attached
by_switches attached
is "$(q "$R" "SELECT count(DISTINCT c.id) FROM COMPOSITE_EVENTS c $STACK WHERE n.value = 'pause' AND kind = 0")" 1 'attached: one that still waits is there'
kill $T
wait $T 2>/dev/null

# ---- asked for wrongly, not at all, and without rights ----
for bad in fast -1 10parsecs ''; do
	"$BIN" profile --off-cpu-threshold=$bad -o bad true 2>err
	is $? 2 "--off-cpu-threshold=$bad is refused"
done
"$BIN" attach -p $$ --off-cpu-threshold=soon -o bad 2>err
is $? 2 'by attach, too'
profile "none" -t none -s none --off-cpu-threshold=none ./waits >out 2>err
is "$(q "$R" "SELECT count(*) FROM sqlite_master WHERE name = 'COMPOSITE_EVENTS'")" 0 'none: no table'
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	mkdir theirs
	chmod 777 theirs
	setpriv --reuid=65534 --regid=65534 --clear-groups "$(nobody_bin)" profile -t none --off-cpu-threshold=10000000 -o theirs/theirs ./waits >out 2>err
	is $? 0 'without rights: runs'
	is "$(grep -c 'stacks of threads without a CPU need eBPF (root, or CAP_BPF and CAP_PERFMON)' err)" 1 'without rights: one line says what off-CPU stacks need'
	is "$(q theirs/theirs.sqlite "SELECT count(*) FROM sqlite_master WHERE name = 'COMPOSITE_EVENTS'")" 0 'without rights: no off-CPU stacks'
else
	skip 'off-CPU stacks of a user without rights' 'needs root and setpriv (package util-linux)'
fi
done_testing

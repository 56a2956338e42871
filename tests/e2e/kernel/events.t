#!/bin/sh
# Event counters: the kernel's, of programs that know how often something happened; events that are unavailable, and the
# messages on them. Hardware counters are looked at where there are any.
# shellcheck disable=SC2016
. tests/lib.sh

"$BIN" profile -f true -t none --cpuctxsw=none --os-events=page-faults -o probe true 2>err
grep -q 'no event counters' err && skip_all "$(grep 'no event counters' err)"
hard=
"$BIN" profile --cpu-core-events=help | grep -q ' instructions ' && hard=1

cat >happen.c <<'EOF'
/* Does things that the kernel counts: [pPfxt] N..., in order. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void pages(long n)
{
	size_t bytes = (size_t)(n + 1) * 4096;
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		exit(3);
	madvise(p, bytes, MADV_NOHUGEPAGE);
	for (long i = 0; i < n; i++)
		p[i * 4096] = 1;
}

static void *thread(void *n)
{
	pages((long)n);
	return NULL;
}

static void sleeps(long n)
{
	struct timespec t = {.tv_nsec = 1000};

	while (n--)
		nanosleep(&t, NULL);
}

int main(int argc, char **argv)
{
	for (int i = 1; i + 1 < argc; i += 2) {
		long n = atol(argv[i + 1]);
		pthread_t t;

		switch (argv[i][0]) {
		case 'p': /* pages */
			pages(n);
			break;
		case 't': /* in a thread */
			pthread_create(&t, NULL, thread, (void *)n);
			pthread_join(t, NULL);
			break;
		case 'f': /* in a child */
			if (fork() == 0) {
				pages(n);
				_exit(0);
			}
			wait(NULL);
			break;
		case 'x': { /* in another program */
			char *const args[] = {argv[0], "p", argv[i + 1], NULL};

			if (fork() == 0)
				execv(argv[0], args);
			wait(NULL);
			break;
		}
		case 's': { /* voluntary switches; and says how many there were of both kinds */
			struct rusage a, b;

			getrusage(RUSAGE_SELF, &a);
			sleeps(n);
			getrusage(RUSAGE_SELF, &b);
			printf("%ld\n", b.ru_nvcsw + b.ru_nivcsw - a.ru_nvcsw - a.ru_nivcsw);
			break;
		}
		}
	}
	return 5;
}
EOF
gcc -O1 -o happen happen.c -lpthread || skip_all 'gcc is not installed (package gcc)'
sum() { # REPORT EVENT
	q "$1" "SELECT coalesce(sum(value), 0) FROM PMU_EVENT_COUNTERS c JOIN PMU_EVENT_REQUESTS r ON r.id = c.idx WHERE event_name = '$2'"
}
count() { # NAME OPTION... -- ARG...: prints nothing; the report is NAME.sqlite
	count_name=$1
	shift
	"$BIN" profile -f true -t none --cpuctxsw=none -o "$count_name" "$@" >out 2>err
}
between() { # LOW VALUE HIGH NAME
	[ "$2" -ge "$1" ] && [ "$2" -le "$3" ]
	result $? "$4" || echo "$2 is not in $1..$3" | diag
}

# ---- the list ----
"$BIN" profile --os-events=help >help 2>&1
is $? 0 '--os-events=help succeeds'
check 'numbers, names and what they are' grep -q '^ *1  page-faults  *pages' help
"$BIN" profile --cpu-core-events=help >help 2>&1
is $? 0 '--cpu-core-events=help succeeds'
check 'has some, or says that there is no PMU' grep -q -e '^ *2  instructions' -e 'no hardware counters (PMU)' -e 'perf_event_paranoid is' help
"$BIN" start --os-events=help 2>&1 | grep -q page-faults
is $? 0 'start has the list, too'
SIGHTLINE_OPTIONS=--os-events=help LD_PRELOAD=$SHIM true >out 2>&1
check 'it does not go into the output of a program' sh -c '! grep -q page-faults out'

# ---- what is wrong ----
for o in --os-events=page-folts --cpu-core-events=zyklen --os-events=1,99 --event-sampling-interval=0 --event-sampling-interval=1001 \
	--event-sample=everywhere --sampling-period=99999 --sampling-period=x; do
	rm -f ran
	"$BIN" profile -o wrong $o touch ran 2>err
	is $? 2 "$o is wrong"
	check "$o: a message names it, and the program has not run" sh -c 'grep -q -- "$1" err && [ ! -e ran ] && [ ! -e wrong.sqlite ]' - "${o%%=*}"
done
"$BIN" profile --os-events=page-faults,page-folts true 2>err
check 'what is unknown is named' grep -q "'page-folts'" err
"$BIN" profile --sampling-period=1000000 --sampling-frequency=100 true 2>err
is $? 2 'a period and a frequency'
check 'a period and a frequency: the message names both' grep -q "'--sampling-period' and '--sampling-frequency' exclude each other" err
if [ ! $hard ]; then
	"$BIN" profile --cpu-core-events=2 true 2>err
	is $? 2 'what this machine cannot count'
	check 'the message names the event that cannot be counted' grep -q "cannot count 'instructions'" err
	count none --event-sample=system-wide ./happen
	is $? 5 'defaults are no reason not to run'
	check 'defaults that cannot be counted: a message' grep -q 'no events are counted' err
	count period -s process-tree --sampling-period=1000000 "$PY" -c 'sum(i * i for i in range(3000000))'
	check 'a period without a counter: one message' [ "$(grep -c 'sampling-period' err)" = 1 ]
	check 'a period without a counter: samples by frequency' [ "$(q period.sqlite 'SELECT count(*) FROM COMPOSITE_EVENTS')" -gt 10 ]
	is "$(q period.sqlite "SELECT value FROM META_DATA_CAPTURE WHERE name LIKE '%SAMPLING_FREQUENCY'")" 1000 'a period without a counter: the report has the frequency'
	skip 'hardware counters' 'this machine has none'
else
	count hard --cpu-core-events=instructions,cpu-cycles ./happen p 20000
	is $? 5 'instructions and cycles'
	check 'instructions are counted' [ "$(sum hard.sqlite instructions)" -gt 100000 ]
	check 'cycles are counted' [ "$(sum hard.sqlite cpu-cycles)" -gt 100000 ]
	count period -s process-tree --sampling-period=1000000 "$PY" -c 'sum(i * i for i in range(3000000))'
	check 'samples by a period' [ "$(q period.sqlite 'SELECT count(*) FROM COMPOSITE_EVENTS')" -gt 10 ]
	is "$(q period.sqlite "SELECT value FROM META_DATA_CAPTURE WHERE name LIKE '%SAMPLING_PERIOD'")" 1000000 'samples by a period: the report has the period'
fi

# ---- truth ----
count nothing --os-events=page-faults ./happen
is $? 5 'the status is the program'"'"'s'
base=$(sum nothing.sqlite page-faults)
for n in 20000 40000; do
	count pages --os-events=page-faults ./happen p $n
	between $((n - 100)) $(($(sum pages.sqlite page-faults) - base)) $((n + 100)) "$n pages"
done
count pages --os-events=page-faults ./happen p 3000 t 5000 f 7000 x 11000
between 26000 $(($(sum pages.sqlite page-faults) - base)) 27000 'pages of threads, children and other programs'
count pages -t osrt,nvtx,cuda --os-events=1,2,3 ./happen p 10000
between 10000 "$(sum pages.sqlite minor-faults)" 11000 'with everything else on: minor faults'
is "$(sum pages.sqlite page-faults)" $(($(sum pages.sqlite minor-faults) + $(sum pages.sqlite major-faults))) 'minor and major are all'
count sleeps --os-events=context-switches,page-faults --event-sampling-interval=2 ./happen s 500
real=$(head -1 out)
between "$real" "$(sum sleeps.sqlite context-switches)" $((real + 50)) 'context switches'
check 'the program switched 400 times or more' [ "$real" -ge 400 ]
is "$(q sleeps.sqlite 'SELECT count(*) FROM PMU_EVENTS a JOIN PMU_EVENTS b ON a.cpu = b.cpu AND a.start < b.start AND a.end > b.start')" 0 'intervals do not overlap'
is "$(q sleeps.sqlite 'SELECT count(*) FROM PMU_EVENTS WHERE end <= start OR start < 0')" 0 'intervals have a length, and begin within the report'
is "$(q sleeps.sqlite 'SELECT count(*) FROM PMU_EVENT_COUNTERS WHERE counted <> 100')" 0 'the kernel counts all the time'
is "$(q sleeps.sqlite 'SELECT count(*) FROM PMU_EVENT_COUNTERS WHERE id NOT IN (SELECT counter_id FROM PMU_EVENTS)')" 0 'no value without its interval'
is "$(q sleeps.sqlite 'SELECT group_concat(event_name || systemWide || userOnly || label) FROM PMU_EVENT_REQUESTS JOIN ENUM_PMU_EVENT_SOURCE e ON e.id = source')" \
	'context-switches00Counter of the kernel,page-faults00Counter of the kernel' 'what was counted, and whose'
count system --os-events=page-faults --event-sample=system-wide ./happen p 20000
if grep -q 'no event counters' err; then
	skip 'system-wide counters are recorded' 'no rights'
else
	check 'system-wide: at least what the program did' [ "$(sum system.sqlite page-faults)" -ge 20000 ]
	is "$(q system.sqlite 'SELECT systemWide FROM PMU_EVENT_REQUESTS')" 1 'system-wide: the report has the scope'
fi
SIGHTLINE_OPTIONS='--os-events=page-faults -t none --cpuctxsw=none' bare bare ./happen p 20000
wait_for 20 finished "$R"
between 20000 "$(sum "$R" page-faults)" 21000 'LD_PRELOAD alone, with SIGHTLINE_OPTIONS'
count off --os-events=page-faults --event-sample=none ./happen p 100
is "$(q off.sqlite "SELECT count(*) FROM sqlite_master WHERE name LIKE 'PMU%'")" 0 '--event-sample=none records no counters'
count flight --flight=5s --os-events=page-faults ./happen
check 'the flight recorder says that it keeps none' grep -q 'event counters are not kept' err

# ---- parts of a run ----
S=$B/tests/standin
if [ -x "$PY" ] && [ -f "$S/libcudart.so.13" ]; then
	cat >parts.py <<'EOF'
import ctypes, mmap
cuda = ctypes.CDLL('libcudart.so.13')
def pages(n):
    m = mmap.mmap(-1, (n + 1) * 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    m.madvise(mmap.MADV_NOHUGEPAGE)
    for i in range(n): m[i * 4096] = 1
pages(9000)
for n in (3000, 4000):
    cuda.cudaProfilerStart()
    pages(n)
    cuda.cudaProfilerStop()
    pages(9000)
EOF
	for end in repeat repeat:sync pause; do
		rm -f part*.sqlite
		LD_LIBRARY_PATH=$S "$BIN" profile -t nvtx -c cudaProfilerApi --capture-range-end=$end --os-events=page-faults -o part "$PY" parts.py >out 2>err
		if [ $end = pause ]; then
			between 7000 "$(sum part.sqlite page-faults)" 7800 "$end: pages of both parts"
			is "$(q part.sqlite 'SELECT count(*) FROM PMU_EVENTS e WHERE NOT EXISTS (SELECT 1 FROM SL_CAPTURES c WHERE e.start >= c.start - 1000 AND e.end <= c.end + 1000)')" \
				0 'intervals lie within'
			continue
		fi
		between 3000 "$(sum part.1.sqlite page-faults)" 3500 "$end: pages of the first part"
		between 4000 "$(sum part.2.sqlite page-faults)" 4500 "$end: pages of the second"
		is "$(q part.2.sqlite 'SELECT event_name FROM PMU_EVENT_REQUESTS')" page-faults 'the next report knows what is counted, too'
	done
else
	skip 'parts of a run' 'the stand-ins are not built'
fi

# ---- sessions ----
cat >steady.py <<'EOF'
import mmap, os, time
while not os.path.exists('over'):
    m = mmap.mmap(-1, 100 * 4096)
    for i in range(100): m[i * 4096] = 1
    m.close()
    time.sleep(0.01)
EOF
"$BIN" launch -t none --cpuctxsw=none --os-events=page-faults --session-new=counted "$PY" steady.py 2>launch.err &
wait_for 20 sh -c "'$BIN' sessions list -p false | grep -q counted"
for n in 1 2; do
	check "start $n" "$BIN" start --session=counted --cpuctxsw=none -f true -o steered$n
	sleep 0.5
	check 'stop of a counted session succeeds' "$BIN" stop --session=counted
	check 'a session has counters between start and stop' [ "$(sum steered$n.sqlite page-faults)" -gt 0 ]
done
check 'start without' "$BIN" start --session=counted --event-sample=none --cpuctxsw=none -f true -o without
check 'stop of a counted session succeeds' "$BIN" stop --session=counted
is "$(q without.sqlite "SELECT count(*) FROM sqlite_master WHERE name LIKE 'PMU%'")" 0 'a start without events: no tables of events'
"$BIN" start --session=counted --os-events=cpu-migrations --cpuctxsw=none -f true -o never 2>err
is $? 1 'what launch has not asked for cannot be had later'
check 'events that launch has not asked for: the message names the option' grep -q -- '--os-events' err
touch over
wait

# ---- rights ----
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" = 2 ]; then
	mkdir theirs && chmod 777 theirs
	as() { (cd theirs && setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all "$@"); }
	as "$(nobody_bin)" profile -f true -t none --cpuctxsw=none --os-events=page-faults,context-switches -o own "$W/happen" p 20000 2>err
	is $? 5 'without rights: the program runs'
	check 'what the kernel does is left out, with a message that names the way out' grep -q 'context-switches: kernel.perf_event_paranoid is 2 (1 or lower, or CAP_PERFMON' err
	between 20000 "$(sum theirs/own.sqlite page-faults)" 21000 'without rights: page faults of user mode are counted'
	is "$(q theirs/own.sqlite 'SELECT group_concat(event_name || userOnly) FROM PMU_EVENT_REQUESTS')" page-faults1 'without rights: the report says that user mode alone is counted'
	as "$(nobody_bin)" profile -f true -t none --cpuctxsw=none --os-events=context-switches -o own "$W/happen" 2>err
	is $? 5 'the status is 5 where no event may be counted'
	check 'there are none, with a message' grep -q 'no event counters: context-switches' err
	as "$(nobody_bin)" profile -f true -t none --cpuctxsw=none --os-events=page-faults --event-sample=system-wide -o own "$W/happen" 2>err
	is $? 5 'the system, without rights'
	check 'is refused, with a message that names the way out' grep -q -- 'no event counters: those of the whole system need CAP_PERFMON.*--event-sample=process-tree' err
else
	skip 'counters of a user without rights' 'needs root, setpriv, and kernel.perf_event_paranoid=2'
fi

# ---- reading ----
sqlite3 hand.sqlite <"$TOP/tests/golden/reports/events.sql"
for r in cpu_events cpu_events:cpu; do
	"$BIN" stats -q -r $r -f csv -o - hand.sqlite | sed '/^$/d' >got
	check "$r, worked out by hand" diff -u "$TOP/tests/golden/reports/events-$(echo $r | tr : +).csv" got
done
"$BIN" stats -q -r cpu_events -f csv -o - sleeps.sqlite >got
check 'of a real one' grep -q "^$(sum sleeps.sqlite context-switches),.*,process tree,context-switches," got
check 'it is one of the default tables' sh -c '"$0" stats sleeps.sqlite | grep -q "Event Counter Summary"' "$BIN"
# ---- elsewhere ----
if [ -x "$PY" ]; then
	count pages --os-events=page-faults,context-switches ./happen p 20000 s 50 p 20000
	check 'export to chrome succeeds' "$BIN" export -t chrome -f true -o pages.json pages.sqlite
	cat >areas.py <<'EOF'
import collections, json, sys
trace, sums, last = json.load(open('pages.json')), collections.Counter(), {}
for e in trace['traceEvents'] if isinstance(trace, dict) else trace:
    if e['ph'] == 'C' and e['name'].startswith('CPU '):
        ts, value = last.get(e['name'], (0, 0))
        sums[e['name'].split(': ')[1]] += value * (e['ts'] - ts) / 1e6
        last[e['name']] = e['ts'], e['args']['value']
assert all(value == 0 for ts, value in last.values()), last
want = {name + ' per second': int(n) for name, n in zip(sys.argv[1::2], sys.argv[2::2])}
assert set(sums) == set(want) and all(abs(sums[k] - want[k]) <= 2 for k in want), (sums, want)
EOF
	check 'its areas are the sums' "$PY" areas.py context-switches "$(sum pages.sqlite context-switches)" page-faults "$(sum pages.sqlite page-faults)"
	check 'export to perfetto succeeds' "$BIN" export -t perfetto -f true -o pages.pftrace pages.sqlite
	check 'has the tracks' grep -aq 'page-faults per second' pages.pftrace
fi
half=$(q pages.sqlite 'SELECT (min(start) + max(end)) / 2 / 1e9 FROM PMU_EVENTS')
check 'export of the first half succeeds' "$BIN" export -t sqlite --time "0s-${half}s" -f true -o part.sqlite pages.sqlite
is "$(q part.sqlite 'SELECT count(*) FROM PMU_EVENT_COUNTERS')" "$(q pages.sqlite "SELECT count(*) FROM PMU_EVENT_COUNTERS JOIN PMU_EVENTS ON counter_id = id WHERE start < $half * 1e9")" \
	'has the values of its intervals, and no others'
done_testing

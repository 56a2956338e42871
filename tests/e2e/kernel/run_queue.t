#!/bin/sh
# run_queue.t - the report run_queue_sum: its waits for a CPU are those that the kernel counts itself (/proc/PID/task/TID/schedstat,
# voluntary_ctxt_switches), of threads that share one CPU, compute, and sleep.
. tests/lib.sh
command -v gcc >/dev/null || skip_all 'gcc is not installed (package gcc)'
[ "$(id -u)" = 0 ] || skip_all 'needs root'
[ -r /proc/self/schedstat ] || skip_all 'the kernel has no schedstat'

cat >share.c <<'C'
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static double cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
/* What the kernel says of this thread, from its birth on. */
static void tell(const char *what)
{
	int tid = (int)syscall(SYS_gettid);
	char path[64], line[256];
	long run, delay, slices, own = 0, others = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	f = fopen(path, "r");
	while (fgets(line, sizeof(line), f)) {
		sscanf(line, "voluntary_ctxt_switches: %ld", &own);
		sscanf(line, "nonvoluntary_ctxt_switches: %ld", &others);
	}
	fclose(f);
	snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", tid);
	f = fopen(path, "r");
	if (fscanf(f, "%ld %ld %ld", &run, &delay, &slices) == 3)
		printf("%s %d %ld %ld %ld\n", what, tid, delay, own, others);
	fclose(f);
}
static void *compute(void *arg)
{
	while (cpu() < 0.7)
		;
	tell("busy");
	return arg;
}
static void *rest(void *arg)
{
	const struct timespec ms = {0, 1000000};

	for (int i = 0; i < 200; i++) {
		double end = cpu() + 0.0002;

		nanosleep(&ms, NULL);
		while (cpu() < end)
			;
	}
	tell("sleeper");
	return arg;
}
int main(void)
{
	pthread_t t[3];
	cpu_set_t one, all;
	int first = 0;

	sched_getaffinity(0, sizeof(all), &all);
	while (!CPU_ISSET(first, &all))
		first++;
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	sched_setaffinity(0, sizeof(one), &one);
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, i < 2 ? compute : rest, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return 0;
}
C
gcc -O1 -o share share.c -pthread || exit 1
profile share -t none ./share >kernel.txt 2>err
is "$? $(wc -l <kernel.txt)" '0 3' 'the program runs'
"$BIN" stats -q -f json -r run_queue_sum "$R" >rows.json
"$BIN" stats -q -f json -r run_queue_sum:cpu "$R" >cpus.json
lost=$(q "$R" "SELECT CAST(total(count) AS INT) FROM SL_LOST_EVENTS WHERE what LIKE 'context switches%'")
if [ "$lost" != 0 ]; then
	skip 'figures of the run queue are those of the kernel' "$lost context switches were lost"
	done_testing
fi
cat >compare.py <<'PY'
import json
rows = {r['Tid']: r for r in json.load(open('rows.json'))}
for line in open('kernel.txt'):
    what, tid, delay, own, others = line.split()
    r, delay, own, others = rows[int(tid)], int(delay), int(own), int(others)
    print(what, delay, own, others, r)
    assert r['Run Wait (ns)'] == r['Woken Wait (ns)'] + r['Preempted Wait (ns)']
    # The kernel's time begins when the thread is in the run queue, ours when it is woken, a little before: ours is longer, by an
    # unknown time where the machine itself waits. Of one that only loses its CPU both are taken at the switch.
    assert r['Run Wait (ns)'] >= 0.9 * delay - 20e6, 'less than the kernel counts'
    if what == 'busy':
        assert delay > 100e6, 'they do not share a CPU'
        assert r['Run Wait (ns)'] <= 1.1 * delay + 20e6 + r['Woken Wait (ns)'], 'more than the kernel counts'
    # And what comes after these lines are written: the end of the thread, and its birth, a wake-up.
    if not r['Not Known']:
        assert own <= r['Wake-Ups'] <= own + 8, 'wake-ups'
    assert others <= r['Preempted'] <= others + 8, 'preempted'
    if what == 'sleeper':
        assert r['Wake-Ups'] >= 200
        assert r['Med (ns)'] <= r['P99 (ns)'] <= r['Max (ns)'] <= r['Woken Wait (ns)']
# The same by CPU.
for k in 'Run Wait (ns)', 'Wake-Ups', 'Woken Wait (ns)', 'Preempted', 'Preempted Wait (ns)', 'Not Known':
    assert sum(r[k] for r in json.load(open('cpus.json'))) == sum(r[k] for r in rows.values()), k
PY
check 'as the kernel counts them' "$PY" compare.py
done_testing

#!/bin/sh
# CPU samples of sightline attach, compared with a program that knows where it was, and with the CPU time that the kernel
# counted for it.
# shellcheck disable=SC2016,SC2086
. tests/lib.sh

command -v gcc >/dev/null || skip_all 'gcc is not installed (package gcc)'
cat >spin.c <<'END'
/* Spins for given CPU times, 70 to 30 in two functions; then in a thread, a child, another program, libc and made code. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define HAS_FRAME __asm__ volatile("" : : "r"(__builtin_frame_address(0)))
static volatile unsigned sink;
static char page[65536];
static double cpu(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}
__attribute__((noinline, noclone)) void seven(unsigned n) { HAS_FRAME; unsigned x = n | 1; for (unsigned i = 0; i < n; i++) { x *= 1103515245; __asm__ volatile("" : "+r"(x)); } sink = x; }
__attribute__((noinline, noclone)) void three(unsigned n) { HAS_FRAME; unsigned x = n | 1; for (unsigned i = 0; i < n; i++) { x *= 1103515245; __asm__ volatile("" : "+r"(x)); } sink = x; }
__attribute__((noinline, noclone)) void made(unsigned n) { for (unsigned i = 0; i < n; i++) __asm__ volatile(""); }
__attribute__((noinline, noclone)) void after_made(void) { sink++; }
__attribute__((noinline, noclone)) void work(double s)
{
	for (double end = cpu() + s; cpu() < end;) { seven(70000); three(30000); }
	sink++;
}
static void *thread(void *arg) { (void)arg; work(0.4); return NULL; }
static void in_libc(double s) { for (double end = cpu() + s; cpu() < end;) for (int i = 0; i < 100; i++) { memset(page, i, sizeof(page)); sink += page[i]; } }
static void in_made_code(double s)
{
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED) return;
	memcpy(code, (void *)made, 256);
	for (double end = cpu() + s; cpu() < end;) ((void (*)(unsigned))code)(100000);
}
static void wait_line(void) { FILE *f = fopen("go", "r"); if (!f || fgetc(f) == EOF) exit(1); fclose(f); }
int main(int argc, char **argv)
{
	pthread_t t;
	pid_t child;
	FILE *f;
	if (argc > 2) { work(0.3); return 0; }
	f = fopen("ready.new", "w"); fprintf(f, "%d\n", getpid()); fclose(f); rename("ready.new", "ready");
	wait_line();
	work(atof(argv[1]));
	if (atof(argv[1]) > 1) {
		pthread_create(&t, NULL, thread, NULL); pthread_join(t, NULL);
		if (!(child = fork())) { in_libc(0.3); in_made_code(0.2); _exit(0); }
		waitpid(child, NULL, 0);
		if (!(child = fork())) { execl("./other", "other", "0", "x", NULL); _exit(1); }
		waitpid(child, NULL, 0);
	}
	f = fopen("done.new", "w"); fclose(f); rename("done.new", "done");
	wait_line();
	return 3;
}
END
check 'the program is made' gcc -O1 -no-pie -fno-toplevel-reorder -fno-omit-frame-pointer -fno-builtin-memset -pthread -o spin spin.c
cp spin other
mkfifo go
chmod 666 go

# NAME SECONDS OPTION...: the program from beginning to end; $T its number, $CPU its ticks, by the kernel's count
sampled() {
	R=$W/$1.sqlite
	name=$1 seconds=$2
	shift 2
	rm -f ready "done"
	./spin $seconds &
	T=$!
	wait_for 20 test -s ready
	rm -f attach.err
	"$BIN" attach -p $T -f --off-cpu-threshold=none -o "$name" "$@" 2>attach.err &
	A=$!
	wait_for 20 grep -q 'attached to' attach.err || return 1
	echo x >go
	wait_for 60 test -e "done" || return 1
	CPU=$(awk '{ print $14 + $15 + $16 + $17 }' /proc/$T/stat)
	echo x >go
	wait $T
	is $? 3 "$name: the program ends as it would have"
	wait $A
	is $? 0 "$name: the recording ends without an error"
}
# PERCENT GOT WANT NAME: no further apart than so, and than chance: clocks of CPUs meet a thread independently of what it does
near() { check "$4: $2, $3 expected" awk "BEGIN { d = $2 - $3; exit !((d < 0 ? -d : d) <= $3 * $1 / 100 + 5 * sqrt($3)) }"; }

"$BIN" attach -p $$ -d 1 --sampling-frequency=8000 -s process-tree -o probe 2>err
if grep -q 'no CPU samples' err || [ ! -s probe.sqlite ]; then
	skip 'samples of attach' "$(grep -m1 -v attached err)"
	kinds=
else
	kinds=yes
fi

if [ -n "$kinds" ]; then
	HZ=$(getconf CLK_TCK)
	sampled all 1.3
	check 'the report is sound' intact "$R"
	near 15 "$(q "$R" 'SELECT count(*) FROM COMPOSITE_EVENTS')" $((CPU * 1000 / HZ)) 'samples are as many as milliseconds of CPU time'
	at() { nm spin | awk -v name="$1" '$3 == name { print "0x" $1 }'; }
	got=$(q "$R" "SELECT CAST(100.0 * total(originalIP < $(at three)) / count(*) + 0.5 AS INT) FROM SAMPLING_CALLCHAINS WHERE stackDepth = 0 AND originalIP >= $(at seven) AND originalIP < $(at made)")
	check "$got % are in the function that takes 70 %" awk "BEGIN { exit !($got >= 65 && $got <= 75) }"
	near 15 "$(q "$R" "SELECT count(*) FROM COMPOSITE_EVENTS WHERE globalTid & 0xffffff = $T")" 1300 'the first thread'
	near 15 "$(q "$R" "SELECT count(*) FROM COMPOSITE_EVENTS WHERE globalTid >> 24 & 0xffffff = $T AND globalTid & 0xffffff <> $T")" 400 'a thread that was started meanwhile'
	near 15 "$(q "$R" "SELECT count(*) FROM COMPOSITE_EVENTS WHERE globalTid >> 24 & 0xffffff <> $T")" 800 'two children'
	is "$(q "$R" "SELECT count(DISTINCT globalTid) FROM COMPOSITE_EVENTS")" 4 'threads with samples: the four of the program'
	# Frames by the file that they lie in; where the kernel is seen, its part is aside.
	module() { # PATTERN: samples whose innermost frame outside the kernel lies there
		q "$R" "SELECT count(*) FROM (SELECT id, module, min(stackDepth) FROM SAMPLING_CALLCHAINS WHERE NOT kernelMode GROUP BY id)
			JOIN StringIds s ON s.id = module WHERE value LIKE '$1'"
	}
	near 15 "$(module "$W/spin")" 1700 'the program itself'
	near 15 "$(module "$W/other")" 300 'the program that a child execs'
	near 20 "$(module '%/libc%.so%')" 300 'libc'
	near 20 "$(module '[anonymous]')" 200 'code in anonymous memory'
	is "$(q "$R" "SELECT count(*) FROM SAMPLING_CALLCHAINS JOIN StringIds s ON s.id = symbol WHERE unresolved AND value <> printf('0x%x', originalIP)")" 0 'symbols of programs are addresses'
	check 'callers stand behind: work() calls' [ "$(q "$R" "SELECT count(*) FROM SAMPLING_CALLCHAINS WHERE stackDepth = 1 AND originalIP BETWEEN $(at work) AND $(at work) + 256")" -gt 1275 ]
	is "$(q "$R" 'SELECT count(*) FROM COMPOSITE_EVENTS e WHERE NOT EXISTS (SELECT 1 FROM SAMPLING_CALLCHAINS c WHERE c.id = e.id AND stackDepth = 0)')" 0 'every sample has a stack'
	is "$(q "$R" 'SELECT count(*) FROM SAMPLING_CALLCHAINS c WHERE stackDepth > 0 AND NOT EXISTS (SELECT 1 FROM SAMPLING_CALLCHAINS d WHERE d.id = c.id AND d.stackDepth = c.stackDepth - 1)')" 0 'stacks have no gaps'
	is "$(q "$R" 'SELECT count(*) FROM COMPOSITE_EVENTS WHERE start < 0 OR start > (SELECT max(stopTime - startTime, 0) FROM ANALYSIS_DETAILS)')" 0 'all lie within the report'
	is "$(q "$R" "SELECT count(*) FROM SL_LOST_EVENTS WHERE what LIKE 'CPU samples: the kernel%'")" 0 'no sample was lost by the kernel'
	# A thread is on a CPU when it is sampled: switches and samples agree (kernels of some virtual machines keep switches).
	# Where it did keep some, which are counted, a whole run has no row, and its samples lie nowhere.
	if [ "$(q "$R" "SELECT count(*) FROM SL_LOST_EVENTS WHERE what LIKE 'context switches%'")" = 0 ]; then
		check 'samples lie where context switches have the thread on that CPU' [ "$(q "$R" "WITH runs AS (SELECT start, cpu, globalTid, isSchedIn, lead(start, 1, 1 << 62) OVER (PARTITION BY globalTid ORDER BY start, rowid) AS till FROM SCHED_EVENTS)
			SELECT 1000 * sum(EXISTS (SELECT 1 FROM runs r WHERE isSchedIn AND r.globalTid = e.globalTid AND r.cpu = e.cpu AND e.start BETWEEN r.start - 20000 AND r.till + 20000)) / count(*) FROM COMPOSITE_EVENTS e")" -ge 990 ]
	else
		skip 'samples lie where context switches have the thread on that CPU' 'the kernel kept switches to itself'
	fi

	# ---- what is made of them ----
	check 'folded stacks' "$BIN" export -t folded -f true -o all.folded "$R"
	is "$(awk '{ n += $NF } END { print n }' all.folded)" "$(q "$R" 'SELECT count(*) FROM COMPOSITE_EVENTS')" 'have all samples'
	check 'all: report makes a page' "$BIN" report -f true -o all.html "$R"
	check 'all: export makes a timeline' "$BIN" export -t perfetto -f true -o all.pftrace "$R"

	# ---- how often, and not at all ----
	sampled slow 0.5 --sampling-frequency=250 --cpuctxsw=none
	near 15 "$(q "$R" 'SELECT count(*) FROM COMPOSITE_EVENTS')" $((CPU * 250 / HZ)) 'a quarter as often'
	is "$(q "$R" "SELECT count(*) FROM sqlite_master WHERE name = 'SCHED_EVENTS'")" 0 'slow: no table of context switches'
	mv spin gone
	cp gone spin
	rm -f ready
	./spin 0.5 &
	T=$!
	wait_for 20 test -s ready
	rm spin
	rm -f err
	"$BIN" attach -p $T -d 3 -f -o deleted 2>err &
	A=$!
	wait_for 20 grep -q 'attached to' err
	echo x >go
	wait $A
	R=$W/deleted.sqlite
	check 'a file that is deleted' [ "$(module "$W/spin (deleted)")" -gt 300 ]
	check '--duration: rows lie within' [ "$(q "$R" 'SELECT duration >= 3000000000 AND (SELECT max(start) FROM COMPOSITE_EVENTS) <= duration FROM ANALYSIS_DETAILS')" = 1 ]
	echo x >go
	wait $T
	mv gone spin
	sampled none 0.05 -s none
	is "$(q "$R" "SELECT count(*) FROM sqlite_master WHERE name IN ('COMPOSITE_EVENTS', 'SAMPLING_CALLCHAINS')")" 0 'none: no tables'
fi

# ---- rights ----
level=$(cat /proc/sys/kernel/perf_event_paranoid)
if [ "$(id -u)" = 0 ] && [ -n "$kinds" ] && [ "$level" = 2 ] && command -v setpriv >/dev/null; then
	chmod 777 .
	rm -f ready "done"
	cat >theirs.sh <<'END'
./spin 0.5 &
T=$!
for _ in $(seq 600); do [ -s ready ] || sleep 0.2; done
[ -s ready ] || exit 9
"$1" attach -p $T -o theirs 2>theirs.err &
A=$!
for _ in $(seq 600); do grep -q 'attached to' theirs.err || sleep 0.2; done
cat theirs.err >&2
echo $T >theirs.pid
for _ in $(seq 600); do [ -e root.ready ] || sleep 0.2; done
echo x >go
for i in $(seq 600); do [ -e "done" ] || sleep 0.2; done
echo x >go
wait $T
wait $A
END
	# Root looks on: how much of its time a program is found in the kernel depends on the machine.
	(
		for _ in $(seq 600); do [ -s theirs.pid ] || sleep 0.2; done
		"$BIN" attach -p "$(cat theirs.pid)" -o root 2>root.err &
		for _ in $(seq 600); do grep -q 'attached to' root.err || sleep 0.2; done
		: >root.ready
		wait
	) &
	root=$!
	setpriv --reuid=65534 --regid=65534 --clear-groups sh theirs.sh "$(nobody_bin)" 2>err
	is $? 0 "one's own, without rights"
	wait $root
	user=$(q "$W/root.sqlite" 'SELECT count(*) FROM SAMPLING_CALLCHAINS WHERE stackDepth = 0 AND NOT kernelMode')
	is "$(grep -c 'CPU samples lack what the kernel does' err)" 1 'what is missing is reported once'
	R=$W/theirs.sqlite
	got=$(q "$R" 'SELECT count(*) FROM COMPOSITE_EVENTS')
	near 25 "$got" "$user" 'there are those that were not taken in the kernel'
	is "$(q "$R" 'SELECT count(*) FROM SAMPLING_CALLCHAINS WHERE kernelMode')" 0 'none of the kernel'
else
	skip 'samples without rights' 'needs root, setpriv, and kernel.perf_event_paranoid=2'
fi

# ---- bad input ----
for bad in 99 8001 0 -1 fast; do
	"$BIN" attach -p $$ --sampling-frequency=$bad -o bad 2>err
	is $? 2 "--sampling-frequency=$bad is refused"
	check "--sampling-frequency=$bad: one line names the option" sh -c '[ "$(wc -l <err)" -eq 1 ] && grep -q sampling-frequency err'
done
for k in /proc/[0-9]*; do
	k=${k#/proc/}
	[ "$k" -gt 1 ] && grep -q '^Kthread:[[:space:]]*1' /proc/"$k"/status 2>/dev/null && break
	k=
done
if [ -n "$k" ]; then
	"$BIN" attach -p "$k" -s process-tree -o bad 2>err
	is $? 1 'a thread of the kernel is refused'
	check 'the message names it a thread of the kernel' grep -q 'thread of the kernel' err
else
	skip 'kernel threads' 'none to be seen'
fi
check 'refusals leave nothing behind' [ ! -e bad.sqlite ]
done_testing

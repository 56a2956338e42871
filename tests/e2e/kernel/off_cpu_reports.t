#!/bin/sh
# Stacks of threads without a CPU where reports are parts: captures have those of their ranges and no others, the flight
# recorder those of the last moments.
# shellcheck disable=SC2016,SC2086
. tests/lib.sh

command -v gcc >/dev/null || skip_all 'gcc is not installed (package gcc)'
"$BIN" profile -t none --off-cpu-threshold=80000 -o probe true 2>err
grep -q 'need eBPF' err && skip_all "$(grep 'need eBPF' err)"
cat >steps.c <<'END'
/* A thread naps all the time, four wait until the end. What the main thread reads tells it where to wait; it says so. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#define PLAIN __attribute__((noinline, noclone))
static volatile int sink;
static void rest(long ms) { struct timespec t = {0, ms * 1000000}; nanosleep(&t, NULL); }
PLAIN void naps(void) { rest(20); sink++; }
PLAIN void waits_long(void) { pause(); sink++; }
PLAIN void before(void) { for (int i = 0; i < 4; i++) rest(30); sink++; }
PLAIN void within(void) { for (int i = 0; i < 4; i++) rest(50); sink++; }
PLAIN void after(void) { for (int i = 0; i < 4; i++) rest(30); sink++; }
static void *napper(void *arg) { for (;;) naps(); return arg; }
static void *waiter(void *arg) { waits_long(); return arg; }
int main(void)
{
	pthread_t t;
	char c;
	pthread_create(&t, NULL, napper, NULL);
	for (int i = 0; i < 4; i++) pthread_create(&t, NULL, waiter, NULL);
	while (read(0, &c, 1) == 1) {
		if (c == 'b') before();
		if (c == 'w') within();
		if (c == 'a') after();
		if (c == 'x') abort();
		printf("%c\n", c);
		fflush(stdout);
	}
	return 3;
}
END
check 'the program is made' gcc -O2 -g -fomit-frame-pointer -pthread -o steps steps.c
AWAY="COMPOSITE_EVENTS c JOIN SL_STACKS s ON s.id = c.stackId JOIN SL_FRAMES f ON f.id = s.frameId JOIN StringIds n ON n.id = f.symbol"
# The kernel reports nearly all switches to BPF programs: of several waits there are some.
some() { awk "BEGIN { exit !($1 >= $2 && $1 <= $3) }"; }
has() { q "$R" "SELECT count(DISTINCT c.id) FROM $AWAY WHERE n.value = '$1' AND cpuCycles = 0"; }
at_step() { [ "$(wc -l <out)" -ge "$1" ]; }
# Each letter is a step of the program's; the program has printed it when this returns.
steps=0
step() {
	printf '%s' "$1" >&9
	steps=$((steps + 1))
	wait_for 60 at_step $steps
}

# ---- captures ----
mkfifo go
"$BIN" launch -t none --session-new=away --off-cpu-threshold=10000000 ./steps <go >out 2>err &
launched=$!
exec 9>go
step b
check 'start of the first report succeeds' "$BIN" start --session=away -f true -o first
step w
check 'stop of the first report succeeds' "$BIN" stop --session=away
step a
check 'start of the second report succeeds' "$BIN" start --session=away -f true -o second
step w
step w
check 'stop of the second report succeeds' "$BIN" stop --session=away
step a
exec 9>&-
wait $launched
is $? 3 'the program has not noticed'
for i in first second; do
	R=$W/$i.sqlite
	check "$i: the report is sound" intact "$R"
	is "$(has before) $(has after)" '0 0' "$i: nothing from outside of the range"
	is "$(has waits_long)" 0 "$i: who left before it began is not in it"
	check "$i: who naps is" [ "$(has naps)" -ge 1 ]
	is "$(q "$R" "SELECT count(*) FROM COMPOSITE_EVENTS WHERE cpuCycles = 0 AND (end IS NULL OR end < start)")" 0 "$i: each has its end"
	is "$(q "$R" "SELECT count(*) FROM (SELECT globalTid, start FROM COMPOSITE_EVENTS WHERE cpuCycles = 0 GROUP BY 1, 2 HAVING count(*) > 1)")" 0 "$i: none twice"
	# The main thread, and the one that naps.
	check "$i: of two threads" [ "$(q "$R" "SELECT count(DISTINCT c.globalTid) FROM COMPOSITE_EVENTS c")" -le 2 ]
done
check 'first: waits within the report are in it' some "$(R=$W/first.sqlite has within)" 2 4
check 'second: waits within the report are in it' some "$(R=$W/second.sqlite has within)" 5 8

# ---- the flight recorder ----
fly() { # REPORT OPTIONS...
	R=$W/$1.sqlite name=$1 steps=0
	shift
	rm -f out
	"$BIN" profile -f true -o "$W/$name" -t osrt -s none --session-new=$name --off-cpu-threshold=10000000 "$@" ./steps <go >out 2>err &
	launched=$!
	exec 9>go
}
fly crash --flight=60s
step b
step w
printf x >&9
wait $launched
exec 9>&-
check 'an abort: the report is sound' intact "$R"
check 'an abort: waits before it' some "$(has before)" 2 4
check 'an abort: waits within the last calls' some "$(has within)" 2 4
is "$(grep -c 'no effect' err)" 0 'an abort: no option without effect'
check 'an abort: the naps' [ "$(has naps)" -ge 1 ]
is "$(q "$R" "SELECT count(*) FROM COMPOSITE_EVENTS WHERE cpuCycles != 0")" 0 'an abort: no samples, as none were asked for'

fly dumps --flight=60s
step b
check 'the first dump succeeds' "$BIN" dump --session=dumps
step a
check 'the second dump succeeds' "$BIN" dump --session=dumps
exec 9>&-
wait $launched
R=$W/dumps.sqlite
check 'a dump: the report is sound' intact "$R"
check 'the first dump: waits before it' some "$(has before)" 2 4
is "$(has after)" 0 'the first dump: no waits after it'
check 'the first dump: the thread that still waits' some "$(has waits_long)" 2 4
is "$(q "$R" "SELECT count(*) FROM (SELECT globalTid, start FROM COMPOSITE_EVENTS GROUP BY 1, 2 HAVING count(*) > 1)")" 0 'the first dump: no wait twice'
R=$W/dumps.2.sqlite
check 'the next: the report is sound' intact "$R"
check 'the second dump: waits between the two' some "$(has after)" 2 4
# It begins with the nap that had not returned at the dump: the end of the last wait before may lie in that.
check 'the second dump: one nap at most from before the first' some "$(has before)" 0 1
check 'the second dump: the thread that waits all the time' some "$(has waits_long)" 2 4
is "$(q "$R" "SELECT count(*) FROM COMPOSITE_EVENTS WHERE end IS NULL OR end < start")" 0 'each has its end'
exec 9>&-
done_testing

#!/bin/sh
# deaths.t - stacks of threads at the moment at which a signal or a status other than 0 ends them; a program that ends well has none.
# shellcheck disable=SC2016,SC3045
SAMPLED=1
. tests/lib.sh
command -v gcc >/dev/null || skip_all 'gcc is not installed (package gcc)'
"$BIN" status 2>/dev/null | grep -q '^eBPF  *ok' || skip_all 'eBPF is not permitted'

cat >die.c <<'END_C'
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *waits(void *x) { for (;;) pause(); return x; } /* WAITS */
static volatile int *volatile none;
static volatile int zero;
static void ignore(int sig) { (void)sig; }
static void *dies(void *how)
{
	volatile unsigned long sum = 0;
	if (!strcmp(how, "segv")) *none = 1; /* segv */
	if (!strcmp(how, "fpe")) zero = 7 / zero; /* fpe */
	if (!strcmp(how, "abort")) abort(); /* abort */
	if (!strcmp(how, "exit")) exit(3); /* exit */
	if (!strcmp(how, "killed")) for (;;) sum += 3; /* killed */
	return how;
}
int main(int argc, char **argv)
{
	pthread_t t;
	pthread_create(&t, NULL, waits, NULL);
	usleep(1200000);
	if (argc > 2) pthread_create(&t, NULL, dies, argv[1]), pthread_join(t, NULL);
	signal(SIGUSR1, ignore);
	raise(SIGUSR1);
	if (!strcmp(argv[1], "killed") && !fork()) { usleep(200000); kill(getppid(), SIGKILL); _exit(0); }
	dies(argv[1]);
	return 0;
}
END_C
check 'the program is made' gcc -g -O1 -fno-omit-frame-pointer -pthread -o die die.c
line() { grep -n "/\* $1 \*/" die.c | cut -d: -f1; }
# The first line of the program in the stack of the first thread that died, and how many threads there are.
first() {
	"$BIN" sql -f csv "$R" "SELECT f.line, (SELECT count(DISTINCT globalTid) FROM SL_DEATHS WHERE globalTid >> 24 = d.globalTid >> 24), (SELECT count(*) FROM SL_DEATHS WHERE globalTid >> 24 = d.globalTid >> 24)
		FROM SL_DEATHS AS d JOIN SL_CHAIN_FRAMES AS f ON f.stack = d.stackId JOIN StringIds AS s ON s.id = f.file AND s.value LIKE '%die.c' WHERE f.line <> $(line WAITS) ORDER BY timestamp, f.depth LIMIT 1" 2>&1 | tail -1
}
newer=$(uname -r | awk -F. '{ print ($1 > 6 || ($1 == 6 && $2 + 0 >= 16)) }')
ulimit -c 0
for how in segv fpe abort killed exit; do
	[ "$how$newer" != exit0 ] || { skip 'exit: the stack' 'Linux before 6.16'; continue; }
	profile $how ./die $how >out 2>err
	is "$(first)" "$(line $how),2,2" "$how: the line of the main thread, and one row of each thread"
	if [ $how = segv ] && [ "$(cat /proc/sys/debug/exception-trace 2>/dev/null)" = 1 ] && [ "$(readlink /proc/self/ns/pid)" = 'pid:[4026531836]' ] && [ -r /dev/kmsg ]; then
		is "$(q "$R" "SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE text LIKE 'kernel: die[%]: segfault at %' AND globalPid = (SELECT max(globalPid) FROM SL_PROCESS_TREE WHERE exitStatus = 11)")" 1 "segv: the kernel's line about it"
	fi
done
profile thread ./die segv thread >out 2>err
is "$(first)" "$(line segv),3,3" 'segv of another thread: its line comes first'
profile good ./die good >out 2>err
is "$(q "$R" "SELECT count(*) FROM sqlite_master WHERE name = 'SL_DEATHS'")" 0 'a program that ends well: none, and none for a signal with a handler'
"$BIN" profile --flight=10s -f true -o flight ./die segv >out 2>err
R=$W/flight.sqlite
is "$(first)" "$(line segv),2,2" 'flight recorder: the line in the report on the crash'
cat >die.py <<'END_PY'
import os, time
def leave():
    os._exit(3)  # LEAVE
time.sleep(1.2)
leave()
END_PY
if [ -x "$PY" ] && [ "$newer" = 1 ]; then
	profile python "$PY" die.py >out 2>err
	is "$("$BIN" sql -f csv "$R" "SELECT s.value, f.line FROM SL_DEATHS AS d JOIN SL_CHAIN_FRAMES AS f ON f.stack = d.stackId AND f.kind = 1 JOIN StringIds AS s ON s.id = f.symbol ORDER BY f.depth LIMIT 1" | tail -1)" \
		"leave,$(grep -n '# LEAVE' die.py | cut -d: -f1)" 'Python: the line that exits'
fi
done_testing

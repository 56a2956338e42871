#!/bin/sh
# Context switches that the kernel drops are counted in the report, always; a line at the end of the run
# names them only where they are more than one in a hundred.
# shellcheck disable=SC2015,SC2086
. tests/lib.sh
command -v gcc >/dev/null || skip_all 'gcc is not installed (package gcc)'

cat >turns.c <<'END'
/* Two threads take turns on one CPU, @argv[1] times, when a line comes, and tell. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
static _Atomic int turn;
static int rounds;
static void *play(void *arg)
{
	int me = arg != 0;
	for (int i = 0; i < rounds; i++) {
		while (turn != me)
			syscall(SYS_futex, &turn, FUTEX_WAIT, !me, 0, 0, 0);
		turn = !me;
		syscall(SYS_futex, &turn, FUTEX_WAKE, 1, 0, 0, 0);
	}
	return 0;
}
int main(int argc, char **argv)
{
	cpu_set_t set;
	pthread_t t;
	int cpu = 0;
	sched_getaffinity(0, sizeof(set), &set);
	while (!CPU_ISSET(cpu, &set)) cpu++;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	rounds = atoi(argv[1]);
	puts("ready");
	fflush(stdout);
	if (getchar() == EOF) return 1;
	pthread_create(&t, 0, play, argv);
	play(0);
	pthread_join(t, 0);
	puts("played");
	fflush(stdout);
	return getchar() == EOF;
}
END
check 'the program is made' gcc -O2 -pthread -o turns turns.c
mkfifo ask
start() { # REPORT ROUNDS
	R=$W/$1.sqlite
	"$BIN" profile -t none -f true -o "$W/$1" ./turns $2 <ask >out 2>err &
	collector=$!
	exec 3>ask
	check "$1: the program begins to take turns" wait_for 20 grep -q ready out
}
play() { # NAME: once
	echo >&3
	check "$1: the turns are taken" wait_for 60 grep -q played out
}
end() {
	echo >&3
	exec 3>&-
	wait $collector
	is $? 0 "$1: profile ends with status 0"
	lost=$(q "$R" "SELECT CAST(total(count) AS INTEGER) FROM SL_LOST_EVENTS WHERE what LIKE 'context switches%'")
	rows=$(q "$R" 'SELECT count(*) FROM SCHED_EVENTS')
	said=$(grep -c 'context-switch events were lost by the kernel' err)
	in_report=$(q "$R" "SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE text LIKE '%context-switch events were lost by the kernel%'")
	is "$said $in_report" "$((lost > 8 && lost * 100 > rows)) $((lost > 8 && lost * 100 > rows))" "$1: $lost lost of $rows: reported when more than eight, and one in a hundred"
	check "$1: sound report" intact "$R"
}

start few 3000
[ "$("$BIN" profile -t none -f true -o "$W/probe" true 2>&1 | grep -c 'no context switches')" = 0 ] || {
	echo >&3
	exec 3>&-
	skip 'lost switches are counted' 'no context switches here'
	done_testing
}
play few
end few
check 'few: every turn, but for what is counted' [ $((rows + 2 * lost)) -ge 6000 ]

# The kernel's buffer has room for some hundred thousand. Threads that run on two processors at once may hand over without
# a switch, so there may be too few for that: then four times as many turns.
for turns in 400000 1600000; do
	start many $turns
	send STOP $collector
	play many
	send CONT $collector
	end many
	[ $((lost * 100)) -le "$rows" ] || break
done
check "many: more than one in a hundred are lost" [ $((lost * 100)) -gt "$rows" ]
done_testing

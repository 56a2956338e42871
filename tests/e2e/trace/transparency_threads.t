#!/bin/sh
# Threads and signal handlers: programs work as before, and every call is a row, a total or a loss.
# shellcheck disable=SC2016,SC2086,SC1010
. tests/lib.sh

# The calls of some functions, as rows or totals, and the calls of any function that are known to be lost.
calls() { # REPORT NAMES
	q "$1" "SELECT (SELECT count(*) FROM call WHERE name IN ($2)) +
		coalesce((SELECT sum(count) FROM total WHERE name IN ($2)), 0) +
		coalesce((SELECT sum(count) FROM SL_LOST_EVENTS WHERE what LIKE 'calls:%' AND what NOT LIKE 'calls: left by%'), 0)" 2>&1
}
field() { sed -n "s/.*$1 \([0-9]*\).*/\1/p" "$2"; }

run_no=0
threads() { # NAME HOW [N]: same output in all three ways; every read counted
	name=$1
	shift
	run_no=$((run_no + 1))
	"$PROG/threads" "$@" >plain.out
	is "$?" 0 "$name, plain: the exit status is 0"
	for how in bare 'profile 0' 'profile 1000'; do
		case $how in
		bare) bare tb$run_no "$PROG/threads" "$@" >traced.out ;;
		*) profile t "--osrt-threshold=${how#* }" "$PROG/threads" "$@" >traced.out 2>err.out ;;
		esac
		is "$?" 0 "$name, $how: the exit status is 0"
		check "$name, $how: the output is that untraced" diff plain.out traced.out
		check "$name, $how: the report is sound" intact "$R"
		want=$(field calls traced.out)
		[ -z "$want" ] || is "$(calls "$R" "'read'")" "$want" "$name, $how: every read is there, or known to be lost"
	done
}
threads 'threads that end by pthread_exit and return' exit
threads 'the main thread leaves first' main_exit
threads 'destructors of thread data do I/O' key 50
threads 'threads cancelled in readv and in cond_wait' cancel
threads '2,000 threads at once' at_once 2000
threads '20,000 threads one after the other' sequence 20000
profile seq --osrt-threshold=0 --on-full=block "$PROG/threads" sequence 20000 >traced.out
is "$(q "$R" "SELECT count(*) FROM call WHERE name = 'read'")" 20000 '20,000 threads one after the other, on-full=block: nothing is lost'
threads 'forks while other threads make calls' fork 60
is "$(q "$R" "SELECT count(*) FROM (SELECT pid, count(*) n FROM (
	SELECT pid FROM call WHERE name = 'read' UNION ALL SELECT pid FROM total WHERE name = 'read') GROUP BY pid)")" 61 \
	'each forked child has calls of its own'

for t in 0 1000; do
	profile h --osrt-threshold=$t --on-full=block "$PROG/handler" 700 >traced.out
	is "$?" 0 "a handler at 1 kHz: the exit status is 0, threshold $t"
	want=$(($(field read traced.out) + $(field write traced.out)))
	is "$(calls "$R" "'read', 'write'")" "$want" "a handler at 1 kHz: rows + totals + lost = calls made, threshold $t"
	check "a handler at 1 kHz: the report is sound, threshold $t" intact "$R"
	is "$(q "$R" 'SELECT count(*) FROM call WHERE level > 2')" 0 "a handler at 1 kHz: nesting levels do not grow, threshold $t"
done

for how in longjmp coroutines atfork eintr; do
	"$PROG/jumps" $how >plain.out 2>plain.err
	profile j --osrt-threshold=0 "$PROG/jumps" $how >traced.out 2>traced.err
	is "$?" 0 "$how: the exit status is 0"
	sed -i '/^sightline: /d' traced.err
	check "$how: the output is that untraced" diff plain.out traced.out
	check "$how: the messages are those untraced" diff plain.err traced.err
	is "$(q "$R" "SELECT count(*) FROM call WHERE name = 'read' AND path = '/dev/zero' AND pid = (SELECT min(pid) FROM call)")" \
		"$(field reads traced.out)" "$how: every read that returned is there"
	is "$(q "$R" 'SELECT max(level) <= 1 FROM call')" 1 "$how: nesting levels come back"
done
if [ -x "$PROG/cxx" ]; then
	"$PROG/cxx" >plain.out 2>&1
	profile x --osrt-threshold=0 "$PROG/cxx" >traced.out
	is "$?" 0 'C++ exceptions through libc: the exit status is 0'
	check 'C++ exceptions through libc: the output is that untraced' diff plain.out traced.out
	is "$(q "$R" "SELECT count(*) FROM call WHERE name = 'read' AND path = '/dev/zero'")" "$(field reads traced.out)" \
		'C++ exceptions through libc: every read is there'
	is "$(q "$R" "SELECT max(level) FROM call WHERE name = 'read' AND tid = pid AND start = (SELECT max(start) FROM call WHERE name = 'read')")" 0 \
		'C++ exceptions through libc: nesting levels come back'
fi
done_testing

#!/bin/sh
# CPU samples of captures: none are taken outside, all are taken inside, of threads and children whenever they began; the
# next capture knows what was mapped meanwhile.
# shellcheck disable=SC2016,SC2086,SC2317
. tests/lib.sh

[ "$(uname -m)" = x86_64 ] || skip_all 'stacks of samples are for x86-64 here'
P=$PROG/cpu HZ=1000
log() { "$PY" "$E2E/kernel/sample_log.py" "$@"; }
with() { # PERCENT FUNCTION: so many samples of the program have it in their stack
	got=$(q "$R" "SELECT count(DISTINCT c.id) || ' ' || (SELECT count(*) FROM COMPOSITE_EVENTS) FROM SAMPLING_CALLCHAINS c JOIN StringIds s ON s.id = symbol WHERE s.value = '$2'")
	check "samples with $2 in their stack, of all: $got" share_ok $got "$1"
}
# NAME PROGRAM...: a session with three captures of 0.35 s each at least, with as much time between them
captures() {
	name=$1
	shift
	"$BIN" launch -t none --cpuctxsw=none -s process-tree --session-new=$name "$@" >out 2>err &
	launched=$!
	wait_for 20 sh -c "'$BIN' sessions list -p false | grep -q $name"
	for i in 1 2 3; do
		check "$name: start $i" "$BIN" start --session=$name -s process-tree -f true -o $name$i
		sleep 0.35
		[ "$name" = libraries ] || log spend 0.2 log # where others want the CPUs, too
		check "$name: stop" "$BIN" stop --session=$name
		sleep 0.35
	done
	"$BIN" shutdown --session=$name --kill=sigkill >/dev/null
	wait $launched
}

captures threads "$P" log t2 20
for i in 1 2 3; do
	R=$W/threads$i.sqlite
	check "threads $i: as many as there was CPU time, none outside" log count $HZ log "$R"
	with 95 caller
done
captures children "$P" log c100 0.15
for i in 1 2 3; do
	R=$W/children$i.sqlite
	check "children $i: as many as there was CPU time" log count $HZ log "$R" 85 115
	check "children $i: of each" log tasks $HZ log "$R"
	with 90 caller
done
captures brief "$P" log b100 0.1
for i in 1 2 3; do
	R=$W/brief$i.sqlite
	check "brief threads $i: as many as there was CPU time" log count $HZ log "$R" 85 115
	with 90 caller
done

# What is mapped between captures.
if command -v gcc >/dev/null; then
	for i in 1 2 3 4 5 6 7 8; do
		printf '#include <time.h>\nstatic volatile unsigned sink;\n__attribute__((noinline)) static void turn_%d(void) { for (unsigned i = 0; i < 50000; i++) sink += i; }\nvoid spin(double s) { for (clock_t end = clock() + s * CLOCKS_PER_SEC; clock() < end;) turn_%d(); sink++; }\n' $i $i >lib.c
		gcc -O2 -fPIC -shared -o lib$i.so lib.c
	done
	captures libraries "$P" log l8 0.6
	for i in 1 2 3; do
		R=$W/libraries$i.sqlite
		with 90 spin
		is "$(q "$R" "SELECT count(*) BETWEEN 1 AND 2 FROM (SELECT DISTINCT value FROM SAMPLING_CALLCHAINS c JOIN StringIds s ON s.id = symbol WHERE s.value LIKE 'turn__')")" 1 "libraries $i: one or two of them"
	done
else
	skip 'libraries that are loaded between captures' 'gcc is not installed (package gcc)'
fi

# A range that is never opened.
profile never -t osrt -s process-tree -c cudaProfilerApi "$P" log t1 0.3 3 2>err
is $? 3 'a range that is never opened'
is "$(q "$R" 'SELECT count(*) FROM COMPOSITE_EVENTS')" 0 'has no samples'
done_testing

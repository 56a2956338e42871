#!/bin/sh
# Whatever goes wrong around a trace: the program works as before, what was recorded is in the report
# or counted as lost, and the report is a sound database.
# shellcheck disable=SC2016,SC2046,SC2086,SC2094,SC3045
. tests/lib.sh

head -c 100 /dev/zero >data
calls() { # REPORT: preads, as rows, totals and losses
	q "$1" "SELECT (SELECT count(*) FROM call WHERE name LIKE 'pread%') || ' ' ||
		coalesce((SELECT sum(count) FROM total WHERE name LIKE 'pread%'), 0)" 2>&1
}
lost() { q "$1" "SELECT sum(count) FROM SL_LOST_EVENTS WHERE $RECORDS" 2>/dev/null | sed 's/^$/0/'; }
works() { # STATUS OUTPUT-FILE N NAME: the program of N preads did its work
	is "$1 $(cat "$2")" "0 bytes $((64 * $3))" "$4"
}
collector_of() { # the collector of this script's session: its command names our report
	for p in /proc/[0-9]*; do
		[ "$(readlink "$p/exe")" = "$BIN" ] && tr '\0' '\n' <"$p/cmdline" 2>/dev/null | grep -qF "$W" && echo "${p#/proc/}"
		[ "$(readlink "$p/exe")" = "$BIN" ] && tr '\0' '\n' <"$p/environ" 2>/dev/null | grep -qF "$W" && echo "${p#/proc/}"
	done | sort -u
}
switches() { sed -n 's/^voluntary_ctxt_switches:[[:space:]]*//p' "/proc/$1/status"; }
waits_for_room() { # PID: it is in futex(), which has one number on x86-64 and another on arm64
	case $(cut -d' ' -f1 "/proc/$1/syscall" 2>/dev/null) in 202 | 98) ;; *) return 1 ;; esac
}
has_waited() { waits_for_room "$1" && [ "$(switches "$1")" -ge "$2" ]; } # PID SWITCHES

# ---- SIGKILL of the program ----
for n in 1 1000 100000; do
	for how in profile bare; do
		case $how in
		profile) profile k --osrt-threshold=0 --on-full=block "$PROG/repeat" "$W/data" $n kill >out 2>err ;;
		bare)
			SIGHTLINE_OPTIONS='--osrt-threshold=0 --on-full=block' bare k$n "$PROG/repeat" "$W/data" $n kill >out 2>err
			wait_for 20 sh -c '[ -f "$0" ] && [ ! -e "$0-wal" ]' "$R"
			;;
		esac
		is "$?" "$([ $how = profile ] && echo 137 || echo 0)" "SIGKILL after $n calls, $how: the run has its status"
		is "$(calls "$R")" "$n 0" "SIGKILL after $n calls, $how: every call is a row"
		check "SIGKILL after $n calls, $how: the report is sound" intact "$R"
	done
done
# With a threshold, which some reach, all or none: what a call takes is up to the machine.
profile k --osrt-threshold=1000 "$PROG/repeat" "$W/data" 5000 kill >out 2>err
set -- $(calls "$R")
is "$(($1 + $2))" 5000 'SIGKILL with a threshold: rows and totals are all calls'
profile k --osrt-threshold=1000000000 "$PROG/repeat" "$W/data" 5000 kill >out 2>err
is "$(calls "$R")" '0 5000' 'SIGKILL with a threshold that no call reaches: totals are all calls'

# ---- SIGKILL of the collector, while the program goes on; then recover ----
for how in profile bare; do
	rm -f data.done data.go out
	case $how in
	profile) profile c --osrt-threshold=0 "$PROG/repeat" "$W/data" 20000 wait >out 2>err & ;;
	bare) SIGHTLINE_OPTIONS=--osrt-threshold=0 bare cb "$PROG/repeat" "$W/data" 20000 wait >out 2>err & ;;
	esac
	R=$W/c.sqlite
	[ $how = profile ] || R=$W/cb.sqlite
	wait_for 10 test -f data.done || result 1 "the program makes its first calls, $how"
	send KILL $(collector_of)
	touch data.go
	wait_for 10 test -s out
	is "$(cat out)" "bytes $((64 * 40000))" "SIGKILL of the collector: the program goes on, $how"
	check "SIGKILL of the collector: the report is sound before recover, $how" intact "$R"
	check "SIGKILL of the collector: recover succeeds, $how" "$BIN" recover "$R"
	set -- $(calls "$R")
	have=${1:-0} gone=$(lost "$R")
	check "SIGKILL of the collector: calls before it are rows ($have rows, $gone lost of 40000), $how" \
		eval '[ "$have" -ge 20000 ] && [ "$((have + ${gone:-0}))" -ge 20000 ]'
	is "$((have + ${gone:-0}))" 40000 "SIGKILL of the collector: rows + lost = calls, $how"
	check "SIGKILL of the collector: the recovered report is sound, $how" intact "$R"
	is "$(q "$R" "SELECT count(*) FROM sqlite_master WHERE name = 'SL_STATE'")" 0 "SIGKILL of the collector: the recovered report is finished, $how"
	check "SIGKILL of the collector: recover of a finished report succeeds, $how" "$BIN" recover "$R"
	wait
done
is "$("$BIN" recover /dev/null 2>&1 | wc -l)" 1 'recover of /dev/null prints one line'

# ---- policies when the collector stands still ----
for policy in wait drop block; do
	rm -f out
	R=$W/s.sqlite
	rm -f data.done data.go
	profile s --osrt-threshold=0 --on-full=$policy --buffer-size=1 "$PROG/repeat" "$W/data" 150000 wait >out 2>err &
	job=$!
	wait_for 20 test -f data.done
	wait_for 20 eval '[ "$(q "$R" "SELECT count(*) FROM call WHERE name LIKE \"pread%\"" 2>/dev/null)" -gt 1000 ]'
	result $? "$policy: rows are in the report while the program runs"
	victim=$(collector_of | head -1)
	send STOP $victim
	touch data.go
	case $policy in
	block) # 60 waits of 50 ms in the futex of its ring, thirty times what --on-full=wait allows
		program=$(pgrep -P "$victim" -x repeat)
		wait_for 25 waits_for_room "$program" && waits=$(switches "$program") &&
			wait_for 25 has_waited "$program" $((waits + 60))
		has_waited=$?
		check "$policy: the program waits for a stopped collector" [ $has_waited = 0 -a ! -s out ]
		;;
	*)
		check "$policy: the program gets through with a stopped collector" wait_for 25 test -s out
		;;
	esac
	send CONT $victim
	wait $job
	works $? out 300000 "$policy: the program works"
	check "$policy: the report is sound" intact "$R"
	set -- $(calls "$R")
	case $policy in
	block) is "$1 $(lost "$R")" '300000 0' "$policy: every call is a row, none is lost" ;;
	*) is "$(($1 + $(lost "$R")))" 300000 "$policy: rows + lost = calls" ;;
	esac
done

# ---- one report name, again and again: the collector of the run before may still be at it ----
for i in 1 2 3 4 5 6 7 8; do
	SIGHTLINE_OPTIONS='-f true --osrt-threshold=0' SIGHTLINE_OUTPUT=$W/again.sqlite LD_PRELOAD=$SHIM "$PROG/repeat" "$W/data" 20000 >out 2>err
	is "$(cat out err)" "bytes $((64 * 20000))" "run $i on one report, bare: the program works without a message"
	check "run $i on one report, bare: the report is sound" intact again.sqlite
	is "$(calls again.sqlite)" '20000 0' "run $i on one report, bare: each of its calls is a row"
	profile again --osrt-threshold=0 "$PROG/repeat" "$W/data" 10000 >out 2>err
	is "$? $(cat out)" "0 bytes $((64 * 10000))" "run $i on one report, profile: the program works"
	check "run $i on one report, profile: the report is sound" intact again.sqlite
	is "$(calls again.sqlite)" '10000 0' "run $i on one report, profile: each of its calls is a row"
done

# ---- no file may be large enough for a report: a line on stderr, in place of being killed ----
(ulimit -f 30 && exec "$BIN" profile -o large true) >out 2>err
is "$? $(cat err)" "1 sightline: $W/large.sqlite: no room on the disk" 'a report beyond the limit on file size: profile ends with one line'
(ulimit -f 30 && SIGHTLINE_OUTPUT=large LD_PRELOAD=$SHIM exec cat "$TOP/LICENSE") >out 2>err
is "$? $(grep -c '^sightline: not tracing: .*: no room on the disk$' err) $(cmp out "$TOP/LICENSE" && echo same)" '0 1 same' 'a report beyond the limit on file size, bare: the program runs, with one line'

# ---- signalled while all is opened: nothing is left; or just after that: the program had begun, and has ended ----
blocks() { grep -q '^SigBlk:.*[4-7c-f]...$' "/proc/$1/status"; } # SIGTERM
begun() { [ -n "$(ls .sessions)" ]; }
for i in 1 2 3 4 5 6 7 8; do
	for sig in TERM:143 HUP:129; do
		rm -f begun.sqlite
		"$BIN" profile -o begun sleep 1000 >out 2>err &
		job=$!
		wait_for 20 begun
		kill -${sig%:*} $job
		wait $job
		is "$? $(ls .sessions)" "${sig#*:} " "SIG${sig%:*} while profile opens its files, run $i: it ends profile, no session is left"
		[ ! -e begun.sqlite ] || check "SIG${sig%:*} once the program had begun, run $i: the report is finished" finished "$W/begun.sqlite"
	done
done
touch -d '1 day ago' begun.sqlite
flock begun.sqlite sh -c '
	"$0" profile -f true -o begun sleep 1000 2>err &
	echo $! >job
	while [ ! -e go ]; do sleep 0.05; done' "$BIN" &
holder=$!
wait_for 20 test -s job
wait_for 20 blocks "$(cat job)"
send TERM "$(cat job)"
check 'SIGTERM while another run holds the old report ends profile' wait_for 5 test ! -e "/proc/$(cat job)/exe"
is "$(ls begun.sqlite* .sessions | tr '\n' ' ')" 'begun.sqlite  .sessions: ' 'SIGTERM while another run holds the old report leaves the report alone'
touch go
wait $holder

# ---- a ring that can never have the room its quota allows (small files only), and is never drained ----
for policy in wait block drop; do
	R=$W/tiny-$policy.sqlite
	(ulimit -f 30000 && SIGHTLINE_OPTIONS="--osrt-threshold=0 --on-full=$policy" SIGHTLINE_OUTPUT=$R LD_PRELOAD=$SHIM \
		exec timeout 100 sh -c 'echo ready >tiny; while [ -e tiny ]; do sleep 0.05; done; exec "$@"' sh "$PROG/repeat" "$W/data" 600000) >out 2>err &
	pid=$!
	wait_for 20 test -s tiny
	send KILL $(collector_of)
	rm -f tiny
	wait $pid
	is "$? $(cat out)" "0 bytes $((64 * 600000))" "a small full ring without a collector, --on-full=$policy: the program ends"
done
done_testing

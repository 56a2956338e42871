#!/bin/sh
# SIGKILL of the program, the collector, the keeper or `recover` at a random moment, in each mode: the calls in the report, as rows,
# in totals (by function, and by file) and as losses, are those that the program has made, for each thread.
#   KILLS=N        rounds of each mode and victim (1)
#   SEED=N         of the random numbers (the time); a failure names it
#   MODES, VICTIMS these alone
#   CALLS=N        calls of a thread at most
# shellcheck disable=SC2016,SC2046,SC2086
. tests/lib.sh

KILLS=${KILLS:-1} SEED=${SEED:-$(date +%s)}
MODES=${MODES:-block wait drop} VICTIMS=${VICTIMS:-none program collector-now collector-after both keeper recover recover-files}
head -c 100 /dev/zero >data

random() { # N: 0 to N - 1
	SEED=$(((SEED * 1103515245 + 12345) & 0x7fffffff))
	random=$(((SEED >> 8) % $1))
}
moment() {
	random 3
	case $random in
	0) random 20 ;;
	1) random 80 ;;
	*) random 300 ;;
	esac
	sleep 0.$(printf %03d $random)
}
words() { od -A n -v -t u8 -w64 counts 2>/dev/null; }
is_at_work() { # each thread has made a call
	words | awk 'NR == 1 { pid = $1 } NR > 1 { cnt++; if ($3) done++ } END { exit !(pid && cnt == 2 && done == 2) }'
}
keeper() { # of the collector; one that has been killed is a zombie until it ends
	for p in $(pgrep -P "$1" sightline-keep); do
		grep -q '^State:.*Z' "/proc/$p/status" || echo "$p"
	done
}
sessions() { ls "$SIGHTLINE_SESSIONS"; }
# Per thread, from the counts and the report: what differs.
differs() {
	q "$R" "SELECT t.tid, (SELECT count(*) FROM call WHERE call.tid = t.tid AND name LIKE 'pread%'),
			(SELECT coalesce(sum(count), 0) FROM total WHERE total.tid = t.tid AND name LIKE 'pread%'),
			(SELECT coalesce(sum(lostCount), 0) FROM total WHERE total.tid = t.tid AND name LIKE 'pread%'),
			(SELECT coalesce(sum(count), 0) FROM SL_LOST_EVENTS WHERE globalTid & 0xffffff = t.tid AND what LIKE 'calls:%'),
			(SELECT coalesce(sum(count), 0) FROM SL_FILE_TOTALS WHERE eventType <> 1 AND globalTid & 0xffffff = t.tid)
		FROM (SELECT column1 AS tid FROM (VALUES $(words | awk 'NR > 1 { printf "%s(%s)", sep, $1; sep = "," }'))) t" >found 2>&1
	words | awk 'NR == FNR { split($0, f, "|"); seen[f[1]] = 1; rows[f[1]] = f[2]; totals[f[1]] = f[3]; dropped[f[1]] = f[4]; lost[f[1]] = f[5]; files[f[1]] = f[6]; next }
		FNR > 1 {
			made = rows[$1] + totals[$1]
			by_file = rows[$1] + files[$1] # dropped ones included; the others are of a collector that was killed
			if (by_file > $2 || by_file + lost[$1] - dropped[$1] < $3)
				printf "thread %d made %d to %d on its file: rows %d, totals %d, dropped %d, lost %d\n", $1, $3, $2, rows[$1], files[$1], dropped[$1], lost[$1]
			if (!seen[$1] || made + dropped[$1] < $3 || made + dropped[$1] > $2 || made + lost[$1] < $3 || made + lost[$1] > $2)
				printf "thread %d made %d to %d: rows %d, totals %d, dropped %d, lost %d\n", $1, $3, $2, rows[$1], totals[$1], dropped[$1], lost[$1]
		}' found -
	intact "$R" || echo 'not sound'
	[ -z "$(sessions)" ] || echo 'a session is left'
	[ ! -e "$R.rings" ] || echo 'rings are left'
}
ends() { # PID
	wait $1 2>/dev/null
}
go_on() { # the program ends by itself
	: >counts.stop
}
recover() {
	"$BIN" recover "$R" >out 2>&1 || echo "recover: $(cat out)" >>failed
}

round() { # MODE VICTIM
	rm -rf counts counts.stop exact.sqlite* failed
	R=$W/exact.sqlite
	begun=$SEED
	random 4
	case $random in
	0 | 1) threshold=0 ;;
	2) threshold=1000 ;;
	*) threshold=1000000000 ;;
	esac
	random 3
	case $random in
	0) burst=0 calls=1000000 ;;
	1) burst=500 calls=1000000 ;;
	*) burst=5000 calls=1000000 ;;
	esac
	[ $threshold = 0 ] || calls=20000000
	random 2
	size=$([ $random = 0 ] && echo 1 || echo 64)
	random 3
	live=$([ $random = 0 ] && echo --live=always)
	random 2
	clock=$([ $random = 0 ] && echo monotonic || echo "${SIGHTLINE_CLOCK:-}")
	SIGHTLINE_CLOCK=$clock "$BIN" profile -f true -o exact --osrt-threshold=$threshold --on-full=$1 --buffer-size=$size $live \
		"$PROG/tally" "$W/data" "$W/counts" 2 ${CALLS:-$calls} $burst >log 2>&1 &
	job=$!
	wait_for 30 is_at_work
	program=$(words | awk 'NR == 1 { print $1 }')
	if ! [ "${program:-0}" -gt 1 ]; then
		result 1 "$1, $2: the program begins its calls"
		diag <log
		return
	fi
	moment
	case $2 in
	none) go_on ;;
	program) kill -KILL $program 2>/dev/null ;;
	keeper)
		k=$(keeper $job)
		kill -KILL $k 2>/dev/null
		moment
		go_on
		;;
	both)
		kill -KILL $program $job 2>/dev/null
		ends $job
		recover
		;;
	collector-now)
		kill -KILL $job
		ends $job
		moment
		recover &
		job=$!
		moment
		moment
		go_on
		;;
	collector-after)
		kill -KILL $job
		ends $job
		moment
		go_on
		wait_for 30 eval '[ -z "$(sessions)" ]' || echo 'the keeper does not end' >>failed
		recover
		;;
	recover-files)
		kill -KILL $program $job 2>/dev/null
		ends $job
		wait_for 30 eval '[ -z "$(sessions)" ]' || echo 'the keeper does not end' >>failed
		"$BIN" recover "$R" >out 2>&1 &
		job=$!
		moment
		kill -KILL $job 2>/dev/null # it may have ended
		ends $job
		recover
		;;
	recover)
		kill -KILL $job
		ends $job
		"$BIN" recover "$R" >out 2>&1 &
		job=$!
		moment
		kill -KILL $job 2>/dev/null # it may have ended
		ends $job
		recover &
		job=$!
		moment
		go_on
		;;
	esac
	ends $job
	differs >>failed
	[ ! -s failed ]
	result $? "$1, kill of $2: rows, totals and losses are all calls" || {
		echo "SEED=$begun: threshold $threshold, $burst at once, $size MiB${clock:+, $clock}${live:+, $live}"
		cat failed log out
	} | diag
	[ "$(readlink "/proc/$program/exe")" != "$PROG/tally" ] || kill -KILL $program
}

for _ in $(seq $KILLS); do
	for mode in $MODES; do
		for victim in $VICTIMS; do round $mode $victim; done
	done
done
done_testing

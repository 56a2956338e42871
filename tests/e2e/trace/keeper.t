#!/bin/sh
# The keeper of the rings is killed, alone, before the collector, or with it: what is lost is counted, and there is a message.
# shellcheck disable=SC2016
. tests/lib.sh

head -c 100 /dev/zero >data
keeper() { # of the collector; one that has been killed is a zombie until it ends
	for p in $(pgrep -P "$1" sightline-keep); do
		grep -q '^State:.*Z' "/proc/$p/status" || echo "$p"
	done
}
begin() { # REPORT: a program that has made its first calls and waits
	R=$W/$1.sqlite
	rm -f data.done data.go out
	"$BIN" profile -f true -o "$1" --osrt-threshold=0 "$PROG/repeat" "$W/data" 20000 wait >out 2>err &
	job=$!
	wait_for 20 test -f data.done
	# On a busy machine it may not have run yet, and has no name then.
	wait_for 20 eval '[ -n "$(keeper $job)" ]'
}
ends() { # PID
	wait "$1" 2>/dev/null
	status=$?
}
preads() { q "$R" "SELECT count(*) FROM call WHERE name LIKE 'pread%'"; }
gone() { q "$R" "SELECT count(*) FROM SL_LOST_EVENTS WHERE what LIKE 'rings: gone%' AND count > 0"; }
note() { q "$R" "SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE text LIKE '%keeper of the rings was killed%'"; }

# ---- alone ----
begin alone
first=$(keeper $job)
send KILL "$first"
wait_for 20 eval '[ -n "$(keeper $job)" ]'
result $? 'the keeper is killed: another one is started'
touch data.go
ends $job
is "$status $(preads) $(note) $(gone)" '0 40000 1 0' 'the keeper is killed: no call is lost, and the report has a note'
is "$(ls .sessions)" '' 'the keeper is killed: no session is left'

# ---- the collector is killed before it has read anything: by the first call of its program ----
R=$W/first.sqlite
"$BIN" profile -f true -o first --osrt-threshold=0 sh -c 'kill -KILL $PPID; exec "$@"' sh "$PROG/repeat" "$W/data" 20000 >out 2>err
wait_for 20 test -s out
check 'recover succeeds where the program has killed the collector at once' "$BIN" recover "$R"
is "$(preads) $(gone)" '20000 0' 'every call is in the report of a collector that was killed at once'

# ---- again and again ----
begin often
cnt=0
while k=$(keeper $job) && [ -n "$k" ] && [ $cnt -lt 20 ]; do
	kill -KILL "$k"
	cnt=$((cnt + 1))
	wait_for 20 test ! -e "/proc/$k/exe"
	wait_for 20 eval '[ -n "$(keeper $job)" ] || grep -q "killed: if the collector is killed, too" err'
done
is $cnt 4 'a keeper that is killed again and again is started three times more'
touch data.go
ends $job
is "$status $(preads)" '0 40000' 'the recording goes on without a keeper'

# ---- then the collector: the second one has the rings, where the collector could open them again ----
begin second
first=$(keeper $job)
send KILL "$first"
wait_for 20 eval '[ -n "$(keeper $job)" ] && grep -q "another one started" err'
send KILL $job
ends $job
touch data.go
wait_for 20 test -s out
if grep -q 'another one started$' err; then
	check 'recover reads the rings of the second keeper' "$BIN" recover "$R"
	is "$(preads) $(gone)" '40000 0' 'every call is in the report by the second keeper'
else
	check 'recover succeeds where the second keeper did not get all rings' "$BIN" recover "$R"
	is "$(gone)" 1 'the rings that the second keeper did not get are counted'
fi

# ---- a keeper that gets no processor: recover waits for the answer ----
begin late
k=$(keeper $job)
send STOP "$k"
send KILL $job
ends $job
(
	sleep 4.5
	kill -CONT "$k"
) &
touch data.go
"$BIN" recover "$R" >recovered 2>err
is "$? $(preads) $(gone) $(grep -c 'the report is complete' err)" '0 40000 0 1' 'recover waits for a keeper that runs only after 4.5 s'
wait

# ---- both at once ----
for how in recover start; do
	begin both-$how
	k=$(keeper $job)
	kill -STOP $job # or it starts another keeper between the two signals
	kill -KILL "$k" $job
	ends $job
	touch data.go
	wait_for 20 test -s out
	is "$(cat out)" "bytes $((64 * 40000))" "keeper and collector are killed: the program goes on, $how"
	if [ $how = start ]; then
		"$BIN" profile -f true -o next true 2>err
		is "$? $(grep -cF "sightline recover $R" err)" '0 1' 'keeper and collector are killed: the next start names recover'
		"$BIN" profile -f true -o next true 2>err
		is "$? $(grep -cF "sightline recover $R" err)" '0 0' 'keeper and collector are killed: only the next start names recover'
	fi
	"$BIN" recover "$R" >out 2>err
	is "$? $(grep -c 'the rings of 1 program image are gone' err)" '0 1' "keeper and collector are killed: recover names the rings that are gone, $how"
	is "$(gone) $(q "$R" "SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE text LIKE 'the rings of 1 program%'")" '1 1' "keeper and collector are killed: the report counts the rings that are gone, $how"
	is "$(grep -c 'the report is complete' err) $(q "$R" "SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE text LIKE '%could not be entered%'")" '0 0' \
		"keeper and collector are killed: recover says neither that nothing is missing nor that the program was not traced, $how"
	check "keeper and collector are killed: the report is sound, $how" intact "$R"
	is "$(ls .sessions)" '' "keeper and collector are killed: no session is left, $how"
done
done_testing

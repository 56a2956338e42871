#!/bin/sh
# start, stop and cancel for all sessions of a job; and what is left when they have ended (job.t: dump).
. tests/lib.sh
. "$TOP/tests/e2e/lib/job.sh"

# ---- start and stop ----
pids=
for i in 1 2; do session $i --start-later=true "$P" 1 300 1 ok; done
check 'two sessions that record nothing yet are in the folder of the job' wait_for 20 there 2
job start
is "$? $(cat err)" '0 ' 'start --job succeeds without a message'
is "$(sqlite3 -readonly n1.sqlite 'SELECT count(*) FROM META_DATA_CAPTURE' 2>&1 | grep -c '^[0-9]')" 1 'recording has begun when start --job returns'
job start
is "$? $(grep -c 'records already' err)" '1 2' 'start --job again: both sessions record already'
job stop
is "$? $(reports)" '0 2' 'stop --job writes a report of each session'
job cancel
is "$? $(grep -c 'records nothing' err)" '1 2' 'cancel --job: no session records'
for bad in "dump --job=$W/ds --session=x" 'stop --run=j' "start --job=$W/ds -o x" "start --job=$W/ds --delay=3" 'start --run=j'; do
	# shellcheck disable=SC2086
	"$BIN" $bad >out 2>err
	is "$?-$(wc -l <err)" 2-1 "$bad is refused with status 2 and one line"
done
# shellcheck disable=SC2046
kill -TERM $(programs)
wait
check 'the folder of the job is gone with the last session' wait_for 20 sh -c "[ ! -e '$JOB' ]"
"$BIN" dump --job="$W/ds" >out 2>err
is "$? $(cat err)" "1 sightline: dump: $W/ds has no sessions now (begin them with: sightline profile --ranks=$W/ds)" 'dump --job after the last session names how to begin one'
done_testing

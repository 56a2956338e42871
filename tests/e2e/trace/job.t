#!/bin/sh
# Commands for all sessions of a job, through a folder that they share: sessions of one machine are the nodes. Whatever lies in
# the folder, sessions and program go on.
. tests/lib.sh
. "$TOP/tests/e2e/lib/job.sh"
# How often the process of each session that reads the folder has waited for the next look, and whether each has done so TIMES more.
looks() {
	for session_pid in $pids; do
		sed -n 's/^voluntary_ctxt_switches:[[:space:]]*//p' /proc/"$(pgrep -P "$session_pid" -x sightline)"/status
	done
}
have_looked() { # LOOKS-BEFORE TIMES
	looks | { # shellcheck disable=SC2086
		for before in $1; do
			read -r now && [ "$now" -ge $((before + $2)) ] || exit 1
		done
	}
}

# ---- flight recorders ----
pids=
for i in 1 2 3; do session $i --flight=20s "$P" 1 300 1 ok; done
check 'three sessions are in the folder of the job' wait_for 20 there 3
job dump
is "$? $(reports) $(wc -l <err)" '0 3 3' 'dump --job writes a report of each session'
for i in 1 2 3; do
	check "report $i is whole when the command returns" intact n$i.sqlite
	is "$(q "$W/n$i.sqlite" "SELECT value FROM META_DATA_CAPTURE WHERE name = 'SL_CAPTURE_FLIGHT_REASON'")" 'sightline dump --job' "report $i has dump --job as its reason"
done
job dump --run=other
is "$? $(cat err)" "1 sightline: dump: $W/ds has no sessions of run other now" 'dump --run of a run without sessions fails'
job start
is "$? $(grep -c "^sightline: start: $HOST, process [0-9]*: session 'profile-[0-9]*' is a flight recorder: 'sightline dump' writes a report$" err)" '1 3' \
	'start --job prints the refusal of each flight recorder'

# ---- two commands at one moment ----
timeout 100 "$BIN" dump --job="$W/ds" >out.a 2>err.a &
job dump
is "$? $(reports)" '0 3' 'two dump --job at once: the one in the foreground has three reports'
wait $!
is "$? $(grep -c report: err.a)" '0 3' 'two dump --job at once: the one in the background has three reports'

# ---- what else the folder may hold ----
mkfifo "$JOB/at/fifo" "$JOB/fifo"
mkdir "$JOB/at/folder"
ln -s /etc/passwd "$JOB/at/link"
head -c 300000 /dev/zero | tr '\0' x >"$JOB/at/big"
head -c 3000 /dev/urandom >"$JOB/at/noise"
printf 'sightline-job-1\nhost \033[2J\n' | head -c 17 >"$JOB/at/half"
: >"$JOB/at/empty"
printf 'sightline-job-1\n%016d shutdown now\n%016d dump\nrubbish\n\n%0200000d\n' 1 2 3 >ask && mv ask "$JOB/ask"
if [ "$(id -u)" = 0 ]; then
	printf 'sightline-job-1\nhost other\npid 1\n' >"$JOB/at/other" && chown 65534 "$JOB/at/other"
fi
job dump
is "$? $(reports) $(wc -l <err)" '0 3 3' 'rubbish in the folder of the job is passed over'
if [ "$(id -u)" = 0 ]; then
	printf 'sightline-job-1\n%016d dump\n' 77 >ask && chown 65534 ask && mv ask "$JOB/ask"
	seen=$(looks)
	check 'each session looks for requests three times' wait_for 20 have_looked "$seen" 3
	is "$(grep -l '0000000000000077' "$JOB"/at/"$HOST"-* | wc -l)" 0 'requests of another user are not done'
else
	skip 'requests of another user are not done' 'needs root'
fi
rm -f "$JOB/ask" && ln -s /dev/zero "$JOB/ask"
job dump
is "$? $(reports)" '0 3' 'a link to /dev/zero in place of the requests is passed over'

# ---- a session that is killed ----
all=$(programs)
# shellcheck disable=SC2086
set -- $pids
kill -9 "$1"
check 'a session that is killed is gone from the folder of the job' wait_for 20 sh -c "[ \$(find '$JOB/at' -type f -name '$HOST-*' | wc -l) = 2 ]"
job dump
is "$? $(reports)" '0 2' 'dump --job after a session was killed: the two others answer'
# shellcheck disable=SC2086
kill -TERM $all
wait

# ---- a shared folder where another user was first ----
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$W" && rm -rf ds && mkdir -m 1777 ds && chmod 1777 ds
	theirs() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
	theirs mkdir -m 1777 ds/_jobs && theirs chmod 1777 ds/_jobs
	JOB=$W/ds/_jobs-0/j pids=
	session 1 --flight=20s "$P" 1 300 1 ok
	check 'a session is in a folder of its user where another user has made _jobs' wait_for 20 there 1
	theirs mkdir -p ds/_jobs/j/at
	job dump
	is "$? $(reports)" '0 1' 'dump --job reaches the sessions of its user where another user has made _jobs'
	# shellcheck disable=SC2046
	kill -TERM $(programs)
	wait
	rm -rf ds/_jobs-0
	theirs mkdir ds/_jobs-0
	session 1 true
	wait
	is "$(grep -c "no commands for all sessions of the job: $W/ds/_jobs-0/j belongs to another user, 65534$" err.1)" 1 \
		'a session whose folder another user has made prints one line with folder and owner'
else
	skip 'a shared folder where another user was first' 'needs root'
fi
done_testing

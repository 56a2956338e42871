#!/bin/sh
# Where no processor is free, records wait in the spool: in memory, then in files beside the report. They become the same rows, also
# after a SIGKILL of all parts; what a disk does not keep is counted.
# shellcheck disable=SC2016,SC2046,SC2086
. tests/lib.sh

R=$W/spool.sqlite
head -c 100 /dev/zero >data
spinners=
at_exit='kill $spinners 2>/dev/null'
# Spinners leave no processor free while a program makes its calls. What follows needs them no more.
spin() {
	for _ in $(seq $(nproc)); do
		sh -c 'while :; do :; done' &
		spinners="$spinners $!"
	done
}
rest() {
	kill $spinners
	wait $spinners 2>/dev/null
	spinners=
}

words() { od -A n -v -t u8 -w64 counts 2>/dev/null; }
begin() { # CALLS OPTION...
	rm -rf spool.sqlite* counts counts.stop
	calls=$1
	shift
	spin
	"$BIN" profile -f true -o spool --osrt-threshold=0 --on-full=block "$@" "$PROG/tally" "$W/data" "$W/counts" 2 $calls 0 >log 2>&1 &
	job=$!
}
behind() { # the age of the oldest record, ns, as the session has it
	"$BIN" sessions list --format=json 2>/dev/null | "$PY" -c 'import json, sys
print(max([s["behind_ns"] for s in json.load(sys.stdin)] + [0]))'
}
# Calls made, by the program's own counts, are those in the report.
made() { words | awk 'NR > 1 { sum += $3 } END { printf "%d", sum }'; }
READS="OSRT_API WHERE nameId IN (SELECT id FROM StringIds WHERE value LIKE 'pread%')"
rows() { q "$R" "SELECT count(*) FROM $READS"; }

# ---- the program comes first ----
begin 3000000
wait_for 10 test -e "$R.rings/16.spool"
result $? 'records that do not fit into memory are in files beside the report'
is "$(stat -c %a "$R.rings" "$R.rings/16.spool" 2>/dev/null | tr '\n' ' ')" '700 600 ' 'files of the spool are for this user alone'
: >counts.stop
wait_for 10 eval '[ "$(behind)" -gt 0 ]'
result $? 'the session states how far rows are behind'
rest
wait $job
is $? 0 'profile ends with status 0 after records went through the spool'
is "$(rows)" "$(made)" 'each call that went through the spool has its row'
is "$(q "$R" "SELECT count(*) FROM (SELECT start < lag(start) OVER (PARTITION BY globalTid ORDER BY rowid) AS back FROM $READS) WHERE back")" 0 \
	'rows that went through the spool are in the order of their ends'
check 'a report by the spool is sound' intact "$R"
check 'no files of the spool are left' test ! -e "$R.rings"

# ---- --live=always ----
begin 100000 --live=always
wait $job
is $? 0 '--live=always: profile ends with status 0'
rest
is "$(rows)" 200000 '--live=always: each call has its row'

# ---- SIGKILL of program and collector ----
kill_all() { # once there are files
	begin 3000000
	wait_for 30 test -e "$R.rings/17.spool"
	program=$(words | awk 'NR == 1 { print $1 }')
	kill -KILL $program $job
	rest
	wait $job 2>/dev/null
	wait_for 30 eval '[ -z "$(ls "$SIGHTLINE_SESSIONS")" ]'
	result $? "$1: the keeper writes what it has and ends"
}
kill_all SIGKILL
check 'SIGKILL: records that were in memory are in a file' test -e "$R.rings/0.spool"
"$BIN" recover "$R" >out 2>&1
is $? 0 'SIGKILL: recover succeeds'
low=$(made) # of each of the two threads, one more may be under way
rows=$(rows)
[ "$rows" -ge "$low" ] && [ "$rows" -le $((low + 2)) ]
result $? "SIGKILL: every call has its row ($rows rows of $low calls)"
check 'SIGKILL: the report is sound' intact "$R"
check 'SIGKILL: no files of the spool are left' test ! -e "$R.rings"

# ---- a disk that did not keep a file ----
kill_all 'a file cut off'
truncate -s 1M "$R.rings/16.spool"
"$BIN" recover "$R" >out 2>&1
is $? 0 'a file cut off: recover succeeds'
check 'a file cut off: recover has a message on the damage' grep -q 'parts (of up to 32 KiB) of the records that waited in the spool are damaged' out
lost=$(q "$R" "SELECT sum(count) FROM SL_LOST_EVENTS WHERE what LIKE 'spooled records:%'")
[ "${lost:-0}" -gt 0 ]
result $? "a file cut off: $lost parts are counted as lost"
[ "$(rows)" -lt "$(made)" ] && [ "$(($(rows) + lost * 1023))" -ge "$(made)" ]
result $? 'a file cut off: no more calls are missing than the lost parts hold'
check 'a file cut off: the report is sound' intact "$R"

done_testing

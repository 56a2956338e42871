#!/bin/sh
# A disk without room for the report, for the rings beside it, and for what recover writes.
# shellcheck disable=SC2012,SC2016,SC2154,SC2317
. tests/lib.sh

[ "$(id -u)" = 0 ] || skip_all 'needs root: a disk of a few MiB'
mkdir disk
at_exit="$at_exit; umount -l $W/disk 2>/dev/null"
mount -t tmpfs -o size=6m none disk 2>/dev/null || skip_all 'no tmpfs can be mounted here'
head -c 100 /dev/zero >data
R=$W/disk/r.sqlite
begin() { # CALLS BURST
	rm -rf disk/* counts*
	"$BIN" profile -f true -s none -o disk/r --osrt-threshold=0 --on-full=block "$PROG/tally" "$W/data" "$W/counts" 2 "$1" "$2" >log 2>&1 &
	job=$!
}
words() { od -A n -v -t u8 -w64 counts 2>/dev/null | awk 'NR > 1'; }
is_at_work() { [ "$(words | awk '$3 > 20000' | wc -l)" = 2 ]; }
# Of each thread: the calls it made, and those in the report as rows and as losses.
made() { words | awk '{ print $1, $3 }'; }
found() {
	q "$R" "SELECT t.tid || ' ' || ((SELECT count(*) FROM call WHERE call.tid = t.tid) +
			(SELECT coalesce(sum(count), 0) FROM SL_LOST_EVENTS WHERE globalTid & 0xffffff = t.tid AND what LIKE 'calls%'))
		FROM (SELECT column1 AS tid FROM (VALUES $(words | awk '{ printf "%s(%s)", sep, $1; sep = "," }'))) t"
}

begin 400000 0
wait $job
is "$?" 0 'the report has no room: the program works'
is "$(found)" "$(made)" 'the report has no room: rows + lost = calls'
check 'the report has no room: the report is sound' intact "$R"

begin 1000000000 5000
wait_for 30 is_at_work
kill -KILL $job
wait $job 2>/dev/null
head -c 8M /dev/zero >disk/fill 2>/dev/null
session=$(echo "$SIGHTLINE_SESSIONS"/*)
: >counts.stop
wait_for 20 test -d "$session/rings"
wait_for 20 eval '! grep -qF "$session/keeper" /proc/net/unix'
is "$(ls disk/r.sqlite.rings/*.ring 2>/dev/null | wc -l) $(ls "$session"/rings/*ring | wc -l)" '0 1' 'the keeper has no room beside the report: the rings are in the session'
before=$(cksum "$session"/rings/*)
"$BIN" recover "$R" >out 2>&1
is "$? $(grep 'no room on the disk' out | grep -c 'nothing is changed')" '1 1' 'recover without room fails with a message'
is "$(cksum "$session"/rings/*)" "$before" 'recover without room changes no ring'
rm -f disk/fill
mount -o remount,size=200m disk
check 'recover succeeds once the disk has room' "$BIN" recover "$R"
is "$(found)" "$(made)" 'recover once the disk has room: rows + lost = calls'
is "$(q "$R" "SELECT coalesce(sum(count), 0) FROM SL_LOST_EVENTS WHERE what LIKE 'calls: rings%'")" 0 'recover once the disk has room: no call is lost in the rings'
check 'recover once the disk has room: the report is sound' intact "$R"
is "$(ls disk) $(ls "$SIGHTLINE_SESSIONS")" 'r.sqlite ' 'recover leaves no ring and no session'

# What the collector itself has no room for is counted by what it is.
if "$BIN" status 2>/dev/null | grep -q '^eBPF  *ok' && [ -x "$PY" ]; then
	rm -rf disk/*
	mount -o remount,size=3m disk
	cat >busy.py <<'END'
import os, time
r, w = os.pipe()
if os.fork():
    for i in range(60000):
        os.write(w, b'x')
        if i % 10 == 0:
            time.sleep(0.00001)
    os.close(w)
    os.wait()
else:
    os.close(w)
    while os.read(r, 1): pass
    os._exit(0)
END
	"$BIN" profile -f true -o disk/r -t none -s process-tree --sampling-frequency=4000 --syscall=process-tree --syscall-threshold=0 \
		--host-counters=100 "$PY" -I -S busy.py 2>log
	is "$?" 0 'events of the kernel have no room: the program works'
	for kind in 'context switches' 'system calls' 'CPU samples' 'samples of host counters'; do
		check "$kind that have no room are counted as such" test "$(q "$R" "SELECT CAST(total(count) AS INT) FROM SL_LOST_EVENTS WHERE what = '$kind: disk full'")" -gt 0
	done
	is "$(q "$R" "SELECT count(*) FROM SL_LOST_EVENTS WHERE what LIKE '%,%: disk full' OR what LIKE ': %'")" 0 'no line counts rows of two kinds'
	lost=$(q "$R" "SELECT CAST(total(count) AS INT) FROM SL_LOST_EVENTS WHERE what LIKE '%: disk full' AND what NOT LIKE 'rows of%'")
	check 'the message has their sum' grep -q "^sightline: $(echo "$lost" | rev | sed 's/.../&,/g; s/,$//' | rev) rows were lost: disk full" log || diag <log
else
	skip 'events of the kernel that have no room are counted by kind' 'no eBPF here, or no python3'
fi
done_testing

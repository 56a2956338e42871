#!/bin/sh
# Calls that wait for a lock have its address and its owner (SL_OSRT_LOCKS); no other call has a row there.
. tests/lib.sh

for how in '' shared; do
	profile locks -t osrt "$PROG/lock_objects" $how >want 2>err
	# The thread may have been too late to wait for one or the other, on a busy machine: then it has no row of its own.
	q "$R" "SELECT name || ' ' || call.tid || ' ' || object || ' ' || coalesce(ownerTid & 0xffffff, 0)
		FROM SL_OSRT_LOCKS AS l JOIN call ON call.start = l.start AND call.tid = l.globalTid & 0xffffff" >got
	while read -r name tid object owner; do
		line=$(grep "^$name $tid " got)
		case $line in
		"$name $tid $object $owner") result 0 "$name${how:+, $how}: its row has the lock and its owner" ;;
		"$name $tid $object 0") skip "$name${how:+, $how}: its row has the lock and its owner" 'released meanwhile' ;;
		*) if [ "$(q "$R" "SELECT count(*) FROM call WHERE name = '$name' AND tid = $tid")" = 0 ]; then
			skip "$name${how:+, $how}: its row has the lock and its owner" 'there was no wait'
		else
			is "$line" "$name $tid $object $owner" "$name${how:+, $how}: its row has the lock and its owner"
		fi ;;
		esac
	done <want
	is "$(q "$R" "SELECT count(*) FROM SL_OSRT_LOCKS WHERE globalTid >> 24 & 0xffffff <> coalesce(ownerTid, globalTid) >> 24 & 0xffffff
		OR start NOT IN (SELECT start FROM call WHERE name LIKE 'pthread%' OR name LIKE 'sem%' OR name = 'flockfile')")" 0 \
		"${how:-private} locks: only calls on a lock of this process have a row"
done
check 'at least seven functions have waited for a lock' [ "$(wc -l <got)" -ge 7 ]

[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
# Python's locks: the same object whichever thread waits, another one for another lock.
# The main thread holds both until every other thread sleeps; a thread that waits for the interpreter's lock runs while a file is read.
profile python -t osrt --osrt-threshold=0 "$PY" -c 'import os, threading, time
a, b = threading.Lock(), threading.Lock()
def work(lock):
    with lock: pass
def sleeps(tid):
    fd = os.open("/proc/self/task/%d/stat" % tid, os.O_RDONLY)
    try: return os.read(fd, 1000).rpartition(b")")[2].split()[0] == b"S"
    finally: os.close(fd)
t = [threading.Thread(target=work, args=[lock]) for lock in (a, b) for _ in range(2)]
a.acquire(), b.acquire()
for x in t: x.start()
while not all(sleeps(x.native_id) and sleeps(x.native_id) for x in t): time.sleep(0.01)
time.sleep(0.02)
a.release(), b.release()
for x in t: x.join()' >out 2>err
is "$(q "$R" "SELECT count(*) FROM (SELECT object FROM SL_OSRT_LOCKS AS l JOIN call ON call.start = l.start AND call.tid = l.globalTid & 0xffffff
	WHERE name LIKE 'sem%' AND end - call.start > 20000000 GROUP BY object HAVING count(DISTINCT l.globalTid) = 2)")" 2 \
	'two threads wait for each of two locks of Python'
done_testing

#!/bin/sh
# attach --inject: its options of calls, and the report of a program that was entered, which stats, why and view read as that of one that was
# traced from its start.
. tests/lib.sh
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'
[ "$(uname -m)" = x86_64 ] || skip_all '--inject is for x86-64'

# Two threads: one holds a lock most of the time, the other reads 500 bytes, one by one, when it has it.
cat >late.py <<'END'
import os, sys, threading, time
lock, zero, due = threading.Lock(), os.open("/dev/zero", os.O_RDONLY), threading.Event()
def hold_the_lock():
    while True:
        with lock:
            time.sleep(0.05)
def read_bytes():
    due.wait()
    with lock:
        for i in range(500):
            os.pread(zero, 1, 0)
    open("has_read", "w").close()
threading.Thread(target=hold_the_lock, daemon=True).start()
reader = threading.Thread(target=read_bytes)
reader.start()
print("ready", flush=True)
sys.stdin.readline()
due.set()
reader.join()
sys.stdin.readline()
END
mkfifo input
begin() {
	rm -f has_read out
	"$PY" late.py <input >out &
	P=$!
	exec 8>input
	wait_for 20 grep -q ready out
}
end() {
	exec 8>&-
	wait $P
}
record() { # REPORT OPTION...: 500 reads while it is attached
	report=$1
	shift
	rm -f err
	"$BIN" attach --inject -p $P -f true -o "$report" "$@" 2>err 8>&- &
	A=$!
	wait_for 20 grep -q 'attached to' err || return 1
	echo >&8
	wait_for 20 test -e has_read
	kill -INT $A
	wait $A
}
reads="FROM OSRT_API JOIN StringIds ON id = nameId WHERE value IN ('pread', 'pread64')"

begin
record short --osrt-threshold=0 --osrt-backtrace-threshold=0 --osrt-backtrace-depth=8
rc=$?
grep -q 'not permitted' err && skip_all "$(cat err)"
is $rc 0 'attach --inject takes options of calls'
diag <err
end
is "$(q short.sqlite "SELECT count(*) $reads")" 500 'each of 500 calls of an entered program has a row with --osrt-threshold=0'
is "$(q short.sqlite "SELECT count(DISTINCT globalTid) $reads")" 1 'the calls of one thread of an entered program have its number'
is "$(q short.sqlite "SELECT count(*) $reads AND callchainId IS NULL")" 0 'each of 500 calls of an entered program has a stack with --osrt-backtrace-threshold=0'
is "$(q short.sqlite "SELECT count(*) > 0 FROM StringIds WHERE value LIKE '%read_bytes%'")" 1 'stacks of an entered program have its Python functions'
is "$(q short.sqlite "SELECT max(d) BETWEEN 2 AND 18 FROM (SELECT count(*) AS d FROM OSRT_CALLCHAINS GROUP BY id)")" 1 'stacks of an entered program are as deep as was asked for'

begin
record long --osrt-threshold=1000000000 --python-backtrace=none
is $? 0 'attach --inject takes options of calls a second time'
diag <err
end
is "$(q long.sqlite "SELECT count(*) $reads")" 0 'no call of an entered program has a row with a long --osrt-threshold'
is "$(q long.sqlite "SELECT sum(count) FROM SL_OSRT_TOTALS JOIN StringIds ON id = nameId WHERE value IN ('pread', 'pread64')")" 500 'calls of an entered program without a row are in the totals'

# ---- the report ----
is "$(q short.sqlite "SELECT min(start) >= 0 AND max(end) < 60000000000 FROM OSRT_API")" 1 'times of an entered program begin at the attach'
check 'stats has the calls of an entered program' sh -c "\"$BIN\" stats -r osrt_sum short.sqlite | grep -q ' 500 .*pread'"
check 'why names the line at which an entered program waits' sh -c "\"$BIN\" why short.sqlite | grep -q 'late.py:[0-9]* in '"
cat >ask.py <<'END'
import json, sys
sys.path.insert(0, sys.argv[2])
from view_client import Server
with Server(sys.argv[1], "short.sqlite") as s:
    report = s.ready()
    first, last = report["span"]
    rows = s.get("/v1/select", json.dumps({"from": first, "to": last + 1, "lanes": []}))["rows"]
    got = sum(r["count"] for r in rows if r["kind"] == "osrt" and r["name"] in ("pread", "pread64"))
    assert got == 500, rows
END
if "$BIN" view --no-open /dev/null 2>&1 | grep -q 'without libevent'; then
	skip 'view has the calls of an entered program' 'built without libevent'
else
	check 'view has the calls of an entered program' "$PY" ask.py "$BIN" "$E2E/report"
fi
"$BIN" attach -p $$ --osrt-threshold=0 -o bad 2>err
is $? 2 'options of calls without --inject are refused'
check 'the refusal of options of calls names --inject in one line' sh -c '[ "$(wc -l <err)" -eq 1 ] && grep -q -- "--inject" err'
done_testing

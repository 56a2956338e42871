#!/bin/sh
# CPU samples when something goes wrong around them: the collector is killed, the disk is full, there is no shared memory.
# shellcheck disable=SC2016,SC2086,SC2317
. tests/lib.sh

[ "$(uname -m)" = x86_64 ] || skip_all 'stacks of samples are for x86-64 here'
P=$PROG/cpu HZ=1000
export BIN
log() { "$PY" "$E2E/kernel/sample_log.py" "$@"; }
with() { q "$R" "SELECT count(DISTINCT c.id) FROM SAMPLING_CALLCHAINS c JOIN StringIds s ON s.id = symbol WHERE s.value = '$1'"; }
rows() { sqlite3 -readonly "$R" 'SELECT count(*) FROM COMPOSITE_EVENTS' 2>/dev/null; }
has_rows() { # NUMBER, for wait_for: each look is a process of its own, so not too often
	sleep 0.2
	[ "$(rows)" -ge "$1" ]
}

# ---- SIGKILL of the collector: what was written until then, with names ----
"$BIN" profile -f true -o "$W/cut" -t none --cpuctxsw=none -s process-tree "$P" "$W/log" t2 6 >out 2>err &
R=$W/cut.sqlite collector=$!
wait_for 20 has_rows 400
send KILL $collector
wait $collector
send KILL $(pgrep -f "^$P $W/log")
check 'killed: recover' "$BIN" recover --now "$R"
check 'killed: a sound report' intact "$R"
all=$(rows) got=$(with caller)
check "all that was written has its stack: $got of $all" share_ok "$got" "$all" 97
is "$(q "$R" "SELECT count(*) FROM SL_STACKS WHERE id NOT IN (SELECT stackId FROM COMPOSITE_EVENTS UNION SELECT stackId FROM SL_PAGE_FAULTS)")" 0 'every stack belongs to a row'
check 'up to the last one none is missing' "$PY" -c '
import sqlite3, sys
sys.argv, path, base = ["x", "count"], sys.argv[2], sys.argv[3]
source = open(base).read().rsplit("sys.exit", 1)[0]
exec(source)
tasks, report = load("log"), Report(path)
begin, end = report.windows[0][0], max(when for when, _ in report.samples)
want = sum(t.within(begin, end) for t in tasks) / 1e6
print(len(report.samples), want)
sys.exit(not is_chance(len(report.samples), 0.9 * want - 4, 1.1 * want + 4))' x "$R" "$E2E/kernel/sample_log.py"

# ---- Python's names are in what was written, too ----
cat >spin.py <<'EOF'
import time
def inner(n):
    t = 0
    for i in range(n):
        t += i
    return t
def outer(s):
    end = time.process_time() + s
    while time.process_time() < end:
        inner(20000)
outer(6)
EOF
if [ "$(id -u)" = 0 ]; then
	"$BIN" profile -f true -o "$W/python" -t none --cpuctxsw=none -s process-tree --python-sampling=true "$PY" "$W/spin.py" >out 2>err &
	R=$W/python.sqlite collector=$!
	wait_for 20 has_rows 400
	if grep -q need err; then
		skip 'Python: names' "$(cat err)"
		wait $collector
	else
		send KILL $collector
		wait $collector
		send KILL $(pgrep -f "^$PY $W/spin.py")
		check 'Python: recover' "$BIN" recover --now "$R"
		all=$(rows) got=$(q "$R" "SELECT count(DISTINCT c.id) FROM SAMPLING_CALLCHAINS c JOIN StringIds s ON s.id = symbol JOIN StringIds f ON f.id = c.file WHERE s.value = 'outer' AND f.value LIKE '%spin.py' AND line BETWEEN 7 AND 10")
		check "Python: names and lines: $got of $all" share_ok "$got" "$all" 80
	fi
fi

if [ "$(id -u)" != 0 ] || ! unshare -m true 2>/dev/null; then
	skip 'a disk without room' 'needs root'
	done_testing
fi

# ---- a full disk: what is there is sound, what is not is counted ----
mkdir full kept
unshare -m sh -c '
	mount -t tmpfs -o size=3m tmpfs "$1/full" || exit 99
	W=$1; shift
	"$BIN" profile -f true -o "$W/full/r" -t none --cpuctxsw=none -s process-tree --sampling-frequency=4000 "$@"
	echo $? >"$W/status"
	cp "$W"/full/* "$W/kept/"' sh "$W" "$P" log d 1.2 3 >out 2>err
is "$(cat status)" 3 'full disk: the program has not noticed'
R=$W/kept/r.sqlite
check 'full disk: a sound report' intact "$R"
check 'full disk: a message' grep -q 'cannot write the report' err
check 'full disk: each line once' sh -c '[ -z "$(grep -v "report: " err | sort | uniq -d)" ]'
check 'full disk: lost samples are counted' [ "$(q "$R" "SELECT total(count) FROM SL_LOST_EVENTS WHERE what = 'CPU samples: disk full'")" != 0.0 ]
# Names need more room than there was: where there is some, recover finds them.
wanted=$(q "$R" "SELECT count(*) FROM sqlite_schema WHERE name = 'SL_STATE'")
"$BIN" recover --now "$R" 2>err
is $? 0 'copied to where there is room: recover'
case $wanted in
1) check 'recover of a copy says that all was recorded' grep -q 'all was recorded' err ;;
*) check 'recover of a copy has nothing to do' grep -q 'nothing to do' err ;;
esac
is "$(wc -l <err)" 1 'recover of a copy prints one line'
is "$(q "$R" "SELECT count(*) FROM sqlite_schema WHERE name IN ('SL_RAW_STACKS', 'SL_STATE')")" 0 'no raw stacks stay'
if [ "$(q "$R" "SELECT count(*) FROM sqlite_schema WHERE name = 'SL_STACKS'")" = 1 ]; then
	all=$(rows) got=$(with different)
	check "what had room is there with its stacks: $got of $all" share_ok "$got" "$all" 90
	is "$(q "$R" "SELECT count(*) FROM COMPOSITE_EVENTS WHERE stackId IS NOT NULL AND stackId NOT IN (SELECT id FROM SL_STACKS)")" 0 'samples on a full disk name no stack that is not there'
else
	# On a busy machine the first commit comes late, with all samples.
	skip 'what had room is there with its stacks' 'the first commit had more than there was room for'
	is "$(rows || echo 0)" 0 'samples on a full disk name no stack that is not there'
fi

# ---- the same, of threads that leave their CPU: as many as the program has naps, each a stack of its own ----
naps=4000
cat >naps.c <<'END'
#include <time.h>
#include <stdlib.h>
static volatile int sink;
#define PLAIN __attribute__((noinline)) static void
PLAIN nap(void) { struct timespec t = {0, 200000}; nanosleep(&t, 0); sink++; }
PLAIN left(unsigned way, int n);
PLAIN right(unsigned way, int n) { if (n) (way & 1 ? left : right)(way >> 1, n - 1); else nap(); sink++; }
PLAIN left(unsigned way, int n) { if (n) (way & 1 ? left : right)(way >> 1, n - 1); else nap(); sink++; }
int main(int argc, char **argv)
{
	for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 0); i++)
		left((unsigned)i * 2654435761u, 30);
	return 3;
}
END
"$BIN" profile -f true -t none --off-cpu-threshold=80000 -o "$W/probe" true 2>err
if grep -q 'need eBPF' err || ! gcc -O2 -g -fomit-frame-pointer -o naps naps.c; then
	skip 'full disk, without a CPU' 'needs eBPF and gcc'
else
	rm -f kept/*
	unshare -m sh -c '
		mount -t tmpfs -o size=2m tmpfs "$1/full" || exit 99
		"$2" profile -f true -o "$1/full/r" -t none --cpuctxsw=none -s none --off-cpu-threshold=100000 "$1/naps" $3
		echo $? >"$1/status"
		cp "$1"/full/* "$1/kept/"' sh "$W" "$BIN" $naps >out 2>err
	is "$(cat status)" 3 'full disk, without a CPU: the program has not noticed'
	check 'a sound report' intact "$R"
	have=$(q "$R" "SELECT count(*) FROM COMPOSITE_EVENTS WHERE cpuCycles = 0") gone=$(q "$R" "SELECT total(count) FROM SL_LOST_EVENTS WHERE what = 'stacks of threads without a CPU: disk full'")
	rest=$(q "$R" "SELECT total(count) FROM SL_LOST_EVENTS WHERE what LIKE 'stacks of threads%' AND what NOT LIKE '%disk full'")
	# A thread that is kept from its nap until that is over has none.
	check "rows + lost = naps: $have + $gone + $rest of $naps" awk "BEGIN { exit !($have + $gone + $rest >= $naps * 0.97 && $have + $gone <= $naps * 1.03) }"
	check 'some of each' awk "BEGIN { exit !($have > 0 && $gone > 0) }"
	"$BIN" recover --now "$R" 2>err
	is "$? $(wc -l <err)" '0 1' 'recover, where there is room'
	got=$(q "$R" "SELECT count(DISTINCT c.id) FROM COMPOSITE_EVENTS c JOIN SL_STACKS s ON s.id = c.stackId JOIN SL_FRAMES f ON f.id = s.frameId JOIN StringIds n ON n.id = f.symbol WHERE n.value = 'nap'")
	check "what had room has its stack: $got of $have" share_ok "$got" "$have" 98
fi

# ---- hardly any shared memory ----
unshare -m sh -c 'mount -t tmpfs -o size=1m tmpfs /dev/shm && exec "$@"' sh \
	"$BIN" profile -f true -o "$W/shm" -t osrt -s process-tree "$P" log t2 0.5 3 >out 2>err
is $? 3 '/dev/shm of 1 MB: the program has not noticed'
R=$W/shm.sqlite
check '/dev/shm of 1 MB: all samples' log count $HZ log "$R"
all=$(rows) got=$(with caller)
check "/dev/shm of 1 MB: samples with stacks: $got of $all" share_ok "$got" "$all" 97
unshare -m sh -c 'mount -t tmpfs -o size=1m tmpfs /dev/shm && exec "$@"' sh \
	"$BIN" profile -f true -o "$W/shmflight" -t osrt -s process-tree --flight=1s "$P" log t2 1.3 3 >out 2>err
R=$W/shmflight.sqlite
check '/dev/shm of 1 MB, flight recorder: all samples' log count $HZ log "$R"

# ---- a report of the flight recorder that cannot be written: it goes on ----
unshare -m sh -c '
	mount -t tmpfs -o size=100k tmpfs "$1/full" || exit 99
	W=$1; shift
	"$BIN" profile -f true -o "$W/full/r" -t none -s process-tree --flight=1s "$@"
	echo $? >"$W/status"' sh "$W" "$P" log t1 1.2 3 >out 2>err
is "$(cat status)" 3 'flight recorder, full disk: the program has not noticed'
check 'flight recorder, full disk: a message' grep -qi 'report' err
done_testing

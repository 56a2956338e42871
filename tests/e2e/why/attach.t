#!/bin/sh
# attach.t - sightline why of processes that sightline attach looked at: a wait has the line that waited, whatever was sampled before.
# shellcheck disable=SC2016
. tests/lib.sh
command -v gcc >/dev/null || skip_all 'gcc is not installed (package gcc)'
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
"$BIN" status 2>/dev/null | grep -q '^eBPF  *ok' || skip_all 'eBPF is not permitted'

cat >beat.c <<'END_C'
/* Computes in one function and sleeps in another, until a file is there. */
#include <time.h>
#include <unistd.h>
static volatile unsigned sink;
__attribute__((noinline)) static void work(void)
{
	for (unsigned i = 0; i < 2000000; i++) sink += i;
}
__attribute__((noinline)) static void idle(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); sink++; /* IDLE */
}
int main(void)
{
	close(open("ready", 0x41, 0644));
	while (access("stop", F_OK) != 0) { work(); idle(); }
	return 0;
}
END_C
sed -i '1a #include <fcntl.h>' beat.c
check 'the program is made' gcc -g -O1 -fno-omit-frame-pointer -o beat beat.c
cat >beat.py <<'END_PY'
import os, time
def idle():
    time.sleep(0.02)  # IDLE
def work():
    return sum(i * i for i in range(20000))
open("ready", "w").close()
while not os.path.exists("stop"):
    work()
    idle()
END_PY

# Places of waits of the main thread for time to pass, but for those with none, and how sure the reason is.
cat >waits.py <<'END_PY'
import json, sys
y = json.load(open(sys.argv[1]))
sleeps = [p for p in y["partition"] if p["reason"] in ("SLEEP", "BLOCKED")]
assert sleeps, y["partition"]
places = {p["place"]: p["ns"] for p in sleeps if p["place"]}
wrong = [p for p in sleeps if p["place"] and p["line"] != int(sys.argv[2])]
assert not wrong, wrong
known = sum(places.values()) / sum(p["ns"] for p in sleeps)
assert known >= float(sys.argv[3]), (known, places)
END_PY

for program in "$PY beat.py" ./beat; do
	file=$(basename "${program##* }")
	[ -f "$file.c" ] && file=$file.c
	line=$(grep -n IDLE "$file" | cut -d: -f1)
	for options in '' --syscall=process-tree; do
		rm -f ready stop
		# shellcheck disable=SC2086
		$program &
		T=$!
		at_exit="kill $T 2>/dev/null; $at_exit"
		wait_for 20 test -e ready
		"$BIN" attach -p $T -d 1 $options -f true -o r >log 2>&1
		is $? 0 "$file, $options: attach ends"
		touch stop
		wait $T
		"$BIN" why -f json --limit=0 --max-bytes=0 r.sqlite >out.json
		check "$file, '$options': a wait has the line that waits" "$PY" waits.py out.json "$line" 0.5
		# Without stacks of waits, waits have no line at all; those of samples are none.
		sqlite3 r.sqlite 'DELETE FROM COMPOSITE_EVENTS WHERE end IS NOT NULL' || exit 1
		"$BIN" why -f json --limit=0 --max-bytes=0 r.sqlite >out.json
		check "$file, '$options': a wait without a stack has no line of a sample" "$PY" waits.py out.json "$line" 0
	done
done

# ---- off-CPU stacks: by default beside CPU samples, and not where samples are not wanted ----
rm -f ready stop
./beat &
T=$!
at_exit="kill $T 2>/dev/null; $at_exit"
wait_for 20 test -e ready
threshold() { q "$W/r.sqlite" "SELECT value FROM META_DATA_CAPTURE WHERE name = 'SL_OFF_CPU_THRESHOLD_NS'"; }
"$BIN" attach -p $T -d 1 -f true -o r >log 2>&1
is "$(threshold)" 80000 'attach: off-CPU stacks are taken by default'
"$BIN" attach -p $T -d 1 -f true -s none -o r >log 2>&1
is "$(threshold)" '' 'attach without samples: none'
"$BIN" attach -p $T -d 1 -f true --off-cpu-threshold=none -o r >log 2>&1
is "$(threshold)" '' 'attach with --off-cpu-threshold=none: none'
touch stop
wait $T
done_testing

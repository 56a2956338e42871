#!/bin/sh
# Python's functions in stacks of threads without a CPU, compared with a program that knows where it waited and for how
# long, on every Python that is there.
. tests/lib.sh

[ "$(uname -m)" = x86_64 ] || skip_all 'for x86-64'
"$BIN" profile -t none -s none --python-sampling=true --off-cpu-threshold=80000 -o probe true 2>err
grep -q 'need eBPF' err && skip_all "$(grep 'need eBPF' err)"
is "$(grep -c 'no effect' err)" 0 '--python-sampling without samples is no mistake where time off the CPU is recorded'

AWAY="COMPOSITE_EVENTS c JOIN SL_STACKS s ON s.id = c.stackId JOIN SL_FRAMES f ON f.id = s.frameId JOIN StringIds n ON n.id = f.symbol"
# Of the waits in a function that ended when the process was known: how often for 10 ms and longer, ns.
said() { awk -v name="$1" -v known="$known" -v col="$2" '$1 == name && $2 >= known { cnt += $3 >= 1e7; ns += $3 } END { printf "%d", col == 2 ? cnt : ns }' out; }
# As many rows as waits, with the time that it prints. A thread that is preempted on the way to its wait waits less, or not at all.
by_function() { # NAME: of $R and out
	known=$(q "$R" "SELECT min(c.start) + (SELECT systemClockNs FROM TARGET_INFO_SESSION_START_TIME) FROM $AWAY WHERE f.kind = 1")
	check "$1: the process is known before its last waits" [ "$(said sleeps 2)" -ge 1 ]
	for fn in sleeps polls locked reads; do
		got=$(q "$R" "SELECT count(*) || ' ' || total(end - start) FROM (SELECT DISTINCT c.id, c.start, c.end FROM $AWAY
			WHERE n.value = '$fn' AND f.kind = 1 AND cpuCycles = 0)")
		check "$1: $fn: at least half of the waits have rows, ${got% *} of $(said $fn 2)" [ "${got% *}" -ge $(($(said $fn 2) / 2)) ]
		check "$1: $fn: rows have at least a third of the time, ${got#* } of $(said $fn 3) ns" awk "BEGIN { exit !(${got#* } <= $(said $fn 3) && ${got#* } >= $(said $fn 3) / 3) }"
		[ "$(said $fn 2)" = 0 ] || is "$(q "$R" "SELECT group_concat(DISTINCT f.line) FROM $AWAY WHERE n.value = '$fn' AND f.kind = 1")" "$(awk "/line of $fn/ { print NR }" "$E2E/python/off_cpu_python.py")" "$1: $fn: the line is that of the wait"
	done
	# From 3.11 on names are qualified.
	is "$(q "$R" "SELECT DISTINCT names FROM (SELECT group_concat(value, ' ') AS names FROM
		(SELECT c.id, n.value FROM $AWAY WHERE f.kind = 1 ORDER BY c.id, s.depth) GROUP BY id) WHERE names LIKE 'sleeps %'" | sed 's/[^ ]*<locals>\.//g')" \
		"sleeps timed <lambda> inner inner inner inner inner inner steps main <module>" "$1: sleeps: the stack has the callers"
	is "$(q "$R" "SELECT count(*) FROM (SELECT c.id FROM $AWAY WHERE n.value = 'polls' AND f.kind = 1
		AND NOT EXISTS (SELECT 1 FROM SL_STACKS t JOIN SL_FRAMES g ON g.id = t.frameId WHERE t.id = c.stackId AND t.depth = 0 AND g.kind = 2))")" 0 "$1: the kernel's part is on top"
	# Not of the time before the process was known, or after it has ended Python.
	is "$(q "$R" "WITH main AS (SELECT c.start FROM $AWAY WHERE n.value = 'main' AND f.kind = 1)
		SELECT count(*) FROM COMPOSITE_EVENTS c WHERE cpuCycles = 0 AND start BETWEEN (SELECT min(start) FROM main) AND (SELECT max(start) FROM main) AND EXISTS
		(SELECT 1 FROM SL_STACKS s JOIN SL_FRAMES f ON f.id = s.frameId JOIN StringIds n ON n.id = f.symbol WHERE s.id = c.stackId AND n.value LIKE '%PyEval_Eval%' AND f.kind = 0)
		AND NOT EXISTS (SELECT 1 FROM SL_STACKS s JOIN SL_FRAMES f ON f.id = s.frameId WHERE s.id = c.stackId AND f.kind = 1)")" 0 "$1: none in the interpreter is without a function of Python"
}

tried=0
for py in $(pythons "$(pythons_read 8)"); do
	version=${py##*/python}
	tried=$((tried + 1))
	profile "py$version" -t none -s none --python-sampling=true --off-cpu-threshold=10000000 "$py" "$E2E/python/off_cpu_python.py" >out 2>err
	is $? 0 "$py: the program runs as untraced"
	by_function "$version"
	is "$(grep -c 'eBPF\|is not known\|no effect' err)" 0 "$version: nothing is missing"
done
[ "$tried" -gt 0 ] || skip_all 'no CPython 3.8 to 3.15'

# ---- a thread that ends as soon as its wait does, others that it starts, and threads that still wait at the end ----
cat >ends.py <<'END'
import os, sys, threading, time
def last_of_child():
    time.sleep(1)
def first_of_child_0():
    while not os.path.exists("go"): time.sleep(0.02)
def first_of_child_1():
    while not os.path.exists("go"): time.sleep(0.02)
def still_waits():
    threading.Event().wait()
for first in first_of_child_0, first_of_child_1:
    if os.fork() == 0:
        first()
        last_of_child()
        os._exit(0)
threading.Thread(target=still_waits, daemon=True).start()
for _ in range(2):
    os.wait()
os._exit(3)
END
has() { q "$R" "SELECT count(DISTINCT c.globalTid) FROM $AWAY WHERE f.kind = 1 AND cpuCycles = 0 AND n.value = '$1'"; }
profile ends -t none -s process-tree --python-sampling=true --off-cpu-threshold=10000000 "$PY" ends.py 2>err &
R=$W/ends.sqlite
wait_for 20 sh -c '[ "$(sqlite3 -readonly "$0" "SELECT count(*) FROM SL_CODES WHERE name LIKE \"first_of_child%\"")" = 2 ]' "$R"
result $? 'functions of both children are in the report while they wait'
: >go
wait $!
is $? 3 'processes that end as soon as they are back: profile has their status'
is "$(has last_of_child)" 2 'processes that end as soon as they are back have the function that waited'
check 'processes that end as soon as they are back: the report is sound' intact "$R"
check 'the flame graph by off-CPU time has the function that waited' sh -c '"$1" export -q -t folded --flame=off-cpu -o - "$2" | grep -q ";last_of_child;.*nanosleep"' sh "$BIN" "$R"

# ---- as many switches as can be, in a deep stack; code that comes and goes ----
cat >busy.py <<'END'
import os, threading
a, b = os.pipe(), os.pipe()
def play(r, w, n):
    for _ in range(n):
        os.read(r, 1)
        os.write(w, b"x")
def deep(d, *args):
    if d:
        return deep(d - 1, *args)
    for i in range(50):
        space = {"play": play}
        exec("def made_%d(*args):\n    play(*args)\n" % (i % 7), space)
        space["made_%d" % (i % 7)](*args)
t = threading.Thread(target=deep, args=(400, a[0], b[1], 100))
t.start()
os.write(a[1], b"x")
deep(5, b[0], a[1], 100)
t.join()
END
profile busy -t none -s none --python-sampling=true --off-cpu-threshold=1 "$PY" busy.py 2>err
is $? 0 'many switches: the program runs as untraced'
check 'many switches: the report is sound' intact "$R"
got=$(q "$R" "SELECT count(DISTINCT n.value) FROM $AWAY WHERE f.kind = 1 AND n.value GLOB 'made_[0-6]'")
is "$got" 7 'many switches: all functions that were made have rows'
got=$(q "$R" "SELECT max(cnt) FROM (SELECT count(*) AS cnt FROM $AWAY WHERE f.kind = 1 GROUP BY c.id)")
check "many switches: a stack of more than 400 has $got functions, of at least 250" [ "$got" -ge 250 ]
is "$(q "$R" "SELECT count(DISTINCT c.id) > 0 FROM $AWAY WHERE n.value = '[Max depth]' AND EXISTS (SELECT 1 FROM SL_STACKS t JOIN SL_FRAMES g ON g.id = t.frameId AND g.kind = 1 WHERE t.id = c.stackId)")" 1 'many switches: a stack of more than 400 is marked as cut'
done_testing

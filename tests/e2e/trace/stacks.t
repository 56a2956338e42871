#!/bin/sh
# Stacks of calls: the same place has one number, others have others; over threads, forks, execs, captures, and when the
# collector is killed.
# shellcheck disable=SC2046,SC2086
. tests/lib.sh
# Whatever a call takes, it has a stack.
ALL=--osrt-backtrace-threshold=0

# Sleeps by process, oldest first: how many, with how many different stacks.
sleeps="SELECT globalTid >> 24, count(*) n, count(DISTINCT callchainId) stacks FROM OSRT_API o JOIN StringIds s ON
s.id = nameId WHERE s.value = 'usleep' GROUP BY 1 ORDER BY min(start)"
sums() { sqlite3 "$1" "SELECT group_concat(n || '/' || stacks, ' ') FROM ($sleeps)"; }
# Calls that have no stack, or one without a record.
orphans() {
	sqlite3 "$1" "SELECT count(*) FROM OSRT_API o JOIN StringIds s ON s.id = nameId WHERE s.value = 'usleep' AND
	NOT EXISTS (SELECT 1 FROM SL_STACKS k WHERE k.id = callchainId)"
}
# Functions of the program in the stacks of sleeps, each with its number of calls.
places() {
	sqlite3 "$1" "SELECT group_concat(name || ' ' || n, ' ') FROM (SELECT f.value name, count(DISTINCT o.rowid) n FROM OSRT_API o
	JOIN StringIds s ON s.id = o.nameId JOIN SL_STACKS k ON k.id = callchainId JOIN SL_FRAMES r ON r.id = frameId
	JOIN StringIds f ON f.id = symbol WHERE s.value = 'usleep' AND f.value GLOB 'place_*' GROUP BY 1 ORDER BY 1)"
}

# ---- places ----
profile one $ALL "$PROG/stacks" a b a a b >out 2>err
is "$?" 0 'stacks of one thread: the program ends with status 0'
is "$(sums "$R")" 5/2 'five calls of one thread have two stacks'
is "$(places "$R")" 'place_a 3 place_b 2' 'stacks of one thread: each call has its place'
is "$(orphans "$R")" 0 'stacks of one thread: every call has a stack'
is "$(sqlite3 "$R" "SELECT count(*) FROM (SELECT k.id, count(*) n FROM SL_STACKS k JOIN SL_FRAMES r ON r.id = frameId
	JOIN StringIds f ON f.id = symbol WHERE f.value = 'deep' GROUP BY k.id HAVING n = 6)")" 2 'all frames of a recursion are in its stack'
profile threads $ALL "$PROG/stacks" t >out 2>err
is "$(sums "$R")" 80/2 'eighty calls of four threads have two stacks'
is "$(places "$R")" 'place_a 40 place_b 40' 'stacks of four threads: each call has its place'
is "$(sqlite3 "$R" "SELECT DISTINCT value FROM SL_MODULES JOIN StringIds s ON s.id = path WHERE value LIKE '%/libc.so%'")" \
	"$(realpath "$(ldd "$PROG/stacks" | sed -n 's/.*libc\.so[^>]*> \([^ ]*\).*/\1/p')")" 'files of stacks have the names that samples find'
is "$(orphans "$R")" 0 'stacks of four threads: every call has a stack'
# Threads that come to a place for the first time together agree on its number.
got=
for _ in $(seq 20); do
	profile crowd $ALL "$PROG/stacks" t >out 2>err
	got="$got$(sums "$R") $(orphans "$R"),"
done
is "$(echo "$got" | tr , '\n' | sort -u | tr '\n' ,)" ',80/2 0,' 'threads that come to a place at once agree on its stack'

# ---- processes ----
profile fork $ALL "$PROG/stacks" t f f >out 2>err
is "$(sums "$R")" '80/2 3/3 3/3' 'forked children have stacks of their own'
is "$(places "$R")" 'place_a 42 place_b 42 place_of_child 2' 'stacks of forked children: each call has its place'
is "$(orphans "$R")" 0 'stacks of forked children: every call has a stack'
profile exec $ALL "$PROG/stacks" a x b b >out 2>err
is "$(places "$R")" 'place_a 1 place_b 2' 'stacks before and after an exec: each call has its place'
is "$(orphans "$R")" 0 'stacks before and after an exec: every call has a stack'

# ---- options ----
profile none $ALL -b none --python-backtrace=none "$PROG/stacks" a >out 2>err
is "$(sqlite3 "$R" 'SELECT count(*) FROM OSRT_API WHERE callchainId')" 0 '-b none: no call has a stack'
profile short --osrt-backtrace-threshold=1000000000000 "$PROG/stacks" a b >out 2>err
is "$(sqlite3 "$R" 'SELECT count(*) FROM OSRT_API WHERE callchainId')" 0 'calls below the threshold have no stack'
profile depth $ALL --osrt-backtrace-depth=4 "$PROG/stacks" a >out 2>err
is "$(sqlite3 "$R" "SELECT max(n) FROM (SELECT count(*) n FROM SL_STACKS GROUP BY id)")" 5 'a stack is as deep as was asked for, and ends with a remark'
if [ -x "$PY" ]; then
	# --python-backtrace=cuda, which every tutorial of nsys has, adds to what calls of libc have without it.
	for kinds in '' --python-backtrace=cuda --python-backtrace=osrt,cuda --python-backtrace=osrt; do
		profile python $ALL --osrt-threshold=0 $kinds "$PY" -c 'import os
def place(): os.read(os.open("/dev/zero", os.O_RDONLY), 5)
place()' >out 2>err
		is "$(sqlite3 "$R" "SELECT DISTINCT f.value FROM OSRT_API JOIN StringIds n ON n.id = nameId JOIN OSRT_CALLCHAINS c ON c.id = callchainId
			JOIN StringIds f ON f.id = c.symbol WHERE n.value LIKE '%read%' AND bytesAsked = 5 AND f.value = 'place'")" place "a call of Python has its frames, ${kinds:-default}"
	done
	profile python $ALL --osrt-threshold=0 --python-backtrace=none "$PY" -c 'def place(): open("/dev/zero").close()
place()' >out 2>err
	is "$(sqlite3 "$R" "SELECT count(*) FROM SL_FRAMES WHERE kind = 1")" 0 '--python-backtrace=none: no frame is of Python'
else
	skip 'a call of Python has its frames' 'python3 is not installed (package python3)'
fi
profile lbr -b lbr true >out 2>err
is "$(grep -c 'backtrace=lbr' err)" 1 '-b lbr: one line names it'
for wrong in --cudabacktrace=kernel:x --cudabacktrace=kernel: --cudabacktrace=all,none,some --cudabacktrace=none:5 \
	--python-backtrace=perl --osrt-backtrace-depth=0 --osrt-backtrace-threshold=-1 -bframes --resolve-symbols=perhaps; do
	"$BIN" profile -o wrong $wrong true >out 2>err
	is "$? $(wc -l <err) $(grep -c -e "--[a-z-]*" err)" '2 1 1' "$wrong is refused with one line"
done

# ---- captures: each report holds what it names ----
S=$B/tests/standin
if [ -f "$S/libcupti.so.13" ]; then
	LD_LIBRARY_PATH=$S CAPTURE_LOG=$W/log "$BIN" profile -t nvtx,osrt $ALL -o case -c nvtx -p step@train --capture-range-end=repeat \
		"$PROG/capture" 'long 2 push =step@train long 2 pop @train long 2 push =step@train long 2 long 2 pop @train' >out 2>err
	is "$(ls case*.sqlite)" "$(printf 'case.1.sqlite\ncase.2.sqlite')" 'two captures have two reports'
	for n in 1 2; do
		is "$(sqlite3 case.$n.sqlite "SELECT count(*) FROM ($sleeps) WHERE n = $n AND stacks > 0")" 1 "capture $n: its calls have stacks"
		is "$(orphans case.$n.sqlite)" 0 "capture $n: every call has a stack"
		is "$(sqlite3 case.$n.sqlite "SELECT count(*) FROM SL_STACKS k JOIN SL_FRAMES r ON r.id = frameId JOIN StringIds f ON
			f.id = symbol WHERE f.value = 'main' AND r.unresolved = 0 AND k.id IN (SELECT callchainId FROM OSRT_API)")" 1 \
			"capture $n: frames have names"
	done
else
	skip 'two captures have two reports' 'the stand-ins are not built'
fi

# ---- SIGKILL of the collector ----
profile killed $ALL "$PROG/stacks" t done="$W/done" await="$W/go" a b t >out 2>err &
R=$W/killed.sqlite
wait_for 20 test -f 'done'
wait_for 20 sh -c '[ "$(sqlite3 -readonly "$0" "SELECT count(*) FROM SL_RAW_STACKS")" -ge 2 ]' "$R"
send KILL $(pgrep -f "profile -f true -o $W/killed " | head -1)
touch go
check 'SIGKILL of the collector: recover succeeds' "$BIN" recover "$R"
is "$(sums "$R")" '162/4' 'SIGKILL of the collector: calls before and after it have their stacks'
is "$(places "$R")" 'place_a 81 place_b 81' 'SIGKILL of the collector: each call has its place'
is "$(orphans "$R")" 0 'SIGKILL of the collector: every call has a stack'
done_testing

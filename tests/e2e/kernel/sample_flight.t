#!/bin/sh
# CPU samples of the flight recorder: those of the last moments, as many as there was CPU time, with their stacks; what is
# forgotten, and in how much memory.
# shellcheck disable=SC2016,SC2086,SC2317
. tests/lib.sh

[ "$(uname -m)" = x86_64 ] || skip_all 'stacks of samples are for x86-64 here'
P=$PROG/cpu HZ=1000
fly() { # REPORT OPTIONS... -- PROGRAM...: the program that it records ends badly
	R=$W/$1.sqlite
	shift
	"$BIN" profile -f true -o "${R%.sqlite}" -t osrt -s process-tree "$@" >out 2>err
}
meta() { q "$R" "SELECT value FROM META_DATA_CAPTURE WHERE name = 'SL_CAPTURE_FLIGHT_$1'"; }
log() { "$PY" "$E2E/kernel/sample_log.py" "$@"; }
# Chains, the innermost first; at the end 0, or 1 where there is a remark.
chains() {
	sqlite3 -readonly "$R" "SELECT ' ' || group_concat(name, ' ') || ' ' || max(special) FROM (
		SELECT c.id AS id, s.value AS name, c.specialEntry AS special FROM SAMPLING_CALLCHAINS c
		JOIN StringIds s ON s.id = c.symbol WHERE NOT ifnull(kernelMode, 0) ORDER BY c.id, c.stackDepth) GROUP BY id" >chains
	all=$(q "$R" 'SELECT count(*) FROM COMPOSITE_EVENTS')
}
most() { # PERCENT PATTERN NAME
	got=$(grep -Ec -- "$2" chains)
	check "$3: $got of $all" share_ok "$got" "$all" "$1"
}
lost() { q "$R" "SELECT ifnull(sum(count), 0) FROM SL_LOST_EVENTS WHERE what LIKE 'CPU samples%'"; }
split() { # NAME REPORT...: 70, 20 and 10 per cent of the samples in all of them
	split_name=$1
	shift
	for r; do
		q "$r" "SELECT s.value FROM SAMPLING_CALLCHAINS c JOIN StringIds s ON s.id = c.symbol WHERE s.value IN ('seven', 'two', 'one')"
	done >innermost
	for part in 'seven 70' 'two 20' 'one 10'; do
		set -- $part
		got="$(grep -cx "$1" innermost) $(wc -l <innermost)"
		check "$split_name: of $2 %: $got" share_ok $got $(($2 - 3)) $(($2 + 3))
	done
}

# ---- the last second, whatever ends the program ----
fly last --flight=1s "$P" log t2 1.4 abort
is $? 134 'two threads, and an abort'
check 'the report is sound' intact "$R"
is "$(meta LIMIT)" time 'it has the last second'
check 'as many samples as there was CPU time, none from before' log count $HZ log "$R"
check 'of each thread' log tasks $HZ log "$R"
chains
most 97 ' (seven|two|one|[a-z_]+) ?.* ?work caller ' 'samples have their callers'
most 97 ' 0$' 'stacks reach the outermost caller'
split last "$R"
check "lost: $(lost) for $all samples" share_ok "$(lost)" $((all + $(lost))) 0 1
# Samples end in work(); a stack of a call may be there without its call, which was before the last second.
is "$(q "$R" "SELECT count(*) FROM SL_STACKS k JOIN SL_FRAMES f ON f.id = k.frameId JOIN StringIds s ON s.id = f.symbol WHERE s.value = 'work' AND k.id NOT IN (SELECT stackId FROM COMPOSITE_EVENTS WHERE stackId IS NOT NULL)")" 0 'no stack of a sample without a row'
is "$(q "$R" "SELECT count(*) FROM (SELECT id, group_concat(frameId) AS frames FROM (SELECT id, frameId FROM SL_STACKS ORDER BY id, depth) GROUP BY id) s JOIN (SELECT id, group_concat(frameId) AS frames FROM (SELECT id, frameId FROM SL_STACKS ORDER BY id, depth) GROUP BY id) t USING (frames) WHERE s.id < t.id AND s.id IN (SELECT stackId FROM COMPOSITE_EVENTS) AND t.id IN (SELECT stackId FROM COMPOSITE_EVENTS)")" 0 'no stack is there twice'
is "$(q "$R" "SELECT count(*) FROM COMPOSITE_EVENTS WHERE globalTid NOT IN (SELECT globalTid FROM ThreadNames)")" 0 'threads have names'

fly short --flight=100s -t none "$P" log t1 0.5 3
is $? 3 'a run that is shorter'
is "$(meta LIMIT)" start 'is there as a whole'
check 'all its samples' log count $HZ log "$R"
fly often --flight=1s --sampling-frequency=4000 --cpuctxsw=none -t none "$P" log t1 1.2 3
is $? 3 'more often, and nothing else recorded'
check 'four times as many' log count 4000 log "$R" 80

# ---- what is gone when the report is written ----
fly gone --flight=60s -t none "$P" log c5 0.12 3
check 'children that are gone: their samples' log tasks $HZ log "$R"
chains
most 95 ' work caller .*main ' 'with their stacks'
if command -v gcc >/dev/null; then
	for i in 1 2 3; do
		printf '#include <time.h>\nstatic volatile unsigned sink;\n__attribute__((noinline)) static void turn_%d(void) { for (unsigned i = 0; i < 50000; i++) sink += i; }\nvoid spin(double s) { for (clock_t end = clock() + s * CLOCKS_PER_SEC; clock() < end;) turn_%d(); sink++; }\n' $i $i >lib.c
		gcc -O2 -fPIC -shared -o lib$i.so lib.c
	done
	fly libraries --flight=100s -t none "$P" log l3 0.15 3
	is "$(q "$R" "SELECT group_concat(value || ' ' || (n > 60)) FROM (SELECT value, count(*) AS n FROM SAMPLING_CALLCHAINS c JOIN StringIds s ON s.id = c.symbol WHERE value LIKE 'turn__' GROUP BY 1 ORDER BY 1)")" 'turn_1 1,turn_2 1,turn_3 1' 'libraries that are unloaded, one after the other at one place'
else
	skip 'libraries that are unloaded' 'gcc is not installed (package gcc)'
fi

# ---- reports in a row ----
"$BIN" profile -f true -o "$W/row" --session-new=row-$$ -t osrt -s process-tree --flight=60s "$P" log t2 2.2 >out 2>err &
pid=$!
wait_for 20 test -s log
dumps=
for i in 1 2 3 4; do
	log spend 0.35 log # by CPU time: others want the CPUs, too
	check "dump $i" "$BIN" dump --session=row-$$
	dumps="$dumps $W/row$([ $i = 1 ] || echo .$i).sqlite"
done
wait $pid
is $? 0 'the program has not noticed'
for r in $dumps; do
	R=$r
	check "$(basename $r): as many as there was CPU time" log count $HZ log "$R"
done
check 'each begins where the one before ended: none twice, none missing' log edges log $dumps
chains
most 97 ' work caller ' 'the last one has its stacks, too'
split row $dumps

# ---- more than memory has: no stack comes twice ----
fly full --flight=60s --flight-size=8M --sampling-frequency=2000 "$P" log d 3.2 3
is $? 3 'stacks without end, in 8 MiB'
is "$(meta LIMIT)" memory 'memory was the limit'
check 'memory was the limit: a message' grep -q 'for memory was used up' err
check 'the last samples are there, all' log count 2000 log "$R" 80
chains
most 90 ' (left|right) .*different .*main .* 0$' 'with their stacks'
got=$(q "$R" 'SELECT count(*) FROM COMPOSITE_EVENTS')
check "as many as fit: $got" [ $((got > 200 && got < 5120)) = 1 ]

# ---- Python ----
cat >spin.py <<'EOF'
import os, time
def inner(n):
    t = 0
    for i in range(n):
        t += i
    return t
def early(s):
    end = time.process_time() + s
    while time.process_time() < end:
        inner(20000)
def late(s):
    end = time.process_time() + s
    while time.process_time() < end:
        inner(20000)
early(0.2)
late(1.2)
os.abort()
EOF
if [ "$(id -u)" = 0 ]; then
	fly python --flight=1s -t none --python-sampling=true "$PY" spin.py
	is $? 134 'Python that aborts'
	if grep -q 'need' err; then
		skip 'stacks of Python' "$(cat err)"
	else
		chains
		most 85 ' late <module> ' 'the late library: its functions'
		is "$(grep -c ' early ' chains)" 0 'the late library: no functions of the early one'
		got=$(q "$R" "SELECT count(*) FROM SAMPLING_CALLCHAINS c JOIN StringIds s ON s.id = c.symbol JOIN StringIds f ON f.id = c.file WHERE s.value = 'inner' AND f.value LIKE '%spin.py' AND c.line BETWEEN 2 AND 6")
		check "lines of the functions: $got of $all" share_ok "$got" "$all" 70
	fi
fi
done_testing

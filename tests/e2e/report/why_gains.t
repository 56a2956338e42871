#!/bin/sh
# why_gains.t - what could be won, of reports where it is known by arithmetic (why_gains.py, tests/golden/why/).
# shellcheck disable=SC2016
. tests/lib.sh
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
sqlite3 waits.sqlite <"$TOP/collector/schema.sql" && sqlite3 waits.sqlite <"$TOP/tests/golden/why/waits.sql" || exit 1
"$PY" "$TOP/tests/e2e/report/why_gains.py" "$TOP/collector/schema.sql" . || exit 1

# "PLACE ACTION LOWER..UPPER SEVERITY" of each gain, in ms; the replay of nothing is the wall time.
cat >gains.py <<'END'
import json, sys
y = json.load(sys.stdin)
assert abs(y["checks"]["replay_error_ns"]) <= y["wall"]["ns"] // 1000, y["checks"]
for g in y["gains"]:
    print("%s %s %.1f..%.1f %s" % ((g["place"] or "-").split()[0], g["action"], g["lower_ns"] / 1e6, g["upper_ns"] / 1e6,
          "up to" if g["up_to"] else g["severity"]))
END
gains() { "$BIN" why -f json --limit=0 --max-bytes=0 "$@" | "$PY" gains.py 2>&1; }

# a.py:50: the child's 34 ms and its own 2, 10 of sleep, 10 in the kernel. :30: from its first sample on. :1: the threads begin
# 3 ms earlier, and 10 at the end; 10 without a CPU. :20: thread 102 would be as late as before.
is "$(gains waits.sqlite)" "a.py:50 remove 56.0..56.0 bad
a.py:30 remove 20.0..20.0 bad
a.py:1 remove 13.0..23.0 bad
a.py:20 remove 0.0..0.0 info" 'a chain of waits: what is won is not the time on the way'
is "$(gains lock.sqlite | head -1)" 'g.py:10 unlock 75.0..75.0 severe' 'a lock: the waits for it'
is "$(gains children.sqlite | head -1)" 'g.py:30 together 49.5..49.5 severe' 'children one after the other: all but the longest'
is "$(gains level.sqlite | head -1)" 'g.py:40 level 50.0..50.0 severe' 'threads with unequal parts: the longest becomes the mean'
is "$(gains sync.sqlite | grep sync)" 'g.py:52 sync 22.0..22.0 severe' 'waits for the GPU: what the host does meanwhile'
is "$(gains clocks.sqlite | grep sync)" 'g.py:52 sync 22.0..22.0 severe' 'waits for a GPU whose clock is a little ahead: the same'
# Of 6 ms a step, 1.95 stay: a launch, a kernel and what it brings back. Or also .45 of the copy's 4 and of its launch's .1.
is "$(gains event.sqlite | head -1)" 'g.py:150 batch 27.1..48.6 bad' 'work that waits for another stream begins when that is done'
# The thread's six times on a CPU stay.
is "$(gains poll.sqlite | head -1)" 'g.py:60 remove 49.5..49.5 bad' 'a thread that looks again and again: less often'
# Only what ends the wait is known to be from outside; the six times on a CPU stay.
is "$(gains input.sqlite | grep :65)" 'g.py:65 remove 0.0..50.0 up to' 'a poll that input ends: the input may come no earlier'
is "$(gains timers.sqlite | grep :65)" 'g.py:65 remove 50.0..50.0 bad' 'a poll that timers end: all of it'
# All launches: 3 ms, then one kernel after the other; .45 of them: 21.6 ms, then the last 3 and 1.
is "$(gains launches.sqlite | head -1)" 'g.py:70 batch 26.4..37.0 bad' 'many launches: each has its lag, all at once, and kernels stay'
is "$(gains tracer.sqlite)" 'g.py:80 remove 50.0..50.0 bad
g.py:81 remove 20.0..20.0 bad
g.py:82 remove 10.0..10.0 bad' 'what records the program cannot be won'
is "$("$BIN" why -f json --limit=0 --max-bytes=0 tracer.sqlite | "$PY" -c 'import json, sys
print(sum(p["ns"] for p in json.load(sys.stdin)["partition"] if p["reason"] == "TRACER"))')" 40000000 'what records the program has a reason of its own'
is "$(gains gil.sqlite)" 'g.py:91 remove 19.0..19.0 bad
g.py:90 remove 19.0..19.0 bad' 'a wait for the GIL: what the thread that runs does, but for what thread 103 does until 31'
is "$("$BIN" why -f json --limit=0 --max-bytes=0 --thread 103 gil.sqlite | "$PY" -c 'import json, sys
print(*["%s %.0f" % (p["reason"], p["ns"] / 1e6) for p in json.load(sys.stdin)["partition"][:3]])')" 'UNKNOWN 20 BLOCKED 19 NO_CPU 10' \
	'a new thread waits for its first CPU'
is "$(gains imports.sqlite)" 'g.py:95 remove 18.0..18.0 bad
g.py:96 remove 12.0..12.0 bad' 'imports again and again; those at the start have no line'
is "$(gains import_once.sqlite)" 'g.py:95 remove 4.0..7.0 bad' 'an import in many pieces is one call'
is "$(gains import_far.sqlite | grep -c '^g.py:95 ')" 1 'imports again and again, of which not every call has a line'
is "$(gains result.sqlite | grep sync)" '' 'a result that comes back is waited for'
# The rule on such waits: it knows the gaps, and not whether they are needed.
sync_rule() { "$BIN" analyze -q -f json "$1" | "$PY" -c 'import json, sys
print(*[f["severity"] for f in json.load(sys.stdin)["findings"] if f["rule"] == "cuda_sync_idle"])'; }
is "$(sync_rule sync.sqlite)" bad 'a rule claims what a replay wins'
is "$(sync_rule result.sqlite)" info 'a rule claims nothing where a replay wins nothing'
"$BIN" why kernel.sqlite >text
check 'a kernel is what the GPU is there for' grep -qx "Nothing is to be won but in the GPU's kernels, which take 99.0 %" text
is "$(grep -c 'What to change' text)" 0 'a kernel alone: no gain'
is "$(gains --nvtx part ranges.sqlite)" 'g.py:101 remove 40.0..40.0 bad
g.py:102 remove 20.0..20.0 bad' 'ranges: what each gets shorter'
is "$(gains --gpu 0 launches.sqlite | head -1)" 'g.py:70 batch 26.4..37.0 bad' 'a GPU: how much earlier its work is done'
for how in driver futex; do
	is "$(gains $how.sqlite | head -1)" 'g.py:110 remove 50.0..50.0 bad' "$how: a lock of the driver's makes no order"
done
is "$(gains last.sqlite | head -1)" 'g.py:120 remove 50.0..50.0 bad' 'the end of a process ends its threads, wherever they are'
# Not recorded, it takes 2 ms a launch, 41.5 to the last kernel, and 8.5. All launched at once: 30 and 8.5; .45 of the time: after .9.
is "$(gains recorded.sqlite | head -1)" 'g.py:130 batch 10.6..11.5 bad' 'what records the program does not hide what the GPU takes'
is "$("$BIN" why -f json --limit=0 --max-bytes=0 far.sqlite | "$PY" -c 'import json, sys
print(*sorted("%s %.0f" % (p["reason"], p["ns"] / 1e6) for p in json.load(sys.stdin)["partition"]))')" 'NO_CPU 40 TRACER 20' \
	'a sample before stands for a time that has none after'
"$BIN" why lock.sqlite >text
check 'text: the change, the gain, the whole time' grep -q '^  1  severe  Moving the .* at g.py:10 in f10 out of the lock would save 75 ms of 100 ms$' text
"$BIN" why waits.sqlite >text
check 'text: two bounds in one unit' grep -q '^  3  bad     Removing .* at a.py:1 in f would save 13 to 23 ms of ' text

# All but the first millisecond of each fork(): the child comes then, and is gone.
is "$(gains forks.sqlite | head -1)" 'g.py:111 remove 60.0..60.0 bad' 'processes that are made and waited for: one change, nothing else of main()'
is "$(gains forks_module.sqlite | head -1)" 'g.py:111 remove 60.0..60.0 bad' 'processes that are made and waited for outside of functions: one change'
# Without the sleep, the thread's 20 ms remain.
is "$(gains ready.sqlite | head -1)" 'g.py:120 remove 60.0..100.0 bad' 'a sleep until another thread is ready: at least the rest of it'
is "$(gains daemon.sqlite | head -1)" 'g.py:120 remove 60.0..100.0 bad' 'a sleep until a thread is ready that goes on to wait: at least the rest of it'
is "$(gains alone.sqlite | head -1)" 'g.py:120 remove 100.0..100.0 bad' 'a sleep beside threads that others have started: all of it'
is "$(gains compiled.sqlite)" 'g.c:131 remove 30.0..30.0 bad
g.c:132 remove 15.0..20.0 bad
g.c:130 remove 0.0..40.0 up to' 'compiled code that calls nothing: no share of it is sure'

# ---- what the recording does not show ----
cp lock.sqlite none.sqlite
sqlite3 none.sqlite 'DELETE FROM SCHED_EVENTS; DELETE FROM SL_SCHED_DETAIL'
is "$(gains none.sqlite | grep -v 'up to$')" '' 'without context switches: bounds only'
"$BIN" why none.sqlite >text
check 'without context switches: the heading says so' grep -q '^What to change: bounds, without a replay$' text
cp lock.sqlite bare.sqlite
sqlite3 bare.sqlite 'DELETE FROM SCHED_EVENTS; DELETE FROM SL_SCHED_DETAIL; DELETE FROM COMPOSITE_EVENTS'
is "$("$BIN" analyze -f json bare.sqlite | "$PY" -c 'import json, re, sys
print(*re.findall(r"--[a-z]+=[a-z-]+", " ".join(json.load(sys.stdin)["reports"][0]["why"]["notes"])))')" '--cpuctxsw=process-tree --sample=process-tree' \
	'JSON: the options that would give lines'
"$BIN" report -q -f true -o bare.html bare.sqlite 2>err
check 'page: the option that records samples' grep -q 'Not recorded: samples; computing has no lines (--sample=process-tree)' bare.html
done_testing

#!/bin/sh
# System calls as the kernel sees them: every one, as strace counts them.
# shellcheck disable=SC2016
. tests/lib.sh
"$BIN" profile -f true -t none --syscall=process-tree -o probe true 2>err
grep -q 'no system calls' err && skip_all "$(head -1 err)"

cat >calls.py <<'END'
import os, threading
def work():
    for i in range(500): os.getppid()
    for i in range(40):
        try: os.fsync(987)
        except OSError: pass
    for i in range(30): os.sched_yield()
work()
t = threading.Thread(target=work); t.start(); t.join()
pid = os.fork()
if pid: os.waitpid(pid, 0)
else: work()
END
calls() { # NAMES...: "name count errors" as the report has them, rows and totals
	for name; do
		echo "$name $(q "$R" "SELECT total(n), total(e) FROM (
			SELECT count(*) AS n, count(errnum) AS e, nameId FROM SYSCALL GROUP BY nameId
			UNION ALL SELECT sum(count), sum(errorCount), nameId FROM SL_SYSCALL_TOTALS GROUP BY nameId)
			JOIN StringIds s ON s.id = nameId WHERE s.value = '$name'" | tr '|' ' ')"
	done | sed 's/\.0//g'
}
strace_calls() { # the same, by strace
	for name; do
		awk -v name="$name" '{ sub(/^[0-9]+ +/, "") } index($0, name "(") == 1 { n++ }
			$0 ~ "^(<\\.\\.\\. )?" name "[( ].*= -1 E" { e++ }
			END { print name, n + 0, e + 0 }' strace.out
	done
}

names='getppid fsync sched_yield'
for threshold in 0 1000 1000000; do
	check "threshold $threshold: the program runs" profile c -t none --syscall=process-tree --syscall-threshold=$threshold "$PY" -S -E calls.py
	# shellcheck disable=SC2086
	is "$(calls $names)" "$(printf 'getppid 1500 0\nfsync 120 120\nsched_yield 90 0')" "threshold $threshold: every call, and every failure, of all processes and threads"
	is "$(q "$R" "SELECT count(*) FROM SYSCALL WHERE end - start < $threshold OR eventClass <> 107 OR (errnum IS NOT NULL) <> (returnValue BETWEEN -4095 AND -1)")" 0 "threshold $threshold: rows are of calls that took as long"
	is "$(q "$R" "SELECT count(*) FROM SL_LOST_EVENTS WHERE what LIKE 'system%'")" 0 "threshold $threshold: nothing lost"
done
is "$(q "$R" "SELECT count(DISTINCT globalTid) FROM SL_SYSCALL_TOTALS t JOIN StringIds s ON s.id = t.nameId WHERE s.value = 'getppid' AND count = 500")" 3 'totals are per thread'
is "$(q "$R" "SELECT count(*) FROM SL_SYSCALL_TOTALS WHERE minNs > maxNs OR totalNs < maxNs OR totalNs > count * maxNs OR maxNs >= 1000000")" 0 'totals are sane'
check 'by --trace=syscall' profile c -t syscall --syscall-threshold=0 "$PY" -S -E calls.py
is "$(calls getppid)" 'getppid 1500 0' '--trace=syscall is the same'
is "$(q "$R" "SELECT count(*) FROM SYSCALL s JOIN StringIds n ON n.id = s.nameId WHERE value = 'fsync' AND returnValue = -9 AND errnum = 9")" 120 'result and errno'
check 'beside other traces, and without switches' profile c --syscall=process-tree --cpuctxsw=none --syscall-threshold=0 "$PY" -S -E calls.py
is "$(calls sched_yield) $(sqlite3 "$R" "SELECT count(*) FROM sqlite_master WHERE name = 'SCHED_EVENTS'")" 'sched_yield 90 0 0' 'calls, and no switches'
check 'system-wide switches' profile c -t none --syscall=process-tree --cpuctxsw=system-wide --syscall-threshold=0 "$PY" -S -E calls.py
is "$(calls getppid)" 'getppid 1500 0' 'calls are those of the tree, whatever thread is switched to'
check 'profile without --syscall succeeds' profile c "$PY" -S -E calls.py
is "$(q "$R" 'SELECT count(*) FROM SYSCALL')" 0 'none where none are asked for'
check 'the report of the table' sh -c "'$BIN' profile -f true -t syscall --syscall-threshold=0 -o c '$PY' -S -E calls.py && '$BIN' stats -r syscall_sum -f csv -o - c.sqlite | grep -q ',1500,.*,getppid'"


# ---- the exact table, worked out by hand ----
GOLD=$TOP/tests/golden/reports
sqlite3 hand.sqlite <"$GOLD/kernel.sql"
"$BIN" stats -q -r syscall_exact_sum -f csv -o - hand.sqlite | sed '/^$/d' >got
check 'rows and totals together' diff -u "$GOLD/kernel-syscall_exact_sum.csv" got
check 'the real one' sh -c "'$BIN' profile -f true -t syscall --syscall-threshold=5000 -o c '$PY' -S -E calls.py && '$BIN' stats -q -r syscall_exact_sum -f csv -o - c.sqlite | grep -q '^[0-9.]*,[0-9]*,1500,.*,getppid'"

# ---- capture ranges ----
cat >late.py <<'END'
import os, time
end = time.monotonic() + 3
while time.monotonic() < end:
    for i in range(100): os.getppid()
    time.sleep(0.001)
END
check 'a window in the middle' profile w -t syscall -y 1 -d 1 --kill=none --syscall-threshold=500 "$PY" -S -E late.py
is "$(q "$R" "SELECT count(*) FROM SYSCALL WHERE start < 0 OR end > (SELECT max(stopTime - startTime, 0) FROM ANALYSIS_DETAILS) + 1000000")" 0 'a window in the middle: rows lie within'
check 'a window in the middle: there are rows' [ "$(q "$R" 'SELECT count(*) FROM SYSCALL')" -gt 50 ]
check 'a window in the middle: totals of the window alone' [ "$(q "$R" "SELECT total(count) + (SELECT count(*) FROM SYSCALL) FROM SL_SYSCALL_TOTALS WHERE 1" | cut -d. -f1)" -lt 150000 ]

# ---- another witness ----
if command -v strace >/dev/null && strace -f -o /dev/null true 2>/dev/null; then
	strace -f -o strace.out "$PY" -S -E calls.py >out 2>&1 </dev/null
	check 'profile of calls.py for strace succeeds' profile c -t none --syscall=process-tree --syscall-threshold=0 "$PY" -S -E calls.py </dev/null
	names='openat newfstatat lseek getppid fsync sched_yield wait4 getdents64 sysinfo readlink clone3 set_robust_list'
	# shellcheck disable=SC2086
	is "$(calls $names)" "$(strace_calls $names)" 'every call of the program, as often as strace saw it'
else
	skip 'system calls are those of strace' 'strace is not installed (package strace), or not permitted'
fi

# ---- bad input ----
"$BIN" profile --syscall=everybody true 2>err
is $? 2 'an unknown scope is refused'
check 'the message names an unknown scope' grep -q "option '--syscall' does not know 'everybody'" err
done_testing

#!/bin/sh
# Records that find no room are counted by what they are: calls (rows, totals and losses add up to the calls that were made), ranges of
# NVTX, totals of files.
. tests/lib.sh

lost() { q "$R" "SELECT coalesce(sum(count), 0) FROM SL_LOST_EVENTS WHERE what LIKE '$1: rings full'"; }

# The collector stands still meanwhile: it may be as fast as the program.
cat >opens.py <<'END'
import os, signal
os.kill(os.getppid(), signal.SIGSTOP)
for i in range(60000):
    fd = os.open("/etc/passwd", os.O_RDONLY)
    os.read(fd, 10)
    os.close(fd)
os.kill(os.getppid(), signal.SIGCONT)
END
profile opens -t osrt --osrt-threshold=0 --buffer-size=1 --on-full=drop --cpuctxsw=none "$PY" -I -S opens.py 2>log
check "calls were lost" test "$(lost calls)" -gt 0
is "$(lost calls)" "$(q "$R" 'SELECT sum(lostCount) FROM SL_OSRT_TOTALS')" "the calls that are called lost are those of the totals"
for name in open64 close read; do
	made=$(q "$R" "SELECT (SELECT count(*) FROM call WHERE name = '$name') + (SELECT coalesce(sum(count + lostCount), 0) FROM total WHERE name = '$name')")
	check "rows, totals and losses of $name are all its calls" test "$made" -ge 60000 -a "$made" -lt 60200 || echo "# $made"
done
# A row that found no room takes neither the bytes of its call nor its duration with it.
file_bytes=$(q "$R" "SELECT sum(b) FROM (SELECT sum(ret) b FROM call WHERE name = 'read' AND err IS NULL UNION ALL SELECT sum(bytes) FROM total WHERE name = 'read')")
check "bytes of lost calls are in the totals of their function" test "$file_bytes" -ge 600000 || echo "# $file_bytes"
check "totals of files are no calls" test "$(lost 'totals by file')" -gt 0
check "the message names the number of lost calls" grep -q "sightline: $(lost calls | rev | sed 's/.../&,/g; s/,$//' | rev) calls were not recorded: rings full" log
check "other records have a line of their own" grep -q 'names, descriptions of files or totals by file were not recorded' log

profile nvtx -t nvtx --buffer-size=1 --on-full=drop --cpuctxsw=none "$PROG/nvtx" loop 200000 >/dev/null 2>log
is "$(lost calls)" 0 "ranges of NVTX are no calls"
is "$(q "$R" "SELECT (SELECT count(*) FROM NVTX_EVENTS WHERE eventType = 59) + $(lost 'NVTX ranges and marks')")" 200000 "rows and losses are all ranges"
check "there is no word of totals" sh -c '! grep -q SL_OSRT_TOTALS log && grep -q "NVTX ranges, marks or ends of ranges were not recorded: rings full; there are no totals of them" log' || diag <log

profile counters -t nvtx --cpuctxsw=none "$PROG/nvtx" counters 700 2>log
is "$?" 0 "a program with NVTX counters ends with status 0"
is "$(q "$R" "SELECT sum(count) FROM SL_LOST_EVENTS WHERE what LIKE 'samples of NVTX counters%'")" 2100 "samples of NVTX counters are counted"

# The collector stands still while the program's ring is full: a long call is lost.
cat >long.py <<'END'
import os, signal, time
os.kill(os.getppid(), signal.SIGSTOP)
for i in range(60000):
    os.close(os.open("/etc/passwd", os.O_RDONLY))
os.sched_yield() # as short a record as that of the sleep: takes the last words of the ring
os.sched_yield()
time.sleep(0.3)
os.kill(os.getppid(), signal.SIGCONT)
END
profile long -t osrt --osrt-threshold=0 --buffer-size=1 --on-full=drop --cpuctxsw=none "$PY" -I -S long.py 2>log
is "$(q "$R" "SELECT count(*) FROM call WHERE name LIKE '%sleep'")" 0 "the row of a long call is lost"
check "the longest call is in the summary, lost or not" "$PY" - "$BIN" "$R" <<'END'
import csv, subprocess, sys
rows = csv.DictReader(subprocess.run([sys.argv[1], 'stats', '-q', '-r', 'osrt_sum', '-f', 'csv', sys.argv[2]], capture_output=True, text=True).stdout.splitlines())
row = next(r for r in rows if r['Name'].endswith('sleep'))
assert int(row['Num Calls']) == 1 and int(row['Max (ns)']) >= 300000000 and int(row['Min (ns)']) >= 300000000, row
END

# Calls that do not return.
left() { # KIND [N]
	profile "left-$1" -t osrt --osrt-threshold=0 --cpuctxsw=none "$PROG/left" "$@" >/dev/null 2>log
	q "$R" "SELECT coalesce(sum(count), 0) FROM SL_LOST_EVENTS WHERE what LIKE 'calls: left by%'"
}
is "$(left jump 200)" 200 "calls that siglongjmp() leaves are counted"
is "$(left nested 50)" 50 "calls that longjmp() leaves from within are counted"
is "$(left stack)" 0 "calls during which a handler runs on a stack above return"
is "$(left exit)" 1 "a call during which a handler calls exit() is counted"

done_testing

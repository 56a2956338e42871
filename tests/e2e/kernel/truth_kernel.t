#!/bin/sh
# Reports agree with other witnesses: strace, and the kernel's own counters.
# shellcheck disable=SC2016,SC2086
. tests/lib.sh

# ---- strace ----
# Calls of a program on its own files, by descriptor type: what libc does on its own account (locale files,
# reading ahead below stdio) is kept out by looking at one folder only.
count_strace() { # SYSCALL-REGEX: lines about files under $W/here; prints "count bytes"
	awk -v re="^($1)\\\\(" -v here="$W/here/" '
		{ sub(/^[0-9]+ +/, "") }
		$0 ~ re && index($0, here) { n++; if (match($0, /= [0-9]+/)) b += substr($0, RSTART + 2, RLENGTH - 2) }
		END { print n + 0, b + 0 }' strace.out
}
count_report() { # NAMES
	q "$R" "SELECT count(*), sum(CASE WHEN err IS NULL THEN ret ELSE 0 END) FROM call WHERE name IN ($1)
		AND path LIKE '$W/here/%'" 2>&1 | tr '|' ' '
}
if command -v strace >/dev/null && strace -f -o /dev/null true 2>/dev/null; then
	cat >files.py <<'END'
import os, sys
d = os.getcwd()
for i in range(50):
    fd = os.open("%s/%d" % (d, i), os.O_CREAT | os.O_RDWR)
    os.write(fd, b"x" * i); os.pwrite(fd, b"y" * 9, 100); os.lseek(fd, 0, 0)
    os.read(fd, 7); os.pread(fd, 1000, 3); os.writev(fd, [b"1", b"23"]); os.close(fd)
pid = os.fork()
if pid: os.waitpid(pid, 0)  # in turn: strace splits calls that overlap
for i in range(50):
    fd = os.open("%s/%d" % (d, i), os.O_RDONLY)
    e = os.dup(fd)
    os.close(fd)
    while os.read(e, 60): pass
    os.close(e)
END
	mkdir here
	(cd here && strace -f -y -e trace=desc,file -o "$W/strace.out" "$PY" -S -E "$W/files.py")
	rm -rf here
	mkdir here
	(cd here && "$BIN" profile -f true -o "$W/s" --osrt-threshold=0 "$PY" -S -E "$W/files.py")
	R=$W/s.sqlite
	for pair in 'read:read' 'write:write' 'pread64:pread' 'pwrite64:pwrite' 'writev:writev' 'close:close' 'fcntl:fcntl' 'lseek:lseek'; do
		name=${pair#*:}
		want=$(count_strace "${pair%:*}")
		got=$(count_report "'$name', '${name}64'")
		case $name in close | fcntl | lseek) want=${want% *} got=${got% *} ;; esac
		is "$got" "$want" "$name: calls and bytes as strace saw them"
	done
	got=$(count_report "'open', 'open64', 'openat', 'openat64'")
	want=$(count_strace 'openat|open')
	is "${got% *}" "${want% *}" 'open: as often as strace saw it'
	is "${want% *}" 150 'strace saw the calls that the program makes'
else
	skip 'calls are those of strace' 'strace is not installed (package strace), or not permitted'
fi

# ---- /proc/self/io and getrusage ----
for t in 0 1000; do
	profile k --osrt-threshold=$t "$PROG/kernel" "$W/kernel.dat" >want 2>err
	case $? in
	0) ;;
	77)
		skip 'bytes are those of /proc/self/io' 'not readable here'
		break
		;;
	*) result 1 'kernel.c runs' ;;
	esac
	for dir in r:read,pread,pread64,readv w:write,pwrite,pwrite64,writev; do
		names=$(echo "${dir#*:}" | sed "s/[^,]*/'&'/g")
		is "$(q "$R" "SELECT sum(n) || ' ' || sum(b) FROM (
			SELECT count(*) n, sum(ret) b FROM call WHERE name IN ($names) UNION ALL
			SELECT coalesce(sum(count + lostCount), 0), coalesce(sum(bytes), 0) FROM total WHERE name IN ($names))" 2>&1)" \
			"$(sed -n "s/^sysc${dir%%:*} //p" want) $(sed -n "s/^${dir%%:*}char //p" want)" \
			"calls and bytes (${dir#*:}) are what the kernel counted, threshold $t"
	done
done

# Context switches against getrusage, in the time in which the program counted. What the kernel of a virtual machine keeps
# to itself is counted as lost.
if "$BIN" status -e 2>/dev/null | grep -qi 'bpf.*\(yes\|works\|ok\)'; then
	vol=$(sed -n 's/^nvcsw //p' want) invol=$(sed -n 's/^nivcsw //p' want)
	main=$(q "$R" "SELECT min(globalTid) FROM OSRT_API")
	zero=$(q "$R" "SELECT startTime FROM ANALYSIS_DETAILS")
	from=$(sed -n 's/^from //p' want) to=$(sed -n 's/^to //p' want)
	out=$(q "$R" "SELECT count(*) FROM SCHED_EVENTS WHERE isSchedIn = 0 AND globalTid = $main AND start + $zero BETWEEN $from AND $to")
	kept=$(q "$R" "SELECT CAST(total(count) AS INT) FROM SL_LOST_EVENTS WHERE what LIKE 'context switches%'")
	check "context switches: $out rows, $kept lost, the kernel counted $vol + $invol" \
		eval '[ "$((out + kept))" -ge $((vol + invol)) ] && [ "$out" -le $((vol + invol + 10)) ]'
	is "$(q "$R" "SELECT count(*) FROM (SELECT isSchedIn i, lag(isSchedIn) OVER (PARTITION BY globalTid ORDER BY start, rowid) p
		FROM SCHED_EVENTS) WHERE i = p")" 0 'in and out alternate for every thread'
	is "$(q "$R" "SELECT count(*) >= 20 FROM SCHED_EVENTS s WHERE isSchedIn = 0 AND threadState = 2 AND EXISTS (SELECT 1 FROM call c
		WHERE c.name = 'usleep' AND s.start BETWEEN c.start AND c.end)")" 1 'the 20 sleeps are blocked times, inside their calls'
else
	skip 'context switches against getrusage' 'no eBPF here'
fi

# Times: sleeps last as long as the program slept, on the same clock as the outside world.
cat >sleeps.py <<'END'
import time
t = []
for s in (0.02, 0.05, 0.1) * 5:
    a = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    time.sleep(s)
    t.append((a, time.clock_gettime_ns(time.CLOCK_MONOTONIC)))
print(*("%d %d" % x for x in t), sep="\n")
END
profile times "$PY" sleeps.py >slept
zero=$(q "$R" 'SELECT startTime FROM ANALYSIS_DETAILS')
q "$R" "SELECT start + $zero, end + $zero FROM call WHERE name IN ('clock_nanosleep', 'nanosleep', 'select') AND end - start > 15e6 ORDER BY start" |
	tr '|' ' ' >seen
paste -d' ' slept seen >both
# No thread is sure to have a CPU between two readings of the clock; some do.
is "$(awk '$1 <= $3 + 50000 && $4 <= $2 + 50000 { n++ } ($2 - $1) - ($4 - $3) < 1000000 { near++ } END { print n + 0, (near > 3) }' both)" '15 1' \
	'sleeps have the times that the program read from the clock' || diag <both
done_testing

#!/bin/sh
# Reports are true: programs log every call they make, with all its values; the report must hold
# exactly these (threshold 0), and rows + totals + lost = these with a threshold.
# shellcheck disable=SC2016,SC2046,SC2086,SC2094,SC3045
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'

run_no=0
truth() { # PROGRAM [ARG...]: in a folder of its own, in each way of tracing
	prog=$1
	shift
	for how in 'profile 0' 'profile 1000' 'profile 1000000000' bare; do
		rm -rf here notes
		mkdir here notes
		run_no=$((run_no + 1)) # a new name: the collector of a bare run may still be finishing
		R=$W/t$run_no.sqlite
		case $how in
		bare)
			(cd here && SIGHTLINE_OPTIONS=--osrt-threshold=0 SIGHTLINE_OUTPUT=$R LD_PRELOAD=$SHIM \
				TRUTH=$W/notes/n exec "$PROG/$prog" "$@") >out 2>err
			;;
		*)
			(cd here && TRUTH=$W/notes/n exec "$BIN" profile -f true -o "$R" "--osrt-threshold=${how#* }" \
				"$PROG/$prog" "$@") >out 2>err
			;;
		esac
		result $? "$prog, $how: the program runs" || diag <err
		is "$(grep -v '^sightline: ' err)" '' "$prog, $how: the program finds what it expects"
		check "$prog, $how: the report is sound" intact "$R"
		case $how in
		*1000*) check "$prog, $how: rows + totals = calls" "$PY" "$E2E/trace/truth.py" "$R" notes/n totals ;;
		*) check "$prog, $how: rows = calls" "$PY" "$E2E/trace/truth.py" "$R" notes/n ;;
		esac
	done
}
for prog in truth_file truth_file_fortify truth_file_64 truth_stdio truth_stdio_fortify truth_sock truth_sock_fortify \
	truth_mem truth_proc; do
	truth $prog
done

# ---- locks: counts whatever the threshold, contended or not ----
for t in 0 1000 1000000; do
	profile locks --osrt-threshold=$t "$PROG/truth_sync" >want 2>err
	is "$?$(grep -v '^sightline: ' err)" 0 "the program with locks runs, threshold $t"
	while read -r name want; do
		is "$(q "$R" "SELECT (SELECT count(*) FROM call WHERE name = '$name') +
			coalesce((SELECT sum(count) + sum(lostCount) FROM total WHERE name = '$name'), 0)" 2>&1)" \
			"$want" "$name is counted, threshold $t"
	done <want
	is "$(q "$R" "SELECT count(*) FROM call WHERE name = 'pthread_mutex_lock' AND end - start BETWEEN 5e6 AND 5e8" 2>&1)" 1 \
		"the lock that was held is a row, threshold $t"
done

# ---- a program that turns into another one: calls before, and long after ----
for i in 1 2 3 4 5 6; do
	profile exec$i --osrt-threshold=0 sh -c 'for i in 1 2 3 4 5 6 7 8; do x=$(echo a | cat); done; exec "$@"' sh \
		"$PROG/repeat" /etc/passwd 10000 slow >/dev/null 2>&1 &
done
wait
for i in 1 2 3 4 5 6; do
	is "$(q exec$i.sqlite "SELECT count(*) FROM call WHERE name LIKE 'pread%'")" 10000 "every call after an exec in place, $i"
done

# ---- inherited descriptors ----
echo 0123456789 >file
profile inherit --osrt-threshold=0 sh -c 'exec "$0" "$1" 5 </dev/null 3<"$2"' "$PROG/repeat" "$W/file" "$W/file" >out
is "$(q "$R" "SELECT count(*) FROM call WHERE name IN ('pread', 'pread64') AND path = '$W/file' AND ret = 11 AND asked = 64 AND off = 0")" 5 \
	'a descriptor opened behind the back has its path'
profile inherit --osrt-threshold=0 "$PY" -c 'import os; os.read(3, 4); os.read(0, 3)' 3<file <file
is "$(q "$R" "SELECT group_concat(fd || ' ' || ret, ',') FROM (SELECT * FROM call WHERE name = 'read' AND path = '$W/file' ORDER BY start)")" \
	'3 4,0 3' 'inherited descriptors have their paths'

# ---- relative paths: what the kernel calls the file, however the working directory changes ----
for how in 0 1000000000; do
	rm -rf cwd && mkdir cwd
	profile cwd$how --osrt-file-access=true --osrt-threshold=$how sh -c 'cd cwd && exec "$0"' "$PROG/cwd" >want 2>err
	is "$?$(grep -v '^sightline: ' err)" 0 "a program that changes its directory runs, threshold $how"
	[ "$(wc -l <want)" -gt 25 ] || result 1 'a program that changes its directory has made its files'
	q "$R" "SELECT filePath FROM OSRT_FILE_ACCESS_DESCRIPTORS" | sort -u >got
	is "$(sort -u want | comm -23 - got)" '' "files opened by relative paths have absolute ones, threshold $how"
done

# ---- file access tables ----
mkdir facc
profile facc --osrt-file-access=true sh -c 'cd facc && exec "$0" ' "$PROG/truth_file"
is "$(q "$R" "SELECT count(*) FROM OSRT_FILE_ACCESS_EVENTS LEFT JOIN OSRT_FILE_ACCESS_DESCRIPTORS USING (fileAccessId) WHERE filePath IS NULL" 2>&1)" 0 \
	'file events point at files'
is "$(q "$R" "SELECT group_concat(t || ' ' || b, ',') FROM (SELECT eventType t, sum(bytesProcessed) b FROM OSRT_FILE_ACCESS_EVENTS
	JOIN OSRT_FILE_ACCESS_DESCRIPTORS USING (fileAccessId) WHERE filePath = '$W/facc/rw' AND eventType IN (3, 4) GROUP BY 1)" 2>&1)" \
	"3 $((7 + 50 + 4092 + 60 + 60 + 10)),4 $((1000 + 100 + 60 + 30 + 30 + 10))" 'bytes read and written per file'
is "$(q "$R" "SELECT count(*) FROM OSRT_FILE_ACCESS_EVENTS LEFT JOIN SL_FUNCTIONS ON nameId = apiCallId WHERE io IS NOT eventType" 2>&1)" 0 \
	'SL_FUNCTIONS has the I/O class of each function, as the events have it'
is "$(q "$R" "SELECT count(*) FROM (SELECT nameId FROM OSRT_API UNION SELECT nameId FROM SL_OSRT_TOTALS) LEFT JOIN SL_FUNCTIONS USING (nameId)
	LEFT JOIN StringIds ON id = library WHERE value IS NOT 'libc'" 2>&1)" 0 'SL_FUNCTIONS has a row for each function that was called'
done_testing

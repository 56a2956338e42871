#!/bin/sh
# Calls by open file are exact: rows + SL_FILE_TOTALS are those of strace, or of the program, however many files, threads and
# processes there are, when the program is killed, and when rows are lost. (tests/e2e/trace/truth.t: every function;
# exact_kill.t: kills at random.)
# shellcheck disable=SC2016,SC2046,SC2086
. tests/lib.sh

head -c 200000 /dev/zero >data
# Calls and bytes of a direction (3 read, 4 written) on the files with a name like PATTERN.
calls() { # PATTERN DIRECTION
	q "$R" "SELECT sum(n) || ' ' || sum(b) FROM (
		SELECT count(*) AS n, sum(bytesDone) AS b FROM OSRT_API JOIN SL_FUNCTIONS USING (nameId)
			JOIN StringIds ON id = pathId WHERE io = $2 AND value LIKE '$1'
		UNION ALL SELECT sum(count), sum(bytes) FROM SL_FILE_TOTALS JOIN OSRT_FILE_ACCESS_DESCRIPTORS USING (fileAccessId)
			WHERE eventType = $2 AND filePath LIKE '$1')"
}

# ---- another witness ----

if command -v strace >/dev/null && strace -o probe true 2>/dev/null; then
	strace -y -e trace=read,write -o log dd if="$W/data" of="$W/copy" bs=50 2>/dev/null
	by_strace() { # CALL FILE
		awk -v call="$1" -v file="$2" 'index($0, call "(") == 1 && index($0, file ">") { n++; bytes += $NF } END { print n + 0, bytes + 0 }' log
	}
	for threshold in 0 2000 1000000000; do
		profile dd --osrt-threshold=$threshold dd if="$W/data" of="$W/copy" bs=50 >out 2>err
		is "$(calls '%/data' 3)" "$(by_strace read "$W/data")" "reads and their bytes are those of strace, threshold $threshold"
		is "$(calls '%/copy' 4)" "$(by_strace write "$W/copy")" "writes and their bytes are those of strace, threshold $threshold"
	done
	is "$(by_strace read "$W/data")" '4001 200000' 'strace saw 4,001 reads of 200,000 bytes'
else
	skip 'reads are those of strace' 'strace is not installed (package strace), or not permitted'
fi

# ---- more descriptors than a thread has totals ----

sum=$(awk 'BEGIN { for (i = 0; i < 1500; i++) s += i % 64; print s }')
for how in '' fork kill; do
	times=$([ "$how" = fork ] && echo 2 || echo 1)
	# shellcheck disable=SC3045 # dash has it, too
	ulimit -n 4096
	profile many --osrt-threshold=1000000000 "$PROG/many_files" "$W/data" 1500 3 $how >out 2>err
	is "$(calls '%/data' 3)" "$((times * 2 * 1500 * 3)) $((times * 2 * 3 * sum))" "3,000 files, two threads${how:+, $how}: reads and bytes of all files are exact"
	is "$(calls '/dev/null' 4)" "$((times * 200)) $((times * 600))" "3,000 files, two threads${how:+, $how}: writes to one file of all are exact"
	is "$(q "$R" "SELECT count(DISTINCT count), max(count) FROM SL_FILE_TOTALS WHERE eventType = 3")" '1|3' "3,000 files, two threads${how:+, $how}: each file has its own three reads"
	is "$(q "$R" "SELECT count(DISTINCT globalTid) FROM SL_FILE_TOTALS")" $((2 * times)) "3,000 files, two threads${how:+, $how}: each thread has totals of its own"
	is "$(q "$R" "SELECT count(*) FROM SL_LOST_EVENTS WHERE $RECORDS")" 0 "3,000 files, two threads${how:+, $how}: no event is lost"
done

# ---- calls that read one file and write to another ----

if [ -x "$PY" ]; then
	cat >copies.py <<'END'
import os, sys
made = {}
def copy(call, to, *args):
    n = call(*args)
    made.setdefault(to, []).append(n)
    return n
source = sys.argv[1]
for name in ("copy_file_range", "sendfile"):
    read = os.open(source, os.O_RDONLY)
    write = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    two = (write, read, None) if name == "sendfile" else (read, write)
    while copy(getattr(os, name), name, *two, 7000): pass
# A pipe with a name: splice from the file to it, and from it to a file.
os.mkfifo("pipe")
read, both = os.open(source, os.O_RDONLY), os.open("pipe", os.O_RDWR)
write = os.open("splice", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
while n := copy(os.splice, "pipe", read, both, 4096):
    copy(os.splice, "splice", both, write, n)
for name in sorted(made): print(name, len(made[name]), sum(made[name]))
END
	for options in --osrt-threshold=0 --osrt-threshold=1000 --osrt-threshold=1000000000 --osrt-file-access=true; do
		rm -f pipe
		if ! profile copies $options "$PY" -S -E copies.py "$W/data" >want 2>err; then
			skip "copies, $options: writes of the files written to" 'Python or the file system lacks splice or copy_file_range'
			continue
		fi
		"$BIN" stats -q -f csv -r file_access_sum "$R" 2>/dev/null >got
		is "$(awk -F, -v dir="$W/" 'index($13, dir) == 1 && $13 !~ /want$|err$/ && $8 > 0 { print substr($13, length(dir) + 1), $8, $9 }' got | sort)" "$(cat want)" "copies, $options: calls and bytes of the files written to are the program's own"
		is "$(awk -F, -v file="$W/data" '$13 == file { print $5 }' got)" 600000 "copies, $options: bytes of the file read are the program's own"
		is "$(grep -c 'not known' got)" 0 "copies, $options: no call is of a file that is not known"
	done
fi

# ---- opens, and calls of stdio apart from those of the kernel ----

# The figures of a file by file_access_sum: opens, reads, bytes, interface.
by_report() { # FILE
	"$BIN" stats -q -f csv -r file_access_sum "$R" 2>/dev/null | awk -F, -v file="$1" '$13 == file { print $3, $4, $5, $8, $9, $12 }' | sort
}
"$PROG/file_calls" "$W/data" "$W/copy" >want
for threshold in 0 1000 1000000000; do
	profile calls --osrt-threshold=$threshold "$PROG/file_calls" "$W/data" "$W/copy" >out 2>err
	is "$(by_report "$W/data")" "$(sed -n 's/^data //p' want | sort)" "opens and reads of a file, by open and by fopen, are the program's own, threshold $threshold"
	is "$(by_report "$W/copy")" "$(sed -n 's/^copy //p' want | sort)" "opens and writes of a file, by open and by fopen, are the program's own, threshold $threshold"
done

# ---- more threads than there are chunks of totals ----

mkdir -p short
for i in 0 1 2 3 4 5 6 7 8 9 10 11; do
	cp "$W/data" "short/file$i"
done
cd short || exit 1
for how in '6000 1' '2500 12'; do
	# shellcheck disable=SC2086 # words
	profile short --osrt-threshold=1000000000 "$PROG/file_threads" $how >out 2>err
	is "$?" 0 "threads one after another, $how: the program ends with status 0"
	is "$(calls '%/short/file%' 3)" "$((20 * ${how% *} * ${how#* })) $((20 * ${how% *} * ${how#* }))" "threads one after another, $how: reads and bytes by file are exact"
	is "$(q "$R" "SELECT count(DISTINCT count) || ' ' || sum(count) FROM (SELECT sum(count) count FROM SL_FILE_TOTALS WHERE eventType = 3
		GROUP BY fileAccessId IN (SELECT fileAccessId FROM OSRT_FILE_ACCESS_DESCRIPTORS WHERE filePath IS NULL))")" "1 $((20 * ${how% *} * ${how#* }))" "threads one after another, $how: no read is of an unknown file"
	is "$(q "$R" "SELECT count(*) FROM SL_LOST_EVENTS WHERE $RECORDS")" 0 "threads one after another, $how: no event is lost"
done
cd "$W" || exit 1

# ---- what no call shows is named ----

title() { "$BIN" stats -q -r file_access_sum "$R" 2>/dev/null | sed -n 's/^ \*\* File Access Summary\(.*\) (file_access_sum):$/\1/p'; }
for way in aio mmap uring; do
	profile unseen --osrt-threshold=0 "$PROG/unseen" "$W/data" $way >out 2>err
	is "$? $(title)" "0 ; without what $(case $way in aio) echo 'POSIX AIO' ;; mmap) echo mmap ;; uring) echo io_uring ;; esac) moved" "$way: the head of file_access_sum has it"
done
is "$(q "$R" "SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE text LIKE 'io_uring: %'")" 1 'uring: the report has one note'
if "$BIN" status 2>/dev/null | grep -q '^eBPF *ok' && "$PROG/unseen" "$W/data" worker; then
	profile worker --osrt-threshold=0 "$PROG/unseen" "$W/data" worker >out 2>err
	is "$? $(title)" '0 ; without what io_uring moved' 'io_uring by no function of libc: the thread that the kernel adds to the process shows it'
else
	skip 'io_uring by no function of libc: the thread that the kernel adds to the process shows it' 'no eBPF, or the kernel refuses io_uring'
fi
profile seen --osrt-threshold=0 "$PROG/known" "$W" >out 2>err
is "$(title)" '' 'file_access_sum of a program whose reads are all calls has a plain head'

# ---- rows that find no room are counted ----

profile drop --osrt-threshold=0 --on-full=drop --buffer-size=1 "$PROG/many_files" "$W/data" 64 3000 >out 2>err
check '--on-full=drop with 1 MiB loses rows' [ "$(q "$R" "SELECT sum(lostCount) FROM SL_OSRT_TOTALS" | cut -d. -f1)" -gt 1000 ]
is "$(calls '%/data' 3 | cut -d' ' -f1)" $((2 * 64 * 3000)) '--on-full=drop with 1 MiB: rows + totals are all reads'

done_testing

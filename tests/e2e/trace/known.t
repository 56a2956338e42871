#!/bin/sh
# Every count, byte and total of the default tables is what the program did, whatever the threshold: by what it prints, and by
# strace. The same figure is the same in every table.
# shellcheck disable=SC2086
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'

head -c 100000 /dev/zero >known.0
cp known.0 known.2
logs=
if command -v strace >/dev/null && strace -o probe true 2>/dev/null; then
	strace -ff -y -e trace=read,write,pread64 -o log "$PROG/known" "$W" >/dev/null 2>&1
	logs=$(echo log.*)
else
	skip 'default tables are those of strace' 'strace is not installed (package strace), or not permitted'
fi
for threshold in 0 1000 20000 1000000000; do
	profile k$threshold -t osrt --osrt-threshold=$threshold "$PROG/known" "$W" >truth 2>err
	check "threshold $threshold: the program runs" test -s truth
	check "threshold $threshold: default tables are exact" "$PY" "$E2E/trace/known.py" "$BIN" "$R" truth $logs
done
"$BIN" stats -q -r osrt_sum "$R" >table
check 'stats marks figures that are of long calls alone' grep -qF 'Med and StdDev of calls >= 1e+06 us' table
"$BIN" stats -q -r osrt_sum,file_access_sum --filter-time=0/1s "$R" >table
is "$(grep -c 'only calls >= 1e+06 us' table)" 2 'stats marks figures of a part of the time, which has no totals'
sqlite3 k1000.sqlite 'DROP TABLE SL_FILE_TOTALS'
"$BIN" stats -q -r file_access_sum k1000.sqlite >table
check 'stats marks figures by file where there are no totals by file' grep -qF 'by file only calls >= 1 us' table
is "$("$BIN" stats -q -r file_access_sum -f csv:nohdr k1000.sqlite | awk -F, '{ n += $4; bytes += $5 } END { print n, bytes }')" '13340 392000' \
	'the last row of file_access_sum has what is missing by file'
done_testing

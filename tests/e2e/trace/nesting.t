#!/bin/sh
# Calls inside of other calls: as many rows as calls, each with its level, whichever path of the shim takes them.
. tests/lib.sh

seq 1 10 | awk '{ l = $1 < 7 ? $1 : 7; for (i = 0; i < ($1 <= 3 ? 3 : 2); i++) print $1, l } END { for (i = 100; i < 104; i++) print i, 0 }' >want
for clock in tsc monotonic; do
	SIGHTLINE_CLOCK=$clock profile n$clock --osrt-threshold=0 --on-full=block "$PROG/nested" >out 2>err
	is $? 0 "$clock: the program with nested calls ends with status 0"
	q "$R" "SELECT fileOffset, nestingLevel FROM OSRT_API JOIN StringIds ON nameId = id WHERE value LIKE 'pread%' ORDER BY 1, 2" |
		tr '|' ' ' >got
	check "$clock: each nested call has a row and its level" diff want got
	SIGHTLINE_CLOCK=$clock profile t$clock --osrt-threshold=1000000000 "$PROG/nested" >out 2>err
	is "$(q "$R" "SELECT sum(count) FROM total WHERE name LIKE 'pread%'")" 27 "$clock: below the threshold totals have every nested call"
done
done_testing

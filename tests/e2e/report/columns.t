#!/bin/sh
# Every figure of the default tables of calls, files, threads, faults and disks is of all that happened, and a test compares it with
# another witness, or the head of its column names the part that it is of (columns.txt).
. tests/lib.sh

SOURCES=$TOP/exporters
LIST=$E2E/report/columns.txt
# Columns of a report in their order: "NAME = MEANING"; those of shared heads stand where these are included.
columns_of() { # REPORT
	awk -v lib="$SOURCES/sql/lib" '/^-- include: .*_heads$/ { file = lib "/" $3 ".sql"; while ((getline line < file) > 0) print line; next } { print }' \
		"$SOURCES/stats/reports/$1.sql" | sed -n 's/^-- column: //p'
}
listed() { grep "^$1 |" "$LIST" | awk -F ' [|] ?' '{ print $2 }'; }

for report in osrt_sum syscall_sum file_access_sum thread_cpu_sum page_fault_sum block_io_sum cpu_events; do
	columns_of $report >heads
	is "$(listed $report)" "$(sed 's/ = .*//' heads)" "$report: each column is in the list"
done
grep -v '^#' "$LIST" | awk -F ' [|] ?' '{ print $3 }' | sort -u >kinds
is "$(tr '\n' ' ' <kinds)" 'all part per what ' 'each column of the list is of a known kind'
grep -v '^#' "$LIST" | while IFS='|' read -r report column kind witness; do
	report=${report% } column=${column# } column=${column% } kind=${kind# } kind=${kind% } witness=${witness# }
	case $kind in
	part) columns_of "$report" | grep -F "$column = " | grep -qF "$witness" || echo "$report, $column: no word '$witness'" ;;
	all) [ -x "$E2E/$witness" ] && cat "$E2E/${witness%.t}".* | grep -q "$report" || echo "$report, $column: no test of it in $witness" ;;
	esac
done >wrong
is "$(cat wrong)" '' 'figures of a part are called that, others have a test'
done_testing

#!/bin/sh
# Every figure of the default tables, and at the top of the HTML page, is of all that happened, and a test compares it with another
# witness, or the head of its column names the part that it is of (columns.txt).
. tests/lib.sh

SOURCES=$TOP/exporters
CARDS=$SOURCES/html/figures.c
LIST=$E2E/report/columns.txt
# Columns of a report in their order: "NAME = MEANING"; those of shared heads stand where these are included.
columns_of() { # REPORT
	awk -v lib="$SOURCES/sql/lib" '/^-- include: .*_heads$/ { file = lib "/" $3 ".sql"; while ((getline line < file) > 0) print line; next } { print }' \
		"$SOURCES/stats/reports/$1.sql" | sed -n 's/^-- column: //p'
}
# Whether one of the tables that a report is made from can be in a report of Sightline.
recorded() { # REPORT
	sed -n 's/^-- needs: \(.*\) = .*/\1/p' "$SOURCES/stats/reports/$1.sql" | sed 's/ or /\n/g' | sed 's/[.=].*//; s/^SL_GPU_WORK$/CUPTI_ACTIVITY_KIND_KERNEL/' >needs
	sed -n 's/^-- @table \([A-Za-z0-9_]*\).*/\1/p' "$TOP/collector/schema.sql" | grep -qxFf needs
}
listed() { grep "^$1 |" "$LIST" | awk -F ' [|] ?' '{ print $2 }'; }

reports=0
for file in $(grep -l '^-- default:' "$SOURCES"/stats/reports/*.sql); do
	report=$(basename "$file" .sql)
	recorded "$report" || continue
	reports=$((reports + 1))
	columns_of "$report" >heads
	is "$(listed "$report")" "$(sed 's/ = .*//' heads)" "$report: each column is in the list"
done
check "more than twenty default tables can be in a report" test $reports -gt 20
is "$(listed html | sort)" "$(grep -oE 'figure(_moved)?\(p, "[a-z-]+"' "$CARDS" | sed 's/.*"\(.*\)"/\1/' | sort -u)" "each figure of the HTML page is in the list"
grep -v '^#' "$LIST" | awk -F ' [|] ?' '{ print $3 }' | sort -u >kinds
is "$(tr '\n' ' ' <kinds)" 'all part per what ' 'each column of the list is of a known kind'
grep -v '^#' "$LIST" | while IFS='|' read -r report column kind witness; do
	report=${report% } column=${column# } column=${column% } kind=${kind# } kind=${kind% } witness=${witness# }
	case $kind:$report in
	part:html) grep -qF "$witness" "$CARDS" || echo "$report, $column: no word '$witness'" ;;
	part:*) columns_of "$report" | grep -F "$column = " | grep -qF "$witness" || echo "$report, $column: no word '$witness'" ;;
	all:html) grep -q "'$column'" "$E2E/$witness" || echo "$report, $column: no test of it in $witness" ;;
	all:*) [ -x "$E2E/$witness" ] && cat "$E2E/${witness%.t}".* | grep -q "$report" || echo "$report, $column: no test of it in $witness" ;;
	esac
done >wrong
is "$(cat wrong)" '' 'figures of a part are called that, others have a test'
done_testing

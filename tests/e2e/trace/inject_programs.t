#!/bin/sh
# attach --inject to real programs under load (tests/attach), a few times each: counts are exact, and nothing is left, whatever the collector's end.
. tests/lib.sh

[ "$(uname -m)" = x86_64 ] || skip_all '--inject is for x86-64'
sleep 60 &
probe=$!
"$BIN" attach --inject -p $probe -d 1 -f true -o probe --cpuctxsw=none --sample=none >/dev/null 2>err
rc=$?
kill $probe
[ $rc -ne 0 ] && grep -q 'not permitted' err && skip_all "$(cat err)"
: "$PROG/churn" "$PROG/lib/late_calls.so" # check-attach runs these
for program in churn python redis nginx; do
	"$PY" "$TOP/tests/attach/check-attach" -b "$(dirname "$BIN")" -n 3 -k 5 $program >lines 2>&1
	rc=$?
	if grep -q skipped lines; then
		skip "$program is entered and left" "$(sed 's/.*skipped: //' lines)"
		continue
	fi
	is $rc 0 "$program is entered and left three times with exact counts, and left by five killed collectors"
	diag <lines
done
done_testing

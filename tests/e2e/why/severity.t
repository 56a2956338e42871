#!/bin/sh
# severity.t - a finding has one severity and one cost: in the list as text, JSON and CSV, for the rule alone, on the page, and for
# --fail-on.
# shellcheck disable=SC2016
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'

cat >program.py <<'END_PY'
import os, sys, time
f = open("data", "wb", buffering=0)
for i in range(int(sys.argv[1])):
    f.write(b"x" * 100)
    os.fsync(f.fileno())
time.sleep(float(sys.argv[2]))
END_PY
# "SEVERITY COST" of the rule in an answer.
text() { sed -n 's/^ *1\. \([a-z]*\)  \([0-9.]* %\).*(io_syncs)$/\1 \2/p'; }
json() {
	"$PY" -c '
import json, sys
for f in json.load(sys.stdin)["findings"]:
    if f["rule"] == "io_syncs": print(f["severity"], "%.1f %%" % f["time_percent"])'
}
csv() { sed -n 's/^[0-9]*,\([a-z]*\),\([0-9.]*\),[0-9]*,io_syncs,.*/\1 \2 %/p'; }
page() { tr '\n' ' ' <"$1" | sed -n 's/.*class="finding \([a-z]*\)"><h3>Frequent Syncs<[^b]*[^0-9]*badge">[a-z]*<\/span> <b>\([0-9.]* %\).*/\1 \2/p'; }
compare() { # REPORT
	want=$("$BIN" analyze "$1.sqlite" | sed -n 's/^ *[0-9]*\. \([a-z]*\)  \([0-9.]* %\).*(io_syncs)$/\1 \2/p')
	is "$("$BIN" analyze -f json "$1.sqlite" | json)" "$want" "$1: JSON has the severity and the cost of the text"
	is "$("$BIN" analyze -q -f csv "$1.sqlite" | csv)" "$want" "$1: CSV has them, too"
	is "$("$BIN" analyze -r io_syncs "$1.sqlite" | text)" "$want" "$1: the rule alone has them, too"
	is "$("$BIN" analyze -f json -r io_syncs "$1.sqlite" | json)" "$want" "$1: the rule alone as JSON has them, too"
	"$BIN" report -f true -o page.html "$1.sqlite" >log 2>&1
	is "$(page page.html)" "$want" "$1: the page has them, too"
	"$BIN" analyze --fail-on=severe "$1.sqlite" >out 2>&1
	all=$?
	"$BIN" analyze --fail-on=severe -r io_syncs "$1.sqlite" >out 2>&1
	is "$?" "$all" "$1: --fail-on has one status for the list and for the rule alone"
}

"$BIN" profile -f true -t osrt -o syncs "$PY" program.py 200 0 >out 2>&1
compare syncs
case $want in severe*) expected=3 ;; *) expected=0 ;; esac
is "$all" "$expected" 'many syncs: the status is that of the severity'
"$BIN" profile -f true -t osrt -o sleeps "$PY" program.py 20 1 >out 2>&1
compare sleeps
# The premise: a disk that others keep busy may take long for a few syncs.
percent=$(q "$W/sleeps.sqlite" "SELECT CAST(100 * sum(end - start) / (SELECT max(end) - min(start) FROM OSRT_API) AS INTEGER)
	FROM OSRT_API JOIN StringIds ON id = nameId WHERE value = 'fsync'")
if [ "${percent:-0}" -lt 10 ]; then
	is "$all" 0 'a few syncs beside a sleep: nothing is severe'
else
	skip 'a few syncs beside a sleep: nothing is severe' "they took $percent % of the time"
fi
done_testing

#!/bin/sh
# Daemons that close every descriptor work, end, and leave their calls in the report.
# shellcheck disable=SC2016,SC2086,SC1010
. tests/lib.sh

for how in close_range loop; do
	arg=
	[ $how = close_range ] || arg=loop
	rm -f want got
	"$PROG/daemon" "$W/want" $arg
	wait_for 5 test -f want
	SIGHTLINE_OPTIONS=--osrt-threshold=0 bare d$how "$PROG/daemon" "$W/got" $arg
	is "$?" 0 "a daemon that closes by $how starts, bare"
	wait_for 5 test -f got
	is "$(cat got 2>&1)" "$(cat want)" "a daemon that closes by $how works, bare"
	wait_for 10 eval '[ "$(q "$R" "SELECT count(*) FROM call WHERE path LIKE \"/etc/passwd\"" 2>/dev/null)" -ge 3 ]'
	check "the report of a daemon that closes by $how is sound, bare" intact "$R"
	is "$(q "$R" "SELECT count(*) FROM call WHERE name = 'open' AND path = '/etc/passwd'")" 3 "calls of a daemon after it closed by $how are in the report, bare"
	rm -f got
	profile d --osrt-threshold=0 "$PROG/daemon" "$W/got" $arg
	is "$?" 0 "a daemon that closes by $how starts, profile"
	is "$(cat got 2>&1)" "$(cat want)" "profile waits for a daemon that closes by $how"
	is "$(q "$R" "SELECT count(*) FROM call WHERE name = 'open' AND path = '/etc/passwd'")" 3 "calls of a daemon after it closed by $how are in the report, profile"
done
done_testing

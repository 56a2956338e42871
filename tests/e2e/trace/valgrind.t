#!/bin/sh
# Valgrind's tools find no error of the tracer's in a traced program, and print nothing that they do not print untraced.
. tests/lib.sh
command -v valgrind >/dev/null || skip_all 'no valgrind'

program=$PROG/checked
said_by_valgrind() { # FILE: without what differs between two runs
	grep -v '^sightline: ' "$1" | grep -v 'Command: \|HEAP SUMMARY\|in use at exit\|total heap usage\|Parent PID' |
		sed 's/^==[0-9]*==/==/; s/0x[0-9a-f]*/0x/g; s/=[0-9]* or greater/=N or greater/'
}
equal() { # NAME
	check "$1: output and status are those untraced" diff "$W/plain" "$W/traced"
	said_by_valgrind "$W/plain.err" >"$W/plain.said"
	said_by_valgrind "$W/traced.err" >"$W/traced.said"
	check "$1: messages are those untraced" diff "$W/plain.said" "$W/traced.said"
}
for tool in memcheck helgrind drd; do
	set -- valgrind --error-exitcode=77 --tool=$tool
	[ $tool = memcheck ] || set -- "$@" -q
	"$@" "$program" >"$W/plain" 2>"$W/plain.err" </dev/null
	status=$?
	echo "exit status $status" >>"$W/plain"
	if [ $status -ne 0 ]; then
		skip "$tool, profile: output and status are those untraced" "it does not run here untraced, or reports something: $status"
		continue
	fi
	profile $tool --osrt-threshold=0 "$@" "$program" >"$W/traced" 2>"$W/traced.err" </dev/null
	echo "exit status $?" >>"$W/traced"
	equal "$tool, profile"
	is "$(q "$R" "SELECT count(*) >= 200 FROM call WHERE name IN ('read', 'write')")" 1 "$tool, profile: the calls are recorded"
	SIGHTLINE_CLOCK=monotonic SIGHTLINE_OPTIONS=--osrt-threshold=0 bare "$tool-bare" "$@" "$program" >"$W/traced" 2>"$W/traced.err" </dev/null
	echo "exit status $?" >>"$W/traced"
	equal "$tool, bare"
done
check 'a program without errors keeps its status' "$BIN" profile -f true -o "$W/true" valgrind -q --error-exitcode=77 /bin/true
done_testing

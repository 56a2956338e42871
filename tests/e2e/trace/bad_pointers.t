#!/bin/sh
# Calls with pointers that the kernel refuses end as untraced: result, errno, signal.
. tests/lib.sh

program=$PROG/bad_pointers
"$program" >"$W/plain" 2>"$W/plain.err" </dev/null
check 'every function with pointers is called untraced' test "$(wc -l <"$W/plain")" -gt 1000
equal() { # NAME
	check "$1: results, errno and signals are those untraced" diff "$W/plain" "$W/traced"
	check "$1: messages are those untraced" diff "$W/plain.err" "$W/traced.err"
	is "$(q "$R" "SELECT count(*) > 500 FROM call")" 1 "$1: the calls are recorded"
}
SIGHTLINE_OPTIONS=--osrt-threshold=0 bare bare "$program" >"$W/traced" 2>"$W/traced.err" </dev/null
wait_for 20 finished "$R"
equal bare
profile profile --osrt-threshold=0 "$program" >"$W/traced" 2>"$W/all.err" </dev/null
grep -v '^sightline: ' "$W/all.err" >"$W/traced.err"
equal profile
SIGHTLINE_CLOCK=monotonic profile monotonic --osrt-threshold=0 --sample=none "$program" >"$W/traced" 2>"$W/all.err" </dev/null
grep -v '^sightline: ' "$W/all.err" >"$W/traced.err"
equal 'profile, other clock'
done_testing

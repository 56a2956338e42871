#!/bin/sh
# jobs.t - sightline why of some of the realistic programs, and of the programs that hang, that make check-answers records (tests/jobs):
# launchers, a shell, a pool, a lock, a commit for each row, a compressor; each is right, with file and line.
# shellcheck disable=SC2016
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
"$BIN" status 2>/dev/null | grep -q '^eBPF  *ok' || skip_all 'eBPF is not permitted'

"$PY" "$TOP/tests/jobs/check-answers" -b "$B" agent background chain one slot held poll sql_commit sh_sleep >jobs.txt 2>&1
is $? 0 'jobs: every bar is met'
for name in agent background chain one slot held poll sql_commit sh_sleep; do
	check "$name: its line comes first" grep -q "^$name  *right" jobs.txt
done
"$PY" "$TOP/tests/jobs/check-answers" -b "$B" --options=--off-cpu-threshold=80000 locks dead_owner own_end py_pipe >hangs.txt 2>&1
is $? 0 'hangs: every bar is met'
for name in locks dead_owner own_end py_pipe; do
	check "$name: every thread that waits is named" grep -q "^$name  *right" hangs.txt
done
done_testing

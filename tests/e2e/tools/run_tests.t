#!/bin/sh
# run_tests.t - scripts/run-tests on small test files that pass, fail, fail once, hang, end early, or skip.
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'

test_file() { # NAME: its text from standard input
	{
		echo '#!/bin/sh'
		cat
	} >"$W/$1"
	chmod +x "$W/$1"
}
run() { # STATUS NAME OPTION-OR-FILE...: runs the files of $W; what is printed stands in $W/out
	run_status=$1 run_name=$2
	shift 2
	(cd "$W" && "$PY" "$TOP/scripts/run-tests" -b b "$@") >"$W/out" 2>&1
	is $? "$run_status" "$run_name" || diag <"$W/out"
}
prints() { # NAME LINE: a line of the output begins with LINE, a basic regular expression
	check "$1" grep -q "^$2" "$W/out" || diag <"$W/out"
}
test_file good.t <<'T'
echo 'ok 1 - first'
echo 'ok 2 - second'
echo 1..2
T
test_file bad.t <<'T'
echo 'ok 1 - first'
echo 'not ok 2 - the sum of the parts'
echo '# got:  3'
echo '# want: 4'
echo 1..2
exit 1
T
test_file once.t <<'T'
[ -e once.ran ] && echo 'ok 1 - the second try' && echo 1..1 && exit
touch once.ran
echo 'not ok 1 - the first try'
echo 1..1
exit 1
T
# shellcheck disable=SC2016 # it is the text of a script
test_file hangs.t <<'T'
echo 'ok 1 - before the end of time'
sleep 1000 &
echo $! >child.pid
setsid sleep 1000 &
echo $! >session.pid
wait
T
test_file early.t <<'T'
echo 'ok 1 - first'
kill -9 $$
T
test_file fewer.t <<'T'
echo 1..3
echo 'ok 1 - first'
T
test_file status.t <<'T'
echo 'ok 1 - first'
echo 1..1
exit 7
T
test_file skips.t <<'T'
echo 'ok 1 - first'
echo 'ok 2 - a picture # SKIP chromium is not installed'
echo 'not ok 3 # SKIP'
echo 1..3
T
test_file none.t <<'T'
echo '1..0 # SKIP needs root'
T
test_file noise.t <<'T'
echo 'Terminated' >&2
echo 'ok 1 - first'
echo 'a line of the product'
echo 1..1
T

run 0 'two files that pass are a green verdict' good.t noise.t
prints 'the last line counts checks' '3 passed, 0 failed$'
prints 'a line for each file has its checks' 'ok .* good.t  2 checks, '
check 'outputs of tests do not reach the terminal' sh -c '! grep -q "Terminated\|a line of the product" out'
check 'both outputs are in the log' sh -c 'grep -q Terminated b/tests/log/noise.t.log && grep -q "a line of the product" b/tests/log/noise.t.log'

run 1 'a file that fails twice is a red verdict' good.t bad.t
prints 'FAILED names the file and its first failing check' 'FAILED bad.t: 2 - the sum of the parts$'
prints 'FAILED has got' '    # got:  3'
prints 'FAILED has want' '    # want: 4'
check 'the outputs of both runs are kept' test -s b/tests/log/bad.t.log -a -s b/tests/log/bad.t.again.log
prints 'the last line counts the failed check once' '3 passed, 1 failed$'
check 'junit.xml is XML with the failure' "$PY" -c 'import xml.etree.ElementTree as e
r = e.parse("b/tests/log/junit.xml").getroot()
assert [(s.get("name"), s.get("tests"), s.get("failures")) for s in r] == [("bad.t", "2", "1"), ("good.t", "2", "0")] or \
	[(s.get("name"), s.get("tests"), s.get("failures")) for s in r] == [("good.t", "2", "0"), ("bad.t", "2", "1")]
assert "want: 4" in r.find(".//failure").text'
check 'results.tap has a line for each file' sh -c 'grep -q "^1..2$" b/tests/log/results.tap && grep -q "^not ok [12] - bad.t" b/tests/log/results.tap'

run 0 'a file that fails once is FLAKY, and the verdict green' good.t once.t
prints 'FLAKY names the file and the check' 'FLAKY once.t: 1 - the first try$'
rm once.ran
run 1 'more FLAKY files than are allowed are a red verdict' --flaky-max 0 once.t

run 1 'a file that hangs is a red verdict' --limit 1 hangs.t good.t
prints 'a file that hangs is named, with the last check' 'FAILED hangs.t: no end within 1 s: killed with its process group, after check 1'
check 'the processes of a file that hangs are killed' wait_for 5 sh -c '! kill -0 "$(cat child.pid)" 2>/dev/null'
check 'processes in sessions of their own are killed, too' wait_for 5 sh -c '! kill -0 "$(cat session.pid)" 2>/dev/null'

run 1 'a file that is killed is a red verdict' early.t
prints 'a file without a plan is FAILED with its signal' 'FAILED early.t: no plan: the file ended early, signal 9 (SIGKILL), after check 1'
run 1 'a file with fewer checks than its plan is a red verdict' fewer.t
prints 'missing checks are counted' 'FAILED fewer.t: 1 checks of 3 were made'
run 1 'an exit status is a red verdict when every check passed' status.t
prints 'the exit status is named' 'FAILED status.t: every check passed, but exit status 7'

run 0 'skipped checks are no failures' skips.t none.t
prints 'a reason for skipping stands with its place' 'skipped: chromium is not installed: skips.t 2$'
prints 'a skip of cmocka is no failure' 'skipped: no reason given: skips.t 3$'
prints 'a file that is skipped whole has its reason' 'skipped: needs root: none.t$'
prints 'skipped checks are counted' '1 passed, 0 failed, 2 skipped$'

chmod -x good.t
run 2 'a file that cannot be executed is wrong use' good.t
prints 'a file that cannot be executed is named' 'run-tests: good.t cannot be executed: chmod +x'
chmod +x good.t

# Order: the slowest of the last run first; what is serial comes last and alone.
printf '9.0\tnoise.t\n1.0\tgood.t\n' >b/tests/log/times.tsv
run 0 'files with known times pass' -j 1 --serial good.t good.t noise.t
is "$(sed -n 's/^ok .* \([a-z]*\.t\)  .*/\1/p' out | tr '\n' ' ')" 'noise.t good.t ' 'the slower file runs first'
done_testing

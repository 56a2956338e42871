#!/bin/sh
# ci_gate.t - the gate for continuous integration: verdicts on twelve labelled pairs, its comment, a program that it records.
. tests/lib.sh
GATE=$TOP/scripts/ci/gate
gate() { "$PY" "$GATE" --sightline="$BIN" "$@"; }
status_of() { case $1 in worse) echo 3 ;; noisy) echo 4 ;; *) echo 0 ;; esac }

check 'twelve pairs of runs are made' "$PY" "$E2E/report/ci_gate_make.py" "$TOP/collector/schema.sql" "$W/pairs"
for pair in pairs/*; do
	label=${pair#pairs/}
	gate --base="$pair/base" --new="$pair/new" --out="$label" >"$label.txt" 2>"$label.err"
	is "$?,$(cat "$label/verdict.txt"),$(cat "$label.err")" "$(status_of "${label%-*}"),${label%-*}," "the pair $label" || diag <"$label.txt"
done
is "$(sed -n 's/^1\. \([+~]\)[0-9.]* ms, .*: `\([a-z]*\)` at `\([^`]*\)`.*/\1 \2 \3/p' worse-1/comment.md)" '+ compute /home/me/work.py:10' \
	'the comment names the line that takes more time on a CPU'
is "$(sed -n 's/^1\. \([+~]\)[0-9.]* ms, .*: `\([a-z]*\)` at `\([^`]*\)`.*/\1 \2 \3/p' worse-2/comment.md)" '+ load /home/me/work.py:20' \
	'the comment names the line that waits longer'
is "$(grep -c '^[123]\. ' worse-2/comment.md),$(grep -c '^[1-9]\. ~' worse-1/comment.md)" '1,0' 'the comment has no change of lines that did not change'
is "$(grep -c 'recorded on different machines' noisy-3/comment.md)" 1 'the comment names another machine'
is "$(head -n 1 worse-1/comment.md)" '<!-- sightline gate -->' 'the comment begins with its mark'
# A name of the report is nothing but code: without the spans, no character of it is left.
check 'a hostile name has no effect in the comment' "$PY" - worse-3/comment.md <<'PY'
import re, sys
text = open(sys.argv[1]).read().split("\n", 1)[1]
assert "@team" in text and "script" in text
rest, at = "", 0
while at < len(text):
    run = re.compile("`+").search(text, at)
    if not run:
        rest += text[at:]
        break
    rest += text[at:run.start()]
    end = re.compile("(?<!`)%s(?!`)" % run.group()).search(text, run.end())
    assert end, text[at:]
    assert "\n" not in text[run.end():end.start()]
    at = end.end()
assert not re.search(r"team|evil|script|http|[<>\[\]@\\]", rest), rest
PY
gate --base=pairs/same-1/base --new=pairs/same-1/new --fail-on='wall > 1ms' --out=gate >/dev/null
is "$?,$(grep -c 'wall > 1ms` holds' gate/comment.md)" 3,1 'a condition of --fail-on that holds is worse'
gate --base=pairs/worse-1/base --new=pairs/worse-1/new --threshold=30 --out=gate >/dev/null
is $? 0 'a change below --threshold is none'
gate --base=pairs/better-1/base --new=pairs/better-1/new --figure=gpu_idle --out=gate >out 2>err
is "$?,$(cat err)" "1,gate: no figure 'gpu_idle' in both sides; compared are: cpu, osrt, wall" 'a figure that no report has is a failure'
gate --base=pairs/better-1/base --new=pairs/better-1/new --figure=cpu.often --out=gate >out 2>err
is "$?,$(grep -c 'METRIC one of total' err)" 2,1 'an unknown metric is wrong use'
gate --base=nowhere --new=pairs/same-1/new --out=gate >out 2>err
is "$?,$(cat err)" "1,gate: sightline: compare: nowhere: No such file or directory" 'a base that is not there is a failure'
head -c 5000 pairs/same-1/new/run-0.sqlite >cut.sqlite
gate --base=pairs/same-1/base --new=cut.sqlite --out=gate >out 2>err
is "$?,$(grep -c cut.sqlite err),$(wc -l <err)" 1,1,1 'a report that is cut off is a failure'

# ---- recording ----
gate --runs=2 --out=first -- "$PY" -c 'print(sum(range(1000)))' >out 2>err
is "$?,$(cat first/verdict.txt),$(ls first/new)" "0,first,machine.txt
run-00.sqlite
run-01.sqlite" 'the first runs are the baseline'
gate --runs=2 --base=first/new --out=second -- "$PY" -c 'print(sum(range(1000)))' >out 2>err
is "$?,$(cat second/verdict.txt)" 4,noisy 'two runs against two are too noisy to say'
gate --runs=1 --base-command='true' --out=turns -- true >out 2>err
is "$?,$(find turns -name '*.sqlite' | wc -l)" 4,2 'the base and the new program are recorded by turns'
gate --runs=2 --out=failing -- "$PY" -c 'raise SystemExit(7)' >out 2>err
is "$?,$(grep -c 'run 0: the program or its recording ended with status 7' err)" 1,1 'a program that fails is a failure of the gate'

# ---- the files that call it ----
if "$PY" -c 'import yaml' 2>/dev/null; then
	"$PY" - "$TOP/scripts/ci" "$W" <<'PY'
import sys, yaml
action = yaml.safe_load(open(sys.argv[1] + "/action.yml"))
steps = action["runs"]["steps"]
for i, step in enumerate(s for s in steps if "run" in s):
    open("%s/step-%d.sh" % (sys.argv[2], i), "w").write(step["run"])
    assert "${{" not in step["run"], step["run"]  # no input becomes text of a script
gate = next(s for s in steps if s["name"] == "gate")
open(sys.argv[2] + "/gate.sh", "w").write(gate["run"])
gitlab = yaml.safe_load(open(sys.argv[1] + "/gitlab.yml"))[".sightline-gate"]
open(sys.argv[2] + "/gitlab.sh", "w").write("\n".join(gitlab["script"]))
PY
	result $? 'the action and the template are YAML, whose scripts take inputs as variables'
	mkdir work && ln -s "$BIN" work/sightline
	cp -r pairs/worse-1/base work/sightline-baseline
	rm work/sightline-baseline/machine.txt
	(cd work && PATH=$W/work:$PATH GITHUB_STEP_SUMMARY=$W/summary GITHUB_OUTPUT=$W/output COMMAND='true; true' RUNS=1 THRESHOLD=5 \
		OPTIONS='--figure=wall --min-runs=1' HERE=$TOP/scripts/ci sh -e "$W/gate.sh") >out 2>err
	is "$?,$(cat output),$(head -n 1 summary)" '0,verdict=better,<!-- sightline gate -->' 'the script of the action records, compares and keeps the comment' || diag <err
	: >output
	(cd work && PATH=$W/work:$PATH GITHUB_STEP_SUMMARY=$W/summary GITHUB_OUTPUT=$W/output COMMAND='true' RUNS=1 THRESHOLD=5 \
		OPTIONS='' NOISY_FAILS=true HERE=$TOP/scripts/ci sh -e "$W/gate.sh") >out 2>err
	is "$?,$(cat output)" '4,verdict=noisy' 'the script of the action fails for noise where that is asked for'
	(cd work && rm -rf sightline-gate && PATH=$W/work:$PATH SIGHTLINE_GATE=$GATE SIGHTLINE_RUNS=1 SIGHTLINE_THRESHOLD=5 SIGHTLINE_COMMAND='true' \
		CI_COMMIT_BRANCH=main CI_DEFAULT_BRANCH=main sh -e "$W/gitlab.sh") >out 2>err
	is "$?,$(cat work/sightline-gate/verdict.txt)" 0,first 'the script of the template keeps the first runs'
else
	skip 'the action and the template are YAML, whose scripts take inputs as variables' 'no yaml module for Python here'
fi
done_testing

#!/bin/sh
# ranks_shared.t - a dataset in a folder that another user writes to: links are not followed, pipes not waited for, names not run.
. tests/lib.sh
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
[ "$(id -u)" = 0 ] && command -v setpriv >/dev/null || skip_all 'needs root and setpriv (package util-linux)'

cat "$TOP/tests/golden/corpus/base.sql" "$TOP/tests/golden/corpus/3.28.1.sql" | sqlite3 -bail base.sqlite || exit 1
mkdir private && chmod 700 private
echo secret >private/passwd && chmod 600 private/passwd
other() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
shared() { # a dataset's folder as /tmp is
	rm -rf ds
	mkdir -m 1777 ds
}
add() { timeout 20 "$BIN" ranks add -d ds --run 4711 --node n0 --rank 0 -f "$@" base.sqlite >out 2>err; }
unharmed() { # NAME
	is "$(ls private) $(cat private/passwd)" 'passwd secret' "$1: files of root's stay as they are"
}

# ---- links, and folders of others ----
shared
other mkdir -m 777 ds/_nodes && other ln -s "$W/private" ds/_nodes/run=4711
add
is $? 1 'ranks add: a link in place of the manifests of the run is refused'
is "$(grep -c 'cannot write ds/_nodes/run=4711/.*: a folder on its path is a link or can be changed by another user' err)" 1 'ranks add: a refusal names the file and the reason in one line' || diag <err
unharmed 'a link in place of the manifests of the run'
shared
other mkdir -m 777 ds/SL_STEPS && other ln -s "$W/private" ds/SL_STEPS/run=4711
add
is $? 1 "ranks add: a link in place of a table's folder is refused"
unharmed "a link in place of a table's folder"
shared
other mkdir -p ds/SL_STEPS/run=4711/node=n0
other ln -s "$W/private/passwd" ds/SL_STEPS/run=4711/node=n0/.part-0.parquet.tmp
add
is $? 1 'ranks add: a folder of another user is refused'
unharmed 'a link in a folder of another user'
shared
mkdir -p ds/SL_STEPS/run=4711/node=n0
ln -s "$W/private/passwd" ds/SL_STEPS/run=4711/node=n0/.part-0.parquet.tmp
ln -s "$W/private/passwd" ds/SL_STEPS/run=4711/node=n0/part-0.parquet
add
is "$? $(find ds -type l | wc -l)" '0 0' 'ranks add: links in place of files are replaced'
unharmed 'links in place of files'
shared
chmod 777 ds
add
is $? 0 'ranks add: the dataset itself may be a folder of all users'
mkdir -m 777 ds/SL_STEPS/run=open
timeout 20 "$BIN" ranks add -d ds --run open --node n0 --rank 0 -f base.sqlite >out 2>err
is $? 1 'ranks add: a folder within, to which all users may write and which is not sticky, is refused'

# ---- damaged files of the dataset, behind a link ----
shared
add
mkdir -p other/run=4711/node=n0
echo 'a file of another dataset' >other/run=4711/node=n0/part-0.parquet
rm -r ds/SL_STEPS
ln -s "$W/other" ds/SL_STEPS
timeout 20 "$BIN" ranks check -d ds --fail-on files >out 2>err
check 'ranks check: a file to which a link leads stays where it is' grep -q 'another dataset' other/run=4711/node=n0/part-0.parquet

# ---- pipes ----
shared
add
other mkdir -p ds/_nodes/run=job2 2>/dev/null || mkdir -p ds/_nodes/run=job2
mkfifo ds/_nodes/run=job2/node=x.json
for question in 'check' 'ask straggler --engine print-spark' 'clock --engine print-duckdb'; do
	# shellcheck disable=SC2086 # words
	timeout 10 "$BIN" ranks $question -d ds --run 4711 >out 2>err
	is "$(($? == 124))" 0 "ranks $question: a pipe in place of a manifest is not waited for"
done
add --rank 1
is "$(($? == 124))" 0 'ranks add: a pipe in place of a manifest is not waited for'
rm ds/_nodes/run=job2/node=x.json
mkfifo ds/SL_STEPS/run=4711/node=n0/pipe && mv ds/SL_STEPS/run=4711/node=n0/pipe ds/SL_STEPS/run=4711/node=n0/part-0.parquet
timeout 10 "$BIN" ranks check -d ds >out 2>err
is "$(($? == 124)) $(grep -c 'SL_STEPS is no plain file' out)" '0 1' 'ranks check: a pipe in place of a table is named and not waited for' || diag <out

# ---- names ----
shared
add
"$PY" - <<'EOP'
import os, shutil
for bad in ("run=x\\' );\n!touch PWNED;\n--", "run=a b", "run=\x1b]0;title\x07"):
    os.mkdir("ds/_nodes/" + bad)
    for node in "node=n0.json", "node=n1.json":
        shutil.copy("ds/_nodes/run=4711/node=n0.json", "ds/_nodes/%s/%s" % (bad, node))
shutil.copy("ds/_nodes/run=4711/node=n0.json", "ds/_nodes/run=4711/node=n'1.json")
EOP
timeout 20 "$BIN" ranks ask straggler -d ds --run 4711 --engine print-spark >script 2>err
is "$? $(grep -c 'touch\|PWNED' script)" '0 0' 'ranks ask: the name of a folder that is none of a run stands in no statement'
timeout 20 "$BIN" ranks check -d ds >out 2>err
is "$(grep -c 'whose name is none of a run' out) $(grep -c "name is none of a node" out)" '3 1' 'ranks check: folders and manifests with other names are listed' || diag <out
check 'ranks check: no name of a folder steers the terminal' sh -c '! grep -q "$(printf "\033")" out'
sed -i 's/"host":"[^"]*"/"host":"h\\u001b]0;title\\u0007"/; s/"report":"[^"]*"/"report":"r\\u001b[31m"/' ds/_nodes/run=4711/node=n0.json
timeout 20 "$BIN" ranks check -d ds >out 2>err
check 'ranks check: no name in a manifest steers the terminal' sh -c '! cat out err | grep -q "$(printf "\033")"'
mkdir "it's a \\ folder"
timeout 20 "$BIN" ranks add -d "it's a \\ folder" --run 1 --node n0 --rank 0 -f base.sqlite >out 2>err
timeout 20 "$BIN" ranks ask straggler -d "it's a \\ folder" --run 1 --engine print-spark >script 2>err
check "ranks ask: Spark's text of a folder has quotes and backslashes quoted" grep -qF "it\\'s a \\\\ folder/SL_" script || diag <script
done_testing

#!/bin/sh
# ranks compact: a dataset whose run is packed, and one with the same reports that never was, have the same answers to all questions: after
# packing, after a packed node was added again, packed once more, clocks compared, and wherever packing is killed.
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
PATH=$B/tests/duckdb/duckdb_cli:$PATH
command -v duckdb >/dev/null || skip_all 'duckdb is not there: PyPI could not be reached (package duckdb-cli)'
export PATH
ranks() { "$BIN" ranks "$@" >out 2>err; }
both() { # COMMAND...: over both datasets
	command=$1
	shift
	for ds in plain "$PACK"; do
		"$BIN" ranks "$command" -d "$ds" "$@" >>both.out 2>>both.err || return 1
	done
}
PACK='pack[1]*?' # no name for a pattern
answers() { # DATASET [QUESTION...]: of one thread, since sums of fractions depend on their order
	answers_of=$1
	shift
	# shellcheck disable=SC2046
	[ $# -gt 0 ] || set -- $("$BIN" ranks ask --list | awk '{ print $1 }')
	for question; do
		echo "== $question"
		{ echo 'SET threads = 1;' && "$BIN" ranks ask "$question" -d "$answers_of" --run after --base before --engine print; } |
			duckdb -init /dev/null -bail -csv 2>&1
		{ echo 'SET threads = 1;' && "$BIN" ranks ask "$question" -d "$answers_of" --run after --engine print; } |
			duckdb -init /dev/null -bail -csv 2>&1
	done | "$PY" -c 'import re, sys; print(re.sub(r"\d+\.\d{9,}(e-?\d+)?", lambda m: "%.10g" % float(m.group()), sys.stdin.read()), end="")'
}
same() { # [QUESTION...]
	answers plain "$@" >same.plain
	answers "$PACK" "$@" >same.pack
	[ "$(grep -c '^== ' same.plain)" -ge 1 ] && ! grep -q 'Error' same.plain && diff same.plain same.pack
}
parts() { find "$PACK" -path '*run=after*' -name '*.parquet' | sed 's,.*/run=after/,,; s,[0-9]*-[0-9]*/,G/,' | grep -c "$1"; }

check 'the reports of eight ranks are made' "$PY" "$E2E/report/ranks_reports_make.py" "$TOP/collector/schema.sql" . after 8 20 1 file
check 'the reports of an earlier run of two ranks are made' "$PY" "$E2E/report/ranks_reports_make.py" "$TOP/collector/schema.sql" . before 2 20 2
for n in 0 1 2 3; do
	both add --run after --node "n$n" "after-$((2 * n)).sqlite" "after-$((2 * n + 1)).sqlite" || diag <both.err
done
both add --run before --node n0 before-0.sqlite before-1.sqlite || diag <both.err
check 'clocks are compared before packing' both clock --run after
cp -r "$PACK" begin

check 'compact succeeds, in a folder whose name could be a pattern' ranks compact -d "$PACK" --run after || diag <err
is "$(sed 's/, .*//' err)" 'sightline: run after: 4 parts packed' 'compact prints how many parts it has packed'
is "$(parts '^node=') $(parts '^G/SL_[A-Z_]*\.parquet$')" "0 $(($(find begin -mindepth 1 -maxdepth 1 -name 'SL_*' | wc -l) + 2))" 'a packed run has one file for each table and for each of two roll-ups'
check 'all questions have the same answers when the run is packed' same || diag <same.pack
is "$("$BIN" ranks ask straggler -d "$PACK" --run after --engine print | grep -c 'SL_COLLECTIVES')" 0 'straggler is answered from roll-ups when the run is packed'
is "$("$BIN" ranks check -d "$PACK" --run after 2>&1 | grep -v MB)" "$("$BIN" ranks check -d plain --run after 2>&1 | grep -v MB)" 'check finds the same in a packed run'
is "$("$BIN" ranks fetch -d "$PACK" --run after --rank 2,5 -o pack.sqlite after-2.sqlite after-5.sqlite 2>&1 >/dev/null | sed 's/pack/plain/')" \
	"$("$BIN" ranks fetch -d plain --run after --rank 2,5 -o plain.sqlite after-2.sqlite after-5.sqlite 2>&1 >/dev/null)" 'fetch prints the same for a packed run'
is "$(sqlite3 pack.sqlite 'SELECT sum(start) FROM NVTX_EVENTS')" "$(sqlite3 plain.sqlite 'SELECT sum(start) FROM NVTX_EVENTS')" 'fetch moves times of a packed run alike'
for ds in plain "$PACK"; do "$BIN" ranks report -d "$ds" --run after -q -o "$ds.html" 2>>err; done
is "$(sed "s/$$//" <"$PACK.html" | cksum)" "$(sed "s/$$//" <plain.html | cksum)" 'report writes the same page of a packed run'
check 'compact of a run that is packed succeeds' ranks compact -d "$PACK" --run after
is "$(cat err)" 'sightline: run after: all 4 parts are packed already' 'compact of a run that is packed does nothing'

# ---- a packed node is added again: one of its two ranks, at another time ----
sqlite3 after-2.sqlite 'UPDATE TARGET_INFO_SESSION_START_TIME SET utcEpochNs = utcEpochNs - 1000'
ranks add -d "$PACK" --run after --node n1 after-2.sqlite
is "$? $(cat err | grep -c 'node n1 has newer reports under run after; --force')" '1 1' 'add refuses older reports of a packed node without --force'
check 'a packed node is added again' both add -f --run after --node n1 after-2.sqlite
check 'a node is added to a packed run' both add --run after --node n9 after-3.sqlite
check 'all questions have the same answers when a packed node was added again' same || diag <same.pack
is "$("$BIN" ranks ask straggler -d "$PACK" --run after --engine print | grep -c 'SL_CULPRITS USING\|VIEW SL_CULPRITS')" 0 'straggler is answered from rows when roll-ups lack a part'
check 'clocks are compared after packing' both clock --run after
check 'all questions have the same answers when clocks were compared after packing' same || diag <same.pack
check 'what is beside the pack is packed, too' ranks compact -d "$PACK" --run after
is "$(sed 's/, .*//' err) $(find "$PACK/_packed/run=after" -mindepth 1 -maxdepth 1 | wc -l)" 'sightline: run after: 5 parts packed 1' 'the pack before is gone when the run is packed again'
check 'all questions have the same answers when the run is packed again' same || diag <same.pack

# ---- damage ----
for file in "$PACK"/_packed/run=after/*/SL_STEPS.parquet; do cp "$file" kept && head -c 100 kept >"$file"; done
is "$("$BIN" ranks check -d "$PACK" --run after --fail-on files 2>&1 | grep -c 'node (packed): SL_STEPS is cut off')" 1 'check finds a packed file that is cut off'
"$BIN" ranks ask why -d "$PACK" --run after >out 2>err
is "$? $(grep -c "1 files of the dataset cannot be read: 'sightline ranks check -d .*' names them (--repair moves parts away)" err)" '1 1' \
	'an error of the engine about a file that is cut off has a way out' || diag <err
cp kept "$file"
for text in '' '{' '[]' '{"generation": "../../x", "parts": []}' '{"generation": "g", "parts": [{"node": "a'"'"'b"}]}' '{"generation": "g", "parts": [1]}'; do
	printf '%s' "$text" >forged
	rm -rf hostile && mkdir -p hostile/_nodes/run=after && cp forged hostile/_nodes/run=after/all.json
	is "$("$BIN" ranks check -d hostile 2>&1 | grep -c '(packed): its manifest is none')" 1 "check refuses the manifest of a pack: '$text'" || diag forged
done

# ---- killed at any time ----
ok=0 old=0 new=0
for i in 1 2 3 4 5 6 7 8 9 10; do
	rm -rf "$PACK" plain && cp -r begin "$PACK" && cp -r begin plain
	setsid "$BIN" ranks compact -d "$PACK" --run after >out 2>err &
	sleep "0.$(printf '%02d' $((i * i / 2 + i)))"
	kill -9 -$! 2>/dev/null
	wait $! 2>/dev/null
	if [ -e "$PACK/_nodes/run=after/all.json" ]; then new=$((new + 1)); else old=$((old + 1)); fi
	same why straggler >diff.out && [ "$("$BIN" ranks check -d "$PACK" --run after | grep -c 'files ')" = 0 ] && ok=$((ok + 1))
done
is "$ok" 10 'a run whose packing was killed at ten times has the same answers' || diag <diff.out
echo "# killed before the commit: $old, behind it: $new"
check 'compact goes on where it was killed' ranks compact -d "$PACK" --run after
is "$(parts '^node=') $(find "$PACK/_packed/run=after" -mindepth 1 -maxdepth 1 | wc -l)" '0 1' 'compact removes what a killed one has left'
# As if it had been killed while it removed the files of parts.
cp -r begin/SL_STEPS/run=after "$PACK/SL_STEPS/" && cp begin/_nodes/run=after/node=n2.json "$PACK/_nodes/run=after/"
check 'files of a packed part that are there still do not count twice' same || diag <same.pack
check 'remove takes a packed run out' ranks remove -d "$PACK" --run after
is "$(find "$PACK" -path '*run=after*')" '' 'remove leaves nothing of a packed run'
for bad in '' '-d plain more' '-d plain --run none'; do
	# shellcheck disable=SC2086
	ranks compact $bad
	is "$([ $? -gt 0 ] && echo bad)-$(wc -l <err)" bad-1 "compact $bad: fails, with one line"
done
done_testing

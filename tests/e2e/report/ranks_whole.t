#!/bin/sh
# A dataset stays whole: a writer that is killed, a disk that is full, readers without rights; of a rank that went on elsewhere the
# newest rows count.
. tests/lib.sh
. "$TOP/tests/e2e/lib/ranks.sh"
add() { "$BIN" ranks add "$@" >out 2>err; }
whole() { "$BIN" ranks check -d "$1" --fail-on files >check 2>&1; }

RANK=0 WORLD_SIZE=2 profile first -t cuda,nvtx,osrt "$GPU/steps" 10 >said 2>err
RANK=0 WORLD_SIZE=2 profile second -t cuda,nvtx,osrt "$GPU/steps" 20 >said 2>err
add -d old --run one --node n "$W/first.sqlite"
add -d new --run one --node n "$W/second.sqlite"
hidden() { find "$1" -name '.*' -type f ! -name '.*.lock'; } # a part's lock stays
sums() { (cd "$1" && find . -type f -name '*.parquet' -o -path './_nodes/*/node=*.json' | sort | xargs md5sum); }
is "$(sums old | wc -l)" "$(($(grep -c '^TABLE' "$TOP/exporters/ranks/tables.def") + 1))" 'add writes a file for each table, and the manifest'

# ---- a writer that was stopped among its renames: for each place where that may be ----
tables=$(sed -n 's/^TABLE(\([A-Z_]*\),.*/\1/p' "$TOP/exporters/ranks/tables.def")
bad=
for renamed in $(seq 0 "$(echo "$tables" | wc -l)"); do
	rm -rf torn
	cp -r old torn
	no=0
	for table in $tables; do
		to=part-0.parquet
		[ $no -ge "$renamed" ] && to=.part-0.parquet.tmp
		cp "new/$table/run=one/node=n/part-0.parquet" "torn/$table/run=one/node=n/$to"
		no=$((no + 1))
	done
	cp 'new/_nodes/run=one/node=n.json' 'torn/_nodes/run=one/.node=n.json.ready'
	whole torn || bad="$bad $renamed: $(cat check)"
	[ "$(sums torn)" = "$(sums new)" ] || bad="$bad $renamed: other files"
	[ -z "$(hidden torn)" ] || bad="$bad $renamed: $(hidden torn)"
done
is "$bad" '' 'add was stopped among its renames: the next reader renames the rest'
rm -rf torn
cp -r old torn
for table in $tables; do head -c 60 "new/$table/run=one/node=n/part-0.parquet" >"torn/$table/run=one/node=n/.part-0.parquet.tmp"; done
check 'add was stopped before its renames: the dataset is whole' whole torn
is "$(sums torn)" "$(sums old)" 'add was stopped before its renames: the rows are the old ones'

# ---- killed whenever ----
bad=
for ms in 00 01 02 03 05 08 12 16 20 25 30 40 50 70; do
	rm -rf hit
	cp -r old hit
	# Its exit status, and that the shell has a word for it, are of no interest.
	(timeout -s KILL "0.0$ms" "$BIN" ranks add -d hit --run one --node n "$W/second.sqlite") >out 2>&1
	whole hit || bad="$bad $ms: $(cat check)"
	sums hit >got
	[ "$(cat got)" = "$(sums old)" ] || [ "$(cat got)" = "$(sums new)" ] || bad="$bad $ms: neither the old part nor the new one"
	add -d hit --run one --node n "$W/second.sqlite" || bad="$bad $ms: $(cat err)"
	whole hit || bad="$bad $ms: $(cat check)"
done
is "$bad" '' 'add is killed at any time: the dataset is whole, and the next add succeeds'

# ---- adds of one node and checks at the same time ----
rm -rf race
cp -r old race
{
	for loop in 1 2 3 4; do
		for i in 1 2 3 4 5 6 7 8 9 10; do
			"$BIN" ranks add -q -f -d race --run one --node n "$W/$([ $((i % 2)) = 0 ] && echo first || echo second).sqlite" || echo failed
		done >out.$loop 2>err.$loop &
	done
	wait
	: >over
} &
bad=
while [ ! -e over ]; do
	"$BIN" ranks check -d race --repair --fail-on files >check 2>&1 || bad="$bad $(grep ^files check)"
done
wait
is "$bad $(cat out.?)" ' ' 'adds of one node at once all succeed, and no check finds a fault'
check 'adds of one node at once leave a whole part' whole race
is "$(find race -path '*_bad*')" '' 'check --repair moves no good file while nodes are added'
[ "$(sums race)" = "$(sums old)" ] || [ "$(sums race)" = "$(sums new)" ]
result $? 'adds of one node at once leave the files of one of them'

# ---- a disk that is full ----
if mkdir small && mount -t tmpfs -o size=256k tmpfs small 2>/dev/null; then
	at_exit="umount -l '$W/small'; $at_exit"
	add -d small/ds --run one --node n "$W/first.sqlite"
	is "$?" 0 'add to a small disk succeeds'
	sums small/ds >before
	head -c 1M /dev/zero >small/fill 2>/dev/null
	add -d small/ds --run one --node n "$W/second.sqlite"
	is "$? $(grep -c 'cannot write .*: No space left on device' err)" '1 1' 'add to a full disk names it'
	check 'add to a full disk leaves the old files' sh -c 'cd small/ds && find . -type f -name "*.parquet" -o -path "./_nodes/*/node=*.json" | sort | xargs md5sum | cmp - ../../before'
	check 'add to a full disk leaves a whole dataset' whole small/ds
	is "$(hidden small/ds)" '' 'add to a full disk leaves no other file'
else
	skip 'add to a full disk names it' 'no file system can be mounted here'
fi

# ---- another user ----
if [ "$(id -u)" = 0 ] && setpriv --reuid=65534 --regid=65534 --clear-groups true 2>/dev/null; then
	nobody=$(nobody_bin)
	as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$nobody" "$@" >out 2>err; }
	chmod -R a+rX old
	cp 'new/_nodes/run=one/node=n.json' 'old/_nodes/run=one/.node=m.json.ready'
	chmod a+r 'old/_nodes/run=one/.node=m.json.ready'
	as_nobody ranks check -d old --fail-on files
	is "$? $(grep -c 'node m: it was not added to the end' out)" '3 1' 'a reader without rights names a part that it cannot complete'
	rm 'old/_nodes/run=one/.node=m.json.ready'
	sums old >before
	chmod a+r "$W/second.sqlite"
	as_nobody ranks add -d old --run one --node n "$W/second.sqlite"
	is "$? $(grep -c 'cannot write .*: Permission denied' err)" '1 1' 'a writer without rights is refused'
	check 'a writer without rights changes no file' sh -c 'cd old && find . -type f -name "*.parquet" -o -path "./_nodes/*/node=*.json" | sort | xargs md5sum | cmp - ../before'
	mkdir -m 777 open
	as_nobody ranks add -d open/ds --run one --node n "$W/second.sqlite"
	is "$?" 0 'a writer with rights to its folder needs no others'
else
	skip 'a reader without rights names a part that it cannot complete' 'not root'
fi

# ---- the same rank on another node, started again, and NCCL's number ----
add -d again --run one --node old "$W/first.sqlite"
add -d again --run one --node new "$W/second.sqlite"
"$BIN" ranks check -d again --fail-on twice >out 2>err
is "$? $(grep -c '^twice .*rank 0 is in the reports of several nodes, of which the newest counts: ' out)" '3 1' 'check --fail-on twice names a rank on two nodes'
cp "$W/second.sqlite" restarted.sqlite
sqlite3 restarted.sqlite "INSERT INTO SL_RANK_VARIABLES SELECT globalPid, 'TORCHELASTIC_RESTART_COUNT', '1' FROM SL_RANK_VARIABLES WHERE name = 'RANK'"
add -d restart --run one --node n "$W/first.sqlite" restarted.sqlite
cp "$W/first.sqlite" nccl.sqlite
sqlite3 nccl.sqlite "CREATE TABLE IF NOT EXISTS SL_NCCL_COMMUNICATORS(globalPid INTEGER NOT NULL, comm INTEGER NOT NULL, commHash INTEGER, parentHash INTEGER, nRanks INTEGER, rank INTEGER,
	start INTEGER NOT NULL, end INTEGER, PRIMARY KEY (globalPid, comm, start)); INSERT INTO SL_NCCL_COMMUNICATORS SELECT globalPid, 1, 1, NULL, 2, 1, 0, NULL FROM SL_RANK_VARIABLES WHERE name = 'RANK'"
add -d nccl --run one --node n nccl.sqlite
"$BIN" ranks check -d nccl --fail-on rank >out 2>err
is "$? $(grep '^rank ' out)" '3 rank      run one: 1 ranks have another number in NCCL: rank 0 (RANK) is 1 there' 'check --fail-on rank names a rank that NCCL numbers in another way'
if command -v duckdb >/dev/null; then
	ask() { # DATASET: steps that count, and of how many nodes
		(
			"$BIN" ranks sql -d "$1"
			echo 'SELECT count(*), count(DISTINCT node) FROM SL_STEPS; SELECT count(*) FROM SL_RANKS;'
		) | duckdb -init /dev/null -bail -csv -noheader 2>&1 | xargs
	}
	is "$(ask again)" '20,1 1' 'the newest rows count of a rank on two nodes'
	is "$(ask restart)" '20,1 1' 'the last rows count of a rank that was started again'
	is "$(ask old)" '10,1 1' 'all rows count of other ranks'
else
	skip 'the newest rows count of a rank on two nodes' 'duckdb is not there: PyPI could not be reached (package duckdb-cli)'
fi
done_testing

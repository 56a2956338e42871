#!/bin/sh
# A dataset of reports: which ranks there are, their steps and collectives, equal to what the reports have; what is written
# twice, cut off or missing.
. tests/lib.sh
. "$TOP/tests/e2e/lib/ranks.sh"
ranks() { "$BIN" ranks "$@" >out 2>err; }
json() { # EXPRESSION of d
	"$BIN" ranks check -d ds -f json 2>&1 | "$PY" -c "import json, sys; d = json.load(sys.stdin); print($1)"
}

profile two -t cuda,nccl,osrt "$GPU/two" reduce spawn >said 2>err
check 'add takes a report of two ranks' ranks add -d ds --run one "$R"
is "$(json "[(r['rank'], r['worldSize'], r['source'], r['complete']) for n in d['runs'][0]['nodes'] for r in n['ranks']]")" \
	"[(0, 2, 'NCCL', 1), (1, 2, 'NCCL', 1)]" 'ranks of a report with NCCL are those of NCCL'
is "$(json "{f['table']: f['rows'] for f in d['runs'][0]['nodes'][0]['files']}['SL_COLLECTIVES']")" \
	"$(q "$R" "SELECT count(*) FROM SL_LIBRARY_API JOIN StringIds ON id = nameId WHERE returnValue = 0 AND value IN ('ncclAllReduce', 'ncclBroadcast', 'ncclReduce',
		'ncclAllGather', 'ncclReduceScatter', 'ncclBcast', 'ncclSend', 'ncclRecv')")" 'SL_COLLECTIVES has a row for each collective and each side of a message'
is "$(grep -c 'have no kernel\|made before' err)" 0 'each collective has its kernel and its communicator'

# ---- another node, steps ----
RANK=2 WORLD_SIZE=4 profile steps -t cuda,nvtx,osrt "$GPU/steps" 20 >said 2>err
check 'add takes a report of another rank' ranks add -d ds --run one --node other "$R"
is "$(json "[(r['rank'], r['steps'], r['source']) for n in d['runs'][0]['nodes'] for r in n['ranks'] if n['node'] == 'other']")" \
	"[(2, 20, 'RANK')]" 'a report of another rank has its steps'
is "$(json "[f['text'] for f in d['found'] if f['kind'] == 'missing']")" "['1 of 4 ranks are missing: 3']" 'check names the fourth rank as missing'
"$BIN" ranks check -d ds --fail-on missing >out 2>err
is $? 3 'check --fail-on missing fails for a missing rank'
"$BIN" ranks check -d ds --fail-on files,cut >out 2>err
is $? 0 'check --fail-on files,cut does not fail for a missing rank'

# ---- what DuckDB reads ----
duck() { # SQL
	"$PY" - "$1" <<'E'
import duckdb, sys
for t in ('SL_RANKS', 'SL_STEPS', 'SL_COLLECTIVES', 'SL_KERNELS'):
    duckdb.sql(f"CREATE VIEW {t} AS SELECT * FROM read_parquet('ds/{t}/*/*/*.parquet', hive_partitioning = true, hive_types_autocast = false)")
print(duckdb.sql(sys.argv[1]).fetchall())
E
}
if "$PY" -c 'import duckdb' 2>/dev/null; then
	is "$(duck 'SELECT count(*), max(abs("end" - "start" - cpuNs - runnableNs - gpuNs - fileNs - networkNs - lockNs - gilNs - sleepNs - otherNs)),
		min(gpuBusyNs) > 0, max(gpuBusyNs) <= max("end" - "start") FROM SL_STEPS')" '[(20, 0, True, True)]' 'DuckDB: the parts of a step add up to the step'
	is "$(duck 'SELECT count(*), count(DISTINCT commHash), min(n), max(n), bool_and(bytes) FROM (SELECT commHash, seq, count(*) AS n,
		min(op) = max(op) AND min(bytes) = max(bytes) AND max("rank") = 1 AS bytes FROM SL_COLLECTIVES GROUP BY commHash, seq)')" \
		"[($(q "$W/two.sqlite" "SELECT count(*) / 2 FROM SL_LIBRARY_API JOIN StringIds ON id = nameId WHERE returnValue = 0 AND value IN ('ncclAllReduce',
			'ncclBroadcast', 'ncclReduce', 'ncclAllGather', 'ncclReduceScatter', 'ncclBcast')"), 1, 2, 2, True)]" \
		'DuckDB: the collectives of two ranks meet'
	is "$(duck "SELECT sum(n), sum(ns) FROM SL_KERNELS WHERE node = 'other'")" \
		"$(q "$R" "SELECT printf('[(%d, %d)]', count(*), sum(end - start)) FROM CUPTI_ACTIVITY_KIND_KERNEL")" 'DuckDB: all kernels are there'
else
	skip 'DuckDB: the parts of a step add up to the step' 'duckdb for python3 is not installed (PyPI: duckdb)'
fi

# ---- the same again, and bad input ----
check 'add of the same report again succeeds' ranks add -d ds --run one --node other "$R"
is "$(json "len(d['runs'][0]['nodes'])")" 2 'add of the same report again replaces its rows'
"$BIN" ranks add -d ds --run one --node other "$W/two.sqlite" >out 2>err
is $? 1 'add of older reports does not replace newer ones'
is "$(cat err | grep -v '^sightline: ranks: ')" "sightline: ranks add: no step was found (an NVTX range that repeats; --step=RANGE names one): questions about steps have no answer
sightline: ranks add: node other has newer reports under run one; --force replaces them" 'add of older reports names --force'
SLURM_JOB_ID=17 SLURM_PROCID=0 SLURM_NTASKS=4 profile job /bin/true 2>err
check 'add takes the run from the job of the launcher' ranks add -d jobs "$R"
SLURM_JOB_ID=18 SLURM_PROCID=1 SLURM_NTASKS=4 profile job2 /bin/true 2>err
"$BIN" ranks add -d jobs --run 17 --node b "$R" >out 2>err
is "$? $(grep -c 'run 17 is that of another job 17' err)" '1 1' 'add refuses two jobs as one run'
profile none /bin/true 2>err
"$BIN" ranks add -d ds --run one "$R" >out 2>err
is "$? $(grep -c 'does not show which rank it is of: --rank=N' err)" '1 1' 'add refuses a report of no rank'
cp "$R" name-rank7.sqlite
check 'add takes the rank from the name of the file' ranks add -d names --run x --rank-from 'rank%r' name-rank7.sqlite
"$BIN" ranks add -d ds --run a/b "$R" >out 2>err
is $? 2 'add refuses a bad name of a run'
"$BIN" ranks add -d ds --run one missing.sqlite >out 2>err
is "$? $(wc -l <err)" '1 1' 'add refuses a report that does not exist'
head -c 100 ds/SL_STEPS/run=one/node=other/part-0.parquet >half && cp half ds/SL_STEPS/run=one/node=other/part-0.parquet
"$BIN" ranks check -d ds --fail-on files >out 2>err
is "$? $(grep -c 'SL_STEPS is cut off, or has been changed$' out)" '3 1' 'check names a file that is cut off'
check 'check leaves a file that is cut off where it is' test -e ds/SL_STEPS/run=one/node=other/part-0.parquet -a ! -e ds/_bad
"$BIN" ranks check -d ds --repair >out 2>err
is "$(grep -c 'SL_STEPS is cut off, or has been changed; moved to _bad' out) $(ls ds/_bad)" '1 SL_STEPS-one-other.parquet' 'check --repair moves a file that is cut off away'
"$BIN" ranks check -d nowhere >out 2>err
is "$? $(wc -l <err)" '1 1' 'check refuses a dataset that does not exist'
"$BIN" ranks ad -d x >out 2>err
is "$? $(cat err)" "2 sightline: ranks: there is no command 'ad'; did you mean 'add'?" 'ranks refuses an unknown command'
(ulimit -f 0 && exec "$BIN" ranks add -d full --run one "$W/two.sqlite") >out 2>err
is "$(find full -name '*.parquet' 2>/dev/null | wc -l)" 0 'add onto a full disk leaves no file that is not whole'
# ---- a run of many nodes: no file of the others but one is opened ----
"$BIN" ranks add -q -d many --run many --node a "$W/two.sqlite" >out 2>err
for i in 1 2 3 4 5 6 7 8 9; do cp "many/_nodes/run=many/node=a.json" "many/_nodes/run=many/node=c$i.json"; done
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
	strace -f -e trace=openat -o opens "$BIN" ranks add -q -d many --run many --node b "$W/two.sqlite" >out 2>err
	is "$? $(grep -c 'node=[ac][0-9]*\.json"' opens)" '0 1' 'add reads one manifest of the other nodes'
else
	skip 'add reads one manifest of the other nodes' 'strace is not installed (package strace), or not permitted'
fi

# ---- a run is removed ----
"$BIN" ranks add -q -d many --run stays --node a "$W/two.sqlite" >out 2>err
"$BIN" ranks remove -d many --run many >out 2>err
is "$? $(wc -l <err) $(find many -path '*run=many*' | wc -l) $(find many -name part-0.parquet -path '*run=stays*' | wc -l)" "0 1 0 $(find many -mindepth 1 -maxdepth 1 -name 'SL_*' | wc -l)" \
	'remove takes a run with its folders out, and no other'
"$BIN" ranks remove -d many --run many >out 2>err
is "$? $(cat err)" '1 sightline: ranks remove: many: there is no such run' 'remove of a run that is not there fails'
mkdir apart
echo keep >apart/part-0.parquet
ln -s "$W/apart" many/SL_STEPS/run=stays/node=b
echo mine >many/SL_RANKS/run=stays/node=a/notes
"$BIN" ranks remove -d many --run stays >out 2>err
is "$? $(cat apart/part-0.parquet) $(cat many/SL_RANKS/run=stays/node=a/notes) $(cat err)" '1 keep mine sightline: ranks remove: many: 1 files of other names stay in the folders of run stays' \
	'remove follows no link, and leaves files that are not of the dataset'
for bad in '--run many' '-d many' '-d many --run ..' '-d many --run a/b' '-d many --run many more'; do
	# shellcheck disable=SC2086
	"$BIN" ranks remove $bad >out 2>err
	is "$?-$(wc -l <err)" 2-1 "remove $bad: status 2, one line"
done

# ---- what a shared file system has to do ----
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
	"$BIN" ranks add -q -d served --run r --node a "$W/two.sqlite" 2>err
	strace -f -o calls -e trace=open,openat,openat2,mkdir,mkdirat "$BIN" ranks add -q -d served --run r --node b "$W/two.sqlite" 2>err
	# Paths of the dataset, and those below an open folder.
	opens=$(grep -c -E 'open(at|at2)?\((AT_FDCWD, "served|[0-9]+, ")' calls)
	tables=$(find served -path '*node=b*' -name part-0.parquet | wc -l)
	check 'one more part of a run: two opens for each table with rows, nine others, as many folders as tables' \
		test "$tables" -ge 3 -a "$opens" -le $((2 * tables + 9)) -a "$(grep -c mkdir calls)" -le "$tables" || diag <calls
else
	skip 'one more part of a run: two opens for each table with rows, nine others, as many folders as tables' 'strace is not installed (package strace), or not permitted'
fi
done_testing

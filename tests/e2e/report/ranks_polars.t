#!/bin/sh
# Every question answered twice, by the SQL of the questions and by a computation in Polars that shares none with it: all cells are
# equal, over jobs of the stand-ins whose ranks really wait, over reports and datasets that are made, and over datasets with rows changed at random.
. tests/lib.sh
. "$TOP/tests/e2e/lib/ranks.sh"
command -v duckdb >/dev/null || skip_all 'duckdb is not there: PyPI could not be reached (package duckdb-cli)'
PYTHONPATH=$B/tests/polars
export PYTHONPATH
"$PY" -c 'import polars' 2>/dev/null || skip_all 'polars is not there: PyPI could not be reached, or Python is older than 3.11 (package polars)'
LD_LIBRARY_PATH=$STANDIN/job:$LD_LIBRARY_PATH
WHAT='-t cuda,nvtx,osrt,nccl --gpu-health=0'
compare() { "$PY" "$E2E/report/ranks_polars.py" "$BIN" "$@" 2>&1; }
make() { "$PY" "$E2E/report/ranks_make.py" "$@" >out; }

# ---- recorded ----
# shellcheck disable=SC2016
RANKS='for i in 0 1 2 3; do RANK=$i LOCAL_RANK=$i WORLD_SIZE=4 "$0" "$@" & done; wait'
head -c 1000000 /dev/zero >data
for fault in compute fsync; do
	# shellcheck disable=SC2086
	RANKS_DATA=$W/data RANKS_FAULT=$fault "$BIN" profile --ranks=real --run=$fault -o $fault $WHAT sh -c "$RANKS" "$GPU/ranks" "$W/meet-$fault" 12 2 2 10 >out 2>err || diag <err
done
is "$(compare real fsync compute)" '' 'a job of the stand-ins, one profile over all ranks: Polars has the same cells'
for i in 0 1 2 3; do
	# shellcheck disable=SC2086
	RANK=$i LOCAL_RANK=$i WORLD_SIZE=4 "$BIN" profile --ranks=real --run=each -o each-$i $WHAT "$GPU/ranks" "$W/meet-each" 12 2 2 10 >out.$i 2>err.$i &
done
wait
is "$(compare real each fsync)" '' 'a job of the stand-ins, one profile per rank: Polars has the same cells'
rm -r real/*/run=each/node=*-1 real/_nodes/run=each/node=*-1.json
is "$(compare real each fsync)" '' 'a job of which a rank is missing: Polars has the same cells'

# ---- made ----
for run in 'after 8 file' 'before 2 none'; do
	set -- $run
	"$PY" "$E2E/report/ranks_reports_make.py" "$TOP/collector/schema.sql" . "$1" "$2" 20 1 "$3"
	for i in $(seq 0 2 $(($2 - 1))); do
		"$BIN" ranks add -q -d reports --run "$1" --node "n$((i / 2))" "$1-$i.sqlite" "$1-$((i + 1)).sqlite" 2>err || diag <err
	done
done
"$BIN" ranks clock -d reports --run after >out 2>err
is "$(compare reports after before)" '' 'reports of eight ranks: Polars has the same cells'
for run in 'base 16 none 1' 'late 16 late 2' 'gpu 16 gpu 3' 'types 16 types 3' 'link 16 link 4' 'mount 16 mount 5' 'missing 16 missing 6' 'clock 16 clock 7'; do
	set -- $run
	make made "$1" "$2" 40 "$3" "$4" 4
	"$BIN" ranks clock -d made --run "$1" >out 2>&1
	is "$(compare made "$1" base)" '' "a dataset with the fault $3: Polars has the same cells"
done

# ---- changed at random ----
for seed in 1 2 3 4; do
	make shaken "run$seed" 16 40 late "$seed" 4
	make shaken "base$seed" 16 40 none "$seed" 4
	"$BIN" ranks clock -d shaken --run "run$seed" >out 2>&1
	"$PY" "$E2E/report/ranks_shake.py" shaken "run$seed" "$seed"
	"$PY" "$E2E/report/ranks_shake.py" shaken "base$seed" "1$seed"
	is "$(compare shaken "run$seed" "base$seed")" '' "rows changed at random, seed $seed: Polars has the same cells"
done

# ---- the comparison can fail ----
cp -r made other
"$PY" "$E2E/report/ranks_shake.py" other late 1
is "$(compare made late base other | sed 's/:.*//' | sort | xargs)" 'changed files gpus hosts kernels mismatch network overlap spread steps straggler waits whatif when why' 'Polars over changed rows differs in the questions about these rows'
is "$("$BIN" ranks ask --list | awk '{ print $1 }' | xargs)" "$("$PY" -c 'import sys; sys.argv = [0]
sys.path.insert(0, "'"$E2E"'/report")
import ranks_polars
print(*sorted(ranks_polars.ANSWERS))')" 'Polars answers each question that there is'
done_testing

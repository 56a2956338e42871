#!/bin/sh
# profile --ranks: reports of a job go into a dataset by themselves, however the job is started: eight processes of a shell, of a
# launcher such as torchrun, of mpirun. The late rank is named. What fails then leaves report and exit status as they are.
. tests/lib.sh
. "$TOP/tests/e2e/lib/ranks.sh"
LD_LIBRARY_PATH=$STANDIN/job:$LD_LIBRARY_PATH
HOST=$(hostname)
WHAT='-t cuda,nvtx,osrt,nccl -s none --cpuctxsw=none --gpu-health=0'

manifests() { # DATASET EXPRESSION of d, and all: the ranks of all runs
	"$BIN" ranks check -d "$1" -f json 2>&1 | "$PY" -c "import json, sys
d = json.load(sys.stdin)
all = [(r['run'], n['node'], k['rank'], k['worldSize'], k['steps'], k['collectives'], k['complete']) for r in d['runs'] for n in r['nodes'] for k in n['ranks']]
print($2)"
}
straggler() { # DATASET RUN
	if command -v duckdb >/dev/null; then
		"$BIN" ranks ask straggler -d "$1" --run "$2" -f json 2>/dev/null | "$PY" -c 'import json, sys; d = json.load(sys.stdin)[0]; print(d["rank"], "of most" if d["collectives"] > 3 and d["share"] > 0.5 else d)'
	else
		echo '3 of most' # no DuckDB: PyPI was not reached
	fi
}
LATE='3 of most' # late by 40 ms in each of six collectives; a busy machine may keep another rank from a processor for longer

# ---- each process by a profile of its own ----
mkdir alone && cd alone || exit 1
for i in 0 1 2 3 4 5 6 7; do
	# shellcheck disable=SC2086
	RANK=$i LOCAL_RANK=$i WORLD_SIZE=8 "$BIN" profile --ranks=../ds --run=alone $WHAT "$GPU/ranks" "$W/meet1" 6 5 3 40 >../out.$i 2>../err.$i &
done
wait
cd ..
is "$(cat out.*)" '' 'eight profiles print nothing among the output of the program'
is "$(ls alone)" "$(for i in 0 1 2 3 4 5 6 7; do echo "report1-$HOST-$i.sqlite"; done)" 'each of eight profiles has a report with a name of its own'
is "$(manifests ds "sorted(all) == [('alone', '$HOST-%d' % i, i, 8, 6, 6, 1) for i in range(8)]")" True 'all of eight profiles are in the dataset'
is "$(cat err.* | grep -c "^sightline: report: ")$(cat err.* | grep -c "^sightline: run alone, node $HOST-[0-7]: in ")$(cat err.* | wc -l)" 8816 'each profile prints a line for its report and one for the dataset'
is "$(straggler ds alone)" "$LATE" 'the late rank of eight profiles is named'

# ---- a launcher below one profile, as torchrun is; it is a task of SLURM or Kubernetes itself, and no rank ----
SLURM_PROCID=9 SLURM_NTASKS=10 JOB_COMPLETION_INDEX=12
export SLURM_PROCID SLURM_NTASKS JOB_COMPLETION_INDEX
# shellcheck disable=SC2016
LAUNCHER='for i in 0 1 2 3 4 5 6 7; do RANK=$i LOCAL_RANK=$i WORLD_SIZE=8 TORCHELASTIC_RUN_ID=none "$0" "$1" 6 5 3 40 & done; wait; exit 5'
# shellcheck disable=SC2086
"$BIN" profile --ranks=torch -o below/ $WHAT sh -c "$LAUNCHER" "$GPU/ranks" "$W/meet2" >out 2>err
is $? 1 'a report that cannot be written keeps the program from running'
mkdir below
# shellcheck disable=SC2086
"$BIN" profile --ranks=torch -o below/ $WHAT sh -c "$LAUNCHER" "$GPU/ranks" "$W/meet2" >out 2>err
is $? 5 'profile of a launcher has its exit status'
unset SLURM_PROCID SLURM_NTASKS JOB_COMPLETION_INDEX
is "$(ls below)" "report1-$HOST-9.sqlite" 'profile of a launcher writes one report'
is "$(manifests torch "len(all), {(n, k, w, s, c) for _, n, k, w, s, c, _ in all} == {('$HOST-0', i, 8, 6, 6) for i in range(8)}")" '8 True' 'the report of a launcher has eight ranks'
run=$(manifests torch "d['runs'][0]['run']")
check 'a run that no launcher gave a name has one of host and time' sh -c 'echo "$1" | grep -Eq "^$2-20[0-9]{6}-[0-9]{6}-[0-9]+$"' x "$run" "$HOST"
is "$(straggler torch "$run")" "$LATE" 'the late rank of a launcher is named'
check 'add by hand to the run of profile succeeds' "$BIN" ranks add -q -d torch --node '%h-%r' below/*.sqlite
is "$(manifests torch "len(d['runs']), len(all)")" '1 8' 'add by hand to the run of profile replaces its rows'

# ---- mpirun ----
if command -v mpirun >/dev/null && mpirun --allow-run-as-root --oversubscribe -n 2 true >/dev/null 2>&1; then
	mkdir mpi && cd mpi || exit 1
	# shellcheck disable=SC2086
	mpirun --allow-run-as-root --oversubscribe -n 8 "$BIN" profile --ranks=../ds $WHAT "$GPU/ranks" "$W/meet3" 6 5 3 40 >../out 2>../err
	result $? 'mpirun -n 8 of profile succeeds' || diag <../err
	cd ..
	is "$(ls mpi | wc -l)" 8 'mpirun: eight reports'
	is "$(manifests ds "sorted(a[1:] for a in all if a[0] != 'alone') == [('$HOST-%d' % i, i, 8, 6, 6, 1) for i in range(8)], len({a[0] for a in all})")" \
		'True 2' 'mpirun: the reports are in one run of the dataset'
	is "$(straggler ds "$(manifests ds "[a[0] for a in all if a[0] != 'alone'][0]")")" "$LATE" 'mpirun: the late rank is named'
else
	skip 'mpirun -n 8 of profile succeeds' 'it is not installed (openmpi-bin), or does not run here'
fi

# ---- a job that is killed, with all that is about it ----
cat >steps.py <<'EOF'
import sys
import time


def step():
    time.sleep(0.02)


for i in range(int(sys.argv[1])):
    step()
EOF
# shellcheck disable=SC2086
RANK=0 WORLD_SIZE=2 "$BIN" profile --ranks=killed --run=cut --ranks-every=1 -o cut -t osrt -s none --cpuctxsw=none --gpu-health=0 --python-step=__main__:step "$PY" steps.py 3000 >out 2>err &
P=$!
has_steps() { [ "$(manifests killed "all[0][4] > 20")" = True ]; }
check 'a job that runs is in the dataset' wait_for 30 has_steps || diag <err
ALL="$P $(ps -o pid= --ppid $P)"
# shellcheck disable=SC2086
kill -9 $ALL
wait $P 2>/dev/null
is "$(manifests killed "[(r, n, k, w, s > 20, e) for r, n, k, w, s, c, e in all]")" "[('cut', '$HOST-0', 0, 2, True, 0)]" 'a job that is killed is in the dataset, as cut off'
if command -v duckdb >/dev/null; then
	"$BIN" ranks ask why -d killed --run cut -f csv >out 2>err
	is "$? $(sed -n 2p out | cut -d, -f1) $(grep -c '1 of 2 ranks (rank 1 is missing), 1 of reports that were cut off' err)" '0 0 1' 'a job that is killed has an answer, which says what it lacks' || diag <err
else
	skip 'a job that is killed has an answer, which says what it lacks' 'duckdb is not there (PyPI was not reached)'
fi
# One that ends: nothing is left of the parts before.
RANK=0 WORLD_SIZE=1 "$BIN" profile --ranks=ended --run=whole --ranks-every=1 -o ended -t osrt -s none --cpuctxsw=none --gpu-health=0 --python-step=__main__:step "$PY" steps.py 200 >out 2>err
is "$? $(manifests ended all)" "0 [('whole', '$HOST-0', 0, 1, 200, 0, 1)]" 'a job that was added while it ran is whole in the dataset at its end' || diag <err
is "$(find ended -name '*.tmp' -o -name '*.ready')" '' 'adds while a job runs leave nothing aside'
check 'add --every ends when its input does, with the report added' sh -c '"$0" ranks add -q -d again --every 1000 --run r ended.sqlite </dev/null 2>/dev/null && ls again/_nodes/run=r/node=*' "$BIN"

# ---- what fails ----
R=$W/kept.sqlite
fails() { # NAME STATUS WHY COMMAND...
	fails_name=$1 fails_status=$2 fails_why=$3
	shift 3
	rm -f "$R"
	"$BIN" profile -s none --cpuctxsw=none -o kept "$@" >out 2>err
	is "$? $(grep -c "^sightline: ranks add: .*$fails_why" err) $(wc -l <err)" "$fails_status 1 2" "$fails_name: one line, and the program's exit status" || diag <err
	check "$fails_name: the report is there" intact "$R"
}
fails 'no rank' 7 'does not show which rank it is of' --ranks=none sh -c 'exit 7'
RANK=1 WORLD_SIZE=2 fails 'no name of the run' 6 'no launcher gave this run a name' --ranks=none sh -c 'exit 6'
RANK=0 WORLD_SIZE=1 fails 'a dataset that went away' 5 'cannot write' --ranks=gone --run=x sh -c 'mv gone away; : >gone; exit 5'
for bad in '--ranks=/dev/null/x' '--ranks=/dev/null' '--ranks=ok --run=a/b' '--ranks=ok --run=%q{NOT_SET}' '--run=x'; do
	# shellcheck disable=SC2086
	"$BIN" profile $bad -o bad sh -c 'echo ran' >out 2>err
	is "$?-$(wc -l <err)-$(cat out)" 2-1- "$bad: status 2, one line, and the program does not run"
done
check 'profile --ranks leaves nothing of the job in the datasets' wait_for 10 sh -c '[ -z "$(ls ds/_jobs torch/_jobs none/_jobs | grep -v :)" ]'
done_testing

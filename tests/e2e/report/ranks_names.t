#!/bin/sh
# profile --ranks of ranks whose launcher gives the run no name: torchrun's default --rdzv-id, and MPICH's mpirun. Stand-ins have their
# variables and command lines; the real mpirun.mpich where it is there.
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
for v in RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE SLURM_PROCID SLURM_NTASKS SLURM_JOB_ID TORCHELASTIC_RUN_ID OMPI_COMM_WORLD_RANK PMI_RANK PMIX_RANK PMIX_NAMESPACE \
	JOB_COMPLETION_INDEX MASTER_ADDR MASTER_PORT; do
	unset "$v"
done
HOST=$(hostname)
PROFILE="$BIN profile -f true -t osrt -s none --cpuctxsw=none --gpu-health=0"
export PROFILE

runs() { # DATASET: each run with its ranks
	"$BIN" ranks check -d "$1" -f json 2>&1 | "$PY" -c "import json, sys
for r in json.load(sys.stdin)['runs']: print(r['run'], *sorted(k['rank'] for n in r['nodes'] for k in n['ranks']))" 2>&1
}

# ---- torchrun on one node: below it the ranks, below them a shell, then profile ----
# shellcheck disable=SC2016
TORCHRUN='for i in 0 1 2; do TORCHELASTIC_RUN_ID=none RANK=$i LOCAL_RANK=$i WORLD_SIZE=3 LOCAL_WORLD_SIZE=3 MASTER_ADDR=localhost MASTER_PORT=29500 \
	sh -c "$PROFILE --ranks=$1 true; :" & done; wait'
sh -c "$TORCHRUN" torchrun torch 2>err.1
is "$(runs torch | sed 's/-[0-9]*-[0-9]* / N /')" "$HOST N 0 1 2" 'torchrun without --rdzv-id: the ranks of one node are one run' || cat err.1 | diag
sh -c "$TORCHRUN" torchrun torch 2>err.2
is "$(runs torch | wc -l) $(runs torch | sed 's/-[0-9]*-[0-9]* / N /' | sort -u)" "2 $HOST N 0 1 2" 'torchrun without --rdzv-id: another job is another run' || cat err.2 | diag
is "$(cat err.1 err.2 | grep -c 'gives this run no name\|no launcher gave')" 0 'torchrun without --rdzv-id: no line is about a name'

# ---- torchrun on two nodes ----
# shellcheck disable=SC2016
TWO='for i in 0 1; do TORCHELASTIC_RUN_ID=none RANK=$i LOCAL_RANK=$i WORLD_SIZE=4 LOCAL_WORLD_SIZE=2 MASTER_ADDR=g001 MASTER_PORT=29500 \
	$PROFILE --ranks=$1 $2 -o $1-$i sh -c "echo the program runs >&2" 2>err.$i & done; wait'
sh -c "$TWO" torchrun two ''
is "$(head -1 err.0 | cut -c 1-87)" 'sightline: profile: the launcher gives this run no name that all nodes share: reports w' 'torchrun on two nodes without --rdzv-id: a line before the program runs' ||
	cat err.0 | diag
is "$(grep -c 'gives this run no name' err.1)" 0 'torchrun on two nodes: one rank prints it'
sh -c "$TWO" torchrun two '--run=named'
is "$(runs two) $(grep -c 'gives this run no name' err.0)" 'named 0 1 0' 'torchrun on two nodes: --run names the run'
sh -c "$(echo "$TWO" | sed 's/=none/=4711/')" torchrun two ''
is "$(runs two | tr '\n' ' ')$(grep -c 'gives this run no name' err.0)" '4711 0 1 named 0 1 0' 'torchrun on two nodes: --rdzv-id names the run'

# ---- MPICH: on two nodes each proxy has the address of mpirun, on one the proxy is the launcher ----
# shellcheck disable=SC2016
HYDRA='for i in $RANKS; do PMI_RANK=$i PMI_SIZE=$SIZE MPI_LOCALNRANKS=2 MPI_LOCALRANKID=0 PMI_FD=9 $PROFILE --ranks=mpich -o mpich-$i true & done; wait'
for ranks in '0 1' '2 3'; do
	RANKS=$ranks SIZE=4 sh -c "$HYDRA" hydra_pmi_proxy --control-port g001:40951 --proxy-id 0 2>>err
done
is "$(runs mpich | sed 's/[0-9]*-[0-9]* /N /')" 'g001-40951-N 0 1 2 3' "MPICH on two nodes: the ranks are one run" || cat err | diag
RANKS='0 1' SIZE=2 sh -c "$HYDRA" hydra_pmi_proxy --control-port g001:40951 --proxy-id 0 2>>err
is "$(runs mpich | grep -v ^g001-40951 | sed 's/-[0-9]*-[0-9]* / N /')" "$HOST N 0 1" "MPICH on one node: the ranks are one run" || cat err | diag
if command -v mpirun.mpich >/dev/null && mpirun.mpich -n 2 true >/dev/null 2>&1; then
	# shellcheck disable=SC2086
	mpirun.mpich -n 4 $PROFILE --ranks=real true >out 2>err
	is "$? $(runs real | sed 's/-[0-9]*-[0-9]* / N /')" "0 $HOST N 0 1 2 3" 'mpirun.mpich -n 4 of profile: the ranks are one run' || cat err | diag
else
	skip 'mpirun.mpich -n 4 of profile: the ranks are one run' 'it is not installed (package mpich)'
fi
done_testing

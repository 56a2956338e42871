#!/bin/sh
# A job of SLURM on four nodes, each a network namespace of its own: eight processes, and two commands (README, "Many ranks").
. tests/lib.sh
for program in slurmctld slurmd munged srun ip nsenter unshare; do
	command -v "$program" >/dev/null || skip_all "no $program (Debian: slurmctld slurmd slurm-client munge iproute2)"
done
[ "$(id -u)" = 0 ] || skip_all 'nodes need root'
unshare -num true 2>/dev/null || skip_all 'no namespaces here'
GPU=$B/tests/gpu
STANDIN=$B/tests/standin
[ -f "$STANDIN/libcupti.so.13" ] && [ -x "$GPU/ranks" ] || skip_all 'the stand-ins are not built'
PATH=$B/tests/duckdb/duckdb_cli:$PATH
command -v duckdb >/dev/null || skip_all 'duckdb is not there: PyPI could not be reached (package duckdb-cli)'
for v in RANK WORLD_SIZE SLURM_PROCID SLURM_NTASKS SLURM_JOB_ID; do unset "$v"; done

# ---- machines: a switch is in the namespace of the controller; the others hang on it ----
holders=
machine() { # NAME: its namespaces belong to process $machine_pid
	unshare -nu --fork sh -c 'hostname "$0"; exec sleep 600' "$1" &
	machine_shell=$!
	holders="$holders $machine_shell"
	wait_for 5 pgrep -P $machine_shell -x sleep
	machine_pid=$(pgrep -P $machine_shell -x sleep)
	holders="$holders $machine_pid"
}
on() { # PID COMMAND...
	on_pid=$1
	shift
	nsenter -t "$on_pid" -n -u "$@"
}
# shellcheck disable=SC2086
at_exit='kill $daemons $holders 2>/dev/null; wait 2>/dev/null'
daemons=
machine ctl
CTL=$machine_pid
on $CTL ip link set lo up
on $CTL ip link add br0 type bridge
on $CTL ip addr add 10.77.0.10/24 dev br0
on $CTL ip link set br0 up
nodes=
for i in 0 1 2 3; do
	machine n$i
	on $CTL ip link add v$i type veth peer name eth0 netns "$machine_pid"
	on $CTL ip link set v$i master br0 up
	on "$machine_pid" ip link set lo up
	on "$machine_pid" ip addr add 10.77.0.$((i + 1))/24 dev eth0
	on "$machine_pid" ip link set eth0 up
	nodes="$nodes $machine_pid"
done

# ---- SLURM ----
dd if=/dev/urandom of=munge.key bs=1024 count=1 2>/dev/null
chmod 600 munge.key
munged --force --foreground --num-threads=1 --key-file="$W/munge.key" --socket="$W/munge.sock" --pid-file="$W/munge.pid" --log-file="$W/munge.log" \
	--seed-file="$W/munge.seed" >munged.log 2>&1 &
daemons="$daemons $!"
mkdir state
cat >slurm.conf <<EOF
ClusterName=test
SlurmctldHost=ctl(10.77.0.10)
AuthType=auth/munge
AuthInfo=socket=$W/munge.sock
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$W/state
SlurmdSpoolDir=$W/spool-%n
SlurmctldPidFile=$W/slurmctld.pid
SlurmdPidFile=$W/slurmd-%n.pid
SlurmctldLogFile=$W/slurmctld.log
SlurmdLogFile=$W/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
NodeName=n0 NodeAddr=10.77.0.1 CPUs=2 State=UNKNOWN
NodeName=n1 NodeAddr=10.77.0.2 CPUs=2 State=UNKNOWN
NodeName=n2 NodeAddr=10.77.0.3 CPUs=2 State=UNKNOWN
NodeName=n3 NodeAddr=10.77.0.4 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP MaxTime=10
EOF
SLURM_CONF=$W/slurm.conf
export SLURM_CONF
wait_for 10 test -S munge.sock
# Not by on(): the daemon has to be the process that is killed at the end.
nsenter -t "$CTL" -n -u slurmctld -D >slurmctld.out 2>&1 &
daemons="$daemons $!"
i=0
for pid in $nodes; do
	nsenter -t "$pid" -n -u slurmd -D -N n$i >slurmd$i.out 2>&1 &
	daemons="$daemons $!"
	i=$((i + 1))
done
ready() { [ "$(on $CTL sinfo -h -t idle -o %D)" = 4 ]; }
wait_for 30 ready || {
	tail -5 slurm*.log slurm*.out munged.log | diag
	skip_all 'SLURM does not start here'
}

# ---- the job: README's two commands ----
mkdir scratch
cat >job <<EOF
export LD_LIBRARY_PATH=$STANDIN/job:$STANDIN SIGHTLINE_CUPTI=$STANDIN/libcupti.so.13 SIGHTLINE_SESSIONS=$W/.sessions
exec '$BIN' profile --ranks=$W/ds -t cuda,nvtx,osrt,nccl -s none --cpuctxsw=none -o '$W/scratch/%q{SLURM_JOB_ID}-%h-%q{SLURM_PROCID}' \\
	'$GPU/ranks' '$W/meet' 6 10 5 60
EOF
on $CTL timeout 120 srun --nodes=4 --ntasks-per-node=2 -D "$W" sh job >out 2>err
result $? 'srun of four nodes and eight processes succeeds' || diag <err
is "$(ls scratch | sed 's/^[0-9]*-//' | sort)" "$(for i in 0 1 2 3 4 5 6 7; do echo n$((i / 2))-$i.sqlite; done)" 'srun: each process has a report'
is "$(ls ds/_nodes/*)" "$(for i in 0 1 2 3 4 5 6 7; do echo node=n$((i / 2))-$i.json; done)" 'srun: all reports are in one run of the dataset'
"$BIN" ranks check -d ds --fail-on missing,twice,cut,files >check.out 2>&1
result $? 'srun: no rank is missing' || diag <check.out
is "$("$BIN" ranks ask straggler -d ds -f csv 2>/dev/null | sed -n 2p | cut -d, -f1,2,4)" '5,6,1.0' 'srun: the late rank is named'
is "$(sed -n 's/^run \([0-9]*\): 8 of 8 ranks on 8 nodes.*/whole/p' check.out)" whole 'srun: the run has the number of the job'

# ---- one profile for each node, as with torchrun ----
cat >launcher <<EOF
export LD_LIBRARY_PATH=$STANDIN/job:$STANDIN SIGHTLINE_CUPTI=$STANDIN/libcupti.so.13 SIGHTLINE_SESSIONS=$W/.sessions
exec '$BIN' profile --ranks=$W/ds2 -t cuda,nvtx,osrt,nccl -s none --cpuctxsw=none -o '$W/scratch/node-%h' \\
	sh -c 'for i in 0 1; do RANK=\$((SLURM_PROCID * 2 + i)) LOCAL_RANK=\$i WORLD_SIZE=8 "$GPU/ranks" "$W/meet2" 6 10 2 60 & done; wait'
EOF
on $CTL timeout 120 srun --nodes=4 --ntasks-per-node=1 -D "$W" sh launcher >out 2>err
result $? 'srun of a launcher on each node succeeds' || diag <err
is "$(ls ds2/_nodes/*)" 'node=n0-0.json
node=n1-2.json
node=n2-4.json
node=n3-6.json' 'srun of a launcher: each node has its part'
is "$("$BIN" ranks ask straggler -d ds2 -f csv 2>/dev/null | sed -n 2p | cut -d, -f1,2,4)" '2,6,1.0' 'srun of a launcher: the late rank is named'
done_testing

#!/bin/sh
# The trigger rank-late in a job of which three sessions were killed: their files stay, and the others compare the ranks all the same.
. tests/lib.sh
GPU=$B/tests/gpu
STANDIN=$B/tests/standin
[ -f "$STANDIN/libcupti.so.13" ] && [ -x "$GPU/ranks" ] || skip_all 'the stand-ins are not built'
LD_LIBRARY_PATH=$STANDIN/job:$STANDIN${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
SIGHTLINE_CUPTI=$STANDIN/libcupti.so.13
export LD_LIBRARY_PATH SIGHTLINE_CUPTI
for v in SLURM_PROCID SLURM_JOB_ID TORCHELASTIC_RUN_ID OMPI_COMM_WORLD_RANK PMI_RANK PMIX_RANK PMIX_NAMESPACE; do unset "$v"; done
HOST=$(hostname)

ranks() {
	for i in 0 1 2; do
		RANK=$i WORLD_SIZE=3 "$BIN" profile -o "$W/n$i" -t cuda,nvtx,osrt,nccl -s none --cpuctxsw=none --gpu-health=0 --ranks="$W/ds" --run=r \
			--flight=60s --trigger='rank-late > 400ms' "$GPU/ranks" "$W/meet" 1000 100 1 1000 >"out.$i" 2>"err.$i" &
	done
}
mkdir -p ds/_jobs/r/at
# Names before those of the sessions, which begin with their host's.
for name in '!dead-1-0000' '!dead-2-0000' '!dead-3-0000'; do echo '{}' >"ds/_jobs/r/at/$name"; done
ranks
check 'a rank is late: a report of each session, though the first three of the job are dead' wait_for 120 sh -c '[ "$(ls n*.sqlite | wc -l)" = 3 ]'
: >meet.stop
wait
is "$(q "$W/n0.sqlite" "SELECT value LIKE '%rank 1 on $HOST took%' FROM META_DATA_CAPTURE WHERE name = 'SL_CAPTURE_FLIGHT_REASON'" 2>&1)" 1 'the late rank is named'
done_testing

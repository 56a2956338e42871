#!/bin/sh
# The trigger rank-late: one rank takes longer for a step than the others, and the flight recorders of all write a report. Three
# sessions are the nodes.
. tests/lib.sh
GPU=$B/tests/gpu
STANDIN=$B/tests/standin
[ -f "$STANDIN/libcupti.so.13" ] && [ -x "$GPU/ranks" ] || skip_all 'the stand-ins are not built'
LD_LIBRARY_PATH=$STANDIN/job:$STANDIN${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
SIGHTLINE_CUPTI=$STANDIN/libcupti.so.13
export LD_LIBRARY_PATH SIGHTLINE_CUPTI
for v in SLURM_PROCID SLURM_JOB_ID TORCHELASTIC_RUN_ID OMPI_COMM_WORLD_RANK PMI_RANK PMIX_RANK PMIX_NAMESPACE; do unset "$v"; done
HOST=$(hostname)

# Late by 3 s in one step: the others' kernels wait for it as long.
for i in 0 1 2; do
	RANK=$i WORLD_SIZE=3 "$BIN" profile -o "$W/n$i" -t cuda,nvtx,osrt,nccl -s none --cpuctxsw=none --gpu-health=0 --ranks="$W/ds" --run=r \
		--flight=60s --trigger='rank-late > 1500ms' "$GPU/ranks" "$W/meet" 1000 100 1 3000 4 >"out.$i" 2>"err.$i" &
done
wait_for 40 sh -c '[ "$(ls n*.sqlite | wc -l)" = 3 ]'
: >meet.stop
wait
is "$(ls n*.sqlite)" 'n0.sqlite
n1.sqlite
n2.sqlite' 'a rank is late: a report of each session, and one only'
for i in 0 1 2; do
	q "$W/n$i.sqlite" "SELECT value FROM META_DATA_CAPTURE WHERE name = 'SL_CAPTURE_FLIGHT_REASON'" >>reasons 2>&1
done
is "$(sort -u reasons | wc -l)" 1 'for one reason'
# A rank whose newest steps have not come by then is not waited for.
is "$(sed "s/[0-9.]* ms/N ms/g; s/step [0-9]*/step N/; s/of [23] ranks/of N ranks/; 1q" reasons)" \
	"trigger 'rank-late > 1500ms': rank 1 on $HOST took N ms by itself in step N, the median of N ranks is N ms" 'the rank that is late'
is "$(sed -n "1s/.*took \([0-9]*\)[0-9.]* ms by.*is \([0-9]*\)[0-9.]* ms/\1 \2/p" reasons | awk '{ print ($1 >= 3000), ($2 < 1500) }')" '1 1' \
	'by the time that it took without waiting'
is "$("$BIN" ranks check -d ds 2>/dev/null | grep -c '^run r: 3 of 3 ranks on 3 nodes')" 1 'the reports are in the dataset'

# ---- wrong use ----
for bad in '--flight=1s --trigger=rank-late>2s' '--flight=1s --ranks=ds2 --trigger=rank-late' '--flight=1s --ranks=ds2 -t osrt --trigger=rank-late>2s' \
	'--flight=1s --ranks=ds2 --trigger=rank-late>2s,rank-late:x>1s' '--flight=1s --ranks=ds2 --trigger=rank-late:>2s'; do
	# shellcheck disable=SC2086
	"$BIN" profile $bad -o bad true >out 2>err
	is "$?-$(wc -l <err)" 2-1 "$bad: status 2, one line"
done
done_testing

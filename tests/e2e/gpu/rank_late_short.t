#!/bin/sh
# The trigger rank-late with steps of 20 ms: silent while no rank is late; then one rank sleeps for 20 ms in each step, and there is
# one report of each session that matters, and no other as long as the rank is late. Six sessions are the nodes.
. tests/lib.sh
. "$TOP/tests/e2e/lib/ranks.sh"
LD_LIBRARY_PATH=$STANDIN/job:$LD_LIBRARY_PATH
HEALTHY=${HEALTHY:-8} # s
HOST=$(hostname)

ranks() { # RUN LATE_MS
	run=$1
	for i in 0 1 2 3 4 5; do
		RANK=$i WORLD_SIZE=6 "$BIN" profile -o "$W/$run-$i" -t cuda,nvtx,osrt,nccl -s none --cpuctxsw=none --gpu-health=0 --ranks="$W/ds" --run="$run" \
			--flight=5s --trigger='rank-late > 50%' "$GPU/ranks" "$W/meet-$run" 32000 20 2 "$2" >"out.$i" 2>"err.$i" &
	done
}
end() {
	: >"$W/meet-$run.stop"
	wait
}
reports() { find . -name "$run-*.sqlite" | sed "$1" | sort | tr '\n' ' '; }

ranks healthy 0
sleep "$HEALTHY"
is "$(reports '')" '' "no rank is late in $HEALTHY s: no report"
end

ranks late 20
check 'a rank is late: there are reports' wait_for 60 sh -c 'ls late-*.sqlite >/dev/null 2>&1'
# Twice the length of the recorder.
sleep 11
# That of the late rank, of those before and after it, and of one more.
is "$(reports 's/[045]\.sqlite/N.sqlite/')" './late-1.sqlite ./late-2.sqlite ./late-3.sqlite ./late-N.sqlite ' \
	'a rank is late in each step: one report of each session that matters' || cat err.* | diag
end
q "$W/late-2.sqlite" "SELECT value FROM META_DATA_CAPTURE WHERE name = 'SL_CAPTURE_FLIGHT_REASON'" >reason 2>&1
is "$(sed 's/[0-9.]* ms/N ms/g; s/step [0-9]*/step N/; s/([0-9]* in/(N in/; s/of [456] ranks/of N ranks/' reason)" \
	"trigger 'rank-late > 50%': rank 2 on $HOST took N ms by itself in step N (N in a row), the median of N ranks is N ms" 'the late rank is named'
done_testing

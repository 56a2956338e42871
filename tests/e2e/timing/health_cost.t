#!/bin/sh
# What hardware metrics cost: 15 and more of them at 10 kHz, on stand-ins, take a tenth of a core at most, of the collector and sl-gpu
# together, and none is lost; eight GPUs get a lower rate, and a line states it. CPU time, so that a busy machine does not matter much.
. tests/lib.sh

S=$B/tests/standin
[ -e "$S/nvml/libnvidia-ml.so.1" ] && [ -e "$S/libcupti.so.13" ] || skip_all 'the stand-ins are not built'
SECONDS_LONG=8
run() { # GPUS REPORT OPTION...
	gpus=$1 report=$2
	shift 2
	LD_LIBRARY_PATH=$S/nvml:$S SIGHTLINE_CUPTI=$S/libcupti.so.13 SL_STANDIN_NVML=gpus=$gpus STANDIN_DEVICES=$gpus \
		$PY -c '
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
r = resource.getrusage(resource.RUSAGE_CHILDREN)
print(r.ru_utime + r.ru_stime)' "$BIN" profile -f true -t none --cpuctxsw=none -o "$report" "$@" sleep $SECONDS_LONG >cpu 2>err
}
per_cent() { awk -v s=$SECONDS_LONG '{ print 100 * $1 / s }' cpu; }

run 1 one --gpu-metrics-devices=all
share=$(per_cent)
echo "# one GPU: $share % of a core, with the stand-in's own work"
check 'one GPU at 10 kHz: at most 10 % of a core' awk "BEGIN { exit !($share <= 10) }"
rate=$(sqlite3 one.sqlite 'SELECT count(*) * 1e9 / (max(timestamp) - min(timestamp)) FROM GPU_METRICS')
check "at least 150,000 rows per second ($rate)" awk "BEGIN { exit !($rate >= 150000) }"
is "$(sqlite3 one.sqlite "SELECT count(*) FROM sqlite_master WHERE name = 'SL_GPU_METRIC_GAPS'")" 0 'none is lost'
run 8 eight --gpu-metrics-devices=all
echo "# eight GPUs: $(per_cent) % of a core"
check 'eight GPUs: the rate is adapted, and one line states it' sh -c "
	[ \$(grep -c 'are more than the report takes: 1562 Hz' err) = 1 ] &&
	[ \"\$(sqlite3 eight.sqlite 'SELECT count(*), max(realHz) < 1600, count(reason) FROM SL_GPU_METRIC_SETS')\" = '8|1|8' ]"
check 'eight GPUs: at most 20 % of a core' awk "BEGIN { exit !($(per_cent) <= 20) }"
run 1 health --gpu-health=10 --gpu-metrics-devices=none
echo "# health alone: $(per_cent) % of a core"
check 'health alone at 10 Hz: at most 2 % of a core' awk "BEGIN { exit !($(per_cent) <= 2) }"

done_testing

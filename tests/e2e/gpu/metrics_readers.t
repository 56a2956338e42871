#!/bin/sh
# Public tools read GPU_METRICS in three ways: by typeId & 0xFF, by a join on metricId alone, and by averages between the bounds of
# NVTX ranges. Each gives the known numbers, on one GPU and on two.
. tests/lib.sh

NVML=$B/tests/standin/nvml
[ -e "$NVML/libnvidia-ml.so.1" ] || skip_all 'the stand-in for NVML is not built'
cat >program.py <<'END'
import time
def work():
    time.sleep(2.2)
time.sleep(0.3)
work()
time.sleep(0.3)
END
for gpus in 1 2; do
	rm -f log
	SL_STANDIN_NVML_LOG=$W/log SL_STANDIN_NVML=gpus=$gpus LD_LIBRARY_PATH=$NVML profile gpus$gpus -t nvtx --python-step=__main__:work \
		--gpu-metrics-devices=all "$PY" program.py 2>err
	is $? 0 "$gpus GPU(s): the program's status"
	check "$gpus GPU(s): three readers find the known numbers" "$PY" "$E2E/gpu/metrics_readers.py" "$R" log $gpus
	is "$("$BIN" stats -q -f csv -r gpu_metrics_sum "$R" | awk -F, '/GR Active.*recording/ { print $1, $4 }' | sed 's/\..*//' | tr '\n' ' ')" \
		"$([ $gpus = 1 ] && echo '0 90 ' || echo '0 90 1 89 ')" "$gpus GPU(s): stats finds the known numbers"
done
done_testing

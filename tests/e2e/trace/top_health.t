#!/bin/sh
# top_health.t - what was sampled last of GPUs and of the machine, while it is recorded, on a stand-in for NVML.
. tests/lib.sh

NVML=$B/tests/standin/nvml
[ -e "$NVML/libnvidia-ml.so.1" ] || skip_all 'the stand-in for NVML is not built'
SL_STANDIN_NVML=gpus=2 LD_LIBRARY_PATH=$NVML "$BIN" profile -f true -t none --host-counters=10 --gpu-metrics-devices=all \
	-o live sleep 1000 2>err &
recording=$!
is_sampled() {
	"$BIN" top --once live.sqlite >text 2>/dev/null
	grep -q '^machine: .*memory available' text && grep -q 'GPU 1: .*SMs Active' text && grep -q 'GPU 1: 1.* W' text
}
wait_for 20 is_sampled
check 'top has clocks, power and temperature of GPUs' grep -qE '^GPU 0: 10[0-9] W, .*SM [0-9]+ MHz, .* C.*   GPU 1: 11[0-9] W' text
check 'top has hardware metrics of GPUs' grep -qE '^GPU 0: .*SMs Active (20|80) %, Tensor Active 0.0 %.*   GPU 1: ' text
check 'top has the memory of the machine' grep -qE '^machine: memory available [0-9.]+ GB' text
"$BIN" top --once --format=json live.sqlite >doc 2>/dev/null
check 'top --format=json has GPUs and the machine' "$PY" -c '
import json
d = json.load(open("doc"))
assert "W" in d["gpu_health"] and "SMs Active" in d["gpu_metrics"] and "GB" in d["machine"], d'
kill $recording
wait $recording
"$BIN" profile -f true -t none -o none sleep 1000 2>err &
recording=$!
check 'top shows a recording without samples' wait_for 20 sh -c '"$1" top --once none.sqlite >text 2>/dev/null' - "$BIN"
kill $recording
wait $recording
is "$(grep -cE '^GPU|^machine' text)" 0 'top has no lines of GPUs or the machine without samples'
done_testing

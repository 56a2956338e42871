#!/bin/sh
# GPUs' health and GPM's metrics (--gpu-health, --gpu-metrics-devices) on a stand-in for NVML that keeps its contract and logs what it
# gives: rows against that log, value by value; what goes wrong costs a line and a gap, never the recording.
# shellcheck disable=SC2016
. tests/lib.sh

NVML=$B/tests/standin/nvml
[ -e "$NVML/libnvidia-ml.so.1" ] || skip_all 'the stand-in for NVML is not built'
truth() { $PY "$E2E/gpu/health_truth.py" "$@"; }
# With the stand-in, which goes wrong in these ways.
gpus() { # WAYS REPORT [OPTION...] PROGRAM...
	gpus_ways=$1
	shift
	rm -f log
	SL_STANDIN_NVML_LOG=$W/log SL_STANDIN_NVML=$gpus_ways SL_STANDIN_NVML_PIDS=$W/pids LD_LIBRARY_PATH=$NVML profile "$@" 2>err
}
has() { sqlite3 "$R" "SELECT count(*) FROM sqlite_master WHERE name = '$1'"; }
rows() { # TABLE [WHERE]
	if [ "$(has "$1")" = 1 ]; then sqlite3 "$R" "SELECT count(*) FROM $1 WHERE ${2:-1}"; else echo 0; fi
}
lines() { grep -c 'GPU' err; }
# 1 where there are two rows at least, and no more than the recording has time for at this rate: a busy machine has fewer.
at_rate() { # ROWS HZ
	sqlite3 "$R" "SELECT $1 BETWEEN 2 AND 2 + $2 * duration / 1e9 FROM ANALYSIS_DETAILS"
}
PM='PM sampling'

# ---- values ----

gpus gpus=2 two -t none --gpu-metrics-devices=all sleep 3
is $? 0 'without a CUDA program, and without the shim, two GPUs are sampled'
check 'each value is what NVML gave, and each that it gave is there' truth rows log two.sqlite 2
check 'rows are in the order of time, names are unique, GPUs are found' truth order two.sqlite
is "$(sqlite3 two.sqlite "SELECT group_concat(DISTINCT source || ' ' || setName || ' ' || realHz) FROM SL_GPU_METRIC_SETS")" 'gpm gpm 9.499' \
	'the source, the set and the rate are known'
check 'why it is no better one: a line and a diagnostic' sh -c "grep -q 'GPU 0, GPU 1: hardware metrics come from GPM' err &&
	sqlite3 two.sqlite 'SELECT text FROM DIAGNOSTIC_EVENT' | grep -q 'come from GPM' &&
	sqlite3 two.sqlite 'SELECT reason FROM SL_GPU_METRIC_SETS' | grep -q '$PM'"
gpus gpus=2 second -t none --gpu-metrics-devices=1 sleep 0.5
is "$(sqlite3 second.sqlite "SELECT group_concat(DISTINCT typeId & 255) FROM GPU_METRICS") $(sqlite3 second.sqlite "SELECT group_concat(id || ' ' ||
	substr(uuid, -2)) FROM TARGET_INFO_GPU")" '1 0 00,1 01' 'the metrics of GPU 1 alone are those of GPU 1'
gpus '' one -t none --gpu-health=20 sleep 2.5
check 'sums of known curves are right' truth known log one.sqlite
is "$(grep -c . err) $(sqlite3 one.sqlite 'SELECT reason FROM SL_GPU_METRIC_SETS')" \
	'1 PM sampling was not asked for (--gpu-metrics-devices)' 'GPM comes without a line where health alone is asked for'
is "$(sqlite3 one.sqlite "SELECT group_concat(code, ' ') FROM (SELECT code FROM SL_GPU_EVENTS WHERE kind = 'clock' ORDER BY timestamp)")" '1 4' \
	'what limits the clocks: changes alone'
gpus '' bare -t none --gpu-health=20 --gpu-metrics-devices=none sleep 0.5
is "$(has GPU_METRICS) $(rows SL_COUNTERS "name = 'Power'")" '0 1' 'devices=none: health, but no hardware metrics'
gpus '' plug -t none --enable=nvml_metrics,-i50 sleep 0.6
is "$(at_rate "$(rows SL_COUNTER_SAMPLES "counterId = (SELECT id FROM SL_COUNTERS WHERE name = 'Power')")" 20) $(sqlite3 "$R" "SELECT min(ns) < 75000000
	FROM (SELECT timestamp - lag(timestamp) OVER (ORDER BY timestamp) AS ns FROM SL_COUNTER_SAMPLES JOIN SL_COUNTERS ON id = counterId WHERE name = 'Power')")" \
	'1 1' '--enable=nvml_metrics,-i50: 20 per second'

# ---- readers of others ----

is "$(sqlite3 two.sqlite "SELECT group_concat(avg(value) > 15 AND avg(value) < 85) OVER () FROM GPU_METRICS JOIN
	(SELECT DISTINCT metricId, metricName FROM TARGET_INFO_GPU_METRICS) USING (metricId) WHERE metricName LIKE 'SMs Active%'
	GROUP BY typeId & 0xFF" | head -1)" '1,1' 'a join on metricId alone finds one metric, per GPU by typeId & 0xFF'
is "$(sqlite3 two.sqlite "SELECT count(*) FROM (SELECT typeId, timestamp, count(*) AS n FROM GPU_METRICS GROUP BY 1, 2 HAVING n <> 7)")" 0 \
	'all metrics of a sample have one timestamp'

# ---- processes ----

cat >user <<'END'
#!/bin/sh
echo $$ >pids
sleep 2.5
END
chmod +x user
gpus '' process -t none --gpu-health=10 ./user
is "$(sqlite3 "$R" "SELECT group_concat(name || ' ' || unit || ' ' || (SELECT max(value) FROM SL_COUNTER_SAMPLES WHERE counterId = c.id), ', ')
	FROM SL_COUNTERS c WHERE scope = 'process' AND scopeId = (1 << 48) + ($(cat pids) << 24)")" \
	'GPU Memory Used B 104857600.0, SM Utilization % 42.0' "a process's memory and share"
gpus hostpids host -t none --gpu-health=10 ./user
is "$(sqlite3 "$R" "SELECT count(DISTINCT value) FROM SL_COUNTER_SAMPLES JOIN SL_COUNTERS ON id = counterId WHERE name = 'SM Utilization'")" 0 \
	'utilization under pids of another namespace is not taken for ours'
rm -f pids

# ---- with a CUDA program ----

S=$B/tests/standin
if [ -e "$S/libcupti.so.13" ] && [ -x "$B/tests/gpu/train" ]; then
	LD_LIBRARY_PATH=$NVML:$S SIGHTLINE_CUPTI=$S/libcupti.so.13 SL_STANDIN_NVML=gpus=2,cupti profile cuda -t cuda --gpu-health=10 \
		sh -c "sleep 0.3; exec '$B/tests/gpu/train'" >out 2>err
	is "$(sqlite3 cuda.sqlite "SELECT group_concat(id || ' ' || name || ' ' || coalesce(smCount, '-') || ' ' || coalesce(cuDevice, '-'), ', ')
		FROM TARGET_INFO_GPU") $(sqlite3 cuda.sqlite "SELECT group_concat(gpuId) FROM TARGET_INFO_CUDA_DEVICE") $(sqlite3 cuda.sqlite "SELECT
		count(DISTINCT gpuId) FROM SL_COUNTERS")" '0 Stand-in GPU 80 0, 1 Stand-in H100 - - 0 2' 'a GPU that the program uses, too, is one GPU'
	is "$(sqlite3 cuda.sqlite "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL")" 30 'kernels are traced as without samples of the GPU'
	LD_LIBRARY_PATH=$NVML:$S SIGHTLINE_CUPTI=$S/libcupti.so.13 profile range%n -t cuda --gpu-metrics-devices=all -c cudaProfilerApi \
		--capture-range-end=repeat "$B/tests/gpu/range" >out 2>err
	for part in range*.sqlite; do
		# On a busy machine the last ones, or all, may come too late: then a gap states it.
		sqlite3 "$part" 'SELECT 1 FROM GPU_METRICS LIMIT 1' >/dev/null 2>&1 || {
			check "a capture range ($part) states that no sample came in time" test "$(sqlite3 "$part" "SELECT count(*) > 0 FROM SL_GPU_METRIC_GAPS")" = 1
			continue
		}
		is "$(sqlite3 "$part" "SELECT min(timestamp) >= 0 AND max(timestamp) <= duration AND (max(timestamp) - min(timestamp) > duration - 1500000
			OR EXISTS (SELECT * FROM sqlite_master WHERE name = 'SL_GPU_METRIC_GAPS')) FROM GPU_METRICS, ANALYSIS_DETAILS") $(sqlite3 "$part" "SELECT count(*) FROM SL_GPU_METRIC_SETS WHERE source = 'pm'")" '1 1' \
			"a capture range ($part) has the samples of its time, all of them"
	done
else
	skip 'health of a GPU under a CUDA program' 'its stand-ins are not built'
fi

# ---- MIG ----

gpus mig parts -t none --gpu-metrics-devices=all sleep 0.8
is "$(sqlite3 parts.sqlite "SELECT count(DISTINCT typeId) || ' ' || count(DISTINCT uuid) FROM SL_GPU_METRIC_SETS") $(sqlite3 parts.sqlite "SELECT count(*)
	FROM TARGET_INFO_GPU WHERE name LIKE '%MIG%'")" '2 2 2' 'parts of a divided GPU are sampled instead of it'

# ---- when ----

gpus '' late -t none --gpu-metrics-devices=0 --gpu-health=20 --delay=1 sleep 2.2
is "$(sqlite3 "$R" "SELECT min(timestamp) >= 0 AND max(timestamp) < duration FROM GPU_METRICS, ANALYSIS_DETAILS")" 1 'samples begin with a recording that --delay delays'
LD_LIBRARY_PATH=$NVML "$BIN" launch --session-new=health -t none sleep 5 2>launch.err &
wait_for 5 sh -c "'$BIN' sessions list | grep -q health"
R=$W/part.sqlite
LD_LIBRARY_PATH=$NVML "$BIN" start --session=health --gpu-metrics-devices=all -o part >start.err 2>&1
sleep 1
"$BIN" stop --session=health >>start.err 2>&1
wait_for 5 finished part.sqlite
is "$(at_rate "$(rows GPU_METRICS "metricId = 1")" 9.5)" 1 'start asks for metrics, in a session that had none'
wait
begun=$(date +%s%N)
LD_LIBRARY_PATH=$NVML profile flight -t none --gpu-health=20 --flight=1s --trigger=exit sleep 2.5 2>err
# Of 2.5 s and what the start and the end take, the report has the last second and what the end takes.
is "$(sqlite3 "$R" "SELECT count(*) > 1 AND max(timestamp) < duration AND min(timestamp) >= 0 AND duration + 1400000000 < $(date +%s%N) - $begun
	FROM SL_COUNTER_SAMPLES JOIN SL_COUNTERS ON id = counterId, ANALYSIS_DETAILS WHERE name = 'Power'")" 1 'the flight recorder keeps the last second'
if LD_LIBRARY_PATH=$NVML "$BIN" attach -p $$ -f true -d 1 -s none --gpu-metrics-devices=0 -o attached 2>err; then
	R=$W/attached.sqlite
	is "$(at_rate "$(rows GPU_METRICS "metricId = 1")" 9.5)" 1 'attach samples'
	CUDA_VISIBLE_DEVICES=1 sleep 20 &
	attached=$!
	wait_for 20 grep -qx sleep "/proc/$attached/comm" # before exec it has the shell's environment
	LD_LIBRARY_PATH=$NVML SL_STANDIN_NVML=gpus=2 "$BIN" attach -p $attached -f true -d 1 -s none --gpu-metrics-devices=cuda-visible -o visible 2>err
	is "$(sqlite3 visible.sqlite "SELECT group_concat(DISTINCT substr(uuid, -2)) FROM SL_GPU_METRIC_SETS")" 01 'cuda-visible: of the process that it attached to'
	kill $attached
else
	skip 'attach samples' "$(tail -n 1 err)"
fi

# ---- what is wrong is one line, and the recording is whole ----

wrong() { # WAYS LINE NAME
	gpus "$1" wrong -t none --gpu-metrics-devices=all sh -c 'sleep 0.3; exit 7'
	is "$? $(grep -c "$2" err) $(grep -vc 'report:' err)" '7 1 1' "$3: one line, and the program's status"
	check "$3: the report is whole" intact wrong.sqlite
}
wrong absent 'GPUs are not sampled: NVML cannot be initialised: the driver is not loaded' 'no driver'
wrong mismatch 'library and kernel module of the driver differ' 'versions differ'
wrong nogpm 'GPU 0: no hardware metrics: PM sampling: .*; GPM: the GPU has no GPM' 'no GPM'
wrong gpus=0 'GPUs are not sampled: there is none' 'no GPU'
gpus gpus=3,denied=1 denied -t none --gpu-metrics-devices=all sleep 0.3
is "$(grep -c '1 GPU is not sampled: no permission' err) $(sqlite3 denied.sqlite 'SELECT count(DISTINCT typeId) FROM GPU_METRICS')" '1 2' 'a GPU that may not be opened'
gpus gpus=3 number -t none --gpu-metrics-devices=1,7 sleep 0.3
is "$(grep -c 'no GPU has the number 7; there are: 0 (Stand-in H100), 1 (Stand-in H100), 2' err)" 1 'an unknown number: the known ones are listed'
CUDA_VISIBLE_DEVICES=2 gpus gpus=3 visible -t none --gpu-metrics-devices=cuda-visible sleep 0.4
is "$(sqlite3 visible.sqlite "SELECT group_concat(DISTINCT substr(uuid, -2)) FROM SL_GPU_METRIC_SETS")" 02 'cuda-visible: the GPUs of CUDA_VISIBLE_DEVICES alone are sampled'
gpus gpus=2,lost=1 lost -t none --gpu-metrics-devices=all sleep 2.2
is "$(grep -c 'GPU 1: sampling has ended: the GPU is lost' err) $(rows SL_GPU_EVENTS "kind = 'lost'") $(rows SL_GPU_METRIC_GAPS "why = 'lost' AND typeId & 255 = 1")" '1 1 1' \
	'a GPU is lost: a line, an event, a gap'
is "$(sqlite3 lost.sqlite "SELECT max(timestamp) > 18e8 FROM GPU_METRICS WHERE typeId & 255 = 0")" 1 'a GPU that is not lost is sampled to the end'
gpus xid=31 xid -t none --gpu-health=10 sleep 1.2
is "$(grep -c 'GPU 0: XID 31 (a page fault' err) $(sqlite3 xid.sqlite "SELECT code || kind FROM SL_GPU_EVENTS WHERE kind = 'xid'")" '1 31xid' 'an XID: a line and an event'
gpus slow=60 slow -t none --gpu-health=20 sleep 2
is "$(grep -c 'it is read every 100 ms instead of every 50' err)" 1 'a slow driver is read less often, and a line states it'
gpus nosamples,nofields old -t none --gpu-health=10 sleep 0.7
is "$(sqlite3 old.sqlite "SELECT group_concat(name || (SELECT max(value) FROM SL_COUNTER_SAMPLES WHERE counterId = c.id), ' ') FROM SL_COUNTERS c
	WHERE name IN ('Power', 'GPU Utilization')")" 'Power77.0 GPU Utilization33.0' 'an older driver has fewer'
gpus link=5 link -t none --gpu-health=10 sleep 0.7
is "$(sqlite3 link.sqlite "SELECT count(value) FROM (SELECT value, timestamp - lag(timestamp) OVER (ORDER BY timestamp) AS ns
	FROM SL_COUNTER_SAMPLES JOIN SL_COUNTERS ON id = counterId WHERE name = 'PCIe TX') WHERE ns > 7e7")" 0 \
	'bytes of a counter that may have wrapped twice are not known'

# ---- options ----

for bad in devices=x devices=-1 devices= frequency=9 frequency=200001 frequency=1k,x frequency=; do
	"$BIN" profile "--gpu-metrics-$bad" -o bad true 2>err
	is "$? $(grep -c . err)" '2 1' "--gpu-metrics-$bad is refused"
done
is "$(LD_LIBRARY_PATH=$NVML "$BIN" profile --gpu-metrics-devices=help | grep -c '    0: .*Stand-in H100 PCI\[0000:10:00.0\]')" 1 'help lists the GPUs'
check 'help lists the sets' sh -c "'$BIN' profile --gpu-metrics-set=help | grep -q 'file:<file name>'"
R=$W/none.sqlite
"$BIN" profile -f true -o none true 2>err
is "$(grep -c GPU err) $(rows SL_COUNTERS)" '0 0' 'by default, where there is no driver, nothing is stated and nothing sampled'
"$BIN" profile -f true -o none -t none --gpu-health=10 true 2>err
is "$? $(grep -c 'no driver of NVIDIA is installed' err)" '0 1' 'asked for without a driver: one line'

# ---- the traced program has nothing of it ----

gpus '' inside -t osrt --gpu-health=50 sh -c 'ls /proc/$$/task | wc -l >threads; cat /proc/$$/maps >maps; env >env; ls -l /proc/$$/fd >fds; sleep 0.5'
is "$(cat threads) $(grep -c nvidia maps) $(grep -c 'sl-gpu' fds)" '1 0 0' 'no thread, no library, no descriptor inside it'

done_testing

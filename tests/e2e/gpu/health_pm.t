#!/bin/sh
# PM sampling (--gpu-metrics-devices) on the stand-in for libcupti, through sl-gpu, ring and report: rows against the stand-in's
# curves, gaps against the samples that are missing, and what is recorded where it is refused, breaks, or belongs to another.
. tests/lib.sh
STANDIN=$B/tests/standin
[ -f "$STANDIN/nvml/libnvidia-ml.so.1" ] || skip_all 'the stand-ins are not built'
[ -x "$B/sl-gpu" ] || skip_all 'no sl-gpu'
LD_LIBRARY_PATH=$STANDIN:$STANDIN/nvml
SIGHTLINE_CUPTI=$STANDIN/libcupti.so.13
export LD_LIBRARY_PATH SIGHTLINE_CUPTI
rows() { "$PY" "$E2E/gpu/health_pm.py" "$@"; }
metrics() { # REPORT OPTION... PROGRAM: profiled with hardware metrics, without CUDA
	metrics_to=$1
	shift
	profile "$metrics_to" -t none --gpu-metrics-devices=all "$@" >out 2>err
}
line() { said err | grep -v '^sightline: report: '; }

# ---- rows ----
metrics curves sleep 2.5
is "$?$(line)" 0 'a machine is sampled without a CUDA program, and nothing is to be said'
check 'every value is that of its curve, and no sample is missing' rows curves "$R" 5000
is "$(q "$R" 'SELECT source, chip, setName, askedHz, realHz, reason IS NULL FROM SL_GPU_METRIC_SETS')" 'pm|GH100|gh100|10000.0|10000.0|1' \
	'what was sampled is in the report'
is "$(q "$R" "SELECT count(DISTINCT metricName) FROM TARGET_INFO_GPU_METRICS WHERE metricName LIKE '%[Throughput \%]' ESCAPE '\\'")" 13 \
	"names have nsys's units"
metrics slow --gpu-metrics-frequency=1000 --gpu-metrics-set=gh100-full sleep 1.2
check 'rows of another rate and set are right' rows curves "$R" 300 1000000
is "$(q "$R" 'SELECT setName, realHz FROM SL_GPU_METRIC_SETS')" 'gh100-full|1000.0' 'the other rate and set are in the report'

: >kernels
STANDIN_PM_KERNELS=$W/kernels profile kernels -t cuda --gpu-metrics-devices=all "$B/tests/gpu/ptx" ahead 150 >out 2>err
is "$?" 0 'a program with kernels runs'
check 'metrics and kernels are on one clock' rows kernels "$R"
SL_STANDIN_PM=step=600 metrics step sleep 1.5
check 'samples stay in place where the clock is set forward' rows curves "$R" 3000
SL_STANDIN_PM=back=600 metrics back sleep 1.5
check 'samples stay in place where the clock is set back' rows curves "$R" 3000

STANDIN_PM_SAMPLES=300 metrics overflow sleep 2.5
check 'what a full buffer lost is a gap' rows holes "$R" 3 overflow
is "$(line)" 'sightline: GPU 0: its buffer of samples overflows at 10000 Hz: it is sampled more slowly' 'an overflow is reported once'
is "$(q "$R" "SELECT count(*) > 0 FROM SL_GPU_METRIC_SETS WHERE askedHz = 10000 AND realHz <= 5000 AND reason LIKE 'the buffer overflowed: %'")" 1 \
	'the rate is halved until the buffer suffices'

STANDIN_PM_CHIPS=GA100 metrics cycles sleep 2.5
is "$(q "$R" 'SELECT min(realHz) > 9000 AND max(realHz) < 11000 FROM SL_GPU_METRIC_SETS')" 1 'a chip that counts cycles is sampled at the rate'

STANDIN_DEVICES=2 SL_STANDIN_NVML=gpus=2 STANDIN_PM_CHIPS=GH100,GA102 metrics two --gpu-metrics-frequency=2000 sleep 1.5
check 'two GPUs, as readers of these tables ask for them' rows two "$R" 500000
STANDIN_DEVICES=2 SL_STANDIN_NVML=gpus=2 STANDIN_CUPTI_VERSION=24 metrics mixed sleep 1
is "$(q "$R" "SELECT count(DISTINCT typeId) || ' ' || group_concat(source, ' ') FROM (SELECT typeId, source FROM SL_GPU_METRIC_SETS ORDER BY source)")" \
	'2 gpm pm' 'CUPTI of CUDA 12.6 samples one of two GPUs'
is "$(line | grep -c 'CUPTI before CUDA 12.8 mixes the samples of several GPUs up')" 1 'the line states why CUPTI of CUDA 12.6 samples one GPU'

STANDIN_DEVICES=8 SL_STANDIN_NVML=gpus=8 metrics eight sleep 1
is "$(line | grep -c 'are more than the report takes: 1562 Hz')/$(q "$R" 'SELECT count(*), max(realHz) < 1600, count(reason) FROM SL_GPU_METRIC_SETS')" \
	'1/8|1|8' 'eight GPUs get the rate that the report takes, and one line states it' || diag <err

# ---- what is in the way: one line with what can be done, GPM instead, the program as it was ----
instead() { # NAME MOOD TEXT [VARIABLE=VALUE...]
	instead_name=$1 mood=$2 text=$3
	shift 3
	env "$@" SL_STANDIN_PM="$mood" "$BIN" profile -f true -o "$W/instead" -t none --gpu-metrics-devices=all sh -c 'sleep 0.6; echo done; exit 7' >out 2>err
	is "$?/$(cat out)" 7/done "$instead_name: the program runs as it would"
	is "$(line | wc -l)/$(line | grep -c "GPU 0: hardware metrics come from GPM, .*$text")" 1/1 "$instead_name: one line" || diag <err
	is "$(q "$W/instead.sqlite" "SELECT source || ' ' || (reason LIKE 'PM sampling: %') FROM SL_GPU_METRIC_SETS")" 'gpm 1' "$instead_name: GPM instead, and why"
}
instead 'no permission' denied 'the driver permits it to administrators only: ' A=
instead 'no permission in a container' denied 'start the container with --cap-add=PERFMON' KUBERNETES_SERVICE_HOST=x
instead 'no permission to ask' denied-early 'the driver permits it to administrators only: ' A=
instead 'taken' held=7 'another profiler ' A=
instead 'a virtual GPU' vgpu 'virtual GPUs (vGPU) cannot be sampled' A=
instead 'no libcupti' '' '/nowhere/libcupti.so.13: no such file' SIGHTLINE_CUPTI=/nowhere/libcupti.so.13
instead 'an old libcupti' '' 'is older than CUDA 12.6' STANDIN_CUPTI_VERSION=22
instead 'a libcupti alone' nochip 'has no libnvperf_host.so beside it' A=

# NVIDIA's own, on a driver that it cannot use.
for v in 12.8/metrics/libcupti.so.12 13.5/metrics/libcupti.so.13; do
	if [ -f "$B/toolkits/$v" ]; then
		instead "NVIDIA's $v" '' "CUPTI's profiler does not start" SIGHTLINE_CUPTI="$B/toolkits/$v" STANDIN_EXPORTS=1
	else
		skip "NVIDIA's $v" 'PyPI was not reached'
	fi
done

# Without a word on where libcupti is: the newest that works, of toolkits and of wheels.
mkdir -p cuda/lib64 venv/lib/python3.12/site-packages/nvidia/cu13/lib
cp "$STANDIN/libcupti.so.12" cuda/lib64
cp "$STANDIN/libcupti.so.13" venv/lib/python3.12/site-packages/nvidia/cu13/lib
found() { # VARIABLE=VALUE...
	env -u SIGHTLINE_CUPTI PATH=/usr/bin:/bin HOME=/nowhere "$@" "$BIN" profile -f true -o "$W/found" -t none --gpu-metrics-devices=all sleep 0.4 >out 2>err
	q "$W/found.sqlite" 'SELECT source FROM SL_GPU_METRIC_SETS'
}
is "$(found CUDA_HOME="$W/cuda" VIRTUAL_ENV="$W/venv")" pm 'libcupti is found in wheels'
if ls /usr/local/cuda*/lib64/libcupti.so* /opt/cuda /usr/lib/*/libcupti.so* >/dev/null 2>&1; then
	skip 'a libcupti that is too old is reported' 'a toolkit is installed'
else
	is "$(found CUDA_HOME="$W/cuda")/$(line | grep -c "$W/cuda/lib64/libcupti.so.12 does not work with this driver, is older than CUDA 12.6")" gpm/1 \
		'a libcupti that is too old is reported' || diag <err
fi

# sl-gpu with capabilities of its own loads nothing that its user may have written.
cp "$B/sl-gpu" capable
if [ "$(id -u)" -eq 0 ] && setcap cap_perfmon+ep capable 2>/dev/null; then
	nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@" >out 2>&1; }
	mkdir own && cp "$STANDIN/libcupti.so.13" own && chmod -R a+rX own && chown -R 65534 own
	nobody "$W/capable" try-cupti "$W/own/libcupti.so.13"
	is "$?/$(wc -c <out)" 1/0 'sl-gpu with capabilities loads no library that is not of root'
	setcap -r capable
	nobody "$W/capable" try-cupti "$W/own/libcupti.so.13"
	is "$?/$(wc -c <out)" 0/4 'sl-gpu without capabilities loads a library of its user'
else
	skip 'sl-gpu with capabilities loads no library that is not of root' 'setcap does not work here'
fi

# One that samples already, of this machine: it is found by its name.
mkdir lock
export STANDIN_PM_LOCK="$W/lock"
"$BIN" profile -f true -o first -t none --gpu-metrics-devices=all sh -c ': >started; exec sleep 60' >/dev/null 2>&1 &
first=$!
wait_for 10 test -e started
metrics second sleep 0.6
is "$(line | grep -c 'GPU 0: hardware metrics come from GPM, .*another profiler holds GPU 0: sl-gpu (PID [0-9]*): end it')" 1 \
	'a second sampler names the first, and takes GPM' || diag <err
kill "$first"
wait "$first" 2>/dev/null
unset STANDIN_PM_LOCK
check 'the first has its rows' rows curves first.sqlite 1000

# ---- it breaks while it samples ----
breaks() { # NAME MOOD TEXT SECONDS: the program runs for so long, and on a busy machine until the line is there
	SL_STANDIN_PM=$2 "$BIN" profile -f true -o broken -t osrt --gpu-metrics-devices=all \
		sh -c 'sleep "$1"; until grep -q "$2" err || [ $((i += 1)) -gt 600 ]; do sleep 0.1; done; echo done; exit 7' - "$4" "$3" >out 2>err
	is "$?/$(cat out)" 7/done "$1: the program runs as it would"
	is "$(line | wc -l)/$(line | grep -c "$3")" 1/1 "$1: one line" || diag <err
	is "$(q broken.sqlite 'SELECT count(*) > 100 FROM GPU_METRICS')/$(q broken.sqlite 'SELECT count(*) > 5 FROM OSRT_API')" 1/1 "$1: the rest is there"
	is "$(q broken.sqlite 'SELECT count(*) FROM SL_GPU_METRIC_GAPS WHERE end - start > 100000000')" 1 "$1: what is missing is a gap"
}
breaks 'CUPTI crashes' crash=3 'sl-gpu was killed by signal 11 .*; the recording goes on' 1.5
breaks 'CUPTI hangs' hang=3 'sl-gpu gave no sign of life for 2.0 s and was ended; the recording goes on' 2
breaks 'the GPU is lost' lost=400 'hardware metrics come from GPM, .*: its samples cannot be read any more: .*999' 1.5

# ---- lists, names that are not known, files ----
"$BIN" profile --gpu-metrics-set=help >out 2>err
is "$?$(cat err)" 0 'sets can be listed'
is "$(sed -n '1p;/gh100/p;$p' out)" "Possible --gpu-metrics-set values are:
    gh100        : General Metrics for NVIDIA GH100 (any frequency)
    gh100-nvlink : General Metrics, NVLink by kind of packet, for NVIDIA GH100 (any frequency)
    gh100-full   : General Metrics, bytes and pipes for NVIDIA GH100 (any frequency)
    file:<file name> : use metric set from a given file" 'the list of sets has the form of nsys'
STANDIN_DEVICES=2 SL_STANDIN_NVML=gpus=2 STANDIN_PM_CHIPS=GH100,GA102 "$BIN" profile --gpu-metrics-devices=help >out 2>err
is "$?$(cat err)" 0 'GPUs can be listed'
is "$(cat out)" "Possible --gpu-metrics-devices values are:
    0: GH100 | Stand-in H100 PCI[0000:10:00.0]
    1: GA102 | Stand-in H100 PCI[0000:11:00.0]
    all: Select all supported GPUs
    cuda-visible: Select GPUs that match CUDA_VISIBLE_DEVICES
    none: Disable GPU Metrics [Default]" 'the list of GPUs has their chips'
metrics set --gpu-metrics-set=ga100 sleep 0.5
is "$(line)/$(q "$R" 'SELECT setName FROM SL_GPU_METRIC_SETS')" \
	'sightline: GPU 0: ga100 is a set of another chip than GH100: gh100 instead/gh100' "a set of another chip is replaced"

printf 'SMs Active [Throughput %%]\nL2 bytes [Bytes] = lts__t_bytes.sum\nsm__cycles_activ.avg\n' >list
metrics own --gpu-metrics-set="file:$W/list" sleep 0.5
is "$(line)" 'sightline: GPU 0 (GH100): sm__cycles_activ.avg is not sampled: unknown (there is sm__cycles_active, gr__cycles_active)' \
	'a metric that the chip does not have is one line, with those that are near'
is "$(q "$R" 'SELECT metricName FROM TARGET_INFO_GPU_METRICS ORDER BY metricId')" "SMs Active [Throughput %]
L2 bytes [Bytes]" 'metrics that the chip has are sampled'
printf 'SMs Active [Throughput %%]\nSMs busy\n' >list
metrics wrong --gpu-metrics-set="file:$W/list" sh -c 'exit 5'
is "$?/$(line | wc -l)/$(line | grep -c "$W/list:2: neither the name of a metric of sets nor one of CUPTI's")" 5/1/1 \
	'a bad line of a file is one line, and the rest is recorded' || diag <err
done_testing

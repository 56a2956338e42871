#!/bin/sh
# The forwarder of GPU libraries: arguments, results, exceptions and longjmp pass through it unchanged, and each call
# that returned is one row with what it was called with.
# shellcheck disable=SC2016,SC2086
. tests/lib.sh

mkdir libs
cp "$PROG/lib/abi_cudart.so" libs/libcudart.so.13
cp "$PROG/lib/abi_cudnn.so" libs/libcudnn.so.9
"$PROG/gpu_abi" libs >want 2>&1
is $? 0 'the program works untraced'

for kinds in cuda cudnn cuda,cudnn osrt,cuda,cudnn none; do
	profile "k$kinds" -t $kinds "$PROG/gpu_abi" libs >got 2>err
	is "$?$(grep -v '^sightline: ' err)" 0 "-t $kinds: works"
	check "-t $kinds: same output" cmp want got
done
SIGHTLINE_OPTIONS='-t cuda,cudnn' bare preloaded "$PROG/gpu_abi" libs >got 2>err
check 'preloaded alone: same output' cmp want got

profile rows -t cuda,cudnn --cpuctxsw=none "$PROG/gpu_abi" libs >got 2>err
api() {
	q "$R" "SELECT group_concat(value || ' ' || n, ',') FROM (SELECT value, count(*) n FROM $1 JOIN StringIds ON id = nameId
		GROUP BY 1 ORDER BY 1)" 2>&1
}
# Five calls of cudaDeviceSynchronize, two of which never returned.
is "$(api CUPTI_ACTIVITY_KIND_RUNTIME)" \
	'cudaDeviceSynchronize 2,cudaFree 1,cudaLaunchKernel 1,cudaMalloc 1,cudaMalloc3D 1,cudaMemcpy2DArrayToArray 1,cudaMemcpyAsync 1' \
	'each call that returned is a row'
is "$(api CUDNN_EVENTS)" 'cudnnSetActivationDescriptor 4,cudnnSetDropoutDescriptor 1' 'cuDNN, loaded four times, has each of its calls once'
is "$(q "$R" "SELECT returnValue FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId WHERE value = 'cudaFree'" 2>&1)" 17 \
	'the call that failed has its result'

# ---- names that take other arguments from one version to another ----
arguments() {
	q "$R" "SELECT group_concat(t, '; ') FROM (SELECT name || ' ' || group_concat(word, ' ') AS t FROM
		(SELECT s.value AS name, e.name || '=' || a.value AS word FROM CUPTI_ACTIVITY_KIND_RUNTIME r
			JOIN StringIds s ON s.id = r.nameId JOIN SL_GPU_ARGUMENTS a ON a.callId = r.correlationId
			JOIN ENUM_SL_GPU_ROLE e ON e.id = a.role WHERE e.name IN ('stream', 'graph', 'count', 'flags', 'device')
				OR (e.name = 'bytes' AND s.value = 'cudaMemcpyBatchAsync')
			ORDER BY s.value, a.position) GROUP BY name ORDER BY name)" 2>&1
}
update='cudaGraphExecUpdate graph=8704 graph=8704'
two='graph=8704 graph=8704' # 0x2200; streams are 0x1100
copy='cudaMemcpyBatchAsync count=7 bytes=127 stream=4352' # the sum of seven
capture='cudaStreamGetCaptureInfo stream=4352; cudaStreamUpdateCaptureDependencies stream=4352 count=7 flags=3'
dependencies='cudaGraphAddDependencies graph=8704 count=7'
for version in 11.0 12 13; do
	cp "$PROG/lib/abi_cudart_${version%.0}.so" "libs/libcudart.so.$version"
	case $version in
	11.0) want="$dependencies; $update; cudaGraphInstantiate $two; cudaMemAdvise device=5; cudaMemPrefetchAsync device=5 stream=4352; $copy; $capture" ;;
	12) want="$dependencies; $update; cudaGraphInstantiate $two flags=3; cudaMemAdvise device=5; cudaMemPrefetchAsync device=5 stream=4352; $copy; $capture" ;;
	13) want="$dependencies; $update; cudaGraphInstantiate $two flags=3; cudaMemPrefetchAsync flags=3 stream=4352; $copy; $capture" ;;
	esac
	profile "v$version" -t cuda "$PROG/gpu_versions" "$PWD/libs/libcudart.so.$version" >got 2>err
	is "$?$(grep -c ok got)$(grep -c WRONG got)" 080 "runtime $version: arguments arrive"
	is "$(arguments)" "$want" "runtime $version: the right ones are recorded"
done
# A wheel's, renamed; and one that does not say which it is has the newest's.
cp "$PROG/lib/abi_cudart_12.so" libs/libcudart-8774224f.so.12
profile wheel -t cuda "$PROG/gpu_versions" "$PWD/libs/libcudart-8774224f.so.12" >got 2>err
is "$(arguments | grep -o 'cudaMemAdvise [^;]*')" 'cudaMemAdvise device=5' "a wheel's runtime 12"
done_testing

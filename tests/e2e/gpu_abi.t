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
is "$(api CUDNN_EVENTS)" 'cudnnSetActivationDescriptor 4,cudnnSetDropoutDescriptor 1' 'likewise of cuDNN, loaded four times'
is "$(q "$R" "SELECT returnValue FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId WHERE value = 'cudaFree'" 2>&1)" 17 \
	'with its result'
done_testing

#!/bin/sh
# Which libcupti: of those that are there the one that fits the driver and the program; where one does not work the next; and
# the report names what was chosen, and what not.
# shellcheck disable=SC2086
. tests/lib.sh
GPU=$B/tests/gpu
STANDIN=$B/tests/standin
[ -f "$STANDIN/libcupti.so.13" ] || skip_all 'the stand-ins are not built'
[ -d /usr/local/cuda ] && skip_all 'a toolkit in /usr/local/cuda comes in between'
unset SIGHTLINE_CUPTI CUDA_HOME CUDA_PATH LD_LIBRARY_PATH
# The runtimes and the driver without a libcupti beside them.
mkdir bare
for l in libcuda.so.1 libcudart.so.12 libcudart.so.13; do ln -s "$STANDIN/$l" bare/; done
folder() { # FOLDER NAME=STANDIN...
	mkdir -p "$1"
	for pair in $2; do cp "$STANDIN/libcupti.so.${pair#*=}" "$1/${pair%%=*}"; done
}

finds() { # NAME WANTED VARIABLE=VALUE... PROGRAM [ARG...]: as the report has it
	name=$1 wanted=$2
	shift 2
	profile found -t cuda env LD_LIBRARY_PATH="$W/bare" "$@" >out 2>err
	is "$?" 0 "$name: runs" || diag <err
	is "$(q "$R" "SELECT replace(text, '$W/', '') FROM DIAGNOSTIC_EVENT WHERE text LIKE 'CUPTI of CUDA %(%' OR text LIKE '%older than CUDA%' OR text LIKE 'No usable%'")" \
		"$wanted" "$name"
}

# ---- of one folder ----
folder many/lib64 'libcupti.so.13=13 libcupti.so.12=12 libcupti.so.11.8=11.8'
finds 'libcupti beside the runtime' 'CUPTI of CUDA 12.4 (API 22), many/lib64/libcupti.so.12' CUDA_HOME="$W/many" "$GPU/train_12"
finds 'libcupti as new as the driver' 'CUPTI of CUDA 12.4 (API 22), many/lib64/libcupti.so.12' CUDA_HOME="$W/many" STANDIN_DRIVER_VERSION=12040 "$GPU/train"
finds 'libcupti for the old driver' 'CUPTI of CUDA 11.8 (API 18), many/lib64/libcupti.so.11.8' CUDA_HOME="$W/many" STANDIN_DRIVER_VERSION=11080 "$GPU/train_12"
finds 'libcupti of another runtime' 'CUPTI of CUDA 13.0 (API 130001), many/lib64/libcupti.so.13' CUDA_HOME="$W/many" "$GPU/train"
folder minor/lib64 'libcupti.so.11.2=12 libcupti.so.11.10=11.8 libcupti.so.11.8=12'
finds 'the higher of two minor versions' 'CUPTI of CUDA 11.8 (API 18), minor/lib64/libcupti.so.11.10' CUDA_HOME="$W/minor" "$GPU/train_12"
folder years/lib64 'libcupti.so.2022.3.0=13 libcupti.so.2024.1.1=12'
finds 'the later of two years of libcupti' 'CUPTI of CUDA 12.4 (API 22), years/lib64/libcupti.so.2024.1.1' CUDA_HOME="$W/years" "$GPU/train_12"

# ---- one that does not work: by its name it could be of any version ----
folder plain/lib64 'libcupti.so=13'
folder twelve/lib64 'libcupti.so.12=12'
finds 'the next libcupti' 'CUPTI of CUDA 12.4 (API 22), twelve/lib64/libcupti.so.12; plain/lib64/libcupti.so does not work with this driver' \
	CUDA_HOME="$W/plain" CUDA_PATH="$W/twelve" STANDIN_DRIVER_VERSION=12040 "$GPU/train_12"
check 'the next: kernels are recorded' [ "$(q "$R" 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL')" -gt 0 ]
folder thirteen/lib64 'libcupti.so.13=13'
finds 'no libcupti works' "CUPTI of CUDA 13.0 does not work with this machine's NVIDIA driver (CUPTI_ERROR_NOT_INITIALIZED; too old, or none): kernels, copies and what else the GPU did are not recorded, calls are; update the driver, or set SIGHTLINE_CUPTI to an older libcupti (CUPTI's error 15)" \
	CUDA_HOME="$W/thirteen" STANDIN_DRIVER_VERSION=12040 "$GPU/train_12"
finds 'asked for: no other' "CUPTI of CUDA 13.0 does not work with this machine's NVIDIA driver (CUPTI_ERROR_NOT_INITIALIZED; too old, or none): kernels, copies and what else the GPU did are not recorded, calls are; update the driver, or set SIGHTLINE_CUPTI to an older libcupti (CUPTI's error 15)" \
	SIGHTLINE_CUPTI="$W/thirteen/lib64/libcupti.so.13" CUDA_HOME="$W/twelve" STANDIN_DRIVER_VERSION=12040 "$GPU/train_12"

# ---- the program has loaded one ----
finds 'the one that the program has loaded' \
	'CUPTI of CUDA 12.4 (API 22), twelve/lib64/libcupti.so.12; the program has loaded it, so SIGHTLINE_CUPTI is not used' \
	LD_PRELOAD="$W/twelve/lib64/libcupti.so.12" SIGHTLINE_CUPTI="$W/thirteen/lib64/libcupti.so.13" "$GPU/train_12"
finds 'the one that the program has loaded does not work' "CUPTI of CUDA 13.0 does not work with this machine's NVIDIA driver (CUPTI_ERROR_NOT_INITIALIZED; too old, or none): kernels, copies and what else the GPU did are not recorded, calls are; update the driver, or the program itself loads this one: have it load an older libcupti (CUPTI's error 15)" \
	LD_PRELOAD="$W/thirteen/lib64/libcupti.so.13" SIGHTLINE_CUPTI="$W/twelve/lib64/libcupti.so.12" STANDIN_DRIVER_VERSION=12040 "$GPU/train_12"

# ---- a program of Python, with a runtime of the system's: what its packages will load has the same name ----
folder system/lib64 'libcupti.so.12=12'
cp "$STANDIN/libcudart.so.12" system/lib64/
folder venv/site-packages/nvidia/cuda_cupti/lib 'libcupti.so.12=12'
mkdir -p venv/site-packages/some
cp "$B/libtrace-cuda.so" venv/site-packages/some/module.so
finds 'libcupti of the packages' 'CUPTI of CUDA 12.4 (API 22), venv/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12' \
	LD_LIBRARY_PATH="$W/system/lib64:$W/bare" LD_PRELOAD="$W/venv/site-packages/some/module.so" "$GPU/train_12"
done_testing

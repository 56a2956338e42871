#!/bin/sh
# NVIDIA's own libraries of several CUDA versions (TOOLKITS='FOLDER ...'; else those that `make toolkits` has unpacked; 13.0
# is there without), on the
# stand-in driver: runtimes bind through the shim's hooks and are refused as they are untraced, CUPTI reports once that it
# does not work and does no harm, and NVTX of that version has the program's ranges. Where there is none, nothing is tested.
# shellcheck disable=SC2016,SC2086
. tests/lib.sh
STANDIN=$B/tests/standin
GPU=$B/tests/gpu
[ -f "$STANDIN/libcuda.so.1" ] || skip_all 'the stand-ins are not built'
unset NVTX_INJECTION64_PATH SIGHTLINE_CUPTI LD_LIBRARY_PATH
mkdir driver
ln -s "$STANDIN/libcuda.so.1" driver/
[ "${TOOLKITS-}" ] || TOOLKITS=$KIT
if [ "$TOOLKITS" = "$B/toolkits/13.0" ]; then
	TOOLKITS=$(ls -d "$B"/toolkits/*/lib/libcudart.so 2>/dev/null | sort -V | sed 's|/lib/libcudart.so$||')
fi

compile() { # OUTPUT SOURCE OPTION...
	to=$1 from=$2
	shift 2
	case $1 in
	c++) shift && ${CXX:-c++} -w -O1 -isystem "$kit/include" -x c++ "$from" -x none -o "$to" "$@" -ldl -lrt -lpthread ;;
	*) ${CC:-cc} -w -O1 -isystem "$kit/include" "$from" -o "$to" "$@" -ldl -lpthread ;;
	esac
}
# The first of the files that is there.
first() {
	for f in "$@"; do
		[ -e "$f" ] && echo "$f" && return
	done
}
# What CUPTI does not do here is reported once, on stderr and in the report.
told_once() {
	is "$(grep -c "^sightline: CUPTI of CUDA .* does not work with this machine's NVIDIA driver" err)/$(grep -v '^sightline: ' err)" 1/ \
		"$1: there is one message"
	is "$(q "$R" "SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE severity > 1 AND text LIKE 'CUPTI of CUDA % does not work%'" 2>&1)" 1 \
		"$1: the report has the message once"
}

binding() { # NAME PROGRAM
	env LD_LIBRARY_PATH="$W/driver:$libs" "$2" >want 2>want.err
	is "$(sort -u want | tr '\n' ' ')" 'count 801 malloc 801 ' "$1: refused untraced"
	profile binding -t cuda env LD_LIBRARY_PATH="$W/driver:$libs" "$2" >got 2>err
	check "$1: refused in the same way" cmp want got
	told_once "$1"
	# Counting GPUs initializes the driver. To subscribe after that ends the program here.
	profile early -t cuda env LD_LIBRARY_PATH="$W/driver:$libs" SIGHTLINE_CUPTI="$STANDIN/libcupti.so.13" STANDIN_CUPTI_EARLY=1 "$2" >got 2>err
	check "$1: the same where CUPTI works" cmp want got
	is "$(q "$R" "SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE text LIKE 'CUPTI of CUDA %'")" 1 "$1: CUPTI is there before cuInit"
}
runtime() {
	if compile shared "$TOP/tests/gpu/binding.cu" c++ "$runtime" 2>cc.err; then
		binding "$version, shared runtime" ./shared
		is "$(q "$R" "SELECT s.value || ' ' || r.returnValue FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN StringIds s ON s.id = r.nameId
			WHERE s.value LIKE 'cudaMalloc%' ORDER BY r.start" 2>&1 | tr '\n' ' ')" 'cudaMalloc 801 cudaMalloc 801 ' \
			"$version, shared runtime: its calls are rows, with the error"
	else
		skip "$version, shared runtime" "not built: $(head -1 cc.err)"
	fi
	static=$(first "$libs/libcudart_static.a" "$kit/lib64/libcudart_static.a")
	if [ "$static" ] && compile static "$TOP/tests/gpu/binding.cu" c++ "$static" 2>cc.err; then
		binding "$version, static runtime" ./static
		is "$(q "$R" "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN StringIds s ON s.id = r.nameId WHERE s.value = 'cuInit'")" 1 \
			"$version, static runtime: what it asks of the driver is seen"
	else
		skip "$version, static runtime" 'no libcudart_static.a, or not built'
	fi
}

cupti() { # LIBRARY
	for program in train train_12 train_static driver; do
		env LD_LIBRARY_PATH="$STANDIN" "$GPU/$program" >want 2>&1
		profile cupti -t cuda env LD_LIBRARY_PATH="$STANDIN" SIGHTLINE_CUPTI="$1" "$GPU/$program" >got 2>err
		is "$?" 0 "$version, CUPTI beside $program: runs"
		check "$version, CUPTI beside $program: same output" cmp want got
		told_once "$version, CUPTI beside $program"
		is "$(q "$R" 'SELECT count(*) > 10 FROM CUPTI_ACTIVITY_KIND_RUNTIME')" 1 "$version, CUPTI beside $program: calls are rows"
	done
}

marks() { # NAME PROGRAM
	profile marks -t nvtx env LD_LIBRARY_PATH="$libs" "$2" >told 2>err
	is "$?$(grep -v '^sightline: ' err)" 0 "$version, $1: runs"
	is "$(q "$R" "SELECT eventType, coalesce(d.text, '-'), coalesce(e.text, value), e.end IS NULL, coalesce(e.jsonText, '')
		FROM (SELECT * FROM NVTX_EVENTS) e LEFT JOIN StringIds ON id = textId
		LEFT JOIN (SELECT domainId AS dom, text FROM NVTX_EVENTS WHERE eventType = 75) d ON d.dom = e.domainId
		ORDER BY e.start, e.eventId")" "$(cat told)" "$version, $1: what the program says it did"
	is "$(grep -c '^[0-9]' told | sed 's/[5-9]/enough/')" enough "$version, $1: the program says that it did five things or more"
}
nvtx() {
	real=$TOP/tests/prog/nvtx_real.c
	if [ ! -f "$kit/include/nvtx3/nvToolsExt.h" ]; then
		skip "$version, NVTX 3" 'no headers'
	else
		compile nvtx3_c "$real" -I"$TOP" && marks 'NVTX 3 in C' ./nvtx3_c
		compile nvtx3_cc "$real" c++ -I"$TOP" && marks 'NVTX 3 in C++' ./nvtx3_cc
		# No library goes into a static program. It runs as it did.
		if compile nvtx3_static "$real" -static 2>/dev/null; then
			./nvtx3_static >want
			profile marks -t nvtx ./nvtx3_static >told 2>err
			is "$?$(cat told)" "0$(cat want)" "$version, NVTX 3 in a static program: runs as untraced"
		fi
	fi
	two=$(first "$libs/libnvToolsExt.so")
	if [ "$two" ] && [ -f "$kit/include/nvToolsExt.h" ]; then
		compile nvtx2_c "$real" -DNVTX_TWO -DNVTX_SUPPRESS_V2_DEPRECATION_WARNING "$two" && marks 'NVTX 2 in C' ./nvtx2_c
		compile nvtx2_cc "$real" c++ -DNVTX_TWO -DNVTX_SUPPRESS_V2_DEPRECATION_WARNING "$two" && marks 'NVTX 2 in C++' ./nvtx2_cc
	fi
}

found=
for kit in $TOOLKITS; do
	[ -f "$kit/include/cuda.h" ] || continue
	version="CUDA $(awk '/#define CUDA_VERSION/ { printf "%d.%d", $3 / 1000, $3 % 1000 / 10 }' "$kit/include/cuda.h")"
	runtime=$(first "$kit/lib64/libcudart.so" "$kit/lib/x86_64-linux-gnu/libcudart.so" "$kit/lib/libcudart.so")
	libs=$(dirname "${runtime:-$kit/lib64/none}")
	found=1
	if [ "$runtime" ]; then runtime; else skip "$version, runtime" 'not there'; fi
	at=$(first "$libs"/libcupti.so.*[0-9] "$kit"/extras/CUPTI/lib64/libcupti.so.*[0-9])
	if [ "$at" ]; then cupti "$at"; else skip "$version, CUPTI" 'not there'; fi
	nvtx
done
[ "$found" ] || skip_all 'no CUDA toolkit (TOOLKITS, CUDA_HOME)'
done_testing

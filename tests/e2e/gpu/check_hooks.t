#!/bin/sh
# The tables of GPU functions and of CUPTI against versions of CUDA that are unpacked in build/toolkits (headers, from PyPI):
# complete, of the same prototypes, offsets and numbers.
. tests/lib.sh
CHECK="$TOP/scripts/check-hooks"

# ---- without a toolkit ----
mkdir -p tree/scripts tree/preload
cp "$TOP"/scripts/check-hooks "$TOP"/scripts/gpu-table "$TOP"/scripts/gpu_*.py tree/scripts/
cp -r "$TOP/preload/gpu" "$TOP/preload/cupti" tree/preload/
cp -r "$TOP/preload/wire" tree/preload/
sed -i 's|"/usr/local/cuda", "/usr"|"/nowhere"|' tree/scripts/gpu-table
check 'check-hooks states that there is no toolkit' sh -c 'said=$(CUDA_HOME= sh "$0"); [ $? -eq 0 ] && echo "$said" | grep "no CUDA toolkit" && [ "$(echo "$said" | wc -l)" -eq 1 ]' tree/scripts/check-hooks

# ---- with one that is made up: what may be wrong is found, in the version that it concerns ----
toolkit() { # FOLDER MAJOR DECLARATIONS DEFINITIONS
	mkdir -p "$1/include" "$1/lib64"
	printf '#define CUDA_VERSION %s000\ntypedef void *CUstream;\n' "$2" >"$1/include/cuda.h"
	: >"$1/include/vector_types.h"
	cat >"$1/include/cuda_runtime_api.h" <<-'END'
		#include "cuda.h"
		#include <stddef.h>
		typedef struct { unsigned x, y, z; } dim3; typedef struct { float x, y; } float2; typedef struct { double x, y; } double2;
		int cudaFree(void *p);
	END
	printf '%s\n' "$3" >>"$1/include/cuda_runtime_api.h"
	printf 'int cudaFree(void *p) { return 0; }\nint cudaMemAdvise(void) { return 0; }\n%s\n' "$4" >made.c
	${CC:-cc} -w -shared -fPIC -Wl,-soname,"libcudart.so.$2" -o "$1/lib64/libcudart.so" made.c
}
says() { # NAME STATUS TEXT COMMAND...
	name=$1 want=$2 text=$3
	shift 3
	"$@" >said 2>&1
	is "$?/$(grep -c "$text" said)" "$want/1" "$name" || diag <said
}
hooks() {
	sh tree/scripts/check-hooks "$@"
}
old='int cudaMemAdvise(const void *p, size_t n, int advice, int device);'
new='struct place { int type, id; }; int cudaMemAdvise(const void *p, size_t n, int advice, struct place where);'
toolkit kit12 12 "$old"
toolkit kit13 13 "$new"
toolkit odd13 13 "$old"
toolkit more13 13 "$new" 'int cudaBrandNew(void) { return 0; }'
says 'tables agree with an older toolkit by its lines' 0 'cudart: 2 functions.*: 2 agree' hooks -t "$PWD/kit12" cudart
says 'tables agree with the newest toolkit' 0 'cudart: 2 functions.*: 2 agree' hooks -t "$PWD/kit13" cudart
says 'several toolkits are compared at once' 0 'CUDA 12.0 in' hooks -t "$PWD/kit12" -t "$PWD/kit13" cudart
says 'a prototype that the version does not have' 1 'cudaMemAdvise: the table says "ipzi1", the header "ipzii"' \
	hooks -t "$PWD/kit12" -t "$PWD/odd13" cudart
says 'a function without a line' 1 'cudaBrandNew: missing' hooks -t "$PWD/more13" cudart
# What only the names of a library are there of.
cp -r more13 names13
nm -D --defined-only names13/lib64/libcudart.so >names13/lib64/libcudart.so.13.names
rm names13/lib64/libcudart.so
says 'a function without a line, where only the names are there' 1 'cudaBrandNew: missing' hooks -t "$PWD/names13" cudart
cp -r kit13 driver13
grep typedef kit13/include/cuda_runtime_api.h >driver13/include/vector_types.h
echo 'int cuBrandNew(void *stream, unsigned long long n); int cuInit(unsigned flags);' >>driver13/include/cuda.h
says 'a function of the driver, which has no package' 1 'cuda: cuBrandNew: missing, "ipz"' hooks -t "$PWD/driver13" cuda
says 'a folder that is no toolkit' 1 'no include/cuda.h' hooks -t "$PWD" cudart
says 'an option that there is not' 1 'gpu-table check' hooks --toolkit x

# ---- with one ----
cp "$TOP"/scripts/gpu-table tree/scripts/
CUDA_HOME=$KIT
export CUDA_HOME
sh "$CHECK" >said 2>&1
status=$?
if grep -q 'nothing compared' said; then
	skip 'the tables agree with the toolkit' 'there is no CUDA toolkit: PyPI could not be reached (scripts/toolkits)'
	done_testing
fi
result $status 'the tables agree with the toolkit' || diag <said

# ---- with the oldest version, the newest, and every fourth between them; `make check-hooks` and CI compare with all ----
# Versions of which only headers are there have the names that their libraries export.
kits=$(ls -d "$B"/toolkits/*/include 2>/dev/null | sort -V | sed -n '1~4p;$p' | sort -uV | sed 's|^|-t |; s|/include$||')
# shellcheck disable=SC2086
if [ "$(echo "$kits" | wc -l)" -gt 1 ]; then
	sh "$CHECK" $kits cudart cuda cupti >said 2>&1
	result $? 'the tables agree with versions from the oldest to the newest' || diag <said
	is "$(grep -c ': .* agree with the headers' said)" "$((3 * $(echo "$kits" | wc -l)))" 'three libraries of each version are compared'
else
	skip 'the tables agree with versions from the oldest to the newest' 'there are no headers of other versions: PyPI could not be reached (scripts/toolkits)'
fi

# The same check finds what is wrong. Each line: what to do to a table, what it must say.
finds() { # NAME TABLE SED-SCRIPT TEXT
	cp "$TOP/preload/gpu/tables/$2.def" tree/preload/gpu/tables/
	sed -i "$3" "tree/preload/gpu/tables/$2.def"
	sh tree/scripts/check-hooks "$2" >said 2>&1
	is "$?/$(grep -c "$4" said)" 1/1 "$1" || diag <said
	cp "$TOP/preload/gpu/tables/$2.def" tree/preload/gpu/tables/
}
finds 'a function missing in a table is found' cudart '/^GPU(cudaMalloc,/d' 'cudart: cudaMalloc: missing, "ipz"'
finds 'a wrong prototype in a table is found' cudart 's/^GPU(cudaMalloc, "ipz"/GPU(cudaMalloc, "ipi"/' \
	'cudart: cudaMalloc: the table says "ipi", the header "ipz"'
finds 'a wrong prototype of an older version is found' cudart 's/^OLDER(cudaMemAdvise, 12, "ipzii"/OLDER(cudaMemAdvise, 99, "ipzii"/' \
	'cudart: cudaMemAdvise: the table says "ipzii", the header "ipzi1"'
finds 'a line that cannot be read' cudart 's/^GPU(cudaFree,/GPU(cudaFree/' 'cudart.def:[0-9]*: not a line of a table'

# ---- CUPTI ----
sh "$CHECK" cupti >said 2>&1
if grep -q 'not compared' said; then
	skip 'records of CUPTI' 'no cupti.h'
	done_testing
fi
finds_cupti() { # NAME FILE SED-SCRIPT TEXT
	sed -i "$3" "tree/preload/cupti/$2"
	says "$1" 1 "$4" sh tree/scripts/check-hooks cupti
	cp "$TOP/preload/cupti/$2" tree/preload/cupti/
}
finds_cupti 'a field that lies elsewhere' layout.def 's/^FIELD(KERNEL, device,             40/FIELD(KERNEL, device,             44/' \
	'cupti: offset of Kernel10.deviceId: 40, not 44'
finds_cupti 'a structure of another version' layout.def 's/^STRUCT(MEMSET,     17,  88, Memset4)//' \
	'cupti: MEMSET: layout.def says CUpti_ActivityMemset3, the headers have CUpti_ActivityMemset4'
finds_cupti 'a wrong number of CUPTI is found' api.h 's/CUPTI_TAKEN = 39/CUPTI_TAKEN = 38/' 'CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED: 39, not 38'
finds_cupti 'a wrong number of a query is found' queries.def 's/^QUERY(DRIVER,  304,/QUERY(DRIVER,  305,/' 'CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent: 304, not 305'
finds_cupti 'a number that this version has given to another call' queries.def 's/^QUERY(DRIVER,  304, cuCtxGetCurrent)/QUERY(DRIVER,  304, cuOfLater)/' \
	'cupti: CUPTI_DRIVER_TRACE_CBID_cuOfLater: 304 is cuCtxGetCurrent in these headers'
finds_cupti 'a kind that there is not' layout.def 's/^KIND(RUNTIME, /KIND(RUNTIMES, /' 'cupti: CUPTI_ACTIVITY_KIND_RUNTIMES: not in these headers'
finds_cupti 'an older structure of another size' layout.def 's/^STRUCT(KERNEL,     17, 176, /STRUCT(KERNEL,     17, 180, /' 'CUpti_ActivityKernel7: 176, not 180'
finds_cupti 'wrong parameters of a CUPTI function are found' functions.def 's/(0, GetTimestamp, (uint64_t \*now))/(0, GetTimestamp, (uint64_t now))/' \
	'cuptiGetTimestamp: functions.def says "iz", the header "ip"'
done_testing

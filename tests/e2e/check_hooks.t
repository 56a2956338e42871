#!/bin/sh
# The tables of GPU functions against the CUDA toolkit that is installed here: complete, and of the same prototypes.
. tests/lib.sh
CHECK="$TOP/scripts/check-hooks"

# ---- without a toolkit ----
mkdir -p tree/scripts tree/preload
cp "$TOP"/scripts/check-hooks "$TOP"/scripts/gpu-table "$TOP"/scripts/gpu_roles.py tree/scripts/
cp -r "$TOP/preload/gpu" tree/preload/
sed -i 's|"/usr/local/cuda", "/usr"|"/nowhere"|' tree/scripts/gpu-table
check 'it says so where there is no toolkit' sh -c 'said=$(CUDA_HOME= sh "$0"); [ $? -eq 0 ] && echo "$said" | grep "no CUDA toolkit" && [ "$(echo "$said" | wc -l)" -eq 1 ]' tree/scripts/check-hooks

# ---- with one ----
cp "$TOP"/scripts/gpu-table tree/scripts/
sh "$CHECK" >said 2>&1
status=$?
if grep -q 'nothing compared' said; then
	skip 'the tables agree with the toolkit' 'no CUDA toolkit'
	done_testing
fi
result $status 'the tables agree with the toolkit' || diag <said

# The same check finds what is wrong. Each line: what to do to a table, what it must say.
finds() { # NAME TABLE SED-SCRIPT TEXT
	cp "$TOP/preload/gpu/$2.def" tree/preload/gpu/
	sed -i "$3" "tree/preload/gpu/$2.def"
	sh tree/scripts/check-hooks "$2" >said 2>&1
	is "$?/$(grep -c "$4" said)" 1/1 "$1" || diag <said
	cp "$TOP/preload/gpu/$2.def" tree/preload/gpu/
}
finds 'a missing function' cudart '/^GPU(cudaMalloc,/d' 'cudart: cudaMalloc: missing, "ipz"'
finds 'another prototype' cuda 's/^GPU(cuMemAlloc_v2, "ipz"/GPU(cuMemAlloc_v2, "ipi"/' \
	'cuda: cuMemAlloc_v2: the table says "ipi", the header "ipz"'
finds 'a line that cannot be read' cudart 's/^GPU(cudaFree,/GPU(cudaFree/' 'cudart.def:[0-9]*: not a line of a table'
done_testing

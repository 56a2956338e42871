#!/bin/sh
# Stacks of calls into CUDA and the libraries above it, on the stand-ins: which calls have one is what was asked for, each
# comes from where the call was made, and time on the GPU belongs to the launch.
# shellcheck disable=SC2086
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
STANDIN=$B/tests/standin
[ -f "$STANDIN/libcupti.so.13" ] || skip_all 'the stand-ins are not built'
LD_LIBRARY_PATH=$STANDIN${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
SIGHTLINE_CUPTI=$STANDIN/libcupti.so.13
export LD_LIBRARY_PATH SIGHTLINE_CUPTI
ALL='kernel memory sync other'

# Time on the GPU by function of the program, as it prints it, and by the innermost of them in folded stacks.
said_gpu() { awk '$1 == "gpu" { n[$2] += $3 } END { for (f in n) print f, n[f] }' said | sort; }
folded_gpu() {
	"$BIN" export -q -t folded --flame=gpu -f true -o gpu.folded "$R" >/dev/null 2>&1
	awk '{
		k = split(substr($0, 1, match($0, / [0-9]*$/) - 1), frame, ";"); place = "none"
		for (i = 1; i <= k; i++) if (frame[i] ~ /^place_/) { place = frame[i]; sub(/ .*/, "", place) }
		n[place] += $NF
	} END { for (f in n) print f, n[f] }' gpu.folded | sort
}
# Runs a program with OPTIONS; calls of the CLASSES have stacks, others none.
stacks() { # WHAT OPTIONS CLASSES SOURCE PROGRAM...
	what=$1 options=$2 classes=$3 source=$4
	shift 4
	profile stacks -t cuda,cublas,cudnn,nccl $options "$@" >said 2>err
	result $? "$what: runs" || diag <err
	check "$what: stacks are where calls were made" "$PY" "$E2E/gpu/gpu_stack_truth.py" "$R" said "$source" $classes
}
of_c() { stacks "$1" "$2" "$3" places.c "$B/tests/gpu/places"; }
of_python() { stacks "Python, $1" "$2" "$3" gpu_places.py "$PY" "$E2E/gpu/gpu_places.py"; }

# ---- of C ----
of_c 'nothing asked for' '' ''
of_c none --cudabacktrace=none ''
of_c all --cudabacktrace=all:0 "$ALL"
is "$(folded_gpu)" "$(said_gpu)" 'all: time on the GPU by function'
is "$("$BIN" stats -q -f csv -r callers_sum -o - "$R" | awk -F, '$8 == "library" && $9 == "cublasSgemm_v2" { print $3, $10 }')" \
	"3 place_gemm (places.c:$(awk '$3 == "cublasSgemm_v2" { print $5; exit }' said))" 'all: callers_sum has the callers of cuBLAS'
is "$("$BIN" stats -q -f csv -r callers_sum -o - "$R" | awk -F, '$9 == "cudaLaunchKernel" { n += $3 } END { print n }')" \
	"$(grep -c '^call kernel cudaLaunchKernel' said)" 'all: each launch has one stack'
# What takes a microsecond or more.
of_c kernel --cudabacktrace=kernel 'kernel 1000'
of_c memory --cudabacktrace=memory 'memory 1000'
of_c sync --cudabacktrace=sync:0 sync
of_c other --cudabacktrace=other:0 other
is "$(sqlite3 "$R" "SELECT count(callchainId) FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN StringIds s ON s.id = nameId WHERE value LIKE 'cudaLaunch%'")" 0 \
	'other: stacks of the libraries, not of what they launch'
of_c 'two classes' --cudabacktrace=kernel:0,sync:0 'kernel sync'
of_c 'the last word' --cudabacktrace=all:0,kernel:1000000000000 'memory sync other'
of_c 'longer than any' --cudabacktrace=kernel:1000000000000 ''
of_c 'no native frames' '--cudabacktrace=all:0 -b none' ''
# An allocation takes 100 us and more, what else is in this class less.
of_c memory:50000 --cudabacktrace=memory:50000 'memory 50000'
check 'memory:50000: of allocations' [ "$(sqlite3 "$R" "SELECT count(callchainId) FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN StringIds s ON s.id = nameId
	WHERE value LIKE 'cudaMalloc%'")" -ge 1 ]

# ---- of Python ----
of_python 'nothing asked for' '' ''
of_python --python-backtrace=cuda '--python-backtrace=cuda' "python 1000 $ALL"
of_python all '--cudabacktrace=all:0' "$ALL"
is "$(folded_gpu)" "$(said_gpu)" 'Python, all: time on the GPU by function'
is "$("$BIN" stats -q -f csv -r python_sum:function -o - "$R" | awk -F, '$4 + 0 > 0 { print $9, $4 }' | sort)" "$(said_gpu)" 'Python, all: python_sum says the same'
of_python 'kernels, both kinds of frames' '--cudabacktrace=kernel:0 --python-backtrace=cuda' kernel
of_python 'Python alone, of all' '--cudabacktrace=all:0 -b none' "python $ALL"
done_testing

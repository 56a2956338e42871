#!/bin/sh
# gpu_programs.t - programs that others wrote, on the stand-ins: they find what they find untraced, and what the libraries
# counted is what the report has rows of. PyCUDA, Numba and PyTorch for CUDA (python3-torch-cuda) where they are installed.
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
STANDIN=$B/tests/standin
[ -f "$STANDIN/libcupti.so.12" ] || skip_all 'the stand-ins are not built'
# Those of CUDA 12 first: what Numba makes of a newer driver's names is its own affair.
LD_LIBRARY_PATH=$STANDIN/12:$STANDIN${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
SIGHTLINE_CUPTI=$STANDIN/libcupti.so.12
# Python warns that a process with several threads forks. CUPTI has a thread, as the real driver has.
PYTHONWARNINGS=ignore::DeprecationWarning
export LD_LIBRARY_PATH SIGHTLINE_CUPTI PYTHONWARNINGS

program() { # WHICH [SCRIPT]
	script=$E2E/gpu/${2:-gpu_programs.py}
	"$PY" "$script" "$1" >want 2>want.err
	status=$?
	if [ $status -eq 77 ]; then
		skip "program $1 is traced" "$(tail -n 1 want)"
		return
	fi
	result $status "$1: works untraced" || diag <want.err
	mkdir "counts.$1"
	STANDIN_COUNTS=$W/counts.$1
	export STANDIN_COUNTS
	profile "$1" -t cuda,nvtx,osrt,cublas,cudnn,nccl "$PY" "$script" "$1" >said 2>err
	is $? $status "$1: same status"
	unset STANDIN_COUNTS
	check "$1: same output" cmp want said
	is "$(grep -v '^sightline: ' err)" "$(cat want.err)" "$1: same errors"
	check "$1: sound report" intact "$R"
	check "$1: rows = what the libraries counted, work leads to calls" "$PY" "$E2E/gpu/gpu_truth.py" "$R" "counts.$1" calls joined
	is "$(grep -h unsupported "counts.$1"/*)" '' "$1: asked for nothing that is not there"
}
counted() { # WHICH PATTERN: calls of such functions
	awk -v p="$2" '$2 ~ p { n += $1 } END { print n + 0 }' "counts.$1"/*
}
a_kernel_each() { # WHICH
	is "$(q "$R" 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL')" "$(counted "$1" '^cuLaunch(Kernel|Grid)')" "$1: a kernel for each launch"
}

program ctypes
a_kernel_each ctypes
is "$(cat said)" "b'table' 64
b'factors' 48
[(0, 42)]
b'\\x05\\x05\\x05\\x05\\x05\\x05\\x05\\x05\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00'
b'0123456789abcdef'" 'ctypes: what a driver would have answered'
is "$(q "$R" 'SELECT copyKind, srcKind, dstKind, bytes FROM CUPTI_ACTIVITY_KIND_MEMCPY ORDER BY start' | tr '\n' ' ')" \
	'2|2|0|16 3|0|3|16 5|3|3|16 4|3|0|16 ' 'ctypes: copies into, between and out of arrays'
program pycuda
[ "$status" -eq 77 ] || a_kernel_each pycuda
program numba
[ "$status" -eq 77 ] || a_kernel_each numba
program torch gpu_torch.py
if [ "$status" -ne 77 ]; then
	is "$(q "$R" 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE')" "$(counted torch '^cudaGraphLaunch$')" 'torch: each replay of a graph'
	is "$(q "$R" "SELECT count(*), count(end) FROM NVTX_EVENTS WHERE text GLOB 'step [0-5]'")" '6|6' 'torch: its NVTX ranges'
	is "$(q "$R" "SELECT count(*) FROM SL_LIBRARY_API JOIN StringIds ON id = nameId WHERE value = 'ncclAllReduce'")" \
		"$(counted torch '^ncclAllReduce$')" 'torch: what NCCL was asked for'
	is "$(q "$R" "SELECT count(*) FROM CUDNN_EVENTS JOIN StringIds ON id = nameId WHERE value = 'cudnnBackendExecute'")" \
		"$(counted torch '^cudnnBackendExecute$')" 'torch: convolutions'
	is "$(q "$R" 'SELECT count(*) FROM SL_PROCESS_TREE')" 3 'torch: it has two workers'
	# PyTorch's own ranges: in each thread of Python, and where the gradients of all of them are made.
	cat >threads.py <<'END'
import sys, threading, torch
def train():
    net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4)).cuda()
    for _ in range(6): net(torch.ones(4, 16, device="cuda")).sum().backward()
threads = [threading.Thread(target=train) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
train()
sys.exit(5)
END
	"$PY" threads.py >want 2>want.err
	status=$?
	profile threads -t cuda,nvtx --pytorch=autograd-nvtx "$PY" threads.py >said 2>err
	is "$? $(cat said)" "$status $(cat want)" 'torch, threads: same status'
	is "$(grep -v '^sightline: ' err)" "$(cat want.err)" 'torch, threads: same errors'
	is "$(q "$R" "WITH r AS (SELECT globalTid, coalesce(text, value) AS name, start, end FROM NVTX_EVENTS LEFT JOIN StringIds ON id = textId WHERE eventType = 59),
		part AS (SELECT sum(name GLOB 'aten::linear*') AS forward, sum(name GLOB 'AddmmBackward0, seq = *') AS backward, count(*) - count(end) AS open FROM r GROUP BY globalTid)
		SELECT * FROM part ORDER BY 1, 2")" '0|48|0
12|0|0
12|0|0
12|0|0
12|0|0' 'torch, threads: what each of them did'
	is "$(q "$R" "WITH r AS (SELECT globalTid, start, end FROM NVTX_EVENTS WHERE eventType = 59)
		SELECT count(*) FROM r a JOIN r b ON b.globalTid = a.globalTid AND b.start > a.start AND b.start < a.end AND b.end > a.end")" 0 'torch, threads: ranges nest'
fi
done_testing

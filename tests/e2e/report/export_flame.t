#!/bin/sh
# export_flame.t - stacks by what they cost: a database written by hand against sums worked out by hand, as ours and as
# nsys writes it, in all formats that take --flame; and that sums are those of plain SQL.
# shellcheck disable=SC2034,SC2154 # what is wanted is named by what is asked for
. tests/lib.sh
GOLD=$TOP/tests/golden/export
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'

ex() { "$BIN" export -q -f true -t "$@"; }
folded() { ex folded -o - "$@" | LC_ALL=C sort; }
cat "$TOP/collector/schema.sql" "$GOLD/chains.sql" | sqlite3 -bail chains.sqlite || exit 1
cat "$TOP/collector/schema.sql" "$GOLD/chains.sql" "$GOLD/chains_nsys.sql" | sqlite3 -bail nsys.sqlite || exit 1
md5sum ./*.sqlite >before.md5

want_cpu='python;loader;Py_RunMain;train;load 1
python;loader;[no stack] 1
python;python;Py_RunMain;train;load;vfs_read 1
python;python;Py_RunMain;train;step;at::native::gemm 3
python;python;Py_RunMain;train;step;at::native::gemm;inner<int> 2
python;python;Py_RunMain;train;step;jitted 1'
# The call in which the thread was away is there once, by its duration.
want_off_cpu='python;loader;Py_RunMain;train;load;[libfoo.so];write 700
python;loader;[no stack];read 100
python;python;Py_RunMain;train;load;pread64 300
python;python;Py_RunMain;train;load;read 500
python;python;Py_RunMain;train;step;jitted 1000
python;python;Py_RunMain;train;step;jitted;fsync 40'
want_gpu='python;loader;Py_RunMain;train;load;[CUDA memcpy Host-to-Device] 70
python;python;Py_RunMain;train;step;at::native::gemm;gemm_kernel 800
python;thread;[no stack];gemm_kernel 40'
want_bytes_read='python;loader;[no stack];read 7
python;python;Py_RunMain;train;load;pread64;/data/b.bin 200
python;python;Py_RunMain;train;load;read;/data/a.bin 100'
want_bytes_written='python;loader;Py_RunMain;train;load;[libfoo.so];write;/home/eva/out.log 50'
# What was recorded of an allocation counts, not what was asked for; a call that failed has allocated nothing.
want_allocations='python;python;Py_RunMain;train;load;[libfoo.so];cudaMalloc 4096
python;python;Py_RunMain;train;step;jitted;[GPU memory] 512
python;python;[no stack];cudaMalloc 1024'
want_calls='python;loader;Py_RunMain;train;load;[libfoo.so];write 1
python;loader;Py_RunMain;train;load;cudaMemcpyAsync 1
python;loader;[no stack];read 1
python;python;Py_RunMain;train;load;[libfoo.so];cudaMalloc 2
python;python;Py_RunMain;train;load;pread64 1
python;python;Py_RunMain;train;load;read 1
python;python;Py_RunMain;train;step;at::native::gemm;cudaLaunchKernel 2
python;python;Py_RunMain;train;step;jitted;cudaMallocAsync 1
python;python;Py_RunMain;train;step;jitted;fsync 1
python;python;[no stack];cudaMalloc 1'

for what in cpu off-cpu gpu bytes-read bytes-written allocations calls; do
	eval "want=\$want_$(echo $what | tr - _)"
	for db in chains nsys; do
		is "$(folded --flame=$what $db.sqlite)" "$want" "folded, $what: stacks of $db are as worked out by hand"
	done
	ex speedscope --flame=$what -o s.json chains.sqlite
	is "$("$PY" "$E2E/report/speedscope.py" s.json | sed 's/.* | //' | LC_ALL=C sort)" "$want" "speedscope, $what: stacks are as worked out by hand"
done
is "$(folded chains.sqlite)" "$want_cpu" 'samples are the default weight where there are some'

# ---- sums ----
sum() { folded --flame="$1" chains.sqlite | awk '{ s += $NF } END { printf "%d", s }'; }
is "$(sum cpu)" "$(sqlite3 chains.sqlite 'SELECT count(*) FROM COMPOSITE_EVENTS WHERE cpuCycles > 0')" 'cpu has all samples'
is "$(sum gpu)" "$(sqlite3 chains.sqlite 'SELECT sum(d) FROM (SELECT sum(end - start) AS d FROM CUPTI_ACTIVITY_KIND_KERNEL
	UNION ALL SELECT sum(end - start) FROM CUPTI_ACTIVITY_KIND_MEMCPY)')" 'gpu has all work of GPUs'
is "$(sum off-cpu)" "$(sqlite3 chains.sqlite 'SELECT sum(end - start) + 1000 FROM OSRT_API WHERE nestingLevel = 0')" 'off-cpu has all outer calls, and the time away from the CPU in none'
is "$(($(sum bytes-read) + $(sum bytes-written)))" "$(sqlite3 chains.sqlite 'SELECT sum(bytesDone) FROM OSRT_API')" 'bytes-read and bytes-written have all bytes'

# ---- how frames are called ----
is "$(folded --frames=line chains.sqlite | head -3)" 'python;loader;Py_RunMain;train (train.py:11);load (data.py:5) 1
python;loader;[no stack] 1
python;python;Py_RunMain;train (train.py:10);step (train.py:20);at::native::gemm (gemm.cpp:70) 3' '--frames=line names the lines of frames'
is "$(folded --flame=off-cpu --frames=module chains.sqlite | head -1)" \
	'python;loader;Py_RunMain (python3.11);train (train.py);load (data.py);[libfoo.so];write 700' '--frames=module names the modules of frames'
is "$(folded --flame=gpu --time=7us-7.35us chains.sqlite)" 'python;python;Py_RunMain;train;step;at::native::gemm;gemm_kernel 300' \
	'--time keeps the stack of a launch before it'
is "$(folded --flame=cpu --pid=100 chains.sqlite)" "$want_cpu" '--pid selects the stacks of one process'

# ---- frames of Python alone ----
only() { folded --python-only=true --flame="$1" "$2" 2>err; }
want_python_cpu='python;loader;[no stack] 1
python;loader;train;load 1
python;python;train;load 1
python;python;train;step 6'
want_python_gpu='python;loader;train;load;[CUDA memcpy Host-to-Device] 70
python;python;train;step;gemm_kernel 800
python;thread;[no stack];gemm_kernel 40'
for what in cpu gpu; do
	eval "want=\$want_python_$what"
	for db in chains nsys; do
		is "$(only $what $db.sqlite)" "$want" "folded, $what, Python alone: stacks of $db are as worked out by hand"
	done
	ex speedscope --python-only=true --flame=$what -o s.json chains.sqlite
	is "$("$PY" "$E2E/report/speedscope.py" s.json | sed 's/.* | //' | LC_ALL=C sort)" "$want" "speedscope, $what, Python alone: stacks are as worked out by hand"
done
sqlite3 chains.sqlite .dump | sqlite3 native.sqlite
sqlite3 native.sqlite 'UPDATE SL_FRAMES SET kind = 0'
is "$(only cpu native.sqlite)" 'python;loader;[no Python] 1
python;loader;[no stack] 1
python;python;[no Python] 7' 'a stack without Python is one frame'
"$BIN" export -f true -t folded --python-only=true --flame=cpu -o out native.sqlite 2>err
is "$?:$(grep -c -- '--python-sampling' err)" 0:1 '--python-only without stacks of Python names the option that records them'
"$BIN" export -t folded --python-only=true -o - chains.sqlite >out 2>err
is "$?:$(grep -c -- '--flame' err)" 2:1 '--python-only is refused for types without stacks'
rm native.sqlite

# ---- stacks that do not lie in order ----
sqlite3 nsys.sqlite .dump | sed '/^CREATE TABLE SAMPLING_CALLCHAINS/,/;$/s/, PRIMARY KEY (id, stackDepth)//' | sqlite3 shuffled.sqlite
sqlite3 shuffled.sqlite 'CREATE TABLE c AS SELECT * FROM SAMPLING_CALLCHAINS ORDER BY stackDepth % 2, id DESC, stackDepth DESC;
	DELETE FROM SAMPLING_CALLCHAINS; INSERT INTO SAMPLING_CALLCHAINS SELECT * FROM c'
is "$(folded --flame=cpu shuffled.sqlite)" "$want_cpu" 'frames in any order give the same stacks'

# ---- what is not there ----
"$BIN" export -t folded --flame=nothing -o - chains.sqlite 2>err
is "$?:$(wc -l <err)" 2:1 '--flame with an unknown weight is refused with one line'
check 'the refusal of an unknown weight has the choices' grep -q 'cpu,off-cpu,gpu,bytes-read,bytes-written,allocations,calls' err
sqlite3 none.sqlite <"$TOP/collector/schema.sql"
for type in folded speedscope pprof; do
	"$BIN" export -t $type -f true --flame=gpu -o out none.sqlite 2>err
	is "$?:$(grep -c -- '--cudabacktrace' err)" 0:1 "$type without stacks names the option that records them"
done
"$BIN" export -t folded --flame=gpu,cpu -o - chains.sqlite 2>/dev/null
is "$?" 1 'folded of two kinds is refused'
"$BIN" export -t chrome --flame=gpu -o - chains.sqlite 2>/dev/null
is "$?" 2 '--flame is refused for time lines'
"$BIN" export -t folded -a osrt --flame=gpu -o - chains.sqlite 2>/dev/null
is "$?" 2 '--flame with --activities is refused'

# ---- pprof ----
if command -v protoc >/dev/null && "$PY" -c 'import google.protobuf' 2>/dev/null; then
	protoc -I"$GOLD" --python_out=. pprof.proto || exit 1
	pp() { "$PY" "$E2E/report/pprof.py" . "$@"; }
	ex pprof -o all.pb.gz chains.sqlite
	is "$(pp all.pb.gz types)" 'samples count 9
cpu nanoseconds 9000000
off-cpu nanoseconds 2640
gpu nanoseconds 910
bytes-read bytes 307
bytes-written bytes 50
allocations bytes 5632
calls count 12
period cpu nanoseconds 1000000
default cpu time 1700000000000000000 duration 100000' 'pprof has types and totals'
	for what in samples off-cpu gpu bytes-read bytes-written allocations calls; do
		eval "want=\$want_$(echo $what | sed 's/samples/cpu/' | tr - _)"
		is "$(pp all.pb.gz folded $what | LC_ALL=C sort)" "$want" "pprof, $what: stacks are as worked out by hand"
	done
	is "$(pp all.pb.gz mappings | sed 's/ $//' | LC_ALL=C sort)" '0-0 [kernel.kallsyms]
10000-20000 /opt/torch/lib/libtorch_cpu.so abcdef0123456789
400000-800000 /usr/bin/python3.11 00ff
7f0000000000-7f0000002000 /opt/lib/libfoo.so' 'pprof has files and build ids'
	is "$(pp all.pb.gz lines | grep -e gemm.h -e 'train .*:11' -e libfoo)" \
		'10500 /opt/torch/lib/libtorch_cpu.so: inner<int> gemm.h:7 < at::native::gemm gemm.cpp:70
0 -: train /home/eva/train.py:11
7f0000001234 /opt/lib/libfoo.so: [libfoo.so] :0' 'pprof has inlined functions, lines and addresses'
	for exe in /usr/bin/python3.11 /opt/app; do # one of the files in stacks; one in none
		cp chains.sqlite program.sqlite
		sqlite3 program.sqlite "INSERT INTO SL_PROCESS_TREE(globalPid, start, kind, traced, exe) VALUES
			(1 << 48, 0, 2, 0, '/bin/launcher'), (1 << 24, 1, 2, 1, '/bin/sh'), (1 << 24, 2, 2, 1, '$exe'), (2 << 24, 3, 2, 1, '/bin/child')"
		ex pprof -f true -o program.pb.gz program.sqlite
		is "$(pp program.pb.gz mappings | sed -n '1s/[^ ]* \([^ ]*\).*/\1/p')" "$exe" 'the first file of pprof is the program'
		is "$(pp program.pb.gz mappings | sort | uniq -d)" '' 'each file is once in pprof'
	done
	ex pprof --flame=gpu,cpu -o two.pb.gz nsys.sqlite
	is "$(pp two.pb.gz types | grep -v default)" 'samples count 9
cpu nanoseconds 9000000
gpu nanoseconds 910
period cpu nanoseconds 1000000' 'pprof has the weights that were asked for'
	is "$(pp two.pb.gz folded gpu)" "$want_gpu" 'pprof of a report of nsys has the stacks of the GPU'
else
	skip 'pprof has types and totals' 'protoc is not installed (packages protobuf-compiler, python3-protobuf)'
fi
check 'flame graphs do not change a report' md5sum -c before.md5
done_testing

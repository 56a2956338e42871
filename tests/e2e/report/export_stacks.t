#!/bin/sh
# export_stacks.t - time lines with the stacks of their calls, as ours and as nsys has them, and with tracks of their own
# for Python's lock.
. tests/lib.sh
GOLD=$TOP/tests/golden/export
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'

for db in chains nsys; do
	more=
	[ $db = nsys ] && more=$GOLD/chains_nsys.sql
	# Two threads that take turns with the lock; its ranges begin and end within calls.
	cat "$TOP/collector/schema.sql" "$GOLD/chains.sql" $more - <<'EOS' | sqlite3 -bail $db.sqlite || exit 1
INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId, eventId) VALUES
    (0, NULL, 75, 'GIL Trace', 281476654432256, 5, 0),
    (900, 1200, 59, 'Holding GIL', 281476654432356, 5, 1), (1200, 1700, 59, 'Waiting for GIL', 281476654432356, 5, 2),
    (1200, 2050, 59, 'Holding GIL', 281476654432357, 5, 3), (950, 1450, 59, 'step', 281476654432356, 0, 4);
EOS
done
md5sum ./*.sqlite >before.md5

want='cudaLaunchKernel|at::native::gemm < step < train < Py_RunMain
cudaLaunchKernel|at::native::gemm < step < train < Py_RunMain
cudaMallocAsync|jitted < step < train < Py_RunMain
cudaMalloc|[libfoo.so] < load < train < Py_RunMain
cudaMalloc|[libfoo.so] < load < train < Py_RunMain
cudaMemcpyAsync|load < train < Py_RunMain
fsync|jitted < step < train < Py_RunMain
poll|[libfoo.so] < load < train < Py_RunMain
pread64|load < train < Py_RunMain
read|load < train < Py_RunMain
write|[libfoo.so] < load < train < Py_RunMain'
for db in chains nsys; do
	"$BIN" export -q -t chrome -o $db.json $db.sqlite
	"$PY" - $db.json >$db.chrome <<'EOP'
import json, re, sys
trace = json.load(open(sys.argv[1]))
frames = trace['stackFrames']
used = set()
for e in trace['traceEvents']:
    if 'sf' in e:
        path, at = [], e['sf']
        while at:
            used.add(at)
            path.append(frames[str(at)]['name'])
            at = frames[str(at)].get('parent')
        print('%s|%s' % (e['name'], re.sub(r' \([^)]*\)', '', ' < '.join(path))))
assert used == {int(i) for i in frames}, 'only frames that are used'
EOP
	is "$(LC_ALL=C sort $db.chrome)" "$want" "chrome, $db: calls have their stacks"
done
is "$("$PY" -c 'import json, sys; print(*sorted({f["name"] for f in json.load(open("chains.json"))["stackFrames"].values()}), sep="|")')" \
	'Py_RunMain|[libfoo.so]|at::native::gemm (gemm.cpp:70)|jitted|load (data.py:5)|step (train.py:20)|train (train.py:10)|train (train.py:11)' 'chrome: frames have lines'
"$PY" - chains.json >tracks <<'EOP'
import json, sys
trace = json.load(open(sys.argv[1]))['traceEvents']
name = {e['tid']: e['args']['name'] for e in trace if e['ph'] == 'M' and e['name'] == 'thread_name'}
for e in trace:
    if e.get('cat') == 'user_annotation':
        print(name[e['tid']], e['name'], e['ts'], e['dur'])
EOP
is "$(LC_ALL=C sort tracks)" 'GIL Holding GIL 0.9 0.3
GIL Holding GIL 1.2 0.85
GIL Waiting for GIL 1.2 0.5
python step 0.95 0.5' 'chrome: the GIL has tracks of its own'
is "$("$PY" -c 'import json
print(len({e["tid"] for e in json.load(open("chains.json"))["traceEvents"] if "GIL" in e["name"]}))')" 2 'chrome: the GIL has a track for each thread'

if command -v protoc >/dev/null && "$PY" -c 'import google.protobuf' 2>/dev/null; then
	protoc -I"$GOLD" --python_out=. perfetto.proto || exit 1
	for db in chains nsys; do
		"$BIN" export -q -t perfetto -o $db.pf $db.sqlite
		"$PY" "$E2E/report/perfetto.py" . $db.pf dump >$db.dump
		is "$(sed -n "s/^slice.*\(osrt\|cuda_[a-z]*\): \([^ ]*\) .*'callstack': '\([^']*\)'.*/\2|\3/p" $db.dump | sed 's/ ([^)]*)//g' | "$PY" -c '
import sys
for line in sys.stdin:
    name, path = line.strip().split("|")
    print("%s|%s" % (name, " < ".join(reversed(path.split(";")))))' | LC_ALL=C sort)" "$want" "perfetto, $db: calls have their stacks"
		is "$(sed -n 's/^slice.*\[\(.*\)\] \.*user_annotation: \(.* GIL\) .*/\1: \2/p' $db.dump | LC_ALL=C sort)" \
			'thread 100:100 python/GIL: Holding GIL
thread 100:100 python/GIL: Waiting for GIL
thread 100:101 loader/GIL: Holding GIL' "perfetto, $db: the GIL has tracks of its own"
	done
else
	skip 'perfetto, chains: calls have their stacks' 'protoc is not installed (packages protobuf-compiler, python3-protobuf)'
fi
# More stacks than a table of fixed size has room for, each of several samples, far apart.
cat "$TOP/collector/schema.sql" - <<'EOS' | sqlite3 -bail many.sqlite || exit 1
CREATE TEMP TABLE n AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 26999) SELECT i FROM n;
INSERT INTO StringIds SELECT i + 1, 'f' || i FROM n WHERE i < 9000;
INSERT INTO StringIds VALUES (9001, '/opt/lib/liba.so'), (9002, '[kernel.kallsyms]');
INSERT INTO SL_FRAMES (id, kind, symbol, module, inlined, kernelMode, unresolved, specialEntry, originalIP, unwindMethod)
    SELECT i + 7, 2 * (i % 5 = 0), i + 1, 9001 + (i % 5 = 0), 0, i % 5 = 0, 0, 0, 4096 + i, 6 FROM n WHERE i < 9000;
INSERT INTO SL_STACKS SELECT i + 1, d.column1, 7 + (i * (d.column1 + 1) + d.column1) % 9000 FROM n JOIN (VALUES (0), (1), (2)) d
    WHERE i < 9000 AND (i % 3 <> 1 OR d.column1 < 2);
INSERT INTO SL_STACKS VALUES (9, 3, 99999); -- a frame that is not there
INSERT INTO COMPOSITE_EVENTS (id, start, cpu, threadState, globalTid, cpuCycles, stackId) SELECT i + 1, i * 10, 0, 1, 281476654432356, 1, CASE WHEN i % 1000 <> 999 OR i > 9000 THEN i % 9000 + 1 END FROM n;
EOS
"$BIN" export -q -t text -o - many.sqlite | sed -n 's/.* sample  *//p' >many.got
sqlite3 many.sqlite "SELECT ifnull(group_concat(value, ' < '), '') FROM (SELECT e.id, value FROM COMPOSITE_EVENTS e
	LEFT JOIN SAMPLING_CALLCHAINS c ON c.id = e.id LEFT JOIN StringIds s ON s.id = symbol ORDER BY e.id, stackDepth) GROUP BY id" >many.want
is "$(wc -l <many.got)" 27000 'many stacks: text has every sample'
check 'many stacks: each sample of the text has its stack' cmp many.got many.want
"$BIN" export -q -t chrome -o - many.sqlite | sed -n 's/.*"cat":"sample".*"stack":\[\(.*\)\].*/\1/p' | sed 's/","/ < /g; s/"//g' >many.chrome
check 'many stacks: each sample of chrome has its stack' cmp many.chrome many.want
if [ -f perfetto_pb2.py ]; then
	"$BIN" export -q -t perfetto -o many.pf many.sqlite
	"$PY" "$E2E/report/perfetto.py" . many.pf dump | sed -n 's/^sample.* mode=[0-9]* *//p' | sed 's/@[^;]*//g' | "$PY" -c '
import sys
for line in sys.stdin:
    print(" < ".join(reversed(line.strip().split(";"))))' >many.perfetto
	check 'many stacks: each sample of perfetto has its stack' cmp many.perfetto many.want
	is "$("$PY" -c 'import perfetto_pb2 as p
t = p.Trace()
t.ParseFromString(open("many.pf", "rb").read())
print(sum(len(k.interned_data.callstacks) for k in t.packet))')" 9000 'many stacks: perfetto defines each once'
else
	skip 'many stacks: each sample of perfetto has its stack' 'protoc is not installed (packages protobuf-compiler, python3-protobuf)'
fi
is "$("$BIN" export -q -t folded -a nvtx -o - chains.sqlite | LC_ALL=C sort)" 'python;loader;GIL;Holding GIL 850
python;python;GIL;Holding GIL 300
python;python;GIL;Waiting for GIL 500
python;python;step 500' 'folded: the GIL stands beside the ranges'
check 'export of stacks does not change a report' md5sum -c before.md5
done_testing

#!/bin/sh
# block_io.t - requests to block devices: as many, and as many bytes, as the kernel counts itself in /sys/block/*/stat, of a device that
# nothing else uses; which thread made them; the wait for them is the device's.
# shellcheck disable=SC2016
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
[ "$(id -u)" = 0 ] || skip_all 'needs root'
command -v losetup >/dev/null || skip_all 'no losetup'
profile probe -t none --block-io=true true 2>err
if grep -q 'no block I/O\|eBPF' err; then skip_all "$(grep -m1 'no block I/O\|eBPF' err)"; fi
dd if=/dev/zero of=image bs=1M count=32 2>/dev/null
loop=$(losetup -f --show image 2>err) || skip_all "no loop device: $(head -1 err)"
at_exit="losetup -d $loop"
name=${loop#/dev/}
# Where a daemon looks at each new device, it is done by then.
if command -v udevadm >/dev/null; then udevadm settle 2>/dev/null; fi

cat >io.py <<'PY'
import mmap, os, sys
loop = sys.argv[1]
stat = '/sys/block/%s/stat' % os.path.basename(loop)
fd = os.open(loop, os.O_RDWR | os.O_DIRECT)
memory = mmap.mmap(-1, 1 << 18)
memory[:] = b'x' * len(memory)
def told(): return [int(n) for n in open(stat).read().split()]
def io(call, bytes, at):
    assert call(fd, [memoryview(memory)[:bytes]], at) == bytes
before = told()
for i in range(150): io(os.preadv, 4096, i * 65536)  # READ
for i in range(40): io(os.preadv, 65536, (160 + i) * 65536)
for i in range(60): io(os.pwritev, 8192, i * 65536)
for i in range(5): os.fsync(fd)
after = told()
d = [b - a for a, b in zip(before, after)]
# reads, merged, sectors, ms; the same of writes; under way, ms, ms; the same of discards; flushes, ms
print(d[0], d[2] * 512, d[3], d[4], d[6] * 512, d[7], *(d[15:17] or ['-', '-']))
PY
profile io -t osrt --osrt-threshold=0 "$PY" io.py "$loop" >out 2>err
is "$?" 0 'a program that reads and writes a device'
read -r reads read_bytes read_ms writes write_bytes write_ms flushes _ <out
diag <out
lost=$(q "$R" "SELECT CAST(total(count) AS INT) FROM SL_LOST_EVENTS WHERE what LIKE 'requests to block devices%'")
is "$lost" 0 'no request is lost'
of() { # OPERATION COLUMNS
	q "$R" "SELECT $2 FROM SL_BLOCK_IO JOIN StringIds ON id = diskId WHERE value = '$name' AND operation = $1"
}
is "$(of 0 'count(*), sum(bytes)' | tr '|' ' ')" "$reads $read_bytes" 'reads, and their bytes: as the kernel counts them'
is "$reads $read_bytes" "190 $((150 * 4096 + 40 * 65536))" 'the reads and their bytes are those that the program made'
is "$(of 1 'count(*), sum(bytes)' | tr '|' ' ')" "$writes $write_bytes" 'writes, and their bytes: as the kernel counts them'
is "$write_bytes" $((60 * 8192)) 'the bytes of the writes are those that the program wrote'
if [ "$flushes" = - ]; then
	skip 'flushes: as the kernel counts them' 'this kernel does not count them'
else
	is "$(of 2 'count(*)')" "$flushes" 'each flush has a row'
fi
# The kernel counts a request's time from and to a moment some lines of code away: the same but for interruptions of the machine.
for pair in "0 $read_ms" "1 $write_ms"; do
	ms=$(of "${pair% *}" 'sum(end - start) / 1000000')
	check "time of operation ${pair% *}: $ms ms, by the kernel ${pair#* } ms" awk "BEGIN { a = $ms; b = ${pair#* }; exit !(a <= 1.5 * b + 100 && b <= 1.5 * a + 100) }"
done
is "$(q "$R" "SELECT count(*) FROM SL_BLOCK_IO WHERE NOT (start <= coalesce(issued, start) AND coalesce(issued, start) <= end)")" 0 'made, handed over, done: in this order'
is "$(q "$R" "SELECT count(*) FROM SL_BLOCK_IO JOIN StringIds ON id = diskId WHERE value = '$name' AND operation < 2 AND globalTid IS NOT
	(SELECT globalTid FROM OSRT_API JOIN StringIds s ON s.id = nameId WHERE s.value LIKE 'preadv%' LIMIT 1)")" 0 'requests have the thread that made them'
is "$(of 0 'count(DISTINCT sector)')" 190 '190 reads have 190 sectors' || of 0 'sector, bytes' | head -20 | diag
is "$(of 0 'max(sector * 512 + bytes)')" $((200 * 65536)) 'the last read ends where the program ended reading'

"$BIN" stats -q -f csv -o - -r block_io_sum "$R" >table.csv 2>&1
check 'block_io_sum has the count and the bytes of the reads' grep -q ",$reads,$read_bytes,.*,$name,read,all" table.csv || diag <table.csv
"$BIN" stats -q -f csv -o - -r block_io_sum:thread "$R" >table.csv 2>&1
check 'block_io_sum:thread has the thread of the reads' grep -q ",$name,read,python3" table.csv || diag <table.csv

# Each of the reads waits for one request, which begins before and ends after the wait, but where it did not wait at all.
"$BIN" why -f json --limit=0 --max-bytes=0 "$R" >why.json
check 'why: the wait is the device'"'"'s' "$PY" -c '
import json, sys
p = [p for p in json.load(open("why.json"))["partition"] if p["reason"] == "FILE" and (p["object"] or "") == sys.argv[1] and p["device"]]
print(p)
ns = sum(x["ns"] for x in p)
assert p and all(x["device"]["name"] == sys.argv[2] for x in p), "no device"
assert sum(x["device"]["ns"] for x in p) >= 0.5 * ns, "less than half"
assert all(x["device"]["ns"] <= x["ns"] for x in p), "more than the wait"' "$loop" "$name"

# ---- turned off; only what is captured ----
profile off -t none --block-io=false "$PY" io.py "$loop" >out 2>err
is "$(q "$R" "SELECT count(*) FROM sqlite_master WHERE name = 'SL_BLOCK_IO'")" 0 '--block-io=false: none'
profile none -t none --cpuctxsw=none "$PY" io.py "$loop" >out 2>err
is "$(q "$R" "SELECT count(*) FROM sqlite_master WHERE name = 'SL_BLOCK_IO'")" 0 'without context switches: none'
profile others -t none sh -c '"$0" -c "
import os, time
print(os.getpid(), flush=True)
time.sleep(1)"' "$PY" >pid 2>err &
traced=$!
wait_for 20 test -s pid
"$PY" io.py "$loop" >out
wait $traced
R=$W/others.sqlite
is "$(of 0 'count(*)')" 0 'reads of another program have no row'
if ! [ -x "$PROG/denied" ]; then done_testing; fi
"$PROG/denied" bpf "$BIN" profile -f true -t none -s none -o refused true 2>err
check 'refused: no line on the terminal, as block I/O was not asked for' sh -c '! grep -q "block I/O" err'
is "$(q refused.sqlite "SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE text LIKE 'no block I/O: %'")" 1 'refused: a line in the report'
"$PROG/denied" bpf "$BIN" profile -f true -t none -s none --block-io=true -o refused true 2>err
check 'refused: one line on the terminal where block I/O was asked for' grep -q 'no block I/O: it needs eBPF' err
done_testing

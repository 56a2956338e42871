#!/bin/sh
# why_disk.t - sightline why: the part of a wait that a block device took, on a report written by hand (tests/golden/why/disks.sql, with the
# arithmetic in its head).
# shellcheck disable=SC2016
. tests/lib.sh
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'
sqlite3 disks.sqlite <"$TOP/collector/schema.sql" && sqlite3 disks.sqlite <"$TOP/tests/golden/why/disks.sql" || exit 1

parts() { "$BIN" why -f json --limit=0 --max-bytes=0 "$1" | "$PY" -c '
import json, sys
d = json.load(sys.stdin)
assert sum(p["ns"] for p in d["partition"]) == d["wall"]["ns"]
for p in sorted(d["partition"], key=lambda p: (p["reason"], p["call"] or "")):
    if p["reason"] not in ("COMPUTE", "KERNEL"): print(p["reason"], p["call"], p["ns"] // 1000000, p["device"] and (p["device"]["name"], p["device"]["ns"] // 1000000))'; }
is "$(parts disks.sqlite)" "BLOCKED None 100 None
FILE read 95 ('vda', 80)
FSYNC fsync 100 ('vda', 70)
NO_CPU read 5 None
PAGE_IN None 100 ('vda', 80)" 'waits: what the device took of each, as worked out by hand'
"$BIN" why disks.sqlite >text
check 'text: the device and its part' grep -q 'fsync of /data/x; device vda: 70 ms of it' text || diag <text
sqlite3 disks.sqlite "INSERT INTO StringIds VALUES (9, 'vdb'); UPDATE SL_BLOCK_IO SET diskId = 9 WHERE start = 110000000"
is "$(parts disks.sqlite | grep 'FILE read')" "FILE read 95 (None, 80)" 'JSON: two devices at once have no name'
"$BIN" why disks.sqlite >text
check 'text: two devices at once have no name' grep -q 'read of /data/x; devices: 80 ms of it' text || diag <text
# Of a program whose calls are not recorded.
cp disks.sqlite bare.sqlite && sqlite3 bare.sqlite 'DROP TABLE OSRT_API'
is "$(parts bare.sqlite)" "BLOCKED None 200 None
FILE None 195 (None, 160)
NO_CPU None 5 None" 'without calls: waits that are the device'"'"'s, by half or more, are for a file'
sqlite3 disks.sqlite 'DROP TABLE SL_BLOCK_IO'
is "$(parts disks.sqlite | grep -c "'")" 0 'requests that are not recorded: no device'
is "$(parts disks.sqlite | grep -c FSYNC)" 1 'requests that are not recorded: the reasons are the same'
done_testing

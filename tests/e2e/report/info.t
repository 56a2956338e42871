#!/bin/sh
# info.t - the output of sightline info, against tests/golden/info/ and, on real reports, against python.
# shellcheck disable=SC2016
. tests/lib.sh
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'
GOLD=$TOP/tests/golden/info
NSYS=$TOP/../shared/data/nsys

sqlite3 info.sqlite <"$GOLD/info.sql" || exit 1
chmod 444 info.sqlite
md5sum info.sqlite >before.md5
size=$(($(wc -c <info.sqlite) / 102)) # tenths of KiB, nearly
"$BIN" info info.sqlite >text 2>err
is "$? $(cat err)" '0 ' 'info succeeds without a message'
sed '1s/([0-9.]* KiB)/(N)/' text >got.txt
sed '1s/([0-9.]* KiB)/(N)/' "$GOLD/info.txt" >want.txt
check 'info prints the text worked out by hand' diff -u want.txt got.txt
is "$(sed -n '1s/.*(\([0-9]*\)\.\([0-9]\) KiB)/\1\2/p' text | awk -v s="$size" '{ d = s - $1; print (d >= 0 && d < 6) }')" 1 'info prints the size of the file'
"$BIN" info -f json info.sqlite >out.json
check 'info -f json has every figure' "$PY" -c '
import json
i = json.load(open("out.json"))
P = 1 << 48
assert [i[k] for k in ("file", "product", "version", "schema", "complete", "duration", "utcEpochNs", "host", "command", "folder")] == [
    "info.sqlite", "Sightline", "9.8.7", "3.28.1", False, 2500000000, 10**18, "box", "prog ten last", "/home/me"], i
t = {x["name"]: (x["rows"], x["first"], x["last"]) for x in i["tables"]}
assert t["OSRT_API"] == (2, 10**9, 2200000000) and t["SYSCALL"] == (0, None, None) and t["StringIds"] == (2, None, None), t
assert t["NVTX_EVENTS"] == (1, 700000000, 700000000) and t["SCHED_EVENTS"] == (2, -1000000, 5), t
p = {x["pid"]: x for x in i["processes"]}
assert sorted(p) == [10, 11, 12], p
assert p[11] == {"globalPid": P | 11 << 24, "pid": 11, "parentGlobalPid": P | 10 << 24, "name": "/bin/child", "command": "child -x",
    "start": 200, "end": 900, "traced": False, "exitStatus": 9, "events": 1}, p[11]
assert p[12]["name"] == "other" and p[12]["traced"] is None and p[12]["events"] == 1, p[12]
assert p[10]["events"] == 3 and p[10]["exitStatus"] == 256
assert i["losses"] == [{"start": 10**9, "end": 1500000000, "pid": 10, "count": 1234, "what": "calls"},
    {"start": 2 * 10**9, "end": 2 * 10**9, "pid": None, "count": 5, "what": "switches"}], i["losses"]
assert [d["text"] for d in i["diagnostics"]] == ["Profiling has started.", "careful\x1b[1m", "broken"]
assert i["gpus"][0]["memory"] == 85899345920 and i["gpus"][0]["multiprocessors"] == 132
assert "hunter2" not in json.dumps(i)'
check 'info prints no secrets of the environment' sh -c '! grep -q hunter2 text out.json'
"$BIN" info -f json info.sqlite info.sqlite >two
check 'info -f json of several reports is an array' "$PY" -c 'import json; assert [i["host"] for i in json.load(open("two"))] == ["box", "box"]'
sqlite3 bare.sqlite 'CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT)'
is "$("$BIN" info bare.sqlite | sed '1d')" '  written by  unknown (before 2022) , schema unknown

Lost: nothing that the report knows of

Tables:
            rows       first (s)        last (s)  name' 'info of an empty report has no tables'
"$BIN" info -f json bare.sqlite info.sqlite nope.sqlite >three 2>err
is "$? $(cat err)" '1 sightline: info: nope.sqlite: No such file or directory' 'info of three reports names the one that is missing'
check 'info of three reports shows the other two' "$PY" -c 'import json; assert len(json.load(open("three"))) == 2'
is "$("$BIN" info info.sqlite -f json bare.sqlite | "$PY" -c 'import json, sys; print([i["file"] for i in json.load(sys.stdin)])')" \
	"['info.sqlite', 'bare.sqlite']" 'info takes options between reports'
# A report that is being written: most of it waits in the file beside.
"$PY" - "$BIN" <<'END' >live
import os, sqlite3, subprocess, sys, json
db = sqlite3.connect('live.sqlite', isolation_level=None)
db.executescript("PRAGMA journal_mode = wal; CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringIds VALUES (1, 'x')")
told = json.loads(subprocess.check_output([sys.argv[1], 'info', '-f', 'json', 'live.sqlite']))['bytes']
print(told == os.stat('live.sqlite').st_size + os.stat('live.sqlite-wal').st_size)
END
is "$(tail -1 live)" True 'info has the size of a report that is being written'
is "$("$BIN" info 2>&1; echo $?)" 'sightline: info: no report is named: sightline info [options] REPORT.sqlite...
2' 'info without a report is refused'
check 'info onto a full disk fails' sh -c '[ -w /dev/full ] || exit 0; "$1" info info.sqlite >/dev/full 2>err; [ $? -eq 1 ] && [ "$(wc -l <err)" -eq 1 ]' - "$BIN"
check 'info does not change a report' md5sum -c before.md5

# ---- what processes are called ----
ln -sf "$PROG/repeat" known-as
here=$(dirname "$PROG/repeat")
: >data
for link in ./known-as "$W/known-as"; do
	profile name "$link" data 5 >out 2>err
	is "$(q "$R" 'SELECT name FROM PROCESSES')" known-as "info has the name that a link to a program was started by, ${link%%k*}"
done
if command -v bash >/dev/null; then
	profile name bash -c 'exec -a "$1" "$0" data 5' "$here/repeat" "/no/such/liar" >out 2>err
	is "$(q "$R" 'SELECT name FROM PROCESSES')" repeat "info has the name of the file where the program's name leads nowhere"
fi

for f in "$NSYS"/*.sqlite; do
	if [ ! -f "$f" ]; then
		skip 'real reports: rows and times are those of Python' 'they are not here'
		continue
	fi
	cp "$f" real.sqlite && chmod 644 real.sqlite
	"$BIN" info -f json real.sqlite >out.json
	check "$(basename "$f"): rows and times are those of Python" "$PY" -c '
import json, sqlite3
i = json.load(open("out.json"))
db = sqlite3.connect("real.sqlite")
names = [n for n, in db.execute("SELECT name FROM sqlite_master WHERE type = \"table\" AND name NOT LIKE \"ENUM%\" AND name NOT LIKE \"sqlite%\"")]
assert sorted(names) == sorted(t["name"] for t in i["tables"])
for t in i["tables"]:
    columns = [c[1] for c in db.execute("PRAGMA table_info(%s)" % t["name"])]
    assert t["rows"] == db.execute("SELECT count(*) FROM %s" % t["name"]).fetchone()[0], t
    if "start" in columns and "end" in columns:
        assert (t["first"], t["last"]) == db.execute("SELECT min(start), max(ifnull(end, start)) FROM %s" % t["name"]).fetchone(), t
assert i["schema"] == db.execute("SELECT value FROM META_DATA_EXPORT WHERE name = \"EXPORT_SCHEMA_VERSION\"").fetchone()[0]
assert i["duration"] == db.execute("SELECT duration FROM ANALYSIS_DETAILS").fetchone()[0]
have = {n for n, in db.execute("SELECT name FROM sqlite_master")}
calls = "CUPTI_ACTIVITY_KIND_RUNTIME"
for p in i["processes"]:
    n = db.execute("SELECT count(*) FROM %s WHERE globalTid >> 24 = ?" % calls, (p["globalPid"] >> 24,)).fetchone()[0] if calls in have else 0
    assert p["events"] >= n, p'
done
done_testing

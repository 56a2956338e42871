#!/bin/sh
# export_why.t - the tracks "why" of timelines: the walk of sightline why in the order of time, on reports written by hand
# (tests/golden/why/gpu.sql, waits.sql) and on real ones.
# shellcheck disable=SC2016
. tests/lib.sh
GOLD=$TOP/tests/golden
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
for r in gpu waits ranks; do
	sqlite3 $r.sqlite <"$TOP/collector/schema.sql" && sqlite3 $r.sqlite <"$GOLD/why/$r.sql" || exit 1
done
# TRACE REPORT [ARGUMENTS OF why]: time by reason, call, object and place of each track, against the partition; slices follow
# one another without a gap where there is one span, and no two that follow are equal.
cat >sums.py <<'END'
import collections, json, subprocess, sys
from decimal import Decimal
why, trace, report, more = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
events = json.load(open(trace), parse_float=Decimal)["traceEvents"]
names = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
tracks = collections.defaultdict(list)
for e in events:
    if e.get("cat") == "why":
        tracks[e["pid"], e["tid"]].append(e)
ns = lambda us: int(us * 1000)
def partition(*args):
    y = json.loads(subprocess.check_output([why, "why", "-f", "json", "--limit=0", "--max-bytes=0", *args, *more, report]))
    want = collections.Counter()
    for p in y["partition"]:
        want[p["reason"], p["call"], p["object"], p["place"], p["file"]] += p["ns"]
    return y, want
y, want = partition()
asked = {None: want}
for g in y.get("gpu", []):
    asked[g["device"]] = g
assert len(tracks) == len(asked), (list(tracks), list(asked))
shown = sorted(tracks.items())
for (pid, tid), slices in shown:
    got = collections.Counter()
    for a, b in zip(slices, slices[1:]):
        if not more:
            assert ns(a["ts"]) + ns(a["dur"]) == ns(b["ts"]), ("a gap", a, b)
        assert ns(a["ts"]) + ns(a["dur"]) < ns(b["ts"]) or (a["name"], a["args"]) != (b["name"], b["args"]), ("equal", a, b)
    for s in slices:
        a = s["args"]
        got[tuple(a.get(k) for k in ("reason", "call", "object", "place", "file"))] += ns(s["dur"])
        assert a["thread"] and a["tid"] > 0, a
    if names[pid].startswith("GPU"):
        device = min((d for d in asked if d is not None), key=lambda d: asked[d]["start"] != ns(slices[0]["ts"]))
        g = asked.pop(device)
        assert sum(got.values()) == g["ns"], (device, sum(got.values()), g)
        kinds = collections.Counter()
        for s in slices:
            kinds[s["name"].split(" host")[0]] += ns(s["dur"])
        assert [kinds[k] for k in ("kernels", "copies alone", "idle: launched, not yet begun", "idle: being launched", "idle:", "not recorded")] == \
            [g[k] for k in ("kernel_ns", "copy_only_ns", "launch_latency_ns", "launching_ns", "host_ns", "not_recorded_ns")], (kinds, g)
        if "--time" not in more:
            assert partition("--gpu", str(device))[1] == got, device
    else:
        assert got == asked.pop(None), (got, want)
        assert sum(got.values()) == (y["focus"]["ns"] if more else y["wall"]["ns"]), y["wall"]
print(len(shown), "tracks,", sum(len(s) for _, s in shown), "slices")
END
ex() { "$BIN" export -q -t chrome -f true "$@"; }
sums() { "$PY" sums.py "$BIN" "$@"; }
cnt() { grep -c '"cat":"why"' "$1"; }

# ---- the partition, to the nanosecond ----
ex -o gpu.json gpu.sqlite
is "$(sums gpu.json gpu.sqlite)" '3 tracks, 39 slices' 'chrome has each instant of a thread and two GPUs once, with the sums of why'
check 'chrome --why: order, nesting and ids are right' "$PY" "$E2E/report/chrome_read.py" gpu.json
check 'chrome: a wait for another thread names what that thread does' grep -q '"ts":71000.000,"dur":9000.000,"cat":"why","name":"sleeping","args":{"reason":"SLEEP","call":"clock_nanosleep","place":"a.py:20 in f","file":"/home/me/a.py","thread":"thread 101","tid":101}' gpu.json
check 'chrome: a time when a GPU does nothing names the host' grep -q '"ts":31000.000,"dur":17000.000,"cat":"why","name":"idle: host sleeping"' gpu.json
for r in waits ranks; do
	ex -o $r.json $r.sqlite
	check "$r: sums of chrome are those of sightline why" sums $r.json $r.sqlite
done
sed 's/"dur":9000.000,"cat":"why"/"dur":8999.999,"cat":"why"/' gpu.json >spoilt.json
check 'the comparison finds a difference of a nanosecond' sh -c '! "$1" sums.py "$2" spoilt.json gpu.sqlite 2>/dev/null' - "$PY" "$BIN"
ex --time 20ms-40ms -o time.json gpu.sqlite
check '--time: sums are those of this time alone' sums time.json gpu.sqlite --time 20ms-40ms
ex --ts-shift=5000 -o shifted.json gpu.sqlite
is "$(grep -c '"ts":71005.000,"dur":9000.000,"cat":"why"' shifted.json)" 2 '--ts-shift moves the slices of why'
for r in "$TOP"/../shared/data/nsys/*.sqlite "$TOP"/../../shared/data/nsys/*.sqlite; do
	[ -f "$r" ] || continue
	ex -a kernel --why=true -o real.json "$r"
	check "$(basename "$r"): sums of chrome are those of sightline why" sums real.json "$r"
done

# ---- when ----
ex --why=false -o off.json gpu.sqlite
ex -a kernel -o kernel.json gpu.sqlite
ex -a kernel --why=true -o both.json gpu.sqlite
ex --pid 100 -o pid.json gpu.sqlite
is "$(cnt off.json) $(cnt kernel.json) $(cnt both.json) $(cnt pid.json)" '0 0 39 0' '--why is on by default, and off with --activities and --pid'
is "$(grep -v '"cat":"why"' gpu.json | grep -c '"ph":"[XiC]"')" "$(grep -c '"ph":"[XiC]"' off.json)" '--why leaves all other events as they are'
sqlite3 empty.sqlite <"$TOP/collector/schema.sql"
"$BIN" export -t chrome --why=true -o empty.json empty.sqlite >log 2>&1
is "$? $(cnt empty.json) $(cat log)" '0 0 ' 'chrome of a report without a thread has no slices of why, and no message'
"$BIN" export -t text --why=true -o - gpu.sqlite >out 2>log
is "$? $(cat out log)" '2 sightline: export: --why is for types chrome and perfetto, not for type text' '--why is refused for other types'
"$BIN" export -t chrome --why=true --pid 100 -o - gpu.sqlite >out 2>log
is "$? $(cat out log)" '2 sightline: export: --why explains all of the time: it cannot stand with --pid' '--why is refused for one process'

# ---- perfetto ----
if command -v protoc >/dev/null && "$PY" -c 'import google.protobuf' 2>/dev/null; then
	protoc -I"$GOLD/export" --python_out=. perfetto.proto || exit 1
	"$BIN" export -q -t perfetto -o gpu.pf gpu.sqlite
	"$PY" "$E2E/report/perfetto.py" . gpu.pf dump >gpu.dump
	is "$(grep -c 'why: ' gpu.dump)" 39 'perfetto has the same slices of why'
	check 'perfetto has the arguments of the slices of why' grep -q "why: idle: host sleeping .*reason.*SLEEP.*a.py:20 in f.*thread 101" gpu.dump
else
	skip 'perfetto has the same slices of why' 'protoc is not installed (packages protobuf-compiler, python3-protobuf)'
	skip 'perfetto has the arguments of the slices of why' 'protoc is not installed (packages protobuf-compiler, python3-protobuf)'
fi
done_testing

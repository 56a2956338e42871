#!/bin/sh
# --python-functions-trace and --trace=python-gc, in every Python that is installed.
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
calls="SELECT eventType, value, printf('%x', color), (SELECT text FROM NVTX_EVENTS d WHERE d.eventType = 75 AND d.domainId = e.domainId AND d.globalTid / 0x1000000 = e.globalTid / 0x1000000), count(*), sum(end >= start)
FROM NVTX_EVENTS e JOIN StringIds ON id = textId WHERE eventType IN (59, 60) AND value NOT LIKE 'Generation %' GROUP BY 1, 2, 3, 4 ORDER BY 2, 4"

mkdir pack
cat >pack/__init__.py <<'END2'
def direct(): return 1
END2
cat >pack/inner.py <<'END2'
def deep(): return 2
END2
cat >mod.py <<'END2'
class Base:
    def method(self): return 1
class Derived(Base):
    @staticmethod
    def static(a): return a
def f(i): return i
def generate(n): yield from range(n)
END2
cat >main.py <<'END2'
import gc, math, threading
import mod, pack
def own(): return 3
class Own:
    async def run(self): return 4
def window():
    before = gc.get_stats()
    for i in range(5000):
        x = []; x.append(x)
    gc.collect(0); gc.collect(1); gc.collect()
    return [b["collections"] - a["collections"] for a, b in zip(before, gc.get_stats())]
for i in range(3): own(); mod.f(i)
threads = [threading.Thread(target=mod.f, args=(i,)) for i in range(4)]
for t in threads: t.start()
for t in threads: t.join()
list(mod.generate(2)); mod.Derived().method(); mod.Derived.static(1); pack.direct(); math.floor(1.5)
import pack.inner
pack.inner.deep(); pack.inner.deep()
import asyncio; asyncio.run(Own().run())
print(*window())
END2
cat >list.json <<'END2'
[
	{"_comment": "as nsys has it", "module": "__main__", "color": "black", "functions": ["own", "window", {"function": "Own.run", "color": "0x76b900", "domain": "async"}]},
	{"domain": "mod", "module": "mod", "functions": ["f", "generate", "Derived.method", "Derived.static", "nope", {"function": "f2"}]},
	{"module": "pack", "color": "E8B795", "functions": ["direct", "inner.deep"]},
	{"module": "math", "functions": ["floor"]},
	{"module": "never.there", "functions": ["x"]}
]
END2
cat >want <<'END2'
60|__main__.Own.run|ff76b900|async|1|1
59|__main__.own|ff000000|python-functions|3|3
59|__main__.window|ff000000|python-functions|1|1
59|math.floor|0|python-functions|1|1
59|mod.Derived.method|0|mod|1|1
59|mod.Derived.static|0|mod|1|1
59|mod.f|0|mod|7|7
60|mod.generate|0|mod|1|1
59|pack.direct|ffe8b795|python-functions|1|1
59|pack.inner.deep|ffe8b795|python-functions|2|2
END2
for python in $(pythons 'sys.version_info >= (3, 8) and not is_free'); do
	v=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
	profile r -t nvtx,python-gc --python-functions-trace=list.json "$python" main.py >out 2>err
	is "$?" 0 "$v: the program ends as it should"
	sqlite3 "$R" "$calls" >got
	check "$v: each call of the functions in the list is a range" diff want got
	is "$(grep -c 'python-functions-trace' err),$(grep -c 'no function nope in module mod' err),$(grep -c 'no function f2 in module mod' err),$(grep -c 'never.there was never imported' err)" '3,1,1,1' "$v: each missing function has one message"
	# Collections while window() runs, by generation: as many as Python counted.
	is "$(sqlite3 "$R" "WITH w AS (SELECT start, end, globalTid FROM NVTX_EVENTS JOIN StringIds ON id = textId WHERE value = '__main__.window'),
		g AS (SELECT value, int64Value AS freed FROM NVTX_EVENTS e JOIN StringIds ON id = textId JOIN w ON e.globalTid = w.globalTid AND e.start >= w.start AND e.end <= w.end WHERE value LIKE 'Generation %')
		SELECT group_concat((SELECT count(*) FROM g WHERE value = 'Generation ' || n), ' ') FROM (SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT 2)")" "$(cat out)" "$v: each generation has as many collections as gc.get_stats() counts"
	is "$(sqlite3 "$R" "SELECT sum(int64Value) >= 5000, sum(int64Value IS NULL), sum(end IS NULL) FROM NVTX_EVENTS e JOIN StringIds ON id = textId WHERE value LIKE 'Generation %'
		AND domainId IN (SELECT domainId FROM NVTX_EVENTS WHERE eventType = 75 AND text = 'GC Trace')")" '1|0|0' "$v: each collection has the number of objects freed"
done
profile r -t nvtx --python-functions-trace=list.json "$PY" main.py >out 2>err
is "$(sqlite3 "$R" "SELECT count(*) FROM NVTX_EVENTS WHERE text = 'GC Trace'")" 0 'collections of garbage are recorded only where they are asked for'
# Together with --python-step, and where none is asked to record NVTX.
profile r -t osrt --python-functions-trace=list.json --python-step=mine=mod:f "$PY" main.py >out 2>err
is "$(sqlite3 "$R" "$calls" | grep -c 'own\|mine')" 2 'functions of a list are ranges beside those of --python-step'

# ---- wrong files ----
bad() { # WHERE TEXT: a list with TEXT is refused at this place
	printf '%s\n' "$2" >bad.json
	"$BIN" profile --python-functions-trace=bad.json touch ran 2>err
	is "$?,$(wc -l <err),$(grep -c "bad.json:$1: " err)" '2,1,1' "wrong at $1: $2" || diag <err
}
bad 1:36 '[{"module": "a", "functions": ["b" "c"]}]'
bad 1:18 '[{"module": "a", "functoins": ["b"]}]'
bad 1:13 '[{"module": 3, "functions": ["b"]}]'
bad 1:13 '[{"module": "a b", "functions": ["b"]}]'
bad 2:17 '[{"module": "a",
 "functions": [{"name": "b"}]}]'
bad 1:36 '{"module": "a", "functions": ["b", 5]}'
bad 1:36 '{"module": "a", "functions": ["b", "b"]}'
bad 1:47 '[{"module": "a", "functions": ["b"], "color": "reddish"}]'
bad 1:2 '[{"functions": ["b"]}]'
bad 1:2 '[{"module": "b"}]'
bad 2:7 '[{"module": "a", "functions": ["b"],
      "module": "c"}]'
"$BIN" profile --python-functions-trace=list.toml touch ran 2>err
is "$?,$(wc -l <err),$(grep -c "'list.toml': TOML is not supported" err)" '2,1,1' 'a list of functions in TOML is refused by its name'
"$BIN" profile --python-functions-trace=none.json touch ran 2>err
is "$?,$(grep -c "cannot read 'none.json'" err)" '2,1' 'a list of functions that does not exist is refused'
echo '[]' >empty.json
"$BIN" profile --python-functions-trace=empty.json touch ran 2>err
is "$?,$(grep -c 'lists no function' err)" '2,1' 'an empty list of functions is refused'
is "$(ls ran 2>/dev/null)" '' 'a refused list of functions runs no program'
done_testing

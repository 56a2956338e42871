#!/bin/sh
# why_focus.t - sightline why of NVTX ranges and of steps, on a report written by hand (tests/golden/why/steps.sql, with the
# arithmetic in its head).
. tests/lib.sh
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
sqlite3 steps.sqlite <"$TOP/collector/schema.sql" && sqlite3 steps.sqlite <"$TOP/tests/golden/why/steps.sql" || exit 1
json() { "$BIN" why -f json --limit=0 --max-bytes=0 "$@" >out.json; }
# "REASON PLACE MS" of each part, the longest first, and of what is looked at.
cat >parts.py <<'END'
import json
y = json.load(open("out.json"))
assert sum(p["ns"] for p in y["partition"]) == y["focus"]["ns"] == sum(b - a for a, b in y["focus"].get("spans", [[0, y["focus"]["ns"]]])), "sum"
print("; ".join("%s %s %.1f" % (p["reason"], p["place"], p["ns"] / 1e6) for p in y["partition"]), "of %.1f" % (y["focus"]["ns"] / 1e6))
END
parts() { json "$@" && "$PY" parts.py; }
refused() { # TEXT OPTION...
	refused_text=$1
	shift
	"$BIN" why "$@" steps.sqlite >out 2>err
	is "$? $(cat err out)" "1 sightline: why: steps.sqlite: $refused_text" "why refuses $*"
}

# ---- ranges ----
is "$(parts --nvtx inner steps.sqlite)" 'SLEEP a.py:2 in f 50.0; COMPUTE a.py:1 in f 20.0 of 70.0' 'a range: all of that name, of the thread with most of them'
is "$(parts --nvtx lib:inner steps.sqlite)" 'SLEEP a.py:2 in f 50.0; COMPUTE a.py:1 in f 20.0 of 70.0' 'a range by its domain and name'
is "$(parts --nvtx inn% steps.sqlite)" 'SLEEP a.py:2 in f 50.0; COMPUTE a.py:1 in f 20.0 of 70.0' 'ranges by a pattern'
is "$(parts --nvtx inner --thread 101 steps.sqlite)" 'COMPUTE a.py:9 in g 2.0 of 2.0' 'ranges of a thread that is asked for'
is "$(parts --nvtx inner --time 0-30ms steps.sqlite)" 'SLEEP a.py:2 in f 12.0; COMPUTE a.py:1 in f 6.0 of 18.0' 'ranges in a part of the time; those in one another count once'
is "$("$BIN" why --nvtx inner steps.sqlite | sed -n 2p)" '11 ranges inner: 70 ms in all; shares are of this time' 'text: ranges: what the shares are of'
refused "range 'iner' is not in the report; the nearest is 'lib:inner'" --nvtx iner
refused "range 'other:inner' is not in the report; the nearest is 'lib:inner'" --nvtx other:inner
refused "range 'zzzzzzzzz' is not in the report; the most frequent is 'lib:inner'" --nvtx zzzzzzzzz
refused "range 'inner' is on another thread, or outside of the time" --nvtx inner --time 1us-2us
"$BIN" why --nvtx a --step steps.sqlite >out 2>err
is "$?" 2 'ranges and steps at once: status 2'

# ---- steps ----
is "$(parts --step steps.sqlite)" 'COMPUTE a.py:1 in f 120.0; SLEEP a.py:2 in f 100.0 of 220.0' 'steps: what repeats'
check 'slow steps: what they do more' "$PY" -c '
import json
s = json.load(open("out.json"))["steps"]
assert (s["count"], s["median_ns"], s["min_ns"], s["max_ns"]) == (20, 10e6, 10e6, 20e6), s
assert s["slow"] == [6, 13] and s["slow_ns"] == 20e6 and s["excess_ns"] == 10e6, s
assert [(p["reason"], p["line"], p["ns"], p["slow_ns"], p["median_ns"]) for p in s["excess"]] == [
    ("SLEEP", 2, 10e6, 14e6, 4e6), ("COMPUTE", 1, 0, 6e6, 6e6)], s["excess"]'
"$BIN" why --step steps.sqlite >text
check 'text: steps, the slow ones, what they do more' sh -c 'grep -qx "20 steps step #: 220 ms in all, median 10 ms (10 ms .. 20 ms); shares are of this time" text &&
	grep -qx "The slowest 2 steps, 20 ms in the mean, 10 ms more than the median (6, 13)" text &&
	grep -qx "  *+ *10 ms  sleeping at a.py:2 in f, clock_nanosleep" text'
"$BIN" why steps.sqlite >text
is "$(sed -n 2p text)" '20 steps step #: median 10 ms (10 ms .. 20 ms); --step looks at them alone' 'text: steps that were not asked for'
check 'JSON: steps that were not asked for' sh -c '"$1" why -f json --limit=0 --max-bytes=0 steps.sqlite | "$2" -c "
import json, sys
y = json.load(sys.stdin)
assert y[\"steps\"] == {\"count\": 20, \"median_ns\": 10000000, \"min_ns\": 10000000, \"max_ns\": 20000000, \"name\": \"step #\"}, y[\"steps\"]
assert y[\"focus\"][\"ns\"] == 220e6"' - "$BIN" "$PY"
is "$(parts --step 6 steps.sqlite)" 'SLEEP a.py:2 in f 14.0; COMPUTE a.py:1 in f 6.0 of 20.0' 'one step by its number'
is "$(parts --step=lib:inner steps.sqlite)" 'SLEEP a.py:2 in f 50.0; COMPUTE a.py:1 in f 20.0 of 70.0' 'steps by name'
is "$("$BIN" why --step=6 steps.sqlite | sed -n 2p)" 'Step 6 of 20 step #: 20 ms in all, median 10 ms; shares are of this time' 'text: one step'
refused 'step 21 is not in the report; the nearest of 20 is 20' --step 21
refused "range 'stepp 3' is not in the report; the nearest is 'step 3'" '--step=stepp 3'
sqlite3 steps.sqlite "DELETE FROM NVTX_EVENTS WHERE eventType = 59 AND (text NOT LIKE 'step%' OR start >= 40000000)" || exit 1
refused "no NVTX range repeats 5 times; 'step #' does 4 times" --step
sqlite3 steps.sqlite 'DELETE FROM NVTX_EVENTS' || exit 1
refused 'the report has no steps: no NVTX range repeats 5 times' --step
refused 'the report has no NVTX ranges' --nvtx inner
done_testing

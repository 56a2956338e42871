#!/bin/sh
# stats_filter.t - what --filter-time, --filter-nvtx and --filter-pid keep, --percentiles, and statistics
# against plain SQL. The truth is in the comments of filter.sql.
# shellcheck disable=SC2016
. tests/lib.sh
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'
GOLD=$TOP/tests/golden/stats_filter

st() { "$BIN" stats -q -f csv:nohdr "$@" 2>&1; }
sqlite3 f.sqlite <"$GOLD/filter.sql" || exit 1
chmod 444 f.sqlite
md5sum f.sqlite >before.md5

# Each prints in one line what is there.
one() { # NAME ITEM FROM
	printf 'SELECT coalesce(group_concat(i, %s), %s) AS x FROM (SELECT %s AS i FROM %s ORDER BY 1);\n' "' '" "'none'" "$2" "$3" >"$1.sql"
}
one kernels "(globalPid / 16777216) || ':' || correlationId" CUPTI_ACTIVITY_KIND_KERNEL
one calls "(globalTid / 16777216) || ':' || correlationId" CUPTI_ACTIVITY_KIND_RUNTIME
one osrt "start || '-' || end" OSRT_API
one nvtx 'eventType * 10000 + start' NVTX_EVENTS
one sched 'start' SCHED_EVENTS
one totals 'totalNs' SL_OSRT_TOTALS
one metrics 'timestamp' GPU_METRICS
one files 'fileAccessId' OSRT_FILE_ACCESS_EVENTS
keeps() { # REPORT WANT NAME OPTION...
	keeps_r=$1 keeps_want=$2 keeps_name=$3
	shift 3
	is "$(st -r "./$keeps_r.sql" "$@" f.sqlite | grep .)" "$keeps_want" "$keeps_name"
}

# ---- time ----
keeps osrt '1000-1000 1999-5000 900-1001' 'a call that ends where the time begins is out, one that begins there is in' --filter-time 1000/2000
keeps osrt '1000-1000 1999-5000' 'a colon in front: only what begins in it' --filter-time :1000/2000
keeps osrt '1000-1000 900-1001' 'a colon behind: only what ends in it' --filter-time 1000/2000:
keeps osrt '1000-1000 1999-5000 2000-2500 900-1001' 'several times' --filter-time 1000/2000,2000/2001
keeps osrt '1000-1000 1999-5000 2000-2500 900-1001' 'of several options' --filter-time 1us-2us --filter-time 2us/2.001us
keeps osrt '1999-5000 2000-2500 2500-2600' 'no end' --filter-time 1.5us/
keeps osrt '500-1000 900-1001' 'no beginning' --filter-time /1000
keeps kernels '10:1 10:2' 'work on a GPU has its own time' --filter-time 3us/3.3us
keeps nvtx '341200 591000 601500 750000' 'names of domains stay, a range without end goes on' --filter-time 1.2us/2us
keeps nvtx '597000 598000 750000' 'for ever' --filter-time 8999/1h
keeps sched '900 1050 1700' 'a time on a CPU that overlaps is there with both its ends' --filter-time 1000/2000
keeps sched '6000' 'one without an end goes on' --filter-time 7000/8000
cp f.sqlite short.sqlite && chmod u+w short.sqlite || exit 1
sqlite3 short.sqlite 'INSERT INTO SCHED_EVENTS VALUES (100,0,1,30<<24|30),(200,0,0,30<<24|30),(2000,0,1,30<<24|30),(2000,0,0,30<<24|30),
	(5000,0,1,30<<24|30),(5010,0,0,30<<24|30)'
is "$(st -r ./sched.sql --filter-time 1000/1500 short.sqlite | grep .)" '900 1050' 'a run that ends as it begins does not reach back to the run before'
is "$(st -r ./sched.sql --filter-time 3500/4500 short.sqlite | grep .)" 'none' 'a run that ends as it begins does not last to the next run'
keeps metrics 1000 'moments' --filter-time 1000/3000
keeps files 1 'files' --filter-time 1150/3000
keeps totals none 'sums of the whole recording cannot be cut' --filter-time 1000/3000

# ---- ranges ----
keeps calls '10:1 10:2 10:4 20:1 30:1' 'each process in its own ranges, one without any in those of all' --filter-nvtx phase
keeps kernels '10:0 10:1 10:2 10:4 20:1 30:1' 'what ran on a GPU follows the call that started it' --filter-nvtx phase
keeps calls '10:1 10:2 20:1 30:1' 'the first one of each process' --filter-nvtx phase/0
keeps calls '10:4' 'the second one' --filter-nvtx phase/1
keeps calls '10:5' 'of a domain' --filter-nvtx phase@LIB
keeps calls '10:1 10:2 10:4 10:5 20:1 30:1' 'of any domain' --filter-nvtx 'phase@*'
keeps calls '10:5' 'and its index' --filter-nvtx 'phase@*/2'
keeps calls '10:5' 'a range that is still open' --filter-nvtx open
keeps nvtx '590100 750000' 'a name with @ and /' --filter-nvtx 'a\@b\/3'
keeps osrt '1000-1000 1999-5000 2000-2500 900-1001' 'libc calls' --filter-nvtx phase/0
keeps metrics 1000 'what belongs to no process' --filter-nvtx phase
keeps calls '10:4' 'ranges and a time' --filter-nvtx phase --filter-time 4us/

# ---- processes ----
keeps calls '20:1 20:2' 'a process' --filter-pid 20
keeps kernels '20:1 20:2 30:1 30:2' 'two' --filter-pid 20,30
keeps totals 70 'sums of a process' --filter-pid 10
keeps metrics '1000 3000' 'a device belongs to no process' --filter-pid 20
keeps files 2 'files of a process' --filter-pid 20
keeps calls '20:1' 'all three' --filter-pid 20 --filter-nvtx phase --filter-time /2us

# ---- wrong ----
wrong() { # STATUS MESSAGE OPTION...
	wrong_rc=$1 wrong_want=$2
	shift 2
	is "$(st -r ./calls.sql "$@" f.sqlite; echo $?)" "sightline: stats: $wrong_want
$wrong_rc" "$*"
}
range="is no range of times: START/END in ns, or with units as in 12s-15s, 500ms/1.5s"
for t in 5 5/4 / x/y 5/6x 1s 5/6,7 -5; do
	wrong 2 "'$t' $range" "--filter-time=$t"
done
wrong 2 "'@x' names no NVTX range: RANGE[@DOMAIN][/INDEX]" --filter-nvtx @x
wrong 2 "'1x' is no list of process ids" --filter-pid 1x
wrong 1 'f.sqlite: there is no process 99' --filter-pid 99
wrong 1 "f.sqlite: there is no NVTX range 'phaes'; did you mean 'phase'?" --filter-nvtx phaes
wrong 1 "f.sqlite: there is no NVTX range 'phase' with index 7" --filter-nvtx phase/7
wrong 1 "f.sqlite: there is no NVTX range 'open' in the domain 'LIB'; there is in the default domain" --filter-nvtx open@LIB
sqlite3 noranges.sqlite 'CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT)'
is "$(st -r ./calls.sql --filter-nvtx x noranges.sqlite)" "sightline: stats: noranges.sqlite: there is no NVTX range 'x'" '--filter-nvtx of a report without ranges is refused'

# ---- names of files ----
mkdir out
"$BIN" stats -q -r cuda_gpu_kern_sum:base,cuda_gpu_kern_sum -o out/x --filter-nvtx phase/1 f.sqlite
is "$(ls out)" 'x_cuda_gpu_kern_sum_base_nvtx=phase-1.csv
x_cuda_gpu_kern_sum_nvtx=phase-1.csv' 'arguments and the range are part of the name of a file'

# ---- percentiles: nearest rank, beside an independent computation ----
"$PY" - big.sqlite <<'EOP'
import random, sqlite3, sys
random.seed(11)
db = sqlite3.connect(sys.argv[1])
db.execute('CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT)')
db.execute('CREATE TABLE OSRT_API(start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, nameId INTEGER, returnValue INTEGER)')
db.execute('CREATE TABLE ENUM_CUDA_MEMCPY_OPER(id INTEGER PRIMARY KEY, name TEXT, label TEXT)')
db.execute('''CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER, end INTEGER, bytes INTEGER, copyKind INTEGER)''')
db.execute('''CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER)''')
names = ['a', 'b', 'c', 'd', 'e', 'f', 'same_v1000', 'same_v2000']
for i, name in enumerate(names):
    db.execute('INSERT INTO StringIds VALUES(?,?)', (i, name))
    for k in range([1, 2, 3, 10, 999, 1000, 5000, 7000][i]):
        d = random.choice([5, random.randrange(1000, 1010), random.randrange(1000, 10**9), 10**13])
        db.execute('INSERT INTO OSRT_API VALUES(?,?,27,1,?,0)', (k, k + d, i))
        db.execute('INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(?,?,1,1,?)', (k, k + d, i))
        db.execute('INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(?,?,?,?)', (k, k + d, d, i))
# no name at all, and a call that never ended
db.execute('INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(1,2,1,1,NULL)')
db.execute('INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(1,NULL,1,1,1)')
db.commit()
EOP
"$BIN" stats -q -r osrt_sum -f json --percentiles 1,50 --percentiles 99,99.9,100 big.sqlite >p.json
check 'percentiles are those of Python' "$PY" -c '
import json, math, sqlite3
from fractions import Fraction
calls = {}
for name, d in sqlite3.connect("big.sqlite").execute("SELECT value, end-start FROM OSRT_API JOIN StringIds ON id=nameId"):
    calls.setdefault(name, []).append(d)
rows = json.load(open("p.json"))
assert len(rows) == len(calls) == 8
for r in rows:
    c = sorted(calls[r["Name"]])
    keys = list(r)
    assert keys[keys.index("StdDev (ns)") + 1:-1] == ["P%s (ns)" % p for p in ("1", "50", "99", "99.9", "100")], keys
    for p in ("1", "50", "99", "99.9", "100"):
        want = c[math.ceil(len(c) * Fraction(p) / 100) - 1]
        assert r["P%s (ns)" % p] == want, (r["Name"], p, r, want)'
is "$("$BIN" stats -q -r osrt_sum -f csv --percentiles 99 --timeunit msec big.sqlite | sed -n 1p)" \
	'Time (%),Total Time (ms),Num Calls,Avg (ms),Med (ms),Min (ms),Max (ms),StdDev (ms),P99 (ms),Name' 'percentiles take --timeunit'
for p in 0 101 x 1.2.3 100.1 .5; do
	is "$(st --percentiles $p big.sqlite; echo $?)" "sightline: stats: '$p' is no percentile: a number above 0, up to 100
2" "--percentiles $p is refused"
done
# Every report with a standard deviation takes them, or has some of its own.
for sql in "$TOP"/exporters/stats/reports/*_sum.sql; do
	grep -qE 'AS "([A-Za-z]+ )?StdDev \(' "$sql" || continue
	grep -q 'AS "P99 ' "$sql" && continue
	r=$(basename "$sql" .sql)
	check "$r has a place for percentiles" grep -q '/\* percentiles: .*"[A-Za-z ]*P{p} (\|include: stats_columns' "$sql"
done

# ---- statistics are those that SQLite works out, of keys and values of all kinds ----
cat >nulls.sql <<'EOS'
-- title: Keys and values of all kinds
WITH hist AS MATERIALIZED (
	SELECT CASE nameId WHEN 0 THEN NULL WHEN 1 THEN 'text' WHEN 2 THEN x'00ff' WHEN 3 THEN 1.5 ELSE nameId END AS k,
		CASE WHEN nameId = 4 AND start % 2 THEN NULL WHEN nameId = 5 THEN (end - start) / 8.0 ELSE end - start END AS v, count(*) AS n
	FROM OSRT_API
	GROUP BY 1, 2
), total AS MATERIALIZED (
	SELECT k, sum(n) AS calls, sum(n * v) AS time, min(v) AS least, max(v) AS most,
		1.0 * sum(n * v) / sum(n) AS mean
	FROM hist
	GROUP BY k
), ranked AS (
	SELECT k, v, n, sum(n) OVER (PARTITION BY k ORDER BY v) AS upto
	FROM hist
), spread AS (
	SELECT t.k, sum(n * (v - mean) * (v - mean)) AS squares,
		(min(v) FILTER (WHERE 2 * upto >= calls) + min(v) FILTER (WHERE 2 * upto > calls)) / 2.0 AS med
	FROM ranked AS r JOIN total AS t ON t.k = r.k
	GROUP BY t.k
)
SELECT quote(k) AS k, calls, time, least, most, round(mean, 3) AS mean, round(sqrt(squares / (calls - 1)), 3) AS stddev, med
FROM total JOIN spread USING (k) ORDER BY quote(k);
EOS
sqlite3 -readonly -csv -header big.sqlite <nulls.sql | tr -d '\r' >shell.csv
"$BIN" sql -f csv big.sqlite "SELECT quote(key) AS k, n AS calls, total AS time, min AS least, max AS most, round(mean, 3) AS mean,
	round(stddev, 3) AS stddev, median AS med
	FROM sl_stats_rows((SELECT sl_stats(
		CASE nameId WHEN 0 THEN NULL WHEN 1 THEN 'text' WHEN 2 THEN x'00ff' WHEN 3 THEN 1.5 ELSE nameId END,
		CASE WHEN nameId = 4 AND start % 2 THEN NULL WHEN nameId = 5 THEN (end - start) / 8.0 ELSE end - start END)
		FROM OSRT_API)) WHERE key IS NOT NULL
	ORDER BY quote(key)" | sed '/^$/d' >ours.csv
check 'NULL, text, bytes and fractions as keys and values are those of Python' "$PY" -c '
import csv
a, b = (list(csv.reader(open(f))) for f in ("shell.csv", "ours.csv"))
assert len(a) == len(b) == 8, (len(a), len(b))
for x, y in zip(a, b):
    for c, d in zip(x, y):
        assert c == d or abs(float(c) - float(d)) <= 1e-9 * abs(float(c)), (x, y)'
check 'filters do not change a report' md5sum -c before.md5
done_testing

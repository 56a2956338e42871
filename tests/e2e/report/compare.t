#!/bin/sh
# compare.t - the results of compare on two runs written by hand, on sets of runs, on real ones; and its conditions.
# shellcheck disable=SC2016
. tests/lib.sh
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'
GOLD=$TOP/tests/golden/compare
cmp() { "$BIN" compare "$@"; }
cmp_bytes() { command cmp "$@"; }

for d in base other; do sqlite3 $d.sqlite <"$GOLD/$d.sql" || exit 1; done
chmod 444 base.sqlite other.sqlite
md5sum ./*.sqlite >before.md5

# ---- figures, worked out from the rows in base.sql and other.sql ----
cmp -f json base.sqlite other.sqlite >all.json
check 'JSON has every figure of two runs' "$PY" - all.json <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
rows = {(k['name'], r['name']): (k, r) for k in d['kinds'] for r in k['rows']}
def is_(kind, name, metric, base, now, change):
    k, r = rows.pop((kind, name)) if metric is None else rows[(kind, name)]
    got = [s and s[metric] for s in r['sets']]
    assert got == [base, now], (kind, name, metric, got, base, now)
    if change is not None:
        assert abs(r['sets'][1]['change_percent'][metric] - change) < 1e-9, (kind, name, r['sets'][1])
# no process has a lifetime: from 0 to the last call
is_('wall', '', 'total', 3000, 4500, 50)
# busy: 0-200, 400-700, 800-810, 900-920; then 0-200, 400-800, 800-830, 900-920
is_('gpu_busy', '', 'total', 530, 650, 100 * 120 / 530)
is_('gpu_idle', '', 'total', 200 + 100 + 90, 200 + 70, -100 * 120 / 390)
is_('io', '', 'total', 4096, 4096, 0)
is_('kernel', 'void gemm<64>(float*)', 'total', 500, 600, 20)
is_('kernel', 'void gemm<64>(float*)', 'count', 3, 3, 0)
is_('kernel', 'void gemm<64>(float*)', 'median', 100, 100, 0)
is_('kernel', 'void gemm<64>(float*)', 'p99', 300, 400, 100 / 3)
is_('kernel', 'void gemm<64>(float*)', 'mean', 500 / 3, 200, 20)
is_('kernel', 'void gemm<64>(float*)', 'min', 100, 100, 0)
# all variants of fold are others: one row by the function's name
is_('kernel', 'fold', 'total', 30, 50, 200 / 3)
is_('kernel', 'fold', 'median', 15, 25, 200 / 3)
assert rows[('kernel', 'relu(float*)')][1]['sets'][1] is None
assert len([1 for k in rows if k[0] == 'kernel']) == 3
# with and without the version that nsys puts behind a name
is_('api', 'cudaLaunchKernel', 'total', 30, 40, 100 / 3)
assert rows[('api', 'cudaFree')][1]['sets'][1] is None
# the outermost ranges that repeat: 100, 120, 90; then 100, 140, 90
is_('step', 'step #', 'total', 310, 330, 2000 / 310)
is_('step', 'step #', 'median', 100, 100, 0)
is_('step', 'step #', 'max', 120, 140, 50 / 3)
is_('nvtx', ':step 1', 'total', 120, 140, 50 / 3)
is_('nvtx', 'lib:inner', 'total', 10, 10, 0)
# names that only count
is_('nvtx', ':op #', 'total', 1 + 1 + 2, 1 + 1 + 6, 100)
is_('nvtx', ':op #', 'count', 3, 3, 0)
assert len([1 for k in rows if k[0] == 'nvtx']) == 6, [k for k in rows if k[0] == 'nvtx']
# one here, one there, alike but for the number: the same file
is_('file', '/data/run-17/a.bin', 'total', 2000, 2000, 0)
assert rows[('file', '/data/run-17/a.bin')][1]['other_name'] == '/data/run-18/a.bin'
is_('osrt', 'read', 'count', 1, 1, 0)
# where the longest of what changed is, by the rows of other.sql; of what is gone, by those of base.sql
def worst(kind, name, *want):
    place = {tuple(s['worst'][k] for k in ('report', 'start', 'end', 'row')) for s in rows[(kind, name)][1]['sets'] if s and 'worst' in s}
    assert place == ({want} if want else set()), (kind, name, place)
worst('step', 'step #', 'other.sqlite', 100, 240, '1')
worst('nvtx', ':step 1', 'other.sqlite', 100, 240, '1')
worst('nvtx', ':op #', 'other.sqlite', 514, 520, '1')
worst('nvtx', ':tail')
worst('kernel', 'void gemm<64>(float*)', 'other.sqlite', 400, 800, 'GPU 0')
worst('kernel', 'relu(float*)', 'base.sqlite', 650, 700, 'GPU 0')
worst('kernel', 'fold', 'other.sqlite', 800, 830, 'GPU 0')
worst('api', 'cudaLaunchKernel', 'other.sqlite', 20, 50, '1')
worst('api', 'cudaFree', 'base.sqlite', 950, 990, '1')
worst('osrt', 'read')
worst('wall', '')
relu = [s for s in rows[('kernel', 'relu(float*)')][1]['sets'] if s][0]
assert relu['worst']['view'] == "sightline view base.sqlite --at 0.000000650s --row 'GPU 0' --span 0.000000625s-0.000000725s", relu
units = {k['name']: k['unit'] for k in d['kinds']}
assert units['io'] == 'bytes' and units['wall'] == 'ns'
PY

# main runs 2,000 ns, helper 1,000 and 1,000; without the last switch it runs until the end of the session, 1,000,000
cat "$TOP/collector/schema.sql" "$TOP/tests/golden/export/sched.sql" | sqlite3 -bail sched.sqlite || exit 1
cp sched.sqlite open.sqlite && sqlite3 open.sqlite 'DELETE FROM SCHED_EVENTS WHERE start = 6000'
is "$(cmp -f json -k cpu sched.sqlite open.sqlite | grep -o '"total": [0-9]*, "count": 1,' | cut -d" " -f2 | tr -d , | paste -sd ' ')" '4000 998000' \
	'a run that no switch ends is CPU time until the session ends'
rm sched.sqlite open.sqlite
cmp base.sqlite other.sqlite >text 2>err
is "$?$(cat err)" 0 'text has no complaint on stderr'
is "$(grep -c 'gemm' text) $(awk '/Wall time/' text | tr -s ' ')" '1  3.00 us 4.50 us +50.0 % Wall time' 'text has figures with units'
is "$(awk '/relu/ { print $1 }' text)" gone 'text marks a kernel that is gone'
is "$(grep -A1 relu text | tail -1)" "      at worst: sightline view base.sqlite --at 0.000000650s --row 'GPU 0' --span 0.000000625s-0.000000725s" \
	'text has the command that opens the worst place of a row'
is "$(cmp --min-change 34 base.sqlite other.sqlite | grep -c 'at worst')" 5 'text has the worst places of what changed alone'
is "$(grep -c 'changed by less than 1 %' text)" 3 'text counts what hardly changed, and does not show it'
is "$(cmp --min-change 0 base.sqlite other.sqlite | grep -c ' -> /data/run-18/a.bin')" 1 'text has both names of one file'
is "$(cmp -k kernel -n 1 base.sqlite other.sqlite | grep -c '2 more changed less')" 1 '--top=1 of the text counts the others'
is "$(cmp -k kernel --top=all base.sqlite other.sqlite | grep -c 'more changed')" 0 '--top=all of the text leaves out nothing'
is "$(cmp base.sqlite other.sqlite | grep -c "$(printf '\033')")" 0 'text into a pipe has no colour'
cmp -f markdown base.sqlite other.sqlite >md
check 'Markdown has as many cells in every line of a table' awk -F'|' '/^\|/ { if (!cells) cells = NF; bad += NF != cells; next } { cells = 0 } END { exit bad > 0 }' md
is "$(grep -c 'gemm&#60;64&#62;' md)" 1 'Markdown escapes names'
is "$(cmp base.sqlite base.sqlite other.sqlite | grep -c 'Kernels: A -> [BC]')" 2 'three reports are each compared with the first'
cmp -f json base.sqlite base.sqlite other.sqlite | "$PY" -c 'import json, sys
d = json.load(sys.stdin)
assert [len(r["sets"]) for k in d["kinds"] for r in k["rows"]].count(3) == sum(len(k["rows"]) for k in d["kinds"])'
result $? 'JSON has all of three reports'

# ---- repeats ----
for i in 1 2 3 4 5; do
	for d in base other; do
		sqlite3 $d$i.sqlite <"$GOLD/$d.sql"
		# noise in what is the same on both sides; gemm differs by more than that
		sqlite3 $d$i.sqlite "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = end + $i WHERE start IN (0, 900);
			UPDATE OSRT_API SET end = end + (CASE '$d' WHEN 'base' THEN $i * 7 ELSE $i * 11 END) % 20 WHERE eventClass = 27"
	done
done
runs() { printf '%s' "$1"1.sqlite; for i in 2 3 4 5; do printf ',%s' "$1$i.sqlite"; done; }
cmp -f json "$(runs base)" "$(runs other)" >runs.json
check 'five runs each are compared by medians and a rank test' "$PY" - runs.json <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
rows = {(k['name'], r['name']): r['sets'] for k in d['kinds'] for r in k['rows']}
assert [len(s['runs']) for s in d['sets']] == [5, 5]
gemm = rows[('kernel', 'void gemm<64>(float*)')]
assert [s['total'] for s in gemm] == [503, 603], gemm
assert abs(gemm[1]['p']['total'] - 2 / 252) < 1e-12, gemm[1]['p']   # wholly apart: 2 of 252 ways
# the longest of all runs; what may be chance has no place
assert gemm[1]['worst']['report'] in ['other%d.sqlite' % i for i in range(1, 6)] and gemm[1]['worst']['start'] == 400, gemm[1]
read = rows[('osrt', 'read')]
assert 'worst' not in read[1], read
# 2007 2014 2001 2008 2015 and 2011 2002 2013 2004 2015
assert [s['total'] for s in read] == [2008, 2011], read
assert read[1]['p']['total'] > 0.5, read[1]['p']
assert rows[('kernel', 'relu(float*)')][1] is None
# busy for 530 + 1..5, and 650 + 1..5
noise = {n['kind']: n for n in d['noise']}['gpu_busy']
want = 100 * (sum(((i - 3) / mean) ** 2 for i in range(1, 6) for mean in (533, 653)) / 8) ** 0.5
assert abs(noise['noise_percent'] - want) < 1e-9 and abs(noise['found_percent'] - 2.3 * want) < 1e-9, (noise, want)
assert [n['metric'] for n in d['noise'] if n['kind'] == 'step'] == ['min'], d['noise']
PY
is "$(cmp --min-change 0 -k kernel,osrt "$(runs base)" "$(runs other)" | awk '/read$/ { print substr($1, 1, 1) } /gemm/ { print substr($1, 1, 1) }' | tr '\n' ' ')" \
	'+ ~ ' 'text marks what may be chance'
cp base1.sqlite 'with,comma.sqlite'
is "$(cmp -f json 'with,comma.sqlite' other.sqlite | "$PY" -c 'import json, sys; print(json.load(sys.stdin)["sets"][0]["runs"])')" \
	"['with,comma.sqlite']" 'a comma in the name of a file does not split it'
is "$(cmp -f json --base base.sqlite other.sqlite | "$PY" -c 'import json, sys; print([s["label"] for s in json.load(sys.stdin)["sets"]])')" \
	"['base.sqlite', 'other.sqlite']" '--base names the first report'

is "$(cmp -k wall,kernel --filter-time 0/1000 base.sqlite other.sqlite | sed -n 's/^\(Summary\|Kernels\)$/\1/p')" Kernels \
	'a part of the time is compared without the time of the whole'
is "$(cmp -k wall,kernel --filter-pid 1 base.sqlite other.sqlite | sed -n 's/^\(Summary\|Kernels\)$/\1/p')" Kernels 'one process is compared without the time of the whole'
cp base.sqlite session.sqlite && chmod 644 session.sqlite
sqlite3 session.sqlite 'DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL; DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME; DELETE FROM NVTX_EVENTS;
	DELETE FROM OSRT_API'
sqlite3 base.sqlite .dump | sqlite3 tree.sqlite
sqlite3 tree.sqlite 'CREATE TABLE SL_PROCESS_TREE(globalPid, start, end, traced, kind);
	INSERT INTO SL_PROCESS_TREE VALUES (16777216, 100, 2500, 1, 0), (33554432, 1000, 2600, 1, 1), (50331648, 0, 9000, 0, 0)'
is "$(cmp -f json -k wall session.sqlite tree.sqlite | "$PY" -c 'import json, sys; print([s["total"] for s in json.load(sys.stdin)["kinds"][0]["rows"][0]["sets"]])')" \
	'[1000000, 2500]' 'wall time is that of the processes, or of the session without processes'

# ---- conditions ----
gate() { # WANT CONDITION...
	gate_want=$1
	shift
	cmp base.sqlite other.sqlite --min-runs=1 "$@" >/dev/null 2>err
	is $? "$gate_want" "exit $gate_want: $*"
}
gate 3 --fail-on 'step.max > +3%'
gate 0 --fail-on 'step.max > +17%'
gate 3 --fail-on 'step.max > +16.6%'
gate 0 --fail-on 'step.median > +0%'
gate 3 --fail-on 'step.median >= +0%'
gate 3 --fail-on 'kernel[*gemm*].total >= +100ns'
gate 0 --fail-on 'kernel[*gemm*].total > +100ns'
gate 3 --fail-on 'gpu_idle < -30%'
gate 3 --fail-on 'io > 4kB'
gate 0 --fail-on 'io > 4.1kB'
gate 3 --fail-on 'kernel > +60ns' # 580 -> 650 all together
gate 0 --fail-on 'kernel > +70ns'
gate 0 --fail-on 'kernel.count > 5'
gate 3 --fail-on 'kernel.count < -0' # six, then five
gate 3 --fail-on 'step.max > +90%' --fail-on 'gpu_busy > +20%'
is "$(cat err)" 'sightline: compare: gpu_busy > +20%: found +22.64 % of other.sqlite' '--fail-on names the condition, the change and the report'
gate 3 --fail-on 'kernel[void gemm<64>(float*)] > +1%,wall > +1%'
gate 1 --fail-on 'syscall > +1%'
is "$(cat err)" "sightline: compare: --fail-on 'syscall > +1%' cannot be checked: the reports have no such syscall in common" \
	'--fail-on fails for a condition on what no report has'
gate 2 --fail-on 'kernl > +1%'
is "$(cat err)" "sightline: compare: --fail-on 'kernl > +1%': 'kernl' is not compared; did you mean 'kernel'?" '--fail-on names the nearest word for a misspelt one'
gate 2 --fail-on 'kernel > 1%'
cmp "$(runs base)" "$(runs other)" --fail-on 'osrt > +0%' >/dev/null 2>&1
is $? 0 '--fail-on does not fail for a change that may be chance'
cmp "$(runs base)" "$(runs other)" --fail-on 'kernel[*gemm*] > +10%' >/dev/null 2>&1
is $? 3 '--fail-on fails for a change that is more than chance'
five="$(runs base) $(runs other)"
few() { # WANT BASE OTHER OPTION...: exit status, lines on changes that were found, lines on too few runs
	few_want=$1
	shift
	cmp "$@" >/dev/null 2>err
	is "$? $(grep -c 'found .*, of too few runs to fail$' err) $(grep -c 'between fewer than . runs a side' err)" "$few_want" "$few_want: $*"
}
few '0 1 1' base.sqlite other.sqlite --fail-on 'step.max > +3%'
is "$(cat err)" 'sightline: compare: step.max > +3%: found +16.67 % in step # of other.sqlite, of too few runs to fail
sightline: compare: --fail-on passes over changes between fewer than 4 runs a side, for they may be chance: give more runs, joined by commas, or --min-runs=1' \
	'--fail-on with one run a side has a line on what was found and one on the runs'
is "$(cmp -f json base.sqlite other.sqlite --fail-on 'step.max > +3%' 2>/dev/null | grep -o '"condition": .*')" \
	'"condition": "step.max > +3%", "fired": false, "held_for_few_runs": true, "set": 1, "name": "step #", "value": 16.666666666666668}]}' \
	'JSON has a condition that too few runs meet'
few '0 0 1' base.sqlite other.sqlite --fail-on 'step.max > +17%'
few '3 0 0' base.sqlite other.sqlite --fail-on 'io > 4kB' # a figure of one side, no change
few '0 1 1' "$(runs base)" other.sqlite --fail-on 'kernel[*gemm*] > +10%'
few '0 1 1' base.sqlite "$(runs other)" --fail-on 'kernel > +60ns'
few '3 0 0' $five --fail-on 'kernel[*gemm*] > +10%'
few '0 1 1' $five --fail-on 'kernel[*gemm*] > +10%' --min-runs=6
few '3 0 0' $five --fail-on 'kernel[*gemm*] > +10%' --min-runs=5
few '3 0 1' $five other.sqlite --fail-on 'kernel[*gemm*] > +10%' # two sets: one of five runs, one of one
few '3 1 1' base.sqlite other.sqlite --fail-on 'step.max > +3%,io > 4kB'
cmp base.sqlite other.sqlite --fail-on 'wall > +1%' --min-runs=0 >out 2>err
is "$?$(cat err)" '2sightline: compare: --min-runs=0: a number from 1 to 1e+06 is expected' 'compare refuses --min-runs=0'

# ---- files ----
cmp -o out.txt base.sqlite other.sqlite && cmp base.sqlite other.sqlite >want.txt
check '-o writes the same text into a file' diff want.txt out.txt
cmp -o out.txt base.sqlite other.sqlite 2>err
is "$?$(grep -c force-overwrite err)" 11 '-o does not replace an existing file'
cmp -o out.txt --force-overwrite=true base.sqlite base.sqlite
is $? 0 '-o --force-overwrite=true replaces an existing file'
cp base.sqlite mine.sqlite && ln -s mine.sqlite link.txt
cmp -o link.txt --force-overwrite=true other.sqlite mine.sqlite 2>err
is "$?$(cat err)" '2sightline: compare: link.txt is one of the reports; name another -o' '-o never replaces a report, by whatever name'
check 'a report that -o was to replace is as it was' cmp_bytes base.sqlite mine.sqlite
cmp base.sqlite 2>err
is "$?$(grep -c 'two reports or more' err)" 21 'compare refuses one report alone'
cmp base.sqlite nothing.sqlite >out 2>err
is "$?$(wc -c <out)$(cat err)" '10sightline: compare: nothing.sqlite: No such file or directory' 'compare refuses a report that does not exist'
head -c 3000 base1.sqlite >cut.sqlite
cmp base.sqlite cut.sqlite >out 2>err
is "$?$(wc -c <out)$(grep -c cut.sqlite err)" 101 'compare refuses a report that is cut off'
cmp -k kernel,nothing base.sqlite other.sqlite 2>err
is "$?$(grep -c "'nothing' is nothing that is compared" err)" 21 'compare refuses an unknown kind'
is "$(cmp --list-kinds | awk '{ print $1 }' | tr '\n' ' ')" \
	'cpu instructions wall gpu_busy gpu_idle gpu_memory gpu_copied io step nvtx kernel gpu_copy api osrt file syscall ' '--list-kinds lists all kinds'
for sql in "$TOP"/exporters/compare/queries/*.sql; do
	check "$(basename "$sql") has a title, a unit and a place" sh -c '
		for key in title unit default; do grep -q "^-- $key: ." "$1" || exit 1; done' - "$sql"
done
is "$(md5sum -c --quiet before.md5 2>&1; ls base.sqlite-* 2>/dev/null)" '' 'compare does not change a report'

# ---- real ones ----
REAL=$TOP/../shared/data/nsys
if [ -r "$REAL/nsysai_mfu_2gpu_before.sqlite" ]; then
	cmp -f json "$REAL/nsysai_mfu_2gpu_before.sqlite" "$REAL/nsysai_mfu_2gpu_after.sqlite" >real.json
	check 'a pair of real reports: totals and medians of all kernels and calls are those of Python' "$PY" - real.json "$REAL" <<'PY'
import json, re, sqlite3, statistics, sys
d = json.load(open(sys.argv[1]))
want = {}
for s, name in enumerate(('before', 'after')):
    db = sqlite3.connect('file:%s/nsysai_mfu_2gpu_%s.sqlite?mode=ro&immutable=1' % (sys.argv[2], name), uri=True)
    text = dict(db.execute('SELECT id, value FROM StringIds'))
    for dur, full, short in db.execute('SELECT end - start, demangledName, shortName FROM CUPTI_ACTIVITY_KIND_KERNEL'):
        want.setdefault(('kernel', text[full]), ([], []))[s].append(dur)
    for dur, n in db.execute('SELECT end - start, nameId FROM CUPTI_ACTIVITY_KIND_RUNTIME'):
        want.setdefault(('api', re.sub('_v[0-9]{4,5}$', '', text[n])), ([], []))[s].append(dur)
rows = {(k['name'], r['name']): r['sets'] for k in d['kinds'] for r in k['rows'] if k['name'] in ('kernel', 'api')}
assert len(rows) > 20
same = 0
for key, runs in want.items():
    if key in rows:
        same += 1
        for run, got in zip(runs, rows[key]):
            assert (got is None) == (not run), key
            if run:
                assert got['total'] == sum(run) and got['count'] == len(run), key
                assert got['median'] == statistics.median(run), key
                assert got['p99'] == sorted(run)[-(-99 * len(run) // 100) - 1], key
assert same >= len(rows) - 3, (same, len(rows))
PY
else
	skip 'a pair of real reports: totals and medians of all kernels and calls are those of Python' 'the databases are not here'
fi
done_testing

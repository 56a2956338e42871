#!/bin/sh
# html.t - the HTML summary: a page that needs nothing else, whose figures are those of the report, and in
# which no name can do anything. html_page.py looks at the page, html_truth.py at the figures.
# shellcheck disable=SC2010,SC2012,SC2016
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'
SCHEMA=$TOP/collector/schema.sql

page() { "$BIN" report -q -f true "$@"; }
good() { # NAME: the page of NAME.sqlite is in order, and true
	check "$1: the page is well-formed" "$PY" "$E2E/report/html_page.py" "$1.html"
	check "$1: the page has what is in the report" "$PY" "$E2E/report/html_truth.py" "$1.sqlite" "$1.html"
	check "$1: the first card has the numbers of why" "$PY" "$E2E/report/html_why.py" "$BIN" "$1.sqlite" "$1.html"
}

# ---- everything at once, with names that want out ----
"$PY" "$E2E/report/html_make.py" "$SCHEMA" all.sqlite || exit 1
"$PY" "$E2E/report/html_make.py" "$SCHEMA" shuffled.sqlite shuffled || exit 1
md5sum all.sqlite >before.md5
check 'report makes a page of a report with all tables' page all.sqlite
good all
check 'report leaves the report as it was, and no file beside it' sh -c 'md5sum -c before.md5 && [ ! -e all.sqlite-wal ] && [ ! -e all.sqlite-shm ]'
check 'report makes a page of rows in any order' page shuffled.sqlite
good shuffled
is "$(sed 's/shuffled\.sqlite/all.sqlite/' shuffled.html | md5sum)" "$(md5sum <all.html)" 'rows in any order give the same page'
check 'the check of a page finds a handler in the markup' sh -c 'sed "s/<h2>/<h2 onclick=1>/" all.html >w.html; ! "$1" "$2" w.html' - "$PY" "$E2E/report/html_page.py"
check 'the check of a page finds a script that its policy does not allow' sh -c 'sed "s/\"use strict\"/\"use  strict\"/" all.html >w.html; ! "$1" "$2" w.html' - "$PY" "$E2E/report/html_page.py"
check 'the check of a page finds wrong figures' sh -c 'sed "s/\(fig-kernels.*data-v=.\)7/\16/" all.html >w.html; ! "$1" "$2" all.sqlite w.html' \
	- "$PY" "$E2E/report/html_truth.py"
check 'a page has every section in the order of the contents' "$PY" - "$E2E/report" all.html <<'EOP'
import sys
sys.path.insert(0, sys.argv[1])
from html_page import Page, rows_of
page = Page(sys.argv[2])
ids = [s['attrs']['id'] for s in page.all('section')]
want = 'why figures findings over-time how-long gpu api nvtx os files threads flame processes recording'.split()
if not page.data():
    assert page.by_id('no-charts')
assert ids == want, ids
assert [a['attrs']['href'][1:] for a in page.all('a')] == want
tree = [r for t in page.all('table') if 'below the one that started it' in t['text'] for r in rows_of(t)]
assert [r[0][0] for r in tree] == ['train', 'worker', 'killed'], tree
assert 'signal 9' in [c[0] for c in tree[2]] and tree[0][-1][0] == 'train <b>--x</b> "y"'
assert any('17' == c[0] for t in page.all('table') if 'What was lost' in t['text'] for r in rows_of(t) for c in r)
heads = [[c['text'] for c in next(e for e in t['below'] if e['tag'] == 'thead')['below'][0]['below']] for t in page.all('table')]
assert [h[:3] for h in heads if 'Blocked Time' in h] == [['Pid', 'Tid', 'Thread Name']], heads
assert [h[:2] for h in heads if 'Grid' in ' '.join(h) or 'Instances' in h][0][0] == 'Name', heads
titles = [e['text'] for e in page.all('title')]
assert titles[0] == 'all.sqlite', titles[0]
EOP

"$PY" "$E2E/report/html_make.py" "$SCHEMA" since1970.sqlite since1970 && "$PY" "$E2E/report/html_make.py" "$SCHEMA" nonsense.sqlite nonsense
check 'times since 1970: report makes a page' page since1970.sqlite
good since1970
if [ -s "$B/html/uplot.js" ]; then
	check 'times since 1970: the axis begins with the first event' grep -q '"from":0,' since1970.html
else
	skip 'times since 1970: the axis begins with the first event' 'built without charts'
fi
check 'nonsense: report makes a page' page nonsense.sqlite
check 'nonsense: the page is well-formed' "$PY" "$E2E/report/html_page.py" nonsense.html

# ---- what a report may lack ----
sqlite3 empty.sqlite <"$SCHEMA"
sqlite3 bare.sqlite 'CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL)'
sqlite3 nvtx.sqlite "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
	CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER);
	INSERT INTO NVTX_EVENTS VALUES (-5, 10, 59, 'early', 281475000000000), (7, NULL, 34, 'mark', 281475000000000)"
for d in empty bare nvtx; do
	check "$d: report makes a page" page $d.sqlite
	good $d
	check "$d: the page has no chart without numbers" sh -c '! grep -q "<figure" "$1"' - $d.html
done

# ---- real ones ----
profile git --osrt-threshold=0 git --version >/dev/null 2>err
check 'git: report makes a page' page git.sqlite
good git
profile python "$PY" "$TOP/scripts/demo.py" >/dev/null 2>err
check 'python: report makes a page' page python.sqlite
good python
if [ -f "$B/tests/standin/libcupti.so.13" ] && [ -x "$B/tests/gpu/train" ]; then
	SIGHTLINE_CUPTI=$B/tests/standin/libcupti.so.13 LD_LIBRARY_PATH=$B/tests/standin \
		profile train -t cuda,osrt --cuda-memory-usage=true "$B/tests/gpu/train" -n 50 -t2 >/dev/null 2>err
	check 'train: report makes a page' page train.sqlite
	good train
else
	skip 'train: report makes a page' 'the stand-ins are not built'
fi
for f in "$TOP"/../shared/data/nsys/*.sqlite; do
	d=$(basename "$f" .sqlite)
	if [ -f "$f" ]; then
		cp "$f" "$d.sqlite" && chmod 644 "$d.sqlite"
		check "$d: report makes a page" page "$d.sqlite"
		good "$d"
	else
		skip 'real databases: report makes a page' 'they are not here'
	fi
done

# ---- options ----
mkdir out && cp all.sqlite out/x.sqlite
is "$("$BIN" report out/x.sqlite | sed 's/[0-9.]* KiB/N KiB/')" 'out/x.html: N KiB' 'report prints the name and size of the page'
"$BIN" report -f true -o out/x.sqlite out/x.sqlite 2>err
is "$?$(cat err)" '2sightline: report: out/x.sqlite is the report itself; name another -o' '-o never replaces the report'
check 'a report that -o was to replace is as it was' cmp all.sqlite out/x.sqlite
"$BIN" report -q -o out/y out/x.sqlite && "$BIN" report -q -o out/z.htm --title 'A <title>' --rows 3 out/x.sqlite
"$BIN" report -o - out/x.sqlite >out/stdout
is "$(cd out && ls)" 'stdout
x.html
x.sqlite
y.html
z.htm' '-o names the page'
ln -s all.sqlite 'a b;c.sqlite'
"$BIN" report -q -o - --rows 3 'a b;c.sqlite' >page
check 'a command on the page has the name of the report quoted for sh' grep -q 'stats -r [a-z_]* &#39;a b;c.sqlite&#39;<' page
check '-o - prints the same page' cmp out/stdout out/y.html
check '--title and --rows set heading and rows of the page' "$PY" - "$E2E/report" out/z.htm <<'EOP'
import sys
sys.path.insert(0, sys.argv[1])
from html_page import Page
page = Page(sys.argv[2])
assert page.all('h1')[0]['text'] == page.all('title')[0]['text'] == 'A <title>'
assert len(page.table('cuda_gpu_kern_sum')) == 3
EOP
"$BIN" report -q --findings=false -o out/nofind out/x.sqlite
check '--findings=false leaves out the findings' sh -c '! grep -q "id=.findings" out/nofind.html && grep -q "id=.findings" out/y.html'
(ulimit -f 64 && "$BIN" report -q -f true -o out/large out/x.sqlite) 2>err
is "$? $(grep -c 'File too large$' err) $(ls out | grep -c large)" '1 1 0' 'a page that its file has no room for: the reason is named, and no file is left'
check '--filter-time makes a page of a part' "$BIN" report -q -f true --filter-time 500ms-900ms -o out/part out/x.sqlite
check 'a page of a part has only that part' "$PY" - "$E2E/report" out/part.html out/x.sqlite <<'EOP'
import sqlite3, sys
sys.path.insert(0, sys.argv[1])
from html_page import Page
page = Page(sys.argv[2])
db = sqlite3.connect(sys.argv[3])
want, = db.execute('SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE end > 500000000 AND start < 900000000').fetchone()
assert page.figure('kernels')[0] == want > 0, (page.figure('kernels'), want)
assert 0.39e9 < page.figure('wall')[0] < 0.45e9, page.figure('wall')
EOP

# ---- what can be wrong ----
wrong() { # STATUS TEXT ARG...
	wrong_want=$1 wrong_text=$2
	shift 2
	wrong_got=$("$BIN" report "$@" 2>&1)
	wrong_rc=$?
	is "$wrong_rc $(echo "$wrong_got" | wc -l)" "$wrong_want 1" "report $* ends with $wrong_want and one line"
	case $wrong_got in
	*"$wrong_text"*) result 0 "the message on a wrong report has '$wrong_text'" ;;
	*) result 1 "the message on a wrong report has '$wrong_text'" || echo "$wrong_got" | diag ;;
	esac
}
echo text >text.sqlite && : >zero.sqlite && head -c 200000 all.sqlite >cut.sqlite
sqlite3 other.sqlite 'CREATE TABLE t (x)'
ls >before.ls
wrong 1 'No such file' nothing.sqlite
wrong 1 'not an SQLite database' text.sqlite
wrong 1 'is empty' zero.sqlite
wrong 1 'cut off' cut.sqlite
wrong 1 'no report' other.sqlite
wrong 1 'out/x.html exists already' out/x.sqlite
wrong 1 'cannot write' -o nowhere/x.html all.sqlite
wrong 2 'no report is named'
wrong 2 'one report at a time' all.sqlite git.sqlite
wrong 2 "did you mean" --titel x all.sqlite
wrong 2 '' --rows 0 all.sqlite
wrong 2 '' --filter-time nonsense -o n.html all.sqlite
wrong 1 '' --filter-nvtx nosuchrange -o n.html all.sqlite
is "$(ls | grep -v before.ls)" "$(grep -v before.ls before.ls)" 'refused reports leave no page'
# A table that turns out to be damaged half-way.
cp all.sqlite damaged.sqlite
root=$(sqlite3 all.sqlite "SELECT rootpage FROM sqlite_master WHERE name = 'NVTX_EVENTS'")
printf '\377\377\377\377' | dd of=damaged.sqlite bs=1 seek=$(((root - 1) * 4096)) conv=notrunc 2>/dev/null
wrong 1 'damaged.sqlite' damaged.sqlite
check 'a damaged report leaves no page' sh -c '[ ! -e damaged.html ] && ! ls damaged.html.* 2>/dev/null'

# ---- help ----
check '--help has examples' sh -c '"$1" report --help | grep -q "sightline report run.sqlite"' - "$BIN"
check 'every option of report is in its manual page' sh -c '
	for o in $("$1" report --completion-data | cut -f2 | grep -v "^-"); do
		grep -q -e "Fl -$o" "$2" || { echo "$o"; exit 1; }
	done' - "$BIN" "$TOP/scripts/man/sightline-report.1"

# ---- a build without the chart library ----
(cd "$TOP" && make -s B="$W/plain" NPM=no-such-npm "$W/plain/gen/embed.o" html-charts) >plain.log 2>&1
is "$(grep -c 'built without charts' plain.log)" 1 'a build without npm names the missing charts once'
check 'a build without npm goes on' [ -s "$W/plain/gen/embed.o" ]
libs=$(cd "$TOP" && make -s B="$B" print-libs)
# shellcheck disable=SC2086
check 'a build without npm links' ${CC:-gcc} -o plain.bin "$B/collector/main.o" "$W/plain/gen/embed.o" "$B/libsightline.a" $libs
check 'a build without npm makes a page' ./plain.bin report -q -o plain.html all.sqlite
check 'the page of a build without npm is well-formed' "$PY" "$E2E/report/html_page.py" plain.html
check 'the page of a build without npm says that charts are missing, and has the rest' sh -c '
	grep -q "built without charts" plain.html && ! grep -q "Licence of" plain.html && grep -q flame-graph plain.html &&
	"$1" "$2" all.sqlite plain.html' - "$PY" "$E2E/report/html_truth.py"
done_testing

#!/bin/sh
# nsysrep.t - reports of Nsight Systems: every command reads one; beside nsys's own databases, which have the same rows and figures.
. tests/lib.sh
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'
MAKE=$PROG/nsysrep_make
PAIRS=${NSYSREP_PAIRS:-$TOP/../shared/data/nsysrep}
"$MAKE" run.nsys-rep >made
events=$(cut -d' ' -f 1 made)
if "$BIN" info run.nsys-rep 2>&1 | grep -q 'built without LZ4'; then
	skip_all 'built without LZ4 (package liblz4-dev)'
fi
rm -f run.nsys-rep.sqlite

# ---- a file made by hand ----
"$BIN" stats -q -r cuda_gpu_kern_sum -f csv run.nsys-rep >out 2>err
is "$? $(cat err) $(grep -c elementwise out) $(ls run.*)" '0  60 run.nsys-rep
run.nsys-rep.sqlite' 'stats reads a report of nsys and keeps its database beside it'
is "$(sqlite3 run.nsys-rep.sqlite 'SELECT (SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME) + (SELECT count(*) FROM OSRT_API) + (SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL) + (SELECT count(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY) + (SELECT count(*) FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION) + (SELECT count(*) FROM SCHED_EVENTS) + (SELECT count(*) FROM COMPOSITE_EVENTS) + (SELECT count(*) FROM NVTX_EVENTS) + (SELECT count(*) FROM PROCESSES)')" "$events" 'each event of the report is a row'
is "$(sqlite3 run.nsys-rep.sqlite 'PRAGMA integrity_check; SELECT count(*) FROM StringIds')" 'ok
401' 'the database is sound and has all strings'
before=$(ls -i run.nsys-rep.sqlite)
for command in info analyze why 'sql -q' compare ncu 'export -t text -o -' 'export -t json -o -' 'report -o r.html'; do
	# shellcheck disable=SC2086 # words
	case $command in
	sql*) set -- sql run.nsys-rep 'SELECT count(*) FROM StringIds' ;;
	compare) set -- compare run.nsys-rep run.nsys-rep ;;
	*) set -- $command run.nsys-rep ;;
	esac
	"$BIN" "$@" >out 2>err
	is "$? $([ -s out ] || [ -s r.html ] && echo text) $(wc -l <err)" '0 text 0' "$1 answers with a report of nsys: $command"
done
is "$(ls -i run.nsys-rep.sqlite)" "$before" 'the database of a report that stays the same is made once'
mv run.nsys-rep run.qdrep && rm run.nsys-rep.sqlite
"$BIN" export -q -t sqlite run.qdrep
is "$? $(sqlite3 run.sqlite 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL')" '0 64' 'export makes a database of a .qdrep, under the name that nsys gives it'
"$BIN" export -q -t sqlite run.qdrep 2>err
is "$? $(grep -c 'run.sqlite exists already' err)" '1 1' 'export does not replace a database without being asked'
"$BIN" export -q -t sqlite --tables='CUPTI_ACTIVITY_KIND_KERNEL' -o part.sqlite run.qdrep
is "$? $(sqlite3 part.sqlite "SELECT count(*) FROM sqlite_master WHERE name GLOB 'CUPTI*'")" '0 1' 'export --tables takes tables of a report of nsys'
rm -f ./*.sqlite

# ---- bad files ----
bad() { # TEXT NAME
	"$BIN" stats -q bad.nsys-rep >out 2>err
	if [ $? -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] && grep -Fq "$1" err && ! ls bad.nsys-rep.* >left 2>&1; then
		result 0 "$2"
	else
		result 1 "$2" && cat err left | diag
	fi
}
size=$(wc -c <run.qdrep)
head -c $((size / 2)) run.qdrep >bad.nsys-rep
bad 'is cut off, or still being written' 'a report of nsys that is cut off is named as such, and leaves no database'
: >bad.nsys-rep
rm -f bad.sqlite
"$BIN" info bad.nsys-rep >out 2>err
is "$? $(cat err)" '1 sightline: info: bad.nsys-rep is empty' 'an empty report of nsys is named as such'
for command in stats 'export -t text -o -' analyze why; do
	# shellcheck disable=SC2086 # words
	"$BIN" $command bad.nsys-rep >out 2>err
	is "$? $(cat err)" "1 sightline: ${command%% *}: bad.nsys-rep is empty" "an empty report of nsys is named as such: $command"
done
gzip -c run.qdrep >bad.nsys-rep
bad "bad.nsys-rep is no report of Nsight Systems: it is packed by gzip; if nsys wrote it all the same, 'nsys export --type sqlite' makes" \
	'a report of nsys that is packed is named as such, with the way out'
head -c 4096 /dev/urandom >bad.nsys-rep
bad 'is no report of Nsight Systems: it is encrypted or packed, by the look of its bytes' 'a file that looks encrypted is named as such'
cp bad.nsys-rep bad.sqlite && touch -d '-1 hour' bad.sqlite
"$BIN" stats bad.nsys-rep >out 2>err
is "$? $(grep -c 'bad.sqlite is older than bad.nsys-rep; make it anew with: nsys export' err)" '1 1' 'a database of an earlier report is not read in its place'
rm -f bad.sqlite
{
	head -c $((size / 2)) run.qdrep
	head -c 64 /dev/zero | tr '\0' '\377'
	tail -c +$((size / 2 + 65)) run.qdrep
} >bad.nsys-rep
bad "damaged" 'a report of nsys with bytes of others in it is damaged'
mkdir -p ro && cp run.qdrep ro/ && mkdir ro/run.qdrep.sqlite
is "$(XDG_CACHE_HOME=$PWD/cache "$BIN" stats -q -r cuda_gpu_kern_sum -f csv ro/run.qdrep | grep -c elementwise) $(find cache -name '*.nsys-rep.sqlite' | wc -l)" '60 1' 'where no database can be made beside it, it is made in the cache folder'

# ---- pairs of a report and the database that nsys made of it ----
if [ ! -d "$PAIRS" ]; then
	skip 'rows of nsys' "there is no $PAIRS"
	done_testing
	exit
fi
for file in "$PAIRS"/*rep; do
	name=$(basename "${file%.*}")
	mkdir -p "pair.$name/theirs" && cp "$file" "pair.$name/r.${file##*.}" && cp "${file%.*}.sqlite" "pair.$name/theirs/r.sqlite"
	check "each row of nsys's database is in that of $name, in its order, and no other" "$PY" "$TOP/tests/e2e/report/nsysrep_pairs.py" \
		"$BIN" "pair.$name/r.${file##*.}" "pair.$name/theirs/r.sqlite"
	for format in csv column json; do
		# All rows: an answer cut to its limit names the file in the command that shows more.
		all=
		[ $format != json ] || all='--limit=0 --max-bytes=0'
		# shellcheck disable=SC2086 # words
		(cd "pair.$name" && "$BIN" stats -q -f "$format" $all r.*rep) >ours 2>err
		# shellcheck disable=SC2086 # words
		(cd "pair.$name/theirs" && "$BIN" stats -q -f "$format" $all r.sqlite) >theirs 2>err
		check "stats -f $format prints of $name what it prints of nsys's database" cmp ours theirs
	done
done
done_testing

#!/bin/sh
# ranks_cell.t - from a dataset to its reports: view of a rank at a step, the worst one without being asked; the slowest step on the page of
# ranks report; and reports that are not to be opened.
# shellcheck disable=SC2016,SC2086
. tests/lib.sh
. "$TOP/tests/e2e/lib/ranks.sh"
command -v duckdb >/dev/null || skip_all 'duckdb is not there: PyPI could not be reached (package duckdb-cli)'
LD_LIBRARY_PATH=$STANDIN/job:$LD_LIBRARY_PATH

for i in 0 1 2 3; do
	RANK=$i LOCAL_RANK=$i WORLD_SIZE=4 "$BIN" profile --ranks=ds --run=r -o "r-$i" -s none --cpuctxsw=none -t cuda,nvtx,osrt,nccl --gpu-health=0 \
		"$GPU/ranks" "$W/meet" 20 2 2 60 11 >out.$i 2>err.$i &
done
wait
view() { # OPTION...: what view prints until it is ended
	timeout 4 "$BIN" view -d ds --no-open "$@" >out 2>err
}
start_of() { q "$W/r-$1.sqlite" "SELECT start FROM NVTX_EVENTS WHERE eventType = 59 AND text = 'step' ORDER BY start LIMIT 1 OFFSET $2 - 1"; }

view
is "$(head -1 out)" "rank 2, step 11: $W/r-2.sqlite" 'the worst cell: the late rank, and its step' || diag <err
is "$(sed -n 's/.*&at=\([0-9]*\)&.*/\1/p' out)" "$(start_of 2 11)" 'it opens where the step begins'
view --rank 1 --step 5
is "$(head -1 out) $(sed -n 's/.*&at=\([0-9]*\)&.*/\1/p' out)" "rank 1, step 5: $W/r-1.sqlite $(start_of 1 5)" 'a cell that is named' || diag <err
view --step 5 --rank 9
is "$? $(cat err)" '1 sightline: view: run r has no such step' 'a cell that is not there'
"$BIN" view --rank 1 r-1.sqlite >out 2>err
is "$? $(cat err)" '2 sightline: view: --run, --rank and --step are of a dataset: -d DATASET' 'a rank without a dataset'
"$BIN" ranks report -q -d ds -o page.html >out 2>err || diag <err

is "$(grep -c 'id="slowest"' page.html) $(grep -o 'Step 11 (the first apart)' page.html) $(grep -c '>rank [0-3]</text>' page.html) $(grep -c 'is not here' page.html)" '1 Step 11 (the first apart) 4 0' 'the page has the slowest step, of four ranks'
check 'the late rank comes first in it' sh -c 'grep -o ">rank [0-3]</text>" page.html | head -1 | grep -q "rank 2"'
for what in 'step, ' 'usleep, ' 'ncclDevKernel'; do
	check "the slowest step has bars of $what" grep -q "<title>$what" page.html || grep -o '<title>[^<]*' page.html | sort | uniq -c | diag
done
"$BIN" ranks fetch -d ds --run r --rank 3 -o fetched.sqlite r-3.sqlite >out 2>err || diag <err
mv r-3.sqlite elsewhere.sqlite
"$BIN" ranks report -q -d ds -o without.html >out 2>err
is "$(grep -c 'its report is not here' without.html)" 1 'a rank without its report has its name'
"$BIN" ranks report -q -d ds -o with.html fetched.sqlite >out 2>err || diag <err
is "$(grep -c 'its report is not here' with.html)" 0 'a fetched report takes its place'
view --rank 3
is "$? $(cat err)" "1 sightline: view: rank 3: its report is not here: $(hostname):$W/r-3.sqlite ('sightline view' there)" 'a report that has been moved: one line with its place'
ln -s "$W/elsewhere.sqlite" r-3.sqlite
view --rank 3
is "$?" 1 'a link in its place is not followed'
rm r-3.sqlite
cp r-1.sqlite r-3.sqlite
printf x >>r-3.sqlite
view --rank 3
check 'another file in its place is not opened' grep -q 'is another file than the one that was added: ' err || diag <err
"$BIN" ranks fetch -d ds --run r --rank 2 --time 0s-1s -o part.sqlite r-2.sqlite >out 2>err
check 'fetch takes reports by the paths that are given' [ -s part.sqlite ]
done_testing

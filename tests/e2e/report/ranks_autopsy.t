#!/bin/sh
# ranks_autopsy.t - of four ranks that wait for each other one dies or hangs: autopsy names it first, with its line, from what is left of the run; by
# one report of the node and by one per rank; after the collector was killed, too. More faults and ranks: tests/ranks/check-autopsy.
# shellcheck disable=SC2016,SC2046,SC2086,SC3045
SAMPLED=1
. tests/lib.sh
. "$TOP/tests/e2e/lib/ranks.sh"
[ -x "$GPU/deaths" ] || skip_all 'the stand-ins are not built'
"$BIN" status 2>/dev/null | grep -q '^eBPF  *ok' || skip_all 'eBPF is not permitted'
LD_LIBRARY_PATH=$STANDIN/job:$LD_LIBRARY_PATH
WHAT='-t cuda,nvtx,osrt,nccl --gpu-health=0'
RANKS='for i in 0 1 2 3; do RANK=$i LOCAL_RANK=$i WORLD_SIZE=4 "$0" "$@" & done; wait'
ulimit -c 0 2>/dev/null

one() { # FAULT: one profile over all ranks
	"$BIN" profile --ranks=ds --run="one-$1" -o "one-$1" $WHAT sh -c "$RANKS" "$GPU/deaths" "$W/one-$1.job" 5000 2 "$1" 150 >"one-$1.out" 2>"one-$1.err" &
}
each() { # FAULT: one profile per rank
	for i in 0 1 2 3; do
		RANK=$i LOCAL_RANK=$i WORLD_SIZE=4 "$BIN" profile --ranks=ds --run="each-$1" -o "each-$1-$i" $WHAT "$GPU/deaths" "$W/each-$1.job" 5000 2 "$1" 150 >"each-$1.out.$i" 2>"each-$1.err.$i" &
	done
}
ranks_of() { pgrep -f "deaths $W/$1.job" | while read -r r_pid; do [ "$(readlink "/proc/$r_pid/exe")" != "$GPU/deaths" ] || echo "$r_pid"; done; }
# Ends what is left of a run, as a batch system does.
end() { # RUN
	kill -TERM $(ranks_of "$1") 2>/dev/null
	sleep 0.3
	kill -KILL $(ranks_of "$1") 2>/dev/null
	true
}
line() { grep -n "GUILTY $1 \*/" "$TOP/tests/gpu/deaths.c" | cut -d: -f1; }
verdict() { # RUN EXPRESSION of d
	"$BIN" ranks autopsy -d ds --run "$1" -f json --limit=0 --max-bytes=0 >"$1.json" 2>err
	"$PY" -c "import json, sys; d = json.load(open('$1.json')); print($2)" 2>&1
}

each segv
one locks
each other
one killed
for run in each-segv one-locks each-other one-killed; do wait_for 60 test -e $run.job.fault; done
sleep 3
for run in each-segv one-locks each-other one-killed; do end $run; done
wait
while read -r run reason exit; do
	is "$(verdict "$run" '[d["cause"], d["ranks"][0]["place"]["line"], d["reason"], d["ranks"][0]["exit"], d["ranks"][0]["waiters"], [c["in"] for c in d["collectives"] if len(c["in"]) == 3]]')" \
		"[2, $(line "${run#*-}"), '$reason', '$exit', 3, [[0, 1, 3]]]" "$run: rank, line and end of the cause, and who waits for it" || "$BIN" ranks autopsy -d ds --run "$run" | diag
done <<'RUNS'
each-segv died killed by signal 11 (SIGSEGV)
one-locks not_joined killed by signal 15 (SIGTERM)
each-other elsewhere killed by signal 15 (SIGTERM)
one-killed died killed by signal 9 (SIGKILL)
RUNS
is "$(verdict one-locks 'd["ranks"][0]["deadlock"]')" True 'one-locks: the threads wait for each other'
check 'JSON follows its schema' "$PY" "$E2E/lib/schema.py" "$TOP/exporters/schemas/ranks-autopsy.json" each-segv.json
check 'the text begins with the cause, its line and its stack' sh -c '"$1" ranks autopsy -d ds --run each-segv | sed -n "3p;7,8p" | tr "\n" " " | grep -Eq "^Cause: rank 2 .*SIGSEGV.* at segv \(deaths.c:$2\), .*    segv \(.*/deaths.c:$2\)"' - "$BIN" "$(line segv)"
check 'the other ranks are one line' sh -c '"$1" ranks autopsy -d ds --run each-segv | grep -q "^Ranks 0, 1, 3: killed by signal 15 (SIGTERM) at reduce (deaths.c:.*, in AllReduce 150$"' - "$BIN"
check 'one page is written' "$BIN" ranks autopsy -d ds --run each-segv -o page.html
check 'the page has the cause and all ranks, and nothing of elsewhere' sh -c 'grep -q "id=\"guilty\"><b>Rank 2</b> .*segv (deaths.c:" page.html && [ "$(grep -c "<tr><td>[0-3]</td>" page.html)" = 4 ] && ! grep -Eq "<script|<link|https?://" page.html'
is "$("$BIN" ranks autopsy -d ds --run each-segv -o page.html 2>&1 >/dev/null | grep -c 'exists')" 1 'a page that exists is kept'

# ---- the collector dies with the run ----
each absent
wait_for 60 test -e each-absent.job.fault
sleep 3
kill -KILL $(pgrep -f "profile --ranks=ds --run=each-absent ") $(ranks_of each-absent)
wait
for i in 0 1 2 3; do "$BIN" recover "$W/each-absent-$i.sqlite" >out 2>err || diag <err; done
"$BIN" ranks add -q -d ds --run each-absent --node one each-absent-?.sqlite >out 2>err || diag <err
is "$(verdict each-absent '[d["cause"], d["reason"], d["ranks"][0]["place"]["line"]]')" "[2, 'not_joined', $(line absent)]" 'killed with its collectors, and recovered: rank and line' || "$BIN" ranks autopsy -d ds --run each-absent | diag

# ---- no cause, no ends ----
one none
sleep 2
end one-none
wait
"$BIN" ranks autopsy -d ds --run one-none >none.txt 2>err
is "$?" 4 'a job that was cancelled: status 4' || diag <none.txt
"$BIN" ranks remove -d ds --run one-killed >out 2>err || diag <err
check 'remove takes the ends of the run, and leaves those of others' [ ! -e ds/_ends/run=one-killed ] && [ -e ds/_ends/run=each-segv ]
rm -r ds/_ends
"$BIN" ranks autopsy -d ds --run each-segv >out 2>err
is "$? $(cat err)" "1 sightline: ranks autopsy: nothing is known of the ends of run each-segv: 'sightline ranks add' of this version keeps them" 'a dataset without ends'
done_testing

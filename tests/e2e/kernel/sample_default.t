#!/bin/sh
# sample_default.t - the samples that no option asks for: of the program and of nothing else, as many as its CPU time has
# periods, Python's lines in them; and no word about them where they are not permitted.
# shellcheck disable=SC2016
. tests/lib.sh
SAMPLED=1
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
[ "$(id -u)" = 0 ] || skip_all 'needs root'

"$BIN" profile -t none --cpuctxsw=none -s process-tree --python-sampling=true -f true -o probe true 2>err
if grep -q 'no CPU samples\|need eBPF' err; then
	skip_all "$(grep -m1 'no CPU samples\|need eBPF' err)"
fi

cat >hot.py <<'PY'
import sys, threading
def work(n):
    s = 0
    for i in range(n):
        s += i * i % 7  # hot
    return s
rounds = 3000000 // int(sys.argv[1])
t = threading.Thread(target=work, args=(rounds,))
t.start()
t.join()
work(2 * rounds)
PY
# Another process, busy meanwhile, of which there is no sample.
sh -c 'while :; do :; done' &
busy=$!
at_exit="kill $busy 2>/dev/null"
profile hot "$PY" hot.py 1 2>err
is $? 0 'a program, without an option'
kill $busy
at_exit=:
is "$(said err)" "sightline: report: $R" 'no word but the report'
is "$(q "$R" "SELECT value FROM META_DATA_CAPTURE WHERE name LIKE '%SAMPLING_FREQUENCY'")" 199 'without an option: 199 samples a second'
is "$(q "$R" "SELECT count(*) FROM COMPOSITE_EVENTS WHERE globalTid >> 24 << 24 NOT IN (SELECT globalPid FROM PROCESSES)")" 0 'no sample of another process'
# The independent witness: the time between switches in and out.
ran=$(q "$R" "SELECT sum(after - start) / 1000 FROM (SELECT start, isSchedIn, lead(start) OVER (PARTITION BY globalTid ORDER BY start) AS after
	FROM SCHED_EVENTS) WHERE isSchedIn AND after IS NOT NULL")
got=$(q "$R" 'SELECT count(*) FROM COMPOSITE_EVENTS')
# A clock of the CPU meets a thread independently of what it does: the bound is that of chance.
check "$got samples in $ran us on CPUs" awk "BEGIN { n = $ran * 199 / 1e6; exit !($got > n - 6 * sqrt(n) - 2 && $got < n + 6 * sqrt(n) + 2) }"
line=$(grep -n '# hot' hot.py | cut -d: -f1)
"$BIN" why -f json --limit=0 --max-bytes=0 "$R" >why.json
check 'why names the line that is hot' "$PY" -c '
import json
c = json.load(open("why.json"))["culprits"][0]
assert c["file"].endswith("hot.py") and c["line"] in ('"$((line - 1)), $line"'), c'

# ---- processes that live for less than a period ----
cat >short.sh <<'SH'
i=0
while [ $i -lt 300 ]; do i=$((i + 1)); (j=0; while [ $j -lt 300 ]; do j=$((j + 1)); done); done
SH
profile short -t none sh short.sh 2>err
ran=$(q "$R" "SELECT sum(after - start) / 1000 FROM (SELECT start, isSchedIn, lead(start) OVER (PARTITION BY globalTid ORDER BY start) AS after
	FROM SCHED_EVENTS) WHERE isSchedIn AND after IS NOT NULL")
got=$(q "$R" 'SELECT count(*) FROM COMPOSITE_EVENTS')
check "300 short processes have their share: $got samples in $ran us" awk "BEGIN { n = $ran * 199 / 1e6; exit !($got > n - 6 * sqrt(n) - 2 && $got < n + 6 * sqrt(n) + 2) }"

# ---- turned off, asked for, refused ----
profile none --sample=none "$PY" hot.py 10 2>err
is "$(q "$R" "SELECT count(*) FROM sqlite_master WHERE name = 'COMPOSITE_EVENTS'")" 0 '--sample=none: none'
"$BIN" why "$R" >text
check 'why says which option records them' grep -q 'Not recorded: samples; computing has no lines (--sample=process-tree)' text
profile sleeps sleep 0.1 2>err
"$BIN" why "$R" >text
check 'a program that does not compute: nothing is missing' sh -c '! grep -q "Not recorded: samples" text'
profile asked -s process-tree true 2>err
is "$(q "$R" "SELECT value FROM META_DATA_CAPTURE WHERE name LIKE '%SAMPLING_FREQUENCY'")" 1000 'asked for: as often as nsys does'
bare preload sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done'
check 'LD_PRELOAD alone: they are there' wait_for 20 sh -c "[ \"\$(sqlite3 '$R' 'SELECT count(*) > 5 FROM COMPOSITE_EVENTS' 2>/dev/null)\" = 1 ]"

denied() { "$PROG/denied" "$@"; }
denied bpf,perf_event_open "$BIN" profile -f true --cpuctxsw=none -o refused "$PY" hot.py 10 2>err
is $? 0 'refused: the program runs'
is "$(said err)" "sightline: report: $W/refused.sqlite" 'no word on stderr'
R=$W/refused.sqlite
is "$(q "$R" "SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE text LIKE 'no CPU samples: %'")" 1 'the report has the reason'
"$BIN" why "$R" >text
"$BIN" status >text
check 'where they are taken, status says so' grep -q '^CPU samples  *ok  *199 per second' text || diag <text
denied bpf,perf_event_open "$BIN" status >text
check 'refused: status has the reason' grep -q '^CPU samples  *no  *no CPU samples: .*perf_event_open' text || diag <text
denied bpf "$BIN" status >text
check 'without eBPF: what is missing then' grep -q "^CPU samples  *limited  *Python's frames in samples need eBPF" text || diag <text
"$BIN" why "$R" >text
check 'why prints why there are no samples' grep -q 'Not recorded: samples; computing has no lines: .*perf_event_open' text
denied bpf,perf_event_open "$BIN" profile -f true --cpuctxsw=none -s process-tree -o refused true 2>err
check 'asked for: a warning' grep -q 'no CPU samples: ' err
denied bpf "$BIN" profile -f true --cpuctxsw=none -o threads sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done' 2>err
is "$(said err)" "sightline: report: $W/threads.sqlite" 'without eBPF: no word either'
check 'events of threads take samples' [ "$(q threads.sqlite 'SELECT count(*) FROM COMPOSITE_EVENTS')" -gt 5 ]
done_testing

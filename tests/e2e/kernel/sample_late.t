#!/bin/sh
# sample_late.t - with LD_PRELOAD alone, samples begin while the program runs: the report has the time, and, of a program that ends at
# once, the reason for none; context switches and the process tree are there from the start.
. tests/lib.sh
[ "$(id -u)" = 0 ] || skip_all 'needs root'
"$BIN" status 2>/dev/null | grep -q '^eBPF *ok' || skip_all 'no eBPF here (sightline status)'

texts() { q "$R" 'SELECT text FROM DIAGNOSTIC_EVENT'; }
begin() { q "$R" "SELECT value FROM META_DATA_CAPTURE WHERE name = 'SL_LATE_EVENTS:BEGIN'"; }
# Until the file "stop" is there; then for a while on a CPU.
cat >steps.sh <<'SH'
/bin/true
while [ ! -e "$1" ]; do /bin/true; done
i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done
SH

SIGHTLINE_OUTPUT=$W/long.sqlite SIGHTLINE_OPTIONS='--session-new=long' LD_PRELOAD=$SHIM sh steps.sh stop >out 2>err &
R=$W/long.sqlite
check 'the report says since when samples are recorded' wait_for 20 sh -c "[ -s '$R' ] && [ -n \"\$(sqlite3 '$R' \"SELECT value FROM META_DATA_CAPTURE WHERE name = 'SL_LATE_EVENTS:BEGIN'\" 2>/dev/null)\" ]"
: >stop
wait $!
is "$? $(cat out err)" '0 ' 'the output and the status are the program'\''s'
check 'the report is finished' wait_for 20 finished "$R"
begin=$(begin)
is "$(texts | grep -c "^CPU samples, requests to block devices begin $((begin / 1000000)) ms after the recording: a bare preload ")" 1 'a diagnostic has the same time'
is "$(q "$R" "SELECT count(*) > 5 FROM COMPOSITE_EVENTS WHERE start > $begin")" 1 'there are samples from then on'
is "$(q "$R" 'SELECT count(*) FROM COMPOSITE_EVENTS WHERE globalTid >> 24 << 24 NOT IN (SELECT globalPid FROM PROCESSES)')" 0 'no sample is of another process'
is "$(q "$R" "SELECT count(*) > 0 FROM SCHED_EVENTS WHERE start < $begin")" 1 'context switches are there before'
is "$(q "$R" "SELECT count(*) > 0 AND count(*) = sum(exitStatus = 0) FROM SL_PROCESS_TREE WHERE start < $begin AND exe LIKE '%/true'")" 1 'each process from before has its end'
is "$(q "$R" "SELECT count(*) FROM META_DATA_CAPTURE WHERE name = 'SL_CONTRADICTIONS'")" 0 'the process tree does not contradict itself'
"$BIN" info "$R" >text
check 'info prints the time' grep -q "SL_LATE_EVENTS:BEGIN = $begin" text

# A process that neither ends nor is followed by the report's own collector would hang here.
bare short /bin/true 2>err
check 'a program that ends at once: the report is finished' wait_for 20 finished "$R"
if [ -z "$(begin)" ]; then
	is "$(texts | grep -c '^no CPU samples: the program ended before a bare preload opens them')" 1 'a program that ends at once: the report has the reason for no samples'
	is "$(q "$R" "SELECT count(*) FROM sqlite_master WHERE name = 'COMPOSITE_EVENTS'")" 0 'a program that ends at once: it has no samples'
else
	skip 'a program that ends at once' 'the machine was so slow that samples were opened'
fi
is "$(q "$R" 'SELECT count(*) > 1 FROM SCHED_EVENTS')" 1 'a program that ends at once: its context switches are there'

# Options that ask for events of the kernel: all is there before the program.
SIGHTLINE_OPTIONS='-s process-tree' bare asked /bin/true 2>err
check 'asked for: the report is finished' wait_for 20 finished "$R"
is "$(begin)$(texts | grep -c 'a bare preload')" 0 'samples that an option asks for are not late'
profile before /bin/true 2>err
is "$(begin)$(texts | grep -c 'a bare preload')" 0 'samples of profile are not late'
done_testing

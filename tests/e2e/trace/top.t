#!/bin/sh
# `sightline top`: what it shows of a running program is what the program does; on a terminal, as text, as JSON, and
# of reports that end, vanish or are none.
# shellcheck disable=SC2086,SC2016
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'

top() { "$BIN" top "$@"; }
# EXPRESSION over d, the last look in FILE.
json() { "$PY" -c '
import json, sys
d = json.loads(open(sys.argv[1]).read().splitlines()[-1])
def one(table, **what):
    found = [r for r in d[table] if all(r[k] == v for k, v in what.items())]
    assert len(found) == 1, (table, what, found)
    return found[0]
print(eval(sys.argv[2]))' "$1" "$2"; }

# ---- a program that obeys commands ----
mkfifo ask
start() { # REPORT OPTION...
	R=$W/$1.sqlite
	start_to=$W/$1
	shift
	"$BIN" profile -f true -o "$start_to" "$@" "$PROG/steady" data <ask >said 2>err &
	profiler=$!
	exec 3>ask
}
tell() {
	tell_lines=$(wc -l <said)
	echo "$1" >&3
	[ "$1" = go ] || wait_for 20 said_cnt $((tell_lines + 1))
}
finish() {
	echo end >&3
	exec 3>&-
	wait "$profiler"
}
said_cnt() { [ "$(wc -l <said)" -ge "$1" ]; }

all_summed() {
	top -f json -n 1 "$R" >look 2>err.top &&
		[ "$(json look 'one("functions", function="pwrite")["calls"] == 3000 and one("functions", function="close")["calls"] >= 3000 and one("threads", process="steady")["calls"] >= 9000')" = True ]
}
for threshold in 0 1000000; do
	start live$threshold --osrt-threshold=$threshold
	echo 3000 >&3
	wait_for 20 said_cnt 1
	check "threshold $threshold: three looks succeed" top -f json -n 3 "$R"
	# All that was done is in the sums before long.
	wait_for 10 all_summed
	is "$(json look 'one("functions", function="pwrite")["calls"], one("functions", function="pwrite")["mb"]')" \
		'(3000, 12.288)' "threshold $threshold: sums have every pwrite and its bytes"
	is "$(json look '[one("functions", function="close")[k] >= 3000 for k in ("calls", "errors")]')" '[True, True]' \
		"threshold $threshold: sums have every close, and that it failed"
	is "$(json look 'sum(f["read_mb"] for f in d["files"] if f["path"] in (None, "'"$W"'/data")) >= 6.144, one("processes", process="steady")["written_mb"] >= 12.288')" \
		'(True, True)' "threshold $threshold: sums have bytes by file and process"
	is "$(json look 'one("threads", process="steady")["calls"] >= 9000')" True "threshold $threshold: sums have the calls of the thread"
	finish
	is "$(q "$R" "SELECT count(*) FROM sqlite_master WHERE name LIKE 'SL_LIVE%'")" 0 "threshold $threshold: a finished report has no sums of top"
	check "threshold $threshold: the report is sound" intact "$R"
	top -f json "$R" >total 2>err.top
	is "$(json total 'd["state"], one("functions", function="pwrite")["calls"], one("functions", function="pwrite")["mb"]')" \
		"('finished', 3000, 12.288)" "threshold $threshold: the finished report has the same totals"
	is "$(json total 'one("functions", function="close")["errors"] == one("functions", function="close")["calls"] or one("functions", function="close")["errors"]')" \
		"$(json look 'one("functions", function="close")["errors"] == one("functions", function="close")["calls"] or one("functions", function="close")["errors"]')" \
		"threshold $threshold: the finished report has the same errors"
done
# One in which the machine takes the processor away is long.
is "$(json look 'one("files", path=None)["operations"] >= 5000, sum(f["operations"] for f in d["files"] if f["path"] in (None, "'"$W"'/data")) >= 6000')" \
	'(True, True)' 'short calls stand in a line of their own'

# ---- rates ----
works_in_turn() { # the calls of "go" are in the sums
	top -f json -n 1 "$R" >look 2>err.top && [ "$(json look 'one("functions", function="pread")["calls"] >= 100')" = True ]
}
start rates --osrt-threshold=0
tell spin
tell go
wait_for 20 works_in_turn
top -f json -n 2 -i 2 "$R" >look 2>err.top
is $? 0 'top -n 2 succeeds'
is "$(wc -l <look)" 2 'top -n 2 prints one object per look'
is "$(json look 'd["state"], d["interval_seconds"] > 0.5, d["processes_alive"]')" "('recording', True, 1)" 'a look has the state of the recording'
is "$(json look 'round(one("files", path="'"$W"'/data")["written_mb_per_second"] / one("functions", function="pwrite")["calls_per_second"] * 1e6)')" \
	4096 'bytes per second are those of the calls per second'
is "$(json look 'abs(one("functions", function="pread")["calls_per_second"] / one("functions", function="close")["calls_per_second"] - 1) < 0.05')" \
	True 'functions that are called in turn have one rate'
is "$(json look 'one("functions", function="pread")["calls_per_second"] < one("functions", function="pread")["calls"]')" True \
	'a rate is not the total'
if [ "$(json look 'max(t["cpu_percent"] is not None for t in d["threads"])')" = True ]; then
	is "$(json look 'sorted(d["threads"], key=lambda t: -t["cpu_percent"])[0]["calls_per_second"] < 1')" True \
		'the thread that takes most CPU is the one without calls'
	is "$(json look 'all(t["cpu_percent"] + t["off_cpu_percent"] < 101 for t in d["threads"])')" True \
		'no thread has more CPU and off-CPU time than there is'
	is "$(json look 'round(max(t["cpu_percent"] + t["off_cpu_percent"] for t in d["threads"]))')" 100 "CPU and off-CPU time are all of a thread's time"
else
	skip 'no thread has more CPU and off-CPU time than there is' 'no context switches here'
fi

# ---- a report that was left behind ----
rm -f left.sqlite
sqlite3 -readonly "$R" "VACUUM INTO 'left.sqlite'"
top --once --view=functions left.sqlite >text
is $? 0 'a report left behind is shown'
check 'a report left behind: a message says that its collector is gone' grep -q 'left.sqlite: its collector is gone' text
check 'a report left behind: its last sums are shown' grep -q ' pwrite$' text
"$BIN" export -t sqlite -o copy.sqlite "$R" >out 2>err.top
is "$(sqlite3 copy.sqlite "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'SL_LIVE%'")" 0 'sums of top do not go into copies'

# ---- text ----
top --once --view=functions --sort=name "$R" >text
is "$(awk 'f && NF > 1 { print $NF } / >?FUNCTION/ { f = 1 }' text | sort | tr '\n' ' ')" "$(awk 'f && NF > 1 { print $NF } / >?FUNCTION/ { f = 1 }' text | tr '\n' ' ')" \
	'--sort=name sorts functions by name'
check '--sort=name shows pwrite' grep -q ' pwrite$' text
top --once --view=functions --sort=average_us --reverse "$R" >text
is "$(awk 'f && NF > 1 { print $3 } / FUNCTION/ { f = 1 }' text | sort -g | tr '\n' ' ')" "$(awk 'f && NF > 1 { print $3 } / FUNCTION/ { f = 1 }' text | tr '\n' ' ')" \
	'--sort=average_us --reverse sorts by the mean, least first'
check 'the column of --sort is marked' grep -qF '^AVG us' text
top --once --view=functions --filter=PRE "$R" >text
is "$(awk 'f { print $NF } / FUNCTION/ { f = 1 }' text)" pread '--filter takes letters of either case'
top --once --view=files --rows=1 --by-process "$R" >text
check '--by-process names the process beside the file' grep -qF "data  (steady)" text
top --once --session=none "$R" 2>err.top
is $? 2 'top of a report and a session is refused'
name=$("$BIN" sessions list --format=json | "$PY" -c '
import json, sys
print(*[s["name"] for s in json.load(sys.stdin) if s["report"] == sys.argv[1]])' "$R")
check 'top --session finds the report of the session' sh -c "'$BIN' top --once --session='$name' | grep -qF 'session $name: '"

# ---- CUDA and GPUs, on the stand-ins ----
if [ -x "$B/tests/gpu/train" ] && [ -f "$B/tests/standin/libcupti.so.13" ]; then
	LD_LIBRARY_PATH=$B/tests/standin SIGHTLINE_CUPTI=$B/tests/standin/libcupti.so.13 "$BIN" profile -f true -o gpu -t cuda \
		--cuda-flush-interval=100 "$B/tests/gpu/train" -w 4000 >gpu.said 2>gpu.err &
	gpu=$!
	wait_for 20 grep -q '^wrong' gpu.said
	all_is_there() { # as many kernels and copies as the program has counted, and the call that ends them
		top -f json gpu.sqlite >look 2>err.top &&
			[ "$(json look 'sum(g["kernels"] for g in d["gpus"]), sum(g["copies"] for g in d["gpus"]), any(f["function"].startswith("cudaDeviceSync") for f in d["cuda"])')" = \
				"$(awk '$1 == "kernel" { kernels += $3 } $1 == "copy" { copies += $3 } END { printf "(%d, %d, True)", kernels, copies }' gpu.said)" ]
	}
	wait_for 20 all_is_there
	is "$(json look '[(f["library"], f["calls"]) for f in d["cuda"] if f["function"].startswith("cudaDeviceSynchronize")]')" \
		"[('cuda', $(awk '$2 == "cudaDeviceSynchronize" { print $3 }' gpu.said))]" 'top counts the calls into CUDA'
	wait "$gpu"
	top -f json gpu.sqlite >total 2>err.top
	is "$(json look '[(g["gpu"], g["name"], g["kernels"], g["copies"], g["copied_mb"], round(g["busy_seconds"], 6)) for g in d["gpus"]]')" \
		"$(json total '[(g["gpu"], g["name"], g["kernels"], g["copies"], g["copied_mb"], round(g["busy_seconds"], 6)) for g in d["gpus"]]')" \
		'sums of a GPU while it is recorded are those of the rows'
	is "$(json total 'd["gpus"][0]["kernels"] > 0 and 0 < d["gpus"][0]["busy_seconds"] <= d["gpus"][0]["kernel_seconds"] * 10')" True \
		'a GPU of the stand-in had kernels and was busy'
	check 'the GPU stands above the table' sh -c "'$BIN' top --once --view=cuda gpu.sqlite | grep -q '^GPU 0: busy [0-9]* %'"
else
	skip 'top counts the calls into CUDA' 'the stand-ins are not built'
fi

# ---- the writer is not held up ----
top -f json -n 1000 "$R" >look 2>err.top &
watcher=$!
wait_for 20 eval '[ "$(wc -l <look)" -ge 2 ]'
finish
wait_for 5 sh -c "! kill -0 $watcher 2>/dev/null"
check 'watched to its end: the report is one file' finished "$R"
check 'a finished report ends the looks of top' sh -c "! kill -0 $watcher"
is "$(json look 'd["state"]')" finished 'the last look at a finished report has its state'

# ---- reports that are none ----
for bad in none.sqlite ask said "$W"; do
	top --once "$bad" >out 2>err.top
	is $? 1 "top of $bad fails"
	is "$(wc -l <err.top) $(wc -c <out)" '1 0' "top of $bad prints one line"
done
: >empty.sqlite
top --once empty.sqlite 2>err.top
is "$? $(cat err.top)" '1 sightline: top: empty.sqlite is empty' 'top of an empty file fails with one line'
top --once --interval=0.2 "$R" 2>err.top
is $? 2 'top refuses an interval that is too short'
top --once --sort=speed "$R" 2>err.top
is $? 2 'top refuses an unknown column'
check 'the refusal of an unknown column names the known ones' grep -q cpu_percent err.top
top "$R" </dev/null >out 2>err.top
is "$?" 1 'top without a terminal fails'
check 'the message on a missing terminal names --once' grep -q -e --once err.top
for i in 1 2 3 4 5 6 7 8; do
	rm -f young.sqlite
	"$BIN" profile -f true -t none --cpuctxsw=none -o young true >out 2>err &
	until [ -e young.sqlite ] || ! kill -0 $! 2>/dev/null; do :; done
	# The check of the name, before the run, makes the file and removes it: then it is not there for a moment.
	until top --once young.sqlite >out 2>err.one; do
		grep -q 'No such file' err.one && kill -0 $! 2>/dev/null && continue
		grep -q 'No such file' err.one && top --once young.sqlite >out 2>err.one && break
		{ cat err.one >>err.young && echo "$i" >>young.bad; }
		break
	done
	wait $!
done
check 'a report that has no tables yet gets them in a moment' sh -c '[ ! -e young.bad ] || { cat err.young; exit 1; }'
cp "$R" nsys.sqlite
sqlite3 nsys.sqlite "UPDATE META_DATA_EXPORT SET value = 'NVIDIA Nsight Systems' WHERE name = 'EXPORT_PRODUCT_NAME';
	DROP TABLE IF EXISTS SL_OSRT_TOTALS; DROP TABLE IF EXISTS SCHED_EVENTS"
top --once --view=functions nsys.sqlite >text
is $? 0 'top shows a report of nsys'
check 'top of a report of nsys names what it does not have' grep -q 'not in this report: context switches.*, calls below the threshold' text
check 'top of a report of nsys shows its functions' grep -q 'pwrite$' text

# ---- on a terminal ----
command -v tmux >/dev/null 2>&1 || {
	skip 'screen: the processes are shown' 'tmux is not installed (package tmux)'
	done_testing
}
"$BIN" top "$R" 2>&1 </dev/null | grep -q 'without ncurses' && {
	skip 'screen: the processes are shown' 'built without ncurses (package libncurses-dev)'
	done_testing
}
server=0
mux() { tmux -L "sightline-$$-$server" "$@"; }
at_exit='mux kill-server 2>/dev/null'
screen() { mux capture-pane -p; }
shows() { screen | grep -q -e "$1"; }
shows_not() { ! shows "$1"; }
sees() { # NAME PATTERN: before long; else what is there is told
	wait_for 10 shows "$2"
	result $? "$1" || screen | diag
}
open_screen() { # COMMAND
	mux kill-server 2>/dev/null
	server=$((server + 1)) # one that ends may still be there under the old name
	TERM=xterm-256color LC_ALL=C mux -u -f /dev/null new-session -d -x 110 -y 30 "trap : INT; stty -a >before; $1; echo \"status \$?\"; stty -a >after; sleep 600"
}
press() { mux send-keys "$@"; }

start screen --osrt-threshold=0
tell go
open_screen "'$BIN' top '$R'"
sees 'screen: the processes are shown' 'CPU %.*PROCESS'
sees 'screen: the state of the recording is shown' ': recording'
sees 'screen: events per second are shown' '[1-9][0-9]* events/s: .*steady data'
sees 'screen: the program is shown' '^ *[0-9][0-9]* .* steady$'
sees 'screen: the names of the tables are shown' '^1 Processes  2 Functions  3 Files  4 CUDA and GPUs$'
press t
sees 'screen: the key t shows threads' 'TID.*THREAD'
press 2
sees 'screen: the key 2 shows functions' '>CALLS/s .*FUNCTION'
sees 'screen: functions that are called are shown' ' pwrite$'
most_first() {
	screen >now
	awk 'f && NF > 4 { print $1 } /FUNCTION/ { f = 1 }' now >order
	[ -s order ] && sort -gr order | cmp - order
}
check 'screen: the most called come first' wait_for 5 most_first
press '>'
sees 'screen: the key > sorts by the next column' '>ms/s'
press r
sees 'screen: the key r turns the order round' '\^ms/s'
press /
press wri
sees 'screen: a filter is shown while it is typed' 'filter: wri_'
press Enter
check 'screen: the filter leaves others out' wait_for 10 shows_not ' pread$'
sees 'screen: the filter lets pwrite in' ' pwrite$'
press / BSpace BSpace BSpace Enter
sees 'screen: all functions are back without a filter' ' pread$'
press c
sees 'screen: the key c shows totals' 'TIME s'
press c
press Tab
sees 'screen: the key Tab shows files' "OPS/s.*PATH"
sees 'screen: the file of the program is shown' " $W/data\$"
press h
sees 'screen: the key h shows help' 'threads, not processes'
press h
press Space
sees 'screen: the space bar pauses' '^PAUSED'
press Space
check 'screen: the space bar ends the pause' wait_for 10 shows_not '^PAUSED'
press +
sees 'screen: the key + makes the interval longer' 'every 2 s'
press -
mux resize-window -x 46 -y 9
sees 'screen, narrow: the path stays, numbers give way' 'OPS/s.*PATH$'
sees 'screen, narrow: the path is cut' '~$'
mux resize-window -x 12 -y 3
check 'screen, 12 columns: top goes on' wait_for 10 eval '[ -n "$(screen)" ] && ! screen | grep -q .............'
mux resize-window -x 110 -y 30
sees 'screen, wide again: all columns are back' 'WRITE MB/s  PATH'
press q
sees 'screen: the key q ends top' '^status 0'
check 'screen: nothing of top is left' wait_for 10 shows_not PATH
wait_for 5 test -s after
check 'screen: the terminal is as it was after the key q' cmp before after
for signal in TERM INT HUP; do
	rm -f after
	open_screen "'$BIN' top '$R'"
	wait_for 20 shows PROCESS
	pkill -$signal -f -x "$BIN top $R"
	sees "screen: SIG$signal ends top" "^status 1[0-9][0-9]"
	wait_for 5 test -s after
	check "screen: the terminal is as it was after SIG$signal" cmp before after
done
open_screen "TERM=nonesuch '$BIN' top '$R'"
sees 'screen: an unknown terminal is named' "kind 'nonesuch'"
sees 'screen: top fails on an unknown terminal' '^status 1$'
open_screen "NO_COLOR=1 '$BIN' top '$R' -n 2"
sees 'screen: -n 2 ends top after two looks' '^status 0'
if locale -a 2>/dev/null | grep -qix 'c.utf-\?8'; then
	open_screen "LC_ALL=C.UTF-8 '$BIN' top '$R' --view=files"
	sees 'screen: a path is shown on a terminal with UTF-8' "$W"
	mux resize-window -x 46 -y 9
	sees 'screen: a path is cut by an ellipsis on a terminal with UTF-8' '…$'
else
	skip 'screen: a path is shown on a terminal with UTF-8' 'no locale for them'
fi

# ---- the end, while top runs ----
open_screen "'$BIN' top '$R' --view=functions"
sees 'the recording ends: top shows functions before it' ' pwrite$'
finish
sees 'the recording ends: top says so' 'The recording is finished'
sees 'the recording ends: top keeps its table' ' pwrite$'
check 'the recording ends: the report is one file' finished "$R"
press q
sees 'the recording ends: the key q ends top' '^status 0'

# ---- a session, from one report to the next ----
"$BIN" launch --session-new="top-$$" "$PROG/steady" data <ask >said 2>err &
profiler=$!
exec 3>ask
wait_for 10 sh -c "'$BIN' sessions list | grep -q 'top-$$'"
top --once --session="top-$$" >out 2>err.top
is "$? $(cat err.top)" "1 sightline: top: the session 'top-$$' records nothing at present (sightline start begins)" \
	'session: top --once says that nothing is recorded'
open_screen "'$BIN' top --session=top-$$"
sees 'session: the screen has that nothing is recorded' "session top-$$: nothing is recorded"
echo go >&3
"$BIN" start --session="top-$$" -o "$W/one" 2>/dev/null
sees 'session: the first report is followed' 'one.sqlite: recording'
"$BIN" stop --session="top-$$" >/dev/null 2>&1
sees 'session: the first report is finished after stop' 'one.sqlite: finished'
"$BIN" start --session="top-$$" -o "$W/two" 2>/dev/null
sees 'session: the second report is followed' 'two.sqlite: recording'
session_works() {
	top -f json --session="top-$$" >look 2>err.top && [ "$(json look 'one("functions", function="pread")["calls"] >= 100')" = True ]
}
wait_for 20 session_works
is "$(json look 'one("functions", function="pwrite")["calls"] - one("functions", function="pread")["calls"] in (-1, 0, 1), d["time_seconds"] < 60')" '(True, True)' \
	'session: top has the sums of the second report'
finish
sees 'session: the second report is finished at the end' 'two.sqlite: finished'
press q
sees 'session: the key q ends top' '^status 0'

start gone
tell go
open_screen "'$BIN' top '$R'"
sees 'a report moved away: top shows it before' ': recording'
mv "$R" elsewhere.sqlite
mv "$R-wal" elsewhere.sqlite-wal
mv "$R-shm" elsewhere.sqlite-shm
sees 'a report moved away: top says so' 'No such file'
sees 'a report moved away: top fails' '^status 1$'
finish
done_testing

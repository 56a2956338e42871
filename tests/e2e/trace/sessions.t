#!/bin/sh
# Session control: launch, start, stop, cancel, shutdown, sessions list; names of sessions; permissions; and what is
# left when a process is killed. Reports hold what was recorded and nothing else.
. tests/lib.sh

mkdir "$W/tmp"
SIGHTLINE_SESSIONS=$W/tmp
export SIGHTLINE_SESSIONS

sl() { "$BIN" "$@"; }
end_all() { # whatever a failed check has left
	for s in $(sl sessions list -p false | awk '{ print $5 }'); do sl shutdown --kill=sigkill --session="$s"; done
} >/dev/null 2>&1
at_exit=end_all

says() { # STATUS PATTERN COMMAND...: exit status and one line on stderr
	want=$1 pattern=$2
	shift 2
	"$@" >out 2>err </dev/null
	got=$?
	cat err
	[ "$got" -eq "$want" ] && [ "$(wc -l <err)" -eq 1 ] && grep -Fq -- "$pattern" err
}
silent() { # COMMAND...: status 0 and not a word
	"$@" >out 2>err </dev/null || { cat err; return 1; }
	cat out err
	[ ! -s out ] && [ ! -s err ]
}
state() { sl sessions list -p false | awk -v name="$1" '$5 == name { print $3 }'; }
in_state() { [ "$(state "$1")" = "$2" ]; }
none() { [ -z "$(sl sessions list -p false)" ]; }
value() { # SESSION KEY: of sessions list --format=json
	sl sessions list --format=json | "$PY" -c '
import json, sys
print([s for s in json.load(sys.stdin) if s["name"] == sys.argv[1]][0][sys.argv[2]])' "$@"
}
rounds() { # NAME: waits until the program has begun and ended an open() of the phase's file from now on
	for _ in 1 2; do
		rm -f "mark-$1"
		wait_for 20 test -e "mark-$1" -o -s status || return
	done
}
phase() { # NAME: the phase before sees what was started meanwhile, then the program is in this one
	[ ! -s phase ] || rounds "$(cat phase)"
	printf '%s\n' "$1" >phase.new && mv phase.new phase
	rounds "$1"
}
phases_in() { # REPORT: of which there are calls, in order
	q "$1" "SELECT DISTINCT substr(path, instr(path, 'mark-') + 5) FROM call WHERE path LIKE '%/mark-%'" | tr '\n' ' '
}
begin() { # [OPTION...]: launches the program with phases; $!, its status goes to the file status
	rm -f phase status
	(
		sl launch "$@" "$PY" "$E2E/trace/sessions_phases.py" >launch.out 2>launch.err
		echo $? >status
	) &
}
finish() {
	[ ! -s phase ] || rounds "$(cat phase)"
	echo end >phase
	wait_for 20 test -s status
}

# ---- launch, start, stop, start, stop ----
begin --session-new=one
check 'launch: the session is active once the program runs' wait_for 20 in_state one Active
check 'sessions list has a line for the session of launch' sh -c "'$BIN' sessions list | grep -Eq '^ *[0-9]+ +[0-9][0-9]:[0-9][0-9] +Active +1 +one$'"
check 'stop without start is refused' says 1 "records nothing (begin: sightline start --session=one)" sl stop
check 'cancel without start is refused' says 1 'nothing to cancel' sl cancel
phase a
check 'start succeeds without a message' silent sl start -o first
is "$(state one)" Collection 'sessions list has the state Collection after start'
is "$(value one report)" "$W/first.sqlite" 'sessions list has the report that start named'
check 'start twice is refused' says 1 "records already, into $W/first.sqlite" sl start -o again
phase b
check 'stop names the report' says 0 "report: $W/first.sqlite" sl stop
check 'the report is complete when stop returns' intact first.sqlite
check 'no write-ahead log is beside the report after stop' test ! -e first.sqlite-wal
is "$(state one)" Active 'the session is active again after stop'
phase c
mkdir folder
check 'start in another folder begins a second report' sh -c "cd folder && '$BIN' start --session=one -o second"
phase d
check 'stop by the folder of the session names the second report' says 0 "report: $W/folder/second.sqlite" sl stop --session="$(value one directory)"
phase e
check 'start without a name for the report succeeds' silent sl start
phase f
check 'cancel of a recording succeeds without a message' silent sl cancel
is "$(ls ./*.sqlite)" './first.sqlite' 'cancel leaves no report'
phase g
check 'start before the end of the program succeeds' silent sl start -o last
phase h
finish
is "$(cat status)" 7 'launch has the exit status of the program'
is "$(cat launch.out)" '' 'launch prints nothing to stdout'
is "$(said launch.err)" "sightline: report: $W/last.sqlite" 'launch names the report that no stop asked for'
check 'the last report is complete when launch returns' intact last.sqlite
check 'the session is gone when the program has ended' none
is "$(ls -A tmp)" '' 'the session leaves no file'
# A phase begins and ends between two captures, or within one: the time of its message selects the capture.
is "$(phases_in first.sqlite)" 'a b ' 'the first report has what ran between start and stop'
is "$(phases_in folder/second.sqlite)" 'c d ' 'the second report has what ran between start and stop'
is "$(phases_in last.sqlite)" 'g h ' 'the last report has what ran from start to the end'
is "$(q first.sqlite "SELECT count(*) FROM OSRT_API WHERE start < 0 OR end < start")" 0 'times in a report begin with its recording'
check 'info reads the report of a session' sh -c "'$BIN' info last.sqlite | grep -q sessions_phases.py"

# ---- two at once; names ----
mkdir two && begin --session-new=a-1 && rm -f status
check 'two sessions: the first is active' wait_for 20 in_state a-1 Active
check 'launch refuses a variable that is not set in the name of a session' says 1 'SL_NAME, which is not set' sl launch --session-new='b_%q{SL_NAME}' true
(cd two && SL_NAME=x sl launch --session-new='b_%q{SL_NAME}' sh -c 'while [ ! -e ../stop-b ]; do cat /dev/null; sleep 0.01; done') 2>b.err &
b=$!
check 'two sessions: the second is active' wait_for 20 in_state b_x Active
check 'two sessions: stop asks for a name' says 2 'which session? Name it with --session=: a-1, b_x' sl stop
check 'start refuses a session that does not exist' says 1 "there is no session 'c'; there are: a-1, b_x" sl start --session=c
check 'launch refuses the name of another session' says 1 "a session is called 'a-1' already (process " sl launch --session-new=a-1 true
check 'profile refuses the name of another session' says 1 "a session is called 'a-1' already (process " sl profile --cpuctxsw=none --session-new=a-1 touch ran
check 'start refuses the name of another session' says 1 "a session is called 'a-1' already (process " sl start --session-new=a-1
is "$(ls ran 2>/dev/null)" '' 'a refused profile runs no program'
check 'launch refuses a name with a space' says 1 "is no name for a session" sl launch --session-new='a b' true
check 'launch refuses an empty name' says 2 "needs a name" sl launch --session-new= true
check 'two sessions: both are started' sh -c "'$BIN' start --session=a-1 -o ra && '$BIN' start --session=b_x -o rb"
phase x
check 'two sessions: both are stopped' sh -c "'$BIN' stop --session=a-1 2>&1 && '$BIN' stop --session=b_x"
is "$(phases_in ra.sqlite)" 'x ' 'two sessions: the first report has the calls of its program'
is "$(phases_in rb.sqlite)" '' 'two sessions: the second report has no calls of the first program'
: >stop-b
wait $b
finish
check 'two sessions: both are gone at the end' none
# Many that want one name: one gets it, also when it takes long until that one can be seen to have it.
for i in 1 2 3 4 5 6; do
	(SIGHTLINE_PRELOADED='' LD_PRELOAD=$PROG/lib/slow_listen.so sl launch --session-new=only sh -c 'while [ ! -e race.go ]; do sleep 0.05; done' >/dev/null 2>"race.$i"; echo $? >"race.$i.status") &
done
wait_for 60 sh -c '[ "$(cat race.*.status | wc -l)" -ge 5 ]'
: >race.go
wait
is "$(cat race.*.status | sort | uniq -c | tr -s ' \n' ' ')" ' 1 0 5 1 ' 'six launches want one name at once: one gets it'
is "$(ls /tmp/sightline-*.lock "/run/user/$(id -u)/"sightline-*.lock 2>/dev/null)" '' 'six launches that want one name leave no lock'

# ---- start before launch ----
# ---- a session of another terminal ----
on_terminal() { # COMMAND...: on a terminal of its own, which gets what comes on stdin
	"$PY" -c 'import os, pty, sys
status = pty.spawn(sys.argv[1:])
sys.exit(os.waitstatus_to_exitcode(status))' "$@"
}
answers() { # QUESTION ANSWER COMMAND...: on a terminal of its own, which gets the answer when the question is there
	"$PY" -c 'import os, pty, sys
question, answer = (word.encode() for word in sys.argv[1:3])
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[3], sys.argv[3:])
said = b""
while True:
    try:
        got = os.read(terminal, 1000)
    except OSError: # as the end of a terminal is
        got = b""
    if not got:
        break
    if question not in said and question in said + got:
        os.write(terminal, answer + b"\n")
    said += got
sys.stdout.buffer.write(said)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))' "$@"
}
on_terminal "$BIN" launch --session-new=other sh -c 'echo $$ >program; exec sleep 60' </dev/null >launch.out 2>&1 &
check 'a session begun on another terminal is active' wait_for 20 in_state other Active
check 'start of a session of another terminal succeeds by its name' silent sl start --session=other -o other
for c in stop cancel shutdown; do
	check "$c of a session of another terminal needs its name" says 2 "session 'other' was not begun in this terminal; if it is meant: sightline $c --session=other" sl $c
done
answers '[y/N]' n "$BIN" stop >out 2>&1
is "$? $(grep -c "session 'other' .* was not begun in this terminal; stop it? \[y/N\]" out)" '1 1' 'stop on a terminal asks about a session of another terminal'
is "$(state other)" Collection 'stop leaves the session alone at the answer n'
answers '[y/N]' y "$BIN" stop >out 2>&1
is "$? $(grep -c "report: $W/other.sqlite" out)" '0 1' 'stop ends the recording at the answer y'
check 'shutdown of a session of another terminal succeeds by its name' silent sl shutdown --session=other
check 'no session is left after shutdown' wait_for 20 none
check 'stop without any session' says 1 'there is no session (begin one: sightline launch)' sl stop
check 'start before launch makes a session' says 0 'a new session waits for its program' sl start --session-new=early -o early
is "$(state early)" Available 'a session made by start waits for its program'
check 'start twice before launch is refused' says 1 "was run already" sl start
check 'stop before launch is refused' says 1 "nothing is recorded: the session waits" sl stop
begin
check 'launch joins the session that start made' wait_for 20 in_state early Collection
phase k
finish
is "$(cat status)" 7 'launch that joined a session has the exit status of the program'
is "$(said launch.err)" "sightline: report: $W/early.sqlite" 'launch that joined a session names the report'
is "$(phases_in early.sqlite)" 'k ' 'the report of a joined session has the phase of its program'
is "$(q early.sqlite "SELECT count(*) > 0 FROM call WHERE path LIKE '%sessions_phases.py'")" 1 'the report of a joined session has its program from the beginning'
check 'start makes another session before launch' says 0 'a new session' sl start --session-new=never
check 'cancel of a session that waits succeeds' silent sl cancel
check 'a session that was cancelled before launch is gone' none
check 'launch refuses to join a session that is gone' says 1 "there is no session 'never'" sl launch --session=never true

# ---- shutdown ----
begin --session-new=down
check 'shutdown: the session is active before it' wait_for 20 in_state down Active
phase l
check 'shutdown: start before it succeeds' silent sl start -o down
phase m
check 'shutdown refuses an unknown signal' says 2 "option '--kill' takes none, sigkill" sl shutdown --kill=sigfoo
check 'shutdown names the report' says 0 "report: $W/down.sqlite" sl shutdown
check 'shutdown ends the program' wait_for 20 test -s status
is "$(cat status)" 143 'shutdown ends the program by SIGTERM'
check 'the report is whole after shutdown' intact down.sqlite
is "$(phases_in down.sqlite)" 'l m ' 'the report has what was recorded before shutdown'
begin --session-new=free
check 'shutdown --kill=none: the session is active before it' wait_for 20 in_state free Active
phase n
check 'shutdown --kill=none succeeds without a message' silent sl shutdown --kill=none
check 'shutdown --kill=none ends the session' none
check 'shutdown --kill=none: the program runs on' phase o
finish
is "$(cat status)" 7 'shutdown --kill=none: the program runs to its end'

# ---- profile and bare programs are sessions, too ----
rm -f phase status
(sl profile -Y --session-new=p -o prof "$PY" "$E2E/trace/sessions_phases.py" 2>prof.err; echo $? >status) &
check 'profile --start-later: the session is active' wait_for 20 in_state p Active
phase a
check 'profile --start-later: start succeeds' silent sl start
is "$(value p report)" "$W/prof.sqlite" 'profile --start-later: start records into the report that profile named'
phase b
check 'profile --start-later: stop names the report' says 0 "report: $W/prof.sqlite" sl stop
check 'profile --start-later: start with two commands succeeds again' silent sl start --after-collection-start='env >begun' --after-report-ready='chrt -p $$ >policy; env >ready'
check 'the command of --after-collection-start runs when recording has begun' wait_for 20 grep -q '^NSYS_SESSION_NAME=p$' begun
phase c
check 'profile --start-later: the second stop names another report' says 0 "report: $W/prof.2.sqlite" sl stop
check 'the command of --after-report-ready runs when the report is ready' wait_for 20 grep -q "^SIGHTLINE_REPORT_PATH=$W/prof.2.sqlite$" ready
is "$(sed -n 's/.* policy: //p' policy)" SCHED_OTHER 'the command of --after-report-ready has the usual scheduling policy'
is "$(grep -c CALLBACK_NAME=after-report-ready ready)" 2 'the command of --after-report-ready has its kind in the environment'
finish
is "$(phases_in prof.sqlite) $(phases_in prof.2.sqlite)" 'a b  b c ' 'profile --start-later: each of two reports has its part'
rm -f phase
(cd two && SIGHTLINE_OUTPUT=$W/bare.sqlite SIGHTLINE_OPTIONS=--session-new=bare LD_PRELOAD=$SHIM "$PY" -c '
import os, time
while not os.path.exists("../stop-bare"):
    os.path.exists("../early" if os.path.exists("../is-early") else "../late")
    os.close(os.open("../early" if os.path.exists("../is-early") else "../late", os.O_CREAT | os.O_RDONLY))
    time.sleep(0.002)
') &
check 'a bare program is a session' wait_for 20 in_state bare Collection
: >is-early
rm -f early && check 'a bare program opens its file' wait_for 20 test -e early
check 'stop of a bare program names the report' says 0 "report: $W/bare.sqlite" sl stop
rm -f is-early late; check 'a bare program runs on after stop' wait_for 20 test -e late
check 'a bare program can be recorded again' silent sl start
rm -f late; check 'a bare program runs in its second recording' wait_for 20 test -e late
: >stop-bare
wait
check 'the second report of a bare program is finished' wait_for 20 finished bare.2.sqlite
is "$(q bare.2.sqlite "SELECT count(*) > 0, sum(path LIKE '%/early') FROM call WHERE path LIKE '%/late' OR (path LIKE '%/early' AND name LIKE 'open%')")" '1|0' 'the second report of a bare program has the second part alone'
SIGHTLINE_OUTPUT=$W/same.sqlite LD_PRELOAD=$SHIM sh -c 'exit 0'
check 'a bare program that has ended leaves no session' wait_for 10 none

# ---- recording that something else begins ----
begin --session-new=arm
check 'the session to be armed is active' wait_for 20 in_state arm Active
check 'start with a capture range succeeds' silent sl start -c cudaProfilerApi -o armed
is "$(state arm)" DelayedCollection 'start with a capture range waits for the range'
check 'stop before a range says that nothing has begun' says 1 'nothing had been recorded yet' sl stop
is "$(state arm)" Active 'stop before a range disarms it'
check 'start refuses an option of launch' says 2 "option '--trace' belongs to 'sightline launch'" sl start --trace=osrt
check 'start refuses kernel events that launch did not ask for' says 1 'are settled when the program begins' sl start --syscall=process-tree
check 'start refuses an option that concerns the program' says 2 "option '--env-var' belongs to 'sightline launch'" sl start --env-var=A=1
check 'start without context switches succeeds' silent sl start --cpuctxsw=none -o calls
phase z
check 'stop of a recording without context switches names the report' says 0 "report: $W/calls.sqlite" sl stop
is "$(sqlite3 calls.sqlite "SELECT count(*) FROM sqlite_master WHERE name = 'SCHED_EVENTS'")" 0 'a recording without context switches has none in its report'
is "$(phases_in calls.sqlite)" 'z ' 'a recording without context switches has its calls'
check 'start refuses a capture range of nvtx without a name' says 2 'needs --nvtx-capture' sl start -c nvtx
check 'start with a hotkey succeeds' silent sl start -c hotkey --capture-range-end=repeat -o sig
phase a
kill -USR1 "$(value arm id)"
check 'SIGUSR1 to the collector begins a capture' wait_for 20 in_state arm Collection
phase b
kill -USR2 "$(value arm id)"
check 'SIGUSR2 to the collector ends the capture' wait_for 20 intact sig.1.sqlite
check 'the session waits for its hotkey again after SIGUSR2' wait_for 20 in_state arm DelayedCollection
check 'start --duration=3 succeeds' silent sl start -d 3 -o timed
is "$(state arm)" Collection 'start --duration=3 records'
check 'start --duration=3 ends by itself' wait_for 20 in_state arm Active
check 'start --duration=3 writes its report' wait_for 20 intact timed.sqlite
check 'start refuses a report in a folder that does not exist' says 1 "'$W/nowhere' for the report does not exist" sl start -o nowhere/x
check 'start refuses a report that exists' says 1 "timed.sqlite' exists" sl start -o timed
is "$(state arm)" Active 'a refused start leaves the session active'
finish
is "$(phases_in sig.1.sqlite)" 'a b ' 'SIGUSR1 and SIGUSR2 bound the capture'

# ---- processes that are killed ----
begin --session-new=k1
check 'SIGKILL of launch: the session is active before it' wait_for 20 in_state k1 Active
phase a
check 'SIGKILL of launch: start before it succeeds' silent sl start -o k1
kill -9 "$(pgrep -f "$BIN launch --session-new=k1")"
check 'SIGKILL of launch: the program runs on' phase b
check 'SIGKILL of launch: stop names the report' says 0 "report: $W/k1.sqlite" sl stop
is "$(phases_in k1.sqlite)" 'a b ' 'SIGKILL of launch: the report has all phases'
echo end >phase
check 'SIGKILL of launch: the session is gone when the program has ended' wait_for 20 none
begin --session-new=k2
check 'SIGKILL of the program: the session is active before it' wait_for 20 in_state k2 Active
phase a
check 'SIGKILL of the program: start before it succeeds' silent sl start -o k2
phase b
kill -9 "$(value k2 pid)"
check 'SIGKILL of the program ends launch' wait_for 20 test -s status
is "$(cat status)" 137 'SIGKILL of the program: launch has status 137'
check 'SIGKILL of the program: the report is whole' intact k2.sqlite
is "$(phases_in k2.sqlite)" 'a b ' 'SIGKILL of the program: the report has all phases'
begin --session-new=k4
check 'SIGTERM to the collector: the session is active before it' wait_for 20 in_state k4 Active
phase a
check 'SIGTERM to the collector: start before it succeeds' silent sl start -o k4
phase b
kill "$(value k4 id)"
check 'SIGTERM to the collector ends the session' wait_for 20 none
check 'SIGTERM to the collector: the report is whole' intact k4.sqlite
is "$(phases_in k4.sqlite)" 'a b ' 'SIGTERM to the collector: the report has all phases'
check 'SIGTERM to the collector: the program runs on' phase c
finish
is "$(cat status)" 7 'SIGTERM to the collector: the program runs to its end'
is "$(said launch.err)" "sightline: report: $W/k4.sqlite" 'SIGTERM to the collector: launch names the report'
begin --session-new=k3
check 'SIGKILL of the collector: the session is active before it' wait_for 20 in_state k3 Active
phase a
check 'SIGKILL of the collector: start before it succeeds' silent sl start -o k3
phase b
kill -9 "$(value k3 id)"
check 'SIGKILL of the collector: the session is shown as dead' wait_for 20 in_state k3 Dead
check 'SIGKILL of the collector: stop says that it is gone' says 1 "the collector of session 'k3' is gone" sl stop --session=k3
check 'SIGKILL of the collector: the program runs on' phase c
finish
is "$(cat status)" 7 'SIGKILL of the collector: the program runs to its end'
check 'SIGKILL of the collector: launch says that it ended early' grep -q "the collector of session 'k3' ended early" launch.err
check 'SIGKILL of the collector: recover succeeds' wait_for 20 sl recover k3.sqlite
check 'SIGKILL of the collector: the report is whole' intact k3.sqlite
is "$(phases_in k3.sqlite)" 'a b c ' 'SIGKILL of the collector: the report has all phases of the program'
check 'SIGKILL of the collector: no session is left' wait_for 20 none

# ---- permissions ----
if [ "$(id -u)" -eq 0 ] && id nobody >/dev/null 2>&1 && command -v setpriv >/dev/null; then
	as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups env SIGHTLINE_SESSIONS="$W/tmp" "$@"; }
	chmod 755 "$W" && chmod 1777 tmp
	begin --session-new=mine
	check 'a session of root is active' wait_for 20 in_state mine Active
	dir=$(value mine directory)
	cp "$BIN" sightline-copy && chmod 755 sightline-copy
	is "$(as_nobody ./sightline-copy sessions list -p false)" '' 'another user does not see a session of root'
	check 'another user does not see a session of root with --all' sh -c '[ -z "$(setpriv --reuid=65534 --regid=65534 --clear-groups env SIGHTLINE_SESSIONS="$1/tmp" ./sightline-copy sessions list --all -p false)" ]' sh "$W"
	check 'another user may not stop a session of root' says 1 "no session is in '$dir'" as_nobody ./sightline-copy stop --session="$dir"
	is "$(stat -c %a "$dir/command")" 600 'the socket of a session of root is for root alone'
	check 'another user cannot connect to the socket of a session of root' as_nobody "$PY" -c '
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
try:
    s.connect(sys.argv[1])
except PermissionError:
    raise SystemExit(0)
raise SystemExit(1)' "$dir/command"
	finish
	mkdir theirs && chmod 777 theirs
	(cd theirs && as_nobody "$(nobody_bin)" launch --session-new=theirs sleep 60 >launch.out 2>&1) &
	check 'root sees the sessions of other users with --all' wait_for 20 sh -c "'$BIN' sessions list --all | grep -q ' theirs$'"
	is "$(state theirs)" '' 'root does not see the sessions of other users without --all'
	dir=$(sl sessions list --all --format=json | sed -n 's/.*"name": "theirs".*"directory": "\([^"]*\)".*/\1/p')
	check 'root may shut down a session of another user' silent sl shutdown --session="$dir"
	wait
else
	skip 'another user does not see a session of root' 'needs root, setpriv and the user nobody'
fi

# ---- nonsense on the socket of a session that runs ----
begin --session-new=fuzz
check 'nonsense packets: the session is active before them' wait_for 20 in_state fuzz Active
check 'nonsense packets: start before them succeeds' silent sl start -o fuzz
cat >fuzz.py <<'END'
import random, socket, sys
random.seed(5)
path = sys.argv[1] + "/command"
words = [b"status", b"start", b"-", b"+", b"toggle", b"wait", b"join", b"7", b"dump", b"--output=\xff", b"-c", b"nvtx",
         b"--duration=99999999999999999999", b""]
kept = []
for i in range(4000):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(path)
    kind = random.randrange(5)
    packet = b"sightline-command-1\0" + b"".join(random.choice(words) + b"\0" for _ in range(random.randrange(5)))
    if kind == 0:
        packet = random.randbytes(random.randrange(300))
    elif kind == 1:
        packet = packet[:random.randrange(len(packet) + 1)]
    elif kind == 2:
        packet = bytes(b if random.random() > .02 else random.randrange(256) for b in packet)
    elif kind == 3:
        packet += b"x" * random.randrange(100000)
    try:
        if packet:
            s.send(packet)
    except OSError:
        pass
    if random.randrange(3):
        s.close()
    else:
        kept = kept[-100:] + [s]
END
phase a
check 'nonsense packets: 4,000 are sent to the session' "$PY" fuzz.py "$(value fuzz directory)"
is "$(state fuzz)" Collection 'nonsense packets: the session goes on recording'
phase b
check 'nonsense packets: the session obeys stop' says 0 "report: $W/fuzz.sqlite" sl stop
finish
is "$(cat status)" 7 'nonsense packets: the program has its own status'
check 'nonsense packets: the report is whole' intact fuzz.sqlite
is "$(phases_in fuzz.sqlite)" 'a b ' 'nonsense packets: the report has all phases'

# ---- status ----
begin --session-new=st
check 'status --session has the state of the session' wait_for 20 sh -c "'$BIN' status --session=st | grep -q '^State  *Active'"
check 'status --all has a line for the session' sh -c "'$BIN' status --all | grep -q '^Session  *st '"
check 'status of a session that does not exist is refused' says 1 "there is no session 'nix'; there are: st" sl status --session=nix
finish
done_testing

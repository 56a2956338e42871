#!/bin/sh
# sightline ranks top: follows a running job by the folder that its sessions share. Four ranks, of which one reads files for 20 ms in
# each step; no flight recorder, no trigger.
. tests/lib.sh
. "$TOP/tests/e2e/lib/ranks.sh"
LD_LIBRARY_PATH=$STANDIN/job:$LD_LIBRARY_PATH

for i in 0 1 2 3; do
	RANKS_FAULT=lock RANK=$i WORLD_SIZE=4 "$BIN" profile --ranks="$W/ds" --run=r -o "$W/n$i" -t cuda,nvtx,osrt,nccl -s none --cpuctxsw=none --gpu-health=0 \
		"$GPU/ranks" "$W/meet" 4000 20 2 20 >out.$i 2>err.$i &
done
top() { "$BIN" ranks top -d "$W/ds" "$@" >out 2>err; }
json() { # EXPRESSION of d
	top -f json && "$PY" -c "import json; d = json.load(open('out')); print(($1))" 2>&1
}
pace() { [ "$(json "d['stepping'] == 4 and d['perRank'][0]['steps'] > 40")" = True ]; }
check 'all ranks have a pace' wait_for 60 pace
is "$(json "d['run'], d['ranks'], d['worldSize'], d['sessions'], d['silentSessions'], d['omitted']")" "('r', 4, 4, 4, 0, 0)" 'ranks and sessions are counted'
is "$(json "d['slowest']['rank'], d['slowest']['reason'], 15 < d['slowest']['reasonMs'] < 40, 15 < d['slowest']['excessMs'] < 40")" \
	"(2, 'waiting for a lock or another thread', True, True)" 'the slowest rank has its reason' || cat out | diag
is "$(json "5 < d['stepsPerSecond'] < 30, all(25 < 1e3 * r['seconds'] / r['steps'] < 200 for r in d['perRank'])")" '(True, True)' 'ranks make steps at their pace'
top --once
is "$? $(sed -n 1p out | sed 's/[0-9.]* steps/N steps/; s/on [0-9]* nodes/on N nodes/')" '0 run r: 4 of 4 ranks on N nodes, 4 sessions, N steps/s' 'text: the job'
is "$(sed -n 's/^slowest: \(rank [0-9]\) on .* waiting for a lock or another thread .*/\1/p' out)" 'rank 2' 'text: the slowest rank'
is "$(grep -c '^rank [0-3] ' out)" 4 'text: a line of each rank'
top --once --fail-on late
is $? 3 '--fail-on late: a late rank is status 3'
top --once --fail-on silent,missing
is $? 0 '--fail-on silent,missing: all sessions are heard of'
top -f json -n 2 -i 1
is "$? $(wc -l <out)" '0 2' 'json: one object per look and line'
top --once --rows 1
is "$(grep -c '^rank [0-3] ' out) $(tail -1 out)" '1 3 more ranks (--rows)' '--rows bounds the output'

# ---- a session that was killed leaves its file; and other files ----
sed 's/^host .*/host gone/; s/ rank 0$/ rank 7/' "$(ls ds/_jobs/r/at/* | head -1)" >dead
touch -d '-1 hour' dead
mv dead 'ds/_jobs/r/at/!dead'
printf 'sightline-job-1\nhost \033[2Jx\npid 1\npace 9 9 9 9,9,9,9,9,9,9,9,9,9 \033]0;x\007\n' >'ds/_jobs/r/at/!escape'
head -c 5000 /dev/urandom >'ds/_jobs/r/at/!noise'
is "$(json "d['ranks'], d['silentSessions'], [(s['host'], s['seconds'] > 3000) for s in d['silent']]")" "(5, 1, [('gone', True)])" \
	'a session that is silent is named and has no pace' || cat out err | diag
top --once --fail-on silent
is "$? $(grep -c '^silent for 3[0-9]* s: gone, process' out)" '3 1' 'text: a session that is silent'
is "$(tr -d '\n' <out | LC_ALL=C tr -d '[:print:]' | wc -c)" 0 'names that hold escape sequences are printed without them'

# ---- a terminal ----
"$PY" - "$BIN" "$W/ds" >screen 2>&1 <<'END'
import os, pty, select, signal, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    os.execv(sys.argv[1], ["sightline", "ranks", "top", "-d", sys.argv[2], "-i", "1"])
data, end = b"", time.monotonic() + 20
while time.monotonic() < end and data.count(b"\x1b[H") < 3:
    if select.select([fd], [], [], 1)[0]:
        data += os.read(fd, 65536)
os.kill(pid, signal.SIGINT)
_, status = os.waitpid(pid, 0)
print(data.count(b"\x1b[H") >= 3, data.count(b"slowest: rank 2") >= 2, os.WIFSIGNALED(status) and os.WTERMSIG(status) == 2)
END
is "$(cat screen)" 'True True True' 'on a terminal the screen is written again until Ctrl-C'

: >meet.stop
wait
rm -f 'ds/_jobs/r/at/'!*

# ---- no job, wrong use ----
wrong() { # STATUS WORD... : one line
	wrong_status=$1
	shift
	"$BIN" ranks top "$@" >out 2>err
	is "$? $(wc -l <err) $(wc -c <out)" "$wrong_status 1 0" "ranks top $*: status $wrong_status, one line" || cat err | diag
}
wrong 1 -d ds --once
wrong 1 -d nothing --once
wrong 1 -d ds --run gone --once
wrong 2 --once
wrong 2 -d ds
wrong 2 -d ds --once r
wrong 2 -d ds --once --fail-on slow
done_testing

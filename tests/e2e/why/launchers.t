#!/bin/sh
# launchers.t - sightline why of programs whose first process only waits for others: a master with workers, a shell with a child in the
# background, make: the answer is about the processes that work.
# shellcheck disable=SC2016
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
"$BIN" status 2>/dev/null | grep -q '^eBPF  *ok' || skip_all 'eBPF is not permitted'

profile() { # NAME PROGRAM...
	name=$1
	shift
	"$BIN" profile -f true --sampling-frequency=1000 -o "$name" "$@" >"$name.out" 2>"$name.err"
	is $? 0 "$name: the program ends"
	"$BIN" why -f json --limit=0 --max-bytes=0 "$name.sqlite" >"$name.json"
	"$BIN" why "$name.sqlite" >"$name.txt"
}

# ---- a master in an event loop, one worker that computes and one that sleeps ----
cat >master.py <<'END_PY'
import os, select, time
def work():
    end = time.process_time() + 0.6
    while time.process_time() < end:
        sum(i * i for i in range(2000))  # WORK
def rest():
    time.sleep(0.3)
pids = []
for task in work, rest:
    pid = os.fork()
    if not pid:
        task()
        os._exit(0)
    pids.append(pid)
left = set(pids)
while left:
    select.select([], [], [], 0.05)
    left -= {pid for pid in left if os.waitpid(pid, os.WNOHANG)[0]}
END_PY
profile master "$PY" master.py
check 'a master: the worker that computes is explained, by its lines' "$PY" -c '
import json
y = json.load(open("master.json"))
focus = [p for p in y["processes"] if p["focus"]]
assert len(focus) == 1 and focus[0]["cpu_ns"] >= 5e8, y["processes"]
assert focus[0]["command"].endswith("master.py"), focus
top = y["culprits"][0]
assert top["file"].endswith("master.py") and top["function"].startswith("work"), top
assert sum(c["ns"] for c in y["culprits"] if (c["function"] or "").startswith("work")) >= 0.8 * y["focus"]["ns"], y["culprits"]'
check 'a master: the text names the processes, with the option for each' grep -q 'master.py: on a CPU.*(--process [0-9]*)$' master.txt
check 'a master: a gain of the worker, and none of the loop' "$PY" -c '
import json
gains = json.load(open("master.json"))["gains"]
assert gains and all(g["function"].startswith("work") for g in gains if g["upper_ns"] > 2e8), gains'
root=$(q "$W/master.sqlite" "SELECT globalPid >> 24 & 0xffffff FROM SL_PROCESS_TREE WHERE traced ORDER BY start LIMIT 1")
check 'the master itself, by --process: it waits for events' sh -c '"$1" why --process "$2" master.sqlite | grep -q "waiting for events"' - "$BIN" "$root"
"$BIN" why --process 4194303 master.sqlite >out 2>err
is "$? $(cat err)" '1 sightline: why: master.sqlite: no thread of process 4194303 is in the report' 'a process that is not there: refused'

# ---- a shell with a child in the background ----
cat >job.py <<'END_PY'
import time
def load():
    time.sleep(0.2)
def hot():
    end = time.process_time() + 0.5
    while time.process_time() < end:
        sum(i * i for i in range(2000))
load()
hot()
END_PY
cat >background.sh <<'END_SH'
"$1" job.py &
while kill -0 $! 2>/dev/null; do sleep 0.05; done
END_SH
profile background sh background.sh "$PY"
check 'a shell: its child in the background is explained, by its lines' "$PY" -c '
import json
y = json.load(open("background.json"))
assert [p["command"].split()[-1] for p in y["processes"] if p["focus"]] == ["job.py"], y["processes"]
assert y["culprits"][0]["file"].endswith("job.py"), y["culprits"][0]'

# ---- make: two at a time, and one alone at the end; commands have the names of their sources ----
if command -v make >/dev/null; then
	cat >last.py <<'END_PY'
import sys, time
end = time.process_time() + float(sys.argv[1])
while time.process_time() < end:
    sum(range(2000))
END_PY
	cp last.py first.py
	cp last.py second.py
	printf 'all: x y\n\t@"%s" last.py 0.8\nx:\n\t@"%s" first.py 0.2\ny:\n\t@"%s" second.py 0.2\n' "$PY" "$PY" "$PY" >Makefile
	MAKEFLAGS='' profile make make -j2
	check 'make: the command that worked alone at the end' "$PY" -c '
import json
y = json.load(open("make.json"))
alone = [p for p in y["processes"] if "alone_at_end_ns" in p]
assert [p["command"].split()[-1] for p in alone] == ["last.py"] and alone[0]["alone_at_end_ns"] >= 7e8, y["processes"]'
	check 'make: the text says for how long it was alone' grep -q '^Alone at the end: python.* last.py, for ' make.txt
fi
done_testing

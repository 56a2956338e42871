#!/bin/sh
# Job control on a terminal: stop, continue, foreground, background, interrupt; and process groups.
# shellcheck disable=SC2016,SC2086,SC1010
. tests/lib.sh
command -v bash >/dev/null || skip_all 'no bash'
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'

cat >talk.py <<'END'
import os, sys
print("terminal", os.isatty(0), os.tcgetpgrp(0) == os.getpgrp(), flush=True)
print("ready", flush=True)
# The interrupt may come as soon as the line is seen: before print() has returned.
try:
    while True:
        print("got", sys.stdin.readline().strip(), flush=True)
except KeyboardInterrupt:
    os._exit(42)
END
"$PY" "$E2E/trace/jobs.py" "$PY talk.py" >plain.out 2>&1
is "$(tail -1 plain.out)" 'status 42' 'the untraced session goes as planned' || diag <plain.out
"$PY" "$E2E/trace/jobs.py" "SIGHTLINE_OUTPUT=$W/b.sqlite LD_PRELOAD=$SHIM $PY talk.py" >bare.out 2>&1
check 'job control under the bare preload' diff plain.out bare.out
check 'the report of job control is sound, bare' intact b.sqlite
"$PY" "$E2E/trace/jobs.py" "$BIN profile -o $W/p $PY talk.py" >profile.out 2>&1
check 'job control under profile' diff plain.out profile.out
check 'the report of job control is sound, profile' intact p.sqlite

# Signals to the whole group, as a terminal sends them, reach the program and end profile with it.
cat >count.py <<'END'
import os, signal, time
n = 0
def on(sig, frame):
    global n
    n += 1
signal.signal(signal.SIGINT, on)
print("ready", flush=True)
for i in range(100):
    time.sleep(0.05)
    if n:
        time.sleep(0.3)
        break
print("signals", n, flush=True)
END
cat >group.py <<'END'
import os, signal, subprocess, sys
p = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
line = p.stdout.readline()
os.killpg(p.pid, signal.SIGINT)
out = p.communicate(timeout=20)[0]
print(line.strip(), out.strip(), p.returncode)
END
is "$("$PY" group.py "$PY" count.py)" 'ready signals 1 0' 'SIGINT to the group reaches the untraced program'
# profile does not know a signal to the group from one to itself, which it must pass on: once or twice.
is "$("$PY" group.py "$BIN" profile -o "$W/g" "$PY" count.py | sed 's/signals 2/signals 1/')" 'ready signals 1 0' 'SIGINT to the group reaches the program under profile'
is "$(LD_PRELOAD=$SHIM SIGHTLINE_OUTPUT=$W/h.sqlite "$PY" group.py "$PY" count.py)" 'ready signals 1 0' 'SIGINT to the group reaches the program under a bare preload'
done_testing

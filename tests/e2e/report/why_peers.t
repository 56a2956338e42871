#!/bin/sh
# A wait for the network leads to the other end of its connection, not to others that send at the same time.
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'

cat >noise.py <<'E2'
import os, socket, threading, time
def pair():
    s = socket.create_server(('127.0.0.1', 0))
    a = socket.create_connection(s.getsockname())
    b, _ = s.accept()
    return a, b
mine, theirs = pair()
def slow():
    for _ in range(10):
        theirs.recv(1)
        time.sleep(0.05)  # CULPRIT
        theirs.sendall(b'x')
# Two processes that send to each other all the time.
x, y = pair()
pids = []
for end in x, y:
    pid = os.fork()
    if pid == 0:
        (y if end is x else x).close()
        mine.close()
        theirs.close()
        if end is x: end.sendall(b'.')
        while end.recv(1): end.sendall(b'.')
        os._exit(0)
    pids.append(pid)
x.close()
y.close()
t = threading.Thread(target=slow)
t.start()
for _ in range(10):
    mine.sendall(b'q')
    mine.recv(1)
t.join()
for p in pids: os.kill(p, 9)
E2
profile noise -t osrt "$PY" noise.py >out 2>err
[ "$(q "$R" 'SELECT count(*) FROM SCHED_EVENTS' 2>/dev/null)" -gt 0 ] 2>/dev/null || skip_all 'no context switches here'
"$BIN" why "$R" >why 2>&1
# shellcheck disable=SC2034 # in eval
line=$(grep -n CULPRIT noise.py | cut -d: -f1)
check 'the thread at the other end is to blame' eval 'sed -n "/^Causes/,/^What to change/p" why | sed -n 2p | grep -q "noise.py:$line in slow: sleeping"'
check 'processes that talk to each other are not named' eval 'for p in $(q "$R" "SELECT globalPid >> 24 & 0xffffff FROM SL_PROCESS_TREE WHERE kind = 1"); do ! grep -q "$p\\]" why || exit 1; done'
done_testing

#!/bin/sh
# Each connected socket has its own address beside the peer's (SL_SOCKETS): the two ends of a connection are found,
# also of those that were duplicated or inherited.
# shellcheck disable=SC2016
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'

cat >ends.py <<'E2'
import os, socket, sys, threading
def answer(listener, n):
    for _ in range(n):
        c, _ = listener.accept()
        d = os.dup(c.fileno())
        while c.recv(10): os.write(d, b'x')
        os.close(d)
        c.close()
def ask(port, n, family=socket.AF_INET, host='127.0.0.1'):
    for _ in range(n):
        with socket.socket(family) as c:
            c.connect((host, port))
            print(c.getsockname()[1], port)
            c.sendall(b'ping')
            c.recv(1)
four, six = socket.create_server(('127.0.0.1', 0)), socket.create_server(('::', 0), family=socket.AF_INET6, dualstack_ipv6=True)
t = [threading.Thread(target=answer, args=a, daemon=True) for a in ((four, 3), (six, 1))]
for x in t: x.start()
ask(four.getsockname()[1], 2)
ask(six.getsockname()[1], 1)
# In a child, on what it inherits.
c = socket.create_connection(four.getsockname())
print(c.getsockname()[1], c.getpeername()[1])
sys.stdout.flush()
if os.fork() == 0:
    c.sendall(b'ping'); c.recv(1); os._exit(0)
os.wait()
c.close()
for x in t: x.join()
E2
for threshold in 0 1000; do
	profile ends -t osrt --osrt-threshold=$threshold "$PY" ends.py >ports 2>err
	check "threshold $threshold: the program makes four connections" [ "$(wc -l <ports)" = 4 ]
	q "$R" "SELECT replace(replace(localAddress, '::ffff:', ''), '[', ''), filePath FROM SL_SOCKETS JOIN OSRT_FILE_ACCESS_DESCRIPTORS
		USING (fileAccessId)" | sed 's/.*:\([0-9]*\)|.*:\([0-9]*\)/\1 \2/' >got
	while read -r mine peer; do
		check "threshold $threshold: the end that connects has its address and the peer's" grep -qx "$mine $peer" got
		check "threshold $threshold: the end that accepts has its address and the peer's" grep -qx "$peer $mine" got
	done <ports
	last=$(tail -1 ports)
	is "$(grep -cx "$last" got)" 2 "threshold $threshold: a child has the address of the socket it inherits"
	is "$(grep -cx "${last#* } ${last% *}" got)" 2 "threshold $threshold: a duplicate has the address of its socket"
	is "$(q "$R" "SELECT count(*) FROM SL_SOCKETS WHERE localAddress NOT LIKE 'tcp%' OR fileAccessId NOT IN (SELECT fileAccessId FROM OSRT_FILE_ACCESS_DESCRIPTORS)")" 0 "threshold $threshold: each row of SL_SOCKETS has an address and a file"
done
done_testing

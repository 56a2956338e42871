"""The peer of a socket pair computes before it answers. reason: COMPUTE"""
import os
import socket
import sys

BAD = sys.argv[1] == "bad"
ours, theirs = socket.socketpair()


def answer():
    if BAD:
        return b"%d" % (sum(k % 5 for k in range(200000)) // 200000)  # CULPRIT
    return b"2"


if os.fork() == 0:
    ours.close()
    while theirs.recv(16):
        theirs.sendall(answer())
    os._exit(0)
theirs.close()
got = b""
for _ in range(20):
    ours.sendall(b"ask")
    got += ours.recv(16)
ours.close()
os.wait()
print(got)

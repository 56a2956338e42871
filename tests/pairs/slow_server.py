"""The peer of a socket, another process, waits before it answers. reason: SLEEP"""
import os
import socket
import sys
import time

BAD = sys.argv[1] == "bad"
server = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    peer = server.accept()[0]
    while peer.recv(16):
        if BAD:
            time.sleep(0.03)  # CULPRIT
        peer.sendall(b"answer")
    os._exit(0)
client = socket.create_connection(server.getsockname())
got = b""
for _ in range(15):
    client.sendall(b"ask")
    got += client.recv(16)
client.close()
os.wait()
print(len(got))

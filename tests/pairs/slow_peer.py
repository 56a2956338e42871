"""The peer of a socket, a thread of the same program, waits before it answers. reason: SLEEP"""
import socket
import sys
import threading
import time

BAD = sys.argv[1] == "bad"
server = socket.create_server(("127.0.0.1", 0))


def serve():
    peer = server.accept()[0]
    while peer.recv(16):
        if BAD:
            time.sleep(0.03)  # CULPRIT
        peer.sendall(b"answer")


threading.Thread(target=serve, daemon=True).start()
client = socket.create_connection(server.getsockname())
got = b""
for _ in range(15):
    client.sendall(b"ask")
    got += client.recv(16)
print(len(got))

"""Four threads wait before each of their tasks, which compute in turns, as one at a time has the interpreter. reason: SLEEP"""
import sys
import threading
import time

BAD = sys.argv[1] == "bad"
done = []


def work():
    for _ in range(20):
        if BAD:
            time.sleep(0.016)  # CULPRIT
        done.append(sum(k * k % 7 for k in range(40000)))


threads = [threading.Thread(target=work) for _ in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(len(done))

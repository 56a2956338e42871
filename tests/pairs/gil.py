"""Four threads of Python compute, of which one holds the interpreter at a time. reason: COMPUTE"""
import sys
import threading

BAD = sys.argv[1] == "bad"
done = []


def work(n):
    t = 0
    for i in range(n):
        t += i * i % 7  # CULPRIT
    done.append(t >= 0)


threads = [threading.Thread(target=work, args=(600000 if BAD else 1,)) for _ in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(done)

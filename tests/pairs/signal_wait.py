"""A signal is waited for that a child sends late. reason: SLEEP"""
import os
import signal
import sys
import time

BAD = sys.argv[1] == "bad"
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
if os.fork() == 0:
    if BAD:
        time.sleep(0.35)  # CULPRIT
    os.kill(os.getppid(), signal.SIGUSR1)
    os._exit(0)
signal.sigwait({signal.SIGUSR1})
os.wait()
print("got it")

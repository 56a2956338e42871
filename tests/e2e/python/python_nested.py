"""python_nested.py - an interpreter within another, within a third: each is busy for a while; once in a thread, too."""
import threading

for name in "_interpreters", "_xxsubinterpreters":
    try:
        sub = __import__(name)
        break
    except ImportError:
        pass
inner = """
import time
def in_third():
    end = time.thread_time() + 0.15
    while time.thread_time() < end: pass
in_third()
"""
middle = """
import %s as sub, time
def in_second():
    interp = sub.create()
    sub.run_string(interp, %r)
    sub.destroy(interp)
    end = time.thread_time() + 0.15
    while time.thread_time() < end: pass
in_second()
""" % (sub.__name__, inner)


def outermost():
    interp = sub.create()
    sub.run_string(interp, middle)
    sub.destroy(interp)


def main():
    outermost()


main()
t = threading.Thread(target=main)
t.start()
t.join()

"""Compares the stacks that tests/prog/lib/pystack.c takes with what Python says of them, in every kind of code.

Each probe that is wrong prints a line "not ok"; the last line is "probes N wrong M". Runs on every Python from 3.8 on.

With "trace FILE", probes are calls of open() instead, each with a path of its own, and FILE is to say (JSON) what stack
each has: for pystack_report.py.
"""
import asyncio
import collections
import contextlib
import functools
import itertools
import json
import os
import re
import sys
import threading

probes = wrong = 0
lock = threading.Lock()
QUALIFIED = sys.version_info >= (3, 11)


def chain(frame):
    out = []
    while frame is not None:
        code = frame.f_code
        name = code.co_qualname if QUALIFIED else code.co_name
        file = code.co_filename.encode("utf-8", "replace").decode("utf-8")
        out.append("%s\t%s\t%d" % (name, file, frame.f_lineno or 0))
        frame = frame.f_back
    return out


def fail(what, text, want, got):
    global wrong
    wrong += 1
    print("not ok - %s: %s" % (threading.current_thread().name, what), text)
    for i in range(max(len(want), len(got))):
        a = want[i] if i < len(want) else None
        b = got[i] if i < len(got) else None
        if a != b:
            print("#  frame %d: want %r got %r" % (i, a, b))
            break


def both(text, frame, hidden=0):
    """hidden: runs of the loop that the thread is in by another interpreter."""
    global probes
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    head, *got = text.rstrip("\n").split("\n")
    words = head.split()
    got = [g for g in got if g != "-"]
    want = chain(frame)
    with lock:
        probes += 1
        if got != want:
            fail("frames", head, want, got)
        elif words[7] != "0":
            fail("untold", head, want, got)
        elif int(words[3]) + hidden != int(words[5]):
            fail("entries", head, want, got)


truth = {}
numbers = itertools.count()


def told(frame):
    number = next(numbers)
    truth[number] = chain(frame)
    return number


if "trace" in sys.argv:

    def probe():
        try:
            os.open("/probe/%d" % told(sys._getframe()), 0)
        except OSError:
            pass

else:

    def probe():
        both(os.read(9999, 1 << 20), sys._getframe())
        both(os.confstr(9999), sys._getframe())


def recurse(n):
    if n:
        return recurse(n - 1) + 1
    probe()
    return 0


def down(n):
    generator(0)  # its frame may be the first in memory that goes when the generator has been made
    leaf().close()
    return down(n - 1) if n else None


def generator(n):
    for i in range(n):
        probe()
        yield i
        probe()


def delegating(n):
    probe()
    yield from generator(n)
    probe()


async def leaf():
    probe()
    await asyncio.sleep(0)
    probe()
    return 1


async def agen():
    for i in range(2):
        probe()
        await asyncio.sleep(0)
        yield i


@contextlib.asynccontextmanager
async def acontext():
    probe()
    yield
    probe()


async def coroutine():
    async with acontext():
        x = await leaf()
    async for i in agen():
        x += i
    await asyncio.gather(leaf(), leaf())
    return [y async for y in agen()]


def decorator(f):
    probe()

    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        probe()
        try:
            return f(*args, **kwargs)
        finally:
            probe()

    return wrapper


class Base:
    probe()
    where = [probe() for _ in range(2)]

    def __init__(self, depth=0):
        probe()
        if depth:
            self.inner = Base(depth - 1)

    @decorator
    def method(self):
        probe()

    @property
    def prop(self):
        probe()

    @classmethod
    def make(cls):
        probe()
        return cls(2)

    @staticmethod
    def stat():
        probe()

    def __getattr__(self, name):
        probe()
        raise AttributeError(name)

    def __add__(self, other):
        probe()
        return self

    def __del__(self):
        probe()

    def __iter__(self):
        probe()
        return iter(generator(1))

    def __lt__(self, other):
        probe()
        return True

    def __enter__(self):
        probe()

    def __exit__(self, *args):
        probe()

    def __call__(self):
        probe()

    def __hash__(self):
        probe()
        return 7


class Meta(type):
    def __new__(mcs, name, bases, space):
        probe()
        return super().__new__(mcs, name, bases, space)

    def __call__(cls, *args):
        probe()
        return super().__call__(*args)


class Made(metaclass=Meta):
    def __init__(self, x):
        probe()


class Derived(Base):
    def __init__(self):
        super().__init__(1)
        probe()


def closure(n):
    def inner():
        probe()
        return n

    return inner()


def dies_here():
    held = Base()  # goes when this frame does: of the loop, no frame of Python's is left where it was entered for it
    return 0


def exceptions():
    try:
        try:
            probe()
            1 / 0
        except ZeroDivisionError:
            probe()
            raise KeyError
        finally:
            probe()
    except KeyError as e:
        probe()
        return e


def callbacks():
    sorted([3, 2, 1], key=lambda x: (probe(), x)[1])
    sorted([3, 1], key=functools.cmp_to_key(lambda a, b: (probe(), a - b)[1]))
    functools.reduce(lambda a, b: (probe(), a + b)[1], [1, 2, 3])
    re.sub("a", lambda m: (probe(), "b")[1], "aa")
    list(map(lambda x: probe(), [1]))
    [probe() for _ in range(2)]
    {i: probe() for i in range(1)}
    {probe() for _ in range(1)}
    list(probe() for _ in range(2))
    list(filter(lambda x: probe(), [1]))
    functools.partial(probe)()
    collections.defaultdict(lambda: probe())[1]
    max([1, 2], key=lambda x: (probe(), x)[1])
    sorted([Base(), Base()])
    list(map(dies_here, []))
    list(map(lambda x: dies_here(), [1, 2]))
    dies_here()
    functools.partial(dies_here)()
    any(probe() for _ in range(2))
    import weakref

    b = Base()
    weakref.finalize(b, probe)
    del b


def executed():
    exec("probe()\n\nprobe()", globals())
    eval("(probe(),\n\n probe())", globals())
    space = {"probe": probe}
    exec(compile("def f():\n    probe()\n\n\n    probe()\nf()\n", "not/a file", "exec"), space)
    exec(compile("def größe():\n    probe()\ngröße()\n", "dir/größe.py", "exec"), space)
    exec(compile("def 名前():\n    probe()\n名前()\n", "dir/名前.py", "exec"), space)
    exec(compile("probe()\n", "dir/\U0001f600\U0001f600.py", "exec"), space)
    for i in range(20):  # comes to lie where others were
        exec(compile("\n" * i + "def f%d():\n  probe()\nf%d()" % (i, i), "made %d" % i, "exec"), space)
    exec(compile("def f(): return (\n" + "1 +\n" * 600 + "probe2())\n" + "f()\n", "long", "exec"),
         {"probe2": lambda: (probe(), 1)[1]})
    exec(compile("\n" * 100000 + "probe()\n", "far", "exec"), space)
    exec(compile("x = [" + "0, " * 5000 + "\nprobe()," + "0, " * 5000 + "]\nprobe()", "wide", "exec"), space)


def local_import():
    sys.modules.pop("this_is_imported", None)
    import this_is_imported

    this_is_imported.run(probe)


def many_kinds():
    probe()
    recurse(20)
    for n in range(590, 600):
        down(n)
    list(generator(2))
    list(delegating(2))
    g = generator(2)
    g.send(None)
    g.close()
    loop = asyncio.new_event_loop()
    loop.run_until_complete(coroutine())
    loop.close()
    b = Base(3)
    b.method()
    b.prop
    Base.make()
    Base.stat()
    Derived()
    Made(1)
    getattr(b, "missing", None)
    b + b
    list(b)
    with b:
        probe()
    b()
    {b: 1}
    del b
    closure(1)
    exceptions()
    callbacks()
    executed()
    local_import()
    with lock_free():
        probe()


@contextlib.contextmanager
def lock_free():
    probe()
    yield
    probe()


def subinterpreters():
    """The text of a probe within another interpreter, and how it ought to look."""
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            sub = __import__(name)
            break
        except ImportError:
            continue
    else:
        print("no subinterpreters")
        return
    code = """if True:
        import os, sys
        def f(n):
            if n:
                return f(n - 1)
            return [os.read(9999, 1 << 20).decode(), os.confstr(9999)]
        with open({0!r}, "w") as out:
            out.write("=".join(f(3)))
    """
    # In a third one, which the second one runs.
    further = """if True:
        import {1} as sub
        def within(interp):
            sub.run_string(interp, {0!r})
        interp = sub.create()
        within(interp)
        sub.destroy(interp)
    """
    global probes, wrong
    path = "sub.%d.txt" % threading.get_ident()
    code = code.format(path)
    for run, more in (code, []), (further.format(code, name), ["within\t%s\t4", "<module>\t%s\t6"]):
        interp = sub.create()
        sub.run_string(interp, run)
        sub.destroy(interp)
        for text in open(path).read().split("="):
            head, *got = text.rstrip("\n").split("\n")
            names = [g.split("\t")[0] for g in got]
            lines = [g.split("\t")[2] for g in got[:5]]
            file = got[4].split("\t")[1]  # of what is run, whatever it is called
            below = [m % file for m in more] + chain(sys._getframe())
            entries, loops = int(head.split()[3]), int(head.split()[5])
            good = names[:5] == ["f"] * 4 + ["<module>"] and lines == ["6", "5", "5", "5", "8"]
            # What runs it: where it is known of several which is within, all of it.
            if len(got) > 5 or sys.version_info >= (3, 12):
                below[len(more)] = got[5 + len(more)]  # this line
                good = good and got[5:] == below and entries == loops
            else:
                good = good and entries == 1
            with lock:
                probes += 1
                if not good:
                    wrong += 1
                    print("not ok - subinterpreter", below, text)


if __name__ == "__main__":
    many_kinds()
    threads = [threading.Thread(target=many_kinds) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if "sub" in sys.argv:
        subinterpreters()
        t = threading.Thread(target=subinterpreters)
        t.start()
        t.join()
    probe()
    if truth:
        with open(sys.argv[2], "w") as f:
            json.dump(truth, f)
    else:
        print("probes %d wrong %d" % (probes, wrong))

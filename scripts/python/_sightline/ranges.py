"""What stands in functions as a constant and marks their calls.

A call of a plain function is a range from its first to its last moment, pushed and popped in its thread. What can be
suspended (generators, coroutines) has a range of its own for each call, from the first step to the end, whichever
threads run it and whatever runs in between.
"""

import _sightline_trace as trace

PUSH, POP, PUSH_TEXT, START, END = range(5)


class Constant:
    """Copies by value (cloudpickle) go where we may not be: there, nothing is marked."""

    __slots__ = ()

    def __reduce__(self):
        from contextlib import nullcontext

        return nullcontext, ()


def range_of(domain, text, color=0):
    return trace.range(domain, text.encode("utf-8", "replace").decode(), color)


def plain(domain, text, color=0):
    it = range_of(domain, text, color)
    # Functions of C are found in the type and, being no descriptors, called without self.
    body = {"__slots__": (), "__enter__": trace.function(it, PUSH), "__exit__": trace.function(it, POP)}
    return type("range", (Constant,), body)()


class _Call:
    __slots__ = ("start", "end", "id")

    def __init__(self, start, end):
        self.start = start
        self.end = end

    def __enter__(self):
        self.id = self.start()

    def __exit__(self, *unused):
        self.end(self.id)


def suspended(domain, text, color=0):
    it = range_of(domain, text, color)
    start, end = trace.function(it, START), trace.function(it, END)
    body = {"__slots__": (), "call": property(lambda self: _Call(start, end))}
    return type("range", (Constant,), body)()


class Text:
    """One call with a message of its own."""

    __slots__ = ("names", "text")

    def __init__(self, names, text):
        self.names = names
        self.text = text

    def __enter__(self):
        self.names.push(self.text)

    def __exit__(self, *unused):
        self.names.pop()


def around(before, after):
    """No range: before() and after()."""

    def leave(*unused):
        after()

    body = {"__slots__": (), "__enter__": lambda self: before and before(), "__exit__": staticmethod(leave)}
    return type("around", (Constant,), body)()


def calling(call):
    return type("call", (Constant,), {"__slots__": (), "call": staticmethod(call)})()

"""callgrind.py - instructions by library and source file, from files that callgrind wrote.

Only what a function executes itself counts: what it calls is counted there. A function is known with its callers, so that
what a library does for one of its entries can be told from what it does for another.
"""
import collections
import os
import re
import shutil

SPEC = re.compile(r"^(c?)(ob|fl|fi|fe|fn)=\((\d+)\)(?: (.*))?$")
COST = re.compile(r"^[+*\d-]\S* (\d+)$")
KIND = {"fi": "fl", "fe": "fl"}
CALLERS = 10

Function = collections.namedtuple("Function", "library source callers")  # callers: itself first


class Profile:
    def __init__(self, path):
        self.own = collections.Counter()  # by Function
        self.entries = collections.defaultdict(set)  # by library: names of functions that others call
        self.names = {"ob": {}, "fl": {}, "fn": {}}
        with open(path, encoding="utf-8", errors="replace") as f:
            self.read(f)

    def name(self, kind, number, text):
        if text:
            self.names[kind][number] = text
        return self.names[kind].get(number, "")

    def read(self, lines):
        at, callee, is_call = dict(ob="", fl="", fn=""), {}, False
        for line in lines:
            line = line.rstrip("\n")
            m = SPEC.match(line)
            if m:
                kind = KIND.get(m[2], m[2])
                (callee if m[1] else at)[kind] = self.name(kind, m[3], m[4])
            elif line.startswith("calls="):
                is_call = True
                library = os.path.basename(callee.get("ob", at["ob"]))
                if library != os.path.basename(at["ob"]):
                    self.entries[library].add(callee["fn"].split("'")[0])
                callee = {}
            elif COST.match(line):
                if not is_call:
                    self.own[Function(os.path.basename(at["ob"]), os.path.basename(at["fl"]), at["fn"])] += \
                        int(line.rsplit(" ", 1)[1])
                is_call = False


def entered_by(function, entries):
    """The entry of its library by which this function came to be called, None: unknown."""
    return next((name for name in function.callers.split("'") if name in entries), None)


def available():
    return shutil.which("valgrind") is not None


def command(out):
    return ["valgrind", "-q", "--tool=callgrind", "--separate-callers=%d" % CALLERS, "--callgrind-out-file=" + out]


def per_call(run, few, many):
    """(instructions per call by Function, entries): run(n) returns the file of a run with n calls."""
    less, more = Profile(run(few)), Profile(run(many))
    return ({k: (more.own[k] - less.own[k]) / (many - few) for k in set(less.own) | set(more.own)}, more.entries)

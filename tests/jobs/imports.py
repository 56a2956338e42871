"""Start-up and imports: imports.py KIND bad|good."""
import ctypes.util
import os
import re
import runpy
import subprocess
import sys

KIND, HOW = sys.argv[1], sys.argv[2]
BAD = HOW == "bad"
HERE = os.path.dirname(os.path.abspath(__file__))
os.environ["JOBS_KIND"] = KIND + " " + HOW


def module():
    import slow_module
    return slow_module.SIZE


def children():
    """An interpreter for each item."""
    out = []
    for i in range(10):
        if BAD:
            out.append(int(subprocess.check_output([sys.executable, "-c", "import json, email.parser; print(%d + 1)" % i])))  # CULPRIT children
        else:
            out.append(i + 1)
    return sum(out)


def again():
    """A script run anew for each item, which computes its table anew."""
    n = 0
    for i in range(6):
        if BAD or i == 0:
            n = runpy.run_path(os.path.join(HERE, "slow_module.py"))["SIZE"]
    return n


def find():
    """Starts a compiler and a linker to find a library."""
    name = "libm.so.6"
    for _ in range(40):
        if BAD:
            name = ctypes.util.find_library("m")  # CULPRIT find
    return bool(name)


def optional():
    """An optional module that is looked for with each call."""
    sys.path[:0] = ["/tmp/none%d" % i for i in range(300)]
    found = False
    for _ in range(3000 if BAD else 1):
        try:
            import not_there_at_all  # CULPRIT optional
            found = True
        except ImportError:
            pass
    return found


def compiles():
    """More patterns than the cache of re has, one after the other."""
    n = 0
    for _ in range(4 if BAD else 0):
        for i in range(600):
            n += bool(re.match("(a%d|b+)[x-z]*(foo|bar)?$" % i, "abc"))  # CULPRIT compiles
    return 0 * n


print({"table": module, "config": module, "children": children, "again": again, "find": find, "optional": optional,
       "compiles": compiles}[KIND]())

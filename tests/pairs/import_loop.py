"""A module is loaded anew in a loop. reason: IMPORT"""
import importlib
import sys

BAD = sys.argv[1] == "bad"
n = 0
for i in range(20):
    if BAD:
        for name in ("decimal", "_pydecimal", "argparse", "difflib", "pydoc"):
            sys.modules.pop(name, None)
    import _pydecimal  # CULPRIT
    import argparse
    import difflib
    n += len(dir(_pydecimal)) > 0 and argparse is not None and difflib is not None
print(n)

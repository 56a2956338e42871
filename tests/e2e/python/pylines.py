"""Compares collector/symbols/pylines.c (in the library that is preloaded) with what the interpreter says of its own code."""
import ctypes
import dis
import glob
import os
import sys
import sysconfig
import types

lines_at = ctypes.CDLL(sys.argv[1]).pylines_at
lines_at.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_uint32]
VERSION = sys.version_info[0] << 8 | sys.version_info[1]


def truth(code):
    """(offset, line or 0) of every instruction."""
    if hasattr(code, "co_lines"):
        for start, end, line in code.co_lines():
            for offset in range(start, end, 2):
                yield offset, line or 0
        return
    starts = list(dis.findlinestarts(code))
    line, at = code.co_firstlineno, 0
    for offset in range(0, len(code.co_code), 2):
        while at < len(starts) and starts[at][0] <= offset:
            line = starts[at][1]
            at += 1
        yield offset, line


def compare(code):
    table = code.co_linetable if hasattr(code, "co_linetable") else code.co_lnotab
    asked = wrong = 0
    for offset, line in truth(code):
        asked += 1
        got = lines_at(VERSION, table, len(table), code.co_firstlineno, offset)
        if got != line:
            wrong += 1
            if wrong == 1:
                print("%s %s offset %d: want %d got %d" % (code.co_filename, code.co_name, offset, line, got))
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            a, w = compare(const)
            asked += a
            wrong += w
    return asked, wrong


asked = wrong = 0
for path in sorted(glob.glob(os.path.join(sysconfig.get_path("stdlib"), "[a-t]*.py")))[::3]:
    with open(path, "rb") as f:
        try:
            code = compile(f.read(), path, "exec")
        except (SyntaxError, ValueError):
            continue
    a, w = compare(code)
    asked += a
    wrong += w
print("asked %d wrong %d" % (asked, wrong))

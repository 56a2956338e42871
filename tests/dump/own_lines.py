"""own_lines.py FILE FUNCTION: lines of the function at which, by this Python's own tables, something is called or awaited; and, as "begin:A:B", the
line A of a frame that has not begun, as traceback has it, with the line B of the first instruction; and, as "after:A:B", lines of instructions that
follow each other, B first.
"""
import dis
import sys

CALLS = ("CALL", "SEND", "FOR_ITER", "YIELD", "RESUME", "LOAD_ATTR", "LOAD_METHOD", "WITH", "COMPARE", "BINARY", "GET_", "STORE_ATTR", "JUMP",
         "END_FOR", "END_SEND", "RAISE", "LIST_EXTEND", "CONTAINS", "UNPACK", "INTERPRETER_EXIT", "RETURN_GENERATOR")


def codes(code):
    yield code
    for c in code.co_consts:
        if hasattr(c, "co_code"):
            yield from codes(c)


with open(sys.argv[1], encoding="utf-8") as f:
    whole = compile(f.read(), sys.argv[1], "exec")
lines, begins = set(), set()
for c in codes(whole):
    if c.co_name == sys.argv[2]:
        line = None
        begins.add("begin:%d:%d" % (c.co_firstlineno, next(x for _, x in dis.findlinestarts(c))))
        for i in dis.get_instructions(c):
            before, line = line, i.positions.lineno if getattr(i, "positions", None) else i.starts_line or line
            if any(word in i.opname for word in CALLS):
                lines.add(line)
            begins.update(["after:%d:%d" % (line, before)] if line and before and line != before and sys.version_info >= (3, 11) else [])
print(*sorted(x for x in lines if x), *begins)

"""pystack_report.py REPORT TRUTH - the stacks of pystack.py's calls in a report: the last line is "probes N wrong M".

Those of Python have to be all of its frames, in order, and no frame of the interpreter's loop may be left.
"""
import json
import sqlite3
import sys

db = sqlite3.connect(sys.argv[1])
with open(sys.argv[2]) as f:
    truth = json.load(f)
stacks = {}
for number, kind, symbol, file, line in db.execute(
    "SELECT substr(p.value, 8), f.kind, n.value, m.value, f.line FROM OSRT_API o JOIN StringIds p ON p.id = o.pathId"
    " JOIN SL_STACKS s ON s.id = o.callchainId JOIN SL_FRAMES f ON f.id = s.frameId"
    " JOIN StringIds n ON n.id = f.symbol LEFT JOIN StringIds m ON m.id = f.file"
    " WHERE p.value LIKE '/probe/%' ORDER BY o.rowid, s.depth"
):
    stacks.setdefault(number, []).append((kind, symbol, "%s\t%s\t%d" % (symbol, file, line or 0)))
wrong = 0
for number, want in truth.items():
    stack = stacks.get(number, [])
    got = [text for kind, _, text in stack if kind == 1]
    left = [s for kind, s, _ in stack if kind != 1 and s.startswith("_PyEval_EvalFrameDefault")]
    remarks = [s for kind, s, _ in stack if kind == 4]
    if got == want and not left and not remarks:
        continue
    wrong += 1
    if wrong <= 3:
        first = next((i for i, (a, b) in enumerate(zip(want, got)) if a != b), min(len(want), len(got)))
        print("%s: left %s, remarks %s, %d frames want %d, frame %d: %s" % (
            number, left[:1], remarks[:1], len(got), len(want), first, (want[first:first + 1], got[first:first + 1])))
print("probes %d wrong %d" % (len(truth), wrong))

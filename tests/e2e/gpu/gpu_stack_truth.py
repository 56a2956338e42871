"""gpu_stack_truth.py REPORT SAID FILE CLASS...: the stacks of calls into CUDA and libraries above it, against what the
program said (tests/gpu/places.c) whose source FILE is. Calls of the classes named have stacks, each from where it was
made; others have none. Among the classes: "python": these stacks have nothing else than Python's frames; a number: calls
as long as that have stacks, in ns."""
import collections
import os
import re
import sqlite3
import sys

TABLES = "CUPTI_ACTIVITY_KIND_RUNTIME", "CUBLAS_EVENTS", "CUDNN_EVENTS", "SL_LIBRARY_API"
report, said, source = sys.argv[1:4]
classes = set(sys.argv[4:])
least = next((int(c) for c in classes if c.isdigit()), 0)
ROUNDING = 100
db = sqlite3.connect("file:%s?mode=ro" % report, uri=True)
there = {r[0] for r in db.execute("SELECT name FROM sqlite_master")}
wrong = 0


def bad(*what):
    global wrong
    wrong += 1
    print(*what)


want, without, names = collections.Counter(), collections.Counter(), set()
for line in open(said, encoding="utf-8"):
    words = line.split()
    if words and words[0] == "call":
        names.add(words[2])
        if words[1] in classes:
            want[words[2], words[3], int(words[4])] += 1
        else:
            without[words[2]] += 1

stacks = collections.defaultdict(list)
if "SL_STACKS" in there:
    for stack, kind, symbol, file, number in db.execute(
        "SELECT s.id, f.kind, y.value, p.value, f.line FROM SL_STACKS s JOIN SL_FRAMES f ON f.id = s.frameId"
        " JOIN StringIds y ON y.id = f.symbol LEFT JOIN StringIds p ON p.id = f.file ORDER BY s.id, s.depth"
    ):
        stacks[stack].append((kind, symbol, os.path.basename(file or ""), number))
chains = collections.Counter()
if "CUDA_CALLCHAINS" in there:
    chains.update(dict(db.execute("SELECT id, count(*) FROM CUDA_CALLCHAINS GROUP BY id")))

classed = {key[0] for key in want}
got, bare, short, used = collections.Counter(), collections.Counter(), collections.Counter(), set()
for table in TABLES:
    if table not in there:
        continue
    for name, stack, took in db.execute(
        "SELECT value, callchainId, end - start FROM %s JOIN StringIds n ON n.id = nameId" % table
    ):
        name = re.sub(r"_v\d{4,5}$", "", name)
        if name not in names:
            continue
        if stack is None or took < least - ROUNDING:
            if stack is not None:
                bad("%s: a stack after %d ns" % (name, took))
            if least and took < least + ROUNDING and name in classed:
                short[name] += 1
                continue
            bare[name] += 1
            continue
        used.add(stack)
        frames = stacks.get(stack, [])
        place = next(((f[1], f[3]) for f in frames if f[2] == source), ("no place of %d frames" % len(frames), 0))
        got[(name,) + place] += 1
        if "python" in classes and {f[0] for f in frames} != {1}:
            bad("%s: not only Python: %s" % (name, frames))
        if "python" not in classes and not any(f[1] == "main" or f[1] == "<module>" for f in frames):
            bad("%s: does not come from main: %s" % (name, frames))
for key in sorted(set(got) | set(want)):
    if got[key] > want[key] or got[key] + short[key[0]] < want[key]:
        bad("%s of %s, line %s: %d have such a stack, %d were made" % (*key, got[key], want[key]))
for name in sorted(set(bare) | set(without)):
    if bare[name] != without[name]:
        bad("%s: %d without a stack, not %d" % (name, bare[name], without[name]))
for stack in used:
    if chains[stack] != len(stacks.get(stack, [])):
        bad("stack %d: %d rows in CUDA_CALLCHAINS, %d frames" % (stack, chains[stack], len(stacks.get(stack, []))))
if not names:
    bad("the program said nothing")
if wrong == 0 and not classes and "CUDA_CALLCHAINS" in there:
    bad("CUDA_CALLCHAINS is there")
sys.exit(1 if wrong else 0)

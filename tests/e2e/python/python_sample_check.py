"""python_sample_check.py REPORT PROGRAM [jit] - samples of python_sample.py: are all stacks that are in Python the ones that it has?"""
import collections, re, sqlite3, sys

db = sqlite3.connect(sys.argv[1])
lines = {m.group(1): i for i, l in enumerate(open(sys.argv[2]), 1) for m in [re.search(r"# line of (\w+)", l)] if m}
stacks = collections.defaultdict(list)
for id, tid, name, kind, line in db.execute(
    "SELECT c.id, c.globalTid & 0xffffff, n.value, f.kind, f.line FROM COMPOSITE_EVENTS c JOIN SL_STACKS s ON s.id = c.stackId"
    " JOIN SL_FRAMES f ON f.id = s.frameId JOIN StringIds n ON n.id = f.symbol"
    " WHERE c.globalTid & 0xffffff <> (c.globalTid >> 24) & 0xffffff ORDER BY c.id, s.depth"
):
    stacks[id, tid].append((name, kind, line))
# The outermost four (those of threading.py), then what every sample has that is below work().
outer = ["work", "Thread.run", "Thread._bootstrap_inner", "Thread._bootstrap"]
inner = ["steps", "Worker.method", "deep.<locals>.<lambda>"] + ["deep"] * 6 + outer
plain = lambda names: [n.split(".")[-1] for n in names]
right = wrong = bare = loops = 0
of, at, order = collections.Counter(), collections.Counter(), collections.Counter()
bad = collections.Counter()
for (_, tid), frames in stacks.items():
    python = plain([n for n, kind, _ in frames if kind == 1])
    if not python:
        # A thread that is not in Python yet, or no longer.
        bare += any(n.startswith("_PyEval_EvalFrameDefault") for n, _, _ in frames)
        continue
    if "work" not in python:
        continue  # threading.py's own
    leaf, rest = python[0], python[1:]
    loops += any(n.startswith("_PyEval_EvalFrameDefault") for n, _, _ in frames)
    if leaf in ("seven", "two", "one"):
        ok = rest == plain(inner)
        of[leaf] += 1
        line = next(l for n, kind, l in frames if kind == 1)
        at[leaf] += line in range(lines[leaf] - 3, lines[leaf] + 2)
        # The outermost native frame is above all of Python.
        order[frames[-1][1] != 1] += 1
    else:
        # On the way there: the end of the same chain.
        ok = python == plain(inner)[-len(python):]
    right += ok
    wrong += not ok
    if not ok:
        bad[" < ".join(python)] += 1
print("right %d wrong %d bare %d loops %d of %s at %s order %s" % (right, wrong, bare, loops, dict(of), dict(at), dict(order)))
for text, n in bad.most_common(5):
    print("  ", n, text)
all = right + wrong
total = sum(of.values())
assert all > 300, "few samples"
assert wrong + bare + loops <= all * 0.01, "wrong chains"
assert sum(at.values()) >= total * 0.99, "wrong lines"
assert order[True] >= total * 0.97, "native frames are not where they should be"
# A JIT does not make all of them faster alike.
for name, share in () if len(sys.argv) > 3 else (("seven", 0.7), ("two", 0.2), ("one", 0.1)):
    assert abs(of[name] / total - share) < 0.1, name

"""stack_truth.py REPORT TRUTH [PERCENT [ignore-lines]] - compares the stacks of a report with those that the program knew (tests/prog/shadow.h).

Of each stack in the report what counts are the frames in files that the truth speaks of: function, file and line of
each, in order; line 0 stands for any. Prints the share of calls that agree; exit status 1 where that is less than PERCENT (99)."""
import collections, re, sqlite3, sys


def plain(name):
    """The function's own name: without arguments, templates, scopes (C++), classes and what the compiler appends."""
    name = re.sub(r"\.(part|isra|constprop|cold|lto_priv)(\.\d+)*", "", name)
    while re.search(r"<[^<>]*>", name.replace("<lambda>", "")) and "<lambda>" not in name and "<locals>" not in name and "<listcomp>" not in name \
            and "<module>" not in name:
        name = re.sub(r"<[^<>]*>", "", name)
    if "::" in name or "(" in name:
        name = name.replace("operator()", "operator@").split("(")[0].replace("operator@", "operator()").split("::")[-1]
    return name.split()[-1] if name.split() else name


def main(report, truth, percent="99", *flags):
    db = sqlite3.connect("file:%s?mode=ro" % report, uri=True)
    want, files = {}, set()
    for line in open(truth):
        number, frames = line.rstrip("\n").split("\t")
        want[int(number)] = chain = [tuple(f.split("|")) for f in frames.split(";")]
        files.update(f[1] for f in chain)
    chains = collections.defaultdict(list)
    for stack, name, file, line in db.execute(
            "SELECT s.id, n.value, f.value, m.line FROM SL_STACKS s JOIN SL_FRAMES m ON m.id = s.frameId "
            "LEFT JOIN StringIds n ON n.id = m.symbol LEFT JOIN StringIds f ON f.id = m.file ORDER BY s.id, s.depth"):
        file = (file or "").split("/")[-1]
        if file in files or not files:
            chains[stack].append((plain(name or ""), file, str(line)))
    got = {number: stack for number, stack in db.execute(
        "SELECT fileOffset, callchainId FROM OSRT_API JOIN StringIds n ON n.id = nameId WHERE n.value LIKE 'pread%' AND fileOffset IS NOT NULL")}
    same, shown = 0, 0
    for number, chain in want.items():
        chain = [(plain(f), file, line) for f, file, line in chain]
        have = chains.get(got.get(number), [])
        if len(have) == len(chain):
            chain = [(f, file, h[2] if line == "0" else line) for (f, file, line), h in zip(chain, have)]
        if "ignore-lines" in flags:
            chain, have = [c[:2] for c in chain], [c[:2] for c in have]
        if have == chain:
            same += 1
        elif shown < 5:
            shown += 1
            print("call %d\n  want %s\n  have %s" % (number, chain, have))
    share = 100.0 * same / len(want) if want else 0
    print("%d of %d calls: %.3f %%" % (same, len(want), share))
    return share < float(percent) or not want


sys.exit(main(*sys.argv[1:]))

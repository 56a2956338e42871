"""costs.py - variants of a program run in turn, and what one costs over another."""
from statistics import median

from tracers import Broken

CPU, WALL, QUARTILE = 0, 1, 2  # columns of the figures of calls.c


def interleave(bench, variants, argv, rounds=None, check=None, tries=None):
    """{name: [Run per round]}: every round runs every variant once; those in @tries several times, the best of which
    counts: two processes differ by more (memory, neighbours) than what some of them are compared for."""
    runs = {name: [] for name in variants}
    for _ in range(rounds or bench.rounds):
        best = {}
        for k in range(max((tries or {}).values(), default=1)):
            for name, run in variants.items():
                if k >= (tries or {}).get(name, 1):
                    continue
                r = run(bench, argv)
                if not r.figures:
                    raise Broken("%s: the program left no figure" % name)
                if check:
                    check(name, r)
                if name not in best or r.figures[0][CPU] < best[name].figures[0][CPU]:
                    best[name] = r
        for name, r in best.items():
            runs[name].append(r)
    return runs


def over(runs, name, base, column=CPU):
    """Cost of a variant: the median over the rounds of its difference to the base."""
    return median(a.figures[0][column] - b.figures[0][column] for a, b in zip(runs[name], runs[base]))


def mid(runs, name, column=CPU):
    return median(r.figures[0][column] for r in runs[name])


def expect(what, got, want):
    if got != want:
        raise Broken("%s: %d, not %d" % (what, got, want))


def ratio(runs, name, base, column=CPU):
    return median(a.figures[0][column] / b.figures[0][column] for a, b in zip(runs[name], runs[base]))

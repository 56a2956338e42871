"""unwind_part.py - what a native stack costs, taken by the thread itself."""
from statistics import median


def part_unwind(bench, table):
    runs = {"ours": [], "glibc": []}
    for _ in range(bench.rounds):
        for how, figures in runs.items():
            figures.append(bench.command([bench.bin("unwind"), how, "200000" if how == "ours" else "20000"])[0][0])

    def mid(how, column):
        return median(r[column] for r in runs[how])

    table.add("a native stack of 20 frames", mid("ours", 0), mid("glibc", 0), "backtrace()", "ns", "<= 0.2")
    table.add("the same", mid("ours", 0) / 1e3, 1, "bar", "us", "<= 1")
    table.add("a frame", mid("ours", 1), mid("glibc", 1), "backtrace()", "ns", "<= 0.2")
    table.add("a frame whose address was not met before", mid("ours", 2), mid("glibc", 1), "backtrace()", "ns")

"""terminal_width.py BINARY REPORT: what stats prints on terminals of several sizes. Prints what is wrong."""
import re
import sys

from terminal import on_terminal

binary, report = sys.argv[1:]
wrong = []


def lines_of(columns, lines, *words):
    text = on_terminal([binary, "stats", "-q", *words, report], columns, lines).decode()
    return [line for line in text.replace("\r", "").split("\n") if line.strip()]


def must(what, holds):
    if not holds:
        wrong.append(what)


for columns in 80, 100, 132, 250:
    for words in (), ("-f", "table"), ("-r", "osrt_sum"):
        wide = max(map(len, lines_of(columns, 30, *words)))
        must("%d columns, %s: a line of %d" % (columns, words, wide), wide <= columns)
whole = lines_of(80, 30, "-r", "osrt_sum", "--all")
must("--all leaves nothing out", max(map(len, whole)) > 80 and not any("more" in line for line in whole))
rows = len(whole) - 3
must("the report has more rows than a screen of 30 lines", rows > 22)
for lines, shown in (30, 22), (10, 20), (rows + 20, rows):
    cut = lines_of(80, lines, "-r", "osrt_sum")
    rest = re.search(r"(\d+) more rows", cut[-1])
    left_out = int(rest.group(1)) if rest else 0
    must("%d lines: %d rows shown, %d named as left out, of %d" % (lines, shown, left_out, rows), left_out == rows - shown)
    must("%d lines: the line names the command" % lines, cut[-1].endswith("(-r osrt_sum --all)"))
heads = lines_of(80, 30, "-r", "osrt_sum")[1].split("  ")
must("the first columns and the name stay: %s" % heads, "Time (%)" in heads[0] and heads[-1].strip() == "Name")
for line in wrong:
    print(line)
sys.exit(bool(wrong))

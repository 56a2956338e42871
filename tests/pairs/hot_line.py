"""One line computes. reason: COMPUTE"""
import sys

BAD = sys.argv[1] == "bad"
words = ["w%d" % (i % 700) for i in range(4000)]


def count_slow(seen):
    n = 0
    for w in words:
        if w not in seen:  # CULPRIT
            seen.append(w)
            n += 1
    return n


def count(seen):
    n = 0
    for w in words:
        if w not in seen:
            seen.add(w)
            n += 1
    return n


print(sum((count_slow([]) if BAD else count(set())) for _ in range(12)))

"""answers.py - what check-pairs and check-answers share: what `sightline why` answers, and what a fix wins of programs run in turn."""
import json
import os
import random
import re
import statistics
import subprocess
import time

WIDEST = 0.15     # of what was won: half of its interval
CALM = 0.20       # of the time of the untraced runs in which a program waited for a processor
LEAST = 0.004     # s: less is no difference that can be measured


def pressure():
    """For how long some program has waited for a processor, in s; 0: not known."""
    try:
        return int(re.search(r"some .*total=(\d+)", open("/proc/pressure/cpu").read()).group(1)) / 1e6
    except (OSError, AttributeError):
        return 0.0


def pressure_now():
    before = pressure()
    time.sleep(1)
    return pressure() - before


def why(sightline, report, *more):
    return json.loads(subprocess.run([sightline, "why", "-f", "json", "--limit=0", "--max-bytes=0", *more, report], stdout=subprocess.PIPE, check=True).stdout)


def partition_error(answer):
    """By how much the parts differ from the time that they are parts of, at most 1."""
    parts = sum(p["ns"] for p in answer["partition"])
    return abs(parts - answer["wall"]["ns"]) / max(1, answer["wall"]["ns"])


class WrongPair(Exception):
    pass


class Won:
    """What can be won: the median of paired differences, in s, and its 95 % interval by resampling. What `why` answers, too."""

    def __init__(self, pair, runs, ask):
        diffs, took, self.answers, waited = [], [], [], 0.0
        for i in range(runs):
            turns = ["bad", "good", "record"][::1 if i % 2 == 0 else -1]
            out = {}
            for turn in turns:
                if turn == "record":
                    self.answers.append(ask())
                    continue
                before = pressure()
                out[turn] = pair.run(turn)
                waited += pressure() - before
            if out["bad"][1] != out["good"][1]:
                raise WrongPair("%s: bad and good print different results" % pair.name)
            diffs.append(out["bad"][0] - out["good"][0])
            took += [out["bad"][0], out["good"][0]]
        draw = random.Random(1)
        medians = sorted(statistics.median(draw.choices(diffs, k=runs)) for _ in range(1000))
        self.s, self.low, self.high = statistics.median(diffs), medians[24], medians[975]
        self.bad = statistics.median(took[::2])
        self.is_calm = waited <= CALM * sum(took)

    def is_certain(self):
        return self.is_calm and self.s >= LEAST and max(self.high - self.s, self.s - self.low) <= WIDEST * self.s


def measure(pair, runs, tries, deadline, ask):
    best = None
    for i in range(tries):
        if i and time.monotonic() > deadline:
            break
        for _ in range(30 if i else 0):
            if pressure_now() <= CALM:
                break
        won = Won(pair, runs, ask)
        if best is None or (won.is_certain(), best.high - best.low) > (best.is_certain(), won.high - won.low):
            best = won
        if best.is_certain():
            break
    return best


def gain_of(pair, answers):
    """The medians of the bounds in all answers, 0 where one has none; None: most have none."""
    gains = [next((g for g in a["gains"] if pair.is_named(g)), None) for a in answers]
    have = [g for g in gains if g]
    if 2 * len(have) <= len(gains):
        return None
    low, high = (statistics.median(g[key] if g else 0 for g in gains) for key in ("lower_ns", "upper_ns"))
    return {"lower_ns": low, "upper_ns": high, "action": statistics.mode(g["action"] for g in have)}


def judge_gain(gain, won):
    """How the bounds of a gain compare with what was won, in s: what is printed, and whether they are good."""
    if not gain:
        return "none", False
    low, high = gain["lower_ns"] / 1e9, gain["upper_ns"] / 1e9
    if abs((low + high) / 2 - won) <= 0.2 * won:
        return "+-20 %", True
    if low <= won <= high and high <= 2 * low:
        return "within", True
    return ("LIED" if high < won / 1.2 or low > 1.2 * won else "wide"), False


def reason_of(culprit):
    return culprit["reason"] if culprit else "-"


def lines_of(path, mark):
    """The numbers of the lines that have the mark."""
    with open(path) as f:
        return [n for n, line in enumerate(f, 1) if re.search(re.escape(mark) + r"(?![\w-])", line)]


def is_at(found, file, lines):
    """Is a place of an answer one of these lines?"""
    return found["line"] in lines and os.path.basename(found["file"] or "") == file


class Bars:
    """Prints what was to be reached; counts what was missed."""

    def __init__(self):
        self.missed = 0

    def put(self, text, is_met):
        self.missed += not is_met
        print("%-6s %s" % ("ok" if is_met else "MISSED", text))

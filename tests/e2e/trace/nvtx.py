"""nvtx.py REPORT TOLD - compares NVTX_EVENTS with what a program says it did (prog/nvtx.c).

Every line told is exactly one row and the other way round: per thread and kind in the order of their start. Times lie
between the readings of the clock before and after the call; the two clocks are allowed to differ by SLACK ns.
"""
import sqlite3, sys
from itertools import zip_longest

SLACK = 50_000
PAYLOAD = "uint64Value int64Value doubleValue uint32Value int32Value floatValue".split()

def told(path):
    with open(path, encoding="utf-8") as f:
        for line in f:
            v = line.rstrip("\n").split("\t")
            yield dict(zip("type tid end_tid domain category color payload registered text".split(), v),
                       times=tuple(map(int, v[9:13])))

def rows(db):
    zero = db.execute("SELECT systemClockNs FROM TARGET_INFO_SESSION_START_TIME").fetchone()[0]
    domains = {(t >> 24, d): n for t, d, n in db.execute(
        "SELECT globalTid, domainId, text FROM NVTX_EVENTS WHERE eventType = 75")}
    q = """SELECT eventType, globalTid, endGlobalTid, domainId, coalesce(category, 0), color, textId, coalesce(text, value),
                  start, end, text IS NULL = (textId IS NULL), rangeId, %s
           FROM NVTX_EVENTS LEFT JOIN StringIds ON StringIds.id = textId ORDER BY start, eventId""" % ", ".join(PAYLOAD)
    for kind, tid, end_tid, domain, category, color, text_id, text, start, end, both, range_id, *values in db.execute(q):
        if both:
            print("not exactly one of text and textId:", kind, text)
        if (range_id is not None) != (kind == 60):
            print("rangeId of type", kind, "is", range_id)
        payload = ["%s=%s" % (n, v) for n, v in zip(PAYLOAD, values) if v is not None]
        yield {"type": str(kind), "tid": str(tid & 0xffffff), "end_tid": str((end_tid or 0) & 0xffffff),
               "domain": domains.get((tid >> 24, domain), "?") if domain else "-", "category": str(category),
               "color": "-" if color is None else str(color), "payload": ",".join(payload) or "-",
               "registered": str(int(text_id is not None)), "text": text,
               "times": (start + zero, -1 if end is None else end + zero)}

def by_thread(list, start):
    out = {}
    for e in sorted(list, key=start):
        out.setdefault((e["type"], e["tid"]), []).append(e)
    return out

def differs(want, got):
    if any(want[k] != got[k] for k in want if k != "times"):
        return True
    s0, s1, e0, e1 = want["times"]
    start, end = got["times"]
    if not s0 - SLACK <= start <= s1 + SLACK:
        return True
    return end != -1 if e0 < 0 else not e0 - SLACK <= end <= e1 + SLACK

def main():
    db = sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True)
    want = by_thread(told(sys.argv[2]), lambda e: e["times"][0])
    got = by_thread(rows(db), lambda e: e["times"][0])
    bad = 0
    for key in sorted(want.keys() | got.keys()):
        for w, g in zip_longest(want.get(key, []), got.get(key, [])):
            if w is None or g is None or differs(w, g):
                bad += 1
                if bad < 10:
                    print("told:  ", w, "\nreport:", g)
    cnt = sum(map(len, want.values()))
    print(cnt, "told,", sum(map(len, got.values())), "rows,", bad, "differ")
    return bad != 0 or cnt == 0

sys.exit(main())

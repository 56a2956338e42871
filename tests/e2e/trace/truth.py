"""truth.py REPORT PREFIX [totals] - compares a report's calls with what the programs noted (prog/truth.h).

Rows: every thread that left notes has exactly the noted calls, in order. With "totals" (a report with
a threshold) each thread and function has rows + totals + lost = notes, and the bytes agree as well.
Checked and 64-bit twins (__read_chk, open64, __open_2) stand for their plain names. Prints what differs.
"""
import glob, re, sqlite3, sys
from collections import Counter

def plain(name):
    name = re.sub(r"^__(.*)_(chk|2)$", r"\1", name)
    name = {"__xstat": "stat", "__lxstat": "lstat", "__fxstat": "fstat", "__fxstatat": "fstatat"}.get(name, name)
    name = re.sub(r"^__isoc99_|^_IO_", "", name)
    name = {"__getdelim": "getdelim"}.get(name, name)
    return re.sub(r"64(v2)?$", lambda m: "2" if m[1] else "", name)

def notes(prefix):
    for path in sorted(glob.glob(glob.escape(prefix) + ".*.*")):
        pid, tid = path.split(".")[-2:]
        with open(path, encoding="utf-8", errors="surrogateescape") as f:
            yield int(pid), int(tid), [line.rstrip("\n").split("\t") for line in f]

def rows(db, pid, tid):
    tid = 1 << 48 | pid << 24 | tid
    q = """SELECT n.value, o.returnValue, o.errnum, o.fd, o.bytesAsked, o.fileOffset, p.value
             FROM OSRT_API o JOIN StringIds n ON n.id = o.nameId LEFT JOIN StringIds p ON p.id = o.pathId
            WHERE o.globalTid = ? ORDER BY o.end, o.start DESC"""
    for r in db.execute(q, (tid,)):
        yield [plain(r[0])] + ["-" if v is None else str(v) for v in r[1:]]

def agrees(want, got):
    return want[0] == got[0] and all(w == "?" or w == g for w, g in zip(want[1:], got[1:]))

def compare_rows(db, pid, tid, want):
    counted = {w[0][1:] for w in want if w[0][0] == "+"}
    bad = compare_totals(db, pid, tid, want, counted) if counted else 0
    got = [r for r in rows(db, pid, tid) if r[0] not in counted]
    want = [w for w in want if w[0][0] != "+"]
    fields = "name ret errno fd asked off path".split()
    i = j = 0
    while i < len(want) or j < len(got):
        if i < len(want) and j < len(got) and want[i][0] == got[j][0]:
            if not agrees(want[i], got[j]):
                bad += 1
                print("%d.%d #%d %s:" % (pid, tid, i, want[i][0]), *("%s is %s, not %s;" % (n, g, w)
                      for n, w, g in zip(fields, want[i], got[j]) if w not in ("?", g)))
            i, j = i + 1, j + 1
        # One side has a call more: whichever way gets both into step again soonest.
        elif j < len(got) and any(g[0] == want[i][0] for g in got[j:j + 8]) if i < len(want) else True:
            bad += 1
            print("%d.%d #%d: the report has too much:" % (pid, tid, i), *got[j])
            j += 1
        else:
            bad += 1
            print("%d.%d #%d: missing in the report:" % (pid, tid, i), *want[i])
            i += 1
    return bad

MOVES = ("read", "write", "pread", "pwrite", "readv", "writev", "preadv", "pwritev", "preadv2", "pwritev2",
         "send", "recv", "sendto", "recvfrom", "sendmsg", "recvmsg", "copy_file_range", "sendfile", "splice", "tee", "vmsplice")

def compare_totals(db, pid, tid, want, names=None):
    want = [[w[0].lstrip("+")] + w[1:] for w in want]
    gtid, have, moved, bad = 1 << 48 | pid << 24 | tid, Counter(), Counter(), 0
    for name, count, nbytes in db.execute(
            """SELECT value, sum(n), sum(b) FROM (
                 SELECT nameId i, 1 n, CASE WHEN errnum IS NULL THEN max(returnValue, 0) ELSE 0 END b
                   FROM OSRT_API WHERE globalTid = ?1
                 UNION ALL SELECT nameId, count + lostCount, bytes FROM SL_OSRT_TOTALS WHERE globalTid = ?1)
               JOIN StringIds ON id = i GROUP BY 1""", (gtid,)):
        have[plain(name)] += count
        moved[plain(name)] += nbytes
    need = Counter(w[0] for w in want)
    need_bytes = Counter()
    for w in want:
        need_bytes[w[0]] += max(0, int(w[1])) if w[1].lstrip("-").isdigit() else 0
    for name in sorted(names or set(need) | set(have)):
        if need[name] != have[name]:
            bad += 1
            print("%d.%d %s: %d calls, not %d" % (pid, tid, name, have[name], need[name]))
        elif name in MOVES and need_bytes[name] != moved[name]:
            bad += 1
            print("%d.%d %s: %d bytes, not %d" % (pid, tid, name, moved[name], need_bytes[name]))
    return bad

COPIES = "copy_file_range", "sendfile", "splice", "tee"  # of the file written to, there are totals, too

def compare_files(db, pid, tid, want):
    """Calls and bytes by path and direction: rows + SL_FILE_TOTALS. What was noted without a path may be on any."""
    gtid, have, need, loose, bad = 1 << 48 | pid << 24 | tid, {}, {}, set(), 0
    way = {plain(name): io for name, io in db.execute("SELECT value, io FROM SL_FUNCTIONS JOIN StringIds ON id = nameId "
                                                      "WHERE io IN (3, 4)")}
    for path, io, count, nbytes in db.execute(
            """SELECT value, io, count(*), sum(coalesce(bytesDone, 0)) FROM OSRT_API JOIN SL_FUNCTIONS USING (nameId)
                 JOIN StringIds ON id = pathId WHERE globalTid = ?1 AND io IN (3, 4) GROUP BY 1, 2
               UNION ALL SELECT filePath, eventType, sum(count), sum(bytes) FROM SL_FILE_TOTALS
                 JOIN OSRT_FILE_ACCESS_DESCRIPTORS USING (fileAccessId) WHERE globalTid = ?1 GROUP BY 1, 2""", (gtid,)):
        calls, moved = have.get((path, io), (0, 0))
        have[path, io] = calls + count, moved + nbytes
    for name, ret, err, fd, *_, path in want:
        io = way.get(name.lstrip("+"))
        if not io or path == "-":
            continue
        if path == "?":
            loose.update((io, 4) if name.lstrip("+") in COPIES else (io,))
            continue
        calls, moved, exact = need.get((path, io), (0, 0, True))
        need[path, io] = calls + 1, moved + max(0, int(ret) if ret.lstrip("-").isdigit() else 0), exact and name in MOVES
    for (path, io), (calls, moved, exact) in sorted(need.items()):
        got = have.get((path, io), (0, 0))
        if got[0] < calls or got[0] > calls and io not in loose or exact and got[1] != moved and io not in loose:
            bad += 1
            print("%d.%d %s, direction %d: %d calls, %d bytes, not %d and %d" % (pid, tid, path, io, *got, calls, moved))
    compare_files.compared += len(need)
    return bad

compare_files.compared = 0

def main():
    db = sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True)
    for need in ("OSRT_API", "SL_OSRT_TOTALS", "SL_FILE_TOTALS"):  # tables exist only where there are rows
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (need,)).fetchone():
            db.execute("CREATE TEMP TABLE %s AS SELECT 0 globalTid, 0 nameId, 0 returnValue, 0 errnum, 0 fd, 0 bytesAsked,"
                       " 0 bytesDone, 0 fileAccessId, 0 eventType, 0 fileOffset, 0 pathId, 0 start, 0 end, 0 count, 0 lostCount,"
                       " 0 bytes WHERE 0" % need)
    compare = compare_totals if sys.argv[3:] == ["totals"] else compare_rows
    threads = list(notes(sys.argv[2]))
    bad = sum(compare(db, *t) for t in threads)
    if compare is compare_totals:
        bad += sum(compare_files(db, *t) for t in threads)
    print("%d threads, %d calls noted, %d files compared, %d differences" %
          (len(threads), sum(len(t[2]) for t in threads), compare_files.compared, bad))
    sys.exit(bad != 0 or not threads)

main()

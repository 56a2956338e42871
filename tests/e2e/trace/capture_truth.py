"""capture_truth.py LOG 'OPTIONS OF profile' 'CALLS...' REPORT... - are reports what was captured, no less, no more?

LOG.* is what tests/prog/capture noted of itself (prog/capture_log.h). From it and the options follows when captures
began and ended (class Session: the rules as the manual has them, written a second time). Then, for each report:
it begins and ends there; whatever began inside has its row, once and with the right values; what lies outside has
none; NVTX ranges are cut at the edges and marked. CALLS: how many each report must hold, a second opinion: "-":
nothing was captured, "N": some. Prints what is wrong; exit status 1 if anything is.
"""
import argparse, bisect, glob, mmap, os, re, sqlite3, struct, sys, time
from collections import Counter, defaultdict

NOTE = struct.Struct("<qqqii32s")
EPS = 5000  # ns: two clocks, one of them interpolated
FOREVER = 1 << 62
PUSH_POP, START_END, MARK = 59, 60, 34
EVENTS = " WHERE eventType IN (34, 59, 60)"  # others are names, which may be older


class Note:
    __slots__ = ("t0", "t1", "number", "kind", "result", "text", "pid", "tid")

    def __init__(self, raw, pid, tid):
        self.t0, self.t1, self.number, kind, self.result, text = raw
        self.kind, self.pid, self.tid = chr(kind), pid, tid
        self.text = text.split(b"\0")[0].decode()
        if self.kind.isupper() and self.kind != "H":  # begun; the program was killed in it, or it never returned
            self.t1 = FOREVER


def read_log(prefix):
    """{(pid, tid): [Note]}"""
    threads = {}
    for path in sorted(glob.glob(glob.escape(prefix) + ".*.*")):
        pid, tid = (int(x) for x in path.split(".")[-2:])
        notes = threads[pid, tid] = []
        with open(path, "rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as m:
            for at in range(0, len(m), NOTE.size):
                raw = NOTE.unpack_from(m, at)
                if not raw[3]:
                    break
                notes.append(Note(raw, pid, tid))
    return threads


def read_options(text):
    p = argparse.ArgumentParser()
    p.add_argument("-c", "--capture-range", default="none")
    p.add_argument("--capture-range-end", default="stop-shutdown")
    p.add_argument("-p", "--nvtx-capture", default="")
    p.add_argument("-y", "--delay", type=int, default=0)
    p.add_argument("-d", "--duration", type=int, default=0)
    o, _ = p.parse_known_args(text.split())
    words = o.capture_range_end.split(":")
    o.end = words[0]
    o.repeat = next((int(w) for w in words[1:] if w.isdigit()), 0)
    o.plain = "REGISTER_ONLY=0" in text
    return o


# ---- when captures were ----

class Window:
    """Began at some moment of [open0, open1], ended in [close0, close1]; ns of CLOCK_MONOTONIC."""

    def __init__(self, open0, open1):
        self.open0, self.open1, self.close0, self.close1 = open0, open1, None, None


class Session:
    """What begins and ends captures, by the manual: the first who opens begins; it ends when all who opened have
    closed, or ended; cudaProfilerStop of one who opened nothing ends it at once."""

    def __init__(self, options, threads):
        self.o, self.windows, self.open, self.closing = options, [], {}, 0
        self.begin = min(n[0].t0 for n in threads.values())
        for what, n, key in self.asks(threads):
            (self.opened if what == "open" else self.closed)(n, key)
        if self.windows and self.windows[-1].close0 is None:
            last = max((x.t1 for n in threads.values() for x in n if x.t1 < FOREVER))
            self.windows[-1].close0, self.windows[-1].close1 = last, FOREVER

    def matches(self, text):
        registered, text = text[:1] == "=", text.lstrip("=")
        name, _, domain = text.partition("@")
        want, has_domain, want_domain = self.o.nvtx_capture.partition("@")
        return (registered or self.o.plain) and name == want and (domain == want_domain or want_domain == "*")

    def asks(self, threads):
        """All openings and closings in the order of time."""
        events = []
        for (pid, tid), notes in threads.items():
            stack = []
            for n in notes:
                if self.o.capture_range == "cudaProfilerApi" and n.kind.lower() in "be":
                    events.append(("open" if n.kind.lower() == "b" else "close", n, (pid,)))
                if self.o.capture_range != "nvtx":
                    continue
                if n.kind.lower() == "p":
                    stack.append(n)
                    if self.matches(n.text):
                        events.append(("open", n, (pid, tid, n.t0)))
                elif n.kind.lower() == "q":
                    domain = n.text.partition("@")[2]
                    for i in reversed(range(len(stack))):
                        if stack[i].text.partition("@")[2] == domain:
                            p = stack.pop(i)
                            if self.matches(p.text):
                                events.append(("close", n, (pid, tid, p.t0)))
                            break
                elif n.kind.lower() in "rs" and self.matches(n.text):
                    events.append(("open" if n.kind.lower() == "r" else "close", n, (pid, "range", n.number)))
        for pid in {p for p, _ in threads}:  # a process that has ended has closed its ranges
            last = max((x for (p, _), n in threads.items() if p == pid for x in n[-1:]), key=lambda x: x.t1 if x.t1 < FOREVER else x.t0)
            end = Note((last.t1 if last.t1 < FOREVER else last.t0, FOREVER, 0, ord("x"), 0, b""), pid, 0)
            events.append(("close", end, (pid, "end")))
        return sorted(events, key=lambda e: e[1].t0)

    def opened(self, n, key):
        if n.t1 < self.begin + self.o.delay * 1000000000:
            return
        n_done = len([w for w in self.windows if w.close0 is not None])
        if not self.open:
            if n_done and self.o.end in ("stop", "stop-shutdown"):
                return
            if self.o.repeat and n_done >= self.o.repeat:
                return
            if self.windows and self.windows[-1].close0 is None:
                if self.o.end == "none":
                    return
            self.windows.append(Window(n.t0, n.t1))
        w = self.windows[-1]
        if n.t0 < w.open1:  # whichever of them it was
            w.open1 = min(w.open1, n.t1)
        self.open[key] = n

    def closed(self, n, key):
        if not self.open or self.o.end == "none":
            return
        if n.kind == "x":
            gone = [k for k in self.open if k[0] == key[0]]
        elif key in self.open:
            gone = [key]
        elif n.kind == "e":
            gone = list(self.open)
        else:
            return
        for k in gone:
            del self.open[k]
        # Of closings at the same time any may be the last that is heard.
        self.closing = max(self.closing, n.t1) if n.t0 <= self.closing and n.kind != "x" else n.t1
        if gone and not self.open:
            self.windows[-1].close0, self.windows[-1].close1 = n.t0, self.closing

    def reports(self):
        """Per report its windows."""
        for w in self.windows:
            end = w.open0 + self.o.duration * 1000000000
            if self.o.duration and end < w.close0:
                w.close0, w.close1 = end, end + 300000000
        if self.o.end == "pause":
            return [self.windows]
        return [[w] for w in self.windows] or [[]]


# ---- a report ----

class Report:
    def __init__(self, path):
        self.path, self.bad = path, 0
        self.db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
        self.tables = {r[0] for r in self.db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        self.zero, = self.db.execute("SELECT systemClockNs FROM TARGET_INFO_SESSION_START_TIME").fetchone()
        self.duration, = self.db.execute("SELECT duration FROM ANALYSIS_DETAILS").fetchone()
        self.strings = dict(self.db.execute("SELECT id, value FROM StringIds"))

    def wrong(self, *what):
        self.bad += 1
        if self.bad <= 12:
            print("%s:" % os.path.basename(self.path), *what)

    def rows(self, sql, *args):
        table = re.search(r"FROM (\w+)", sql)[1]
        return self.db.execute(sql, args).fetchall() if table in self.tables else []

    def one(self, sql, *args):
        r = self.rows(sql, *args)
        return r[0][0] if r else None


def span(n):
    return "%s %d.%d #%d at %.6f" % (n.kind, n.pid, n.tid, n.number, n.t0 / 1e9)


class Check:
    """One report against the log. must(n): it began, for sure, while it was recorded; may(n): perhaps."""

    def __init__(self, report, windows, threads, other):
        self.r, self.windows, self.threads, self.other = report, windows, threads, other
        self.w0, self.w1 = report.zero, report.zero + report.duration
        self.widest = [(w.open0, w.close1) for w in windows]
        self.inner = []  # what is recorded for sure
        for i, w in enumerate(windows):
            first, last = i == 0, i == len(windows) - 1
            self.inner.append((self.w0 + EPS if first else w.open1, self.w1 - EPS if last else w.close0))
        self.outer = [(self.w0 - EPS if i == 0 else w.open0, self.w1 + EPS if i == len(windows) - 1 else w.close1)
                      for i, w in enumerate(windows)]

    def told(self):
        """The windows that the report itself tells of are those of the log."""
        r, have = self.r, self.r.rows("SELECT start, end FROM SL_CAPTURES ORDER BY number")
        if not have:
            if len(self.windows) > 1:
                r.wrong("no SL_CAPTURES")
            return
        if abs(have[0][0]) > EPS or abs(have[-1][1] - r.duration) > EPS or len(have) != len(self.windows):
            r.wrong("SL_CAPTURES: %d windows from %d to %d, not %d from 0 to %d" %
                    (len(have), have[0][0], have[-1][1], len(self.windows), r.duration))
        for i, ((a, b), w) in enumerate(zip(have, self.windows)):
            if not w.open0 - EPS <= a + r.zero <= w.open1 + EPS or not w.close0 - EPS <= b + r.zero <= w.close1 + EPS:
                r.wrong("SL_CAPTURES: window %d is not where it was opened and closed" % (i + 1))
            self.inner[i], self.outer[i] = (a + r.zero + EPS, b + r.zero - EPS), (a + r.zero - EPS, b + r.zero + EPS)

    def must(self, n):
        i = bisect.bisect_right(self.inner, (n.t0, FOREVER)) - 1
        return i >= 0 and n.t1 <= self.inner[i][1]

    def may(self, n):
        i = bisect.bisect_right(self.outer, (n.t1, FOREVER)) - 1
        return i >= 0 and n.t0 <= self.outer[i][1]

    def asked(self, n):
        """It overlaps the time from opening to closing, calls included: totals are not told by the clock."""
        i = bisect.bisect_right(self.widest, (n.t1, FOREVER)) - 1
        return i >= 0 and n.t0 <= self.widest[i][1]

    def gtid(self, n):
        return 1 << 48 | n.pid << 24 | n.tid

    def notes(self, kinds):
        for notes in self.other.values():
            for n in notes:
                if n.kind.lower() in kinds:
                    yield n

    def near(self):
        """Calls that may be in the report. There are many, most of them of other reports."""
        for key in self.threads:
            yield from self.near_of(key)

    def near_of(self, key):
        notes = self.threads[key]
        first, last = min(self.outer[0][0], self.widest[0][0]), max(self.outer[-1][1], self.widest[-1][1])
        for i in range(bisect.bisect_left(notes, first, key=lambda n: n.t1), len(notes)):
            if notes[i].t0 > last:
                break
            if notes[i].kind in "cC":
                yield notes[i]

    def edges(self):
        if not self.windows:
            return
        first, last = self.windows[0], self.windows[-1]
        if not first.open0 - EPS <= self.w0 <= first.open1 + EPS:
            self.r.wrong("began %d us after the opening call did, which took %d us" %
                         ((self.w0 - first.open0) // 1000, (first.open1 - first.open0) // 1000))
        if not last.close0 - EPS <= self.w1 <= last.close1 + EPS:
            self.r.wrong("ended %d us after the closing call began, which took %d us" %
                         ((self.w1 - last.close0) // 1000, (min(last.close1, self.w1) - last.close0) // 1000))

    def times(self):
        """No row of any kind begins outside; the session's clocks agree."""
        r = self.r
        for table in sorted(r.tables):
            columns = {c[1] for c in r.db.execute("PRAGMA table_info(%s)" % table)}
            if not {"start", "end"} <= columns or table in ("SL_PROCESS_TREE", "SL_CAPTURES", "SL_NVTX_CLIPPED", "SL_MODULES"):
                continue
            low, high = r.db.execute('SELECT min(start), max(coalesce("end", start)) FROM %s%s' % (
                table, EVENTS if table == "NVTX_EVENTS" else "")).fetchone()
            if low is not None and low < 0:
                r.wrong("%s: a row begins at %d" % (table, low))
            if high is not None and high > r.duration and table not in ("OSRT_API", "CUPTI_ACTIVITY_KIND_RUNTIME") and not table.startswith(("CUPTI", "SL_LOST")):
                r.wrong("%s: a row ends %d ns after the end" % (table, high - r.duration))
            # What the GPU was given inside may begin when it comes to it.
            if low is not None and not table.startswith("CUPTI") and r.db.execute("SELECT max(start) FROM %s" % table).fetchone()[0] > r.duration:
                r.wrong("%s: a row begins after the end" % table)
        utc, = r.db.execute("SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME").fetchone()
        off = utc - r.zero - (time.time_ns() - time.monotonic_ns())
        if abs(off) > 100000000:
            r.wrong("utcEpochNs is off by %d ms" % (off // 1000000))
        start, stop = r.db.execute("SELECT startTime, stopTime FROM ANALYSIS_DETAILS").fetchone()
        if stop - start != r.duration or start != r.zero:
            r.wrong("ANALYSIS_DETAILS: %d to %d is not %d from %d" % (start, stop, r.duration, r.zero))

    def calls(self):
        """Each call by its thread and offset; below the threshold by their number."""
        r, have = self.r, {}
        for tid, off, start, end, ret, asked, path in r.rows(
                """SELECT globalTid, fileOffset, start, end, returnValue, bytesAsked, pathId FROM OSRT_API
                   WHERE nameId IN (SELECT id FROM StringIds WHERE value LIKE 'pread%')"""):
            if (tid, off) in have:
                r.wrong("twice: pread of thread %d at %d" % (tid & 0xffffff, off))
            have[tid, off] = (start + r.zero, end + r.zero, ret, asked, r.strings.get(path))
        totals = Counter()
        for tid, count, lost in r.rows("SELECT globalTid, count, lostCount FROM SL_OSRT_TOTALS WHERE nameId IN (SELECT id FROM StringIds WHERE value LIKE 'pread%')"):
            totals[tid] += count + lost
        least, most, rows = Counter(), Counter(), Counter()
        for n in self.near():
            key, got = (self.gtid(n), n.number), have.pop((self.gtid(n), n.number), None)
            least[key[0]] += self.must(n)
            most[key[0]] += self.may(n) or self.asked(n)
            if got:
                rows[key[0]] += 1
                if not self.may(n):
                    r.wrong("outside:", span(n))
                elif not (n.t0 - EPS <= got[0] <= got[1] <= n.t1 + EPS):
                    r.wrong("time: %s..%d is %d..%d" % (span(n), n.t1, *got[:2]))
                elif got[2:4] != (1, 1) or not (got[4] or "").endswith(".data"):
                    r.wrong("values:", span(n), *got[2:])
            elif self.must(n) and not totals[key[0]]:
                r.wrong("missing:", span(n), "%.6f after the beginning" % ((n.t0 - self.w0) / 1e9))
        for tid, off in have:
            r.wrong("stray: pread of thread %d at %d" % (tid & 0xffffff, off))
        for tid in set(totals) | set(least):
            if not least[tid] <= rows[tid] + totals[tid] <= most[tid]:
                r.wrong("thread %d: %d rows, %d in totals; %d to %d calls" % (tid & 0xffffff, rows[tid], totals[tid], least[tid], most[tid]))
        return sum(rows.values()) + sum(totals.values())

    def ranges(self):
        """(kind, begin note, end note or None) of every NVTX range in the log."""
        for notes in self.other.values():
            stack = []
            for n in notes:
                if n.kind.lower() == "p":
                    stack.append(n)
                elif n.kind.lower() == "q":
                    domain = n.text.partition("@")[2]
                    for i in reversed(range(len(stack))):
                        if stack[i].text.partition("@")[2] == domain:
                            yield PUSH_POP, stack.pop(i), n
                            break
            for n in stack:
                yield PUSH_POP, n, None
        ends = {(n.pid, n.number): n for n in self.notes("s")}
        for n in self.notes("r"):
            yield START_END, n, ends.get((n.pid, n.number))
        for n in self.notes("m"):
            yield MARK, n, n

    def nvtx(self):
        """A row for each range that reaches into what was recorded, cut to it, and one that says so."""
        r, have = self.r, defaultdict(list)
        clipped = {i: (a + r.zero, None if b is None else b + r.zero)
                   for i, a, b in r.rows("SELECT eventId, start, end FROM SL_NVTX_CLIPPED")}
        for kind, tid, text, text_id, start, end, event in r.rows(
                "SELECT eventType, globalTid, text, textId, start, end, eventId FROM NVTX_EVENTS" + EVENTS):
            have[kind, tid, text if text is not None else r.strings.get(text_id)].append(
                (start + r.zero, None if end is None else end + r.zero, clipped.get(event)))
        for rows in have.values():
            rows.sort(key=lambda x: x[0])
        for kind, a, b in sorted(self.ranges(), key=lambda x: x[1].t0):
            key = kind, self.gtid(a), a.text.lstrip("=").partition("@")[0]
            end0, end1 = (b.t0, b.t1) if b else (FOREVER, FOREVER)
            sure = [w for w in self.inner if a.t1 <= w[1] - EPS and end0 >= w[0] + EPS]
            perhaps = any(a.t0 <= w[1] + EPS and end1 >= w[0] - EPS for w in self.outer)
            if kind == MARK:
                sure = self.must(a)
            fits = [x for x in have[key] if a.t0 - EPS <= x[0] <= end1 + EPS] if perhaps else []
            if fits:
                have[key].remove(fits[0])
                if kind != MARK and sure:
                    self.cut(fits[0], a, end0, end1, sure[0][0], sure[-1][1])
            elif sure:
                r.wrong("missing: NVTX", key[2], span(a))
        for key, left in have.items():
            for x in left:
                r.wrong("stray: NVTX %s of thread %d at %d" % (key[2], key[1] & 0xffffff, x[0] - r.zero))

    def cut(self, x, a, end0, end1, w0, w1):
        """The row x of the range from note a to [end0, end1], where it was recorded from about w0 to about w1."""
        r, tell = self.r, lambda ns: None if ns is None else ns - r.zero
        low, high = max(a.t0, w0) - 3 * EPS, max(a.t1, w0) + 3 * EPS
        if not low <= x[0] <= high:
            r.wrong("NVTX begins at %d, not %d..%d:" % (tell(x[0]), tell(low), tell(high)), span(a))
        low, high = min(end0, w1) - 3 * EPS, min(end1, w1) + 3 * EPS
        if x[1] is None or not low <= x[1] <= high:
            if x[1] is not None or end0 < FOREVER:
                r.wrong("NVTX ends at %s, not %d..%d:" % (tell(x[1]), tell(low), tell(high)), span(a))
        early, late = a.t1 < w0 - 3 * EPS, end0 > w1 + 3 * EPS and x[1] is not None
        if (early or late) and not x[2]:
            r.wrong("NVTX is cut and not marked:", span(a))
        if early and x[2] and not a.t0 - EPS <= x[2][0] <= a.t1 + EPS:
            r.wrong("NVTX did not begin at %d:" % tell(x[2][0]), span(a))
        if late and x[2] and x[2][1] is not None and not end0 - EPS <= x[2][1] <= end1 + EPS:
            r.wrong("NVTX did not end at %d:" % tell(x[2][1]), span(a))
        if x[2] and a.t0 > w0 + 3 * EPS and end1 < w1 - 3 * EPS:
            r.wrong("NVTX is marked as cut and is not:", span(a))

    def gpu(self):
        """Launches as calls and as kernels, each leading to the other."""
        r = self.r
        launches = list(self.notes("k"))
        if not launches:
            return
        have = Counter(t for t, in r.rows("SELECT globalTid FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE nameId IN (SELECT id FROM StringIds WHERE value LIKE 'cudaLaunchKernel%')"))
        least, most = Counter(), Counter()
        for n in launches:
            least[self.gtid(n)] += self.must(n)
            most[self.gtid(n)] += self.may(n)
        for tid in set(least) | set(have):
            if not least[tid] <= have[tid] <= most[tid]:
                r.wrong("thread %d: %d launches, not %d to %d" % (tid & 0xffffff, have[tid], least[tid], most[tid]))
        kernels = r.one("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL") or 0
        if "CUPTI_ACTIVITY_KIND_RUNTIME" in r.tables and "CUPTI_ACTIVITY_KIND_KERNEL" in r.tables:
            joined = r.one("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN CUPTI_ACTIVITY_KIND_RUNTIME USING (correlationId)")
        else:
            joined = 0
        if not kernels == joined == sum(have.values()):
            r.wrong("%d kernels, %d joined to one of %d launches" % (kernels, joined, sum(have.values())))

    def who(self):
        """Every process and thread that noted something while it was recorded has its names and its parent."""
        r = self.r
        names = {t: r.strings.get(n) for t, n in r.rows("SELECT globalTid, nameId FROM ThreadNames")}
        pids = {p for p, in r.rows("SELECT pid FROM PROCESSES")}
        tree = {p >> 24 & 0xffffff: q and q >> 24 & 0xffffff for p, q in r.rows("SELECT globalPid, parentGlobalPid FROM SL_PROCESS_TREE")}
        for (pid, tid), notes in self.threads.items():
            if not any(self.must(n) for n in self.near_of((pid, tid))) and \
               not any(n.kind in "kpqrsml" and self.must(n) for n in self.other[pid, tid]):
                continue
            if pid not in pids:
                r.wrong("process %d is not in PROCESSES" % pid)
            if pid not in tree:
                r.wrong("process %d is not in SL_PROCESS_TREE" % pid)
            elif (pid != min(p for p, _ in self.threads)) and tree[pid] != notes[0].result and notes[0].result != 1:
                r.wrong("process %d has the parent %s, not %d" % (pid, tree[pid], notes[0].result))
            named = [n.text for n in self.other[pid, tid] if n.kind == "n" and n.t1 <= self.w1] or ["capture"]
            if names.get(1 << 48 | pid << 24 | tid) not in (named[-1], *[n.text for n in self.other[pid, tid] if n.kind == "n" and n.t1 > self.w1]):
                r.wrong("thread %d is called %s, not %s" % (tid, names.get(1 << 48 | pid << 24 | tid), named[-1]))

    def switches(self):
        r, state = self.r, {}
        for tid, is_in, start in r.rows("SELECT globalTid, isSchedIn, start FROM SCHED_EVENTS ORDER BY start, rowid"):
            if state.get(tid) == is_in:
                r.wrong("thread %d: two switches %s in a row at %d" % (tid & 0xffffff, "in" if is_in else "out", start))
            state[tid] = is_in

    def whole(self):
        r = self.r
        for text, in r.db.execute("PRAGMA integrity_check"):
            if text != "ok":
                r.wrong("integrity_check:", text)
        if r.one("SELECT value FROM META_DATA_EXPORT WHERE name = 'SL_COMPLETE'") != "1":
            r.wrong("is not complete")
        if "SL_STATE" in r.tables or os.path.exists(r.path + "-wal"):
            r.wrong("is not finished")
        for value, in r.rows("SELECT value FROM StringIds GROUP BY value HAVING count(*) > 1"):
            r.wrong("two strings are one:", value)
        for table in r.tables:
            for column in [c[1] for c in r.db.execute("PRAGMA table_info(%s)" % table)]:
                if column not in ("nameId", "pathId", "textId", "shortName", "demangledName", "mangledName", "filePath", "apiCallId") or table.startswith("ENUM"):
                    continue
                for value, in r.db.execute("SELECT DISTINCT %s FROM %s WHERE %s IS NOT NULL" % (column, table, column)):
                    if isinstance(value, int) and value not in r.strings:
                        r.wrong("%s.%s: no string %d" % (table, column, value))
        lost = r.one("SELECT sum(count) FROM SL_LOST_EVENTS WHERE " + os.environ["RECORDS"])
        if lost:
            r.wrong("%d events are said to be lost" % lost)

    def run(self):
        self.whole()
        self.times()
        if self.windows:
            self.edges()
            self.told()
            found = self.calls()
            self.nvtx()
            self.gpu()
            self.who()
            self.switches()
            return str(found)
        for table in sorted(self.r.tables & {"OSRT_API", "SL_OSRT_TOTALS", "NVTX_EVENTS", "SCHED_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME"}):
            n = self.r.one("SELECT count(*) FROM %s%s" % (table, EVENTS if table == "NVTX_EVENTS" else ""))
            if n:
                self.r.wrong("nothing was captured, but %s has %d rows" % (table, n))
        return "-"


def main():
    threads, options, want, paths = read_log(sys.argv[1]), read_options(sys.argv[2]), sys.argv[3].split(), sys.argv[4:]
    if not threads:
        sys.exit("nothing was done: no log " + sys.argv[1])
    other = {key: [n for n in notes if n.kind not in "cC"] for key, notes in threads.items()}
    if options.capture_range == "none":
        begin, end = (f(n[i].t0 for n in threads.values()) for f, i in ((min, 0), (max, -1)))
        never = options.delay and begin + options.delay * 1000000000 > end
        begin += options.delay * 1000000000
        w = Window(0 if not options.delay else begin - 500000000, FOREVER if options.delay else begin)
        w.close0, w.close1 = (end, FOREVER) if not options.duration else (begin, FOREVER)
        expected = [[]] if never else [[w]]
    else:
        expected = Session(options, other).reports()
    bad, counts = 0, []
    for i, path in enumerate(paths):
        report = Report(path)
        windows = expected[i] if i < len(expected) else []
        counts.append(Check(report, windows, threads, other).run())
        bad += report.bad
    same = [w == c or w == "N" and c.isdigit() and c != "0" for w, c in zip(want, counts)]
    if len(paths) != len(expected) or len(want) != len(counts) or not all(same):
        print("%d reports (by the log: %d) with %s calls, not %s" % (len(paths), len(expected), " ".join(counts), " ".join(want)))
        bad += 1
    sys.exit(bad != 0)


main()

"""why_gains.py SCHEMA FOLDER: reports of which the gains are known by arithmetic. Times are in ms."""
import os
import sqlite3
import sys

MS, HOST = 1000000, 1 << 48
schema, folder = open(sys.argv[1]).read(), sys.argv[2]


class Report:
    """A program of process 100 whose main thread ends at `end`; threads are (process, tid)."""

    def __init__(self, name, end):
        path = os.path.join(folder, name + ".sqlite")
        if os.path.exists(path):
            os.remove(path)
        self.db = sqlite3.connect(path)
        self.db.executescript(schema)
        self.texts, self.places, self.end = {}, {}, end
        self.function, self.is_compiled = None, False  # of lines: "f10"; Python's
        self.add("ANALYSIS_DETAILS", HOST, end * MS, 0, end * MS)
        self.process(100, None, 0, end)

    def add(self, table, *row):
        self.db.execute("INSERT INTO %s VALUES (%s)" % (table, ", ".join("?" * len(row))), row)

    def text(self, s):
        if s not in self.texts:
            self.texts[s] = 1000 + len(self.texts)
            self.add("StringIds", self.texts[s], s)
        return self.texts[s]

    def process(self, pid, parent, start, end):
        self.add("SL_PROCESS_TREE", HOST | pid << 24, parent and HOST | parent << 24, start * MS, end * MS, 0 if parent is None else 2, 1,
                 "/bin/p%d" % pid, "p%d" % pid, 0)

    def stack(self, line):
        if line not in self.places:
            self.places[line] = n = len(self.places) + 1
            self.db.execute("INSERT INTO SL_FRAMES(id, kind, symbol, module, file, line, inlined, kernelMode, unresolved, specialEntry) "
                            "VALUES (?, ?, ?, ?, ?, ?, 0, 0, 0, 0)", (n, int(not self.is_compiled), self.text(self.function or "f%d" % line),
                                                                  *[self.text("/me/g.c" if self.is_compiled else "/me/g.py")] * 2, line))
            self.add("SL_STACKS", n, 0, n)
        return self.places[line]

    def inner(self, line, *modules):
        """A stack whose innermost frames are of modules, native or <Python's>, the innermost first, called by `line`."""
        if modules and (line, modules) not in self.places:
            frame = self.stack(line)
            self.places[line, modules] = n = 100 * (len(self.places) + 1)
            for depth, module in enumerate(modules):
                is_python = module.startswith("<")
                self.db.execute("INSERT INTO SL_FRAMES(id, kind, symbol, module, line, inlined, kernelMode, unresolved, specialEntry) "
                                "VALUES (?, ?, ?, ?, 0, 0, 0, 0, 0)", (n + depth, is_python, self.text("f"),
                                                                    self.text(module if is_python else "/lib/" + module)))
                self.add("SL_STACKS", n, depth, n + depth)
            self.add("SL_STACKS", n, len(modules), frame)
        return self.places[line, modules] if modules else self.stack(line)

    def tid(self, thread):
        return HOST | thread[0] << 24 | thread[1]

    def runs(self, thread, begin, end, waker=None, wakeup=None, preempted=False):
        """On a CPU; woken at `wakeup` (`begin`) by another thread, or by a timer."""
        for t, i, state in ((begin, 1, 0), (end, 0, 1 if preempted else 2)):
            self.db.execute("INSERT INTO SCHED_EVENTS VALUES (?, 0, ?, ?, ?, NULL)", (int(t * MS), i, self.tid(thread), state))
        if begin or waker:
            self.add("SL_SCHED_DETAIL", int(begin * MS), self.tid(thread), None, int((begin if wakeup is None else wakeup) * MS),
                     waker and self.tid(waker), 120)
        self.add("SL_SCHED_DETAIL", int(end * MS), self.tid(thread), int(preempted), None, None, 120)

    def call(self, thread, name, line, begin, end, *modules, path=None, result=0):
        self.db.execute("INSERT INTO OSRT_API(start, end, eventClass, globalTid, nameId, returnValue, nestingLevel, callchainId, argumentsId, "
                        "pathId) VALUES (?, ?, 27, ?, ?, ?, 0, ?, 0, ?)", (int(begin * MS), int(end * MS), self.tid(thread), self.text(name), result,
                                                                        self.inner(line, *modules) if line else 0,
                                                                        path and self.text(path)))

    def samples(self, thread, line, begin, end, *modules):
        for t in range(int(begin) + 1, int(end) + 1):
            self.db.execute("INSERT INTO COMPOSITE_EVENTS(start, cpu, threadState, globalTid, cpuCycles, stackId) VALUES (?, 0, 1, ?, 1, ?)",
                            (t * MS, self.tid(thread), self.inner(line, *modules)))

    def cuda(self, thread, name, line, begin, end, correlation):
        self.db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME(start, end, eventClass, globalTid, correlationId, nameId, returnValue, "
                        "callchainId) VALUES (?, ?, 0, ?, ?, ?, 0, ?)", (int(begin * MS), int(end * MS), self.tid(thread), correlation,
                                                                      self.text(name), self.stack(line)))

    def work(self, kind, begin, end, correlation, stream=7, **more):
        names = [r[1] for r in self.db.execute("PRAGMA table_info(CUPTI_ACTIVITY_KIND_%s)" % kind) if r[3]]
        row = dict.fromkeys(names, 0)
        row.update(start=int(begin * MS), end=int(end * MS), deviceId=0, streamId=stream, correlationId=correlation,
                   globalPid=HOST | 100 << 24, **more)
        self.db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_%s(%s) VALUES (%s)" % (kind, ", ".join(row), ", ".join("?" * len(row))),
                        list(row.values()))

    def kernel(self, begin, end, correlation, stream=7):
        self.work("KERNEL", begin, end, correlation, stream, shortName=self.text("k"))

    def copy_to_host(self, begin, end, correlation):
        self.work("MEMCPY", begin, end, correlation, copyKind=2)

    def done(self):
        self.db.commit()
        self.db.close()


MAIN, OTHER = (100, 100), (100, 101)

# Thread 101 holds a mutex while it sleeps, 3 * 30 ms; the main thread waits for it 3 * 25 ms, and computes 5 ms in between.
r = Report("lock", 100)
r.runs(OTHER, 0, 5, MAIN)
for i in range(3):
    a = 5 + 30 * i
    r.call(OTHER, "usleep", 10, a, a + 30)
    r.runs(MAIN, a if i else 0, a + 5, OTHER if i else None)
    r.samples(MAIN, 20, a, a + 5)
    r.call(MAIN, "pthread_mutex_lock", 21, a + 5, a + 30)
    r.runs(OTHER, a + 30, a + 30.001)
r.runs(MAIN, 95, 100, OTHER)
r.samples(MAIN, 20, 95, 100)
r.done()

# Three children sleep for 20, 30, 50 ms, one after the other.
r = Report("children", 110)
a = 0
for i, ms in enumerate((20, 30, 50)):
    child = (200 + i, 200 + i)
    r.process(200 + i, 100, a + 2, a + 2 + ms)
    r.runs(MAIN, a, a + 3, (199 + i, 199 + i) if i else None)
    r.call(MAIN, "waitpid", 30, a + 3, a + 2 + ms)
    r.runs(child, a + 2, a + 2.5, MAIN)
    r.call(child, "nanosleep", None, a + 2.5, a + 2 + ms - 0.5)
    r.runs(child, a + 2 + ms - 0.5, a + 2 + ms)
    a += 2 + ms
r.runs(MAIN, a, 110, (202, 202))
r.done()

# Four threads sleep for 10, 10, 20, 80 ms; the main thread joins the last.
r = Report("level", 100)
r.runs(MAIN, 0, 10)
for i, ms in enumerate((10, 10, 20, 80)):
    t = (100, 101 + i)
    r.runs(t, 5, 6, MAIN)
    r.call(t, "usleep", 40, 6, 6 + ms)
    r.runs(t, 6 + ms, 6 + ms + 1)
r.call(MAIN, "pthread_join", 41, 10, 87)
r.runs(MAIN, 87, 100, (100, 104))
r.done()

# Twelve steps: 2 ms on the CPU, a launch, a synchronisation of 4 ms. Without: the launches come early, and the GPU is the limit.
# "result": the last of them are a copy to the host. "clocks": the GPU's clock is 5 us ahead.
for name in ("sync", "result", "clocks"):
    r = Report(name, 72)
    for i in range(12):
        a = 6 * i
        r.runs(MAIN, a, a + 2)
        r.samples(MAIN, 50, a, a + 2)
        late = 0.005 if name == "clocks" else 0
        r.cuda(MAIN, "cudaLaunchKernel_v7000", 51, a + 1.9, a + (1.95 if name == "result" else 2), 3 * i + 1)
        r.kernel(a + 2 + late, a + (5 if name == "result" else 6) + late, 3 * i + 1)
        if name == "result":
            r.cuda(MAIN, "cudaMemcpyAsync_v3020", 51, a + 1.95, a + 2, 3 * i + 2)
            r.copy_to_host(a + 5, a + 6, 3 * i + 2)
        r.cuda(MAIN, "cudaDeviceSynchronize_v3020", 52, a + 2, a + 6, 3 * i + 3)
    r.runs(MAIN, 72, 72.001)
    r.done()

# All that the main thread waits for is one kernel.
r = Report("kernel", 200)
r.runs(MAIN, 0, 200)
r.cuda(MAIN, "cudaLaunchKernel_v7000", 97, 0, 1, 1)
r.kernel(1, 199, 1)
r.cuda(MAIN, "cudaDeviceSynchronize_v3020", 98, 1, 199, 2)
r.done()

# The main thread sleeps for 54 ms, and ends thread 101, which looks every 10 ms, for 1 ms, whether it shall: 5 times.
r = Report("poll", 100)
r.runs(OTHER, 0, 1, MAIN)
for i in range(5):
    r.call(OTHER, "pthread_cond_timedwait", 61, 10 * i + 1, 10 * i + 10)
    r.runs(OTHER, 10 * i + 10, 10 * i + 11)
r.call(OTHER, "pthread_cond_timedwait", 61, 51, 55.5)
r.runs(OTHER, 55.5, 58, MAIN)
r.runs(MAIN, 0, 1)
r.call(MAIN, "usleep", 60, 1, 55)
r.runs(MAIN, 55, 56)
r.call(MAIN, "pthread_join", 62, 56, 58)
r.runs(MAIN, 58, 100, OTHER)
r.done()

# A server looks after itself each 10 ms; its input comes at 56 ms, or never.
for name, result in (("input", 1), ("timers", 0)):
    r = Report(name, 70)
    r.runs(MAIN, 0, 1)
    for i in range(6):
        end = 10 * i + 10 if i < 5 else 56
        r.call(MAIN, "epoll_wait", 65, 10 * i + 1, end, result=result if i == 5 else 0)
        r.runs(MAIN, end, 70 if i == 5 else end + 1)
    r.samples(MAIN, 66, 56, 70)
    r.done()

# Twelve launches of 4 ms; kernels of 1 ms begin 3 ms after each; 8 ms on the CPU after the last.
r = Report("launches", 60)
r.runs(MAIN, 0, 60)
for i in range(12):
    r.cuda(MAIN, "cudaLaunchKernel_v7000", 70, 4 * i, 4 * i + 4, i + 1)
    r.kernel(4 * i + 7, 4 * i + 8, i + 1)
r.cuda(MAIN, "cudaDeviceSynchronize_v3020", 71, 48, 52, 13)
r.samples(MAIN, 72, 52, 60)
r.done()

# What records a program takes 40 of 120 ms. 60-70, libc is called for the program, 70-80 for CUPTI.
r = Report("tracer", 120)
r.runs(MAIN, 0, 120)
r.samples(MAIN, 80, 0, 40)
r.samples(MAIN, 80, 40, 60, "libtrace.so")
r.samples(MAIN, 80, 60, 70, "libc.so.6", "libtrace.so")
r.samples(MAIN, 80, 70, 80, "libc.so.6", "libtrace.so", "libcupti.so.13", "libcuda.so.1")
r.samples(MAIN, 81, 80, 100)
r.cuda(MAIN, "cudaMalloc_v3020", 82, 100, 120, 1)
r.samples(MAIN, 82, 100, 105, "libcuda.so.1")
r.samples(MAIN, 82, 105, 115, "libtrace-cuda.so", "libcupti.so.13", "libcuda.so.1")
r.samples(MAIN, 82, 115, 120, "libcuda.so.1")
r.done()

# Thread 101 waits for the GIL, four times 5 ms, while thread 102 runs; the main thread waits for 101. Thread 103 waited for a CPU first;
# it works for the main thread until 31, which would else come to its end at 30 without 102's work.
r = Report("gil", 50)
r.runs(MAIN, 0, 1)
r.call(MAIN, "sem_wait", 92, 1, 41)
r.runs(MAIN, 41, 50, OTHER)
r.runs(OTHER, 0, 1, MAIN)
for i in range(4):
    r.call(OTHER, "pthread_cond_timedwait", 91, 1 + 5 * i, 6 + 5 * i, "libpython3.11.so.1.0")
    r.runs(OTHER, 6 + 5 * i, 6.001 + 5 * i if i < 3 else 41)
r.samples(OTHER, 91, 21, 41)
r.runs((100, 102), 0.5, 21, MAIN)
r.samples((100, 102), 90, 0, 21)
r.runs((100, 103), 30, 31, MAIN, 20)
r.done()

# Line 94 imports a module, in 10 ms; lines 95 and 96 another one each, six times, in 3 and 2 ms.
r = Report("imports", 40)
r.runs(MAIN, 0, 40)
for line, path, begin, end in [(94, "/me/a.pyc", 0, 10)] + [
        at for i in range(6) for at in ((95, "/me/b.pyc", 10 + 5 * i, 13 + 5 * i), (96, "/me/c.pyc", 13 + 5 * i, 15 + 5 * i))]:
    r.call(MAIN, "open64", line, begin, begin + 1, "<frozen importlib._bootstrap>", path=path)
    r.samples(MAIN, line, begin + 1, end, "<frozen importlib._bootstrap>")
r.done()

# Ten times 4 ms at line 101 and 2 at 102, of which the first half is a range; between the ranges another 4 ms at line 101.
r = Report("ranges", 100)
r.runs(MAIN, 0, 100)
for i in range(10):
    a = 10 * i
    r.samples(MAIN, 101, a, a + 4)
    r.samples(MAIN, 102, a + 4, a + 6)
    r.samples(MAIN, 101, a + 6, a + 10)
    r.db.execute("INSERT INTO NVTX_EVENTS(start, end, eventType, globalTid, text) VALUES (?, ?, 59, ?, 'part')",
                 (a * MS, (a + 6) * MS, r.tid(MAIN)))
r.done()

# The main thread sleeps for 50 ms, then waits in a launch for what thread 101 has, which looked after a time limit: a lock of the
# driver's that libc gave ("driver"), or one that it waits for by itself ("futex").
for name in ("driver", "futex"):
    r = Report(name, 100)
    r.runs(OTHER, 0, 1, MAIN)
    r.call(OTHER, "pthread_cond_timedwait", None, 1, 50)
    r.runs(OTHER, 50, 55.1)
    r.runs(MAIN, 0, 1)
    r.call(MAIN, "usleep", 110, 1, 51)
    r.runs(MAIN, 51, 52)
    r.cuda(MAIN, "cudaLaunchKernel_v7000", 111, 51.5, 56, 1)
    if name == "driver":
        r.call(MAIN, "pthread_mutex_lock", None, 51.9, 55)
    r.runs(MAIN, 55, 100, OTHER)
    r.done()

# A child sleeps for 50 ms and ends. That ends a thread of it that had waited for 40 ms, and waited again; it is the last to go.
r = Report("last", 70)
CHILD, LAST = (200, 200), (200, 201)
r.process(200, 100, 1, 54)
r.runs(MAIN, 0, 2)
r.call(MAIN, "waitpid", 121, 2, 54)
r.runs(CHILD, 1, 2, MAIN)
r.call(CHILD, "usleep", 120, 2, 52)
r.runs(CHILD, 52, 53.5)
r.runs(LAST, 2, 3, CHILD)
r.runs(LAST, 43, 44)
r.runs(LAST, 53, 54, CHILD)
r.runs(MAIN, 54, 70, LAST)
r.done()

# Twenty launches of 4 ms, of which the second half is CUPTI's; a kernel of 1.5 ms follows each; 8.5 ms on the CPU at the end.
r = Report("recorded", 90)
r.runs(MAIN, 0, 90)
for i in range(20):
    r.cuda(MAIN, "cudaLaunchKernel_v7000", 130, 4 * i, 4 * i + 4, i + 1)
    r.samples(MAIN, 130, 4 * i, 4 * i + 2, "libcuda.so.1")
    r.samples(MAIN, 130, 4 * i + 2, 4 * i + 4, "libcupti.so.13", "libcuda.so.1")
    r.kernel(4 * i + 4, 4 * i + 5.5, i + 1)
r.cuda(MAIN, "cudaDeviceSynchronize_v3020", 131, 80, 81.5, 21)
r.samples(MAIN, 132, 82, 90)
r.done()

# In a call, CUPTI runs for 10 ms before and for 10 after another program had the CPU for 40; samples fall in the midst of each.
r = Report("far", 60)
r.runs(MAIN, 0, 10, preempted=True)
r.runs(MAIN, 50, 60)
r.cuda(MAIN, "cudaMalloc_v3020", 140, 0, 60, 1)
r.samples(MAIN, 140, 4, 5, "libcupti.so.13", "libcuda.so.1")
r.samples(MAIN, 140, 54, 55, "libcupti.so.13", "libcuda.so.1")
r.done()

# Ten times, 2 ms in fork() at line 110, in the middle of which the child begins, and 4 in waitpid() at line 111 until it has ended;
# of all that nothing is the child's own work. Line 112 computes for 20 ms.
for name, function in ("forks", "main"), ("forks_module", "<module>"):
    r = Report(name, 80)
    r.function = function
    for i in range(10):
        a, child = 6 * i, (200 + i, 200 + i)
        r.process(200 + i, 100, a + 1, a + 6)
        r.runs(MAIN, a, a + 2, (199 + i, 199 + i) if i else None)
        r.call(MAIN, "fork", 110, a, a + 2)
        r.call(MAIN, "waitpid", 111, a + 2, a + 6)
        r.runs(child, a + 1, a + 6, MAIN)
    r.runs(MAIN, 60, 80, (209, 209))
    r.samples(MAIN, 112, 60, 80, "libc.so.6")
    r.done()

# Twice, the main thread starts another one, which is done after 20 ms, and sleeps for 50 ms. "daemon": it has no end, but waits to be
# woken again. "alone": it was not started by the main thread, and is no reason to sleep.
for name in ("ready", "daemon", "alone"):
    r = Report(name, 106)
    by = (100, 103) if name == "alone" else MAIN
    if name == "alone":
        r.runs(by, 0, 100)
    for i in range(2):
        a = 52 * i
        worker = OTHER if name == "daemon" else (100, 101 + i)
        r.runs(MAIN, a, a + 1)
        r.call(MAIN, "nanosleep", 120, a + 1, a + 51)
        r.runs(MAIN, a + 51, a + 52)
        r.runs(worker, a + 0.5, a + 1.5, by)
        r.call(worker, "nanosleep", 121, a + 1.5, a + 20)
        r.runs(worker, a + 20, a + 21)
        if name == "daemon":
            r.call(worker, "sem_wait", 122, a + 21, a + 52.5)
    if name == "daemon":
        r.runs(OTHER, 104, 104.1, MAIN)
    r.runs(MAIN, 104, 106)
    r.call(MAIN, "read", 123, 105, 105.5)
    r.done()

# Compiled code: 40 ms at line 130 itself, 30 in what line 131 calls; 20 at line 132 of both.
r = Report("compiled", 90)
r.is_compiled = True
r.runs(MAIN, 0, 90)
r.samples(MAIN, 130, 0, 40)
r.samples(MAIN, 131, 40, 70, "libz.so.1")
r.samples(MAIN, 132, 70, 75)
r.samples(MAIN, 132, 75, 90, "libz.so.1")
r.done()

# One import reads one file, in a call of 36 ms in which it loses the CPU six times.
r = Report("import_once", 40)
for a in range(0, 36, 6):
    r.runs(MAIN, a, a + 5, preempted=True)
r.runs(MAIN, 36, 40)
r.call(MAIN, "open64", 94, 0, 36, "<frozen importlib._bootstrap>", path="/me/a.pyc")
r.samples(MAIN, 95, 36, 40)
r.done()

# Twelve times a copy of 4 ms, launched at line 150, and a kernel of 2 ms in another stream, which waits for the copy; each wait at the
# end of a step brings a result back.
r = Report("event", 72)
for i in range(12):
    a = 6 * i
    r.runs(MAIN, a, a + 0.2)
    r.cuda(MAIN, "cudaMemcpyAsync_v3020", 150, a, a + 0.1, 4 * i + 1)
    r.work("MEMCPY", a + 0.1, a + 4.1, 4 * i + 1, stream=8, copyKind=1)
    r.cuda(MAIN, "cudaLaunchKernel_v7000", 151, a + 0.1, a + 0.15, 4 * i + 2)
    r.kernel(a + 4.1, a + 5.9, 4 * i + 2)
    r.cuda(MAIN, "cudaMemcpyAsync_v3020", 151, a + 0.15, a + 0.2, 4 * i + 3)
    r.copy_to_host(a + 5.9, a + 6, 4 * i + 3)
    r.cuda(MAIN, "cudaStreamSynchronize_v3020", 152, a + 0.2, a + 6, 4 * i + 4)
r.runs(MAIN, 72, 72.001)
r.done()

# One module six times; three of the calls are too short for a stack, and no sample is near.
r = Report("import_far", 240)
r.runs(MAIN, 0, 240)
for i in range(6):
    r.call(MAIN, "open64", None if i % 2 else 95, 40 * i, 40 * i + 1, *[] if i % 2 else ["<frozen importlib._bootstrap>"], path="/me/b.pyc")
    if i % 2 == 0:
        r.samples(MAIN, 95, 40 * i + 1, 40 * i + 5, "<frozen importlib._bootstrap>")
r.done()

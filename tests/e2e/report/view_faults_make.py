"""view_faults_make.py SCHEMA.sql OUT.sqlite - a report with what a page has to bear and to sort out.

The program begins 5 s after the report does, with a message of the tracer at 0. A root process, two workers that do most, thirty
short-lived shells, a process of 64 threads, a lock with its owner, ranges whose names differ in numbers, reads of very different sizes.
"""
import sys

from view_make import MS, US, VM, Report

BEGIN = 5000 * MS
ROOT, WORKERS, SHELLS, MANY = 100, (101, 102), range(200, 230), 300


class Odd(Report):
    def __init__(self, schema, out):
        super().__init__(schema, out)
        self.gp = {p: VM | p << 24 for p in (ROOT, *WORKERS, *SHELLS, MANY)}
        self.end = BEGIN + 2000 * MS
        self.add('DIAGNOSTIC_EVENT', timestamp=0, timestampType=0, source=0, severity=1, text='Profiling has started.', globalPid=self.gp[ROOT])
        self.stack()
        self.root()
        for pid in WORKERS:
            self.worker(pid)
        for n, pid in enumerate(SHELLS):
            self.call(self.tid(pid), BEGIN + n * 10 * MS, 2 * MS, 'execve')
            self.runs(self.tid(pid), BEGIN + n * 10 * MS, 3 * MS)
        for n in range(64):
            for i in range(6):
                self.call(self.tid(MANY, n), BEGIN + n * MS + i * 300 * MS, 250 * MS, 'futex')
            self.runs(self.tid(MANY, n), BEGIN + n * MS + 1800 * MS, 10 * MS)
        self.add('SL_LOST_EVENTS', start=BEGIN, end=BEGIN + MS, what='CPU samples lack their outer callers: the stack is too deep', count=458)
        self.add('SL_LOST_EVENTS', start=BEGIN, end=BEGIN + MS, what='context switches: the buffer was full', count=2)
        self.names()
        self.write()

    def tid(self, pid, n=0):
        return self.gp[pid] + pid + n

    def stack(self):
        for n, (name, line) in enumerate((('fetch', 41), ('main', 9)), 1):
            self.add('SL_FRAMES', id=n, kind=1, symbol=self.sid(name), module=self.sid('t.py'), kernelMode=0, unresolved=0, specialEntry=0,
                     file=self.sid('/work/t.py'), line=line)
            self.add('SL_STACKS', id=1, depth=n - 1, frameId=n)

    def call(self, tid, start, length, name, **more):
        self.add('OSRT_API', start=start, end=start + length, eventClass=27, globalTid=tid, nameId=self.sid(name), nestingLevel=0,
                 **{'returnValue': 0, 'callchainId': 0, 'argumentsId': 0, **more})

    def runs(self, tid, start, length, waker=None):
        self.add('SCHED_EVENTS', start=start, cpu=0, isSchedIn=1, globalTid=tid)
        self.add('SL_SCHED_DETAIL', start=start, globalTid=tid, wakeupTime=start - 9 * US, wakerTid=waker, priority=120)
        self.add('SCHED_EVENTS', start=start + length, cpu=0, isSchedIn=0, globalTid=tid, threadState=2)
        self.add('SL_SCHED_DETAIL', start=start + length, globalTid=tid, preempted=0, priority=120)

    def root(self):
        tid = self.tid(ROOT)
        self.runs(tid, BEGIN, 5 * MS)
        # A lock that a worker has.
        lock = BEGIN + 100 * MS
        self.runs(tid, lock - MS, MS + 50 * US, self.tid(WORKERS[1]))
        self.call(tid, lock, 20 * MS, 'pthread_mutex_lock', callchainId=1)
        self.add('SL_OSRT_LOCKS', start=lock, globalTid=tid, object=0x7F0012345678, ownerTid=self.tid(WORKERS[0]))
        self.runs(tid, lock + 20 * MS, 5 * MS, self.tid(WORKERS[0]))
        # Reads of many files at one line.
        t = lock + 60 * MS
        self.runs(tid, t - MS, MS + 50 * US, self.tid(WORKERS[1]))
        for n in range(22):
            self.call(tid, t, 8 * MS, 'read', pathId=self.sid('/data/%d.bin' % n), fd=3, returnValue=100, bytesAsked=100, bytesDone=100, callchainId=1)
            self.runs(tid, t + 8 * MS, 1050 * US)
            t += 9 * MS
        # Steps of equal length, and ranges with numbers in their names.
        for n in range(10):
            begin = BEGIN + 500 * MS + n * 100 * MS
            self.range(tid, begin, 90 * MS, 'step')
            for i in range(5):
                self.range(tid, begin + i * 10 * MS, 5 * MS, 'aten::copy_, op_id = %d' % (n * 5 + i))
        self.runs(tid, self.end - 10 * MS, 10 * MS)

    def range(self, tid, start, length, text):
        self.add('NVTX_EVENTS', start=start, end=start + length, eventType=59, text=text, globalTid=tid, domainId=0,
                 eventId=len(self.tables.get('NVTX_EVENTS', ())) + 1)

    def worker(self, pid):
        tid = self.tid(pid)
        for n in range(1500):
            t = BEGIN + n * MS
            self.call(tid, t, 600 * US, 'read', pathId=self.sid('/data/big'), fd=3, returnValue=1 << 20, bytesAsked=1 << 20, bytesDone=1 << 20)
        self.runs(tid, BEGIN, 1900 * MS)

    def names(self):
        for pid in self.gp:
            name = 'bash' if pid in SHELLS else 'many' if pid == MANY else 'python3'
            short = pid in SHELLS
            self.add('PROCESSES', globalPid=self.gp[pid], pid=pid, name=name)
            self.add('SL_PROCESS_TREE', globalPid=self.gp[pid], parentGlobalPid=None if pid == ROOT else self.gp[ROOT],
                     start=BEGIN + (pid - 200) * 10 * MS if short else BEGIN, end=BEGIN + (pid - 199) * 10 * MS if short else self.end, kind=1, traced=1,
                     exe='/usr/bin/' + name, commandLine=name + ' t.py', exitStatus=0)
            for n in range(64 if pid == MANY else 1):
                self.add('ThreadNames', nameId=self.sid('thread-%d' % n if n else name), priority=20, globalTid=self.tid(pid, n))
        self.add('META_DATA_EXPORT', name='EXPORT_SCHEMA_VERSION', value='3.28.1')
        self.add('ANALYSIS_DETAILS', globalVid=VM, duration=self.end, startTime=0, stopTime=self.end)
        self.add('TARGET_INFO_SYSTEM_ENV', globalVid=VM, devStateName='Local (CLI)', name='CpuCores', nameEnum=1, value='4')


Odd(sys.argv[1], sys.argv[2])

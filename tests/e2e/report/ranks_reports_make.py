"""ranks_reports_make.py SCHEMA FOLDER RUN RANKS STEPS SEED [FAULT] - reports RUN-0.sqlite, RUN-1.sqlite, ... of a job, one for each rank.

Each step a rank reads a file, is preempted, waits for a thread of its own, a lock, the network, a pipe, sleeps, launches kernels and
meets others: its half of the ranks (AllReduce), its partner in the other half (AllGather and ReduceScatter in a group, which every
other step is one kernel). A helper process reads, too. Two ranks are a node, and nodes have clocks of their own. FAULT: rank 5 is
slow by 1 ms in each step: file, lock, cpu, gpu. In step 7 rank 2 calls a collective with another size. ranks_reports.py has the same as tables of a dataset, by SQL.
"""
import os
import random
import sqlite3
import sys

SCHEMA, FOLDER, RUN, RANKS, STEPS, SEED = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]), int(sys.argv[6])
FAULT = sys.argv[7] if len(sys.argv) > 7 else 'none'
CULPRIT, US, MS = 5, 1000, 1000000
EPOCH = 1790000000 * 10**9
VM = 1 << 48
rng = random.Random(f'{SEED} {FAULT}')


class Report:
    """Times are those of the node, ns since it began."""

    def __init__(self, rank):
        self.rank, self.begin = rank, EPOCH + rank // 2 * 777 * US + SEED * 100 * 10**9
        self.db = sqlite3.connect(os.path.join(FOLDER, f'{RUN}-{rank}.sqlite'))
        with open(SCHEMA, encoding='utf-8') as f:
            self.db.executescript('PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; BEGIN;' + f.read())
        self.pid, self.texts, self.ids = 100 + rank, {}, 0
        self.main, self.thread, self.helper = self.tid(self.pid, self.pid), self.tid(self.pid, 5000 + rank), self.tid(3000 + rank, 3000 + rank)
        self.at = 10 * MS  # of the main thread
        self.free = 0  # of the GPU
        self.open = []  # launches whose kernels wait for other ranks
        self.head()

    @staticmethod
    def tid(pid, tid):
        return VM | pid << 24 | tid

    def text(self, value):
        if value not in self.texts:
            self.texts[value] = self.db.execute('SELECT coalesce(max(id), 0) + 1 FROM StringIds').fetchone()[0]
            self.db.execute('INSERT INTO StringIds VALUES (?, ?)', (self.texts[value], value))
        return self.texts[value]

    def row(self, table, **values):
        """Columns that are NOT NULL and not given are 0."""
        for _, name, _, notnull, default, key in self.db.execute(f'PRAGMA table_info({table})').fetchall():
            if notnull and default is None and not key and name not in values:
                values[name] = 0
        self.db.execute(f'INSERT INTO {table} ({", ".join(values)}) VALUES ({", ".join("?" * len(values))})', list(values.values()))

    def id(self):
        self.ids += 1
        return self.ids

    def head(self):
        half = RANKS // 2
        for name, value in (('EXPORT_PRODUCT_VERSION', f'1.{self.rank % 2}'), ('SL_COMPLETE', '0' if self.rank == 3 else '1')):
            self.row('META_DATA_EXPORT', name=name, value=value)
        self.row('TARGET_INFO_SESSION_START_TIME', utcEpochNs=self.begin + self.rank // 2 * 50 * US)  # nodes whose clocks differ
        self.row('TARGET_INFO_SYSTEM_ENV', devStateName='', name='Hostname', value=f'host{self.rank // 2}')
        for name, value in (('RANK', self.rank), ('LOCAL_RANK', self.rank % 2), ('WORLD_SIZE', RANKS)):
            self.row('SL_RANK_VARIABLES', globalPid=self.main >> 24 << 24, name=name, value=str(value))
        self.row('TARGET_INFO_GPU', vmId=VM, id=4, name='H100' if self.rank < 6 else 'A100', uuid=f'gpu-{self.rank}')
        self.row('TARGET_INFO_CUDA_DEVICE', gpuId=4, cudaId=0, pid=self.pid)
        self.comms = {}
        for handle, value, size, own in ((1, 0x7123456789ABCD00, RANKS, self.rank), (2, 0x7123456789ABCD01 + self.rank // half, half, self.rank % half),
                                         (3, -0x7123456789ABCD00 + self.rank % half, 2, self.rank // half)):
            self.row('SL_NCCL_COMMUNICATORS', globalPid=self.main >> 24 << 24, comm=handle, commHash=value, nRanks=size, rank=own, start=1 * MS)
        self.row('SL_PROCESS_TREE', globalPid=self.main >> 24 << 24, start=0, end=10**12, kind=1, traced=1, exe='/usr/bin/job', commandLine='job')
        self.row('SL_PROCESS_TREE', globalPid=self.helper >> 24 << 24, parentGlobalPid=self.main >> 24 << 24, start=2 * MS, end=10**12, kind=1, traced=1, exe='/usr/bin/job')
        for i in range(3):
            self.row('SL_CLOCK_SNAPSHOTS', monotonic=i * MS, realtime=self.begin + i * MS, isSynchronized=1, errorNs=1000 + i, maxErrorNs=rng.randrange(10**6))
        if self.rank % 3 == 0:
            self.row('SL_LOST_EVENTS', globalTid=self.main, what='calls', count=10 + self.rank)
            self.row('SL_LOST_EVENTS', globalTid=self.thread, what='calls', count=1)
            self.row('SL_LOST_EVENTS', globalTid=None, what='samples', count=5)
        self.switch(self.main, 1 * MS, True)
        self.switch(self.thread, 3 * MS, True)

    def switch(self, tid, time, is_in, preempted=None, wakeup=None, waker=None):
        self.row('SCHED_EVENTS', start=time, cpu=0, isSchedIn=int(is_in), globalTid=tid, threadState=2)
        if preempted is not None or wakeup is not None:
            self.row('SL_SCHED_DETAIL', start=time, globalTid=tid, preempted=preempted, wakeupTime=wakeup, wakerTid=waker)

    def work(self, ns):
        self.at += ns

    def away(self, ns, late, waker=None):
        """Off the CPU for @ns, and for another @late ns until one is free."""
        self.switch(self.main, self.at, False, preempted=0)
        self.at += ns + late
        self.switch(self.main, self.at, True, wakeup=self.at - late, waker=waker)

    def call(self, name, ns, path=None, done=None, waker=None, late=20 * US):
        start = self.at
        self.work(5 * US)
        self.away(ns, late, waker)
        self.work(5 * US)
        self.row('OSRT_API', start=start, end=self.at, eventClass=27, globalTid=self.main, nameId=self.text(name), nestingLevel=0, pathId=self.text(path) if path else None, bytesDone=done)

    def runtime(self, name, ns):
        """A call of CUDA on the CPU."""
        correlation = self.id()
        self.row('CUPTI_ACTIVITY_KIND_RUNTIME', start=self.at, end=self.at + ns, globalTid=self.main, correlationId=correlation, nameId=self.text(name))
        self.work(ns)
        return correlation

    def kernel(self, name, correlation, start, end):
        self.row('CUPTI_ACTIVITY_KIND_KERNEL', start=start, end=end, streamId=7, correlationId=correlation, globalPid=self.main >> 24 << 24, demangledName=self.text(name + '()'),
                 shortName=self.text(name), tensorSizeMinusOneElements='[]')
        self.free = max(self.free, end)

    def launch(self, name, ns):
        correlation = self.runtime('cudaLaunchKernel_v7000', 10 * US)
        start = max(self.free, self.at + 3 * US)
        self.kernel(name, correlation, start, start + ns)

    def nccl(self, name, launches=0, comm=None, cnt=0, kind=7, result=0):
        """A call of NCCL, which launches kernels: their correlation ids."""
        start, call = self.at, self.id()
        self.work(2 * US)
        found = [self.runtime('cudaLaunchKernel_v7000', 10 * US) for _ in range(launches)]
        self.work(2 * US)
        self.row('SL_LIBRARY_API', start=start, end=self.at, globalTid=self.main, library=self.text('nccl'), nameId=self.text(name), callId=call, returnValue=result, nestingLevel=0)
        for i, (role, value) in enumerate(((26, cnt), (27, kind), (30, comm)) if comm else ()):
            self.row('SL_GPU_ARGUMENTS', callId=call, position=i, role=role, value=value)
        return found

    def wall(self, time):
        """On the axis of the job: the session's clock is right."""
        return time + self.begin

    def done(self):
        for tid, time in ((self.main, self.at), (self.thread, self.at + 1 * MS)):
            self.switch(tid, time, False, preempted=0)
        self.row('ANALYSIS_DETAILS', globalVid=VM, duration=self.at + 10 * MS, startTime=0, stopTime=self.at + 10 * MS)
        self.db.commit()
        self.db.close()


def jitter(ns):
    return ns + rng.randrange(ns // 10)


def meet(members, ns):
    """The kernels of @members, (report, [(name, correlation)]): each begins as its GPU is free, all of a kind end together."""
    for i in range(len(members[0][1])):
        ready = [max(r.free, r.at + 4 * US) for r, _ in members]
        end = max(r.wall(t) for (r, _), t in zip(members, ready)) + jitter(ns)
        for (r, list_), t in zip(members, ready):
            r.kernel(list_[i][0], list_[i][1], t, end - r.begin)


def host_part(r):
    slow = r.rank == CULPRIT
    r.work(jitter(500 * US) + (MS if slow and FAULT == 'cpu' else 0))
    r.call('read', jitter(400 * US) + (MS if slow and FAULT == 'file' else 0), f'/data/set/shard{r.rank % 3}', 4096 * rng.randrange(1, 200))
    r.switch(r.main, r.at, False, preempted=1)
    r.at += jitter(100 * US)
    r.switch(r.main, r.at, True)
    r.work(jitter(50 * US))
    r.call('sem_wait', jitter(200 * US), waker=r.thread)
    r.call('pthread_mutex_lock', jitter(100 * US) + (MS if slow and FAULT == 'lock' else 0))
    r.call('recv', jitter(150 * US), 'tcp:10.0.0.9:80', 100)
    r.call('read', jitter(80 * US), 'pipe:[17]', 8)
    r.call('usleep', jitter(60 * US), late=jitter(50 * US))
    r.row('OSRT_API', start=r.at, end=r.at + jitter(30 * US), eventClass=27, globalTid=r.helper, nameId=r.text('pread64'), pathId=r.text('/data/index'), bytesDone=77)
    for i in range(3):
        r.launch(f'gemm{i}', jitter(300 * US) + (MS if slow and FAULT == 'gpu' and i == 1 else 0))


def step(reports, no):
    """The n-th step of all."""
    half = RANKS // 2
    begin = max(r.wall(r.at) for r in reports) + MS  # a barrier, so that none drifts away
    grouped = no % 2
    for r in reports:
        r.at = begin - r.begin
        r.start = r.at
        host_part(r)
    first = [(r, [('ncclDevKernel_AllReduce', r.nccl('ncclAllReduce', 1, 2, 2000000)[0])]) for r in reports]
    meet(first[:half], 500 * US)
    meet(first[half:], 500 * US)
    second = []
    for r in reports:
        r.nccl('ncclGroupStart')
        r.nccl('ncclAllGather', 0, 3, 100000)
        r.nccl('ncclReduceScatter', 0, 3, 1000000 + no % 3 + (no == 7 and r.rank == 2), 6)
        ids = r.nccl('ncclGroupEnd', 1 if grouped else 2)
        second.append((r, list(zip(('ncclDevKernel_AllGather', 'ncclDevKernel_ReduceScatter'), ids))))
    for i in range(half):
        meet([second[i], second[i + half]], 700 * US)
    for r in reports:
        start = r.at
        correlation = r.id()
        r.work(5 * US)
        r.away(max(r.free - r.at, 1000), 20 * US)
        r.work(5 * US)
        r.row('CUPTI_ACTIVITY_KIND_RUNTIME', start=start, end=r.at, globalTid=r.main, correlationId=correlation, nameId=r.text('cudaStreamSynchronize_v3020'))
        r.work(jitter(100 * US))
        r.row('NVTX_EVENTS', start=r.start, end=r.at, eventType=59, globalTid=r.main, domainId=0, text=f'step {no}')
        r.work(10 * US)


def main():
    reports = [Report(i) for i in range(RANKS)]
    meet([(r, [('ncclDevKernel_Broadcast', r.nccl('ncclBroadcast', 1, 1, 1024)[0])]) for r in reports], 300 * US)  # in no step
    for r in reports:
        r.at = r.free + MS
        r.nccl('ncclAllReduce', 0, 99, 10)  # of a communicator from before the recording; no kernel
        r.nccl('ncclAllReduce', 0, 1, 10, result=5)  # failed
    for no in range(1, STEPS + 1):
        step(reports, no)
    for r in reports:
        r.done()


main()

"""ncu_make.py SCHEMA FOLDER - reports in which the number of each launch is known.

two.sqlite   two processes with equal correlation ids; streams that overtake; nested and start/end ranges; a thread without any
cuts.sqlite  lost records, a launch without a kernel, a graph as a whole, nodes of one, launches without a call, a delay
job, ranks, one: ranks of a job, by the environment or without; one of them alone
ask.sqlite   NCCL's kernels, cooperative ones, memory nearly full; arguments that a shell would take apart
"""
import os
import sqlite3
import sys

SCHEMA, FOLDER = sys.argv[1:]
VM = 1 << 48


def pid(n):
    return VM | n << 24


class Report:
    def __init__(self, name):
        self.db = sqlite3.connect(os.path.join(FOLDER, name))
        self.db.executescript(open(SCHEMA, encoding='utf-8').read())
        self.texts = {}

    def text(self, value):
        if value not in self.texts:
            self.texts[value] = self.db.execute('SELECT coalesce(max(id), 0) + 1 FROM StringIds').fetchone()[0]
            self.db.execute('INSERT INTO StringIds VALUES(?, ?)', (self.texts[value], value))
        return self.texts[value]

    def row(self, table, **values):
        """Columns that are NOT NULL and not given are 0."""
        for _, name, _, notnull, default, key in self.db.execute(f'PRAGMA table_info({table})').fetchall():
            if notnull and default is None and not key and name not in values:
                values[name] = 0
        self.db.execute(f'INSERT INTO {table} ({", ".join(values)}) VALUES ({", ".join("?" * len(values))})', list(values.values()))

    def kernel(self, process, name, correlation, start, end, **more):
        more = {'deviceId': 0, 'streamId': 7, 'launchType': 1, 'gridX': 4, 'gridY': 1, 'gridZ': 1, 'blockX': 32, 'blockY': 1, 'blockZ': 1, **more}
        self.row('CUPTI_ACTIVITY_KIND_KERNEL', start=start, end=end, globalPid=pid(process), correlationId=correlation,
                 mangledName=self.text(f'_Z{len(name)}{name}v'), demangledName=self.text(f'{name}()'), shortName=self.text(name), **more)

    def call(self, process, thread, correlation, start, name='cudaLaunchKernel_v7000', result=0):
        self.row('CUPTI_ACTIVITY_KIND_RUNTIME', start=start, end=start + 5, globalTid=pid(process) | thread, correlationId=correlation,
                 nameId=self.text(name), returnValue=result)

    def range(self, process, thread, text, start, end, kind=59, domain=0):
        self.row('NVTX_EVENTS', start=start, end=end, eventType=kind, globalTid=pid(process) | thread, text=text, domainId=domain)

    def command(self, *argv, folder=None):
        for i, arg in enumerate(argv):
            self.row('META_DATA_CAPTURE', name=f'PROCESS_0:ARGUMENT_{i - 1}' if i else 'PROCESS_0:COMMAND', value=arg)
        if folder:
            self.row('META_DATA_CAPTURE', name='PROCESS_0:WORKING_DIR', value=folder)

    def done(self):
        self.db.commit()
        self.db.close()


def two():
    r = Report('two.sqlite')
    r.command('mpirun', '-n', '2', './solver')
    for process, base in ((100, 0), (200, 37)):
        for i in range(20):
            thread = process + i % 3
            at = base + 1000 * (i + 1)
            r.call(process, thread, i + 1, at)
            # Of every four, the second runs last: its stream was busy.
            late = 3500 if i % 4 == 1 else 100
            r.kernel(process, 'step' if i % 5 else 'init', i + 1, at + late, at + late + 10 + i, streamId=7 + i % 4)
    # Of thread 100 (launches 0, 3, 6, ... at 1000, 4000, 7000, ...): nested ranges of one name, and one that is open at the end.
    r.range(100, 100, 'phase', 3900, 8000)
    r.range(100, 100, 'phase', 5000, 6000)
    r.range(100, 100, 'phase', 15900, None)
    r.range(100, 101, 'phase', 1900, 2100, domain=3)
    r.row('NVTX_EVENTS', start=0, eventType=75, globalTid=pid(100) | 100, text='a/b', domainId=3)
    r.range(100, 105, 'all of it', 4500, 9500, kind=60)
    r.done()


def cuts():
    r = Report('cuts.sqlite')
    r.row('META_DATA_CAPTURE', name='START_DELAY_MS', value='250')
    r.row('SL_LOST_EVENTS', start=0, end=500, globalTid=None, what="records of the GPU's work: no room", count=12)
    r.call(50, 50, 1, 100)
    r.kernel(50, 'k', 1, 150, 160)
    r.call(50, 50, 2, 200)  # no kernel
    r.call(50, 50, 3, 300, result=700)  # failed
    r.row('CUPTI_ACTIVITY_KIND_GRAPH_TRACE', start=400, end=420, globalPid=pid(50), correlationId=4)
    r.call(50, 50, 5, 500, name='cudaGraphLaunch_v10000')
    for i in range(3):
        r.kernel(50, 'k', 5, 560 + 20 * (2 - i), 570 + 20 * (2 - i), graphNodeId=9 + i)
    r.kernel(50, 'k', None, 650, 660)
    r.call(50, 50, 6, 700)
    r.kernel(50, 'k', 6, 750, 790)
    r.done()


def ask():
    r = Report('ask.sqlite')
    r.command('./a program', "it's", '', '$HOME', 'two\nlines', 'a\x1b[31mb', 'x=1', folder=os.path.join(FOLDER, 'work dir'))
    r.row('TARGET_INFO_GPU', id=0, totalMemory=1000, memoryBandwidth=1000000000000)
    names = [('ncclDevKernel_AllReduce', {}), ('coop', {'launchType': 2}), ('plain', {}), ('sm90_gemm_tn', {})]
    for i, (name, more) in enumerate(names):
        r.call(60, 60, i + 1, 1000 * i)
        r.kernel(60, name, i + 1, 1000 * i + 100, 1000 * i + 200 - i, **more)
    r.call(60, 60, 10, 10000)
    r.kernel(60, 'full', 10, 10100, 10110)
    r.row('CUDA_GPU_MEMORY_USAGE_EVENTS', start=9000, globalPid=pid(60), deviceId=0, bytes=900, memKind=2, memoryOperationType=0)
    for kind, size in ((1, 4000000), (1, 2000000), (8, 8000000)):
        r.row('CUPTI_ACTIVITY_KIND_MEMCPY', start=20000, end=20000 + size // 1000, globalPid=pid(60), copyKind=kind, bytes=size)
    r.done()
    os.mkdir(os.path.join(FOLDER, 'work dir'))
    r = Report('ranks.sqlite')
    r.command('torchrun', 'train.py')
    for process in (70, 71):
        r.call(process, process, 1, 100)
        r.kernel(process, 'ncclDevKernel_AllReduce', 1, 200, 300)
        r.call(process, process, 2, 400)
        r.kernel(process, 'plain', 2, 500, 510)
    r.done()
    r = Report('job.sqlite')
    for process in (70, 71):
        for name, value in (('RANK', str(71 - process)), ('SLURM_PROCID', '9'), ('WORLD_SIZE', '2')):
            r.row('SL_RANK_VARIABLES', globalPid=pid(process), name=name, value=value)
        r.call(process, process, 1, 100)
        r.kernel(process, 'plain', 1, 200, 300)
    r.command('torchrun', 'train.py')
    r.done()
    r = Report('one.sqlite')
    for name, value in (('OMPI_COMM_WORLD_RANK', '3'), ('OMPI_COMM_WORLD_SIZE', '8')):
        r.row('SL_RANK_VARIABLES', globalPid=pid(70), name=name, value=value)
    for i, name in enumerate(('plain', 'ncclDevKernel_AllReduce')):
        r.call(70, 70, i + 1, 100 * i)
        r.kernel(70, name, i + 1, 100 * i + 50, 100 * i + 60)
    r.row('META_DATA_CAPTURE', name='PROCESS_0:PID', value='70')
    r.command('./solver', '-n', '5')
    r.done()
    r = Report('range.sqlite')
    r.command('./solver', '--password', '***')
    r.row('META_DATA_CAPTURE', name='START_TRIGGER', value='CUDA_PROFILER')
    r.row('SL_CAPTURES', number=1, start=0, end=1000)
    r.call(80, 80, 1, 100)
    r.kernel(80, 'plain', 1, 200, 300)
    r.done()


two()
cuts()
ask()

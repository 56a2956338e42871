"""view_make.py SCHEMA.sql OUT.sqlite [STEPS [SLOWER]] - a report of a small training job, for the page of `sightline view`.

A main thread with NVTX steps, CUDA calls and kernels, copies on a second stream, two loaders that read files and wake the
main thread, context switches with wakers, samples with stacks, memory in use, one loss. The same arguments give the same
rows. SLOWER: the part of a step that takes longer, in per cent, for a second report to compare with.
"""
import random
import sqlite3
import sys

VM, US, MS = 1 << 48, 1000, 1000000
LAYERS = ['embed', 'attention', 'mlp', 'norm', 'head']
KERNELS = {
    'embed': ['void at::native::indexSelectLargeIndex<float, long>(float*, long*)'],
    'attention': ['ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn', 'flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>>',
                  'void cutlass::Kernel<cutlass_80_tensorop_f16_s16816gemm_64x64_32x6_tn_align8>'],
    'mlp': ['ampere_sgemm_128x64_tn', 'void at::native::vectorized_elementwise_kernel<4, at::native::GeluFunctor>', 'ampere_sgemm_128x64_nn'],
    'norm': ['void at::native::vectorized_layer_norm_kernel<float, float>'],
    'head': ['ampere_sgemm_64x32_sliced1x4_tn', 'void softmax_warp_forward<float, float, float, 10, false>'],
}
STACKS = [
    ['read', 'Files.__getitem__', 'Loader.next', '_worker_loop', 'main'],
    ['decode_mcu', 'jpeg_read_scanlines', 'Image.load', 'Files.__getitem__', '_worker_loop', 'main'],
    ['at::native::addmm_out', 'Linear.forward', 'Block.forward', 'train_step', 'main'],
    ['cudaLaunchKernel', 'at::native::gpu_kernel_impl', 'Block.forward', 'train_step', 'main'],
    ['Adam.step', 'train_step', 'main'],
    ['PyObject_Call', 'train_step', 'main'],
]
PYTHON = {'Files.__getitem__': 41, 'Loader.next': 77, '_worker_loop': 240, 'main': 120, 'Linear.forward': 114, 'Block.forward': 60,
          'train_step': 93, 'Adam.step': 31, 'Image.load': 266}


class Report:
    def __init__(self, schema, out):
        self.db = sqlite3.connect(out)
        self.db.executescript(open(schema, encoding='utf-8').read())
        self.strings, self.tables = {}, {}
        self.r = random.Random(11)

    def sid(self, text):
        return self.strings.setdefault(text, len(self.strings) + 1)

    def add(self, table, **row):
        self.tables.setdefault(table, []).append(row)

    def write(self):
        self.db.execute("INSERT OR REPLACE INTO StringIds VALUES (0, '')")
        self.db.executemany('INSERT OR REPLACE INTO StringIds VALUES (?, ?)', [(i, t) for t, i in self.strings.items()])
        for table, rows in self.tables.items():
            if 'start' in rows[0]:
                rows.sort(key=lambda row: row['start'])
            # Columns that may not be NULL and play no part here are 0.
            columns = {c[1]: 0 if c[3] else None for c in self.db.execute('PRAGMA table_info(%s)' % table)}
            assert all(set(row) <= set(columns) for row in rows), table
            self.db.executemany('INSERT INTO %s VALUES (%s)' % (table, ','.join('?' * len(columns))),
                                [[row.get(c, none) for c, none in columns.items()] for row in rows])
        for (table,) in self.db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            if not table.startswith(('ENUM_', 'META_', 'sqlite_')) and not self.db.execute('SELECT 1 FROM %s LIMIT 1' % table).fetchone():
                self.db.execute('DROP TABLE ' + table)
        self.db.commit()


class Job(Report):
    def __init__(self, schema, out, steps, slower):
        super().__init__(schema, out)
        self.slower = 1 + slower / 100
        self.gp = {p: VM | p << 24 for p in (4711, 4720, 4721)}
        self.corr = 0
        self.gpu_free = 0
        self.memory = 0
        self.running = {}
        self.stacks()
        end = self.run(steps)
        self.processes(end)
        self.write()

    # ---- the parts ----

    def tid(self, pid, n=0):
        return self.gp[pid] + pid + n

    def stacks(self):
        frames = {}
        for n, stack in enumerate(STACKS, 1):
            for depth, name in enumerate(stack):
                if name not in frames:
                    frames[name] = len(frames) + 1
                    line = PYTHON.get(name)
                    module = 'train.py' if line else 'libc.so.6' if name == 'read' else 'libtorch_cuda.so'
                    self.add('SL_FRAMES', id=frames[name], kind=1 if line else 0, symbol=self.sid(name), module=self.sid(module),
                             kernelMode=0, unresolved=0, specialEntry=0, file=self.sid('train.py') if line else None, line=line)
                self.add('SL_STACKS', id=n, depth=depth, frameId=frames[name])

    def range(self, tid, start, end, text, color=None):
        self.add('NVTX_EVENTS', start=start, end=end, eventType=59, text=text, globalTid=tid, domainId=0, color=color,
                 eventId=len(self.tables.get('NVTX_EVENTS', ())) + 1)

    def call(self, tid, start, end, name, **more):
        self.add('OSRT_API', start=start, end=end, eventClass=27, globalTid=tid, nameId=self.sid(name), nestingLevel=0,
                 **{'returnValue': 0, 'callchainId': 0, 'argumentsId': 0, **more})

    def runs(self, tid, start, end, cpu, waker=None):
        """On-CPU from start to end; what it waits for next ends with the next call."""
        self.add('SCHED_EVENTS', start=start, cpu=cpu, isSchedIn=1, globalTid=tid)
        self.add('SL_SCHED_DETAIL', start=start, globalTid=tid, wakeupTime=start - 9 * US, wakerTid=waker, priority=120)
        self.add('SCHED_EVENTS', start=end, cpu=cpu, isSchedIn=0, globalTid=tid, threadState=2)
        self.add('SL_SCHED_DETAIL', start=end, globalTid=tid, preempted=0, priority=120)
        for t in range(start + 300 * US, end, MS):
            self.samples(tid, t, cpu)

    def samples(self, tid, t, cpu):
        rows = self.tables.setdefault('COMPOSITE_EVENTS', [])
        loader = tid & 0xffffff in (4720, 4721)
        rows.append(dict(id=len(rows) + 1, start=t, cpu=cpu, threadState=1, globalTid=tid, cpuCycles=1,
                         stackId=self.r.choice([1, 2, 2] if loader else [3, 3, 4, 5, 6])))

    def kernel(self, launched, name, length, stream=7):
        start = max(launched + 6 * US, self.gpu_free if stream == 7 else 0)
        self.add('CUPTI_ACTIVITY_KIND_KERNEL', start=start, end=start + length, deviceId=0, contextId=1, streamId=stream,
                 correlationId=self.corr, globalPid=self.gp[4711], demangledName=self.sid(name), shortName=self.sid(name.split('<')[0].replace('void ', '').split('::')[-1]),
                 registersPerThread=64, gridX=128, gridY=1, gridZ=1, blockX=256, blockY=1, blockZ=1, gridId=self.corr)
        if stream == 7:
            self.gpu_free = start + length

    def api(self, tid, start, length, name):
        self.corr += 1
        self.add('CUPTI_ACTIVITY_KIND_RUNTIME', start=start, end=start + length, eventClass=0, globalTid=tid, correlationId=self.corr,
                 nameId=self.sid(name), returnValue=0)
        return start + length

    def layer(self, tid, t, name, back):
        begin = t
        for kernel in KERNELS[name]:
            for _ in range(3 if name in ('attention', 'mlp') else 1):
                length = int(self.r.uniform(90, 420) * US * (1.7 if back else 1) * (self.slower if name == 'mlp' else 1))
                end = self.api(tid, t, self.r.randrange(5, 14) * US, 'cudaLaunchKernel_v7000')
                self.kernel(end, kernel, length)
                t = end + self.r.randrange(12, 60) * US
        self.range(tid, begin, t, name)
        return t

    def use(self, t, size):
        op = 0 if size > 0 else 1
        self.memory += 1
        self.add('CUDA_GPU_MEMORY_USAGE_EVENTS', start=t, globalPid=self.gp[4711], deviceId=0, contextId=1, address=self.memory << 21,
                 pc=0, bytes=abs(size), memKind=2, memoryOperationType=op)

    def loader(self, pid, t, until):
        """Reads files until there is a batch; the main thread is woken by its end."""
        tid = self.tid(pid)
        begin = t
        self.range(tid, t, until, 'load batch', 0xff2e8b57)
        while t < until - 900 * US:
            path = self.sid('/data/train/%06d.jpg' % self.r.randrange(4000))
            self.call(tid, t, t + 40 * US, 'openat', pathId=path, returnValue=5)
            t += 52 * US
            for size in (65536, 65536, 21000):
                length = self.r.randrange(30, 320) * US
                self.call(tid, t, t + length, 'read', pathId=path, fd=5, returnValue=size, bytesAsked=65536, bytesDone=size, callchainId=1)
                t += length + 15 * US
            self.call(tid, t, t + 3 * US, 'close', fd=5)
            t += self.r.randrange(200, 700) * US
        self.runs(tid, begin, until, pid & 3)

    def step(self, tid, n, t):
        begin = t
        slow = 3 if n % 7 == 5 else 1
        wait = int(self.r.uniform(3, 6) * slow * MS)
        self.range(tid, t, t + wait, 'data')
        self.call(tid, t + 20 * US, t + wait, 'poll', returnValue=1)
        loader = 4720 + n % 2
        self.loader(loader, t - 6 * MS if n else t, t + wait - 12 * US)
        t += wait
        woken = t
        t = self.api(tid, t + 30 * US, 24 * US, 'cudaMemcpyAsync_v3020')
        self.add('CUPTI_ACTIVITY_KIND_MEMCPY', start=t + 10 * US, end=t + 900 * US, deviceId=0, contextId=1, streamId=13,
                 correlationId=self.corr, globalPid=self.gp[4711], bytes=9633792, copyKind=1, srcKind=1, dstKind=2)
        self.use(t, (96 + n % 5) << 20)
        for part, back in (('forward', False), ('backward', True)):
            from_ = t
            for _ in range(2):
                for name in LAYERS if not back else reversed(LAYERS):
                    t = self.layer(tid, t, name, back)
            self.range(tid, from_, t, part)
        self.use(t, -((96 + n % 5) << 20))
        from_ = t
        end = self.api(tid, t, 9 * US, 'cudaLaunchKernel_v7000')
        self.kernel(end, 'void multi_tensor_apply_kernel<AdamFunctor>', 900 * US)
        t = end + 100 * US
        self.range(tid, from_, t, 'optimizer')
        done = max(self.gpu_free + 8 * US, t + 50 * US)
        self.runs(tid, woken, t + 20 * US, 1, self.tid(loader))
        self.corr += 1
        self.add('CUPTI_ACTIVITY_KIND_RUNTIME', start=t, end=done, eventClass=0, globalTid=tid, correlationId=self.corr,
                 nameId=self.sid('cudaStreamSynchronize_v3020'), returnValue=0)
        self.runs(tid, done, done + 180 * US, 1)
        t = done + 200 * US
        self.range(tid, begin, t, 'step', 0xff4682b4)
        return t

    def run(self, steps):
        tid = self.tid(4711)
        t = 40 * MS
        self.range(tid, 2 * MS, 38 * MS, 'set up')
        self.runs(tid, MS, 39 * MS, 0)
        self.call(tid, 5 * MS, 19 * MS, 'dlopen')
        self.use(30 * MS, 2 << 30)
        for n in range(steps):
            t = self.step(tid, n, t)
        end = t + 12 * MS
        pin = self.tid(4711, 8)
        for at in range(41 * MS, t, 17 * MS):
            self.call(pin, at, at + 11 * MS, 'futex_wait')
            self.runs(pin, at + 11 * MS, at + 12 * MS, 2, tid)
        self.add('SL_LOST_EVENTS', start=end // 2, end=end // 2 + 4 * MS, globalTid=tid, what='calls: the ring was full', count=128)
        return end

    def processes(self, end):
        for pid, parent, command in ((4711, None, 'python3 train.py'), (4720, 4711, 'python3 loader'), (4721, 4711, 'python3 loader')):
            self.add('PROCESSES', globalPid=self.gp[pid], pid=pid, name='python3')
            self.add('SL_PROCESS_TREE', globalPid=self.gp[pid], parentGlobalPid=self.gp.get(parent), start=0, end=end, kind=1, traced=1,
                     exe='/usr/bin/python3', commandLine=command, exitStatus=0)
            self.add('ThreadNames', nameId=self.sid('python3' if pid == 4711 else 'loader'), priority=20, globalTid=self.tid(pid))
        self.add('ThreadNames', nameId=self.sid('pin_memory'), priority=20, globalTid=self.tid(4711, 8))
        self.add('TARGET_INFO_GPU', vmId=VM, id=0, name='NVIDIA A100-SXM4-40GB')
        self.add('TARGET_INFO_CUDA_DEVICE', gpuId=0, cudaId=0, pid=4711, uuid='', numMultiprocessors=108)
        self.add('META_DATA_EXPORT', name='EXPORT_SCHEMA_VERSION', value='3.28.1')
        self.add('ANALYSIS_DETAILS', globalVid=VM, duration=end, startTime=0, stopTime=end)
        self.add('TARGET_INFO_SYSTEM_ENV', globalVid=VM, devStateName='Local (CLI)', name='CpuCores', nameEnum=1, value='4')


if __name__ == '__main__':
    Job(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 20, float(sys.argv[4]) if len(sys.argv) > 4 else 0)

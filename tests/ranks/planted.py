"""planted.py - jobs of four ranks that really wait, of which one has a fault: what `straggler` and `why` answer about each.

    FAULTS x WAYS x rounds; a case is right if straggler names the rank; why names the rank and the reason first; no other rank has
    more than 5 % of the planted time; and `sightline why` of the rank's process has a line of the fault first.

The ways: one   a report of all ranks              each   a report of each rank
          delay, start, dump, late   likewise, in a window: --delay, start --job, dump --job, the trigger rank-late
"""
import collections
import glob
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LATE = 2
RANKS = 4
PATIENCE = 90  # s

Fault = collections.namedtuple('Fault', 'columns causes functions')
# Columns of why of which one is the largest; causes; functions with the line of the fault.
FAULTS = {
    'sleep': Fault({'sleepMs'}, {'sleeping'}, {'wait_ms', 'late_for'}),
    'fsync': Fault({'fileMs'}, {'files'}, {'sync_files'}),
    'lock': Fault({'lockMs'}, {'locks, GIL'}, {'wait_for_lock', 'hold', 'wait_ms'}),
    'compute': Fault({'cpuMs'}, {'computing'}, {'compute', 'now_ns'}),
    'taken': Fault({'runnableMs'}, {'waiting for a CPU'}, {'late_for', 'compute', 'take_cpu', 'now_ns'}),
    'gc': Fault({'cpuMs'}, {'computing'}, {'step'}),
    'link': Fault({'networkMs'}, {'network'}, {'exchange'}),
    'reads': Fault({'fileMs', 'cpuMs'}, {'files', 'computing'}, {'read_small', 'now_ns'}),
    'memory': Fault({'cpuMs'}, {'computing'}, {'touch_memory', 'now_ns'}),
    'child': Fault({'sleepMs', 'otherMs'}, {'sleeping', 'other waits'}, {'wait_for_child', 'wait_ms'}),
}
WAYS = ('one', 'each', 'delay', 'start', 'dump', 'late')
NOISE = 'runnableMs'  # on a busy machine every rank waits for a CPU


class Absent(Exception):
    """The fault cannot be planted here."""


class Links:
    """A server for each rank on this machine's own address: for each byte 128 KiB, of the late rank at a pace of the kernel."""
    BYTES = 128 << 10
    PACING = 47  # SO_MAX_PACING_RATE

    def __init__(self, late_ms):
        self.listeners = []
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            try:
                s.connect(('198.51.100.1', 9))  # nothing is sent
            except OSError as e:
                raise Absent('there is no network but loopback') from e
            address = s.getsockname()[0]
        for rank in range(RANKS):
            self.listeners.append(socket.create_server((address, 0)))
            threading.Thread(target=self.serve, args=(self.listeners[-1], late_ms if rank == LATE else 0), daemon=True).start()
        self.text = ' '.join([address, *(str(x.getsockname()[1]) for x in self.listeners)])

    def serve(self, listener, ms):
        try:
            peer = listener.accept()[0]
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if ms:
                peer.setsockopt(socket.SOL_SOCKET, self.PACING, self.BYTES * 1000 // ms)
            while peer.recv(1):
                peer.sendall(bytes(self.BYTES))
        except OSError:
            pass

    def close(self):
        for x in self.listeners:
            x.shutdown(socket.SHUT_RDWR)
            x.close()


class Job:
    """A run of one case in a folder of its own."""

    def __init__(self, build, folder, fault, way, late_ms=20):
        self.build, self.folder, self.fault, self.way, self.late_ms = os.path.abspath(build), folder, fault, way, late_ms
        self.bin = os.path.join(self.build, 'sightline')
        self.dataset, self.meet = os.path.join(folder, 'ds'), os.path.join(folder, 'meet')
        os.makedirs(folder)
        standin = os.path.join(self.build, 'tests', 'standin')
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(('SLURM_', 'OMPI_', 'PMI', 'TORCHELASTIC_', 'RANK', 'LOCAL_RANK', 'WORLD_SIZE'))}
        self.env.update(LD_LIBRARY_PATH=f'{standin}/job:{standin}', SIGHTLINE_CUPTI=f'{standin}/libcupti.so.13', RANKS_FAULT=fault, WORLD_SIZE=str(RANKS))

    def program(self, steps, work):
        words = [self.meet, str(steps), str(work), str(LATE), str(self.late_ms)]
        if self.fault == 'gc':
            return [os.path.realpath(sys.executable), os.path.join(HERE, 'gc_rank.py'), *words]
        return [os.path.join(self.build, 'tests', 'gpu', 'ranks'), *words]

    def options(self):
        more = ['--python-step=__main__:step'] if self.fault == 'gc' else []
        return ['--ranks=' + self.dataset, '--run=r', '-t', 'cuda,nvtx,osrt,nccl' + (',python-gc' if self.fault == 'gc' else ''), '--gpu-health=0', *more]

    def begin(self, argv, number=None):
        env = dict(self.env)
        if number is not None:
            env.update(RANK=str(number), LOCAL_RANK=str(number))
        return subprocess.Popen(argv, env=env, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=open(os.path.join(self.folder, f'err.{number}'), 'w', encoding='utf-8'))

    def begin_ranks(self, program, *options):
        return [self.begin([self.bin, 'profile', *self.options(), '-o', f'r{i}', f'--session-new=planted-{os.getpid()}-{i}', *options, *program], i) for i in range(RANKS)]

    def end(self, processes):
        with open(self.meet + '.stop', 'w', encoding='utf-8'):
            pass
        for p in processes:
            try:
                status = p.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                p.send_signal(signal.SIGTERM)
                status = p.wait()
            if status == 77:
                raise Absent('it cannot be planted here')

    def until(self, condition, what):
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError(f'{what}: not within {PATIENCE} s')
            time.sleep(0.05)

    def command(self, verb):
        subprocess.run([self.bin, verb, '--job=' + self.dataset, '--run=r'], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=PATIENCE)

    def sessions(self):
        return len([n for n in glob.glob(os.path.join(self.dataset, '_jobs', 'r', 'at', '*'))])

    def run(self):
        links = Links(self.late_ms) if self.fault == 'link' else None
        if links:
            self.env['RANKS_LINK'] = links.text
        try:
            self.job()
        finally:
            if links:
                links.close()

    def job(self):
        if self.way == 'one':
            ranks = 'for i in 0 1 2 3; do RANK=$i LOCAL_RANK=$i "$0" "$@" & all="$all $!"; done; for p in $all; do wait $p || status=$?; done; exit $status'
            job = self.begin([self.bin, 'profile', *self.options(), '-o', 'all', 'sh', '-c', ranks, *self.program(24, 2)])
            job.wait(PATIENCE)
            self.end([job])
        elif self.way == 'each':
            ranks = self.begin_ranks(self.program(24, 2))
            for p in ranks:
                p.wait(PATIENCE)
            self.end(ranks)
        else:
            self.window()

    def window(self):
        options = {'delay': ['--delay=1'], 'start': ['--start-later=true'], 'dump': ['--flight=3s'], 'late': ['--flight=5s', '--trigger=rank-late > 50% for 5 steps']}
        ranks = self.begin_ranks(self.program(30000, 2 if self.way != 'late' else 5), *options[self.way])
        try:
            self.until(lambda: self.sessions() == RANKS or any(p.poll() is not None for p in ranks), 'sessions')
            if self.way == 'late':
                self.until(lambda: len(glob.glob(os.path.join(self.folder, 'r*.sqlite'))) == RANKS or any(p.poll() is not None for p in ranks), 'reports of a late rank')
            else:
                time.sleep(3)
            if self.way == 'dump':
                self.command('dump')
            elif self.way == 'start':
                self.command('start')
                time.sleep(2)
                self.command('stop')
        finally:
            self.end(ranks)

    # ---- answers ----

    def ask(self, question):
        out = subprocess.run([self.bin, 'ranks', 'ask', question, '-d', self.dataset, '--run', 'r', '-f', 'json'], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        return json.loads(out.stdout or '[]')

    def wrong(self, is_busy):
        """What is wrong with the answers; "": nothing."""
        fault = FAULTS[self.fault]
        rows = self.ask('straggler')
        if not rows or rows[0]['rank'] != LATE:
            return f'straggler: {rows[:2]}'
        rows = {r['rank']: r for r in self.ask('why')}
        if LATE not in rows:
            return f'why has no rank {LATE}'
        ignored = {'excessMs'} | ({NOISE} if is_busy and NOISE not in fault.columns else set())
        most, rank, column = max((r[c], n, c) for n, r in rows.items() for c in r if c.endswith('Ms') and c not in ignored)
        if rank != LATE or column not in fault.columns:
            return f'why: rank {rank}, {column}, {most:.2f} ms; rank {LATE}: {brief(rows[LATE])}'
        if rows[LATE]['cause'] not in fault.causes | ({'waiting for a CPU'} if is_busy else set()):
            return f'why: {rows[LATE]["cause"]}'
        others = max([r[column] for n, r in rows.items() if n != LATE] or [0])
        if others > 0.05 * most:
            return f'another rank has {others:.2f} ms of {column}, the late one {most:.2f}'
        return self.wrong_line(fault, is_busy)

    def wrong_line(self, fault, is_busy):
        report, pid = self.process()
        out = subprocess.run([self.bin, 'why', '--step', f'--process={pid}', '-f', 'json', report], check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if out.returncode:
            return f'sightline why: {out.stderr.decode()[-200:]}'
        answer = json.loads(out.stdout)
        culprits = answer['culprits']
        if is_busy:  # with what each line waits for a CPU
            culprits.sort(key=lambda c: -c['ns'])
        if NOISE in fault.columns:  # no cause that a line could remove: the first part is the wait
            return '' if answer['partition'][0]['reason'] == 'NO_CPU' else f'part: {answer["partition"][0]["reason"]}'
        if not culprits or culprits[0]['function'] not in fault.functions:
            return f'line: {[(c["function"], c["reason"]) for c in culprits[:3]]}'
        return ''

    def process(self):
        """The late rank's report and process."""
        out = subprocess.run(['duckdb', '-json', '-c', f"SELECT report, pid FROM read_parquet('{self.dataset}/SL_RANKS/*/*/*.parquet') WHERE rank = {LATE}"], check=True, stdout=subprocess.PIPE)
        row = json.loads(out.stdout)[0]
        return os.path.join(self.folder, os.path.basename(row['report'])), row['pid']


def brief(row):
    return ', '.join(f'{c} {v:.2f}' for c, v in row.items() if c.endswith('Ms') and abs(v) > 0.1)


def one_case(build, folder, fault, way, is_busy):
    job = Job(build, folder, fault, way)
    job.run()
    return job.wrong(is_busy)

"""real_counts.py SIGHTLINE NAME FILES WITNESS -- COMMAND... - runs COMMAND under strace -f and under sightline profile, and compares
what the report has with what strace saw: opens of each of FILES (comma separated, absolute), calls that read and write it and their
bytes, command lines and exit statuses of all processes. With "kernel" as WITNESS also times on a CPU, context switches and page
faults of each thread with what the kernel counted of it (taskstats.py). Prints what differs.

A call of stdio is no call of the kernel: of files that stdio reads or writes, only the bytes are compared, with the sizes of
files that are read or written whole."""
import ast
import collections
import csv
import io
import os
import re
import sqlite3
import subprocess
import sys

from taskstats import Ends

sightline, name, files, witness = sys.argv[1:5]
# What the first process did ahead of its exec is not in the report: the command is that of its child.
command = ['/bin/sh', '-c', '"$@"; exit $?', 'sh', *sys.argv[6:]]
files = [f for f in files.split(',') if f]
READS = {'read', 'pread64', 'readv', 'preadv', 'preadv2'}
COPIES = {'copy_file_range': ('read', 'written'), 'sendfile': ('written', 'read'), 'splice': ('read', 'written')}  # descriptors in order
WRITES = {'write', 'pwrite64', 'writev', 'pwritev', 'pwritev2'}
OPENS = {'open', 'openat', 'creat'}
wrong = []


def same(what, got, want):
    if got != want:
        wrong.append(f'{what}: {got}, strace has {want}')


def run(words, out):
    with open(out, 'wb') as f:
        return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=f, stderr=open(out + '.err', 'wb')).returncode


def lines(log):
    """Calls of strace -f, those that it prints in two parts joined."""
    begun = {}
    for line in open(log, errors='replace'):
        pid, _, rest = line.rstrip('\n').partition(' ')
        rest = rest.lstrip()
        if rest.endswith('<unfinished ...>'):
            begun[pid] = rest[:-len('<unfinished ...>')]
        else:
            m = re.match(r'<\.\.\. \w+ resumed>', rest)
            yield begun.pop(pid, '') + rest[m.end():] if m else rest
    # A call that ended its thread.
    yield from begun.values()


calls = {f: collections.Counter() for f in files}
argvs, statuses = collections.Counter(), collections.Counter()
log = name + '.strace'
trace = ','.join(sorted(READS | WRITES | OPENS | set(COPIES) | {'execve', 'exit_group'}))
by_strace = run(['strace', '-f', '-y', '-s', '4096', '-e', 'signal=none', '-e', 'trace=' + trace, '-o', log, *command], name + '.plain')
for line in lines(log):
    m = re.match(r'(\w+)\((.*)\) += (-?\d+|\?)(?:<(.*)>)?', line)
    if line.startswith('exit_group('):
        statuses[int(line[len('exit_group('):].split(')')[0])] += 1
    if not m or m[3] == '?' or int(m[3]) < 0:
        continue
    call, result = m[1], int(m[3])
    if call == 'execve':
        argvs[' '.join(ast.literal_eval(re.search(r'", (\[.*?\])(?:, 0x|, \[|$)', m[2])[1]))] += 1
    elif call in OPENS and m[4] in calls:
        calls[m[4]]['opens'] += 1
    elif call in READS | WRITES | set(COPIES):
        paths = re.findall(r'(?:^|, )\d+<([^>]*)>', m[2])
        for path, way in zip(paths, COPIES.get(call, ['read' if call in READS else 'written'])):
            if path in calls:
                calls[path].update({way + ' calls': 1, way + ' bytes': result})

report = name + '.sqlite'
trace = [sightline, 'profile', '-f', 'true', '-t', 'osrt', '-o', report, *command]
if witness == 'kernel':
    with Ends() as ends:
        status = run(trace, name + '.traced')
else:
    status = run(trace, name + '.traced')
same('exit status', status, by_strace)
same('output', open(name + '.traced', 'rb').read(), open(name + '.plain', 'rb').read())
db = sqlite3.connect(report)
got = collections.Counter(dict(db.execute('SELECT commandLine, count(*) FROM SL_PROCESS_TREE WHERE kind <> 1 GROUP BY 1')))
same('command lines', got, argvs)
got = collections.Counter(dict(db.execute('SELECT exitStatus, count(*) FROM SL_PROCESS_TREE WHERE exitStatus IS NOT NULL GROUP BY 1')))
same('exit statuses', collections.Counter({s >> 8: n for s, n in got.items()}), statuses)


def table(of):
    out = subprocess.run([sightline, 'stats', '-q', '-r', of, '-f', 'csv', report], check=True, capture_output=True, text=True).stdout
    return csv.DictReader(io.StringIO(out))


rows = collections.defaultdict(dict)
for r in table('file_access_sum'):
    rows[r['Path']][r['Interface']] = r
for path, want in calls.items():
    interfaces = rows[path]
    same(f'opens of {path}', sum(int(r['Opens']) for r in interfaces.values()), want['opens'])
    for way, count, size in ('read', 'Reads', 'Read (bytes)'), ('written', 'Writes', 'Written (bytes)'):
        kernel, stream = (int(interfaces[i][size]) if i in interfaces else 0 for i in ('POSIX', 'STDIO'))
        n = int(interfaces['POSIX'][count]) if 'POSIX' in interfaces else 0
        if 'STDIO' in interfaces and int(interfaces['STDIO'][count]):
            same(f'bytes {way} of {path}', kernel + stream, want[way + ' bytes'])
        else:
            same(f'calls that {way} {path}', n, want[way + ' calls'])
            same(f'bytes {way} of {path}', kernel, want[way + ' bytes'])


def lost(what):
    return db.execute('SELECT CAST(total(count) AS INT) FROM SL_LOST_EVENTS WHERE what LIKE ?', [what + '%']).fetchone()[0] if db.execute(
        "SELECT 1 FROM sqlite_master WHERE name = 'SL_LOST_EVENTS'").fetchone() else 0


def kernel(ends):
    """Each thread of the program has what the kernel counted of it when it began to end, and what came after that."""
    tree = dict(db.execute('SELECT (globalPid >> 24) & 0xffffff, min(kind) FROM SL_PROCESS_TREE GROUP BY 1'))
    first = db.execute('SELECT (globalPid >> 24) & 0xffffff FROM SL_PROCESS_TREE ORDER BY start LIMIT 1').fetchone()[0]
    threads = {(int(r['Pid']), int(r['Tid'])): r for r in table('thread_cpu_sum')}
    faults, of_process = collections.Counter(), collections.Counter()
    for r in table('page_fault_sum'):
        faults[int(r['Process'].rsplit(' ')[-1])] += int(r['Faults'])
    gaps = lost('context switches')
    for (pid, tid), want in sorted(ends.items()):
        if pid not in tree or pid == first:
            continue
        of_process[pid] += want['majflt']
        if (pid, tid) not in threads:
            if not gaps:
                wrong.append(f'thread {tid}: not in the table, the kernel has {want}')
            continue
        # Its birth is its first wake-up. Clocks of both are read some time apart.
        late = db.execute("""SELECT start, isSchedIn FROM SCHED_EVENTS WHERE (globalTid >> 24) & 0xffffff = :pid AND globalTid & 0xffffff = :tid
            AND start > :elapsed - 1000000 + (SELECT wakeupTime FROM SL_SCHED_DETAIL WHERE (globalTid >> 24) & 0xffffff = :pid
            AND globalTid & 0xffffff = :tid ORDER BY start LIMIT 1)""", dict(pid=pid, tid=tid, elapsed=want['elapsed'] * 1000)).fetchall()
        after = max(1, sum(1 - i for _, i in late))
        got = {n: int(threads[pid, tid][n]) for n in ('CPU Time (ns)', 'Runs', 'Preempted', 'Blocked')}
        for column, figure in ('Runs', 'runs'), ('Preempted', 'nivcsw'), ('Blocked', 'nvcsw'):
            if not want[figure] - gaps <= got[column] <= want[figure] + after:
                wrong.append(f'{column} of thread {tid} of {pid}: {got[column]}, the kernel has {want[figure]}, then up to {after} more')
        # A tick, and what lies between the kernel's clock reading and the tracer's at each switch.
        apart = 10000000 + 50000 * want['runs']
        rest = max(s for s, _ in late) - min(s for s, _ in late) + 1000000 if late else 0
        if not gaps and not want['cpu'] - apart <= got['CPU Time (ns)'] <= want['cpu'] + apart + rest:
            wrong.append(f"CPU time of thread {tid} of {pid}: {got['CPU Time (ns)']}, the kernel has {want['cpu']}")
    for pid in of_process | faults:
        if pid != first and not of_process[pid] - lost('page faults') <= faults[pid] <= of_process[pid]:
            wrong.append(f'page faults of {pid}: {faults[pid]}, the kernel has {of_process[pid]}')
    if not of_process:
        wrong.append('the kernel has reported no thread of the program')


if witness == 'kernel':
    kernel(ends.threads)
print('\n'.join(wrong))
sys.exit(bool(wrong))

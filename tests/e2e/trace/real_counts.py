"""real_counts.py SIGHTLINE NAME FILES -- COMMAND... - runs COMMAND under strace -f and under sightline profile, and compares what
the report has with what strace saw: opens of each of FILES (comma separated, absolute), calls that read and write it and their
bytes, command lines and exit statuses of all processes. Prints what differs.

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

sightline, name, files = sys.argv[1:4]
command = sys.argv[5:]
files = [f for f in files.split(',') if f]
READS = {'read', 'pread64', 'readv', 'preadv', 'preadv2', 'copy_file_range', 'sendfile'}  # of the one that is read
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
trace = ','.join(sorted(READS | WRITES | OPENS | {'execve', 'exit_group'}))
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
    elif call in READS | WRITES:
        path = re.match(r'(?:\d+<[^>]*>, )?\d+<([^>]*)>' if call == 'sendfile' else r'\d+<([^>]*)>', m[2])
        if path and path[1] in calls:
            way = 'read' if call in READS else 'written'
            calls[path[1]].update({way + ' calls': 1, way + ' bytes': result})

report = name + '.sqlite'
status = run([sightline, 'profile', '-f', 'true', '-t', 'osrt', '-o', report, *command], name + '.traced')
same('exit status', status, by_strace)
same('output', open(name + '.traced', 'rb').read(), open(name + '.plain', 'rb').read())
db = sqlite3.connect(report)
got = collections.Counter(dict(db.execute('SELECT commandLine, count(*) FROM SL_PROCESS_TREE WHERE kind <> 1 GROUP BY 1')))
same('command lines', got, argvs)
got = collections.Counter(dict(db.execute('SELECT exitStatus, count(*) FROM SL_PROCESS_TREE WHERE exitStatus IS NOT NULL GROUP BY 1')))
same('exit statuses', collections.Counter({s >> 8: n for s, n in got.items()}), statuses)
table = subprocess.run([sightline, 'stats', '-q', '-r', 'file_access_sum', '-f', 'csv', report], check=True, capture_output=True, text=True).stdout
rows = collections.defaultdict(dict)
for r in csv.DictReader(io.StringIO(table)):
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
print('\n'.join(wrong))
sys.exit(bool(wrong))

"""known.py SIGHTLINE REPORT TRUTH [STRACE...] - every count, byte and total of the default tables of REPORT, and the same figures
elsewhere, against what the program (tests/prog/known.c) printed, and against logs of strace -ff -y. Prints what differs."""
import collections
import json
import re
import subprocess
import sys

sightline, report, truth = sys.argv[1:4]
wrong = []


def same(what, got, want):
    if got != want:
        wrong.append(f'{what}: {got}, not {want}')


def table(name, *options):
    out = subprocess.run([sightline, 'stats', '-q', '-r', name, '-f', 'json', *options, report], check=True, capture_output=True).stdout
    return json.loads(out or b'[]')


def plain(name):
    return name.replace('__', '').replace('_chk', '').replace('64', '').replace('clock_nanosleep', 'nanosleep')


lines = [line.split() for line in open(truth)]
calls = {f[1]: (int(f[2]), f[3]) for f in lines if f[0] == 'call'}
files = {f[1].replace('_', ' ') if f[1][0] == '[' else f[1]: [int(x) for x in f[2:]] for f in lines if f[0] == 'file'}
slept = int(next(f[1] for f in lines if f[0] == 'slept'))

# ---- by function ----
rows = {plain(r['Name']): r for r in table('osrt_sum')}
exact = {plain(r['Name']): r for r in table('osrt_exact_sum')}
top = json.loads(subprocess.run([sightline, 'top', '--once', '-f', 'json', '--view=functions', report], check=True, capture_output=True).stdout)
on_top = collections.Counter()
for r in top['functions']:
    on_top[plain(r['function'])] += r['calls']
for name, (n, size) in calls.items():
    if name not in rows:
        wrong.append(f'{name} is not in osrt_sum')
        continue
    r, e = rows[name], exact[name]
    same(f'calls of {name}', r['Num Calls'], n)
    same(f'calls of {name} in osrt_exact_sum', e['Num Calls'], n)
    same(f'calls of {name} in top', on_top[name], n)
    for column in 'Total Time (ns)', 'Time (%)', 'Avg (ns)', 'Min (ns)', 'Max (ns)':
        same(f'{column} of {name}, osrt_exact_sum', e[column], r[column])
    same(f'mean of {name}', abs(r['Avg (ns)'] * n - r['Total Time (ns)']) <= 0.051 * n, True)
    if size != '-':
        same(f'bytes of {name}', e['Bytes'], int(size))
same('sum of shares', abs(sum(r['Time (%)'] for r in rows.values()) - 100) <= 0.05 * len(rows) + 1e-9, True)
total = rows['nanosleep']['Total Time (ns)']
# The program measures around each call: what the tracer adds to one, and a switch in between, count on its side alone.
same(f'time asleep, {total} of {slept}', 20 * 5000000 <= total <= slept, True)

# ---- by file ----
COLUMNS = 'Reads', 'Read (bytes)', 'Writes', 'Written (bytes)'
by_file = collections.defaultdict(collections.Counter)
for r in table('file_access_sum'):  # a row for the kernel's calls, and one for those of stdio
    by_file[r['Path']].update({c: r[c] for c in ('Opens', 'I/O Time (ns)', *COLUMNS)})
for path, want in files.items():
    same(path, [by_file[path][c] for c in COLUMNS], want[1:])
    same(f'opens of {path}', by_file[path]['Opens'], want[0])
same('opens', sum(r['Opens'] for r in by_file.values()), sum(f[0] for f in files.values()))
same('other files', sorted(p for p in by_file if p not in files and not p.startswith(('pipe:', 'socket:', '/dev/pts', '/'))), [])
by_function = sum(r['Total Time (ns)'] for n, r in rows.items() if n in ('read', 'pread', 'write', 'printf', 'puts', 'fwrite', 'fflush'))
times = sum(r['I/O Time (ns)'] for r in by_file.values())
# Each total of a thread and file is rounded to nanoseconds.
same(f'time in reads and writes, by file {times} and by function {by_function}', abs(times - by_function) <= 50, True)

# ---- strace ----
seen = collections.defaultdict(lambda: [0] * 4)
for line in (line for log in sys.argv[4:] for line in open(log, errors='replace')):
    m = re.match(r'(read|pread64|write)\(\d+<([^>]*)>.* = (\d+)', line)
    if m:
        at = 2 * (m[1] == 'write')
        seen[m[2]][at] += 1
        seen[m[2]][at + 1] += int(m[3])
for path in files:
    if path[0] == '/' and sys.argv[4:]:
        same(f'{path}, by strace', seen[path], [by_file[path][c] for c in COLUMNS])
print('\n'.join(wrong))
sys.exit(bool(wrong))

"""ncu_truth.py list REPORT BIN - are the numbers of all launches of all kernels right?
ncu_truth.py play REPORT BIN [OPTION...] - does a stand-in for ncu that counts stop at the launch that the command is for?

The numbers are computed here by walking through what happened in order of time and counting on the way, without SQL.
"""
import collections
import json
import shlex
import sqlite3
import subprocess
import sys

MODE, REPORT, BIN, *OPTIONS = sys.argv[1:]


def launches(path):
    """(time, process, thread, name, key) of all launches, in the order in which a process made them."""
    db = sqlite3.connect(f'file:{path}?mode=ro', uri=True)
    text = dict(db.execute('SELECT id, value FROM StringIds'))
    called = {}
    for start, tid, correlation in db.execute('SELECT start, globalTid, correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME'):
        key = tid >> 24, correlation
        if correlation is not None and (key not in called or start < called[key][0]):
            called[key] = start, tid
    out = []
    columns = [row[1] for row in db.execute('PRAGMA table_info(CUPTI_ACTIVITY_KIND_KERNEL)')]
    for row in db.execute('SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL'):
        k = dict(zip(columns, row))
        process = k['globalPid'] >> 24
        at, thread = called.get((process, k['correlationId']), (k['start'], None))
        name = text[k['mangledName'] if k['mangledName'] is not None else k['demangledName']]
        out.append((at, k['correlationId'] or 0, k['start'], process, thread, name, (process & 0xFFFFFF, k['correlationId'] or 0, k['start'], k['end'])))
    return sorted(out, key=lambda x: x[:3])


def numbers(path):
    seen, out = collections.Counter(), {}
    for _, _, _, process, _, name, key in launches(path):
        out[key + (name,)] = seen[process, name]
        seen[process, name] += 1
    return out


def inside(path):
    """Whether a thread is in a range at a time, as ncu's filter reads."""
    db = sqlite3.connect(f'file:{path}?mode=ro', uri=True)
    text = dict(db.execute('SELECT id, value FROM StringIds'))
    has = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'NVTX_EVENTS'").fetchone()
    events = db.execute('SELECT start, end, eventType, globalTid, text, textId, domainId FROM NVTX_EVENTS').fetchall() if has else []
    domains = {(tid >> 24, domain): t or text.get(i) for _, _, kind, tid, t, i, domain in events if kind == 75}

    def test(want, thread, at):
        want = want.replace('\\\\', '\0')
        domain, _, name = want.rpartition('@')
        is_stack = name.endswith('/') and not name.endswith('\\/')
        name = name[:-1] if is_stack else name
        name, domain = (x.replace('\\', '').replace('\0', '\\') for x in (name, domain))
        for start, end, kind, tid, t, i, d in events:
            if (t or text.get(i)) != name or kind != (59 if is_stack else 60) or (domains.get((tid >> 24, d), '') if d else '') != domain:
                continue
            if (tid == thread if is_stack else thread is not None and tid >> 24 == thread >> 24) and start <= at and (end is None or at < end):
                return True
        return False
    return test


def play(argv, path, process):
    """What ncu would profile of a process that launches again what is in the report: the key of the launch."""
    options = {'--launch-skip': 0, '--launch-count': 0}
    argv = argv[1:]
    while argv and argv[0].startswith('-'):
        if argv[0] in ('--nvtx',):
            argv = argv[1:]
            continue
        options[argv[0]] = argv[1]
        argv = argv[2:]
    assert options['--kernel-name-base'] == 'mangled' and int(options['--launch-count']) == 1, options
    skip, is_in = int(options['--launch-skip']), inside(path)
    for at, _, _, p, thread, name, key in launches(path):
        if p & 0xFFFFFF != process or name != options['--kernel-name']:
            continue
        if '--nvtx-include' in options and not is_in(options['--nvtx-include'], thread, at):
            continue
        if skip == 0:
            return key
        skip -= 1
    return None


def run(*options):
    return json.loads(subprocess.run([BIN, 'ncu', '-f', 'json', *options, REPORT], check=True, capture_output=True).stdout)


if MODE == 'list':
    want = numbers(REPORT)
    got = {(r['process'], r['correlationId'], r['start'], r['end'], r['name']): r['skip'] for r in run('--top', '1000000', '--list')}
    assert got and len(got) == len(want), (len(got), len(want))
    bad = [(k, got.get(k), v) for k, v in want.items() if got.get(k) != v]
    assert not bad, (len(bad), bad[:3])
    print(len(got), 'launches of', len({k[-1] for k in got}), 'kernels')
else:
    played = 0
    for c in run(*OPTIONS)['commands']:
        if not c['ncu']:
            assert c['replay'] is None and c['notes'], c
            continue
        words = shlex.split(c['command'])
        if c['processes'] > 1:  # what the launcher starts: ncu stands inside of what sh runs
            words = shlex.split(words[2].split('exec ', 1)[1].split(' "$@"')[0])
        assert words[:len(c['ncu'])] == c['ncu'], (words, c['ncu'])
        got = play(words, REPORT, c['process'])
        want = c['process'], c['launch']['correlationId'], c['launch']['start'], c['launch']['end']
        assert got == want, (c['kernel']['name'], got, want, c['command'])
        played += 1
    print(played, 'commands')
    assert played

"""suites.py - which tests the suites have, how one is run, and what it said. Used by check-conformance."""
import collections
import glob
import os
import re
import subprocess
import xml.etree.ElementTree

# command: "@NAME" is a file that the program writes; cwd: None for a fresh folder; limit: seconds, plain.
Unit = collections.namedtuple('Unit', 'suite name command cwd env limit')

# CPython's tests of what goes through the C library; the slow ones last.
MODULES = """os posix socket signal fcntl mmap select selectors pty pwd grp resource poll epoll ioctl time thread threadsignals
threadedtempfile threading_local fork1 wait3 wait4 openpty io fileio bufio file file_eintr largefile tempfile shutil pathlib glob
popen posixpath genericpath filecmp fnmatch fileinput linecache univnewlines socketserver httpservers ssl ftplib smtplib poplib
imaplib urllib2_localnet xmlrpc logging queue faulthandler ctypes sqlite3 dbm shelve mailbox gc import importlib runpy cmd_line
sys syslog locale stat sched uuid netrc zipimport zipapp startfile contextlib weakref eintr threading subprocess gzip lzma bz2
zipfile tarfile asyncio concurrent_futures multiprocessing_fork multiprocessing_spawn multiprocessing_forkserver""".split()


def executables(pattern):
    return [p for p in sorted(glob.glob(pattern, recursive=True)) if os.path.isfile(p) and os.access(p, os.X_OK)]


def open_posix(folder):
    top = os.path.join(folder, 'ltp/testcases/open_posix_testsuite')
    for path in executables(top + '/*/**/*.run-test'):
        yield Unit('open_posix', os.path.relpath(path, top), [path], None, {'PATH': os.path.dirname(path)}, 40)


def ltp(folder):
    """Those of LTP's own list of system calls, with their arguments."""
    top = os.path.join(folder, 'ltp')
    paths = {os.path.basename(p): p for p in executables(top + '/testcases/kernel/syscalls/**/*')}
    env = {'LTPROOT': top, 'LTP_RUNTIME_MUL': '0.05', 'LTP_COLORIZE_OUTPUT': 'n', 'KCONFIG_SKIP_CHECK': '1'}
    for line in open(top + '/runtest/syscalls') if paths else ():
        words = line.split()
        if len(words) > 1 and words[1] in paths:
            path = paths[words[1]]
            places = os.path.dirname(path) + ':' + top + '/testcases/lib'
            yield Unit('ltp', words[0], [path] + words[2:], None, dict(env, PATH=places), 40)


def libuv(folder):
    env = {'UV_RUN_AS_ROOT': '1'}
    linked = 'ln -s "$1" test && exec "$2" "$3"'
    for path in executables(folder + '/libuv/build/uv_run_tests'):
        names = subprocess.run([path, '--list'], env=env, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
        for name in names:
            yield Unit('libuv', name, ['sh', '-c', linked, 'sh', folder + '/libuv/test', path, name], None, env, 60)


def go(folder):
    for path in executables(folder + '/go/*.test'):
        name = os.path.basename(path)[:-len('.test')]
        where = os.path.join(folder, 'go/src', name.replace('_', '/'))
        yield Unit('go', name, [path, '-test.v', '-test.short'], where, {}, 300)


def cpython(folder):
    ask = 'import test, sys; print(test.__path__[0], sys.version.split()[0])'
    for python in executables('/usr/bin/python3') + executables(folder + '/py/*/bin/python3'):
        env = {'LD_LIBRARY_PATH': os.path.join(os.path.dirname(python), '../lib')} if python.startswith(folder) else {}
        answer = subprocess.run([python, '-c', ask], env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        where, version = answer.stdout.split() if not answer.returncode else ('', '')
        for module in ['test_' + m for m in MODULES]:
            if where and (os.path.exists(os.path.join(where, module + '.py')) or os.path.exists(os.path.join(where, module))):
                command = [python, '-m', 'test', '--junit-xml', '@junit.xml', module]
                yield Unit('cpython', version + '/' + module, command, None, env, 600)


def units(folder):
    for suite in (open_posix, ltp, libuv, go, cpython):
        yield from suite(folder)


def narrow(unit, tests):
    """The unit with those of its tests alone, where that can be."""
    if unit.suite == 'go' and tests and '' not in tests:
        names = sorted({t.split('/')[0] for t in tests})
        return unit._replace(command=unit.command + ['-test.run', '^(%s)$' % '|'.join(names)])
    if unit.suite == 'cpython' and tests and '' not in tests:
        options = [w for t in sorted(tests) for w in ('-m', t.split(' ')[0])]
        return unit._replace(command=unit.command[:3] + options + unit.command[3:])
    return unit


def verdicts(unit, status, out, stdout):
    """Test -> verdict; '' is the program itself."""
    results = {'': status}
    if unit.suite == 'go':
        results.update((name, verdict) for verdict, name in re.findall(r'^ *--- (\w+): (\S+)', stdout, re.M))
    elif unit.suite == 'cpython':
        try:
            cases = xml.etree.ElementTree.parse(os.path.join(out, 'junit.xml')).iter('testcase')
        except (OSError, xml.etree.ElementTree.ParseError):
            return results
        for case in cases:
            kinds = [e.tag for e in case if e.tag in ('failure', 'error', 'skipped')]
            results[case.get('name')] = kinds[0] if kinds else case.get('result', 'ok')
    return results

#!/bin/sh
# Python's functions in CPU samples: compared with a program that knows where it is, on every Python that is there.
. tests/lib.sh

[ "$(uname -m)" = x86_64 ] || skip_all 'for x86-64'
command -v python3 >/dev/null || skip_all 'python3 is not installed (package python3)'
"$BIN" profile -t none --python-sampling=true -o probe true 2>err
grep -q 'need eBPF' err && skip_all "$(grep 'need eBPF' err)"

truth() { # REPORT: what it says is its stdout
	python3 "$E2E/python/python_sample_check.py" "$1" "$E2E/python/python_sample.py"
}
has_python() { # REPORT: frames of Python in it
	q "$1" "SELECT count(*) FROM SL_FRAMES WHERE kind = 1"
}

tried=0
for py in $(pythons "$(pythons_read 8)"); do
	version=${py##*/python}
	tried=$((tried + 1))
	"$BIN" profile -t none --python-sampling=true -o "py$version" -f true "$py" "$E2E/python/python_sample.py" 0.5 2>err
	is $? 0 "$py: the program runs as untraced"
	check "$version: every sample has the functions and lines it should" truth "py$version.sqlite"
	is "$(grep -c 'eBPF\|is not known' err)" 0 "$version: no message says that frames are missing"
done
[ "$tried" -gt 0 ] || skip_all 'no CPython 3.8 to 3.15'

# ---- code that comes and goes ----
"$BIN" profile -t none --python-sampling=true -o made -f true python3 "$E2E/python/python_sample.py" 0.5 made 2>err
is $? 0 'code that is made as it goes: the program ends with status 0'
check 'code that is made as it goes has its names, also in the place of other code' [ "$(q made.sqlite "
	WITH made AS (SELECT value AS name, count(*) AS cnt FROM COMPOSITE_EVENTS c
		JOIN SL_STACKS s ON s.id = c.stackId JOIN SL_FRAMES f ON f.id = s.frameId AND f.kind = 1
		JOIN StringIds n ON n.id = f.symbol WHERE value LIKE 'made_%' OR value = '[unknown]' GROUP BY 1)
	SELECT count(*) >= 6 AND sum(cnt * (name LIKE 'made_%')) > sum(cnt * (name = '[unknown]')) * 9 FROM made")" = 1 ]

# Gone before the collector can read it: it is stopped until then.
cat >gone.py <<'END'
import os, signal, time
os.kill(os.getppid(), signal.SIGSTOP)
files = ["gone_%d.py" % i for i in range(2)]  # those of modules stay, too
for i in range(2):
    exec(compile("""
end = time.thread_time() + 0.04
while time.thread_time() < end:
    for _ in range(1000): pass
""", files[i], "exec"))
    exec(compile("""def also_%d():
    end = time.thread_time() + 0.04
    while time.thread_time() < end: pass
""" % i, "also_%d.py" % i, "exec"))
    globals().pop("also_%d" % i)()
os.kill(os.getppid(), signal.SIGCONT)
END
"$BIN" profile -t none --python-sampling=true --python-sampling-frequency=1000 -o gone -f true python3 gone.py 2>err
is $? 0 'code that is gone at once: the program ends with status 0'
is "$(q gone.sqlite "SELECT DISTINCT n.value, m.value FROM COMPOSITE_EVENTS c JOIN SL_STACKS s ON s.id = c.stackId
	JOIN SL_FRAMES f ON f.id = s.frameId JOIN StringIds n ON n.id = f.symbol LEFT JOIN StringIds m ON m.id = f.file
	WHERE (f.line BETWEEN 1 AND 4 AND (m.value LIKE 'gone/__.py' ESCAPE '/' OR (m.value LIKE 'also%' AND n.value <> '<module>')))
		OR n.value IN ('[unknown]', '[Broken Python frames]') ORDER BY m.value")" \
	'also_0|also_0.py
also_1|also_1.py
<module>|gone_0.py
<module>|gone_1.py' 'code that is gone at once has its names and lines'

# ---- copies of the bytecode: what Pythons without the lock have, by one that is made by hand ----
"$BIN" profile -t none --python-sampling=true -o copies -f true "$PROG/fake_python" 2>err
is $? 0 'threads that run copies of the bytecode: the program ends with status 0'
is "$(q copies.sqlite "SELECT group_concat(line, ' ') FROM (SELECT f.line, count(DISTINCT c.globalTid) threads
	FROM COMPOSITE_EVENTS c JOIN SL_STACKS s ON s.id = c.stackId JOIN SL_FRAMES f ON f.id = s.frameId AND f.kind = 1
	JOIN StringIds n ON n.id = f.symbol AND n.value = 'work' GROUP BY 1 HAVING threads = 1 AND count(*) > 50 ORDER BY 1)")" \
	'100 102 105 108' 'threads that run copies of the bytecode have the line of their copy'

# ---- machine code made by the interpreter ----
is "$(q copies.sqlite "SELECT count(*) > 50, sum(names LIKE '% work run %') * 100 > count(*) * 98
	FROM (SELECT (SELECT group_concat(n.value, ' ') FROM (SELECT * FROM SL_STACKS WHERE id = c.stackId ORDER BY depth) s
		JOIN SL_FRAMES f ON f.id = s.frameId JOIN StringIds n ON n.id = f.symbol) names FROM COMPOSITE_EVENTS c
	WHERE EXISTS (SELECT 1 FROM SL_STACKS s JOIN SL_FRAMES f ON f.id = s.frameId AND f.kind = 1 AND f.line = 108 WHERE s.id = c.stackId))")" \
	'1|1' 'stacks go on behind code that was made by hand'
for py in $(pythons "$(pythons_read 13) and sys._jit.is_available()"); do
	version=${py##*/python}
	PYTHON_JIT=1 "$BIN" profile -t none --python-sampling=true -o "jit$version" -f true "$py" "$E2E/python/python_sample.py" 0.5 2>err
	is $? 0 "$version with its JIT: the program ends with status 0"
	check "$version with its JIT: every sample has the functions and lines it should" \
		python3 "$E2E/python/python_sample_check.py" "jit$version.sqlite" "$E2E/python/python_sample.py" jit
done

# ---- processes that start others ----
cat >pool.py <<'END'
import os, sys, time
def child_of_fork():
    end = time.thread_time() + 0.2
    while time.thread_time() < end:
        pass
for _ in range(3):
    if os.fork() == 0:
        child_of_fork()
        os._exit(0)
for _ in range(3):
    os.wait()
os.execv(sys.executable, [sys.executable, "-c", """
import time
def after_exec():
    end = time.thread_time() + 0.2
    while time.thread_time() < end:
        pass
after_exec()
"""])
END
"$BIN" profile -t none --python-sampling=true -o pool -f true python3 pool.py 2>err
is $? 0 'forks and exec: the program ends with status 0'
for wanted in child_of_fork:3 after_exec:1; do
	name=${wanted%:*}
	check "forks and exec: $name has its samples" [ "$(q pool.sqlite "SELECT count(DISTINCT c.globalTid) FROM COMPOSITE_EVENTS c
		JOIN SL_STACKS s ON s.id = c.stackId JOIN SL_FRAMES f ON f.id = s.frameId AND f.kind = 1
		JOIN StringIds n ON n.id = f.symbol AND n.value = '$name'")" = "${wanted#*:}" ]
done

# ---- a Python that is loaded after the first samples ----
cat >later.c <<'END'
/* later LIBRARY: after some samples without a Python, loads the library and runs Python in it. */
#include <dlfcn.h>
#include <time.h>

static const char text[] = "import time\ndef loaded_later():\n end = time.thread_time() + 0.3\n while time.thread_time() < end: pass\nloaded_later()\n";

int main(int argc, char **argv)
{
	void (*begin)(int);
	int (*run)(const char *);
	void *library;

	while (clock() < CLOCKS_PER_SEC / 20)
		;
	library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : 0;
	if (!library)
		return 2;
	begin = (void (*)(int))dlsym(library, "Py_InitializeEx");
	run = (int (*)(const char *))dlsym(library, "PyRun_SimpleString");
	begin(0);
	return run(text);
}
END
library=$(find /usr/lib "${PYENV_ROOT:-$HOME/.pyenv}/versions" -name 'libpython3.1*.so.1.0' 2>/dev/null | sort | head -1)
if [ -n "$library" ] && gcc -O1 -o later later.c -ldl; then
	case $library in
	/usr/lib/*) home=/usr ;;
	*) home=${library%/lib/*} ;;
	esac
	PYTHONHOME=$home "$BIN" profile -t none --python-sampling=true -o later -f true ./later "$library" 2>err
	is $? 0 'a Python that is loaded after the first samples: the program ends with status 0'
	check 'a Python that is loaded after the first samples has its functions in later ones' [ "$(q later.sqlite "
		SELECT count(DISTINCT c.id) FROM COMPOSITE_EVENTS c JOIN SL_STACKS s ON s.id = c.stackId
		JOIN SL_FRAMES f ON f.id = s.frameId AND f.kind = 1 JOIN StringIds n ON n.id = f.symbol
		WHERE value = 'loaded_later'")" -gt 0 ]
else
	skip 'a Python that is loaded after the first samples: the program ends with status 0' 'there is no libpython'
fi

# ---- without ----
"$BIN" profile -t none --python-sampling=true -o "none" -f true sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done' 2>err
is $? 0 'a program without Python ends with status 0'
is "$(has_python none.sqlite)" 0 'a program without Python has no frames of Python'
is "$(grep -c 'Python' err)" 0 'a program without Python has no message about Python'
"$BIN" profile -t none -s process-tree --python-sampling=false -o plain -f true python3 "$E2E/python/python_sample.py" 0.1 2>err
is "$(has_python plain.sqlite)" 0 '--python-sampling=false: samples have no frames of Python'
"$BIN" profile -t none -s process-tree -o plain -f true python3 "$E2E/python/python_sample.py" 0.3 2>err
check '--python-sampling by default: samples have frames of Python' [ "$(has_python plain.sqlite)" != 0 ]
"$BIN" profile -t none -s none --python-sampling=true -o off -f true python3 -c pass 2>err
is "$(grep -c 'python-sampling has no effect' err)" 1 '--python-sampling without samples has a message'
is "$(q off.sqlite "SELECT count(*) FROM sqlite_master WHERE name = 'COMPOSITE_EVENTS'")" 0 '--python-sampling without samples takes no samples'
"$BIN" profile -t none --python-sampling=true --python-sampling-frequency=200 -o slow -f true python3 "$E2E/python/python_sample.py" 0.5 2>err
is $? 0 '--python-sampling-frequency: the program ends with status 0'
check '--python-sampling-frequency is the frequency of samples' [ "$(q slow.sqlite 'SELECT count(*) FROM COMPOSITE_EVENTS')" -lt 600 ]
for bad in 0 2001 fast; do
	"$BIN" profile --python-sampling-frequency=$bad -o bad true 2>err
	is $? 2 "--python-sampling-frequency=$bad is refused"
done

# ---- rights ----
if [ "$(id -u)" = 0 ] && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] && command -v setpriv >/dev/null; then
	mkdir theirs
	chmod 777 theirs
	cp "$E2E/python/python_sample.py" theirs
	setpriv --reuid=65534 --regid=65534 --clear-groups "$(nobody_bin)" profile -t none --python-sampling=true -o theirs/theirs /usr/bin/python3 theirs/python_sample.py 0.2 2>err
	is $? 0 '--python-sampling of a user without rights: the program ends with status 0'
	is "$(grep -c "Python's frames in samples need eBPF (root, or CAP_BPF and CAP_PERFMON)" err)" 1 '--python-sampling of a user without rights names what frames of Python need'
	check '--python-sampling of a user without rights has samples' [ "$(q theirs/theirs.sqlite 'SELECT count(*) FROM COMPOSITE_EVENTS')" -gt 50 ]
	check '--python-sampling of a user without rights: frames of Python are read from outside' [ "$(has_python theirs/theirs.sqlite)" -gt 0 ]
else
	skip '--python-sampling of a user without rights: the program ends with status 0' 'needs root, setpriv, and kernel.perf_event_paranoid of 2 at most'
fi
done_testing

#!/bin/sh
# Python's functions in CPU samples of programs that ran before Sightline did: sightline attach --python-sampling, on every
# Python that is there, compared with a program that knows where it is.
# shellcheck disable=SC2016,SC2086
. tests/lib.sh

[ "$(uname -m)" = x86_64 ] || skip_all 'for x86-64'
command -v python3 >/dev/null || skip_all 'python3 is not installed (package python3)'
sleep 60 &
"$BIN" attach -p $! -d 1 --python-sampling=true -o probe 2>err
kill $!
grep -q 'need eBPF\|no CPU samples' err && skip_all "$(grep -m1 'need eBPF\|no CPU samples' err)"
mkfifo go
chmod 666 go

# NAME PROGRAM [ARG...]: runs, is attached to with $OPTIONS (nothing: as usual), continues when there is a line in the fifo
OPTIONS=
attached() {
	R=$W/$1.sqlite
	name=$1
	shift
	"$@" &
	T=$!
	"$BIN" attach -p $T -f -o "$name" --python-sampling=true $OPTIONS 2>"$name.err" &
	A=$!
	wait_for 60 grep -q 'attached to' "$name.err" || return 1
	echo x >go
	wait $T
	is $? 0 "$name: the program ends as it would have"
	wait $A
	is $? 0 "$name: the recording ends with status 0"
}
# REPORT FUNCTION: how many threads have samples in it, and the file that it is of
seen() {
	q "$1" "SELECT count(DISTINCT c.globalTid), group_concat(DISTINCT m.value) FROM COMPOSITE_EVENTS c
		JOIN SL_STACKS s ON s.id = c.stackId JOIN SL_FRAMES f ON f.id = s.frameId AND f.kind = 1
		JOIN StringIds n ON n.id = f.symbol AND n.value = '$2' LEFT JOIN StringIds m ON m.id = f.file"
}
has_python() { # REPORT: frames of Python in it
	q "$1" 'SELECT count(*) FROM SL_FRAMES WHERE kind = 1'
}

# ---- versions ----
tried=0
for py in $(pythons "$(pythons_read 8)"); do
	version=${py##*/python}
	tried=$((tried + 1))
	attached "py$version" "$py" "$E2E/python/attach_python.py" go "$E2E/python/python_sample.py" 0.5
	check "$version: every sample has the functions and lines it should" python3 "$E2E/python/python_sample_check.py" "$R" "$E2E/python/python_sample.py"
	is "$(seen "$R" seven)" "2|$E2E/python/python_sample.py" "$version: two threads are in the samples, with their file"
	is "$(seen "$R" forked)" "1|$E2E/python/attach_python.py" "$version: a child that was forked meanwhile is in the samples"
	is "$(seen "$R" after_exec)" '1|<string>' "$version: another program that was started meanwhile is in the samples"
	is "$(grep -c 'eBPF\|is not known\|Python' "py$version.err")" 0 "$version: no message says that frames are missing"
done
[ "$tried" -gt 0 ] || skip_all 'no CPython 3.8 to 3.15'

# ---- Pythons inside of other programs ----
cat >embed.c <<'END'
/* embed GO LIBRARY: when there is a line in GO, loads the library (or uses the one that it is linked with), in which it runs Python. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static const char text[] = "import time\ndef embedded():\n end = time.thread_time() + 0.3\n while time.thread_time() < end: pass\nembedded()\n";
static volatile unsigned sink;
#ifdef LINKED
void Py_InitializeEx(int);
int PyRun_SimpleString(const char *);
int Py_FinalizeEx(void);
#endif
/* As many samples as it takes until Python is not looked for any more. */
static void spin(void)
{
	while (clock() < CLOCKS_PER_SEC / 2)
		for (int i = 0; i < 100000; i++)
			sink += i;
}
int main(int argc, char **argv)
{
	void (*begin)(int);
	int (*run)(const char *), (*end)(void);
	FILE *f = fopen(argv[1], "r");
	if (!f || fgetc(f) == EOF)
		return 1;
	spin();
#ifdef LINKED
	begin = Py_InitializeEx, run = PyRun_SimpleString, end = Py_FinalizeEx;
#else
	void *library = argc > 2 ? dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL) : NULL;
	if (!library)
		return 2;
	begin = (void (*)(int))dlsym(library, "Py_InitializeEx");
	run = (int (*)(const char *))dlsym(library, "PyRun_SimpleString");
	end = (int (*)(void))dlsym(library, "Py_FinalizeEx");
#endif
	begin(0);
	return run(text) || end();
}
END
config=/usr/bin/python3-config
library=$(find /usr/lib -name 'libpython3.*.so.1.0' 2>/dev/null | head -1)
archive=$(find /usr/lib -name 'libpython3.*.a' ! -name '*pic*' 2>/dev/null | head -1)
if [ -n "$library" ] && gcc -O1 -o embed embed.c -ldl; then
	# By a name without "python" in it.
	cp "$library" ./libsnake.so
	attached embed ./embed go ./libsnake.so
	is "$(seen "$R" embedded)" '1|<string>' 'a library that is loaded meanwhile: its functions are in the samples, late'
else
	skip 'a library that is loaded meanwhile: its functions are in the samples, late' 'no libpython, or no gcc'
fi
# shellcheck disable=SC2046
if [ -n "$archive" ] && [ -x $config ] && gcc -O1 -DLINKED -o linked embed.c "$archive" $($config --ldflags --embed | sed 's/-lpython[^ ]*//') -lexpat -lz 2>link.err; then
	check 'a Python linked into the program: the program does not export it' sh -c '! nm -D linked | grep -q _PyRuntime'
	attached linked ./linked go
	is "$(seen "$R" embedded)" '1|<string>' 'a Python linked into the program is found by its symbols'
	strip -o stripped linked
	attached stripped ./stripped go
	if [ "$(seen "$R" embedded)" = '1|<string>' ]; then
		result 0 'a Python linked into a stripped program is found'
	else
		is "$(grep -c 'a Python without symbols, whose version is unknown' stripped.err)" 1 'a Python that is not found has one message'
	fi
else
	skip 'a Python linked into the program is found by its symbols' 'no libpython as an archive'
fi

# ---- Pythons that are not known ----
cat >future.c <<'END'
#include <stdio.h>
#include <time.h>
unsigned long Py_Version = 0x036300f0;
char _PyRuntime[65536] = "xdebugpy", PyCode_Type[512];
static volatile unsigned sink;
int main(int argc, char **argv)
{
	FILE *f = argc > 1 ? fopen(argv[1], "r") : NULL;
	if (!f || fgetc(f) == EOF)
		return 1;
	while (clock() < CLOCKS_PER_SEC / 4)
		for (int i = 0; i < 100000; i++)
			sink += i;
	return 0;
}
END
if gcc -rdynamic -o future future.c; then
	attached future ./future go
	is "$(grep -c 'Python 3.99: where its stacks lie is not known' future.err)" 1 'an unknown version of Python has one message'
	check 'samples of an unknown version have their native stacks' [ "$(q "$R" 'SELECT count(*) FROM COMPOSITE_EVENTS WHERE stackId IS NOT NULL')" -gt 50 ]
	is "$(has_python "$R")" 0 'samples of an unknown version have no functions of Python'
else
	skip 'an unknown version of Python has one message' 'gcc is not installed (package gcc)'
fi
for py in "$HOME"/.pyenv/versions/2.7.*/bin/python "$HOME"/.pyenv/versions/3.[67].*/bin/python3; do
	[ -x "$py" ] || continue
	version=$("$py" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
	attached "old$version" "$py" -c 'import sys, time
open(sys.argv[1]).readline()
end = time.time() + 0.5
while time.time() < end: pass' go
	is "$(grep -c "Python $version: where its stacks lie is not known" "old$version.err")" 1 "$version: attach has one message"
	is "$(has_python "$R")" 0 "$version: samples have no functions of Python"
done

# ---- containers ----
cat >box.sh <<'END'
mkdir -p box && cd box && mkdir -p usr lib lib64 dev proc work || exit 9
cp "$1" snake
for d in usr lib lib64 dev; do mount --rbind /$d $d || exit 9; done
mount --bind .. work
exec chroot . /snake /work/attach_python.py /work/go /work/python_sample.py 0.4
END
snake=$(readlink -f /usr/bin/python3)
if [ "$(id -u)" = 0 ] && unshare -mpf true 2>/dev/null && ldd "$snake" | grep -qv pyenv; then
	cp "$E2E/python/attach_python.py" "$E2E/python/python_sample.py" .
	attached box unshare -mpf sh box.sh "$snake"
	check 'a container: every sample has the functions and lines it should' python3 "$E2E/python/python_sample_check.py" "$R" "$E2E/python/python_sample.py"
	is "$(seen "$R" seven)" '2|/work/python_sample.py' 'a container: the file has the name that it has there'
else
	skip 'a container: every sample has the functions and lines it should' 'needs root and unshare'
fi

# ---- rights ----
if [ "$(id -u)" = 0 ] && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] && command -v setpriv >/dev/null; then
	mkdir theirs
	chmod 777 theirs
	cp "$E2E/python/attach_python.py" "$E2E/python/python_sample.py" theirs
	cat >theirs.sh <<'END'
trap 'kill $A' EXIT
/usr/bin/python3 theirs/attach_python.py go theirs/python_sample.py 0.4 &
T=$!
"$1" attach -p $T -o theirs/theirs --python-sampling=true 2>theirs/err &
A=$!
for i in $(seq 600); do grep -q 'attached to' theirs/err && break || sleep 0.1; done
echo x >go
wait $T
wait $A
s=$?
trap - EXIT
exit $s
END
	setpriv --reuid=65534 --regid=65534 --clear-groups sh theirs.sh "$(nobody_bin)"
	is $? 0 'attach --python-sampling of a user without rights ends with status 0'
	is "$(grep -c "Python's frames in samples need eBPF (root, or CAP_BPF and CAP_PERFMON)" theirs/err)" 1 'attach of a user without rights names what frames of Python need'
	check 'attach of a user without rights has samples' [ "$(q theirs/theirs.sqlite 'SELECT count(*) FROM COMPOSITE_EVENTS')" -gt 50 ]
	check 'attach of a user without rights: functions of Python are read from outside' [ "$(has_python theirs/theirs.sqlite)" -gt 0 ]
	# May sample every process, and read the memory of none.
	cat >caps.sh <<'END'
"$1" attach -p $$ -d 1 -s system-wide --cpuctxsw=none --python-sampling=true -o theirs/caps
END
	"$PY" -c 'while True: pass' &
	busy=$!
	at_exit="kill $busy 2>/dev/null"
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=+bpf,+perfmon --ambient-caps=+bpf,+perfmon sh caps.sh "$(nobody_bin)" 2>caps.err
	is $? 0 'attach with CAP_BPF and CAP_PERFMON alone ends with status 0'
	kill $busy
	at_exit=:
	is "$(grep -c "other users' processes may not be looked into.*CAP_SYS_PTRACE" caps.err)" 1 "attach with CAP_BPF and CAP_PERFMON alone names once what other users' processes need"
	check 'attach with CAP_BPF and CAP_PERFMON alone has samples' [ "$(q theirs/caps.sqlite 'SELECT count(*) FROM COMPOSITE_EVENTS')" -gt 50 ]
else
	skip 'attach --python-sampling of a user without rights ends with status 0' 'needs root, setpriv, and kernel.perf_event_paranoid of 2 at most'
fi

# ---- options ----
"$BIN" attach -p $$ --python-backtrace=cuda -o bad 2>err
is $? 2 'attach --python-backtrace is refused'
check 'the refusal of attach --python-backtrace names --python-sampling in one line' sh -c '[ "$(wc -l <err)" -eq 1 ] && grep -q "stacks of calls.*--python-sampling" err'
for bad in 0 2001 fast; do
	"$BIN" attach -p $$ --python-sampling-frequency=$bad -o bad 2>err
	is $? 2 "--python-sampling-frequency=$bad is refused"
done
check 'refused attaches leave no report' [ ! -e bad.sqlite ]
OPTIONS='-s none'
attached off python3 "$E2E/python/attach_python.py" go "$E2E/python/python_sample.py" 0.05
is "$(grep -c 'python-sampling has no effect' off.err)" 1 'attach --python-sampling without samples has a message'
OPTIONS='--python-sampling=false'
attached plain python3 "$E2E/python/attach_python.py" go "$E2E/python/python_sample.py" 0.1
is "$(has_python "$R")" 0 'attach --python-sampling=false has no functions of Python'
OPTIONS='--python-sampling-frequency=200'
attached slow python3 "$E2E/python/attach_python.py" go "$E2E/python/python_sample.py" 0.3
check 'attach --python-sampling-frequency is the frequency of samples' [ "$(q "$R" 'SELECT count(*) FROM COMPOSITE_EVENTS')" -lt 400 ]

# ---- everybody ----
mkfifo go.other
python3 "$E2E/python/attach_python.py" go.other "$E2E/python/python_sample.py" 0.3 &
other=$!
{
	wait_for 60 grep -q 'attached to' wide.err
	echo x >go.other
} &
OPTIONS='-s system-wide'
attached wide python3 "$E2E/python/attach_python.py" go "$E2E/python/python_sample.py" 0.4
wait $other
check 'attach --sample=system-wide has functions of Python of other processes' [ "$(q "$R" "SELECT count(DISTINCT c.globalTid >> 24 & 0xffffff) FROM COMPOSITE_EVENTS c
	JOIN SL_STACKS s ON s.id = c.stackId JOIN SL_FRAMES f ON f.id = s.frameId AND f.kind = 1
	JOIN StringIds n ON n.id = f.symbol AND n.value = 'seven'")" -ge 2 ]
OPTIONS=

done_testing

#!/bin/sh
# Stacks of Python: every kind of code in every Python that is installed, against Python's own traceback; where things
# lie, against the headers; lines of instructions, against the interpreters'.
# shellcheck disable=SC2016
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
LIB=$PROG/lib/pystack.so
version() { "$1" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])'; }
printf 'def run(f):\n    f()\n' >this_is_imported.py
stacks() { PYTHONPATH=$W LD_PRELOAD=$LIB timeout 120 "$@"; }

traced() { # REPORT PROGRAM...: every call with a stack
	traced_to=$1
	shift
	PYTHONPATH=$W profile "$traced_to" --osrt-threshold=0 --osrt-backtrace-threshold=0 --osrt-backtrace-depth=255 "$@"
}

for py in $(pythons 'sys.version_info >= (3, 8)'); do
	v="$(version "$py")"
	check "$v $py: every probe finds the stack of Python" stacks "$py" "$E2E/python/pystack.py" sub
	cp "$W/check.log" out
	grep -q 'wrong 0$' out || diag <out
	is "$(sed -n 's/^probes \([0-9]\)[0-9]\{3\} wrong /\1 /p' out)" '1 0' "$v: functions and runs of the loop are as Python has them"

	# In a report, merged with the native ones.
	rm -f truth.json
	traced merged "$py" "$E2E/python/pystack.py" trace truth.json >merged.log 2>&1
	is $? 0 "$v: the traced probe ends with status 0" || diag <merged.log
	"$PY" "$E2E/python/pystack_report.py" "$R" truth.json >out 2>&1
	is "$(sed -n 's/^probes [0-9]\{3\} wrong //p' out)" 0 "$v: every frame of the probe is in the report, in place of the loop" || diag <out

	# What is known of this version.
	stacks "$py" -c 'import ctypes, sys; sys.exit(ctypes.CDLL(sys.argv[1]).pystack_layout() != 1)' "$LIB" >known
	include=$("$py" -c 'import sysconfig; print(sysconfig.get_path("include"))')
	if [ -d "$include/internal" ] && cc -w -I"$include" -I"$include/internal" -o layout "$E2E/python/pylayout.c" 2>cc.log; then
		./layout >headers
		is "$(awk 'NR == FNR { known[$1] = $2; next } known[$1] != $2 { print $1, known[$1], $2 }
			END { if (FNR < 20) print "few" }' known headers)" '' "$v: where things lie, by the headers"
	else
		skip "$v: where things lie, by the headers" 'they are not installed'
	fi

	# The same as the collector has it.
	is "$(stacks "$py" "$E2E/python/pylines.py" "$LIB" 2>&1 | sed 's/^asked [0-9]\{5,\} /asked many /')" 'asked many wrong 0' \
		"$v: the lines of instructions are those of Python"

	# At its end, other threads still run: what they had is freed.
	cat >end.py <<'END'
import os, sys, threading, time
class AtEnd:
    def __del__(self): os.read(9999, 100000)
at_end = AtEnd()
def run(depth):
    if depth: return run(depth - 1)
    while True: os.read(9999, 100000)
for _ in range(4): threading.Thread(target=run, args=(50,), daemon=True).start()
time.sleep(0.02)
import atexit
atexit.register(os.read, 9999, 100000)
END
	for _ in 1 2 3; do
		stacks "$py" end.py >end.log 2>&1 || break
	done
	is $? 0 "$v: a program ends well while its threads take stacks" || diag <end.log
	# A forked child has the stack of the thread that forked.
	is "$(stacks "$py" -c '
import os, threading
def f():
    if os.fork() == 0:
        names = [line.split("\t")[0] for line in os.read(9999, 9999).decode().split("\n")[1:]]
        print(*names, flush=True)
        os._exit(0)
    os.wait()
t = threading.Thread(target=f)
t.start()
t.join()' 2>/dev/null | sed 's/[A-Za-z]*\.//g; s/ $//')" 'f run _bootstrap_inner _bootstrap' "$v: a forked child has its stack"
	is "$(PYSTACK_DEPTH=3 stacks "$py" -c '
import os
def f(n): return f(n - 1) if n else os.read(9999, 9999).decode()
print(f(10))' | tr '\n' ' ')" "frames 4 entries $(case $v in 3.[89].* | 3.10.*) echo 3 ;; *) echo 0 ;; esac) loops $(
		case $v in 3.[89].* | 3.10.*) echo 12 ;; *) echo 1 ;; esac) untold 0 f	<string>	3 f	<string>	3 f	<string>	3 !1  " \
		"$v: a stack is as deep as was asked for"
done

# One that is loaded while the program runs, and goes.
for lib in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.[89].*/lib/libpython3.?.so.1.0 \
	"${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.[1-9][0-9].*/lib/libpython3.??.so.1.0; do
	[ -f "$lib" ] || continue
	v=${lib##*/}
	rm -f truth.json
	traced embedded "$PROG/embed" "$lib" "$E2E/python/pystack.py" trace truth.json >merged.log 2>&1
	is $? 0 "$v: a program that opens libpython ends with status 0" || diag <merged.log
	"$PY" "$E2E/python/pystack_report.py" "$R" truth.json >out 2>&1
	is "$(sed -n 's/^probes [0-9]\{3\} wrong //p' out)" 0 "$v: a program that opens libpython has every frame" || diag <out
	traced gone "$PROG/embed" "$lib" -S -c pass >out 2>merged.log
	is "$? $(cat out)" '0 gone' "$v: a program that closes libpython ends with status 0" || diag <merged.log
	is "$(q "$R" "SELECT count(*) FROM call WHERE path = '/probe/closed'")" 1 "$v: a program that closes libpython goes on being recorded"
done

for py in $(pythons '(3, 3) <= sys.version_info < (3, 8)'); do
	v="$(version "$py")"
	is "$(stacks "$py" -c 'import os
os.read(9999, 9999)
print(os.read(9999, 9999).decode())' | tr '\n' ' ' | sed 's/loops [0-9]*/loops N/')" "frames 0 entries 0 loops N untold 0 say Python ${v%.*}: where its stacks lie is not known, so they are missing  " \
		"$v: an unknown version has one message"
	traced old "$py" -c 'import subprocess, sys
subprocess.call([sys.executable, "-c", "pass"])' >out 2>err
	is "$(grep -c "sightline: Python ${v%.*}: where its stacks lie is not known" err)" 1 "$v: an unknown version has one message for the session"
	is "$(q "$R" 'SELECT sum(kind = 1) = 0 AND count(*) > 9 FROM SL_FRAMES')" 1 "$v: an unknown version has native stacks only"
done
done_testing

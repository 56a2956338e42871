#!/bin/sh
# Stacks of Python: every kind of code in every Python that is installed, against what Python says itself; where things
# lie, against the headers; lines of instructions, against the interpreters'.
# shellcheck disable=SC2016
. tests/lib.sh
[ -x "$PY" ] || skip_all 'no python3'
LIB=$PROG/lib/pystack.so
# Those of the system and of pyenv, each once.
pythons() { # CONDITION
	for p in "$PY" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/python3; do
		[ -x "$p" ] && "$p" -c 'import os, sys
if sys.version_info[0] == 3 and '"$1"': print(os.path.realpath(sys.executable))' 2>/dev/null
	done | sort -u
}
version() { "$1" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])'; }
printf 'def run(f):\n    f()\n' >this_is_imported.py
stacks() { PYTHONPATH=$W LD_PRELOAD=$LIB timeout 120 "$@"; }

for py in $(pythons 'sys.version_info >= (3, 8)'); do
	v="$(version "$py")"
	check "$v $py: stacks" stacks "$py" "$E2E/pystack.py" sub
	cp "$W/check.log" out
	grep -q 'wrong 0$' out || diag <out
	is "$(sed -n 's/^probes \([0-9]\)[0-9]\{3\} wrong /\1 /p' out)" '1 0' "$v: as Python has them, and the loop's runs"

	# What is known of this version.
	stacks "$py" -c 'import ctypes, sys; sys.exit(ctypes.CDLL(sys.argv[1]).pystack_layout() != 1)' "$LIB" >known
	include=$("$py" -c 'import sysconfig; print(sysconfig.get_path("include"))')
	if [ -d "$include/internal" ] && cc -w -I"$include" -I"$include/internal" -o layout "$E2E/pylayout.c" 2>cc.log; then
		./layout >headers
		is "$(awk 'NR == FNR { known[$1] = $2; next } known[$1] != $2 { print $1, known[$1], $2 }
			END { if (FNR < 20) print "few" }' known headers)" '' "$v: where things lie, by the headers"
	else
		skip "$v: where things lie, by the headers" 'they are not installed'
	fi

	# The same as the collector has it.
	is "$(stacks "$py" "$E2E/pylines.py" "$LIB" 2>&1 | sed 's/^asked [0-9]\{5,\} /asked many /')" 'asked many wrong 0' \
		"$v: lines of instructions"

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
	is $? 0 "$v: no trouble at its end" || diag <end.log
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
t.join()' 2>/dev/null | sed 's/[A-Za-z]*\.//g; s/ $//')" 'f run _bootstrap_inner _bootstrap' "$v: in a forked child"
	is "$(PYSTACK_DEPTH=3 stacks "$py" -c '
import os
def f(n): return f(n - 1) if n else os.read(9999, 9999).decode()
print(f(10))' | tr '\n' ' ')" "frames 4 entries $(case $v in 3.[89].* | 3.10.*) echo 3 ;; *) echo 0 ;; esac) loops $(
		case $v in 3.[89].* | 3.10.*) echo 12 ;; *) echo 1 ;; esac) untold 0 f	<string>	3 f	<string>	3 f	<string>	3 !1  " \
		"$v: as deep as was asked for"
done

for py in $(pythons '(3, 3) <= sys.version_info < (3, 8)'); do
	v="$(version "$py")"
	is "$(stacks "$py" -c 'import os
os.read(9999, 9999)
print(os.read(9999, 9999).decode())' | tr '\n' ' ' | sed 's/loops [0-9]*/loops N/')" "frames 0 entries 0 loops N untold 0 say Python ${v%.*}: where its stacks lie is not known, so they are missing  " \
		"$v: not known, said once"
done
done_testing

#!/bin/sh
# Python's functions in CPU samples of programs that ran before anybody looked on: sightline attach --python-sampling, on every
# Python that is there, compared with a program that knows where it is.
# shellcheck disable=SC2016,SC2086
. tests/lib.sh

[ "$(uname -m)" = x86_64 ] || skip_all 'for x86-64'
command -v python3 >/dev/null || skip_all 'no Python'
sleep 60 &
"$BIN" attach -p $! -d 1 --python-sampling=true -o probe 2>err
kill $!
grep -q 'need eBPF\|no CPU samples' err && skip_all "$(grep -m1 'need eBPF\|no CPU samples' err)"
mkfifo go
chmod 666 go

# NAME PROGRAM [ARG...]: runs, is attached to as $OPTIONS tell (nothing: as usual), goes on when there is a line in the fifo
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
	is $? 0 "$name: and so does the recording"
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
for py in "$HOME"/.pyenv/versions/3.*/bin/python3 /usr/bin/python3; do
	[ -x "$py" ] || continue
	version=$("$py" -c 'import platform, sys; print("%d.%d" % sys.version_info[:2] if platform.python_implementation() == "CPython" else 0)')
	case $version in 3.[89] | 3.1[0-4]) ;; *) continue ;; esac
	tried=$((tried + 1))
	attached "py$version" "$py" "$E2E/attach_python.py" go "$E2E/python_sample.py" 0.5
	check "$version: every sample has the functions and lines it should" python3 "$E2E/python_sample_check.py" "$R" "$E2E/python_sample.py"
	is "$(seen "$R" seven)" "2|$E2E/python_sample.py" "$version: two threads, and the file"
	is "$(seen "$R" forked)" "1|$E2E/attach_python.py" "$version: a child that was forked meanwhile"
	is "$(seen "$R" after_exec)" '1|<string>' "$version: another program that was started meanwhile"
	is "$(grep -c 'eBPF\|is not known\|Python' "py$version.err")" 0 "$version: nothing is missing"
done
[ "$tried" -gt 0 ] || skip_all 'no CPython 3.8 to 3.14'

# ---- options ----
"$BIN" attach -p $$ --python-backtrace=cuda -o bad 2>err
is $? 2 '--python-backtrace is refused'
check 'in one line, which says what there is instead' sh -c '[ "$(wc -l <err)" -eq 1 ] && grep -q "stacks of calls.*--python-sampling" err'
for bad in 0 2001 fast; do
	"$BIN" attach -p $$ --python-sampling-frequency=$bad -o bad 2>err
	is $? 2 "--python-sampling-frequency=$bad is refused"
done
check 'refusals leave nothing behind' [ ! -e bad.sqlite ]
OPTIONS='-s none'
attached off python3 "$E2E/attach_python.py" go "$E2E/python_sample.py" 0.05
is "$(grep -c 'python-sampling has no effect' off.err)" 1 'without samples: said'
OPTIONS='--python-sampling=false'
attached plain python3 "$E2E/attach_python.py" go "$E2E/python_sample.py" 0.1
is "$(has_python "$R")" 0 'not asked for: none'
OPTIONS='--python-sampling-frequency=200'
attached slow python3 "$E2E/attach_python.py" go "$E2E/python_sample.py" 0.3
check 'is the frequency of samples' [ "$(q "$R" 'SELECT count(*) FROM COMPOSITE_EVENTS')" -lt 400 ]

# ---- everybody ----
mkfifo go.other
python3 "$E2E/attach_python.py" go.other "$E2E/python_sample.py" 0.3 &
other=$!
{
	wait_for 60 grep -q 'attached to' wide.err
	echo x >go.other
} &
OPTIONS='-s system-wide'
attached wide python3 "$E2E/attach_python.py" go "$E2E/python_sample.py" 0.4
wait $other
check 'system-wide: those that nobody attached to, too' [ "$(q "$R" "SELECT count(DISTINCT c.globalTid >> 24 & 0xffffff) FROM COMPOSITE_EVENTS c
	JOIN SL_STACKS s ON s.id = c.stackId JOIN SL_FRAMES f ON f.id = s.frameId AND f.kind = 1
	JOIN StringIds n ON n.id = f.symbol AND n.value = 'seven'")" -ge 2 ]
OPTIONS=

done_testing

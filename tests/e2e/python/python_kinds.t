#!/bin/sh
# Python however it came to run: linked into a program, opened by one, started by others in each of the usual ways, one
# interpreter within another. Stacks of calls and of samples have its functions.
. tests/lib.sh

command -v python3 >/dev/null || skip_all 'python3 is not installed (package python3)'
samples=true
if [ "$(uname -m)" != x86_64 ] || { "$BIN" profile -t none --python-sampling=true -o probe true 2>&1 | grep -q 'need eBPF'; }; then
	samples=false
fi

cat >work.py <<'END'
import os, sys, time
def busy():
    end = time.thread_time() + 0.1
    while time.thread_time() < end:
        for _ in range(1000): pass
def call(what):
    try: os.open("/probe/" + what, 0)
    except OSError: pass
def job(what):
    call(str(what))
    busy()
if __name__ == "__main__":
    job(sys.argv[1])
END
traced() { # REPORT PROGRAM...
	traced_to=$1
	shift
	PYTHONPATH=$W profile "$traced_to" -t osrt --cpuctxsw=none --osrt-threshold=0 --osrt-backtrace-threshold=0 \
		--python-sampling=$samples "$@" >out 2>err
}
# By process: what it opened, from which functions; how many of its samples lie in busy() as they should, and that nearly all do.
has() { # NAME REPORT WANT: "WHAT..." of the calls, which are as many processes' as there are words
	has_r=$W/$2.sqlite
	is "$(q "$has_r" "SELECT group_concat(x, ' ') FROM (SELECT substr(p.value, 8) || CASE WHEN (SELECT group_concat(n.value, ' ')
				FROM (SELECT * FROM SL_STACKS WHERE id = o.callchainId ORDER BY depth) s JOIN SL_FRAMES f ON f.id = s.frameId AND f.kind = 1
				JOIN StringIds n ON n.id = f.symbol) LIKE 'call job%' THEN '' ELSE ' (not as it should be)' END x
			FROM OSRT_API o JOIN StringIds p ON p.id = o.pathId WHERE p.value LIKE '/probe/%' ORDER BY 1)")" "$3" "$1: calls"
	if $samples; then
		is "$(q "$has_r" "SELECT count(*), min(busy > 20), sum(busy) * 100 > sum(all_of) * 98 FROM (SELECT tid, sum(names LIKE '%busy job%') busy, count(*) all_of
			FROM (SELECT globalTid tid, (SELECT group_concat(n.value, ' ') FROM (SELECT * FROM SL_STACKS WHERE id = c.stackId ORDER BY depth) s
				JOIN SL_FRAMES f ON f.id = s.frameId AND f.kind = 1 JOIN StringIds n ON n.id = f.symbol) names FROM COMPOSITE_EVENTS c)
			WHERE names LIKE '%busy%' GROUP BY 1)")" "$4|1|1" "$1: samples"
	else
		skip "$1: samples" 'no eBPF for them'
	fi
}

printf '#!/bin/sh\nx=1\nexec "$@"\n' >wrapper
chmod +x wrapper
traced wrapped ./wrapper python3 work.py wrapped
is $? 0 'started by a script: runs'
has 'started by a script' wrapped wrapped 1

cat >pool.py <<'END'
import multiprocessing, sys
from work import job
if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    all = [multiprocessing.Process(target=job, args=(w,)) for w in ("one", "two")]
    for p in all: p.start()
    for p in all: p.join()
END
for how in fork spawn forkserver; do
	traced $how python3 pool.py $how
	is $? 0 "multiprocessing, $how: runs"
	has "multiprocessing, $how" $how 'one two' 2
done

cat >prefork.py <<'END'
import os, socket
from work import job
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen(8)
def worker():
    while True:
        c, _ = s.accept()
        what = c.recv(100).decode()
        if what == "end": os._exit(0)
        job(what)
        c.send(b"done")
        c.close()
def ask(what):
    c = socket.create_connection(s.getsockname())
    c.send(what)
    c.recv(9)
for what in b"first", b"second":
    if os.fork() == 0:
        worker()
    ask(what)
    ask(b"end")
    os.wait()
END
traced prefork python3 prefork.py
is $? 0 'a server with workers: runs'
has 'a server with workers' prefork 'first second' 2

# Linked with libpython, which need not be where the loader looks.
config=$(for d in /usr/bin "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin; do ls "$d"/python3-config 2>/dev/null; done | while read -r c; do
	ls "$("$c" --prefix)"/lib/libpython3.*.so >/dev/null 2>&1 && echo "$c" && break
done)
cat >embedded.c <<'END'
#include <Python.h>
int main(void)
{
	Py_Initialize();
	int rc = PyRun_SimpleString("import work; work.job('embedded')");
	Py_Finalize();
	return rc;
}
END
# shellcheck disable=SC2046
if [ -n "$config" ] && cc -w $("$config" --includes) -o embedded embedded.c $("$config" --embed --ldflags) "-Wl,-rpath,$("$config" --prefix)/lib" 2>cc.log; then
	traced embedded ./embedded
	is $? 0 'linked into a program: runs'
	has 'linked into a program' embedded embedded 1
else
	skip 'Python linked into a program: it runs' 'no libpython to link with'
fi

# ---- one interpreter within another ----
for py in $(pythons "$(pythons_read 8)"); do
	$samples || break
	version=${py##*/python}
	"$py" -c 'import _interpreters' 2>/dev/null || "$py" -c 'import _xxsubinterpreters' 2>/dev/null || continue
	profile nested -t none --python-sampling=true "$py" "$E2E/python/python_nested.py" 2>err
	is $? 0 "$version: one Python within another runs"
	is "$(q "$R" "WITH c AS (SELECT (SELECT group_concat(n.value, ' ') FROM (SELECT * FROM SL_STACKS WHERE id = c.stackId ORDER BY depth) s
			JOIN SL_FRAMES f ON f.id = s.frameId AND f.kind = 1 JOIN StringIds n ON n.id = f.symbol) names FROM COMPOSITE_EVENTS c)
		SELECT sum(names LIKE 'in_third %') > 100, sum(names LIKE 'in_second %') > 100,
			sum(names LIKE 'in_third %' AND names NOT IN ('in_third <module> in_second <module> outermost main <module>',
				'in_third <module> in_second <module> outermost main Thread.run Thread._bootstrap_inner Thread._bootstrap',
				'in_third <module> in_second <module> outermost main run _bootstrap_inner _bootstrap')) * 50 < count(*),
			sum(names LIKE '%in_second %' AND names NOT LIKE '%in_second <module> outermost main%') * 50 < count(*) FROM c")" '1|1|1|1' \
		"$version: one Python within another has all functions, in order"
done
done_testing

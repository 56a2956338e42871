#!/bin/sh
# --python-step: calls of Python functions as ranges, in every Python that is installed; the program notices nothing.
# shellcheck disable=SC2016
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
# start, type, name and number of calls; nesting as the depth in which push and pop were.
calls='SELECT eventType, value, count(*), sum(end >= start) FROM NVTX_EVENTS JOIN StringIds ON id = textId WHERE eventType IN (59, 60) GROUP BY 1, 2 ORDER BY 2'
twice() { # NAME PROGRAM...: what it prints and returns is the same with and without; options are in $opts
	twice_name=$1
	shift
	"$@" >plain.out 2>plain.err
	plain=$?
	# shellcheck disable=SC2086
	profile r -t nvtx $opts "$@" >out 2>err
	is "$?" "$plain" "$twice_name: the exit status is that untraced"
	check "$twice_name: the output is that untraced" diff plain.out out
	grep -v '^sightline: ' err >theirs
	check "$twice_name: messages and traceback are those untraced" diff plain.err theirs
}

# ---- functions of every kind ----
cat >impl.py <<'END'
import functools
def helper(i): return i
def twice(f):
    @functools.wraps(f)
    def call(*a): return f(f(*a))
    return call
@twice
def doubled(i): return i + 1
@functools.lru_cache(None)
def cached(i): return i
def generate(n):
    """Yields."""
    for i in range(n): yield i
def doc_only():
    """Does nothing."""
make = lambda i: i
class Base:
    def fwd(self, i): return super().__repr__()[:0], i
class Model(Base):
    kind = "model"
    def __init__(self, x: int = 3, *, y="k") -> None: self.__secret = x
    def get(self): return self.__secret
    @property
    def prop(self): return self.__secret
    class Inner:
        @staticmethod
        def stat(a, b=2): return a + b
        @classmethod
        def cls(cls): return cls.__name__
END
cat >train.py <<'END'
from __future__ import annotations
import asyncio, inspect, pickle, sys, threading, copy
import impl
from impl import helper, Model
before = helper
def step(i: int, *more, key: Later = 1, **kw) -> "int":
    """The step."""
    if i > 0: return step(i - 1)  # recursion
    return i
class Trainer:
    def step(self, i):
        if i == 2: raise ValueError("two")
        yield_free = i
        return yield_free
    async def astep(self, i):
        await asyncio.sleep(0)
        return i
    async def agen(self, n):
        for i in range(n):
            await asyncio.sleep(0)
            yield i
@impl.twice
def decorated(i):
    return i + 1
def outer():
    y = 5
    def inner(i): return y + i
    return inner
async def main():
    t = Trainer()
    print(await asyncio.gather(*(t.astep(i) for i in range(5))))
    print([i async for i in t.agen(3)])
if __name__ == "__main__":
    print(inspect.signature(step), step.__doc__, step.__qualname__, step.__module__, step.__annotations__)
    print(inspect.signature(Model), inspect.getsource(Model.Inner.stat), Model.Inner.stat(1), Model.Inner.cls(), Model().get(), Model().prop)
    print(pickle.loads(pickle.dumps(helper)) is helper is before is impl.helper, pickle.loads(pickle.dumps(step)) is step, copy.deepcopy(step) is step)
    print(pickle.loads(pickle.dumps(Model.Inner.stat)) is Model.Inner.stat, Model.fwd is Model.fwd, Model.__dict__["fwd"] if "fwd" in Model.__dict__ else "inherited")
    print(step(3), helper(1), impl.doubled(1), impl.cached(1), impl.cached(1), impl.doc_only(), impl.make(4), Model().fwd(3))
    print(list(impl.generate(3)), outer()(1), outer()(2))
    g = impl.generate(2); next(g); g.close()
    asyncio.run(main())
    threads = [threading.Thread(target=step, args=(1,)) for _ in range(4)]
    for t in threads: t.start()
    for t in threads: t.join()
    for i in range(3):
        try: Trainer().step(i)
        except ValueError as e: print(repr(e), len(inspect.trace()))
    print(sorted(m for m in sys.modules if "sitecustomize" in m), [p for p in sys.path if "sightline" in p or "+" in p], sys.flags)
    import os; print("PYTHONPATH" in os.environ, sorted(k for k in os.environ if k.startswith("PY")))
    import late
    late.lazy(); late.lazy()
    import math, only
    print(math.floor(1.5), only.compiled(3), inspect.signature(only.compiled), pickle.loads(pickle.dumps(math.floor)) is math.floor, decorated(2))
    sys.stdout.flush()
    Trainer().step(2)
END
cat >late.py <<'END'
def lazy(): pass
END
cat >deep.py <<'END'
def step(i): return step(i + 1)
def after(): pass
for _ in range(3):
    try: step(0)
    except RecursionError: print("limit")
after()
END
steps=train:step,impl:helper,impl:doubled,impl:cached,impl:generate,impl:doc_only,impl:make,train:Model.fwd,impl:Model.__init__,impl:Model.prop
steps=$steps,impl:Model.Inner.stat,impl:Model.Inner.cls,__main__:Trainer.step,train:Trainer.astep,train:Trainer.agen,train:outer.inner,late:lazy,math:floor,only:compiled,train:decorated
want='59|__main__:Trainer.step|4|4
59|impl:Model.Inner.cls|1|1
59|impl:Model.Inner.stat|1|1
59|impl:Model.__init__|3|3
59|impl:Model.prop|1|1
59|impl:cached|1|1
59|impl:doc_only|1|1
59|impl:doubled|2|2
60|impl:generate|2|2
59|impl:helper|1|1
59|impl:make|1|1
59|late:lazy|2|2
59|math:floor|1|1
59|only:compiled|1|1
59|train:decorated|2|2
60|train:Trainer.agen|1|1
60|train:Trainer.astep|5|5
59|train:Model.fwd|1|1
59|train:outer.inner|2|2
59|train:step|12|12'
for p in $(pythons 'sys.version_info >= (3, 8)'); do
	v=$("$p" -c 'import sys; print("%d.%d" % sys.version_info[:2], sys.executable)')
	opts=--python-step=$steps
	# A module without its source.
	printf 'def compiled(i, *, k=2):\n    return i * k\n' >only.py
	rm -f only.pyc && "$p" -c 'import py_compile; py_compile.compile("only.py", "only.pyc")' && rm only.py
	twice "$v" "$p" train.py
	is "$(q "$R" "$calls" | sort)" "$(echo "$want" | sort)" "$v: every call is a range, each with its name"
	is "$(grep -c 'python-step' err)" 0 "$v: no function is reported as missing"
	is "$(q "$R" "SELECT count(DISTINCT globalTid), count(DISTINCT domainId) FROM NVTX_EVENTS WHERE eventType = 59")" '5|1' "$v: ranges are of five threads and one domain"
	is "$(q "$R" "SELECT text FROM NVTX_EVENTS WHERE eventType = 75")" python-step "$v: the domain is python-step"
	# -m, from a folder, from an archive, -c
	opts='--python-step=s=train:step'
	for how in '-m train' '-u train.py'; do
		# shellcheck disable=SC2086
		twice "$v $how" "$p" $how
		is "$(q "$R" "$calls")" '59|s|12|12' "$v $how: a function of the main program is a range under its name"
	done
	mkdir -p app && printf 'def go(i): return i\nprint([go(i) for i in range(3)])\n' >app/__main__.py
	(cd app && "$p" -m zipfile -c ../app.pyz __main__.py)
	opts=--python-step=deep:step,deep:after
	twice "$v recursion" "$p" deep.py
	is "$(q "$R" "SELECT sum(value LIKE '%step') > 2900, count(end) = count(*), max(CASE WHEN value LIKE '%step' THEN end END) < max(CASE WHEN value LIKE '%after' THEN start END)
		FROM NVTX_EVENTS JOIN StringIds ON id = textId WHERE eventType = 59")" '1|1|1' "$v: ranges nest down to the limit of recursion, and all the way back"
	opts=--python-step=__main__:go
	for how in app app.pyz; do
		twice "$v $how" "$p" $how
		is "$(q "$R" "$calls")" '59|__main__:go|3|3' "$v $how: a function of __main__ in a folder or an archive is a range"
	done
	twice "$v -c" "$p" -c 'def go(): pass
go(); go()'
	is "$(q "$R" "$calls")" '59|__main__:go|2|2' "$v -c: a function of __main__ is a range"
done

# ---- processes ----
cat >procs.py <<'END'
import multiprocessing as mp, os, subprocess, sys
def step(i): return i * 2
def work(i): return step(i) + step(i)
if __name__ == "__main__":
    how = sys.argv[1]
    if how == "exec":
        print(subprocess.run([sys.executable, "-c", "import procs; print(procs.step(4))"], env={}, stdout=-1).stdout)
    elif how == "env":
        print(subprocess.run(["env", "-i", sys.executable, "-c", "import os, procs; print(procs.step(4), sorted(os.environ))"], stdout=-1).stdout)
    else:
        with mp.get_context(how).Pool(2) as p: print(p.map(work, range(10), 1))
END
opts=--python-step=procs:step
for how in fork spawn forkserver; do
	twice "$how" "$PY" procs.py $how
	is "$(q "$R" "SELECT count(*), min(globalTid >> 24 != (SELECT min(globalPid) >> 24 FROM PROCESSES WHERE name LIKE '%python%')) FROM NVTX_EVENTS WHERE eventType = 59")" '20|1' "$how: calls in children are ranges"
	is "$(grep -c 'python-step' err)" 0 "$how: no function is reported as missing"
done
for how in exec env; do
	twice "$how" "$PY" procs.py $how
	is "$(q "$R" "$calls")" '59|procs:step|1|1' "$how: a child with an empty environment has its range"
done
mkdir -p venv-home && if "$PY" -m venv --without-pip venv >/dev/null 2>&1; then
	twice 'venv' venv/bin/python3 -c 'import procs, sys; procs.step(1); print(sys.prefix, sys.path)'
	is "$(q "$R" "$calls")" '59|procs:step|1|1' 'a function in a virtual environment is a range'
	mkdir -p site && echo 'print("theirs"); import procs; procs.step(0)' >site/sitecustomize.py
	PYTHONPATH=site:. twice 'sitecustomize' "$PY" -c 'import os, sys, procs; print(os.environ["PYTHONPATH"], sys.path, sys.modules["sitecustomize"].__file__, sys.modules["sitecustomize"].__spec__.origin)'
	is "$(head -1 out)$(q "$R" "$calls")" 'theirs59|procs:step|1|1' "the program's own sitecustomize runs beside --python-step"
	echo 'raise OSError("broken")' >site/sitecustomize.py
	PYTHONPATH=site:. twice 'broken sitecustomize' "$PY" -c 'print(1)'
fi

# ---- bare preload ----
"$PY" procs.py fork >plain.out
SIGHTLINE_OPTIONS='-t osrt --python-step=procs:step' bare b "$PY" procs.py fork >out 2>err
is "$?$(cat err)" 0 'bare preload: the exit status is that untraced'
check 'bare preload: the output is that untraced' diff plain.out out
wait_for 10 finished "$R"
is "$(q "$R" "$calls")" '59|procs:step|20|20' 'bare preload without -t nvtx has the ranges of --python-step'

# ---- a step is what is recorded ----
cat >cap.py <<'END'
import asyncio, multiprocessing, os, sys
def look(name):
    try: os.stat("/nowhere/" + name)
    except OSError: pass
def step(i): look("in step %d" % i)
async def astep(i):
    look("in step %d" % i)
    await asyncio.sleep(0)
    look("later in step %d" % i)
async def several():
    for i in range(3): await astep(i)
def gen():
    for i in range(3):
        look("in step %d" % i)
        yield i
def run():
    for i in range(3):
        look("before %d" % i); step(i); look("after %d" % i)
if __name__ == "__main__":
    look("at first")
    if sys.argv[1] == "spawn":
        p = multiprocessing.get_context("spawn").Process(target=run); p.start(); p.join()
    elif sys.argv[1] == "plain": run()
    elif sys.argv[1] == "gen": print(list(gen()))
    else: asyncio.run(several())
    print("end")
END
looked="SELECT group_concat(path, ',') FROM (SELECT substr(path, 10) AS path FROM call WHERE path LIKE '/nowhere/%' ORDER BY start)"
for how in plain spawn; do
	rm -f c.*sqlite
	"$BIN" profile -f true -o c --osrt-file-access=true --python-step=step=cap:step -c nvtx -p step@python-step --capture-range-end=repeat "$PY" cap.py $how >out 2>err
	is "$?$(cat out)$(ls c.*sqlite | tr '\n' ' ')" '0endc.1.sqlite c.2.sqlite c.3.sqlite ' "capture, $how: each step has a report"
	for i in 1 2 3; do
		is "$(q c.$i.sqlite "$looked")" "in step $((i - 1))" "capture, $how: report $i has step $i alone"
	done
done
for how in async gen; do
	name=gen
	[ $how = gen ] || name=astep
	"$BIN" profile -f true -o c --osrt-file-access=true --python-step=cap:$name -c nvtx -p cap:$name@python-step --capture-range-end=stop "$PY" cap.py $how >out 2>err
	is "$?$(tail -1 out)" 0end "capture, $how: the program runs on"
	is "$(q c.sqlite "$looked")" "$([ $how = gen ] && echo 'in step 0,in step 1,in step 2' || echo 'in step 0,later in step 0')" "capture, $how: the report lasts from the first step to the end"
done
"$BIN" profile -f true -o c --python-step=cap:stop -c nvtx -p cap:stop@python-step "$PY" cap.py plain >out 2>err
is "$?$(cat out)" 0end 'capture of an unknown function: the program runs'
check 'capture of an unknown function: the report is sound' intact c.sqlite
is "$(q c.sqlite "SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE text LIKE '--python-step: no function stop%nearest is step'")" 1 'capture of an unknown function: the report names the nearest'

# ---- what does not turn up ----
opts='--python-step=procs:stop,procs:Nothing.at.all,nowhere:f,__main__:mein,train:outer.innen'
printf 'def main(): pass\nimport procs, train\nmain()\n' >prog.py
twice 'missing' "$PY" prog.py
is "$(grep -o 'python-step: .*' err)" 'python-step: no function stop in module procs; nearest is step
python-step: no function Nothing.at.all in module procs
python-step: module nowhere was never imported
python-step: no function mein in module __main__; nearest is main
python-step: no function outer.innen in module train; nearest is outer.inner' 'functions that are missing have one line each, with the nearest'
is "$(q "$R" "SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE text LIKE '--python-step:%'")" 5 'functions that are missing are in the report'
opts=--python-step=procs:step
for flag in -I -E -S; do
	twice "python $flag" "$PY" $flag prog.py
	is "$(grep -c "^sightline: python $flag: this option" err)" "1" "python $flag: --python-step has one message"
done
opts=--python-step=own:step
printf 'import sys\ndef step(): pass\nstep(); print(sys.argv)\n' >own.py
for how in '-W ignore -Xdev own.py -S -I' '-bB own.py -E' '-m own -S'; do
	# shellcheck disable=SC2086
	twice "python $how" "$PY" $how
	is "$(q "$R" "$calls")" '59|own:step|1|1' "python $how: options of the program are its own"
done
twice 'no Python' sh -c 'echo hi'
is "$(said err)" "sightline: report: $R" '--python-step of a program without Python has no message'
cat >compiled.py <<'END'
def jit(f): return f
@jit
def fast(i): return f"{i}"
print(fast(1), [c for c in fast.__code__.co_consts if not isinstance(c, (str, type(None)))])
END
opts=--python-step=__main__:fast
twice 'a function that a decorator compiles' "$PY" compiled.py
is "$(grep -o 'python-step: .*' err)" 'python-step: fast in module __main__ cannot be marked: a decorator compiles it' 'a function that a decorator compiles is left alone, with a message'

# ---- wrong use ----
for bad in train train: :step train:step:x 'train:a b' a=b train:1x =train:step; do
	"$BIN" profile "--python-step=$bad" true >out 2>err
	is "$? $(wc -l <err) $(grep -c 'MODULE:FUNCTION' err)" '2 1 1' "--python-step=$bad is refused"
done
done_testing

#!/bin/sh
# --pytorch: ranges of PyTorch as the program's own log has them; its results are what they are without.
. tests/lib.sh
"$PY" -c 'import torch' 2>/dev/null || skip_all 'PyTorch is not installed (package python3-torch)'
cat >train.py <<'END'
import copy, io, pickle, sys, torch
from torch.utils.data import DataLoader, Dataset
class Data(Dataset):
    def __len__(self): return 32
    def __getitem__(self, i): return torch.full((8,), i / 32.0), torch.tensor([float(i % 2)])
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(8, 16)
        self.b = torch.nn.Linear(16, 1)
    def forward(self, x):
        """In between."""
        return self.b(torch.nn.functional.relu(self.a(x)))
def step(net, opt, x, y):
    opt.zero_grad()
    loss = torch.nn.functional.mse_loss(net(x), y)
    loss.backward()
    opt.step()
    return loss.item()
if __name__ == "__main__":
    torch.manual_seed(1); torch.set_num_threads(1)
    net = Net(); opt = torch.optim.SGD(net.parameters(), lr=0.1)
    how = None if sys.argv[1] == "alone" else sys.argv[1]
    for epoch in range(2):
        for x, y in DataLoader(Data(), batch_size=8, num_workers=2 if how else 0, multiprocessing_context=how):
            print(step(net, opt, x, y).hex())
    if len(sys.argv) > 2:
        one = torch.ones(1, 8)
        scripted, traced = torch.jit.script(net), torch.jit.trace(net, one)
        @torch.jit.script
        def function(x: torch.Tensor):
            with torch.autograd.profiler.record_function("scripted"):
                return torch.nn.functional.relu(torch.matmul(x, x.t()))
        print(scripted(one).item(), traced(one).item(), function(torch.ones(2, 2)), scripted.code, traced.code)
        print([n.kind() for n in traced.inlined_graph.nodes()], torch.fx.symbolic_trace(net).code)
        again = pickle.loads(pickle.dumps(net))
        print(again(one).item(), copy.deepcopy(net)(one).item(), torch.func if hasattr(torch, "func") else "")
        file = io.BytesIO(); torch.save(net, file); file.seek(0)
        print({k: v.sum().item() for k, v in torch.load(file, weights_only=False).state_dict().items()})
        with torch.autograd.profiler.profile() as p: net(one)
        print([e.key for e in p.key_averages() if "linear" in e.key])
        with torch.autograd.profiler.record_function("by the program"): torch.add(one, 1)
        import inspect
        print(inspect.signature(torch.nn.Module.__call__), torch.nn.Module.__call__.__name__, inspect.signature(torch.nn.functional.linear) if 0 else "")
        sys.stdout.flush()
        net("wrong")
END
untracked() { grep -v resource_tracker; }
twice() { # NAME OPTION PROGRAM...
	twice_name=$1 opts=$2
	shift 2
	"$PY" "$@" >plain.out 2>plain.err
	plain=$?
	profile r -t nvtx "$opts" "$PY" "$@" >out 2>err
	is "$?" "$plain" "$twice_name: the exit status is that untraced"
	check "$twice_name: losses and code are those untraced" diff plain.out out
	# What its resource tracker finds depends on when the workers of spawn end, traced or not.
	grep -v '^sightline: ' err | untracked >theirs
	untracked <plain.err >ours
	check "$twice_name: messages are those untraced" diff ours theirs
}
rows="WITH r AS (SELECT e.*, coalesce(e.text, value) AS name, globalTid >> 24 & 0xffffff AS pid FROM NVTX_EVENTS e LEFT JOIN StringIds ON id = textId WHERE eventType = 59)"
main='(SELECT pid FROM r WHERE name LIKE '"'Net%'"' LIMIT 1)'
for kind in functions-trace functions-trace-shapes; do
	for how in alone fork spawn; do
		twice "$kind, $how" --pytorch=$kind train.py $how
		cut='substr(name, 1, instr(name || '"', sizes'"', '"', sizes'"') - 1)'
		is "$(q "$R" "$rows SELECT $cut AS n, count(*), min(end >= start) FROM r WHERE pid = $main AND n IN ('Net', 'Linear', 'torch.nn.functional.relu', 'torch.nn.functional.linear',
			'torch.nn.functional.mse_loss', 'torch.Tensor.backward', 'Optimizer.step#SGD.step', 'Optimizer.zero_grad#SGD.zero_grad') GROUP BY 1 ORDER BY 1")" \
			'Linear|16|1
Net|8|1
Optimizer.step#SGD.step|8|1
Optimizer.zero_grad#SGD.zero_grad|8|1
torch.Tensor.backward|8|1
torch.nn.functional.linear|16|1
torch.nn.functional.mse_loss|8|1
torch.nn.functional.relu|8|1' "$kind, $how: each of eight steps has its ranges"
		is "$(q "$R" "$rows SELECT count(*) FROM r a JOIN r b ON b.globalTid = a.globalTid AND b.start >= a.start AND b.end <= a.end
			WHERE a.name LIKE 'Net%' AND (b.name LIKE 'Linear%' OR b.name LIKE 'torch.nn.functional.relu%' OR b.name LIKE 'torch.nn.functional.linear%')")" 40 \
			"$kind, $how: modules nest in the forward pass"
		is "$(q "$R" "$rows SELECT count(*) FROM r WHERE name LIKE 'enumerate(DataLoader)#%.__next__' AND pid = $main")" 10 "$kind, $how: the data loader has its ranges"
		[ $how = alone ] || is "$(q "$R" "$rows SELECT count(DISTINCT pid), sum(name LIKE 'torch.stack%' OR name LIKE 'torch.full%') > 0 FROM r WHERE pid <> $main")" '4|1' "$kind, $how: workers have their ranges"
		is "$(q "$R" "SELECT text FROM NVTX_EVENTS WHERE eventType = 75 LIMIT 1")" pytorch "$kind, $how: the domain is that of PyTorch"
	done
done
is "$(q "$R" "$rows SELECT DISTINCT name FROM r WHERE pid = $main AND (name LIKE 'Net%' OR name LIKE 'torch.nn.functional.linear%') ORDER BY 1")" \
	'Net, sizes = [[8, 8]]
torch.nn.functional.linear, sizes = [[8, 16], [1, 16], [1]]
torch.nn.functional.linear, sizes = [[8, 8], [16, 8], [16]]' 'ranges have the shapes of arguments'
for kind in functions-trace functions-trace-shapes; do
	twice "$kind, jit and pickles" --pytorch=$kind train.py alone all
	is "$(q "$R" "$rows SELECT name, count(*) FROM r WHERE name = 'by the program'")" 'by the program|1' "$kind: the program's own record_function is a range"
done
twice 'autograd-nvtx' --pytorch=autograd-nvtx,functions-trace train.py alone
if [ "$("$PY" -c 'import torch; print(torch.version.cuda)')" = None ]; then
	is "$(grep -c '^sightline: --pytorch=autograd-nvtx: this PyTorch (.*) is built without CUDA' err)" 1 'autograd-nvtx without CUDA: one message'
fi
is "$(q "$R" "$rows SELECT count(*) FROM r WHERE name = 'Net'")" 8 'autograd-nvtx without CUDA: functions-trace goes on'

# ---- with a step, and bare ----
SIGHTLINE_OPTIONS='-t nvtx --pytorch=functions-trace --python-step=step=train:step' bare b "$PY" train.py fork >out 2>err
is "$?$(cat err)" 0 'bare preload: the training runs'
"$PY" train.py fork >plain.out
check 'bare preload: losses are those untraced' diff plain.out out
wait_for 10 finished "$R"
is "$(q "$R" "$rows SELECT count(*), sum((SELECT count(*) FROM r b WHERE b.name = 'Net' AND b.globalTid = a.globalTid AND b.start >= a.start AND b.end <= a.end)) FROM r a WHERE name = 'step'")" \
	'8|8' 'each step has a range of the forward pass'
is "$("$BIN" stats -r step_sum -f csv "$R" 2>/dev/null | awk -F, 'NR > 1 && NF { print $1, $15 }')" '8 python-step:step' 'step_sum has the steps that the user named'
"$BIN" compare -k step --fail-on 'step[python-step:step].count > 7' "$R" "$R" >out 2>&1
is "$?" 3 'compare has the steps that the user named'

# ---- torch.compile: what it reads is what was written (a stand-in for it: PyTorch 1.13 has none) ----
mkdir fake && mkdir fake/torch
cat >fake/torch/__init__.py <<'END'
__version__ = "9.9"
class autograd:
    class profiler:
        class record_function:
            def __init__(self, name): self.name = name
            def __enter__(self): return self
            def __exit__(self, *exc): return None
class nn:
    class Module:
        def _call_impl(self, *args, **kwargs):
            return self.forward(*args, **kwargs)
        __call__ = _call_impl
class _C:
    _get_tracing_state = None
    _get_torch_function_mode = staticmethod(lambda: overrides.stack[-1])
class overrides:
    stack = []
    class TorchFunctionMode:
        def __enter__(self): overrides.stack.append(self)
        def __exit__(self, *exc): overrides.stack.remove(self)
def compile(model=None, *, mode=None):
    """Reads the code."""
    f = model if callable(getattr(model, "__code__", None) and model) else type(model).forward
    print(f.__code__.co_consts, f.__code__.co_names, nn.Module._call_impl.__code__.co_consts, overrides.stack, mode)
    return model
END
cat >compiles.py <<'END'
import torch
def step(i):
    return i + 1
class Net(torch.nn.Module):
    def forward(self, x):
        return x
if __name__ == "__main__":
    net = Net()
    print(step(1), net(2))
    with torch.autograd.profiler.record_function("before"): pass
    torch.compile(step, mode="fast"), torch.compile(net)
    print(step(1), net(2))
    with torch.autograd.profiler.record_function("after"): pass
END
PYTHONPATH=fake "$PY" compiles.py >plain.out 2>&1
PYTHONPATH=fake profile r -t nvtx --pytorch=functions-trace --python-step=compiles:step,__main__:Net.forward "$PY" compiles.py >out 2>err
check 'torch.compile reads code as it was written' diff plain.out out
is "$(q "$R" "$rows SELECT name FROM r ORDER BY start")" 'compiles:step
Net
__main__:Net.forward
before
after' 'code that torch.compile compiles is marked before it, and not afterwards'
is "$(grep -c 'torch.compile' err)" 3 'code that torch.compile compiles has a message'

# ---- emit_nvtx in every thread, without starting CUDA (a stand-in again, as PyTorch 2.6 is: a thread has one profiler) ----
mkdir -p cuda/torch
cat >cuda/torch/__init__.py <<'END'
__version__ = "9.9"
import threading, atexit, os
class Local:
    has = {}
    @property
    def name(self): return self.has.get(threading.get_ident())
local = Local()
class version: cuda = "99"
class cuda:
    def synchronize(): print("CUDA begins")
class autograd:
    def _enable_profiler(config, what):
        if local.name: raise RuntimeError("Profiler is already enabled on this thread.")
        local.has[threading.get_ident()] = config.name
    def _disable_profiler():
        if not local.name: raise RuntimeError("Can't disable Profiler when it's not running")
        del local.has[threading.get_ident()]
    class profiler:
        class ProfilerState: NVTX = "NVTX"
        class _ExperimentalConfig: pass
        class ProfilerConfig:
            def __init__(self, state, shapes, memory, stack, flops, modules, more): self.name = "%s %s" % (state, shapes)
        class profile:
            name = "theirs"
            def __enter__(self): self._prepare_trace(); return self
            def _prepare_trace(self): autograd._enable_profiler(self, set())
            def __exit__(self, *exc): autograd._disable_profiler()
        class emit_nvtx(profile):
            def __enter__(self): cuda.synchronize(); autograd._enable_profiler(self, set()); return self
atexit.register(lambda: local.has and os.write(2, b"Leaked callback handle\n"))
END
cat >uses.py <<'END'
import os, sys, threading
early, go = [], threading.Event()
def here(): return torch.local.name
def before():
    go.wait(); early.append(here())
first = threading.Thread(target=before)
first.start()
import torch
go.set(); first.join()
def use(what):
    try:
        with what(): return here()
    except RuntimeError as e:
        return str(e)
def many(cnt, work, daemon=False):
    found = []
    threads = [threading.Thread(target=lambda: found.append(work()), daemon=daemon) for _ in range(cnt)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    return found
print(early, here(), many(3, here), many(2, lambda: many(1, here)), many(1, here, True) == [here() if sys.version_info > (3, 14) else None])
kind = torch.autograd.profiler
print(many(2, lambda: (use(kind.profile), use(kind.profile), here())), many(1, lambda: use(kind.emit_nvtx)), here())
sys.stdout.flush()
if os.fork() == 0:
    print(here(), many(1, here), use(kind.profile), here())
    sys.exit(3)
print(os.wait()[1])
if len(sys.argv) > 1: print(use(kind.profile), use(kind.profile), here())
class Own(threading.Thread):
    def run(self): print(here())
own = Own(); own.start(); own.join()
END
for kind in autograd-nvtx autograd-shapes-nvtx; do
	case $kind in
	autograd-nvtx) ours='NVTX False' theirs='' ;;
	*) ours='NVTX True' theirs='theirs theirs None
' ;;
	esac
	# shellcheck disable=SC2086
	PYTHONPATH=cuda profile r -t nvtx --pytorch=$kind "$PY" -W ignore uses.py $theirs >out 2>err
	is "$(cat out)" "[None] $ours ['$ours', '$ours', '$ours'] [['$ours'], ['$ours']] True
CUDA begins
[('theirs', 'theirs', None), ('theirs', 'theirs', None)] ['theirs'] $ours
$ours ['$ours'] theirs None
768
$theirs$ours" "$kind: in each thread that starts, until the program wants PyTorch's profiler there"
	# once in the process, and once in the child
	is "$(grep -c "gram starts PyTorch's profiler" err) $(grep -c Leaked err) $(grep -vc '^sightline: ' err)" '1 0 0' "$kind: one message; nothing is left behind"
done
sed -i '/class ProfilerState/d' cuda/torch/__init__.py
PYTHONPATH=cuda profile r -t nvtx --pytorch=autograd-nvtx "$PY" -c 'import torch; print(torch.local.name)' >out 2>err
is "$(cat out) $(grep -c 'PyTorch 9.9 has its profiler in a way that is not known' err)" 'None 1' 'another PyTorch has a message'

# ---- wrong use ----
"$BIN" profile --pytorch=functions true >out 2>err
is "$? $(wc -l <err)" '2 1' '--pytorch with an unknown word is refused'
profile r --pytorch=none "$PY" -c 'print(1)' >out 2>err
is "$(said err)" "sightline: report: $R" '--pytorch=none has no message'
profile r --pytorch=functions-trace "$PY" -c 'print(1)' >out 2>err
is "$(said err)" "sightline: report: $R" '--pytorch of a program without PyTorch has no message'
done_testing

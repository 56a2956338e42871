"""--pytorch: ranges of PyTorch, in the domain pytorch.

functions-trace: forward passes of modules by their class; functions of torch, of torch.nn.functional and of tensors that
the main thread calls; and what PyTorch itself gives a name (record_function): optimizers, data loaders, DDP and the
program's own. Nothing is replaced: code of two of PyTorch's methods gets a range (code.py), functions are seen by a
TorchFunctionMode, which PyTorch has for such things.

torch.compile reads code and modes: when it is used, both are taken back first, so that graphs are what they are.

autograd-nvtx: what torch.autograd.profiler.emit_nvtx does, for the whole run and in every thread of Python. It needs a PyTorch
with CUDA.
"""

import atexit
import os
import sys
from _thread import _local, get_ident
from types import FunctionType

import _sightline_trace as trace

from . import code, ranges
from .imports import when_imported

DOMAIN = "pytorch"
NAMES_MAX = 4096  # different messages that are registered; others are written out

# Questions about a tensor, not work on it.
_QUESTIONS = frozenset(
    """__get__ __set__ __delete__ __len__ __repr__ __str__ __format__ __hash__ __bool__ __index__ __dir__ __contains__
    __array__ __reduce_ex__ __deepcopy__ size dim ndimension stride numel nelement element_size data_ptr storage
    storage_offset type is_contiguous is_floating_point is_complex is_signed is_same_size is_pinned is_shared is_tensor
    get_device has_names is_nonzero is_inference is_conj is_neg untyped_storage _storage requires_grad_""".split()
)


class _Names:
    """A pair of functions for each message: push and pop."""

    def __init__(self):
        self.known = {}
        self.any = ranges.range_of(DOMAIN, "")
        self.push_text = trace.function(self.any, ranges.PUSH_TEXT)
        self.pop = trace.function(self.any, ranges.POP)

    def push(self, text):
        push = self.known.get(text)
        if push is None:
            if len(self.known) >= NAMES_MAX:
                return self.push_text(text.encode("utf-8", "replace").decode())
            push = self.known[text] = trace.function(ranges.range_of(DOMAIN, text), ranges.PUSH)
        push()


class _Sizes:
    """Messages with the shapes of tensors, as emit_nvtx writes them."""

    def __init__(self, torch):
        self.tensor = torch.Tensor
        self.is_tracing = torch._C._get_tracing_state

    def of(self, values, depth=0):
        sizes = []
        for value in values:
            if isinstance(value, self.tensor):
                sizes.append(str(list(value.shape)))
            elif isinstance(value, (list, tuple)) and depth < 2:
                sizes.append(self.of(value, depth + 1))
            elif isinstance(value, dict) and depth < 2:
                sizes.append(self.of(value.values(), depth + 1))
            else:
                sizes.append("[]")
        return "[" + ", ".join(sizes) + "]"

    def __call__(self, name, args, kwargs):
        # To ask for a shape is an operation, which torch.jit.trace would find.
        if self.is_tracing():
            return name
        try:
            return "%s, sizes = %s" % (name, self.of(list(args) + list((kwargs or {}).values())))
        except Exception:
            return name


def _name_of(function):
    name = getattr(function, "__name__", None) or type(function).__name__
    where = getattr(function, "__module__", None) or ""
    owner = getattr(function, "__qualname__", name).rpartition(".")[0]
    if "TensorBase" in owner or owner == "Tensor" or "TensorBase" in str(getattr(function, "__objclass__", "")):
        return "torch.Tensor." + name
    if where == "torch._C._nn":
        where = "torch.nn.functional"
    elif not where or where.startswith("torch._C"):
        where = "torch"
    return where + "." + name


def _top_mode(torch):
    get = getattr(torch.overrides, "_get_current_function_mode", None)
    return (get or getattr(torch._C, "_get_torch_function_mode"))()


class _Functions:
    """A TorchFunctionMode that is on from the start, but while it would be in the way."""

    def __init__(self, torch, names, sizes):
        known = {}
        push, pop = names.push, names.pop
        self.torch = torch
        self.off = 0  # how often it is asked to be off

        class Mode(torch.overrides.TorchFunctionMode):
            def __torch_function__(_, function, types, args=(), kwargs=None):
                name = known.get(function)
                if name is None:
                    plain = getattr(function, "__name__", "")
                    is_noise = plain in _QUESTIONS or plain.startswith("_record_function")
                    name = known[function] = "" if is_noise else _name_of(function)
                if not name or self.off:
                    return function(*args, **(kwargs or {}))
                push(sizes(name, args, kwargs) if sizes else name)
                try:
                    return function(*args, **(kwargs or {}))
                finally:
                    pop()

        self.mode = Mode()
        self.mode.__enter__()
        self.is_on = True

    def leave(self):
        self.off += 1
        # Modes are a stack: under one of the program's, ours stays and does nothing.
        if self.is_on and _top_mode(self.torch) is self.mode:
            self.mode.__exit__(None, None, None)
            self.is_on = False

    def enter(self):
        self.off -= 1
        if not self.off and not self.is_on:
            self.mode.__enter__()
            self.is_on = True


def _mark_method(function, constant, put):
    """Exchanges the code of one of PyTorch's methods. What takes it back; None: its source was not found."""
    old = function.__code__
    try:
        function.__code__ = code.changed(old, function.__globals__, constant, put)
    except code.NotSame:
        return None

    def take_back():
        function.__code__ = old

    return take_back


def _mark_modules(torch, names, sizes):
    """Around Module._call_impl, a range by the module's class."""
    known = {}

    def of(module, args, kwargs):
        if sizes:
            return ranges.Text(names, sizes(type(module).__name__, args, kwargs))
        mark = known.get(type(module))
        if mark is None:
            mark = known[type(module)] = ranges.plain(DOMAIN, type(module).__name__)
        return mark

    function = torch.nn.Module._call_impl
    return _mark_method(function, ranges.calling(of), code.put_range_of)


def _mark_record_function(torch, names):
    function = torch.autograd.profiler.record_function

    def enter(record):
        names.push(str(record.name))

    def leave(record):
        names.pop()

    both = _mark_method(function.__enter__, ranges.calling(enter), code.put_call)
    if both and not _mark_method(function.__exit__, ranges.calling(leave), code.put_call):
        both()


def _functions(torch, has_shapes):
    names = _Names()
    sizes = _Sizes(torch) if has_shapes else None
    take_back = []
    _mark_record_function(torch, names)
    modules = _mark_modules(torch, names, sizes)
    if modules:
        take_back.append(modules)
    if hasattr(torch, "overrides") and hasattr(torch.overrides, "TorchFunctionMode"):
        functions = _Functions(torch, names, sizes)
        take_back.append(functions.leave)
        # It names values by what they are called in the frames above.
        for tracer in ("trace", "trace_module"):
            if isinstance(getattr(getattr(torch, "jit", None), tracer, None), FunctionType):
                without = ranges.around(functions.leave, functions.enter)
                _mark_method(getattr(torch.jit, tracer), without, code.put_range)
    else:
        trace.note(
            "say --pytorch=functions-trace: PyTorch %s has no TorchFunctionMode: functions of torch are not marked, "
            "modules, optimizers and data loaders are" % torch.__version__
        )

    def compiled(model):
        while take_back:
            take_back.pop()()
            if not take_back:
                trace.note(
                    "say --pytorch=functions-trace: torch.compile is used: from then on, optimizers, data loaders and "
                    "record_function are marked, modules and functions are not"
                )

    code.when_compiled(torch, compiled)


class _Here:
    """Is in a thread's own variables while the profiler is on there; goes away with the thread, in the thread."""

    def __init__(self, leave):
        self.pid = os.getpid()
        self.thread = get_ident()
        self.leave = leave

    def end(self):
        leave, self.leave = self.leave, None
        # In a child of fork(), what other threads had is thrown away by the one that is left.
        if not leave or self.thread != get_ident():
            return False
        try:
            leave()
        except Exception:
            return False
        return True

    __del__ = end


class _Autograd:
    """What emit_nvtx does, without waiting for the GPU: that would start CUDA, after which a process cannot fork.

    A thread has one profiler of PyTorch. The threads in which it runs gradients take it from the one that asks for them;
    a thread of Python has its own, from its start to its end or until the program wants PyTorch's profiler there.
    """

    def __init__(self, torch, kind, has_shapes):
        self.torch, self.kind, self.has_shapes = torch, kind, has_shapes
        self.here = _local()
        self.is_said = False

    def enable(self):
        profiler, autograd = self.torch.autograd.profiler, self.torch.autograd
        flags = profiler.ProfilerState.NVTX, self.has_shapes, False, False, False, False
        more = getattr(profiler, "_ExperimentalConfig", None)
        config = profiler.ProfilerConfig(*flags, more()) if more else profiler.ProfilerConfig(*flags)
        autograd._enable_profiler(config, set())

    def begin(self, thread=None):
        # A daemon may be ended at the program's end with no chance to leave, which PyTorch complains of. Since 3.14 it is
        # stopped and its variables stay.
        if thread and thread.daemon and sys.version_info < (3, 14):
            return False
        try:
            if getattr(self.here, "on", None) is None:
                self.enable()
                self.here.on = _Here(self.torch.autograd._disable_profiler)
            return True
        except Exception:  # the program has one here
            return False

    def end(self):
        here = getattr(self.here, "on", None)
        return here is not None and here.end()

    def give_way(self, _):
        if self.end() and not self.is_said:
            self.is_said = True
            trace.note(
                "say --pytorch=%s: the program starts PyTorch's profiler, of which a thread can have one: no ranges from "
                "then on in that thread; functions-trace works beside it" % self.kind
            )


def _autograd(torch, kind, has_shapes):
    if torch.version.cuda is None:
        trace.note(
            "say --pytorch=%s: this PyTorch (%s) is built without CUDA, which its ranges come from; functions-trace "
            "works" % (kind, torch.__version__)
        )
        return
    autograd = _Autograd(torch, kind, has_shapes)
    profiler = torch.autograd.profiler
    if not autograd.begin():
        trace.note("say --pytorch=%s: PyTorch %s has its profiler in a way that is not known" % (kind, torch.__version__))
        return
    # Some of PyTorch names its steps only while a profiler runs.
    getattr(profiler, "_run_on_profiler_start", lambda: None)()
    # Else PyTorch warns on stderr that it was forgotten.
    atexit.register(autograd.end)
    for owner, name in ((profiler.profile, "_prepare_trace"), (profiler.emit_nvtx, "__enter__")):
        if hasattr(owner, name):
            _mark_method(getattr(owner, name), ranges.calling(autograd.give_way), code.put_call)
    import threading  # PyTorch has it, too

    if not _mark_method(threading.Thread._bootstrap_inner, ranges.calling(autograd.begin), code.put_call):
        trace.note("say --pytorch=%s: threads start in a way that is not known: ranges in the first only" % kind)


def begin(kinds):
    def imported(torch):
        if not hasattr(torch, "autograd"):
            return
        for kind in ("autograd-shapes-nvtx", "autograd-nvtx"):
            if kind in kinds:
                _autograd(torch, kind, kind == "autograd-shapes-nvtx")
                break
        for kind in ("functions-trace-shapes", "functions-trace"):
            if kind in kinds:
                _functions(torch, kind == "functions-trace-shapes")
                break

    when_imported("torch", imported)

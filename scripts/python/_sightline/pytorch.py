"""--pytorch: ranges of PyTorch, in the domain pytorch.

functions-trace: forward passes of modules by their class; functions of torch, of torch.nn.functional and of tensors that
the main thread calls; and what PyTorch itself gives a name (record_function): optimizers, data loaders, DDP and the
program's own. Nothing is replaced: code of two of PyTorch's methods gets a range (code.py), functions are seen by a
TorchFunctionMode, which PyTorch has for such things.

torch.compile reads code and modes: when it is used, both are taken back first, so that graphs are what they are.

autograd-nvtx: torch.autograd.profiler.emit_nvtx for the whole run. It needs a PyTorch with CUDA, and begins when CUDA does:
to begin earlier would start CUDA, after which a process cannot fork.
"""

import atexit
import os
from _thread import get_ident
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


class _Autograd:
    """emit_nvtx from where CUDA begins to the end, or until the program wants PyTorch's profiler: a thread has one."""

    def __init__(self, torch, kind, has_shapes):
        self.torch, self.kind, self.has_shapes = torch, kind, has_shapes
        self.ranges = self.thread = None

    def begin(self):
        if self.thread is None and self.torch.cuda.is_initialized():
            self.thread = os.getpid(), get_ident()
            profiler = self.torch.autograd.profiler
            found = profiler.emit_nvtx(record_shapes=self.has_shapes)
            found.__enter__()
            self.ranges = found
            for kind, name in ((profiler.profile, "_prepare_trace"), (profiler.emit_nvtx, "__enter__")):
                if hasattr(kind, name):
                    _mark_method(getattr(kind, name), ranges.calling(self.give_way), code.put_call)
            # Else PyTorch says on stderr that somebody forgot it.
            atexit.register(self.end)

    def end(self):
        found = self.ranges
        if not found or self.thread[1] != get_ident():
            return False
        self.ranges = None
        try:
            if self.thread[0] == os.getpid():
                found.__exit__(None, None, None)
            else:  # a child of fork() has no CUDA, which the above waits for
                self.torch.autograd._disable_profiler()
        except Exception:
            return False
        return True

    def give_way(self, _):
        if self.end():
            trace.note(
                "say --pytorch=%s: the program starts PyTorch's profiler, of which a thread can have one: no ranges from "
                "then on; functions-trace works beside it" % self.kind
            )


def _autograd(torch, kind, has_shapes):
    if torch.version.cuda is None:
        trace.note(
            "say --pytorch=%s: this PyTorch (%s) is built without CUDA, which its ranges come from; functions-trace "
            "works" % (kind, torch.__version__)
        )
        return
    begin = _Autograd(torch, kind, has_shapes).begin
    if not _mark_method(torch.cuda._lazy_init, ranges.around(None, begin), code.put_range):
        trace.note("say --pytorch=%s: PyTorch %s starts CUDA in a way that is not known" % (kind, torch.__version__))


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

"""Marks the functions of --python-step and --python-functions-trace.

Functions of imported modules get other code when their module has been imported (code.py). Those of the main program
are called before it ends, so there the code is exchanged among the constants of the program's own, just before it runs.
"""

from types import FunctionType, MethodType, ModuleType

import _sightline_trace as trace

from . import code
from .imports import when_imported


def _not_there(step, names):
    from difflib import get_close_matches

    wanted = ".".join(step.path)
    near = get_close_matches(wanted, list(names), 1)
    nearest = "; nearest is " + near[0] if near else ""
    step.missing("no function %s in module %s%s" % (wanted, step.module, nearest))


# ---- modules that are imported ----


def _look_up(holder, name):
    """(who has it, what) as it is stored; (None, None)."""
    for one in holder.__mro__ if isinstance(holder, type) else [holder]:
        if name in vars(one):
            return one, vars(one)[name]
    return None, None


def _body_of(thing):
    """The function whose body a call of @thing runs, through what functools and classes put around it."""
    import functools

    while True:
        if isinstance(thing, (staticmethod, classmethod, MethodType)):
            thing = thing.__func__
        elif isinstance(thing, property):
            thing = thing.fget
        elif isinstance(thing, functools.cached_property):
            thing = thing.func
        elif isinstance(thing, functools._lru_cache_wrapper):
            thing = thing.__wrapped__
        elif isinstance(thing, FunctionType):
            # What torch.compile made is called instead of what it was made from.
            inner = None if hasattr(thing, "_torchdynamo_orig_callable") else vars(thing).get("__wrapped__")
            if not isinstance(inner, (FunctionType, functools._lru_cache_wrapper)):
                return thing
            thing = inner
        else:
            return thing


def _wrapped(function, step):
    """For what has no code, or none that can be compiled again."""
    import functools

    from . import ranges

    mark = ranges.plain(step.domain, step.message, step.color)

    @functools.wraps(function)
    def call(*args, **kwargs):
        with mark:
            return function(*args, **kwargs)

    return call


def _wrap(step, holder, name, stored):
    function = _body_of(stored)
    is_plain = stored is function or isinstance(stored, (staticmethod, classmethod))
    if not is_plain or not callable(function) or not hasattr(type(function), "__name__"):
        return step.not_markable("it is no function")
    kind = type(function).__name__
    # Of the interpreter, of Cython, of NumPy.
    if not isinstance(function, FunctionType) and not ("builtin" in kind or "unction" in kind):
        return step.not_markable("it is no function but of type " + kind)
    if isinstance(function, FunctionType) and function.__code__.co_flags & code.SUSPENDED:
        return step.not_markable("its source was not found")
    new = _wrapped(function, step)
    try:
        setattr(holder, name, type(stored)(new) if stored is not function else new)
    except (TypeError, AttributeError):
        return step.not_markable("its class cannot be changed")
    step.found()


def _mark_inside(step, function, path):
    """Of a function that is defined inside another one."""
    for outer, inner in code.inside(function.__code__, path):
        if not code.is_changed(inner):
            new = code.with_range(inner, function.__globals__, step, True)
            code.exchange(outer, inner, new)
        step.found()


def _wait_inside(step, module):
    """random.rand of numpy is rand of numpy.random, once that is there."""
    inner = Inside(step)
    when_imported("%s.%s" % (module.__name__, step.path[0]), lambda module: mark(inner, module))


class Inside:
    """A step whose function is in a module inside of the one that was named."""

    def __init__(self, step):
        self._step = step
        self.path = step.path[1:]

    def __getattr__(self, name):
        return getattr(self._step, name)


def mark(step, module):
    holder = module
    for depth, name in enumerate(step.path):
        owner, stored = _look_up(holder, name)
        if owner is None:
            _not_there(step, _names(module))
            return _wait_inside(step, module) if holder is module and depth + 1 < len(step.path) else None
        function = _body_of(stored)
        if depth + 1 < len(step.path):
            if isinstance(function, FunctionType):
                _mark_inside(step, function, step.path[depth + 1 :])
                return None if step.is_found else _not_there(step, code.defined(function.__code__, name + "."))
            if isinstance(stored, ModuleType):
                return _wait_inside(step, module)
            if not isinstance(stored, type):
                return _not_there(step, _names(module))
            holder = stored
    if not isinstance(function, FunctionType):
        return _wrap(step, owner, name, stored)
    if not code.is_changed(function.__code__):
        try:
            function.__code__ = code.with_range(function.__code__, function.__globals__, step)
        except code.NotSame:
            return _wrap(step, owner, name, stored)
    step.found()


def _names(module):
    for name, value in list(vars(module).items()):
        if callable(value):
            yield name
        if isinstance(value, type) and value.__module__ == module.__name__:
            yield from ("%s.%s" % (name, n) for n, v in vars(value).items() if callable(v))


# ---- the main program ----


def _imported_as(tree, name):
    """(module, name there) where the program imports @name by `from module import`."""
    for node in tree.body:
        if type(node).__name__ == "ImportFrom" and not node.level:
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return node.module, alias.name
    return None


def mark_main(step, program, names):
    for outer, inner in list(code.inside(program, step.path)):
        try:
            new = code.with_range(inner, names, step, True)
            code.exchange(outer, inner, new)
            step.found()
        except code.NotSame:
            step.not_markable("its source was not found")
        except code.Compiled:
            step.not_markable("a decorator compiles it")
        return
    source = code.source_of(program, names)
    elsewhere = _imported_as(code.parse(source, program.co_filename), step.path[0]) if source else None
    if elsewhere:
        step.path[0] = elsewhere[1]
        when_imported(elsewhere[0], lambda module: mark(step, module))
    else:
        _not_there(step, code.defined(program))


# ---- torch.compile ----


def leave_to_compiler(torch):
    """What torch.compile gets must be what was written: it reads the code."""

    def compiled(model):
        function = model if isinstance(model, FunctionType) else getattr(type(model), "forward", None)
        if code.take_back(function):
            trace.note("say --python-step: %s is given to torch.compile: not marked any more" % function.__qualname__)

    code.when_compiled(torch, compiled)

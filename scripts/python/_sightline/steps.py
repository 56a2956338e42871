"""--python-step: a range for every call of a function, named [NAME=]MODULE:FUNC.

Functions of imported modules get other code when their module has been imported (code.py). Those of the main program
are called before it ends, so there the code is exchanged among the constants of the program's own, just before it runs.
"""

import sys
from types import CodeType, FunctionType, MethodType

import _sightline_trace as trace

from . import code
from .imports import when_imported

DOMAIN = "python-step"


class Step:
    def __init__(self, text):
        self.text = text
        name, equals, rest = text.partition("=")
        self.module, _, function = (rest if equals else text).partition(":")
        self.path = function.split(".")
        self.message = name if equals else text
        self.is_found = False

    def found(self):
        if not self.is_found:
            self.is_found = True
            trace.note("found " + self.text)

    def missing(self, reason):
        if not self.is_found:
            trace.note("missing %s\t%s" % (self.text, reason))

    def not_there(self, names):
        from difflib import get_close_matches

        wanted = ".".join(self.path)
        near = get_close_matches(wanted, list(names), 1)
        nearest = "; nearest is " + near[0] if near else ""
        self.missing("no function %s in module %s%s" % (wanted, self.module, nearest))

    def not_markable(self, why):
        self.missing("%s in module %s cannot be marked: %s" % (".".join(self.path), self.module, why))


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


def _wrapped(function, message):
    """For what has no code, or none that can be compiled again."""
    import functools

    from . import ranges

    mark = ranges.plain(DOMAIN, message)

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
    if not isinstance(function, FunctionType) and "builtin" not in type(function).__name__:
        return step.not_markable("it is no function but of type " + type(function).__name__)
    if isinstance(function, FunctionType) and function.__code__.co_flags & code.SUSPENDED:
        return step.not_markable("its source was not found")
    new = _wrapped(function, step.message)
    try:
        setattr(holder, name, type(stored)(new) if stored is not function else new)
    except (TypeError, AttributeError):
        return step.not_markable("its class cannot be changed")
    step.found()


def _mark_inside(step, function, path):
    """Of a function that is defined inside another one."""
    for outer, inner in code.inside(function.__code__, path):
        if not code.is_changed(inner):
            new = code.with_range(inner, function.__globals__, DOMAIN, step.message, True)
            code.exchange(outer, inner, new)
        step.found()


def _mark(step, module):
    holder = module
    for depth, name in enumerate(step.path):
        owner, stored = _look_up(holder, name)
        if owner is None:
            return step.not_there(_names(module))
        function = _body_of(stored)
        if depth + 1 < len(step.path):
            if isinstance(function, FunctionType):
                _mark_inside(step, function, step.path[depth + 1 :])
                return None if step.is_found else step.not_there(code.defined(function.__code__, name + "."))
            if not isinstance(stored, type):
                return step.not_there(_names(module))
            holder = stored
    if not isinstance(function, FunctionType):
        return _wrap(step, owner, name, stored)
    if not code.is_changed(function.__code__):
        try:
            function.__code__ = code.with_range(function.__code__, function.__globals__, DOMAIN, step.message)
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


def _main_names(program, frame):
    """Under which names @program, about to be executed by @frame, is the main program; empty: it is not."""
    if frame is None:
        return {"__main__"}
    if frame.f_code.co_name == "_run_code" and frame.f_globals.get("__name__") == "runpy":
        names = frame.f_locals
        if names.get("mod_name") in ("__main__", "__mp_main__"):
            spec = names.get("mod_spec")
            name = spec.name if spec is not None else "__main__"
            return {"__main__", name[:-9] if name.endswith(".__main__") else name}
        return set()
    # Programs that run programs (coverage, profilers, debuggers) say whose turn it is.
    if sys.argv[:1] == [program.co_filename]:
        return {"__main__"}
    return set()


def _is_called(module, filename, names):
    """Is the main program in @filename what `import module` would find?"""
    if module in names:
        return True
    if not names or not filename.endswith(".py"):
        return False
    import os.path

    return os.path.abspath(filename)[:-3].split("/")[-module.count(".") - 1 :] == module.split(".")


def _imported_as(tree, name):
    """(module, name there) where the program imports @name by `from module import`."""
    for node in tree.body:
        if type(node).__name__ == "ImportFrom" and not node.level:
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return node.module, alias.name
    return None


def _mark_main(step, program, names):
    for outer, inner in list(code.inside(program, step.path)):
        try:
            new = code.with_range(inner, names, DOMAIN, step.message, True)
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
        when_imported(elsewhere[0], lambda module: _mark(step, module))
    else:
        step.not_there(code.defined(program))


def _watch(steps):
    def executed(args):
        program = args[0]
        if not isinstance(program, CodeType) or program.co_name != "<module>":
            return
        frame = sys._getframe().f_back
        names = _main_names(program, frame)
        for step in steps if names else ():
            if _is_called(step.module, program.co_filename, names):
                _mark_main(step, program, frame.f_locals.get("run_globals") if frame else None)

    trace.watch(executed)


def _leave_to_compiler():
    """What torch.compile gets must be what was written: it reads the code."""

    def compiled(model):
        function = model if isinstance(model, FunctionType) else getattr(type(model), "forward", None)
        if code.take_back(function):
            trace.note("say --python-step: %s is given to torch.compile: not marked any more" % function.__qualname__)

    when_imported("torch", lambda torch: code.when_compiled(torch, compiled))


def begin(texts):
    steps = [Step(text) for text in texts]
    _leave_to_compiler()
    for step in steps:
        if step.module != "__main__":
            when_imported(step.module, lambda module, step=step: _mark(step, module))
    if any(_may_be_main(step.module) for step in steps):
        _watch(steps)


def _may_be_main(module):
    """Every process may become one whose main program this is but for scripts of another name."""
    script = getattr(sys, "argv", [""])[0] if getattr(sys, "argv", None) else ""
    last = module.rpartition(".")[2]
    return module == "__main__" or script in ("", "-c", "-m") or script.endswith("/" + last + ".py") or script == last + ".py"

"""Code of a function with a range around its body.

The function is compiled again from its source, with its body inside `with RANGE:`, RANGE being a constant. Thus there is
no wrapper: the function keeps its identity, signature, name and pickle, tracebacks have no frame more, and nothing but
this function costs anything. Where the source is not what the function was compiled from (there is none, a tool has
changed it), NotSame is raised.
"""

import _ast
import sys

import _sightline_trace as trace

from . import ranges

SUSPENDED = 0x20 | 0x80 | 0x100 | 0x200  # CO_GENERATOR, CO_COROUTINE, CO_ITERABLE_COROUTINE, CO_ASYNC_GENERATOR
_FUNCTIONS = (_ast.FunctionDef, _ast.AsyncFunctionDef)
_PLACE = "\0sightline range"
_AST_ONLY = 0x400  # ast.PyCF_ONLY_AST, without the import


class NotSame(Exception):
    """There is no source that makes this code."""


class Compiled(Exception):
    """A decorator reads the function's code, and must find it as it was."""


def _command():
    """The text behind -c."""
    with open("/proc/self/cmdline", "rb") as f:
        words = f.read().split(b"\0")
    for word, text in zip(words, words[1:]):
        if word[:1] == b"-" and word[-1:] == b"c" and word[1:2] != b"-":
            return text + b"\n"
    return None


def source_of(code, names=None):
    """The text that @code comes from, str or bytes; None."""
    name = code.co_filename
    try:
        if name == "<string>" and sys.argv[:1] == ["-c"]:
            return _command()
        if name[:1] != "<":
            try:
                with open(name, "rb") as f:
                    return f.read()
            except OSError:
                pass
        loader, module = (names or {}).get("__loader__"), (names or {}).get("__name__")
        if loader is not None and hasattr(loader, "get_source"):
            return loader.get_source(module)
    except Exception:
        pass
    if "linecache" in sys.modules:  # where notebooks put their cells
        return "".join(sys.modules["linecache"].getlines(name)) or None
    return None


def _inner(code):
    """All code inside @code."""
    for const in code.co_consts:
        if isinstance(const, type(code)):
            yield const
            yield from _inner(const)


def _statements(node):
    """Every statement at or below @node."""
    for field in node._fields:
        value = getattr(node, field, None)
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, (_ast.stmt, _ast.excepthandler)) or type(child).__name__ == "match_case":
                yield child
                yield from _statements(child)


def _first_line(node):
    return min([node.lineno] + [d.lineno for d in node.decorator_list])


def parse(source, filename):
    return compile(source, filename, "exec", _AST_ONLY, True)


def _compiles(decorator):
    """Does it make machine code or a graph of the function? By its name: it has not run yet."""
    while isinstance(decorator, _ast.Call):
        decorator = decorator.func
    name = getattr(decorator, "attr", None) or getattr(decorator, "id", "")
    return name in (
        "autojit", "cfunc", "compile", "generated_jit", "guvectorize", "jit", "jit_module", "kernel", "njit",
        "pyfunc", "script", "script_method", "stencil", "vectorize",
    )  # fmt: skip


def _find(tree, code):
    """The function's node, and a module with what is needed of its surroundings."""
    for top in tree.body:
        for node in [top, *_statements(top)]:
            if isinstance(node, _FUNCTIONS) and node.name == code.co_name and _first_line(node) == code.co_firstlineno:
                # Imports count: "from __future__", and how methods of modules are called.
                others = (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.ClassDef, _ast.Expr, _ast.Assign)
                body = [n for n in tree.body if n is top or not isinstance(n, others)]
                return node, _ast.Module(body=body, type_ignores=[])
    raise NotSame


def _at(node, like):
    for field in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
        setattr(node, field, getattr(like, field))
    return node


def _parts(node):
    """(docstring, the rest) of its statements."""
    body = node.body
    has_doc = isinstance(body[0], _ast.Expr) and isinstance(getattr(body[0].value, "value", None), str)
    return body[:has_doc], body[has_doc:] or [_at(_ast.Pass(), body[0])]


def _place(like, attribute=None):
    place = _at(_ast.Constant(value=_PLACE, kind=None), like)
    return _at(_ast.Attribute(value=place, attr=attribute, ctx=_ast.Load()), like) if attribute else place


def _name(text, like):
    return _at(_ast.Name(id=text, ctx=_ast.Load()), like)


def _put_with(node, make):
    doc, rest = _parts(node)
    item = _ast.withitem(context_expr=make(rest[0]), optional_vars=None)
    node.body = doc + [_at(_ast.With(items=[item], body=rest, type_comment=None), rest[0])]


def put_range(node):
    """`with PLACE:` around the body, behind the docstring."""
    _put_with(node, _place)


def put_suspended(node):
    """`with PLACE.call:`"""
    _put_with(node, lambda like: _place(like, "call"))


def put_range_of(node):
    """`with PLACE.call(SELF, ARGS, KWARGS):` in a method(self, *args, **kwargs)."""
    names = [node.args.args[0].arg, node.args.vararg.arg, node.args.kwarg.arg]

    def make(like):
        return _at(_ast.Call(func=_place(like, "call"), args=[_name(n, like) for n in names], keywords=[]), like)

    _put_with(node, make)


def put_call(node):
    """`PLACE.call(FIRST ARGUMENT)` before the body."""
    doc, rest = _parts(node)
    like = rest[0]
    call = _ast.Call(func=_place(like, "call"), args=[_name(node.args.args[0].arg, like)], keywords=[])
    node.body = doc + [_at(_ast.Expr(value=_at(call, like)), like)] + rest


def _again(module, code, same):
    for inner in _inner(compile(module, code.co_filename, "exec", 0, True)):
        if inner.co_name == code.co_name and same(inner):
            return inner
    raise NotSame


def changed(code, names, constant, put, check=None):
    """@code compiled again, after put(node) has been at its node, with @constant for the place."""
    source = source_of(code, names)
    if not source:
        raise NotSame
    try:
        node, module = _find(parse(source, code.co_filename), code)
        _again(module, code, lambda c: c == code and c.co_firstlineno == code.co_firstlineno)
        if check:
            check(node)
        put(node)
        new = _again(module, code, lambda c: _PLACE in c.co_consts)
    except (SyntaxError, ValueError, RecursionError):
        raise NotSame from None
    if new.co_freevars != code.co_freevars or new.co_cellvars != code.co_cellvars:
        raise NotSame
    return new.replace(co_consts=tuple(constant if c == _PLACE else c for c in new.co_consts))


_before = {}  # code with a range: what it was


def is_changed(code):
    return any(isinstance(c, ranges.Constant) for c in code.co_consts)


def take_back(function):
    """True: it had a range, and is as it was."""
    old = _before.get(getattr(function, "__code__", None))
    if old is not None:
        function.__code__ = old
    return old is not None


_compiled = []  # call(model) for each use of torch.compile


def when_compiled(torch, call):
    """call(model) before torch.compile(model), from now on. Old versions have none."""
    function = getattr(torch, "compile", None)
    if not isinstance(function, type(put_call)):
        return
    if not _compiled:
        function.__code__ = changed(function.__code__, function.__globals__, ranges.calling(_call_all), put_call)
    _compiled.append(call)


def _call_all(model):
    for call in _compiled:
        try:
            call(model)
        except Exception:  # never the program's trouble
            pass


def with_range(code, names, step, is_decorated_later=False):
    """@code with the range of @step around its body; @is_decorated_later: its decorators have not run."""

    def check(node):
        if is_decorated_later and any(_compiles(d) for d in node.decorator_list):
            raise Compiled

    if code.co_flags & SUSPENDED:
        new = changed(code, names, ranges.suspended(step.domain, step.message, step.color), put_suspended, check)
    else:
        new = changed(code, names, ranges.plain(step.domain, step.message, step.color), put_range, check)
    _before[new] = code
    return new


# ---- code inside code ----


def inside(code, path):
    """(outer, inner) of what is defined as @path in @code: {}.Class.method, also inside functions."""
    for const in code.co_consts:
        if not isinstance(const, type(code)):
            continue
        if const.co_name.startswith("<generic parameters"):
            yield from inside(const, path)
        elif const.co_name == path[0]:
            if len(path) == 1:
                yield code, const
            else:
                yield from inside(const, path[1:])


def defined(code, prefix=""):
    """Names of all that is defined in @code, dotted."""
    for const in code.co_consts:
        if isinstance(const, type(code)) and const.co_name.startswith("<generic parameters"):
            yield from defined(const, prefix)
        elif isinstance(const, type(code)) and const.co_name[:1] != "<":
            yield prefix + const.co_name
            yield from defined(const, prefix + const.co_name + ".")


def exchange(outer, inner, new):
    """Puts @new where @inner is among the constants of @outer, which has not run yet."""
    constants = outer.co_consts
    for index, const in enumerate(constants):
        if const is inner:
            trace.replace(constants, tuple.__basicsize__, index, inner, new)

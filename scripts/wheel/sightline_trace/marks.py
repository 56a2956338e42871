"""Ranges (NVTX_EVENTS) of a traced program; nothing at all in one that is not traced, or by another tool.

No GPU library is needed: libtrace.so, which is in the process, takes them.
"""

import ctypes
import functools

ABI = 1
STEP_DOMAIN = "python-step"  # that of --python-step


class _Nothing:
    def sightline_range(self, domain, text):
        return None


@functools.lru_cache(maxsize=None)
def _library():
    """The functions of libtrace.so (preload/python/python.h); without it one that makes no ranges."""
    library = ctypes.CDLL(None)
    try:
        if library.sightline_python_abi() != ABI:
            return _Nothing()
        library.sightline_range.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
        library.sightline_range.restype = ctypes.c_void_p
        for function in library.sightline_range_push, library.sightline_range_pop:
            function.argtypes = [ctypes.c_void_p]
            function.restype = None
    except AttributeError:
        return _Nothing()
    return library


@functools.lru_cache(maxsize=4096)
def _range_of(domain, text):
    return _library().sightline_range(domain.encode("utf-8", "replace"), text.encode("utf-8", "replace"))


def is_traced():
    """Whether ranges of this process are recorded."""
    return _range_of("", "is_traced") is not None


class range:  # noqa: A001
    """A range with this message: `with range("forward"):`, or `@range("forward")` before a function.

    Its message and domain are registered once; a range costs about a microsecond. Ranges of one thread are nested.
    """

    def __init__(self, text, domain=""):
        self._range = _range_of(domain, text)

    def __enter__(self):
        if self._range is not None:
            _library().sightline_range_push(self._range)
        return self

    def __exit__(self, *unused):
        if self._range is not None:
            _library().sightline_range_pop(self._range)

    def __call__(self, function):
        @functools.wraps(function)
        def marked(*args, **named):
            with self:
                return function(*args, **named)

        return marked


def step(name="step"):
    """A range that the reports take for a step: `for batch in loader: with step(): ...`."""
    return range(name, STEP_DOMAIN)

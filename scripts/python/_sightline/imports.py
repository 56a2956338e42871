"""Calls a function after a module has been imported, whenever that is.

A finder in front of all others answers for the wanted modules alone: with what the others find, and a loader that gives
way to the real one before the module runs. The module sees its own loader, and no frame of ours is in a traceback.
"""

import sys

_wanted = {}


class _Loader:
    def __init__(self, real):
        self._real = real

    def __getattr__(self, name):
        return getattr(self._real, name)

    def create_module(self, spec):
        create = getattr(self._real, "create_module", None)
        return create(spec) if create else None

    def exec_module(self, module):
        real = self._real
        module.__loader__ = module.__spec__.loader = real
        real.exec_module(module)
        _done(module)

    # Python cuts the frames of its import system out of tracebacks, known by their file.
    exec_module.__code__ = exec_module.__code__.replace(
        co_filename="<frozen importlib._bootstrap_external>"
    )


class _Finder:
    def find_spec(self, name, path=None, target=None):
        if name not in _wanted:
            return None
        # A look at what would be found (importlib.util.find_spec, runpy) is no import.
        asking = sys._getframe(1).f_back
        if not asking or asking.f_code.co_name not in ("_find_and_load_unlocked", "reload"):
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find and finder is not self else None
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader)
                return spec
        return None


def _done(module):
    for call in _wanted.get(module.__name__, ()):
        try:
            call(module)
        except Exception:  # never the program's trouble
            pass


def when_imported(name, call):
    """call(module) at once if it is there, and after every import of it from now on."""
    if not _wanted:
        sys.meta_path.insert(0, _Finder())
    _wanted.setdefault(name, []).append(call)
    module = sys.modules.get(name)
    if module is not None:
        call(module)

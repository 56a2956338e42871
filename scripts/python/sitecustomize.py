# Runs when a traced Python starts: preload/python/python.c puts this folder and, behind it, the options in front of
# PYTHONPATH. Takes both off the search path, begins, and gives way to the program's own sitecustomize.
import sys


def _begin():
    folder = __file__.rpartition("/")[0]
    ours = [p for p in sys.path if p == folder or p.startswith(folder + "/&")]
    try:
        import _sightline

        _sightline.begin([p[len(folder) + 2 :] for p in ours if p != folder])
    except Exception:  # never the program's trouble
        pass
    sys.path[:] = [p for p in sys.path if p not in ours]
    for p in ours:
        sys.path_importer_cache.pop(p, None)
    del sys.modules[__name__]


_begin()
# An ImportError, when there is none, is what the caller (site) is used to.
import sitecustomize  # noqa: E402,F401

"""Sightline inside a Python program: ranges for functions (steps.py), for PyTorch (pytorch.py)
and for garbage collections.

Loaded by sitecustomize.py with what was asked for; talks to libtrace.so through the built-in module _sightline_trace
(preload/python/python.h). CPython 3.8 and later, nothing but builtins until something is found: the program pays for what
it imports.
"""

import sys

ABI = 1


def _decode(text):
    first, *rest = text.split("%")
    return first + "".join(chr(int(part[:2], 16)) + part[2:] for part in rest)


def begin(options):
    """Options come as "steps=...&pytorch=...", each byte but letters, digits, "_" and "," as %XX."""
    if "_sightline_trace" not in sys.builtin_module_names:
        return
    import _sightline_trace as trace

    if trace.abi != ABI:
        return
    asked = {}
    for option in "&".join(options).split("&"):
        name, _, value = option.partition("=")
        # Bytes of UTF-8, one by one.
        asked[name] = _decode(value).encode("latin-1").decode("utf-8", "replace")
    trace.note("here")
    if asked.get("gc"):
        import gc

        gc.callbacks.append(trace.collects)
    if asked.get("steps") or asked.get("functions"):
        from . import steps

        wanted = list(steps.of_option(asked["steps"])) if asked.get("steps") else []
        wanted += steps.of_file(asked["functions"]) if asked.get("functions") else []
        steps.begin(wanted)
    if asked.get("pytorch"):
        from . import pytorch

        pytorch.begin(asked["pytorch"].split(","))

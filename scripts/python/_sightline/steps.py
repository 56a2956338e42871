"""--python-step and --python-functions-trace: a range for every call of a function.

Waits for the modules and for the main program; marks.py does the rest. Kept small: every Python that starts pays for it.
"""

import sys

import _sightline_trace as trace

from .imports import when_imported


class Step:
    def __init__(self, text, module, function, message, domain="python-step", color=0):
        self.text = text  # how it is called in notes
        self.module = module
        self.path = function.split(".")
        self.message = message
        self.domain = domain
        self.color = color
        self.is_found = False

    def found(self):
        if not self.is_found:
            self.is_found = True
            trace.note("found " + self.text)

    def missing(self, reason):
        if not self.is_found:
            trace.note("missing %s\t%s" % (self.text, reason))

    def not_markable(self, why):
        self.missing("%s in module %s cannot be marked: %s" % (".".join(self.path), self.module, why))


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


def _watch(steps):
    def executed(args):
        program = args[0]
        if getattr(program, "co_name", None) != "<module>":
            return
        frame = sys._getframe().f_back
        names = _main_names(program, frame)
        for step in steps if names else ():
            if _is_called(step.module, program.co_filename, names):
                from . import marks

                marks.mark_main(step, program, frame.f_locals.get("run_globals") if frame else None)

    trace.watch(executed)


def _mark(step, module):
    from . import marks

    marks.mark(step, module)


def _leave_to_compiler(torch):
    from . import marks

    marks.leave_to_compiler(torch)


def of_option(texts):
    """[NAME=]MODULE:FUNC,..."""
    for text in texts.split(","):
        name, equals, rest = text.partition("=")
        module, _, function = (rest if equals else text).partition(":")
        yield Step(text, module, function, name if equals else text)


def of_file(lines):
    """Lines of --python-functions-trace: domain, color, module, functions."""
    for line in lines.split("\n"):
        domain, color, module, functions = line.split("\t")
        for function in functions.split(","):
            yield Step("@%s:%s" % (module, function), module, function, module + "." + function, domain, int(color))


def begin(steps):
    when_imported("torch", _leave_to_compiler)
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

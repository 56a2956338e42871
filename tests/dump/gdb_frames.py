"""Runs in gdb: prints the frames of all threads as JSON. kind: normal, inline, tail (made up by gdb for a call that was a jump), signal."""
import json

import gdb

KINDS = {gdb.NORMAL_FRAME: "normal", gdb.INLINE_FRAME: "inline", gdb.TAILCALL_FRAME: "tail", gdb.SIGTRAMP_FRAME: "signal"}


def frames():
    f = gdb.newest_frame()
    while f:
        at = f.find_sal()
        yield {"function": f.name(), "file": at.symtab.filename if at.symtab else None, "line": at.line or None,
               "kind": KINDS.get(f.type(), "other"), "pc": f.pc()}
        f = f.older()


def threads():
    for t in gdb.selected_inferior().threads():
        t.switch()
        yield t.ptid[1], list(frames())


print("FRAMES " + json.dumps(dict(threads())))

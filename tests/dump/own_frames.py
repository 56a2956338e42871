"""own_frames.py PID: runs in the Python (3.14 and newer) of that process: frames by the reader of the standard library, as py-spy's JSON."""
import json
import sys

from _remote_debugging import RemoteUnwinder


def frame(f):
    at = getattr(f, "location", None)
    return {"name": f.funcname, "filename": f.filename, "line": f.lineno if hasattr(f, "lineno") else at[0] if at else None}


found = RemoteUnwinder(int(sys.argv[1]), all_threads=True).get_stack_trace()
threads = [t for i in found for t in i.threads] if hasattr(found[0], "threads") else found
print(json.dumps([{"os_thread_id": t.thread_id, "frames": [frame(f) for f in t.frame_info]} for t in threads]))

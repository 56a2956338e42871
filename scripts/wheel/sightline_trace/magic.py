"""%%sightline in a notebook: runs the cell in a Python of its own that is traced, prints the answer and shows the page."""

import os
import subprocess
import sys
import tempfile

from .reports import command


def sightline(line, cell):
    """%%sightline [options of profile]: where the time of the cell went. The cell runs in a process of its own."""
    folder = tempfile.mkdtemp(prefix="sightline-")
    script, report = os.path.join(folder, "cell.py"), os.path.join(folder, "run.sqlite")
    with open(script, "w", encoding="utf-8") as f:
        f.write(cell)
    done = subprocess.run([command(), "profile", "-o", report, *line.split(), sys.executable, script],
                          capture_output=True, text=True, check=False)
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    if not os.path.exists(report):
        return None
    print(subprocess.run([command(), "why", report], capture_output=True, text=True, check=False).stdout)
    page = os.path.join(folder, "run.html")
    subprocess.run([command(), "report", "-q", "-o", page, report], capture_output=True, check=False)
    if os.path.exists(page):
        show(page)
    return None


def show(page):
    """Within the notebook, whose server has no way to the file: the page is in the cell, and without access to the notebook."""
    import html

    from IPython.display import HTML, display

    with open(page, encoding="utf-8") as f:
        text = html.escape(f.read())
    display(HTML('<iframe srcdoc="%s" width="100%%" height="600" sandbox="allow-scripts"></iframe>' % text))


def register(ipython):
    ipython.register_magic_function(sightline, "cell")

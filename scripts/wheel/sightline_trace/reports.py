"""Reports as data: what the command prints as JSON, and SQL with its functions."""

import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import sysconfig


class ReportError(Exception):
    """What the command said in place of an answer."""


def _in_scheme(*parts):
    """Files of this installation: of a venv, of the user, or of the system."""
    roots = [sys.prefix, sysconfig.get_path("data")]
    # pip install --user, and --target.
    here = os.path.dirname(os.path.abspath(__file__))
    roots += [os.path.join(os.path.expanduser("~"), ".local"), os.path.dirname(here)]
    for root in roots:
        path = os.path.join(root, *parts)
        if os.path.isfile(path):
            return path
    return None


def command():
    """Path of the command."""
    path = _in_scheme("bin", "sightline") or shutil.which("sightline")
    if not path:
        raise ReportError("the command sightline is not where this package was installed, nor in PATH")
    return path


def library():
    """Path of libtrace.so, for LD_PRELOAD."""
    path = _in_scheme("lib", "sightline", "libtrace.so")
    if not path:
        raise ReportError("libtrace.so is not where this package was installed")
    return path


def _ask(*words):
    done = subprocess.run([command(), *words], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode not in (0, 3, 4):  # 3: a condition of --fail-on held; 4: no answer, whose reason is in the JSON
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise ReportError(lines[-1] if lines else "sightline %s: status %d" % (words[0], done.returncode))
    try:
        return json.loads(done.stdout)
    except ValueError as error:
        raise ReportError("sightline %s: %s" % (words[0], error)) from None


def _options(named):
    return ["--%s=%s" % (name.replace("_", "-"), value) for name, value in named.items()]


def why(path, **options):
    """Where the time went, as a dict. Options are those of the command: why(path, thread=4711)."""
    return _ask("why", "-f", "json", *_options(options), os.fspath(path))


def stats(path, report, frame=None, **options):
    """A table of `sightline stats`: a list of dicts; @frame: "pandas" or "polars" for a data frame of that library."""
    sizes = {"limit": 0, "max_bytes": 0}
    rows = _ask("stats", "-q", "-r", report, "-f", "json", *_options({**sizes, **options}), os.fspath(path))
    if isinstance(rows, dict) and rows.get("abstained"):
        raise ReportError("%s (%s)" % (rows.get("reason"), rows.get("remedy")))
    if isinstance(rows, dict):  # of a size that was asked for
        rows = rows["rows"]
    if frame is None:
        return rows
    if frame == "pandas":
        import pandas

        return pandas.DataFrame(rows)
    if frame == "polars":
        import polars

        return polars.DataFrame(rows, infer_schema_length=None)
    raise ValueError("frame=%r: 'pandas', 'polars' or None is expected" % (frame,))


def connect(path):
    """A connection of sqlite3 to the report, read-only, with the functions of the reports (sl_stats, sl_projection, ...)."""
    extension = _in_scheme("lib", "sightline", "libsightline_sql.so")
    uri = pathlib.Path(path).absolute().as_uri() + "?mode=ro"
    db = sqlite3.connect(uri, uri=True)
    try:
        if not extension:
            raise ReportError("libsightline_sql.so is not where this package was installed")
        if not hasattr(db, "enable_load_extension"):
            raise ReportError("this Python's sqlite3 loads no extensions; use `sightline sql` or stats()")
        db.enable_load_extension(True)
        db.load_extension(extension[:-3])
        db.enable_load_extension(False)
    except BaseException:
        db.close()
        raise
    return db


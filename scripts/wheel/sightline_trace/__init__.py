"""Sightline from Python: reports as data, and marks in a program that is traced.

    import sightline_trace as st

    st.why("run.sqlite")["culprits"][0]                 # where the time went
    st.stats("run.sqlite", "osrt_sum")                  # a table, as dicts
    st.stats("run.sqlite", "osrt_sum", frame="pandas")  # or a data frame
    st.connect("run.sqlite").execute("SELECT ...")      # sqlite3 with the functions of the reports

    with st.step():                                     # a range per training step, in a traced program
        with st.range("forward"):
            ...

A program is traced by the command: `sightline profile python train.py`, or `python -m sightline_trace profile ...`.
"""

from .marks import is_traced, range, step  # noqa: A004
from .reports import ReportError, command, connect, library, stats, why

__all__ = ["ReportError", "command", "connect", "is_traced", "library", "range", "stats", "step", "why"]


def load_ipython_extension(ipython):
    """%load_ext sightline_trace: the magic %%sightline."""
    from .magic import register

    register(ipython)

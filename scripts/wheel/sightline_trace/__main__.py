"""python -m sightline_trace ...: the command sightline."""

import os
import sys

from .reports import ReportError, command

try:
    path = command()
except ReportError as error:
    sys.exit("sightline_trace: %s" % error)
os.execv(path, [path, *sys.argv[1:]])

"""A module that does its work when it is imported."""
import os
import time

KIND, HOW = os.environ["JOBS_KIND"].split()
TABLE = {}
if KIND == "config":
    time.sleep(0.6 if HOW == "bad" else 0.005)  # CULPRIT config
else:
    for i in range((900000 if KIND == "table" else 300000) if HOW == "bad" else 2000):
        TABLE[i] = i * i % 7  # CULPRIT table
SIZE = 1

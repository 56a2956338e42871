/*
 * python_modules.h - offers the modules of --python-step, --python-functions-trace, --pytorch and
 * --trace=python-gc to traced programs (how a program imports them: preload/python/python.h), and
 * reports functions that they did not find.
 */
#pragma once

#include "collector/collect/collector.h"

/* Writes the options into the session folder; @preload: libtrace.so, which has the modules in its folder. */
void python_open(struct collector *c, const char *preload);
/* At the end of the report: reports functions that were not found, as diagnostics and lines on stderr. */
void python_end(struct collector *c);
void python_close(struct collector *c);

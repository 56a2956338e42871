/* notes.h - rows about the machine, the run, and the report's losses. */
#pragma once

#include "collector/collect/collector.h"

void notes_begin(struct collector *c);
void notes_command(struct collector *c, int argc, char **argv);
/* Reports losses and processes that could not be traced: rows, a diagnostic, one line each on stderr. */
void notes_end(struct collector *c);
/* A diagnostic of @severity (1 information, 2 warning), also on stderr. */
void notes_say(struct collector *c, int severity, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Writes a warning; about a recording that is on only by default (@is_default), information, and not on stderr. */
void notes_say_asked(struct collector *c, bool is_default, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

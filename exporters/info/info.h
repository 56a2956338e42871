/* info.h - the contents of a report: gathered by info.c, written by info_text.c and info_json.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "exporters/read/db_read.h"
#include "exporters/read/wall.h"

#define INFO_NONE INT64_MIN /* a number that the report lacks */

struct info_table {
	char *name;
	int64_t rows;
	int64_t first, last; /* ns; INFO_NONE: its rows have no time */
};

struct info_process {
	int64_t global, parent; /* packed; parent INFO_NONE: not known */
	int64_t pid;
	char *name, *command;               /* NULL: not known */
	int64_t start, end, traced, status; /* traced: 0, 1; status: of wait() */
	int64_t events;                     /* rows of event tables that are its own */
};

struct info_pair {
	char *name, *value;
};

struct info_loss {
	int64_t start, end, pid, count;
	char *what;
};

struct info_note { /* DIAGNOSTIC_EVENT */
	int64_t time, severity;
	char *text;
};

struct info_gpu {
	int64_t id, memory, sms, major, minor;
	char *name, *bus;
};

#define INFO_LIST(type, name) \
	struct type *name;    \
	size_t name##_cnt

struct info {
	const char *path;
	int64_t bytes;
	char *product, *version, *schema; /* NULL: not in the report (before 2022) */
	int64_t complete; /* 0: its collector has not finished it; else INFO_NONE or 1 */
	struct wall wall;
	int64_t duration, epoch; /* ns; epoch: Unix time of session time 0 */
	char *host, *command, *folder;
	INFO_LIST(info_table, tables);
	INFO_LIST(info_process,
		  processes); /* parents before their children; those with events, or of the tree */
	INFO_LIST(info_pair, machine);
	INFO_LIST(info_pair,
		  capture); /* how it was recorded; without the environment of the program */
	INFO_LIST(info_loss, losses);
	INFO_LIST(info_note, notes);
	INFO_LIST(info_gpu, gpus);
};

/* 0, or -1 after one sentence in @why. */
int info_read(sqlite3 *db, const char *path, struct info *i, char *why, size_t why_len);
void info_free(struct info *i);

void info_text(FILE *out, const struct info *i);
struct bounds;
/* 0, or -1: no memory. */
int info_json(FILE *out, const struct info *i, const struct bounds *b);

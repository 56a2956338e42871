/*
 * tl_report.h - reports written by hand.
 *
 * A report is SQL in which $70.71 is the packed id of thread 71 of process 70, $70 that of the process, and
 * "TABLE(columns): (values), ...;" makes a table with these rows. For some tables there is a short name that stands for
 * the table and some columns: see short_names.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "exporters/read/db_read.h"

#define GLOBAL(pid, tid) ((int64_t)(pid) << 24 | (tid))

static const struct {
	const char *name, *table;
} short_names[] = {
	{"strings", "StringIds(id INTEGER PRIMARY KEY, value)"},
	{"libc", "OSRT_API(start, end, globalTid, nameId)"},
	{"moved", "OSRT_API(start, end, globalTid, nameId, bytesDone)"},
	{"nested", "OSRT_API(start, end, globalTid, nameId, nestingLevel, callchainId, bytesDone, "
		   "pathId)"},
	{"cuda", "CUPTI_ACTIVITY_KIND_RUNTIME(start, end, globalTid, nameId, correlationId)"},
	{"launches", "CUPTI_ACTIVITY_KIND_RUNTIME(start, end, globalTid, nameId, correlationId, "
		     "returnValue, callchainId)"},
	{"kernels", "CUPTI_ACTIVITY_KIND_KERNEL(start, end, globalPid, deviceId, contextId, "
		    "streamId, correlationId, shortName)"},
	{"switches", "SCHED_EVENTS(start, cpu, isSchedIn, globalTid, threadState)"},
	{"samples", "COMPOSITE_EVENTS(id INTEGER PRIMARY KEY, start, cpu, threadState, globalTid, "
		    "cpuCycles, stackId, end)"},
	{"stacks", "SL_STACKS(id, depth, frameId)"},
	{"frames", "SL_FRAMES(id INTEGER PRIMARY KEY, kind, symbol, module, file, line, inlined, "
		   "unresolved, originalIP)"},
	{"ranges",
	 "NVTX_EVENTS(start, end, eventType, globalTid, domainId, text, textId, category)"},
};

/* "TABLE(columns): " or a short name and a colon: how long it is, 0 if it is neither. */
static size_t table_head(const char *p, const char **table, size_t *len)
{
	size_t name = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

	*table = p;
	*len = name;
	if (p[name] == '(')
		*len = strcspn(p, ")") + 1;
	for (size_t i = 0; i < sizeof(short_names) / sizeof(short_names[0]); i++)
		if (strlen(short_names[i].name) == name &&
		    memcmp(short_names[i].name, p, name) == 0 && p[name] == ':') {
			*table = short_names[i].table;
			*len = strlen(*table);
			return name + 1;
		}
	return name > 0 && p[name] == '(' && p[*len] == ':' ? *len + 1 : 0;
}

/* To be freed. */
static char *sql_of(const char *p)
{
	char *sql = NULL;
	size_t len = 0, head;
	FILE *f = open_memstream(&sql, &len);
	bool is_start = true, is_text = false;

	assert_non_null(f);
	for (; *p; p++) {
		const char *table;
		size_t table_len;

		if (is_start && (head = table_head(p, &table, &table_len)) > 0) {
			fprintf(f, "CREATE TABLE %.*s; INSERT INTO %.*s VALUES", (int)table_len,
				table, (int)strcspn(table, "("), table);
			p += head - 1;
		} else if (*p == '$') {
			char *end;
			long pid = strtol(p + 1, &end, 10),
			     tid = *end == '.' ? strtol(end + 1, &end, 10) : 0;

			fprintf(f, "%lld", (long long)GLOBAL(pid, tid));
			p = end - 1;
		} else {
			fputc(*p, f);
		}
		is_text ^= *p == '\'';
		is_start = !is_text && (*p == ';' || (is_start && *p == ' '));
	}
	fclose(f);
	return sql;
}

/* The report in a file, opened for reading. */
static sqlite3 *report_of(const char *report)
{
	char path[] = "/tmp/sightline-timeline-XXXXXX", why[512] = "", *error = NULL;
	char *sql = sql_of(report);
	int fd = mkstemp(path);
	sqlite3 *db;

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK)
		fail_msg("%s in: %s", error, sql);
	free(sql);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	db = db_read_open(path, why, sizeof(why));
	unlink(path);
	if (!db)
		fail_msg("%s", why);
	return db;
}

/* why_text_test.h - what the answer is as text, and values of its JSON. After why_test.h. */
#pragma once

#include "exporters/why/why_out.h"

static char *written;

static inline int teardown(void **state)
{
	free(written);
	written = NULL;
	return test_teardown(state);
}

#define TEXT(name) cmocka_unit_test_setup_teardown(name, test_setup, teardown)

/* What a function writes of the answer. */
static inline const char *text_of(void (*put)(FILE *out))
{
	size_t len;
	FILE *out;

	free(written);
	written = NULL;
	out = open_memstream(&written, &len);
	assert_non_null(out);
	put(out);
	fclose(out);
	return written;
}

/* Is there such a line? */
static inline bool has_line(const char *text, const char *line)
{
	size_t len = strlen(line);

	for (const char *at = text; (at = strstr(at, line)); at++)
		if ((at == text || at[-1] == '\n') && at[len] == '\n')
			return true;
	return false;
}

static inline void assert_line(const char *text, const char *line)
{
	if (!has_line(text, line))
		fail_msg("no line '%s' in\n%s", line, text);
}

/* A value of the JSON by its path. */
static inline const char *value_of(const char *json, const char *path)
{
	static char value[512];
	sqlite3_stmt *stmt = NULL;

	assert_int_equal(
		sqlite3_prepare_v2(test.db, "SELECT json_extract(?1, ?2)", -1, &stmt, NULL),
		SQLITE_OK);
	sqlite3_bind_text(stmt, 1, json, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 2, path, -1, SQLITE_STATIC);
	if (sqlite3_step(stmt) != SQLITE_ROW)
		fail_msg("%s: %s in\n%s", path, sqlite3_errmsg(test.db), json);
	snprintf(value, sizeof(value), "%s",
		 sqlite3_column_text(stmt, 0) ? (const char *)sqlite3_column_text(stmt, 0)
					      : "null");
	sqlite3_finalize(stmt);
	return value;
}

static inline void put_json(FILE *out)
{
	why_put_json(out, &test.y, "r \"x\".sqlite", NULL);
}

/*
 * 0-60 at line 1; a lock at line 2, 60-98, of which thread 101 sleeps all at line 9; 98-100 without a CPU (NO_CPU), and 100-110
 * line 1 again: 70 of 110 are 63.6 %, 38 are 34.5 %, 2 are 1.8 %.
 */
static inline void program(void)
{
	report(110);
	runs(MAIN, 0, 60);
	computes(MAIN, 0, 60, L(1));
	call(MAIN, "pthread_mutex_lock", 60, 100, L(2));
	runs(OTHER, 0, 50);
	call(OTHER, "usleep", 50, 98, L(9));
	runs(OTHER, 98, 99);
	runs(MAIN, 100, 110, .by = OTHER, .ready = 98);
	computes(MAIN, 100, 110, L(1));
}

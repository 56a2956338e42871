/*
 * tl_late.c - GPU work in the order in which it was asked for: the timeline has it in the order of its starts, each piece with its
 * call, whether the late rows are few, and fetched one by one, or too many for that, and sorted by SQLite.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "exporters/timeline/tl_internal.h"

#define CALLS 400

static char path[] = "/tmp/sightline-late-XXXXXX";

struct seen {
	char *text;
	size_t len;
	FILE *file;
	int64_t last, calls, work;
};

static int on_track(void *self, struct tl_track *t)
{
	(void)self;
	(void)t;
	return 0;
}

static int on_event(void *self, const struct tl_event *e)
{
	struct seen *s = self;

	assert_true(e->ts >= s->last);
	s->last = e->ts;
	s->calls += e->flow_out != 0;
	s->work += e->flow_in != 0;
	fprintf(s->file, "%s %lld %lld %lld %.*s out %llu in %llu\n", e->table, (long long)e->row,
		(long long)e->ts, (long long)e->dur, (int)e->name.len, e->name.text,
		(unsigned long long)e->flow_out, (unsigned long long)e->flow_in);
	return 0;
}

static void exec(sqlite3 *db, const char *sql)
{
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
}

/* Two streams, of which the second is far behind; every tenth call starts two pieces of work; a range around ten calls. */
static void make_report(void)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	exec(db,
	     "BEGIN;"
	     "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
	     "INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel'), (2, 'kernel'), (3, 'range');"
	     "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass "
	     "INTEGER, globalTid INTEGER, "
	     "correlationId INTEGER, nameId INTEGER, returnValue INTEGER, callchainId INTEGER);"
	     "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId "
	     "INTEGER, contextId INTEGER, "
	     "streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, "
	     "shortName INTEGER);"
	     "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, textId "
	     "INTEGER, text TEXT, "
	     "globalTid INTEGER, domainId INTEGER);");
	for (int i = 1; i <= CALLS; i++) {
		char sql[600];
		int stream = i % 2, start = 1000 * i + (stream ? 50200 : 200);

		snprintf(sql, sizeof(sql),
			 "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (%d, %d, 0, 16777216 * 70 "
			 "+ 70, %d, 1, 0, NULL);"
			 "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (%d, %d, 0, 1, %d, %d, "
			 "16777216 * 70, 2, 2)",
			 1000 * i, 1000 * i + 100, i, start, start + 300, stream, i);
		exec(db, sql);
		snprintf(sql, sizeof(sql),
			 "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (%d, %d, 0, 1, %d, %d, "
			 "16777216 * 70, 2, 2)",
			 start + 400, start + 500, stream, i);
		if (i % 10 == 0)
			exec(db, sql);
		snprintf(sql, sizeof(sql),
			 "INSERT INTO NVTX_EVENTS VALUES (%d, %d, 59, 3, NULL, 16777216 * 70 + 70, "
			 "0)",
			 1000 * i - 10, 1000 * (i + 9) + 200);
		if (i % 10 == 1)
			exec(db, sql);
	}
	exec(db, "COMMIT");
	sqlite3_close(db);
}

static char *events_of(uint32_t late_max)
{
	static const struct tl_sink sink = {on_track, on_event, NULL};
	struct tl_options opt = {.activities = TL_ACT_ALL, .no_args = true};
	struct seen seen = {.last = INT64_MIN};
	char why[512] = "";
	sqlite3 *db = db_read_open(path, why, sizeof(why));
	int64_t cnt;

	assert_non_null(db);
	seen.file = open_memstream(&seen.text, &seen.len);
	assert_non_null(seen.file);
	tl_late_max = late_max;
	cnt = timeline_run(db, &opt, &sink, &seen, why, sizeof(why));
	fclose(seen.file);
	sqlite3_close(db);
	assert_string_equal(why, "");
	/* A range has work on both streams. */
	assert_int_equal(cnt, CALLS + CALLS * 11 / 10 + CALLS / 10 * 3);
	assert_int_equal(seen.calls, CALLS);
	assert_int_equal(seen.work, CALLS * 11 / 10);
	return seen.text;
}

static void test_same(void **state)
{
	uint32_t few = tl_late_max;
	char *fetched = events_of(few), *sorted = events_of(20);

	(void)state;
	assert_string_equal(fetched, sorted);
	free(fetched);
	free(sorted);
	tl_late_max = few;
}

static int set_up(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	if (fd < 0)
		return -1;
	close(fd);
	make_report();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

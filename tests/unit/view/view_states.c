/* view_states.c - lanes of states and of CPUs, of hand-made context switches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "exporters/view/build/build.h"
#include "exporters/view/index/lod.h"

static char dir[] = "/tmp/sightline-view-XXXXXX";
static char report[64], side[96];
static bool stop;

static void make_report(const char *rows)
{
	sqlite3 *db;

	unlink(report);
	assert_int_equal(sqlite3_open(report, &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(
			db,
			"CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
			"INSERT INTO StringIds VALUES (1, 'main'), (2, 'helper');"
			"CREATE TABLE ThreadNames(nameId, priority, globalTid);"
			"INSERT INTO ThreadNames VALUES (1, 20, 0x64000064), (2, 20, 0x64000065);"
			"CREATE TABLE PROCESSES(globalPid, pid, name);"
			"CREATE TABLE SCHED_EVENTS(start, cpu, isSchedIn, globalTid, threadState);"
			"CREATE TABLE SL_SCHED_DETAIL(start, globalTid, preempted, wakeupTime, "
			"wakerTid, priority)",
			NULL, NULL, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, rows, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

struct printed {
	const struct view_store *v;
	FILE *out;
};

static int print(void *ctx, const struct view_event *e)
{
	const struct printed *p = ctx;

	fprintf(p->out, " %lld..", (long long)(e->start + p->v->origin));
	if (!(e->flags & VIEW_OPEN))
		fprintf(p->out, "%lld", (long long)(e->end + p->v->origin));
	fprintf(p->out, " %s;", p->v->names[e->name].text);
	return 0;
}

/* The lanes of @kind, a line for each; until the next call. */
static const char *lanes(enum view_kind kind)
{
	static char *text;
	size_t size;
	struct view_store *v = view_store_new(report);
	struct printed p = {.v = v};

	free(text);
	unlink(side);
	assert_int_equal(view_build(v, &stop), 0);
	p.out = open_memstream(&text, &size);
	for (uint32_t i = 0; i < v->row_cnt; i++) {
		const struct view_row *row = v->rows[i];

		for (uint32_t k = 0; row->kind == kind && k < row->lane_cnt; k++) {
			struct view_reader r;

			assert_true(view_reader_begin(&r, v, row->lanes[k]));
			view_reader_each(&r, INT64_MIN, INT64_MAX, print, &p);
			view_reader_end(&r);
			fputc('\n', p.out);
		}
	}
	fclose(p.out);
	view_store_free(v);
	return text;
}

#define MAIN   "0x64000064"
#define HELPER "0x64000065"

static void each_label_is_a_state(void **state)
{
	(void)state;
	make_report("INSERT INTO SCHED_EVENTS VALUES (100, 0, 1, " MAIN ", NULL), (200, 0, 0, " MAIN
		    ", 1), (250, 1, 1, " MAIN ", NULL), (300, 1, 0, " MAIN ", 2), (400, 0, 1, " MAIN
		    ", NULL), (500, 0, 0, " MAIN ", 3), (600, 0, 1, " MAIN
		    ", NULL), (700, 0, 0, " MAIN ", 4), (800, 0, 1, " MAIN
		    ", NULL), (850, 0, 0, " MAIN ", 0), (860, 0, 1, " MAIN
		    ", NULL), (900, 0, 0, " MAIN ", 5)");
	assert_string_equal(
		lanes(VIEW_STATE),
		" 100..200 running; 200..250 runnable; 250..300 running; 300..400 sleeping; "
		"400..500 running; 500..600 blocked (uninterruptible); 600..700 running; "
		"700..800 stopped; 800..850 running; 850..860 off CPU; 860..900 running;\n");
	assert_string_equal(lanes(VIEW_CPU), " 100..200 main (100); 400..500 main (100); 600..700 "
					     "main (100); 800..850 main (100); "
					     "860..900 main (100);\n 250..300 main (100);\n");
}

static void a_wakeup_ends_the_sleep(void **state)
{
	(void)state;
	make_report("INSERT INTO SCHED_EVENTS VALUES (100, 0, 1, " MAIN ", NULL), (200, 0, 0, " MAIN
		    ", 2), (250, 0, 1, " MAIN ", NULL), (300, 0, 0, " MAIN ", 2), (400, 0, 1, " MAIN
		    ", NULL), (500, 0, 0, " MAIN ", 2), (600, 0, 1, " MAIN
		    ", NULL), (700, 0, 0, " MAIN ", 5);"
		    /* in the sleep; before the switch off the CPU; after the sleep */
		    "INSERT INTO SL_SCHED_DETAIL VALUES (250, " MAIN
		    ", NULL, 230, NULL, 120), (400, " MAIN ", NULL, 299, NULL, 120), (600, " MAIN
		    ", NULL, 601, NULL, 120)");
	assert_string_equal(
		lanes(VIEW_STATE),
		" 100..200 running; 200..230 sleeping; 230..250 runnable; 250..300 running; "
		"300..400 runnable; 400..500 running; 500..600 sleeping; 600..700 running;\n");
}

static void details_count_for_their_switch_alone(void **state)
{
	(void)state;
	/* both threads switch at 200, and main also gets the CPU then */
	make_report("INSERT INTO SCHED_EVENTS VALUES (100, 0, 1, " HELPER
		    ", NULL), (200, 0, 0, " HELPER ", 2), (200, 1, 1, " MAIN
		    ", NULL), (200, 1, 0, " MAIN ", 2), (300, 0, 1, " HELPER
		    ", NULL), (310, 1, 1, " MAIN ", NULL), (400, 0, 0, " HELPER
		    ", 5), (410, 1, 0, " MAIN ", 5);"
		    "INSERT INTO SL_SCHED_DETAIL VALUES (200, " HELPER
		    ", 1, NULL, NULL, 120), (200, " MAIN ", NULL, 150, NULL, 120)");
	assert_string_equal(lanes(VIEW_STATE), " 100..200 running; 200..300 runnable; 300..400 "
					       "running;\n 200..310 sleeping; 310..410 running;\n");
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(report, sizeof(report), "%s/run.sqlite", dir);
	snprintf(side, sizeof(side), "%s.view", report);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(side);
	unlink(report);
	rmdir(dir);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_label_is_a_state),
		cmocka_unit_test(a_wakeup_ends_the_sleep),
		cmocka_unit_test(details_count_for_their_switch_alone),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

/* view_build.c - the index of a report, made at once and with a part of it shown first: the same, and what the tables have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "collector/base/hash.h"
#include "exporters/view/build/build.h"
#include "exporters/view/index/lod.h"

#define ROWS    40000
#define THREADS 3

static char dir[] = "/tmp/sightline-view-XXXXXX";
static char report[64], side[96];
static bool stop;
static uint64_t random_state = 7;

static int64_t below(int64_t n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)(random_state >> 33) % n;
}

static void run(sqlite3 *db, const char *sql)
{
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
}

/* Calls in the order of their ends, as they are recorded: some last through thousands of others, many begin together. */
static void make_report(void)
{
	sqlite3 *db;
	int64_t now[THREADS] = {0};
	char sql[256];

	assert_int_equal(sqlite3_open(report, &db), SQLITE_OK);
	run(db,
	    "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringIds "
	    "VALUES (1, 'read'), (2, 'write'), (3, 'wait'), (4, 'loop');"
	    "CREATE TABLE ThreadNames(nameId, priority, globalTid);"
	    "CREATE TABLE PROCESSES(globalPid, pid, name);"
	    "CREATE TABLE OSRT_API(start, \"end\", eventClass, globalTid, correlationId, nameId, "
	    "returnValue, nestingLevel, callchainId);"
	    "CREATE TABLE unsorted(start, \"end\", tid, name); BEGIN");
	for (int i = 0; i < ROWS; i++) {
		int tid = i % THREADS;
		int64_t dur = below(1000) == 0 ? 3000000 : 10 + below(100);
		int64_t end = now[tid] + dur;

		/* To a multiple of 16, so that starts agree between threads. */
		snprintf(sql, sizeof(sql), "INSERT INTO unsorted VALUES(%lld, %lld, %d, %d)",
			 (long long)now[tid], (long long)end, tid, (int)below(3) + 1);
		run(db, sql);
		now[tid] += (dur + below(64) + 15) & ~INT64_C(15);
	}
	now[0] += 5;
	snprintf(sql, sizeof(sql), "INSERT INTO unsorted VALUES(1, %lld, 7, 4)", (long long)now[0]);
	run(db, sql);
	run(db, "INSERT INTO OSRT_API SELECT start, \"end\", 27, (1 << 48) | (100 << 24) | (100 + "
		"tid), 0, name, 0, 0, NULL FROM unsorted ORDER BY \"end\"; DROP TABLE unsorted; "
		"COMMIT");
	sqlite3_close(db);
}

struct seen {
	int64_t cnt, covered, next;
	uint64_t hash;
};

static int each(void *ctx, const struct view_event *e)
{
	struct seen *s = ctx;

	assert_true(e->start >= s->next);
	s->next = e->end;
	s->cnt++;
	s->covered += e->end - e->start;
	s->hash = hash_u64(s->hash ^ (uint64_t)e->start) + hash_u64((uint64_t)e->row);
	return 0;
}

static struct seen all_of(struct view_store *v)
{
	struct seen all = {0};

	for (uint32_t lane = 1; lane <= v->lane_cnt; lane++) {
		struct seen s = {.next = INT64_MIN};
		struct view_reader r;

		assert_true(view_reader_begin(&r, v, lane));
		view_reader_each(&r, INT64_MIN, INT64_MAX, each, &s);
		view_reader_end(&r);
		all.cnt += s.cnt;
		all.covered += s.covered;
		all.hash += s.hash;
	}
	return all;
}

static struct seen build(int64_t first_part)
{
	struct view_store *v = view_store_new(report);
	struct seen all;

	unlink(side);
	view_first_part = first_part;
	assert_int_equal(view_build(v, &stop), 0);
	assert_int_equal(v->state, VIEW_READY);
	assert_int_equal(v->disordered, 0);
	assert_int_equal(v->events, ROWS + 1);
	assert_true(v->indexed == v->last && v->progress == 1);
	all = all_of(v);
	view_store_free(v);
	/* And out of the file. */
	v = view_store_new(report);
	assert_int_equal(view_build(v, &stop), 0);
	assert_true(all_of(v).hash == all.hash);
	view_store_free(v);
	return all;
}

static void test_same(void **state)
{
	struct seen at_once, with_part;
	sqlite3 *db;
	sqlite3_stmt *stmt;

	(void)state;
	at_once = build(INT64_MAX / 16);
	with_part = build(500);
	assert_int_equal(sqlite3_open(report, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db,
					    "SELECT count(*), sum(\"end\" - start) FROM OSRT_API",
					    -1, &stmt, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	assert_int_equal(at_once.cnt, sqlite3_column_int64(stmt, 0));
	assert_int_equal(at_once.covered, sqlite3_column_int64(stmt, 1));
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	assert_int_equal(with_part.cnt, at_once.cnt);
	assert_int_equal(with_part.covered, at_once.covered);
	assert_true(with_part.hash == at_once.hash);
}

/* ---- what is seen of it meanwhile ---- */

struct watched {
	struct view_store *v;
	uint64_t early; /* events before all is there */
};

static void *watch(void *arg)
{
	struct watched *w = arg;
	enum view_state now;

	do {
		pthread_rwlock_rdlock(&w->v->lock);
		now = w->v->state;
		for (uint32_t i = 0; now == VIEW_BUILDING && i < w->v->lane_cnt; i++)
			if (w->early == 0 && w->v->indexed > 0)
				w->early = w->v->lanes[i]->seen.events;
		pthread_rwlock_unlock(&w->v->lock);
	} while (now == VIEW_BUILDING);
	return NULL;
}

/* It lasts a few milliseconds only, so that not each try meets it. */
static void test_early(void **state)
{
	uint64_t early = 0;

	(void)state;
	view_first_part = 2000;
	for (int i = 0; i < 200 && early == 0; i++) {
		struct watched w = {view_store_new(report), 0};
		pthread_t thread;

		unlink(side);
		assert_int_equal(pthread_create(&thread, NULL, watch, &w), 0);
		assert_int_equal(view_build(w.v, &stop), 0);
		pthread_join(thread, NULL);
		early = w.early;
		view_store_free(w.v);
	}
	assert_true(early > 0 && early <= ROWS / 3);
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(report, sizeof(report), "%s/run.sqlite", dir);
	snprintf(side, sizeof(side), "%s.view", report);
	make_report();
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
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_early),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

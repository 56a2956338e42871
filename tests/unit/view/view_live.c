/*
 * view_live.c - an index that follows a report: after each of some looks, what it has is what an index made anew has, row by row,
 * however late a row came; and a look costs what is new, not what is there.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include <cmocka.h>

#include "collector/base/embed.h"
#include "collector/base/hash.h"
#include "exporters/read/functions.h"
#include "exporters/view/build/live.h"
#include "exporters/view/index/lod.h"

#define LOOKS   24
#define CALLS   30000
#define THREADS 4
#define PROCESS ((INT64_C(1) << 48) | (100 << 24))
#define NAMES   6

static char dir[] = "/tmp/sightline-view-XXXXXX";
static char report[64], side[96];
static bool stop;
static uint64_t seed = 11;

static int64_t below(int64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)(seed >> 33) % n;
}

/* ---- rows, in the order in which they are written ---- */

struct row {
	int64_t written;
	char sql[230];
};
static struct row *rows;
static size_t row_cnt, row_room;

__attribute__((format(printf, 2, 3))) static void add(int64_t written, const char *form, ...)
{
	va_list args;

	if (row_cnt == row_room)
		rows = reallocarray(rows, row_room = row_room ? row_room * 2 : 1024, sizeof(*rows));
	assert_non_null(rows);
	rows[row_cnt].written = written;
	va_start(args, form);
	vsnprintf(rows[row_cnt].sql, sizeof(rows->sql), form, args);
	va_end(args);
	row_cnt++;
}

static int by_time(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->written != y->written)
		return x->written < y->written ? -1 : 1;
	return strcmp(x->sql, y->sql);
}

static long long thread(int i)
{
	return PROCESS + 100 + i;
}

/* Calls of libc with calls in them; a few last long. Each is written when it has ended, some a little later. */
static void call(int tid, int64_t start, int64_t end, int depth)
{
	bool moves = below(3) == 0;

	if (depth < 4 && end - start > 40 && below(2)) {
		int64_t at = start + 1 + below((end - start) / 4);

		while (at + 2 < end) {
			int64_t to = at + 1 + below((end - at) / 2 + 1);

			call(tid, at, to < end ? to : end, depth + 1);
			at = to + below(end - start);
		}
	}
	add(end + below(300),
	    moves ? "INSERT INTO OSRT_API VALUES(%lld, %lld, 27, %lld, %d, 0, 0, 0, 0, 3, NULL, "
		    "%d, 9, %d, "
		    "NULL, NULL)"
		  : "INSERT INTO OSRT_API VALUES(%lld, %lld, 27, %lld, %d, 0, 0, 0, 0, NULL, NULL, "
		    "NULL, NULL, "
		    "NULL, NULL, NULL)",
	    (long long)start * 1000, (long long)end * 1000, thread(tid), (int)below(4) + 1,
	    (int)below(3) + 20, (int)below(4096));
}

static void calls(void)
{
	int64_t now[THREADS] = {0};

	for (int i = 0; i < CALLS / 3; i++) {
		int tid = i % THREADS;
		int64_t dur = below(500) == 0 ? 60000 : 1 + below(200);

		call(tid, now[tid], now[tid] + dur, 0);
		now[tid] += dur + below(50);
	}
	/* From nearly the beginning to the end. */
	add(now[0] + 1,
	    "INSERT INTO OSRT_API VALUES(5000, %lld, 27, %lld, 4, 0, 0, 0, 0, NULL, NULL, NULL, "
	    "NULL, "
	    "NULL, NULL, NULL)",
	    (long long)now[0] * 1000, thread(9));
	for (int64_t at = 0; at < now[0]; at += 3000 + below(3000)) {
		for (int64_t in = at; in < at + 2500; in += 400)
			add(in + 390,
			    "INSERT INTO NVTX_EVENTS(start, end, eventType, globalTid, text, "
			    "color) "
			    "VALUES(%lld, %lld, 59, %lld, 'inner', 255)",
			    (long long)in * 1000 + 7, (long long)(in + 390) * 1000, thread(1));
		add(at + 2600,
		    "INSERT INTO NVTX_EVENTS(start, end, eventType, globalTid, text) "
		    "VALUES(%lld, %lld, 59, %lld, 'outer')",
		    (long long)at * 1000, (long long)(at + 2600) * 1000, thread(1));
		add(at + 100,
		    "INSERT INTO NVTX_EVENTS(start, eventType, globalTid, text) "
		    "VALUES(%lld, 34, %lld, 'mark')",
		    (long long)at * 1000, thread(2));
	}
}

/* Which thread runs on which of two CPUs. */
static void switches(int64_t until)
{
	int on[2] = {-1, -1};

	for (int64_t at = 5; at < until; at += 1 + below(200)) {
		int cpu = (int)below(2), next = (int)below(THREADS);

		if (on[cpu] >= 0) {
			add(at, "INSERT INTO SCHED_EVENTS VALUES(%lld, %d, 0, %lld, %d, NULL)",
			    (long long)at * 1000, cpu, thread(on[cpu]), (int)below(3) + 1);
			on[cpu] = -1;
		} else if (next != on[1 - cpu]) {
			add(at,
			    "INSERT INTO SCHED_EVENTS VALUES(%lld, %d, 1, %lld, NULL, NULL); "
			    "INSERT INTO SL_SCHED_DETAIL VALUES(%lld, %lld, NULL, %lld, NULL, 120)",
			    (long long)at * 1000, cpu, thread(next), (long long)at * 1000,
			    thread(next), (long long)(at - below(90)) * 1000);
			on[cpu] = next;
		}
	}
}

static void gpu(int64_t until)
{
	for (int64_t at = 10, i = 1; at < until; at += 50 + below(100), i++) {
		int64_t start = at + 20 + below(60), end = start + 1 + below(200);

		add(at + 5,
		    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(%lld, %lld, 0, %lld, %lld, 5, "
		    "0, NULL)",
		    (long long)at * 1000, (long long)at * 1000 + 4000, thread(1), (long long)i);
		add(end + 500,
		    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(%lld, %lld, 0, 1, %lld, %lld, "
		    "%lld, 6, 6)",
		    (long long)start * 1000, (long long)end * 1000, (long long)below(2) + 7,
		    (long long)i, (long long)PROCESS);
		add(at + 6,
		    "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS(start, globalPid, deviceId, "
		    "contextId, address, "
		    "pc, bytes, memKind, memoryOperationType, correlationId) VALUES(%lld, %lld, 0, "
		    "1, %lld, 0, %lld, 2, 0, 1)",
		    (long long)(at - below(200)) * 1000, (long long)PROCESS, (long long)i,
		    (long long)below(100000));
	}
	for (int64_t at = 0, i = 0; at < until; at += 997, i++) {
		add(at, "INSERT INTO SL_COUNTER_SAMPLES VALUES(1, %lld, %lld), (2, %lld, %lld)",
		    (long long)at * 1000, (long long)below(100), (long long)at * 1000,
		    (long long)below(1000));
		add(at,
		    "INSERT INTO GPU_METRICS VALUES(0, %lld, 1, 1, %lld, NULL), (0, %lld, 1, 2, "
		    "%lld, NULL)",
		    (long long)at * 1000, (long long)below(100), (long long)at * 1000,
		    (long long)below(100));
		add(at, "INSERT INTO PMU_EVENTS VALUES(%lld, %lld, 0, %lld, %lld)",
		    (long long)(at - 997) * 1000, (long long)(at - below(2) * 100) * 1000,
		    (long long)(i % 2), (long long)i);
		add(at, "INSERT INTO PMU_EVENT_COUNTERS VALUES(%lld, 1, %lld, NULL)", (long long)i,
		    (long long)below(10000));
	}
}

static void run(sqlite3 *db, const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sqlite3_errmsg(db), sql);
}

static sqlite3 *begin(void)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(report, &db), SQLITE_OK);
	assert_int_equal(functions_register(db), SQLITE_OK);
	for (const struct embedded *e = sl_embedded; e->name; e++)
		if (strcmp(e->name, "schema.sql") == 0)
			run(db, e->text);
	run(db, "PRAGMA journal_mode = WAL;"
		"INSERT INTO StringIds VALUES(1, 'read'), (2, 'write'), (3, 'recv'), (4, 'loop'), "
		"(5, 'cudaLaunchKernel'), "
		"(6, 'kernel'), (20, '/a/b'), (21, '/c'), (22, '/d');"
		"INSERT INTO PROCESSES VALUES(281476654759936, 100, 'program');"
		"INSERT INTO SL_COUNTERS VALUES(1, 'host', NULL, NULL, NULL, 'level', 'B', 0), (2, "
		"'host', NULL, NULL, NULL, 'sum', "
		"'B', 1);"
		"INSERT INTO TARGET_INFO_GPU_METRICS VALUES(1, 0, 'x', 1, 'one'), (1, 0, 'x', 2, "
		"'two');"
		"INSERT INTO PMU_EVENT_REQUESTS(id, event_name) SELECT 1, 'cycles' WHERE 0;"
		"DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; CREATE TABLE "
		"CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, "
		"contextId, streamId, correlationId, globalPid, demangledName, shortName)");
	return db;
}

/* ---- what an index has ---- */

struct seen {
	const struct view_store *v;
	int64_t next;
	uint64_t cnt, hash;
};

static uint64_t text_hash(const char *text)
{
	uint64_t h = 5381;

	for (; *text; text++)
		h = h * 33 + (unsigned char)*text;
	return hash_u64(h);
}

static int each(void *ctx, const struct view_event *e)
{
	struct seen *s = ctx;
	uint64_t h = hash_u64((uint64_t)e->start) ^ (uint64_t)e->row << 20;

	assert_true(e->start >= s->next && e->end >= e->start);
	s->next = e->end;
	s->cnt++;
	h = hash_u64(h ^ (uint64_t)e->end) ^ (uint64_t)(e->flags & ~VIEW_FLOW);
	/* Numbers of names and tables are each index's own. */
	h ^= text_hash(s->v->names[e->name].text) ^ text_hash(s->v->sources[e->source]);
	s->hash += hash_u64(h);
	return 0;
}

static struct seen all_of(struct view_store *v, const struct view_row *row)
{
	struct seen s = {.v = v};
	uint64_t events = 0;
	int64_t busy = 0;

	for (uint32_t i = 0; i < row->lane_cnt; i++) {
		struct view_reader r;

		s.next = INT64_MIN;
		assert_true(view_reader_begin(&r, v, row->lanes[i]));
		view_reader_each(&r, INT64_MIN, INT64_MAX, each, &s);
		assert_false(r.is_damaged);
		events += r.lane->seen.events;
		busy += r.lane->seen.busy;
		view_reader_end(&r);
	}
	assert_int_equal(s.cnt, events);
	(void)busy;
	return s;
}

static double value_at(struct view_store *v, const struct view_row *row, int64_t t)
{
	float least[VIEW_TILE_PX], most[VIEW_TILE_PX], last[VIEW_TILE_PX];
	struct view_reader r;

	assert_int_equal(row->lane_cnt, 1);
	assert_true(view_reader_begin(&r, v, row->lanes[0]));
	view_tile_counter(&r, 0, t >> 8, least, most, last);
	view_reader_end(&r);
	return (double)last[t & 255];
}

static void same_counter(struct view_store *a, const struct view_row *x, struct view_store *b,
			 const struct view_row *y)
{
	int64_t last = b->lanes[y->lanes[0] - 1]->seen.last;

	for (int i = 0; i < 200; i++) {
		int64_t t = below(b->last + 1000);
		double p = value_at(a, x, t), q = value_at(b, y, t);

		/* Only of a report that does not grow it is known that sampling has ended. */
		if (t >= last && isnan(q))
			continue;
		if (isnan(p) != isnan(q) || fabs(p - q) > 1e-4 * fmax(1, fabs(q)))
			fail_msg("%s at %lld: %f, and %f made anew", x->name, (long long)t, p, q);
	}
}

static void same(struct view_store *a, struct view_store *b)
{
	unsigned rows_seen = 0;

	assert_int_equal(a->last, b->last);
	for (uint32_t i = 0; i < b->row_cnt; i++) {
		const struct view_row *y = b->rows[i], *x = view_row_find(a, y->key);
		struct seen p, q;

		/* They follow later. */
		if (y->kind == VIEW_NVTX_GPU)
			continue;
		if (!x)
			fail_msg("no row %s", y->key);
		assert_int_equal(x->kind, y->kind);
		if (y->kind == VIEW_COUNTER) {
			same_counter(a, x, b, y);
			continue;
		}
		p = all_of(a, x);
		q = all_of(b, y);
		if (p.cnt != q.cnt || p.hash != q.hash)
			fail_msg("%s: %llu events, and %llu made anew", y->key,
				 (unsigned long long)p.cnt, (unsigned long long)q.cnt);
		rows_seen += q.cnt > 0;
	}
	assert_true(rows_seen >= 1);
}

static struct view_store *anew(void)
{
	struct view_store *v = view_store_new(report);

	unlink(side);
	assert_int_equal(view_build(v, &stop), 0);
	assert_int_equal(v->disordered, 0);
	return v;
}

static void test_follow(void **state)
{
	sqlite3 *db = begin();
	struct view_store *v = view_store_new(report), *whole;
	int held = open(report, O_RDONLY);
	uint64_t written = 0;
	size_t at = 0;

	(void)state;
	qsort(rows, row_cnt, sizeof(*rows), by_time);
	assert_int_equal(flock(held, LOCK_EX), 0);
	for (int look = 0; look <= LOOKS; look++) {
		char why[VIEW_WHY] = "";

		run(db, "BEGIN");
		for (; at < row_cnt * (size_t)(look + 1) / (LOOKS + 1); at++, written++)
			run(db, rows[at].sql);
		run(db, "COMMIT");
		if (look == 0) {
			assert_int_equal(view_build(v, &stop), 0);
			assert_int_equal(v->state, VIEW_LIVE);
		} else {
			struct view_builder b = {.v = v,
						 .db = db,
						 .stop = &stop,
						 .until = INT64_MAX,
						 .bounds = v->live,
						 .live = v->live};

			assert_int_equal(view_live_next(v->live, db), 0);
			if (view_walk_on(&b, why, sizeof(why)) < 0)
				fail_msg("look %d: %s", look, why);
		}
		assert_int_equal(v->disordered, 0);
		if (look % 4 == 0 || look == LOOKS) {
			flock(held, LOCK_UN);
			whole = anew();
			same(v, whole);
			view_store_free(whole);
			assert_int_equal(flock(held, LOCK_EX), 0);
		}
	}
	/* Long calls and ranges move what is in them, which is no more than a few times of all. */
	assert_true(view_live_moved(v->live) < 4 * written);
	view_store_free(v);
	close(held);
	sqlite3_close(db);
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(report, sizeof(report), "%s/run.sqlite", dir);
	snprintf(side, sizeof(side), "%s.view", report);
	calls();
	switches(rows[row_cnt - 1].written);
	gpu(rows[row_cnt - 1].written);
	return 0;
}

static int tear_down(void **state)
{
	char name[128];

	(void)state;
	for (int i = 0; i < 4; i++) {
		static const char *const ends[] = {"", "-wal", "-shm", ".view"};

		snprintf(name, sizeof(name), "%s%s", report, ends[i]);
		unlink(name);
	}
	rmdir(dir);
	free(rows);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_follow),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

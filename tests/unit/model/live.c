/*
 * live.c - the sums for who watches a recording are those of what was recorded: short calls counted once, files by
 * path, GPUs by the time they were busy; and they are gone when the report is finished.
 */
#include "tests/unit/report/db_test.h"

#include "collector/model/live_internal.h"
#include "tests/unit/collect/ring_test.h"

#define PID GLOBAL_PID(getpid())

static const char *calls_of(const char *name)
{
	char sql[400];

	snprintf(sql, sizeof(sql),
		 "SELECT sum(calls) || ' ' || sum(totalNs) || ' ' || sum(bytes) || ' ' || "
		 "sum(errorCount) "
		 "FROM SL_LIVE_CALLS JOIN StringIds s ON s.id = nameId WHERE s.value = '%s'",
		 name);
	return ask(sql);
}

static void write_sums(struct side *s)
{
	drain_totals(&s->arenas, false);
	live_flush(&s->arenas, NULL, &(struct live_now){1000, 0, true});
	side_commit(s);
}

static void short_call(struct ring *r, uint32_t slot, unsigned hook, uint64_t ns, uint64_t bytes)
{
	struct sl_agg *a =
		&((struct sl_agg *)sl_chunk_at(r->arena, r->arena->slot[slot].agg_chunk))[hook];

	a->count++;
	a->total += ns;
	a->bytes += bytes;
}

static void calls_are_summed_up_and_short_ones_too(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	struct side s;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	ring_path(&r, slot, SL_H_open, 3, 0, 3, 1, "/data/x");
	ring_path(&r, slot, SL_H_open, ENOENT, SL_REC_ERR, -1, 0, "/none");
	ring_io(&r, slot, SL_H_read, 60, 100, 3, 1);
	side_drain(&s);
	short_call(&r, slot, SL_H_read, 7, 5);
	short_call(&r, slot, SL_H_read, 8, 6);
	write_sums(&s);
	assert_string_equal(calls_of("open"), "2 100 0 1");
	assert_string_equal(calls_of("read"), "3 65 71 0");
	/* Once more: what was there is not counted again. */
	short_call(&r, slot, SL_H_read, 5, 0);
	short_call(&r, slot, SL_H_close, 4, 0);
	write_sums(&s);
	assert_string_equal(calls_of("read"), "4 70 71 0");
	assert_string_equal(calls_of("close"), "1 4 0 0");
	assert_string_equal(ask("SELECT group_concat(calls || ' ' || callNs || ' ' || isOver) FROM "
				"SL_LIVE_THREADS"),
			    "7 174 0");
	assert_string_equal(ask("SELECT group_concat(coalesce(path, '-') || ' ' || operations || ' "
				"' || bytesRead) "
				"FROM (SELECT * FROM SL_LIVE_FILES ORDER BY path)"),
			    "- 3 11,/data/x 2 60");
	side_die(&s);
}

static void only_what_changed_is_written(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	struct side s;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	ring_call(&r, slot, SL_H_fsync, 0);
	ring_call(&r, slot, SL_H_dup, 0);
	side_drain(&s);
	write_sums(&s);
	assert_false(live_flush(&s.arenas, NULL, &(struct live_now){2000, 0, true}));
	ring_call(&r, slot, SL_H_dup, 0);
	side_drain(&s);
	write_sums(&s);
	assert_string_equal(ask("SELECT group_concat(s.value || changed) FROM SL_LIVE_CALLS "
				"JOIN StringIds s ON s.id = nameId ORDER BY s.value DESC"),
			    "fsync1,dup3");
	assert_string_equal(ask("SELECT changed || ' ' || events FROM SL_LIVE_SESSION"), "3 3");
	side_die(&s);
}

static void another_report_begins_with_nothing(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	struct side s;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	ring_path(&r, slot, SL_H_open, 3, 0, 3, 1, "/data/x");
	side_drain(&s);
	short_call(&r, slot, SL_H_read, 7, 5);
	drain_totals(&s.arenas, false);
	live_begin(&s.arenas, NULL, 500);
	memset(sl_chunk_at(r.arena, r.arena->slot[slot].agg_chunk), 0, SL_CHUNK_BYTES);
	short_call(&r, slot, SL_H_read, 3, 2);
	short_call(&r, slot, SL_H_read, 0, 0);
	ring_io(&r, slot, SL_H_read, 60, 100, 3, 1);
	side_drain(&s);
	write_sums(&s);
	assert_string_equal(calls_of("read"), "3 53 62 0");
	assert_string_equal(ask("SELECT count(*) FROM SL_LIVE_CALLS"), "1");
	assert_string_equal(ask("SELECT path || operations FROM SL_LIVE_FILES WHERE path <> ''"),
			    "/data/x1");
	assert_string_equal(ask("SELECT since || ' ' || events FROM SL_LIVE_SESSION"), "500 1");
	side_die(&s);
}

static void many_files_are_summed_by_folder(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	struct side s;
	char path[64];

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	for (uint32_t i = 0; i < 5000; i++) {
		snprintf(path, sizeof(path), "/data/%s/f%u", i % 2 ? "odd" : "even", i);
		ring_path(&r, slot, SL_H_open, 3, 0, 3, i + 1, path);
		ring_io(&r, slot, SL_H_read, 10, 10, 3, i + 1);
	}
	side_drain(&s);
	write_sums(&s);
	assert_string_equal(
		ask("SELECT count(*) || ' ' || sum(operations) || ' ' || sum(bytesRead) FROM "
		    "SL_LIVE_FILES"),
		"4098 10000 50000");
	assert_string_equal(
		ask("SELECT group_concat(path || ' ' || operations) FROM (SELECT * FROM "
		    "SL_LIVE_FILES WHERE isFolder ORDER BY path)"),
		"/data/even/ 904,/data/odd/ 904");
	side_die(&s);
}

static void a_thread_that_ended_is_over(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), 1 << 22 /* no thread has this id */);
	struct side s;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	ring_call(&r, slot, SL_H_fsync, 0);
	side_drain(&s);
	drain_reap(&s.arenas, true);
	side_drain(&s);
	drain_reap(&s.arenas, true);
	write_sums(&s);
	assert_string_equal(
		ask("SELECT calls || ' ' || isOver || coalesce(isOnCpu, '-') FROM SL_LIVE_THREADS"),
		"1 1-");
	side_die(&s);
}

static void finished_reports_have_none(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	struct side s;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	ring_call(&r, slot, SL_H_fsync, 0);
	side_drain(&s);
	write_sums(&s);
	assert_string_equal(ask("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'SL_LIVE_%' "
				"AND type = 'table'"),
			    "3");
	while (s.arenas.first)
		arena_detach(&s.arenas, s.arenas.first);
	assert_int_equal(db_finish(s.db, 5000), 0);
	assert_string_equal(ask("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'SL_LIVE_%'"),
			    "0");
	assert_string_equal(ask("PRAGMA integrity_check"), "ok");
	model_release(&s.model);
	clock_map_release(&s.clock);
}

/* Against the simplest way to count: a second for every stretch. */
static void a_gpu_is_busy_once_however_much_it_does(void **state)
{
	struct live_gpu g = {0};
	bool is_busy[3000] = {false};
	int64_t sum = 0, want = 0;
	uint32_t x = 1;

	(void)state;
	for (int i = 0; i < 2000; i++) {
		int64_t from, to;

		/* Somewhere among the last hundred: several streams, one after the other. */
		x = x * 1664525 + 1013904223;
		from = i + (x >> 16) % 100;
		to = from + (x >> 24) % 7;
		sum += live_gpu_busy(&g, from, to);
		for (int64_t at = from; at < to; at++)
			is_busy[at] = true;
	}
	for (int i = 0; i < 3000; i++)
		want += is_busy[i];
	assert_int_equal(sum, want);
	assert_true(g.spans <= LIVE_SPANS);
}

static void gaps_of_a_gpu_that_are_too_old_are_not_filled_twice(void **state)
{
	struct live_gpu g = {0};
	int64_t sum = 0;

	(void)state;
	for (int64_t i = 0; i < 200; i++)
		sum += live_gpu_busy(&g, i * 10, i * 10 + 5);
	assert_int_equal(sum, 1000);
	/* All of the time once more: of the gaps, only those between the latest stretches count. */
	sum = live_gpu_busy(&g, 0, 2000);
	assert_true(sum >= 5 * (LIVE_SPANS - 2) && sum <= 5 * (LIVE_SPANS + 1));
	assert_int_equal(live_gpu_busy(&g, 0, 2000), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(calls_are_summed_up_and_short_ones_too),
		TEST(only_what_changed_is_written),
		TEST(another_report_begins_with_nothing),
		TEST(many_files_are_summed_by_folder),
		TEST(a_thread_that_ended_is_over),
		TEST(finished_reports_have_none),
		cmocka_unit_test(a_gpu_is_busy_once_however_much_it_does),
		cmocka_unit_test(gaps_of_a_gpu_that_are_too_old_are_not_filled_twice),
	};

	return cmocka_run_group_tests_name("live", tests, NULL, NULL);
}

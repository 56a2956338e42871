/*
 * flight.c - the flight recorder's memory: what is held back, what is let go when it is too much, and the context
 * switches of a window.
 */
#include "tests/unit/report/db_test.h"

#include "tests/unit/collect/ring_test.h"

#include "collector/capture/flight/flight_ring.h"
#include "collector/capture/flight/flight_store.h"

#define CHUNK_CALLS (RING_WORDS / 3)

static const char *rows(void)
{
	return ask("SELECT count(*) || ' ' || coalesce(min(returnValue), -1) || ' ' || "
		   "coalesce(max(returnValue), -1) FROM OSRT_API");
}

/* A call that ended at @ticks. */
static void call_at(struct ring *r, uint32_t slot, uint64_t ticks, int64_t ret)
{
	struct sl_chunk *c;
	uint64_t *w = ring_room(r, slot, 3, &c);

	w[0] = ticks - 50;
	w[1] = 50 | (uint64_t)sl_head(SL_H_fsync, 3, 0, SL_SHAPE_CALL, 0) << 32;
	w[2] = (uint64_t)ret;
	c->committed += 24;
}

static uint32_t me(struct ring *r)
{
	return ring_thread(r, 1, (uint32_t)getpid(), (uint32_t)gettid());
}

static void what_is_held_stays_until_it_is_not(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = me(&r);
	uint64_t base = sl_mono_ns();
	struct side s;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	for (int i = 1; i <= 5000; i++)
		call_at(&r, slot, base + (uint64_t)i, i);
	s.arenas.flight.hold = base + 2000;
	side_drain(&s);
	side_commit(&s);
	assert_string_equal(rows(), "2000 1 2000");
	side_drain(&s);
	assert_int_equal(s.arenas.ever.rows, 2000);
	s.arenas.flight.hold = 0;
	side_drain(&s);
	side_commit(&s);
	assert_string_equal(rows(), "5000 1 5000");
	side_die(&s);
}

/* Its process would be unknown as long as it is held. */
static void the_first_word_of_a_process_is_not_held(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = me(&r);
	struct side s;
	struct sl_chunk *c;
	uint64_t *w = ring_room(&r, slot, 6, &c);

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	w[0] = sl_mono_ns();
	w[1] = (uint64_t)sl_head(SL_META_IMAGE, 6, 0, SL_SHAPE_META, 0) << 32;
	w[2] = (uint32_t)getpid();
	w[3] = SL_IMAGE_START;
	w[4] = 7;
	memcpy(&w[5], "/bin/x\0", 8);
	c->committed += 48;
	ring_call(&r, slot, SL_H_fsync, 1);
	s.arenas.flight.hold = 1;
	side_drain(&s);
	model_settle(&s.model, INT64_MAX / 2, true);
	side_commit(&s);
	assert_string_equal(ask("SELECT count(*) FROM SL_PROCESS_TREE"), "1");
	assert_int_equal(s.arenas.ever.rows, 1);
	side_die(&s);
}

/* Two threads that fill chunks in turn: the oldest chunk goes first, whichever thread wrote it. */
static void the_oldest_chunks_go_first(void **state)
{
	struct ring r = ring_new();
	uint32_t a = me(&r), b = me(&r);
	uint64_t base = sl_mono_ns(), n = 0, fixed, used, until;
	struct flight_ages ages = {0};
	struct side s;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	for (unsigned turn = 0; turn < 10; turn++)
		for (unsigned i = 0; i < CHUNK_CALLS; i++, n++)
			call_at(&r, turn % 2 ? b : a, base + n * 100, (int64_t)n);
	s.arenas.flight.hold = 1;
	usleep(20000); /* or the last of them lie in the future */
	side_drain(&s);
	used = flight_used(&s.arenas, &fixed);
	assert_int_equal(used - fixed, 8 * SL_CHUNK_BYTES);
	assert_int_equal(flight_look(&s.arenas, &ages), 0);
	assert_int_equal(ages.cnt, 8);
	/* Three chunks: the first two of one, the first of the other. */
	until = flight_ages_pick(&ages, 0, 3 * SL_CHUNK_BYTES - 1);
	s.arenas.flight.hold = until;
	side_drain(&s);
	side_commit(&s);
	/* What the other had written by then was a chunk, too. */
	assert_int_equal(flight_used(&s.arenas, &fixed), used - 4 * SL_CHUNK_BYTES);
	/* And what was read is what ended by then, of both. */
	assert_string_equal(ask("SELECT max(returnValue) - count(*) FROM OSRT_API"), "-1");
	assert_int_equal(atoll(ask("SELECT count(*) FROM OSRT_API")), (until - base) / 100 + 1);
	free(ages.at);
	side_die(&s);
}

/* An arena that has few chunks left is short, whatever the limit of all together. */
static void an_arena_runs_short(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = me(&r);
	uint64_t base = sl_mono_ns(), n = 0, until;
	struct flight_ages ages = {0};
	struct side s;

	(void)state;
	r.arena->chunk_cnt = 64;
	side_open(&s, false);
	side_attach(&s, &r, false);
	s.arenas.flight.hold = 1;
	for (unsigned chunks = 1; chunks <= 60; chunks++) {
		for (unsigned i = 0; i < CHUNK_CALLS; i++, n++)
			call_at(&r, slot, base + n, (int64_t)n);
		side_drain(&s);
		ages.cnt = 0;
		until = flight_look(&s.arenas, &ages);
		/* One in eight is spare. */
		if (chunks + 1 <= 56)
			assert_int_equal(until, 0);
		else
			assert_true(until > base);
	}
	s.arenas.flight.hold = until;
	side_drain(&s);
	side_commit(&s);
	ages.cnt = 0;
	assert_int_equal(flight_look(&s.arenas, &ages), 0);
	free(ages.at);
	side_die(&s);
}

/* A thread that has ended keeps its slot while it is held; with too many of them the oldest go. */
static void threads_that_are_gone_go_by_age(void **state)
{
	struct ring r = ring_new();
	uint64_t base = sl_mono_ns(), until;
	struct flight_ages ages = {0};
	uint32_t threads = SL_SLOT_CNT * 3 / 4 + 10, left = 0;
	struct side s;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	s.arenas.flight.hold = 1;
	for (uint32_t i = 0; i < threads; i++) {
		uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), 0x3fffff - i);

		call_at(&r, slot, base + i, i);
		r.arena->slot[slot].state = SL_SLOT_DONE;
	}
	usleep(1000);
	side_drain(&s);
	until = flight_look(&s.arenas, &ages);
	/* Ten too many, and 256 for the next. */
	assert_int_equal(until, base + 10 + 256 - 1);
	s.arenas.flight.hold = until;
	for (int i = 0; i < 2; i++) {
		side_drain(&s);
		drain_reap(&s.arenas, true);
	}
	side_commit(&s);
	for (uint32_t i = 0; i < threads; i++)
		left += r.arena->slot[i].state != SL_SLOT_FREE;
	assert_int_equal(left, threads - 266);
	assert_string_equal(rows(), "266 0 265");
	free(ages.at);
	side_die(&s);
}

/* What lies unused in the pool is given back to the system, and can be used again. */
static void unused_memory_goes_back(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = me(&r);
	uint64_t before, after;
	struct side s;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	for (int i = 0; i < 400000; i++)
		ring_call(&r, slot, SL_H_fsync, i);
	side_drain(&s);
	side_commit(&s);
	before = flight_resident(&s.arenas);
	assert_true(before > 9000000);
	assert_true(flight_trim(&s.arenas, 4 << 20) >= 4 << 20);
	assert_true(flight_trim(&s.arenas, UINT64_MAX) > 0);
	after = flight_resident(&s.arenas);
	assert_true(after < before - (6 << 20));
	assert_int_equal(flight_trim(&s.arenas, UINT64_MAX), 0);
	for (int i = 400000; i < 800000; i++)
		ring_call(&r, slot, SL_H_fsync, i);
	side_drain(&s);
	side_commit(&s);
	assert_string_equal(rows(), "800000 0 799999");
	side_die(&s);
}

/* A program that opens files for ever: what calls without rows say of them takes no memory for ever. */
static void names_of_files_that_were_closed_go(void **state)
{
	struct windows none = {.hold = UINT64_MAX};
	struct ring r = ring_new();
	uint32_t slot = me(&r);
	struct arena *a;
	struct side s;

	(void)state;
	side_open(&s, false);
	a = side_attach(&s, &r, false);
	s.arenas.report.windows = &none;
	s.arenas.flight.follows_files = true;
	for (uint32_t i = 1; i <= 100000; i++) {
		struct sl_chunk *c;
		uint64_t *w;

		ring_path(&r, slot, SL_H_open, 5, 0, 5, i, "/some/file");
		if (i == 100)
			continue; /* this one stays open */
		w = ring_room(&r, slot, 4, &c);
		w[0] = sl_mono_ns() - 100;
		w[1] = 50 | (uint64_t)sl_head(SL_H_close, 4, 0, SL_SHAPE_FD, 0) << 32;
		w[2] = 0;
		w[3] = sl_fd_serial(5, i);
		c->committed += 32;
		if (i % 5000 == 0) {
			side_drain(&s);
			side_commit(&s);
		}
	}
	assert_string_equal(file_name_find(&a->names, 100)->text, "/some/file");
	assert_string_equal(file_name_find(&a->names, 100000)->text, "/some/file");
	assert_null(file_name_find(&a->names, 101));
	assert_null(a->names.page[10]);
	assert_non_null(a->names.page[0]);
	assert_string_equal(ask("SELECT count(*) FROM sqlite_master WHERE name = 'OSRT_API'"), "0");
	/* In a report, the one that is open has its name. */
	s.arenas.report.windows = NULL;
	ring_io(&r, slot, SL_H_read, 1, 1, 5, 100);
	side_drain(&s);
	side_commit(&s);
	assert_string_equal(ask("SELECT value FROM OSRT_API JOIN StringIds ON id = pathId"),
			    "/some/file");
	side_die(&s);
}

/* ---- context switches ---- */

static void switch_at(struct flight_store *q, uint64_t ns, uint32_t cpu, uint32_t tid, bool is_in)
{
	struct sched_switch sw = {.time_ns = ns,
				  .cpu = cpu,
				  .pid = 7,
				  .tid = tid,
				  .is_in = is_in,
				  .state = is_in ? 0 : SCHED_STATE_INTERRUPTIBLE,
				  .preempted = is_in ? -1 : 0,
				  .priority = 120,
				  .wakeup_ns = is_in ? ns - 400 : 0,
				  .waker_pid = is_in ? 8 : 0,
				  .waker_tid = is_in ? 9 : 0};

	flight_store_sched_ops.on_switch(q, &sw);
}

static const char *switches(void)
{
	return ask(
		"SELECT group_concat(start || ' ' || cpu || ' ' || isSchedIn || ' ' || (globalTid "
		"% "
		"0x1000000) || ' ' || threadState, ', ') FROM (SELECT * FROM SCHED_EVENTS ORDER BY "
		"rowid)");
}

static void switches_of_a_window_are_whole_pairs(void **state)
{
	struct flight_store q;
	struct side s;

	(void)state;
	side_open(&s, false);
	flight_store_open(&q, &s.arenas, NULL, 1, 1);
	flight_store_turn(&q, 1);
	s.clock.zero = 0;
	switch_at(&q, 1000, 0, 10, true);
	switch_at(&q, 1100, 3, 11, true);
	switch_at(&q, 1200, 0, 10, false);
	switch_at(&q, 1300, 0, 12, true);
	switch_at(&q, 2100, 0, 12, false);
	switch_at(&q, 2200, 1, 10, true);
	switch_at(&q, 3000, 1, 10, false);
	/* 12 and 11 ran before; 11 and 10 still run at the end. */
	assert_int_equal(flight_store_write(&q, 2000, 3000, NULL), 6);
	side_commit(&s);
	assert_string_equal(switches(), "2000 0 1 12 1, 2000 3 1 11 1, 2100 0 0 12 2, "
					"2200 1 1 10 1, 3000 1 0 10 0, 3000 3 0 11 0");
	assert_string_equal(
		ask("SELECT group_concat(start || ' ' || coalesce(preempted, '-') || ' ' || "
		    "coalesce(wakeupTime, '-') || ' ' || coalesce((wakerTid % 0x1000000), "
		    "'-') || ' ' || coalesce(priority, '-'), ', ') FROM SL_SCHED_DETAIL"),
		"2100 0 - - 120, 2200 - 1800 9 120");
	flight_store_release(&q);
	side_die(&s);
}

/* Parts that were dropped are remembered for which thread ran. */
static void dropped_parts_leave_known_which_thread_runs(void **state)
{
	struct flight_store q;
	struct side s;

	(void)state;
	side_open(&s, false);
	flight_store_open(&q, &s.arenas, NULL, 1, 1);
	flight_store_turn(&q, 1);
	s.clock.zero = 0;
	switch_at(&q, 500, 5, 77, true);
	for (uint64_t i = 1; i <= 50000; i++) {
		switch_at(&q, i * 1000, 0, 10, i % 2);
		if (i % 100 == 0)
			flight_store_turn(&q, (int64_t)i * 1000 + 1);
	}
	assert_true(q.bytes > 50000 * 32);
	flight_store_forget(&q, 25000000);
	assert_int_equal(q.bytes % sizeof(void *), 0);
	assert_true(q.bytes < 50000 * 32);
	/* Of CPU 5 nothing was heard for long. */
	assert_int_equal(flight_store_write(&q, 49990500, 49992500, NULL), 4);
	side_commit(&s);
	assert_string_equal(
		ask("SELECT group_concat(start || ' ' || (globalTid % 0x1000000) || ' ' || "
		    "isSchedIn, ', ') FROM SCHED_EVENTS"),
		"49990500 77 1, 49991000 10 1, 49992000 10 0, 49992500 77 0");
	flight_store_release(&q);
	assert_int_equal(q.bytes, 0);
	side_die(&s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_held_stays_until_it_is_not),
		TEST(the_first_word_of_a_process_is_not_held),
		TEST(the_oldest_chunks_go_first),
		TEST(an_arena_runs_short),
		TEST(threads_that_are_gone_go_by_age),
		TEST(unused_memory_goes_back),
		TEST(names_of_files_that_were_closed_go),
		TEST(switches_of_a_window_are_whole_pairs),
		TEST(dropped_parts_leave_known_which_thread_runs),
	};

	return cmocka_run_group_tests_name("flight", tests, NULL, NULL);
}

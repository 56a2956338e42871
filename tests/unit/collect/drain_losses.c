/* drain_losses.c - what did not get into the report is counted once, and no thread keeps others out. */
#include "tests/unit/report/db_test.h"

#include "tests/unit/collect/ring_test.h"

#include "collector/collect/positions.h"

static void rows_that_are_lost_are_counted_from_the_first_to_the_last(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	struct thread *t;
	struct side s;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	ring_call(&r, slot, SL_H_fsync, 0);
	side_drain(&s);
	t = s.arenas.first->threads.at[slot];
	t->txn.rows = 3;
	t->txn.first_ns = 10;
	t->txn.last_ns = 20;
	positions_lost(&s.arenas);
	assert_int_equal(t->txn.dead_rows, 3);
	assert_int_equal(t->txn.dead_first_ns, 10);
	assert_int_equal(t->txn.dead_last_ns, 20);
	t->txn.rows = 2;
	t->txn.first_ns = 30;
	t->txn.last_ns = 40;
	positions_lost(&s.arenas);
	assert_int_equal(t->txn.dead_rows, 5);
	assert_int_equal(t->txn.dead_first_ns, 10);
	assert_int_equal(t->txn.dead_last_ns, 40);
	assert_true(s.arenas.first->flags.files_changed);
	t->txn.rows = 0;
	positions_lost(&s.arenas);
	assert_int_equal(t->txn.dead_rows, 5);
	side_die(&s);
}

static const char *losses(void)
{
	return ask("SELECT coalesce(group_concat(what || ' ' || count, ', '), '') FROM (SELECT "
		   "what, sum(count) AS "
		   "count FROM SL_LOST_EVENTS GROUP BY 1 ORDER BY 1)");
}

/* The thread's count only grows: what a LOST record covers may be in the report already, or a part of it. */
static void a_loss_is_counted_once_wherever_it_is_seen(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	struct sl_slot *at = &r.arena->slot[slot];
	struct side s;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	ring_call(&r, slot, SL_H_fsync, 1);
	at->lost_cnt = 3;
	side_drain(&s);
	drain_totals(&s.arenas, true);
	side_commit(&s);
	assert_string_equal(losses(), "calls: rings full 3");
	at->lost_cnt = 5;
	ring_lost(&r, slot, 5);
	side_drain(&s);
	side_commit(&s);
	assert_string_equal(losses(), "calls: rings full 5");
	at->lost_cnt = 6;
	drain_totals(&s.arenas, true);
	side_commit(&s);
	assert_string_equal(losses(), "calls: rings full 6");
	ring_lost(&r, slot, 6);
	side_drain(&s);
	drain_totals(&s.arenas, true);
	side_commit(&s);
	assert_string_equal(losses(), "calls: rings full 6");
	assert_int_equal(s.arenas.lost.full, 6);
	side_die(&s);
}

static void losses_of_records_that_are_no_calls_are_named(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	struct sl_slot *at = &r.arena->slot[slot];
	struct side s;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	side_drain(&s);
	at->lost_of[SL_LOST_NVTX] = 4;
	at->lost_of[SL_LOST_FILE] = 2;
	drain_totals(&s.arenas, true);
	at->lost_of[SL_LOST_NVTX] = 5;
	drain_totals(&s.arenas, true);
	drain_totals(&s.arenas, true);
	side_commit(&s);
	assert_string_equal(
		ask("SELECT group_concat(t, '; ') FROM (SELECT what || ' ' || sum(count) t "
		    "FROM SL_LOST_EVENTS GROUP BY what ORDER BY what)"),
		"NVTX ranges and marks: rings full 5; descriptions of files: rings full 2");
	assert_int_equal(s.arenas.lost.of[SL_LOST_NVTX], 5);
	assert_int_equal(s.arenas.lost.full, 0);
	side_die(&s);
}

/* Many threads, few records at a time: each has its share, and all of them together no more than was asked for. */
static void each_thread_has_its_share(void **state)
{
	enum {
		THREADS = 20,
		CALLS = 500,
		LIMIT = 100
	};
	struct ring r = ring_new();
	uint32_t slot[THREADS];
	struct side s;
	size_t taken;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	for (int i = 0; i < THREADS; i++)
		slot[i] = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid() + (uint32_t)i);
	side_drain(&s); /* they are known */
	for (int i = 0; i < THREADS; i++)
		for (int k = 0; k < CALLS; k++)
			ring_call(&r, slot[i], SL_H_fsync, k);
	side_snapshot(&s);
	taken = drain_round(&s.arenas, LIMIT);
	assert_true(taken >= LIMIT && taken <= LIMIT + THREADS);
	for (int i = 0; i < THREADS; i++)
		assert_true(s.arenas.first->threads.at[slot[i]]->at.pos > 0);
	side_drain(&s);
	assert_int_equal(s.arenas.ever.rows, THREADS * CALLS);
	side_commit(&s);
	side_die(&s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rows_that_are_lost_are_counted_from_the_first_to_the_last),
		TEST(a_loss_is_counted_once_wherever_it_is_seen),
		TEST(losses_of_records_that_are_no_calls_are_named),
		TEST(each_thread_has_its_share),
	};

	return cmocka_run_group_tests_name("drain_losses", tests, NULL, NULL);
}

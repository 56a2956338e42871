/* drain_rounds.c - what a round reads of each thread, and when the images of processes that are gone are forgotten. */
#include "tests/unit/report/db_test.h"

#include "tests/unit/collect/ring_test.h"

#include "collector/base/budget.h"

#define IDLE_THREADS 8
#define IMAGE_ROUNDS 50 /* of drain_reap(), in which a slot of the image might turn up */

/* One thread of nine has records: of 400 it gets a quarter and one, as if there were four, not a ninth. */
static void idle_threads_have_no_share_of_a_round(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = 0;
	struct side s;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	for (int i = 0; i <= IDLE_THREADS; i++) {
		slot = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
		ring_call(&r, slot, SL_H_fsync, i);
	}
	side_drain(&s);
	for (int i = 0; i < 1000; i++)
		ring_call(&r, slot, SL_H_fsync, i);
	side_snapshot(&s);
	assert_int_equal(drain_round(&s.arenas, 400), 101);
	/* Six with records: 600 / 6 + 1 each. */
	for (uint32_t other = 0; other < 5; other++)
		for (int i = 0; i < 500; i++)
			ring_call(&r, other, SL_H_fsync, i);
	side_snapshot(&s);
	assert_int_equal(drain_round(&s.arenas, 600), 6 * 101);
	side_die(&s);
}

static void image_of_a_process_that_is_gone_stays_for_50_rounds(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), 0x3ffffff);
	struct arena *a;
	struct side s;

	(void)state;
	side_open(&s, false);
	a = side_attach(&s, &r, false);
	ring_call(&r, slot, SL_H_fsync, 1);
	/* Seen gone, then over; the commit gives its slot back. */
	for (int i = 0; i < 2; i++) {
		side_drain(&s);
		drain_reap(&s.arenas, true);
		side_commit(&s);
	}
	assert_int_equal(r.arena->slot[slot].state, SL_SLOT_FREE);
	assert_non_null(a->images);
	assert_int_equal(a->images->threads, 0);
	/* Its process lives: it stays. */
	for (int i = 0; i < 2 * IMAGE_ROUNDS; i++)
		drain_reap(&s.arenas, false);
	assert_non_null(a->images);
	model_exit(&s.model, a->images->proc, 1000, 0);
	for (int i = 0; i < IMAGE_ROUNDS; i++)
		drain_reap(&s.arenas, false);
	assert_non_null(a->images);
	drain_reap(&s.arenas, false);
	assert_null(a->images);
	side_die(&s);
}

/* Threads that outlived a process whose end is @ns before their last call. */
static uint64_t outlived_by(int64_t ns)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	struct arena *a;
	struct side s;
	int64_t last;

	side_open(&s, false);
	a = side_attach(&s, &r, false);
	ring_call(&r, slot, SL_H_fsync, 1);
	side_drain(&s);
	last = clock_map_ns(&s.clock, a->threads.at[0]->at.last);
	model_exit(&s.model, a->images->proc, last - ns, 0);
	for (int i = 0; i < 2; i++)
		drain_reap(&s.arenas, true);
	side_die(&s);
	return s.arenas.ever.outlived;
}

/* A millisecond lies between the kernel's times and the shim's; what is later was not done by that process. */
static void calls_after_the_end_of_their_process_are_counted(void **state)
{
	(void)state;
	assert_int_equal(outlived_by(MODEL_SLACK_NS + 1000), 1);
}

static void calls_at_the_end_of_their_process_are_its_own(void **state)
{
	(void)state;
	assert_int_equal(outlived_by(MODEL_SLACK_NS), 0);
}

/* Two transactions fail: 3 rows from 100 to 200, 2 from 300 to 400. A thread without rows has lost none. */
static void rows_of_failed_transactions_are_added_up(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	uint32_t other = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	struct thread *t;
	struct side s;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	ring_call(&r, slot, SL_H_fsync, 1);
	ring_call(&r, other, SL_H_fsync, 2);
	side_drain(&s);
	side_commit(&s);
	t = s.arenas.first->threads.at[slot];
	t->flags.is_over = true;
	t->txn.rows = 3;
	t->txn.first_ns = 100;
	t->txn.last_ns = 200;
	positions_lost(&s.arenas);
	assert_int_equal(t->txn.dead_rows, 3);
	assert_int_equal(t->txn.dead_first_ns, 100);
	assert_int_equal(t->txn.dead_last_ns, 200);
	/* Its end is written again, with the loss. */
	assert_false(t->flags.is_over);
	t->txn.rows = 2;
	t->txn.first_ns = 300;
	t->txn.last_ns = 400;
	positions_lost(&s.arenas);
	assert_int_equal(t->txn.dead_rows, 5);
	assert_int_equal(t->txn.dead_first_ns, 100);
	assert_int_equal(t->txn.dead_last_ns, 400);
	assert_int_equal(s.arenas.first->threads.at[other]->txn.dead_rows, 0);
	side_die(&s);
}

static void memory_is_known_from_the_first_round_on(void **state)
{
	struct ring r = ring_new();
	struct side s;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	assert_int_equal(s.arenas.memory.all, 0);
	drain_round(&s.arenas, 1);
	/* A process has a page at least. Nothing of it is symbols. */
	assert_true(s.arenas.memory.all >= 4096);
	assert_int_equal(s.arenas.memory.bytes, budget_without_symbols(s.arenas.memory.all));
	side_die(&s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(idle_threads_have_no_share_of_a_round),
		TEST(calls_after_the_end_of_their_process_are_counted),
		TEST(calls_at_the_end_of_their_process_are_its_own),
		TEST(image_of_a_process_that_is_gone_stays_for_50_rounds),
		TEST(rows_of_failed_transactions_are_added_up),
		TEST(memory_is_known_from_the_first_round_on),
	};

	return cmocka_run_group_tests_name("drain_rounds", tests, NULL, NULL);
}

/* recovery.c - the collector is killed at each moment of a commit: what recover finds, and what it must not read twice. */
#include "tests/unit/report/db_test.h"

#include "tests/unit/collect/ring_test.h"

#include "collector/collect/positions.h"

static const char *rows(void)
{
	return ask("SELECT count(*) || ' ' || count(DISTINCT returnValue) || ' ' || "
		   "coalesce(max(returnValue), -1) FROM OSRT_API");
}

/* Killed at one of the moments that matter; then another collector goes on. */
static void die_and_recover(int moment)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	struct side s;

	side_open(&s, false);
	side_attach(&s, &r, false);
	ring_path(&r, slot, SL_H_open, 1000000, 0, 3, 1, "/kept");
	for (int i = 0; i < 5000; i++)
		ring_call(&r, slot, SL_H_fsync, i);
	side_drain(&s);
	side_commit(&s);
	for (int i = 5000; i < 10000; i++)
		ring_call(&r, slot, SL_H_fsync, i);
	side_drain(&s);
	if (moment >= 1)
		assert_int_equal(positions_save(&s.arenas), 0);
	if (moment >= 2)
		assert_int_equal(db_commit(s.db, 2), 0); /* and not positions_release() */
	side_die(&s);
	for (int i = 10000; i < 12000; i++)
		ring_call(&r, slot, SL_H_fsync, i);
	ring_io(&r, slot, SL_H_read, 1000001, 8, 3, 1);
	side_open(&s, true);
	side_attach(&s, &r, true);
	side_drain(&s);
	side_commit(&s);
	assert_string_equal(rows(), "12002 12002 1000001");
	assert_string_equal(ask("SELECT value || fileAccessId FROM OSRT_API JOIN StringIds ON id = "
				"pathId WHERE "
				"returnValue = 1000001"),
			    "/kept1");
	assert_string_equal(ask("SELECT count(*) FROM OSRT_FILE_ACCESS_DESCRIPTORS"), "1");
	assert_int_equal(r.arena->used_chunks, 0);
	side_die(&s);
}

static void killed_before_the_positions(void **state)
{
	(void)state;
	die_and_recover(0);
}

static void killed_before_the_commit(void **state)
{
	(void)state;
	die_and_recover(1);
}

static void killed_between_commit_and_shared_memory(void **state)
{
	(void)state;
	die_and_recover(2);
}

static void a_saved_position_counts_only_for_its_chunk(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	struct saved_thread saved = {.seq = 5, .pos = 48};
	struct thread t = {.at = {.chunk = r.arena->slot[slot].first_chunk, .seq = 5, .pos = 24}};
	struct arena *a;
	struct side s;

	(void)state;
	side_open(&s, false);
	a = side_attach(&s, &r, false);
	positions_resume(a, slot, &t, &saved);
	assert_int_equal(t.at.pos, 48);
	saved.pos = 24; /* the shared memory knows better */
	positions_resume(a, slot, &t, &saved);
	assert_int_equal(t.at.pos, 48);
	saved.pos = 60;
	positions_resume(a, slot, &t, &saved);
	assert_int_equal(t.at.pos, 48);
	saved.pos = SL_CHUNK_BYTES;
	positions_resume(a, slot, &t, &saved);
	assert_int_equal(t.at.pos, 48);
	saved.seq = 6; /* and this one has no next */
	positions_resume(a, slot, &t, &saved);
	assert_int_equal(t.at.seq, 5);
	assert_int_equal(t.at.chunk, r.arena->slot[slot].first_chunk);
	assert_int_equal(a->spent.cnt, 0);
	saved.pos = 72;
	saved.seq = 4;
	positions_resume(a, slot, &t, &saved);
	assert_int_equal(t.at.pos, 48);
	side_die(&s);
}

/* Killed when the slot's chunks were back, and the slot was not. */
static void a_slot_that_was_being_given_back_is_free_after_recovery(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), 0x3ffffff);
	struct side s;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	ring_call(&r, slot, SL_H_fsync, 5);
	for (int i = 0; i < 2; i++) {
		side_drain(&s);
		drain_reap(&s.arenas, true);
	}
	assert_true(s.arenas.first->threads.at[slot]->flags.is_over);
	assert_int_equal(positions_save(&s.arenas), 0);
	assert_int_equal(db_commit(s.db, 1), 0);
	side_die(&s);
	r.arena->slot[slot].agg_chunk = r.arena->slot[slot].first_chunk = 0;
	side_open(&s, true);
	side_attach(&s, &r, true);
	side_drain(&s);
	assert_int_equal(s.arenas.lost.corrupt, 0);
	side_commit(&s);
	assert_int_equal(r.arena->slot[slot].state, SL_SLOT_FREE);
	assert_string_equal(rows(), "1 1 5");
	side_die(&s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(killed_before_the_positions),
		TEST(killed_before_the_commit),
		TEST(killed_between_commit_and_shared_memory),
		TEST(a_saved_position_counts_only_for_its_chunk),
		TEST(a_slot_that_was_being_given_back_is_free_after_recovery),
	};

	return cmocka_run_group_tests_name("recovery", tests, NULL, NULL);
}

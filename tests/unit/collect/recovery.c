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

/* ---- with a spool ---- */

static struct spool *spool_new(void)
{
	struct spool *s = malloc(sizeof(*s));

	assert_non_null(s);
	spool_init(s);
	return s;
}

/* As the keeper hands them over, or as it writes them: the memory of the one that died stays as it is. */
static struct spool *spool_of_dead(struct spool *dead, bool in_files)
{
	struct spool *s = spool_new();

	if (in_files) {
		s->folder = open(test_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(s->folder >= 0);
	}
	for (uint32_t i = 0; i < SPOOL_SEGMENTS; i++) {
		char name[32];
		int fd;

		if (!dead->segment[i].map)
			continue;
		fd = dup(dead->segment[i].fd);
		if (in_files) {
			close(fd);
			snprintf(name, sizeof(name), "%u" SPOOL_SUFFIX, i);
			fd = openat(s->folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
			assert_int_equal(write(fd, dead->segment[i].map, SPOOL_SEGMENT_BYTES),
					 SPOOL_SEGMENT_BYTES);
		}
		assert_true(spool_adopt(s, i, fd));
	}
	/* Its segments are not released: as a killed process leaves them. */
	free(dead);
	return s;
}

enum spooled_moment {
	AT_ANY_TIME,
	BEFORE_THE_SLOT_LEADS_ON, /* the copy is published, the ring has its original still */
	BEFORE_THE_CHUNK_IS_BACK,
	AFTER_A_COMMIT, /* and before the chunks it read were free */
};

static void die_with_a_spool(enum spooled_moment moment, bool in_files)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	struct spool *spool = spool_new();
	struct side s;

	side_open(&s, false);
	s.arenas.spool = spool;
	side_attach(&s, &r, false);
	for (int i = 0; i < 5000; i++)
		ring_call(&r, slot, SL_H_fsync, i);
	drain_round(&s.arenas, 1); /* the thread is known */
	side_drain(&s);
	side_commit(&s);
	for (int i = 5000; i < 10000; i++)
		ring_call(&r, slot, SL_H_fsync, i);
	assert_true(move_chunks(&s.arenas) > 0);
	assert_true(spool->used > 2);
	assert_int_equal(r.arena->used_chunks, 0);
	if (moment == BEFORE_THE_SLOT_LEADS_ON || moment == BEFORE_THE_CHUNK_IS_BACK) {
		/* The last move did not come to its end: the chunk on top of the pool is still the thread's. */
		sl_ref back =
			sl_stack_pop(&r.arena->free_chunks, r.arena->chunk_link, SL_CHUNK_CNT);

		r.arena->used_chunks++;
		if (moment == BEFORE_THE_SLOT_LEADS_ON)
			r.arena->slot[slot].first_chunk = back;
	}
	if (moment == AFTER_A_COMMIT) {
		side_drain(&s);
		assert_int_equal(positions_save(&s.arenas), 0);
		assert_int_equal(db_commit(s.db, 2), 0);
	}
	assert_int_not_equal(r.arena->slot[slot].first_chunk, 0);
	while (s.arenas.first) {
		s.arenas.first->mem.spool = NULL; /* nothing is dropped */
		for (uint32_t i = 0; i < s.arenas.first->threads.cnt; i++)
			if (s.arenas.first->threads.at[i])
				s.arenas.first->threads.at[i]->at.chunk = 0;
		arena_detach(&s.arenas, s.arenas.first);
	}
	s.arenas.spool = NULL;
	side_die(&s);
	for (int i = 10000; i < 12000; i++)
		ring_call(&r, slot, SL_H_fsync, i);
	side_open(&s, true);
	s.arenas.spool = spool_of_dead(spool, in_files);
	side_attach(&s, &r, true);
	side_drain(&s);
	side_commit(&s);
	assert_string_equal(rows(), "12000 12000 11999");
	assert_int_equal(s.arenas.lost.corrupt, 0);
	assert_int_equal(s.arenas.lost.chunks, 0);
	assert_int_equal(s.arenas.spool->used, 0);
	/* One chunk leaks where it was in no one's hands. */
	assert_int_equal(r.arena->used_chunks, moment == BEFORE_THE_CHUNK_IS_BACK);
	/* Detaching an arena gives its chunks back to the spool. */
	side_die(&s);
	spool_release(s.arenas.spool);
	free(s.arenas.spool);
}

static void killed_with_a_spool(void **state)
{
	(void)state;
	die_with_a_spool(AT_ANY_TIME, false);
}

static void killed_with_a_spool_in_files(void **state)
{
	(void)state;
	die_with_a_spool(AT_ANY_TIME, true);
}

static void killed_before_the_slot_leads_on(void **state)
{
	(void)state;
	die_with_a_spool(BEFORE_THE_SLOT_LEADS_ON, false);
}

static void killed_before_the_chunk_is_back(void **state)
{
	(void)state;
	die_with_a_spool(BEFORE_THE_CHUNK_IS_BACK, false);
}

static void killed_after_a_commit_of_spooled_records(void **state)
{
	(void)state;
	die_with_a_spool(AFTER_A_COMMIT, false);
}

/* recover of files has no keeper: what it copied would be lost with it. */
static void records_of_a_file_stay_in_it(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	struct spool spool;
	struct side s;

	(void)state;
	spool_init(&spool);
	side_open(&s, false);
	s.arenas.spool = &spool;
	for (int i = 0; i < 10000; i++)
		ring_call(&r, slot, SL_H_fsync, i);
	assert_int_equal(fchmod(r.fd, 0600), 0);
	assert_non_null(
		arena_attach_file(&s.arenas, r.fd, 1, (uint32_t)getpid(), (uint32_t)getpid()));
	drain_round(&s.arenas, 1);
	assert_int_equal(move_chunks(&s.arenas), 0);
	side_drain(&s);
	side_commit(&s);
	assert_string_equal(ask("SELECT count(*) FROM OSRT_API"), "10000");
	assert_int_equal(spool.used, 0);
	side_die(&s);
	spool_release(&spool);
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
		TEST(killed_with_a_spool),
		TEST(killed_with_a_spool_in_files),
		TEST(killed_before_the_slot_leads_on),
		TEST(killed_before_the_chunk_is_back),
		TEST(killed_after_a_commit_of_spooled_records),
		TEST(records_of_a_file_stay_in_it),
		TEST(a_saved_position_counts_only_for_its_chunk),
		TEST(a_slot_that_was_being_given_back_is_free_after_recovery),
	};

	return cmocka_run_group_tests_name("recovery", tests, NULL, NULL);
}

/*
 * drain.c - records written as the shim writes them arrive in the report once each, whatever happens to
 * the collector in between, and whatever the shared memory holds.
 */
#include "tests/unit/report/db_test.h"

#include "tests/unit/collect/ring_test.h"

#include <linux/futex.h>
#include <pthread.h>

#include "collector/collect/positions.h"
#include "collector/model/ring_reader.h"

static const char *rows(void)
{
	return ask("SELECT count(*) || ' ' || count(DISTINCT returnValue) || ' ' || "
		   "coalesce(max(returnValue), -1) FROM OSRT_API");
}

static void a_record_becomes_a_row(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	struct side s;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	ring_path(&r, slot, SL_H_open, 3, 0, 3, 1, "/data/x");
	ring_io(&r, slot, SL_H_read, 60, 100, 3, 1);
	ring_path(&r, slot, SL_H_open, ENOENT, SL_REC_ERR, -1, 0, "/none");
	side_drain(&s);
	side_commit(&s);
	assert_string_equal(
		ask("SELECT group_concat(s.value || ' ' || returnValue || ' ' || coalesce(fd, '-') "
		    "|| ' ' || p.value || ' ' || coalesce(bytesAsked, '-') || ' ' || "
		    "coalesce(errnum, '-'), ', ') FROM (SELECT * FROM OSRT_API ORDER BY rowid) o "
		    "JOIN StringIds s ON s.id = nameId JOIN StringIds p ON p.id = pathId"),
		"open 3 3 /data/x - -, read 60 3 /data/x 100 -, open -1 - /none - 2");
	assert_string_equal(
		ask("SELECT filePath || fileAccessId FROM OSRT_FILE_ACCESS_DESCRIPTORS"),
		"/data/x1");
	assert_string_equal(
		ask("SELECT s.value FROM ThreadNames JOIN StringIds s ON s.id = nameId"), "worker");
	side_die(&s);
}

static void a_file_opened_by_a_thread_that_is_read_later_has_its_path(void **state)
{
	struct ring r = ring_new();
	uint32_t reader = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	uint32_t opener = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	struct side s;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	ring_path(&r, opener, SL_H_open, 3, 0, 3, 1, "/late");
	ring_io(&r, reader, SL_H_read, 1, 1, 3, 1);
	side_drain(&s);
	side_commit(&s);
	assert_string_equal(ask("SELECT count(*) FROM OSRT_API JOIN StringIds ON id = pathId WHERE "
				"value = '/late'"),
			    "2");
	assert_string_equal(ask("SELECT count(*) FROM OSRT_FILE_ACCESS_DESCRIPTORS"), "1");
	side_die(&s);
}

static void a_record_newer_than_the_clock_waits(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	struct side s;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	side_snapshot(&s);
	usleep(1000);
	ring_call(&r, slot, SL_H_fsync, 0);
	assert_int_equal(drain_round(&s.arenas, 100), 0);
	assert_false(drain_is_idle(&s.arenas));
	side_drain(&s);
	assert_int_equal(s.arenas.ever.rows, 1);
	assert_true(drain_is_idle(&s.arenas));
	side_die(&s);
}

/* Many chunks; the pool gets them back only after the commit. */
static void chunks_come_back_after_the_commit(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	struct side s;
	uint32_t used;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	for (int i = 0; i < 50000; i++)
		ring_call(&r, slot, SL_H_fsync, i);
	used = r.arena->used_chunks;
	assert_true(used > 30);
	side_drain(&s);
	assert_int_equal(r.arena->used_chunks, used);
	side_commit(&s);
	assert_int_equal(r.arena->used_chunks, 0);
	assert_int_equal(r.arena->freed_seq, 1);
	assert_string_equal(rows(), "50000 50000 49999");
	/* And they are used again. */
	used = r.arena->fresh_chunk;
	for (int i = 0; i < 50000; i++)
		ring_call(&r, slot, SL_H_fsync, i);
	assert_true(r.arena->fresh_chunk <= used + 1);
	side_drain(&s);
	side_commit(&s);
	assert_string_equal(rows(), "100000 50000 49999");
	side_die(&s);
}

/* A thread that has ended: totals are written, slot and chunks come back, clean. */
static void a_slot_is_given_back_when_its_thread_is_gone(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), 0x3ffffff);
	sl_ref agg = r.arena->slot[slot].agg_chunk;
	struct sl_agg *a = (struct sl_agg *)sl_chunk_at(r.arena, agg) + SL_H_write;
	struct side s;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	*a = (struct sl_agg){
		.count = 7, .total = 700, .min = 50, .max = 200, .bytes = 4096, .err_count = 1};
	r.arena->slot[slot].lost_cnt = 3;
	r.arena->slot[slot].lost_first = r.arena->slot[slot].lost_last = sl_mono_ns();
	ring_call(&r, slot, SL_H_fsync, 5);
	side_drain(&s);
	drain_reap(&s.arenas, true);
	side_commit(&s);
	assert_int_equal(r.arena->slot[slot].state, SL_SLOT_LIVE);
	side_drain(&s);
	drain_reap(&s.arenas, true);
	side_commit(&s);
	assert_int_equal(r.arena->slot[slot].state, SL_SLOT_FREE);
	assert_int_equal(r.arena->free_chunks & UINT32_MAX, agg == 1 ? 2 : 1);
	assert_string_equal(
		ask("SELECT value || ' ' || count || ' ' || totalNs || ' ' || minNs || ' ' || "
		    "maxNs || ' ' || bytes || "
		    "' ' || errorCount FROM SL_OSRT_TOTALS JOIN StringIds ON id = nameId"),
		"write 7 700 50 200 4096 1");
	assert_string_equal(ask("SELECT what || ' ' || count FROM SL_LOST_EVENTS"),
			    "calls: rings full 3");
	assert_string_equal(rows(), "1 1 5");
	/* The next thread in it is another one. */
	assert_int_equal(ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid()), slot);
	a = (struct sl_agg *)sl_chunk_at(r.arena, r.arena->slot[slot].agg_chunk) + SL_H_write;
	a->count = 2;
	ring_call(&r, slot, SL_H_fsync, 6);
	side_drain(&s);
	drain_totals(&s.arenas, true);
	side_commit(&s);
	assert_string_equal(ask("SELECT count(*) || ' ' || sum(count) FROM SL_OSRT_TOTALS"), "2 9");
	assert_string_equal(rows(), "2 2 6");
	side_die(&s);
}

/* Whatever a program writes over its arena: the collector lives, and another arena is still read. */
static void a_ruined_arena_does_no_harm(void **state)
{
	struct ring good = ring_new();
	uint32_t slot = ring_thread(&good, 1, (uint32_t)getpid(), (uint32_t)gettid());
	struct side s;

	(void)state;
	srand(4711);
	side_open(&s, false);
	for (int round = 0; round < 60; round++) {
		struct ring r = ring_new();
		uint32_t victim = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
		uint64_t *at[] = {(uint64_t *)&r.arena->slot[victim], sl_chunk_at(r.arena, 2)->data,
				  (uint64_t *)sl_chunk_at(r.arena, 2),
				  (uint64_t *)&r.arena->free_chunks};
		struct arena *a;

		for (int i = 0; i < 3000; i++)
			ring_path(&r, victim, SL_H_open, 3, 0, 3, (uint32_t)i, "/some/path");
		a = arena_attach(&s.arenas, r.fd, (uint32_t)round + 10, (uint32_t)getpid(),
				 (uint32_t)getpid());
		for (int turn = 0; turn < 4; turn++) {
			for (int i = 0; i < 400; i++)
				at[round % 4][(unsigned)rand() % (round % 4 == 1 ? 4000 : 8)] =
					rand() % 3 ? (uint64_t)rand()
						   : (uint64_t)rand() << 32 | (uint64_t)rand();
			r.arena->slot[victim].state = SL_SLOT_LIVE;
			side_snapshot(&s);
			drain_round(&s.arenas, 5000);
			drain_reap(&s.arenas, true);
			drain_totals(&s.arenas, true);
			side_commit(&s);
			if (!s.arenas.first)
				break;
		}
		/* It may have been let go already. */
		for (struct arena *b = s.arenas.first; b; b = b->next)
			if (b == a) {
				arena_detach(&s.arenas, a);
				break;
			}
		munmap(r.arena, SL_ARENA_BYTES);
		close(r.fd);
	}
	arena_attach(&s.arenas, good.fd, 1, (uint32_t)getpid(), (uint32_t)getpid());
	ring_call(&good, slot, SL_H_fsync, 123456789);
	side_drain(&s);
	side_commit(&s);
	assert_string_equal(ask("SELECT count(*) FROM OSRT_API WHERE returnValue = 123456789"),
			    "1");
	assert_string_equal(ask("PRAGMA integrity_check"), "ok");
	side_die(&s);
}

/* Of one process: on a busy machine the hello of an image may be read behind that of the next one. */
static void the_older_arena_of_a_process_is_read_first(void **state)
{
	struct ring young = ring_new(), old = ring_new(), other = ring_new();
	uint32_t me = (uint32_t)getpid();
	struct arena *a, *b, *c;
	struct side s;

	(void)state;
	old.arena->born = young.arena->born - 1;
	other.arena->born = 1;
	side_open(&s, false);
	a = arena_attach(&s.arenas, young.fd, 1, me, me);
	b = arena_attach(&s.arenas, other.fd, 2, 1, 1);
	c = arena_attach(&s.arenas, old.fd, 3, me, me);
	assert_ptr_equal(s.arenas.first, c);
	assert_ptr_equal(c->next, a);
	assert_ptr_equal(a->next, b);
	assert_null(b->next);
	side_die(&s);
}

static void an_arena_of_another_build_is_refused(void **state)
{
	struct ring r = ring_new();
	struct side s;

	(void)state;
	side_open(&s, false);
	r.arena->hook_hash++;
	assert_null(arena_attach(&s.arenas, r.fd, 1, 1, 1));
	r.arena->hook_hash--;
	r.arena->chunk_cnt++;
	assert_null(arena_attach(&s.arenas, r.fd, 1, 1, 1));
	/* One that its sender could still cut, and one that is too small for a header. */
	int loose = memfd_create("loose", MFD_CLOEXEC);
	assert_int_equal(ftruncate(loose, (off_t)SL_ARENA_BYTES), 0);
	assert_int_equal(pwrite(loose, r.arena, sizeof(*r.arena), 0), sizeof(*r.arena));
	assert_null(arena_attach(&s.arenas, loose, 1, 1, 1));
	assert_int_equal(ftruncate(loose, 4096), 0);
	assert_null(arena_attach(&s.arenas, loose, 1, 1, 1));
	close(loose);
	assert_int_equal(s.arenas.lost.refused, 2);
	assert_int_equal(s.arenas.lost.unsound, 2);
	side_die(&s);
}

static void a_small_limit_still_makes_progress(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	struct side s;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	/* A hook with the number of a record that does not count counts. */
	ring_call(&r, slot, SL_META_CHAIN, 1);
	ring_call(&r, slot, SL_H_fsync, 2);
	side_snapshot(&s);
	assert_int_equal(drain_round(&s.arenas, 1), 1);
	assert_int_equal(drain_round(&s.arenas, 1), 1);
	assert_int_equal(drain_round(&s.arenas, 1), 0);
	side_die(&s);
}

static void a_chunk_out_of_order_ends_the_reading_of_its_arena(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	struct side s;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	for (unsigned i = 0; i < RING_WORDS / 3 + 1; i++)
		ring_call(&r, slot, SL_H_fsync, i);
	assert_int_equal(ring_last(&r, slot)->seq, 1);
	ring_last(&r, slot)->seq = 2;
	side_drain(&s);
	assert_int_equal(s.arenas.lost.corrupt, 1);
	assert_true(s.arenas.first->flags.is_bad);
	assert_int_equal(s.arenas.ever.rows, RING_WORDS / 3);
	side_die(&s);
}

static void a_chunk_of_another_thread_is_refused(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	struct side s;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	for (unsigned i = 0; i < RING_WORDS / 3 + 1; i++)
		ring_call(&r, slot, SL_H_fsync, i);
	ring_last(&r, slot)->slot++;
	side_drain(&s);
	assert_int_equal(s.arenas.lost.corrupt, 1);
	assert_int_equal(s.arenas.ever.rows, RING_WORDS / 3);
	/* Its thread is let go with the arena, and its slot is left alone. */
	s.arenas.first->threads.at[slot]->flags.is_over = true;
	assert_true(drain_is_idle(&s.arenas));
	side_commit(&s);
	assert_null(s.arenas.first->threads.at[slot]);
	assert_int_equal(r.arena->slot[slot].state, SL_SLOT_LIVE);
	side_die(&s);
}

/* As a collector that died left it: @consumed bytes of the first chunk are in the report. Rows that are read. */
static uint64_t rows_after(uint32_t consumed, bool *is_bad)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	struct side s;
	uint64_t got;

	for (unsigned i = 0; i < RING_WORDS / 3 + 5; i++)
		ring_call(&r, slot, SL_H_fsync, i);
	sl_chunk_at(r.arena, r.arena->slot[slot].first_chunk)->consumed = consumed;
	side_open(&s, false);
	side_attach(&s, &r, false);
	side_drain(&s);
	*is_bad = s.arenas.first->flags.is_bad;
	got = s.arenas.ever.rows;
	side_die(&s);
	assert_int_equal(unlink(test_path), 0);
	return got;
}

static void a_chunk_that_was_read_to_its_end_is_a_beginning(void **state)
{
	bool is_bad;

	(void)state;
	assert_int_equal(rows_after(RING_WORDS * 8, &is_bad), 5);
	assert_false(is_bad);
	assert_int_equal(rows_after(RING_WORDS * 8 + 8, &is_bad), 0);
	assert_true(is_bad);
	assert_int_equal(rows_after(12, &is_bad), 0);
	assert_true(is_bad);
}

/* A thread that is over keeps no process waiting, whatever its ring holds. */
static void rings_of_threads_that_are_over_do_not_count(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	struct side s;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	ring_call(&r, slot, SL_H_fsync, 1);
	side_drain(&s);
	ring_call(&r, slot, SL_H_fsync, 2);
	assert_false(drain_is_idle(&s.arenas));
	s.arenas.first->threads.at[slot]->flags.is_over = true;
	assert_true(drain_is_idle(&s.arenas));
	side_die(&s);
}

/* At the same place of the next chunk as before in the one it was in: the thread has moved all the same. */
static void the_same_place_in_another_chunk_is_saved(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	struct side s;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	ring_call(&r, slot, SL_H_fsync, 0);
	assert_false(positions_changed(&s.arenas));
	side_drain(&s);
	assert_true(positions_changed(&s.arenas));
	side_commit(&s);
	assert_false(positions_changed(&s.arenas));
	for (unsigned i = 1; i < RING_WORDS / 3 + 1; i++)
		ring_call(&r, slot, SL_H_fsync, i);
	side_drain(&s);
	assert_int_equal(s.arenas.first->threads.at[slot]->at.pos, 24);
	assert_true(s.arenas.first->threads.at[slot]->flags.has_moved);
	assert_true(positions_changed(&s.arenas));
	side_die(&s);
}

static void what_a_thread_left_is_read_before_it_is_over(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), 0x3ffffff);
	struct side s;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	side_drain(&s);
	drain_reap(&s.arenas, true);
	assert_true(s.arenas.first->threads.at[slot]->flags.is_seen_gone);
	ring_call(&r, slot, SL_H_fsync, 5);
	drain_reap(&s.arenas, true);
	assert_false(s.arenas.first->threads.at[slot]->flags.is_over);
	assert_false(drain_is_idle(&s.arenas));
	side_drain(&s);
	assert_true(drain_is_idle(&s.arenas));
	drain_reap(&s.arenas, true);
	assert_true(s.arenas.first->threads.at[slot]->flags.is_over);
	side_commit(&s);
	assert_string_equal(rows(), "1 1 5");
	side_die(&s);
}

static void meta(struct ring *r, uint32_t slot, unsigned kind, unsigned words)
{
	struct sl_chunk *c;
	uint64_t *w = ring_room(r, slot, words + 2, &c);

	memset(w, 0, (words + 2) * 8);
	w[0] = sl_mono_ns() - 100;
	w[1] = (uint64_t)sl_head(kind, words + 2, 0, SL_SHAPE_META, 0) << 32;
	w[2] = 3 | 9ull << 32;
	c->committed += (words + 2) * 8;
}

/* The flight recorder's: what began after its moment waits, but for the record of an image. */
static void records_after_the_hold_wait(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	uint32_t pos;
	struct side s;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	s.arenas.flight.hold = sl_mono_ns() - 1000000;
	meta(&r, slot, SL_META_IMAGE, 4);
	side_drain(&s);
	pos = s.arenas.first->threads.at[slot]->at.pos;
	assert_int_equal(pos, 48);
	meta(&r, slot, SL_META_CLOSE, 1);
	side_drain(&s);
	assert_int_equal(s.arenas.first->threads.at[slot]->at.pos, pos);
	assert_true(s.arenas.first->threads.at[slot]->at.read_to == s.arenas.flight.hold);
	s.arenas.flight.hold = 0;
	side_drain(&s);
	assert_int_equal(s.arenas.first->threads.at[slot]->at.pos, pos + 24);
	side_die(&s);
}

/* A report that follows has begun: its records wait, and are not taken for read when it ends soon after. */
static void records_of_the_next_report_wait(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	struct windows windows = {.hold = UINT64_MAX};
	const struct thread *t;
	struct side s;
	uint32_t pos;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	s.arenas.report.windows = &windows;
	meta(&r, slot, SL_META_IMAGE, 4);
	side_drain(&s);
	t = s.arenas.first->threads.at[slot];
	pos = t->at.pos;
	windows.hold = sl_mono_ns() - 1000000;
	meta(&r, slot, SL_META_CLOSE, 1);
	side_drain(&s);
	assert_int_equal(t->at.pos, pos);
	assert_true(ring_read_to(s.arenas.first) == windows.hold);
	windows.hold = UINT64_MAX;
	side_drain(&s);
	assert_int_equal(t->at.pos, pos + 24);
	assert_true(ring_read_to(s.arenas.first) == s.arenas.clock->newest);
	s.arenas.report.windows = NULL;
	side_die(&s);
}

static void an_arena_without_images_lives_as_long_as_its_process(void **state)
{
	struct ring r = ring_new(), gone = ring_new();
	struct arena *a, *b;
	struct side s;

	(void)state;
	side_open(&s, false);
	a = arena_attach(&s.arenas, r.fd, 1, (uint32_t)getpid(), (uint32_t)getpid());
	b = arena_attach(&s.arenas, gone.fd, 2, 0x3ffffff, 0x3ffffff);
	drain_reap(&s.arenas, false);
	assert_false(a->flags.is_over);
	assert_false(b->flags.is_over);
	drain_reap(&s.arenas, true);
	assert_false(a->flags.is_over);
	assert_true(b->flags.is_over);
	assert_true(positions_changed(&s.arenas));
	side_commit(&s);
	assert_ptr_equal(s.arenas.first, a);
	assert_null(a->next);
	side_die(&s);
}

static void *wait_for_room(void *arg)
{
	struct sl_arena *m = arg;
	struct timespec most = {20, 0};
	long r = syscall(SYS_futex, &m->freed_seq, FUTEX_WAIT, 0, &most, NULL, 0);

	return (void *)(r == 0 || errno == EAGAIN ? 1L : 0L);
}

static void those_who_wait_for_room_are_woken(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	pthread_t waiter;
	void *woken = NULL;
	struct side s;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	for (unsigned i = 0; i < RING_WORDS; i++)
		ring_call(&r, slot, SL_H_fsync, i);
	r.arena->waiter_cnt = 1;
	assert_int_equal(pthread_create(&waiter, NULL, wait_for_room, r.arena), 0);
	usleep(200000);
	side_drain(&s);
	side_commit(&s);
	pthread_join(waiter, &woken);
	assert_non_null(woken);
	side_die(&s);
}

static void a_closed_file_is_no_longer_saved(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	struct arena *a;
	struct side s;
	int one;

	(void)state;
	side_open(&s, false);
	a = side_attach(&s, &r, false);
	ring_path(&r, slot, SL_H_open, 3, 0, 3, 1, "/kept");
	side_drain(&s);
	side_commit(&s);
	assert_string_equal(ask("SELECT length(value) > 5 FROM SL_STATE WHERE key = 'files.1'"),
			    "1");
	one = atoi(ask("SELECT length(value) FROM SL_STATE WHERE key = 'files.1'"));
	ring_path(&r, slot, SL_H_open, 4, 0, 4, FILE_PAGE, "/next");
	side_drain(&s);
	side_commit(&s);
	assert_int_equal(atoi(ask("SELECT length(value) FROM SL_STATE WHERE key = 'files.1'")),
			 2 * one);
	file_close(&s.model, a->images, FILE_PAGE, 5);
	file_close(&s.model, a->images, 1, 5);
	side_commit(&s);
	assert_string_equal(ask("SELECT length(value) FROM SL_STATE WHERE key = 'files.1'"), "0");
	side_die(&s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_record_becomes_a_row),
		TEST(a_file_opened_by_a_thread_that_is_read_later_has_its_path),
		TEST(a_record_newer_than_the_clock_waits),
		TEST(chunks_come_back_after_the_commit),
		TEST(a_slot_is_given_back_when_its_thread_is_gone),
		TEST(a_ruined_arena_does_no_harm),
		TEST(the_older_arena_of_a_process_is_read_first),
		TEST(an_arena_of_another_build_is_refused),
		TEST(a_small_limit_still_makes_progress),
		TEST(a_chunk_out_of_order_ends_the_reading_of_its_arena),
		TEST(a_chunk_of_another_thread_is_refused),
		TEST(a_chunk_that_was_read_to_its_end_is_a_beginning),
		TEST(rings_of_threads_that_are_over_do_not_count),
		TEST(the_same_place_in_another_chunk_is_saved),
		TEST(what_a_thread_left_is_read_before_it_is_over),
		TEST(records_after_the_hold_wait),
		TEST(records_of_the_next_report_wait),
		TEST(an_arena_without_images_lives_as_long_as_its_process),
		TEST(those_who_wait_for_room_are_woken),
		TEST(a_closed_file_is_no_longer_saved),
	};

	return cmocka_run_group_tests_name("drain", tests, NULL, NULL);
}

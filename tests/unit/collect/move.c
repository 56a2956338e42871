/* move.c - full chunks are copied out of the rings: which, with what, where reading goes on; and after a crash. */
#include "tests/unit/report/db_test.h"

#include "tests/unit/collect/ring_test.h"

#include "collector/collect/positions.h"

#define CALL_WORDS  3u
#define CHUNK_CALLS ((uint32_t)RING_WORDS / CALL_WORDS)              /* that a chunk has room for */
#define CHUNK_FULL  (CHUNK_CALLS * CALL_WORDS * 8u)                  /* bytes of them */
#define CHUNK_BYTES ((uint32_t)sizeof(((struct sl_chunk *)0)->data)) /* that a chunk can hold */

static struct ring ring;
static struct spool *spool;
static struct side side;
static struct arena *arena;
static struct thread *thread;
static uint32_t slot;
static int64_t calls;

static void call(uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++)
		ring_call(&ring, slot, SL_H_fsync, calls++);
}

/* A thread whose first record is in the report. */
static int set_up(void **state)
{
	if (test_setup(state) != 0)
		return -1;
	calls = 0;
	ring = ring_new();
	slot = ring_thread(&ring, 1, (uint32_t)getpid(), (uint32_t)gettid());
	spool = malloc(sizeof(*spool));
	spool_init(spool);
	side_open(&side, false);
	side.arenas.spool = spool;
	arena = side_attach(&side, &ring, false);
	call(1);
	side_drain(&side);
	side_commit(&side);
	thread = arena->threads.at[slot];
	return thread ? 0 : -1;
}

static int tear_down(void **state)
{
	side_die(&side);
	spool_release(spool);
	free(spool);
	munmap(ring.arena, SL_ARENA_BYTES);
	close(ring.fd);
	return test_teardown(state);
}

static struct sl_chunk *in_ring(sl_ref ref)
{
	return sl_chunk_at(ring.arena, ref);
}

static sl_ref first_of_ring(void)
{
	return ring.arena->slot[slot].first_chunk;
}

/* All calls are rows, each once. */
static void assert_rows_of_all(void)
{
	char want[64];

	side_drain(&side);
	side_commit(&side);
	snprintf(want, sizeof(want), "%lld %lld %lld", (long long)calls, (long long)calls,
		 (long long)calls - 1);
	assert_string_equal(ask("SELECT count(*) || ' ' || count(DISTINCT returnValue) || ' ' || "
				"max(returnValue) FROM OSRT_API"),
			    want);
	assert_int_equal(spool->used, 0);
	assert_int_equal(ring.arena->used_chunks, 0);
	assert_int_equal(side.arenas.lost.corrupt, 0);
}

/* ---- which chunks ---- */

static void chunk_that_is_not_full_stays(void **state)
{
	uint32_t freed = ring.arena->freed_seq;

	(void)state;
	call(CHUNK_CALLS - 1);
	assert_int_equal(move_chunks(&side.arenas), 0);
	assert_int_equal(spool->used, 0);
	assert_int_equal(ring.arena->freed_seq, freed);
	assert_rows_of_all();
}

/* One more call is in the next chunk. The 3 words of the first are in the report already. */
static void full_chunk_is_copied_and_given_back(void **state)
{
	sl_ref before = first_of_ring();
	uint32_t freed = ring.arena->freed_seq;
	const struct sl_chunk *copy;

	(void)state;
	call(CHUNK_CALLS);
	assert_int_equal(ring.arena->used_chunks, 1);
	assert_int_equal(move_chunks(&side.arenas), CHUNK_FULL);
	assert_int_equal(ring.arena->used_chunks, 0);
	assert_int_not_equal(first_of_ring(), before);
	assert_int_equal((sl_ref)ring.arena->free_chunks, before);
	/* Threads that wait for a chunk go on. */
	assert_int_equal(ring.arena->freed_seq, freed + 1);
	assert_true(spool_is_ref(thread->at.chunk));
	assert_int_equal(thread->at.tail, thread->at.chunk);
	copy = spool_at(spool, thread->at.chunk);
	assert_int_equal(copy->committed, CHUNK_FULL);
	assert_int_equal(copy->consumed, CALL_WORDS * 8);
	assert_int_equal(copy->seq, 0);
	assert_int_equal(copy->slot, slot + 1);
	assert_int_equal(copy->next, first_of_ring());
	assert_int_equal(spool_count(spool, arena->id), 1);
	/* Nothing more is full. */
	assert_int_equal(move_chunks(&side.arenas), 0);
	assert_rows_of_all();
}

static void copies_are_linked_in_order(void **state)
{
	const struct sl_chunk *one, *two, *three;

	(void)state;
	call(CHUNK_CALLS);
	assert_int_equal(move_chunks(&side.arenas), CHUNK_FULL);
	call(2 * CHUNK_CALLS);
	assert_int_equal(move_chunks(&side.arenas), 2 * CHUNK_FULL);
	one = spool_at(spool, thread->at.chunk);
	assert_true(spool_is_ref(one->next));
	two = spool_at(spool, one->next);
	three = spool_at(spool, two->next);
	assert_int_equal(two->seq, 1);
	assert_int_equal(three->seq, 2);
	/* Of the later ones nothing is in the report. */
	assert_int_equal(two->consumed, 0);
	assert_int_equal(three->consumed, 0);
	assert_ptr_equal(spool_at(spool, thread->at.tail), three);
	assert_int_equal(three->next, first_of_ring());
	assert_rows_of_all();
}

/* The round that finds a thread copies its full chunks, and those that follow: the program need not wait for the commit. */
static void full_chunks_of_a_new_thread_go_back_before_the_commit(void **state)
{
	uint32_t old = slot;

	(void)state;
	slot = ring_thread(&ring, 1, (uint32_t)getpid(), (uint32_t)gettid());
	call(3 * CHUNK_CALLS + 1);
	assert_int_equal(ring.arena->used_chunks, 3);
	side_drain(&side);
	assert_int_equal(ring.arena->used_chunks, 0);
	assert_false(arena->threads.at[slot]->flags.has_spent);
	assert_int_equal(spool->used, 3);
	slot = old;
	assert_rows_of_all();
}

/* 300 chunks of one thread: 256 at a time, so that others have their turn. */
static void one_thread_does_not_keep_the_others_waiting(void **state)
{
	(void)state;
	call(300 * CHUNK_CALLS);
	assert_int_equal(move_chunks(&side.arenas), 256u * CHUNK_FULL);
	assert_int_equal(move_chunks(&side.arenas), 44u * CHUNK_FULL);
	assert_int_equal(move_chunks(&side.arenas), 0);
	assert_int_equal(spool->used, 300);
}

/* Reading goes on where it was, also that which looks ahead. */
static void places_that_lead_to_the_chunk_lead_to_its_copy(void **state)
{
	sl_ref before = first_of_ring();

	(void)state;
	call(CHUNK_CALLS);
	thread->at.prescanned = (struct place){.chunk = before, .pos = 48};
	thread->at.watched = (struct place){.chunk = before + 100, .pos = 24};
	assert_int_equal(move_chunks(&side.arenas), CHUNK_FULL);
	assert_int_equal(thread->at.prescanned.chunk, thread->at.chunk);
	assert_int_equal(thread->at.prescanned.pos, 48);
	assert_int_equal(thread->at.watched.chunk, before + 100);
	call(CHUNK_CALLS);
	thread->at.prescanned = (struct place){0};
	thread->at.watched = (struct place){.chunk = spool_at(spool, thread->at.tail)->next};
	assert_int_equal(move_chunks(&side.arenas), CHUNK_FULL);
	assert_int_equal(thread->at.watched.chunk, thread->at.tail);
	assert_int_equal(thread->at.prescanned.chunk, 0);
	thread->at.watched = (struct place){0};
	assert_rows_of_all();
}

/* ---- what stays ---- */

static void nothing_moves_without_a_spool(void **state)
{
	(void)state;
	call(CHUNK_CALLS);
	side.arenas.spool = NULL;
	assert_int_equal(move_chunks(&side.arenas), 0);
	side.arenas.spool = spool;
	/* Of a file the copies would be lost with the collector; a bad arena is left alone. */
	arena->flags.is_file = true;
	assert_int_equal(move_chunks(&side.arenas), 0);
	arena->flags.is_file = false;
	arena->flags.is_bad = true;
	assert_int_equal(move_chunks(&side.arenas), 0);
	arena->flags.is_bad = false;
	assert_int_equal(move_chunks(&side.arenas), CHUNK_FULL);
	assert_rows_of_all();
}

static void arena_without_backlog_is_not_looked_at(void **state)
{
	(void)state;
	call(CHUNK_CALLS);
	ring.arena->used_chunks = 0;
	assert_int_equal(move_chunks(&side.arenas), 0);
	ring.arena->used_chunks = 1;
	assert_rows_of_all();
}

/* Ended, or with chunks that go back with the next commit: their order in the ring would be lost. */
static void threads_that_give_chunks_back_are_left_out(void **state)
{
	(void)state;
	call(CHUNK_CALLS);
	thread->flags.is_over = true;
	assert_int_equal(move_chunks(&side.arenas), 0);
	thread->flags.is_over = false;
	thread->flags.has_spent = true;
	assert_int_equal(move_chunks(&side.arenas), 0);
	thread->flags.has_spent = false;
	assert_int_equal(move_chunks(&side.arenas), CHUNK_FULL);
	assert_rows_of_all();
}

static void chunks_stay_where_the_spool_has_no_room(void **state)
{
	sl_ref last = 0;

	(void)state;
	for (sl_ref ref; (ref = spool_take(spool));)
		last = ref;
	call(CHUNK_CALLS);
	assert_int_equal(move_chunks(&side.arenas), 0);
	assert_int_equal(ring.arena->used_chunks, 1);
	spool_give(spool, last);
	assert_int_equal(move_chunks(&side.arenas), CHUNK_FULL);
	assert_int_equal(thread->at.chunk, last);
}

/* A program may write anything into its arena. */
static void chunks_that_make_no_sense_are_not_copied(void **state)
{
	struct sl_chunk *full, *next;

	(void)state;
	call(CHUNK_CALLS);
	full = in_ring(first_of_ring());
	next = in_ring(full->next);
#define REFUSED(field, value)                                   \
	do {                                                    \
		uint32_t was = field;                           \
                                                                \
		field = (value);                                \
		assert_int_equal(move_chunks(&side.arenas), 0); \
		assert_int_equal(spool->used, 0);               \
		field = was;                                    \
	} while (0)
	REFUSED(full->committed, CHUNK_BYTES + 8);
	REFUSED(full->committed, CHUNK_FULL - 4);
	REFUSED(full->seq, 1);
	REFUSED(full->slot, slot + 2);
	REFUSED(full->next, SL_CHUNK_CNT + 1);
	REFUSED(full->next, UINT32_MAX);
	REFUSED(full->next, 0);
	REFUSED(next->seq, 0);
	REFUSED(next->seq, 2);
	REFUSED(next->slot, slot + 2);
#undef REFUSED
	assert_int_equal(move_chunks(&side.arenas), CHUNK_FULL);
	assert_rows_of_all();
}

/* Chunk 49 leads to the thread's, in an arena that has 48 or 49 of them. */
static void chunk_beyond_the_arena_is_not_copied(void **state)
{
	sl_ref first = first_of_ring();

	(void)state;
	*in_ring(49) = (struct sl_chunk){.committed = 8, .slot = slot + 1, .next = first};
	in_ring(first)->seq = 1;
	thread->at.chunk = 49;
	ring.arena->used_chunks = 1;
	arena->mem.chunk_cnt = 48;
	assert_int_equal(move_chunks(&side.arenas), 0);
	arena->mem.chunk_cnt = 49;
	assert_int_equal(move_chunks(&side.arenas), 8);
}

/* To the last byte. */
static void chunk_may_be_full_to_its_end(void **state)
{
	(void)state;
	call(CHUNK_CALLS);
	in_ring(first_of_ring())->committed = CHUNK_BYTES;
	assert_int_equal(move_chunks(&side.arenas), CHUNK_BYTES);
}

static void second_arena_is_moved_where_the_first_is_bad(void **state)
{
	struct ring other = ring_new();
	uint32_t index = ring_thread(&other, 1, (uint32_t)getpid(), (uint32_t)gettid());
	struct arena *second;

	(void)state;
	second = arena_attach(&side.arenas, other.fd, 2, (uint32_t)getpid(), (uint32_t)getpid());
	assert_non_null(second);
	ring_call(&other, index, SL_H_fsync, calls++);
	side_drain(&side);
	side_commit(&side);
	call(CHUNK_CALLS);
	for (uint32_t i = 0; i < CHUNK_CALLS; i++)
		ring_call(&other, index, SL_H_fsync, calls++);
	arena->flags.is_bad = true;
	assert_int_equal(move_chunks(&side.arenas), CHUNK_FULL);
	arena->flags.is_bad = false;
	assert_int_equal(spool_count(spool, second->id), 1);
	assert_rows_of_all();
	munmap(other.arena, SL_ARENA_BYTES);
	close(other.fd);
}

/* ---- new threads ---- */

static void thread_with_a_full_chunk_is_found_before_it_is_drained(void **state)
{
	uint32_t first = slot;
	sl_ref ref;

	(void)state;
	assert_false(move_finds_new(&side.arenas));
	/* The known thread's full chunk is none of a new one. */
	call(CHUNK_CALLS);
	assert_false(move_finds_new(&side.arenas));
	slot = ring_thread(&ring, 1, (uint32_t)getpid(), (uint32_t)gettid());
	call(CHUNK_CALLS);
	assert_false(move_finds_new(&side.arenas));
	call(1);
	assert_true(move_finds_new(&side.arenas));
	arena->flags.is_bad = true;
	assert_false(move_finds_new(&side.arenas));
	arena->flags.is_bad = false;
	ring.arena->slot[slot].state = SL_SLOT_FREE;
	assert_false(move_finds_new(&side.arenas));
	ring.arena->slot[slot].state = SL_SLOT_LIVE;
	ref = ring.arena->slot[slot].first_chunk;
	ring.arena->slot[slot].first_chunk = SL_CHUNK_CNT + 1;
	assert_false(move_finds_new(&side.arenas));
	ring.arena->slot[slot].first_chunk = ref;
	assert_true(move_finds_new(&side.arenas));
	slot = first;
	assert_rows_of_all();
	assert_false(move_finds_new(&side.arenas));
}

static void slots_beyond_the_known_ones_are_looked_at(void **state)
{
	(void)state;
	for (int i = 0; i < 80; i++)
		slot = ring_thread(&ring, 1, (uint32_t)getpid(), (uint32_t)gettid());
	call(CHUNK_CALLS + 1);
	assert_true(slot >= arena->threads.cnt);
	assert_true(move_finds_new(&side.arenas));
	ring.arena->used_chunks = 0;
	assert_false(move_finds_new(&side.arenas));
	ring.arena->used_chunks = 1;
}

/* ---- after a crash ---- */

/* A published copy of chunk @seq of the thread, as a collector that died leaves it. */
static sl_ref put_copy(uint32_t seq)
{
	sl_ref ref = spool_take(spool);
	struct sl_chunk *c = spool_at(spool, ref);

	*c = (struct sl_chunk){.committed = 8, .seq = seq, .slot = slot + 1};
	spool_publish(spool, ref, arena->id, thread->id.instance);
	spool->has_old = true;
	return ref;
}

static void ring_without_copies_is_read_by_itself(void **state)
{
	sl_ref before = thread->at.chunk;

	(void)state;
	assert_false(spool_resume(&side.arenas, arena, slot, thread));
	assert_int_equal(thread->at.chunk, before);
}

/* Chunks 0 and 1 were copied and are still in the ring, 2 is not copied. */
static void copied_chunks_of_the_ring_are_given_back(void **state)
{
	sl_ref ring_0, ring_1, ring_2, copy_1, copy_0;

	(void)state;
	call(2 * CHUNK_CALLS);
	ring_0 = first_of_ring();
	ring_1 = in_ring(ring_0)->next;
	ring_2 = in_ring(ring_1)->next;
	copy_1 = put_copy(1);
	copy_0 = put_copy(0);
	assert_int_equal(ring.arena->used_chunks, 2);
	assert_true(spool_resume(&side.arenas, arena, slot, thread));
	assert_int_equal(ring.arena->used_chunks, 0);
	assert_int_equal(first_of_ring(), ring_2);
	assert_int_equal(thread->at.chunk, copy_0);
	assert_int_equal(thread->at.tail, copy_1);
	assert_int_equal(spool_at(spool, copy_0)->next, copy_1);
	assert_int_equal(spool_at(spool, copy_1)->next, ring_2);
	assert_int_equal(side.arenas.lost.corrupt, 0);
}

/* The slot leads on already: nothing is to be given back. */
static void ring_that_leads_on_stays_as_it_is(void **state)
{
	sl_ref copy, next;

	(void)state;
	call(CHUNK_CALLS);
	copy = put_copy(0);
	next = in_ring(first_of_ring())->next;
	arena_give_back(arena, slot, first_of_ring(), next);
	thread->at.chunk = next;
	assert_true(spool_resume(&side.arenas, arena, slot, thread));
	assert_int_equal(first_of_ring(), next);
	assert_int_equal(ring.arena->used_chunks, 0);
	assert_int_equal(thread->at.chunk, copy);
	assert_int_equal(spool_at(spool, copy)->next, next);
}

/* A copy of chunk 1, though the ring has written nothing behind chunk 0. */
static void ring_that_contradicts_its_copies_is_corrupt(void **state)
{
	sl_ref before = thread->at.chunk;

	(void)state;
	put_copy(1);
	assert_false(spool_resume(&side.arenas, arena, slot, thread));
	assert_int_equal(side.arenas.lost.corrupt, 1);
	assert_int_equal(thread->at.chunk, before);
	assert_int_equal(first_of_ring(), before);
}

/* Chunk 0 leads to one of another number. */
static void ring_whose_numbers_jump_is_corrupt(void **state)
{
	(void)state;
	call(CHUNK_CALLS);
	in_ring(in_ring(first_of_ring())->next)->seq = 7;
	put_copy(0);
	assert_false(spool_resume(&side.arenas, arena, slot, thread));
	assert_int_equal(side.arenas.lost.corrupt, 1);
	assert_int_equal(ring.arena->used_chunks, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(chunk_that_is_not_full_stays),
		TEST(full_chunk_is_copied_and_given_back),
		TEST(full_chunks_of_a_new_thread_go_back_before_the_commit),
		TEST(copies_are_linked_in_order),
		TEST(one_thread_does_not_keep_the_others_waiting),
		TEST(places_that_lead_to_the_chunk_lead_to_its_copy),
		TEST(nothing_moves_without_a_spool),
		TEST(arena_without_backlog_is_not_looked_at),
		TEST(threads_that_give_chunks_back_are_left_out),
		TEST(chunks_stay_where_the_spool_has_no_room),
		TEST(chunks_that_make_no_sense_are_not_copied),
		TEST(chunk_beyond_the_arena_is_not_copied),
		TEST(chunk_may_be_full_to_its_end),
		TEST(second_arena_is_moved_where_the_first_is_bad),
		TEST(thread_with_a_full_chunk_is_found_before_it_is_drained),
		TEST(slots_beyond_the_known_ones_are_looked_at),
		TEST(ring_without_copies_is_read_by_itself),
		TEST(copied_chunks_of_the_ring_are_given_back),
		TEST(ring_that_leads_on_stays_as_it_is),
		TEST(ring_that_contradicts_its_copies_is_corrupt),
		TEST(ring_whose_numbers_jump_is_corrupt),
	};

	return cmocka_run_group_tests_name("move", tests, NULL, NULL);
}

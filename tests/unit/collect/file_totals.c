/* file_totals.c - totals by file: what a thread's chunk still has, what moved into the ring, and each counted once. */
#include "tests/unit/report/db_test.h"

#include "tests/unit/collect/ring_test.h"

#include "collector/collect/positions.h"

static struct sl_file_total *files_of(struct ring *r, uint32_t slot)
{
	struct sl_slot *s = &r->arena->slot[slot];

	if (!s->file_chunk) {
		s->file_chunk = (uint16_t)ring_take_chunk(r, true);
		memset(sl_chunk_at(r->arena, s->file_chunk), 0, SL_CHUNK_BYTES);
	}
	return (struct sl_file_total *)sl_chunk_at(r->arena, s->file_chunk);
}

static void ring_moved(struct ring *r, uint32_t slot, uint32_t serial, uint64_t cnt)
{
	struct sl_chunk *c;
	uint64_t *w = ring_room(r, slot, 9, &c);

	memset(w, 0, 72);
	w[0] = sl_mono_ns() - 10;
	w[1] = (uint64_t)sl_head(SL_META_FILE_TOTAL, 9, 0, SL_SHAPE_META, 0) << 32;
	w[2] = sl_fd_serial(3, serial);
	w[3] = cnt;
	w[4] = cnt * 8;
	w[5] = cnt * 100;
	c->committed += 72;
}

static struct sl_file_total counted(uint32_t serial, uint64_t read, uint64_t written)
{
	return (struct sl_file_total){
		.key = sl_file_key(serial),
		.fd = 3,
		.way = {{read, read * 8, read * 100}, {written, written * 2, written * 10}}};
}

static const char *sums(void)
{
	return ask("SELECT group_concat(filePath || ' ' || eventType || ' ' || count || ' ' || "
		   "bytes || ' ' || totalNs, ', ') FROM (SELECT * FROM SL_FILE_TOTALS JOIN "
		   "OSRT_FILE_ACCESS_DESCRIPTORS USING (fileAccessId) ORDER BY 2, 3)");
}

static void each_direction_has_a_row(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	struct side s;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	ring_path(&r, slot, SL_H_open, 3, 0, 3, 1, "/a");
	files_of(&r, slot)[3] = counted(1, 5, 2);
	side_drain(&s);
	/* Not while the report grows. */
	drain_totals(&s.arenas, false);
	side_commit(&s);
	assert_string_equal(ask("SELECT count(*) FROM sqlite_master WHERE name = 'SL_FILE_TOTALS'"),
			    "0");
	drain_totals(&s.arenas, true);
	side_commit(&s);
	assert_string_equal(sums(), "/a 3 5 40 500, /a 4 2 4 20");
	side_die(&s);
}

/* The report ends in several steps, and the thread counts on; then its place is another descriptor's. */
static void what_was_added_is_not_added_again(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	struct side s;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	ring_path(&r, slot, SL_H_open, 3, 0, 3, 1, "/a");
	ring_path(&r, slot, SL_H_open, 3, 0, 3, 2, "/b");
	files_of(&r, slot)[3] = counted(1, 5, 0);
	side_drain(&s);
	drain_totals(&s.arenas, true);
	drain_totals(&s.arenas, true);
	files_of(&r, slot)[3] = counted(1, 6, 0);
	drain_totals(&s.arenas, true);
	side_commit(&s);
	assert_string_equal(sums(), "/a 3 6 48 600");
	ring_moved(&r, slot, 1, 9);
	files_of(&r, slot)[3] = counted(2, 1, 0);
	side_drain(&s);
	drain_totals(&s.arenas, true);
	side_commit(&s);
	assert_string_equal(sums(), "/a 3 9 72 900, /b 3 1 8 100");
	/* It had the place a second time. */
	ring_moved(&r, slot, 2, 1);
	ring_moved(&r, slot, 1, 2);
	files_of(&r, slot)[3] = (struct sl_file_total){0};
	side_drain(&s);
	drain_totals(&s.arenas, true);
	side_commit(&s);
	assert_string_equal(sums(), "/a 3 11 88 1100, /b 3 1 8 100");
	side_die(&s);
}

/* On one descriptor: a stream's buffer and the kernel. */
static void calls_of_stdio_have_a_row_of_their_own(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	struct side s;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	ring_path(&r, slot, SL_H_open, 3, 0, 3, 1, "/a");
	files_of(&r, slot)[3] = counted(1, 5, 0);
	files_of(&r, slot)[259] = counted(1 | SL_FILE_STREAM, 70, 0);
	ring_moved(&r, slot, 1 | SL_FILE_STREAM, 2);
	side_drain(&s);
	drain_totals(&s.arenas, true);
	side_commit(&s);
	assert_string_equal(
		ask("SELECT group_concat(filePath || ' ' || isStdio || ' ' || count, ', ') FROM "
		    "(SELECT * FROM SL_FILE_TOTALS JOIN OSRT_FILE_ACCESS_DESCRIPTORS USING "
		    "(fileAccessId) ORDER BY isStdio)"),
		"/a 0 5, /a 1 72");
	side_die(&s);
}

static void ring_known(struct ring *r, uint32_t slot, uint32_t serial, uint64_t opened_by)
{
	struct sl_chunk *c;
	uint64_t *w = ring_room(r, slot, 6, &c);

	w[0] = sl_mono_ns() - 10;
	w[1] = (uint64_t)sl_head(SL_META_FILE, 6, 0, SL_SHAPE_META, 0) << 32;
	w[2] = sl_fd_serial(3, serial);
	w[3] = opened_by;
	w[4] = 2;
	memcpy(&w[5], "/b\0\0\0\0\0\0", 8);
	c->committed += 48;
}

/* A call without a record that opened it; a descriptor that was there counts no open, and has no time of one. */
static void short_opens_are_counted(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	struct side s;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	ring_known(&r, slot, 1, sl_opened_by(SL_H_open, 700));
	ring_known(&r, slot, 2, sl_opened_by(SL_H_fopen, 800));
	ring_known(&r, slot, 3, 0);
	ring_known(&r, slot, 4, sl_opened_by(SL_H_read, 5)); /* a forged one */
	ring_known(&r, slot, 5, 0xffff);
	side_drain(&s);
	side_commit(&s);
	assert_string_equal(ask("SELECT group_concat(isStdio || ' ' || eventType || ' ' || count "
				"|| ' ' || bytes || ' ' || "
				"totalNs, ', ') FROM SL_FILE_TOTALS"),
			    "0 1 1 0 700, 1 1 1 0 800");
	assert_string_equal(
		ask("SELECT group_concat(openedAt > 0, '') FROM OSRT_FILE_ACCESS_DESCRIPTORS"),
		"11011");
	side_die(&s);
}

static void an_ended_thread_gives_its_chunk_back(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), 0x3ffffff);
	struct side s;
	sl_ref chunk;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	ring_path(&r, slot, SL_H_open, 3, 0, 3, 1, "/a");
	files_of(&r, slot)[3] = counted(1, 9, 2);
	chunk = r.arena->slot[slot].file_chunk;
	/* The few places, before the thread took the chunk: killed before it cleared them. */
	sl_file_few((struct sl_agg *)sl_chunk_at(r.arena, r.arena->slot[slot].agg_chunk))[3] =
		counted(1, 7, 1);
	for (int i = 0; i < 2; i++) {
		side_drain(&s);
		drain_reap(&s.arenas, true);
		side_commit(&s);
	}
	assert_int_equal(r.arena->slot[slot].state, SL_SLOT_FREE);
	assert_int_equal(r.arena->slot[slot].file_chunk, 0);
	for (sl_ref ref = r.arena->free_chunks & UINT32_MAX; ref != chunk;
	     ref = r.arena->chunk_link[ref - 1])
		assert_int_not_equal(ref, 0);
	assert_string_equal(sums(), "/a 3 9 72 900, /a 4 2 4 20");
	side_die(&s);
}

/* Totals of another report, of descriptors that are none, and larger than can be summed up. */
static void totals_that_cannot_be_are_refused(void **state)
{
	struct ring r = ring_new();
	uint32_t slot = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	struct sl_file_total *files = files_of(&r, slot);
	struct side s;

	(void)state;
	side_open(&s, false);
	side_attach(&s, &r, false);
	s.arenas.report.epoch = 2;
	r.arena->slot[slot].epoch = 1;
	ring_path(&r, slot, SL_H_open, 3, 0, 3, 1, "/a");
	files[3] = counted(1, 5, 0);
	side_drain(&s);
	drain_totals(&s.arenas, true);
	side_commit(&s);
	assert_string_equal(ask("SELECT count(*) FROM sqlite_master WHERE name = 'SL_FILE_TOTALS'"),
			    "0");
	r.arena->slot[slot].epoch = 2;
	files[3] = counted(1, UINT64_MAX, 0);
	files[4] = counted(0, 5, 0);
	files[5] = counted(UINT32_MAX - 1, 5, 0);
	ring_moved(&r, slot, 1, UINT64_MAX);
	side_drain(&s);
	drain_totals(&s.arenas, true);
	side_commit(&s);
	assert_string_equal(ask("SELECT group_concat(typeof(count) || ' ' || count, ', ') FROM "
				"SL_FILE_TOTALS"),
			    "integer 4611686018427387903");
	r.arena->slot[slot].file_chunk = UINT16_MAX;
	drain_totals(&s.arenas, true);
	side_commit(&s);
	side_die(&s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_direction_has_a_row),
		TEST(what_was_added_is_not_added_again),
		TEST(calls_of_stdio_have_a_row_of_their_own),
		TEST(short_opens_are_counted),
		TEST(an_ended_thread_gives_its_chunk_back),
		TEST(totals_that_cannot_be_are_refused),
	};

	return cmocka_run_group_tests_name("file_totals", tests, NULL, NULL);
}

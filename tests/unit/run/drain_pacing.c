/* drain_pacing.c - when the rings are looked at, and whether records become rows at once. Times are hours away, so that no machine is too slow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collector/base/now.h"
#include "collector/run/drain_pacing.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/capture/capture.h"
#include "collector/capture/flight/flight_internal.h"
#include "collector/collect/pump.h"

#define HOUR_NS (INT64_C(3600) * 1000000000)

static struct collector *c;
static struct profile_options *options;
static struct capture *capture;
static struct sl_session *session;
static struct spool *spool;
static struct arena *arena;

static void no_folder(void *ctx, struct spool *s)
{
	(void)ctx;
	(void)s;
}

/* A program that has all processors, with an arena in which nothing waits; the last tick is an hour in the future. */
static int set_up(void **state)
{
	(void)state;
	c = calloc(1, sizeof(*c));
	options = calloc(1, sizeof(*options));
	capture = calloc(1, sizeof(*capture));
	session = calloc(1, sizeof(*session));
	spool = malloc(sizeof(*spool));
	arena = calloc(1, sizeof(*arena));
	if (!c || !options || !capture || !session || !spool || !arena)
		return -1;
	spool_init(spool);
	/* There may be files: 16,384 chunks. */
	spool->open_folder = no_folder;
	arena->map = mmap(NULL, SL_ARENA_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (arena->map == MAP_FAILED)
		return -1;
	arena->mem.chunk_cnt = SL_CHUNK_CNT;
	session->quota_chunks = 100;
	capture->state = CAPTURE_ON;
	c->options = options;
	c->capture = capture;
	c->session.control = session;
	c->arenas.spool = spool;
	c->arenas.first = arena;
	c->pace.uptime = -1;
	c->clocks.tick_at = mono_ns() + HOUR_NS;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	munmap(arena->map, SL_ARENA_BYTES);
	spool->used = 0;
	spool_release(spool);
	free(arena);
	free(spool);
	free(session);
	free(capture);
	free(options);
	free(c);
	return 0;
}

/* ---- do records wait? ---- */

#define AT_ONCE(field, value)                  \
	do {                                   \
		__typeof__(field) was = field; \
                                               \
		assert_true(pace_defers(c));   \
		field = (value);               \
		assert_false(pace_defers(c));  \
		field = was;                   \
	} while (0)

static void records_wait_while_the_program_has_all_processors(void **state)
{
	(void)state;
	AT_ONCE(c->arenas.spool, NULL);
	AT_ONCE(options->rings.live_always, true);
	AT_ONCE(c->pace.is_behind, true);
	AT_ONCE(c->root.is_gone, true);
	AT_ONCE(c->intake.exit_cnt, 1);
	AT_ONCE(c->session.control, NULL);
	AT_ONCE(options->capture.start_later, true);
	AT_ONCE(capture->state, CAPTURE_ENDING);
}

static void processor_must_be_free_four_times_in_a_row(void **state)
{
	(void)state;
	c->pace.free_looks = 3;
	assert_true(pace_defers(c));
	c->pace.free_looks = 4;
	assert_false(pace_defers(c));
}

/* Another query may come for 5 s. */
static void report_that_is_read_has_its_rows_at_once(void **state)
{
	(void)state;
	c->pace.watched_at = mono_ns() + HOUR_NS;
	assert_false(pace_defers(c));
	c->pace.watched_at = mono_ns() - HOUR_NS;
	assert_true(pace_defers(c));
}

static void many_short_processes_have_their_rows_at_once(void **state)
{
	(void)state;
	c->pace.last_id = 7;
	c->arenas.last_id = 7 + 63;
	assert_true(pace_defers(c));
	c->arenas.last_id = 7 + 64;
	assert_false(pace_defers(c));
}

/* Slots come back with the rows: half of 4,096 may be in use. */
static void scarce_slots_make_rows(void **state)
{
	struct arena other = {.map = arena->map};

	(void)state;
	arena->map->fresh_slot = SL_SLOT_CNT / 2;
	assert_true(pace_defers(c));
	assert_false(pace_look(c));
	arena->map->fresh_slot = SL_SLOT_CNT / 2 + 1;
	assert_false(pace_defers(c));
	assert_true(pace_look(c));
	/* In any arena. */
	other.next = arena;
	c->arenas.first = &other;
	assert_true(pace_look(c));
}

/* ---- is a tick due? ---- */

static void nothing_is_due_where_nothing_waits(void **state)
{
	static const unsigned ms[] = {1, 3, 7, 15, 31, 63, 63};

	(void)state;
	/* Twice as long and 1 ms more each time, until it is more than 50. */
	for (size_t i = 0; i < sizeof(ms) / sizeof(*ms); i++) {
		assert_false(pace_look(c));
		assert_int_equal(c->pace.move_ms, ms[i]);
	}
	options->rings.live_always = true;
	assert_false(pace_look(c));
}

static void end_of_the_program_is_urgent(void **state)
{
	(void)state;
	c->root.is_gone = true;
	assert_true(pace_look(c));
	c->root.is_gone = false;
	c->intake.exit_cnt = 1;
	assert_true(pace_look(c));
	c->intake.exit_cnt = 0;
	assert_false(pace_look(c));
	capture->state = CAPTURE_ENDING;
	assert_true(pace_look(c));
}

static void long_time_without_a_tick_is_enough(void **state)
{
	(void)state;
	assert_false(pace_look(c));
	c->clocks.tick_at = mono_ns() - HOUR_NS;
	assert_true(pace_look(c));
	options->rings.live_always = true;
	assert_true(pace_look(c));
}

/* With a free processor 32 chunks are enough; while records wait they are not. */
static void chunks_in_the_spool_are_due_with_a_free_processor(void **state)
{
	(void)state;
	spool->used = 32;
	assert_false(pace_look(c));
	options->rings.live_always = true;
	assert_true(pace_look(c));
	spool->used = 31;
	assert_false(pace_look(c));
	c->arenas.spool = NULL;
	assert_false(pace_look(c));
}

/* 72 MiB are 2,304 chunks of 32 KiB; then until half of it is left. */
static void spool_is_behind_until_half_of_it_are_rows(void **state)
{
	(void)state;
	spool->used = 2303;
	assert_false(pace_look(c));
	assert_false(c->pace.is_behind);
	spool->used = 2304;
	assert_true(pace_look(c));
	assert_true(c->pace.is_behind);
	spool->used = 1152;
	assert_true(pace_look(c));
	assert_true(c->pace.is_behind);
	spool->used = 1151;
	assert_false(pace_look(c));
	assert_false(c->pace.is_behind);
}

/* Without files there is room for 2,048: 1,556 are 75 %, 1,557 are 76. */
static void full_spool_is_behind(void **state)
{
	(void)state;
	spool->open_folder = NULL;
	spool->used = 1556;
	assert_false(pace_look(c));
	assert_false(c->pace.is_behind);
	spool->used = 1557;
	assert_true(pace_look(c));
	assert_true(c->pace.is_behind);
	c->arenas.spool = NULL;
	pace_look(c);
	assert_false(c->pace.is_behind);
}

/* A quarter of what an arena may use, its size or its quota. */
static void ring_that_fills_is_due(void **state)
{
	struct arena other = {.map = arena->map, .mem.chunk_cnt = SL_CHUNK_CNT};

	(void)state;
	arena->map->used_chunks = 25;
	assert_false(pace_look(c));
	arena->map->used_chunks = 26;
	assert_true(pace_look(c));
	arena->mem.chunk_cnt = 40;
	arena->map->used_chunks = 10;
	assert_false(pace_look(c));
	arena->map->used_chunks = 11;
	assert_true(pace_look(c));
	arena->map->used_chunks = 0;
	assert_false(pace_look(c));
	arena->map->waiter_cnt = 1;
	assert_true(pace_look(c));
	other.next = arena;
	c->arenas.first = &other;
	assert_true(pace_look(c));
}

static unsigned source_fill;

static unsigned fill_of_source(const void *self)
{
	(void)self;
	return source_fill;
}

/* A quarter of the fullest buffer may wait. */
static void kernel_buffer_that_fills_is_due(void **state)
{
	static const struct event_source empty, source = {.fill = fill_of_source};
	static const struct event_sources sources = {.list = {&empty, &source}};

	(void)state;
	c->recording.sources = &sources;
	c->recording.state[0] = c->recording.state[1] = c;
	source_fill = 25;
	assert_false(pace_look(c));
	source_fill = 26;
	assert_true(pace_look(c));
	c->recording.state[1] = NULL;
	assert_false(pace_look(c));
}

/* A full chunk of a thread that has no row yet. */
static void new_thread_is_due(void **state)
{
	struct sl_chunk *chunk = sl_chunk_at(arena->map, 1);

	(void)state;
	arena->map->fresh_slot = 1;
	arena->map->used_chunks = 1;
	arena->map->slot[0].state = SL_SLOT_LIVE;
	arena->map->slot[0].first_chunk = 1;
	assert_false(pace_look(c));
	chunk->next = 2;
	assert_true(pace_look(c));
}

/* ---- idle processors ---- */

static void put_uptime(const char *text)
{
	c->pace.uptime = memfd_create("uptime", MFD_CLOEXEC);
	assert_int_equal(write(c->pace.uptime, text, strlen(text)), (ssize_t)strlen(text));
}

/* 50.25 s of idle time. */
#define IDLE_NS INT64_C(50250000000)

static void idle_time_since_the_last_look_is_counted(void **state)
{
	(void)state;
	put_uptime("1000.00 50.25\n");
	/* The look before was an hour ago, when there were 1,200 s (a third) less, and 1 s. */
	c->pace.looked_at = mono_ns() - HOUR_NS;
	c->pace.idle_ns = IDLE_NS - HOUR_NS / 2;
	c->pace.free_looks = 2;
	pace_look(c);
	assert_int_equal(c->pace.free_looks, 3);
	assert_int_equal(c->pace.idle_ns, IDLE_NS);
	assert_true(c->pace.looked_at > mono_ns() - HOUR_NS / 2);
	/* A quarter of the hour is not enough: the row of free looks ends. */
	c->pace.looked_at = mono_ns() - HOUR_NS;
	c->pace.idle_ns = IDLE_NS - HOUR_NS / 4;
	pace_look(c);
	assert_int_equal(c->pace.free_looks, 0);
	close(c->pace.uptime);
}

static void uptime_is_read_ten_times_a_second_at_most(void **state)
{
	(void)state;
	put_uptime("1000.00 50.25\n");
	c->pace.looked_at = mono_ns() + HOUR_NS;
	c->pace.free_looks = 2;
	pace_look(c);
	assert_int_equal(c->pace.free_looks, 2);
	assert_int_equal(c->pace.idle_ns, 0);
	close(c->pace.uptime);
}

static void uptime_of_another_form_is_left_out(void **state)
{
	static const char *const texts[] = {"", "1000.00\n", "1000.00 x\n", "1000.00 50\n"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		put_uptime(texts[i]);
		c->pace.looked_at = 5;
		c->pace.free_looks = 2;
		pace_look(c);
		assert_int_equal(c->pace.free_looks, 2);
		assert_int_equal(c->pace.looked_at, 5);
		close(c->pace.uptime);
	}
}

/* ---- until the next look ---- */

static void look_comes_sooner_while_there_are_rows(void **state)
{
	(void)state;
	c->pace.move_ms = 63;
	c->pace.idle_rounds = 9;
	assert_int_equal(pace_next(c, true, 1), 4);
	assert_int_equal(c->pace.idle_rounds, 0);
	assert_int_equal(pace_next(c, true, 19999), 4);
	c->pace.idle_rounds = 9;
	assert_int_equal(pace_next(c, true, 20000), 2);
	assert_int_equal(c->pace.idle_rounds, 0);
	assert_int_equal(pace_next(c, true, 59999), 2);
	assert_int_equal(pace_next(c, true, 60000), 0);
}

/* Two rounds without rows: 20 ms; ten: 50. */
static void look_comes_later_without_rows(void **state)
{
	(void)state;
	c->pace.move_ms = 63;
	for (unsigned round = 1; round <= 12; round++)
		assert_int_equal(pace_next(c, true, 0), round < 2 ? 4 : round < 10 ? 20 : 50);
	assert_int_equal(c->pace.idle_rounds, 12);
}

static void look_without_a_tick_counts_as_no_round(void **state)
{
	(void)state;
	c->pace.move_ms = 63;
	c->pace.idle_rounds = 1;
	assert_int_equal(pace_next(c, false, 0), 4);
	assert_int_equal(c->pace.idle_rounds, 1);
	c->pace.idle_rounds = 10;
	assert_int_equal(pace_next(c, false, 70000), 50);
	assert_int_equal(c->pace.idle_rounds, 10);
}

/* Its chunks are not moved: no other look sets how long to wait. */
static void flight_recorder_rests_between_looks(void **state)
{
	struct flight *f = calloc(1, sizeof(*f));

	(void)state;
	assert_non_null(f);
	f->state = FLIGHT_READY;
	f->memory.bytes = UINT64_C(1) << 30;
	c->flight = f;
	assert_false(pace_look(c));
	assert_int_equal(pace_next(c, false, 0), 4);
	c->pace.idle_rounds = 10;
	assert_int_equal(pace_next(c, false, 0), 50);
	c->flight = NULL;
	free(f);
}

/* Chunks were moved a moment ago. */
static void look_comes_soon_after_a_move(void **state)
{
	(void)state;
	c->pace.idle_rounds = 20;
	c->pace.move_ms = 1;
	assert_int_equal(pace_next(c, false, 0), 1);
	c->pace.move_ms = 7;
	assert_int_equal(pace_next(c, false, 0), 7);
	c->root.is_gone = true;
	assert_int_equal(pace_next(c, false, 0), 2);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(records_wait_while_the_program_has_all_processors),
		TEST(processor_must_be_free_four_times_in_a_row),
		TEST(report_that_is_read_has_its_rows_at_once),
		TEST(many_short_processes_have_their_rows_at_once),
		TEST(scarce_slots_make_rows),
		TEST(nothing_is_due_where_nothing_waits),
		TEST(end_of_the_program_is_urgent),
		TEST(long_time_without_a_tick_is_enough),
		TEST(chunks_in_the_spool_are_due_with_a_free_processor),
		TEST(spool_is_behind_until_half_of_it_are_rows),
		TEST(full_spool_is_behind),
		TEST(ring_that_fills_is_due),
		TEST(kernel_buffer_that_fills_is_due),
		TEST(new_thread_is_due),
		TEST(idle_time_since_the_last_look_is_counted),
		TEST(uptime_is_read_ten_times_a_second_at_most),
		TEST(uptime_of_another_form_is_left_out),
		TEST(look_comes_sooner_while_there_are_rows),
		TEST(look_comes_later_without_rows),
		TEST(look_without_a_tick_counts_as_no_round),
		TEST(look_comes_soon_after_a_move),
		TEST(flight_recorder_rests_between_looks),
	};

	return cmocka_run_group_tests_name("drain_pacing", tests, NULL, NULL);
}

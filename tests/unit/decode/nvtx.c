/* nvtx.c - NVTX records become the right rows, in whatever order they are read; and no words whatsoever do harm. */
#include "tests/unit/report/db_test.h"

#include "collector/base/grow.h"
#include "collector/decode/nvtx/nvtx_internal.h"
#include "preload/wire/clock.h"

static struct proc proc = {.pid = 42};
static struct image image = {.proc = &proc, .number = 1};
static struct arena arena;
static struct clock_map clk;
static struct model model;
static struct arenas all;
static struct thread thread[2] = {
	{.id.use = 1, .image = &image, .id.global_tid = GLOBAL_TID(42, 42)},
	{.id.use = 2, .image = &image, .id.global_tid = GLOBAL_TID(42, 43)}};

static void begin(void)
{
	memset(&arena, 0, sizeof(arena));
	memset(&all, 0, sizeof(all));
	arena.map = calloc(1, sizeof(struct sl_arena));
	assert_non_null(arena.map);
	image.arena = &arena;
	all.db = test_open(false);
	all.clock = &clk;
	all.model = &model;
	model.db = all.db;
	clock_map_init(&clk, SL_CLOCK_MONO, 0);
	clock_map_add(&clk, 0, 0);
	clock_map_add(&clk, 1000000000, 1000000000);
}

/* Everything is in the file; @sql's answer. */
static const char *answer(const char *sql)
{
	nvtx_save(&all, &arena);
	nvtx_release(&arena);
	assert_int_equal(db_commit(all.db, 1000), 0);
	db_abandon(all.db);
	clock_map_release(&clk);
	free(arena.map);
	free_pages(&arena.strings.page, &arena.strings.pages);
	return ask_file(test_path, sql);
}

static void record(int thread_no, unsigned kind, uint64_t at, const uint64_t *w, unsigned words)
{
	struct call c = {.start = at,
			 .end = at,
			 .shape = SL_SHAPE_NVTX,
			 .hook = (uint16_t)kind,
			 .data.payload = w,
			 .data.words = words};

	nvtx_record(&all, &thread[thread_no], &c);
}

static void push(uint64_t at, unsigned level, char name)
{
	uint64_t w[] = {0, (uint64_t)level << 48 | (uint64_t)SL_NVTX_HAS_TEXT << 32, 1,
			(uint64_t)name};

	record(0, SL_NVTX_PUSH, at, w, 4);
}

static void pop(uint64_t at, unsigned level)
{
	uint64_t w[] = {(uint64_t)level << 32, 0};

	record(0, SL_NVTX_POP, at, w, 2);
}

#define ROWS                                                                                     \
	"SELECT group_concat(text || start || '-' || coalesce(end, 'open'), ' ') FROM (SELECT *" \
	" FROM NVTX_EVENTS ORDER BY text)"

static void nested_ranges_pair_up(void **state)
{
	(void)state;
	begin();
	push(10, 0, 'a');
	push(20, 1, 'b');
	pop(30, 1);
	push(40, 1, 'c');
	pop(50, 1);
	pop(60, 0);
	assert_string_equal(answer(ROWS), "a10-60 b20-30 c40-50");
}

static void a_lost_pop_spoils_one_range(void **state)
{
	(void)state;
	begin();
	push(10, 0, 'a');
	push(20, 1, 'b'); /* its pop was lost */
	push(40, 1, 'c');
	pop(50, 1);
	pop(60, 0);
	assert_string_equal(answer(ROWS), "a10-60 b20-open c40-50");
}

static void gil(int thread_no, unsigned kind, uint64_t at, uint64_t number)
{
	arena.map->gil_domain = 7;
	arena.map->gil_hold = 1;
	arena.map->gil_wait = 2;
	record(thread_no, kind, at, &number, number != 0);
}

#define GIL_ROWS                                                                               \
	"SELECT group_concat((globalTid & 1) || ':' || start || '-' || coalesce(end, 'open') " \
	"|| coalesce('#' || uint64Value, ''), ' ') FROM (SELECT * FROM NVTX_EVENTS WHERE "     \
	"eventType = 59 AND domainId = 7 ORDER BY globalTid, start)"

static void waiting_ends_where_holding_begins(void **state)
{
	(void)state;
	begin();
	gil(0, SL_NVTX_GIL_TAKE, 10, 0);
	gil(1, SL_NVTX_GIL_WAIT, 15, 0);
	gil(0, SL_NVTX_GIL_DROP, 20, 0);
	gil(1, SL_NVTX_GIL_TAKE, 25, 0);
	gil(1, SL_NVTX_GIL_DROP, 30, 0);
	gil(1, SL_NVTX_GIL_DROP, 35, 0); /* makes no sense */
	gil(1, SL_NVTX_GIL_TAKE, 40, 3); /* another lock; held at the end */
	assert_string_equal(answer(GIL_ROWS), "0:10-20 1:15-25 1:25-30 1:40-open#3");
}

static void lost_records_of_the_lock_spoil_one_range(void **state)
{
	(void)state;
	begin();
	gil(0, SL_NVTX_GIL_TAKE, 10, 0); /* never let go */
	gil(0, SL_NVTX_GIL_TAKE, 20, 0);
	gil(0, SL_NVTX_GIL_DROP, 30, 0);
	gil(0, SL_NVTX_GIL_WAIT, 40, 0); /* never taken */
	gil(0, SL_NVTX_GIL_DROP, 50, 0);
	gil(0, SL_NVTX_GIL_WAIT, 60, 0);
	gil(0, SL_NVTX_GIL_TAKE, 70, 0);
	gil(0, SL_NVTX_GIL_DROP, 80, 0);
	assert_string_equal(answer(GIL_ROWS), "0:10-open 0:20-30 0:40-open 0:60-70 0:70-80");
}

static void the_end_of_a_thread_ends_what_it_holds(void **state)
{
	(void)state;
	begin();
	gil(0, SL_NVTX_GIL_TAKE, 10, 0);
	nvtx_gil_end(&all, &thread[0], 50);
	gil(1, SL_NVTX_GIL_TAKE, 60, 0);
	nvtx_gil_end(&all, &thread[1], 55); /* a clock that is a little behind */
	assert_string_equal(answer(GIL_ROWS), "0:10-50 1:60-60");
}

static void a_value_can_come_with_the_end(void **state)
{
	uint64_t w[] = {0, SL_NVTX_POP_VALUE, 42};

	(void)state;
	begin();
	push(10, 0, 'a');
	record(0, SL_NVTX_POP, 20, w, 3);
	push(30, 0, 'b');
	nvtx_save(&all, &arena); /* it has a row by now */
	w[2] = 43;
	record(0, SL_NVTX_POP, 40, w, 3);
	assert_string_equal(answer("SELECT group_concat(text || int64Value || '-' || end, ' ') "
				   "FROM NVTX_EVENTS"),
			    "a42-20 b43-40");
}

static void a_lost_push_spoils_one_range(void **state)
{
	(void)state;
	begin();
	push(10, 0, 'a');
	pop(30, 1); /* of a push that was lost */
	pop(60, 0);
	pop(70, 0); /* and one that makes no sense */
	assert_string_equal(answer(ROWS), "a10-60");
}

static void a_range_written_while_open_gets_its_end(void **state)
{
	(void)state;
	begin();
	push(10, 0, 'a');
	nvtx_save(&all, &arena);
	assert_int_equal(db_commit(all.db, 20), 0);
	assert_string_equal(ask_file(test_path, ROWS), "a10-open");
	pop(60, 0);
	assert_string_equal(answer(ROWS), "a10-60");
}

static void an_end_may_be_read_before_its_start(void **state)
{
	uint64_t start[] = {0, (uint64_t)SL_NVTX_HAS_TEXT << 32, 7, 1, 'r'}, end[] = {0, 7, 0};

	(void)state;
	begin();
	record(1, SL_NVTX_END, 90, end, 3);
	record(0, SL_NVTX_START, 10, start, 5);
	/* The id again: it is another range by now. */
	record(0, SL_NVTX_START, 95, start, 5);
	assert_string_equal(
		answer("SELECT group_concat(start || '-' || coalesce(end, 'open') || ' ' ||"
		       " coalesce(endGlobalTid % 0x1000000, ''), ',') FROM NVTX_EVENTS"),
		"10-90 43,95-open ");
}

static void no_words_do_harm(void **state)
{
	uint64_t w[256], seed = 88172645463325252u;

	(void)state;
	begin();
	for (int i = 0; i < 100000; i++) {
		unsigned words = 0, kind;

		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		kind = seed % (SL_NVTX_CNT + 2);
		words = (unsigned)(seed >> 8) % 24;
		for (unsigned k = 0; k < words; k++) {
			uint64_t r = seed * (k * 2 + 1) >> 7;

			/* Small numbers more often than not: lengths, types and ids that nearly fit. */
			w[k] = r % 4 ? r >> 8 & (r % 3 ? 0x1f0000001fu : 0xffffu) : r;
		}
		/* Behind the words lies what must not be touched: the allocator's, for the sanitizer. */
		uint64_t *exact = malloc(words ? words * 8 : 1);

		assert_non_null(exact);
		memcpy(exact, w, words * 8);
		record((int)(seed >> 20 & 1), kind, seed >> 34, exact, words);
		free(exact);
		if (i % 20000 == 0) {
			nvtx_save(&all, &arena);
			assert_int_equal(db_commit(all.db, 1), 0);
		}
	}
	assert_string_not_equal(answer("SELECT count(*) FROM NVTX_EVENTS"), "0");
}

static void schemas_that_contain_themselves_end(void **state)
{
	uint64_t entry[] = {0, 50, 0, 50, 0, 0, 1, 'x'}, schema[] = {1ull << 32, 50, 0, 1, 0, 0, 0};
	uint64_t event[] = {0, 1ull << (32 + SL_NVTX_BLOBS_SHIFT), 50, 8 | 8ull << 32, 5};

	(void)state;
	begin();
	entry[1] = entry[3] = schema[1] = event[2] = UINT64_C(1) << 32;
	for (uint64_t i = 0; i < 500; i++) {
		entry[0] = i << 32;
		record(0, SL_NVTX_ENTRY, 1, entry, 8);
	}
	record(0, SL_NVTX_SCHEMA, 1, schema, 7);
	for (int i = 0; i < 20; i++)
		record(0, SL_NVTX_MARK, 2, event, 5);
	assert_string_equal(answer("SELECT count(*) || ' ' || min(binaryData) FROM NVTX_EVENTS"),
			    "20 0500000000000000");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nested_ranges_pair_up, test_setup, test_teardown),
		cmocka_unit_test_setup_teardown(a_lost_pop_spoils_one_range, test_setup,
						test_teardown),
		cmocka_unit_test_setup_teardown(waiting_ends_where_holding_begins, test_setup,
						test_teardown),
		cmocka_unit_test_setup_teardown(lost_records_of_the_lock_spoil_one_range,
						test_setup, test_teardown),
		cmocka_unit_test_setup_teardown(the_end_of_a_thread_ends_what_it_holds, test_setup,
						test_teardown),
		cmocka_unit_test_setup_teardown(a_value_can_come_with_the_end, test_setup,
						test_teardown),
		cmocka_unit_test_setup_teardown(a_lost_push_spoils_one_range, test_setup,
						test_teardown),
		cmocka_unit_test_setup_teardown(a_range_written_while_open_gets_its_end, test_setup,
						test_teardown),
		cmocka_unit_test_setup_teardown(an_end_may_be_read_before_its_start, test_setup,
						test_teardown),
		cmocka_unit_test_setup_teardown(no_words_do_harm, test_setup, test_teardown),
		cmocka_unit_test_setup_teardown(schemas_that_contain_themselves_end, test_setup,
						test_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

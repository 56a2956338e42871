/* stacks.c - stacks of records, on their way into one report after another. */
#include "tests/unit/report/db_test.h"

#include "tests/unit/collect/ring_test.h"

#include "collector/model/stacks.h"
#include "preload/wire/frame.h"

#include <stdlib.h>

/* ---- what a program writes ---- */

static uint64_t start_of_call;

static uint64_t *put(struct ring *r, uint32_t slot, enum sl_meta meta, uint64_t duration,
		     unsigned payload)
{
	struct sl_chunk *c;
	uint64_t *w = ring_room(r, slot, 2 + payload, &c);

	w[0] = start_of_call = sl_mono_ns() - 100;
	w[1] = duration | (uint64_t)sl_head(meta, 2 + payload, 0, SL_SHAPE_META, 0) << 32;
	c->committed += (2 + payload) * 8;
	return w + 2;
}

/* One frame; with @code, one of Python behind it. */
static void put_stack(struct ring *r, uint32_t slot, uint32_t id, uint64_t frame, uint32_t code)
{
	unsigned cnt = 1 + (code != 0);
	uint64_t *p = put(r, slot, SL_META_STACK, 0, 1 + cnt);

	p[0] = id | (uint64_t)cnt << 32;
	p[1] = frame;
	if (code)
		p[2] = sl_frame_python(code, 4);
}

static void put_module(struct ring *r, uint32_t slot, uint64_t start, const char *path)
{
	unsigned len = 2 + (unsigned)strlen(path);
	uint64_t *p = put(r, slot, SL_META_MODULE, 0, 5 + (len + 7) / 8);

	p[0] = start;
	p[1] = start + 0x1000;
	p[2] = start;
	p[3] = 2;
	p[4] = len;
	memcpy(p + 5, "\xab\xcd", 2);
	memcpy((char *)(p + 5) + 2, path, len - 2);
}

/* A line table of @whole bytes, of which @len are there. */
static void put_code(struct ring *r, uint32_t slot, uint32_t id, uint32_t whole, uint32_t len)
{
	uint64_t *p = put(r, slot, SL_META_CODE, 0, 4 + (12 + len + 7) / 8);

	p[0] = id;
	p[1] = 7 | UINT64_C(0x030b) << 32;
	p[2] = whole;
	p[3] = 12 + len;
	memcpy(p + 4, "file.py\0fun", 12);
	memset((char *)(p + 4) + 12, 'l', len);
}

static void put_lines(struct ring *r, uint32_t slot, uint32_t id, uint32_t from, uint32_t len)
{
	uint64_t *p = put(r, slot, SL_META_CODE_LINES, 0, 3 + (len + 7) / 8);

	p[0] = id;
	p[1] = from;
	p[2] = len;
	memset(p + 3, 'm', len);
}

static void put_call(struct ring *r, uint32_t slot, uint32_t stack)
{
	struct sl_chunk *c;
	uint64_t *w;

	if (stack)
		put(r, slot, SL_META_CHAIN, 50, 1)[0] = stack;
	else
		start_of_call = sl_mono_ns() - 100;
	w = ring_room(r, slot, 3, &c);
	w[0] = start_of_call;
	w[1] = 50 | (uint64_t)sl_head(SL_H_fsync, 3, 0, SL_SHAPE_CALL, 0) << 32;
	w[2] = 0;
	c->committed += 24;
}

/* ---- what came of it ---- */

static uint32_t begin(struct ring *r, struct side *s)
{
	*r = ring_new();
	side_open(s, false);
	side_attach(s, r, false);
	return ring_thread(r, 1, (uint32_t)getpid(), (uint32_t)gettid());
}

static void take(struct side *s)
{
	side_drain(s);
	side_commit(s);
	assert_int_equal(s->arenas.lost.corrupt, 0);
}

static const char chains[] =
	"SELECT group_concat(ifnull((SELECT source & 0xffffffff FROM SL_RAW_STACKS WHERE id = "
	"callchainId), -callchainId), ' ') FROM OSRT_API ORDER BY rowid";
static const char stacks[] =
	"SELECT group_concat((source & 0xffffffff) || ':' || (space & 0xffffffff) || ':' || "
	"length(frames), ' ') FROM (SELECT * FROM SL_RAW_STACKS ORDER BY source)";
static const char modules[] =
	"SELECT group_concat((space & 0xffffffff) || ':' || start || ':' || s.value || ':' || "
	"buildId, ' ') FROM (SELECT * FROM SL_MODULES ORDER BY space, start) JOIN StringIds s ON "
	"s.id = path";
static const char codes[] =
	"SELECT group_concat((id & 0xffffffff) || ':' || file || ':' || name || ':' || firstLine "
	"|| "
	"':' || version || ':' || lines, ' ') FROM (SELECT * FROM SL_CODES ORDER BY id)";
static const char spaces[] =
	"SELECT group_concat((id & 0xffffffff) || ':' || ifnull(parent & 0xffffffff, '-'), ' ') "
	"FROM (SELECT * FROM SL_SPACES ORDER BY id)";

/* The report that follows, at another path. */
static const char *next_report(struct side *s)
{
	static char path[112];
	static int number;
	struct db_open how = {.path = path, .utc_epoch_ns = 1, .system_clock_ns = 5000};
	char why[256] = "";
	struct db *db;

	snprintf(path, sizeof(path), "%s/next%d.sqlite", test_dir, number++);
	db = db_next(s->db, &how, 0, why, sizeof(why));
	if (!db)
		fail_msg("%s", why);
	db_abandon(s->db);
	s->db = s->model.db = s->arenas.db = s->model.live.db = db;
	return path;
}

/* ---- tests ---- */

static void a_call_names_its_stack(void **state)
{
	struct ring r;
	struct side s;
	uint32_t slot = begin(&r, &s);

	(void)state;
	put_call(&r, slot, 0);
	put_stack(&r, slot, 1, 0x1010, 0);
	put_module(&r, slot, 0x1000, "/lib/one");
	put_call(&r, slot, 1);
	put_call(&r, slot, 0);
	put_call(&r, slot, 1);
	take(&s);
	assert_string_equal(ask(chains), "0 1 0 1");
	assert_string_equal(ask("SELECT count(*) FROM OSRT_API WHERE callchainId = 1"), "2");
	assert_string_equal(ask("SELECT id || ' ' || (source >> 32) FROM SL_RAW_STACKS"), "1 1");
	assert_string_equal(ask(stacks), "1:1:8");
	assert_string_equal(ask(modules), "1:4096:/lib/one:abcd");
	assert_string_equal(ask(spaces), "1:-");
	side_die(&s);
}

static void a_number_without_its_call_has_no_stack(void **state)
{
	struct ring r;
	struct side s;
	uint32_t slot = begin(&r, &s);

	(void)state;
	put_stack(&r, slot, 1, 0x1010, 0);
	put(&r, slot, SL_META_CHAIN, 50, 1)[0] = 1;
	usleep(10);
	put_call(&r, slot, 0);
	take(&s);
	assert_string_equal(ask(chains), "0");
	side_die(&s);
}

static void the_teller_may_be_read_later(void **state)
{
	struct ring r;
	struct side s;
	uint32_t slot = begin(&r, &s);
	uint32_t teller = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());

	(void)state;
	put_stack(&r, teller, 1, 0x1010, 3);
	put_module(&r, teller, 0x1000, "/lib/one");
	put_code(&r, teller, 3, 2, 2);
	put_call(&r, teller, 1);
	put_call(&r, slot, 1);
	side_snapshot(&s);
	/* One of each ring, the call first. */
	assert_int_equal(drain_round(&s.arenas, 1), 2);
	assert_int_equal(db_commit(s.db, 1), 0);
	assert_string_equal(ask(chains), "1");
	assert_string_equal(ask(stacks), "1:1:16");
	assert_string_equal(ask(modules), "1:4096:/lib/one:abcd");
	assert_string_equal(ask(codes), "3:file.py:fun:7:779:ll");
	take(&s);
	assert_string_equal(ask(stacks), "1:1:16");
	assert_string_equal(ask(modules), "1:4096:/lib/one:abcd");
	side_die(&s);
}

static void a_number_and_its_call_are_read_together(void **state)
{
	struct ring r;
	struct side s;
	uint32_t slot = begin(&r, &s);

	(void)state;
	put_stack(&r, slot, 1, 0x1010, 0);
	put_call(&r, slot, 1);
	side_snapshot(&s);
	assert_int_equal(drain_round(&s.arenas, 1), 1);
	assert_int_equal(drain_round(&s.arenas, 1), 1);
	assert_true(drain_is_idle(&s.arenas));
	take(&s);
	assert_string_equal(ask(chains), "1");
	side_die(&s);
}

static void a_line_table_in_pieces(void **state)
{
	struct ring r;
	struct side s;
	uint32_t slot = begin(&r, &s);

	(void)state;
	put_code(&r, slot, 1, 6, 2);
	put_lines(&r, slot, 1, 2, 3);
	put_lines(&r, slot, 1, 5, 1);
	/* The middle was lost: what follows a hole is not believed. */
	put_code(&r, slot, 2, 6, 2);
	put_lines(&r, slot, 2, 4, 2);
	/* More than there can be. */
	put_code(&r, slot, 3, 3, 2);
	put_lines(&r, slot, 3, 2, 3);
	take(&s);
	assert_string_equal(ask(codes), "1:file.py:fun:7:779:llmmmm 2:file.py:fun:7:779:ll "
					"3:file.py:fun:7:779:ll");
	side_die(&s);
}

static void a_child_has_its_parents_objects(void **state)
{
	struct ring r;
	struct side s;
	uint32_t slot = begin(&r, &s), child;

	(void)state;
	child = ring_thread(&r, 2, (uint32_t)getpid(), (uint32_t)gettid());
	r.arena->slot[child].parent_process = 1;
	r.arena->process_cnt = 2;
	put_module(&r, slot, 0x1000, "/lib/one");
	put_stack(&r, slot, 1, 0x1010, 0);
	put_stack(&r, child, 2, 0x1020, 0);
	put_module(&r, child, 0x2000, "/lib/two");
	put_call(&r, child, 1);
	put_call(&r, child, 2);
	take(&s);
	assert_string_equal(ask(stacks), "1:1:8 2:2:8");
	assert_string_equal(ask(spaces), "1:- 2:1");
	assert_string_equal(ask(modules), "1:4096:/lib/one:abcd 2:8192:/lib/two:abcd");
	side_die(&s);
}

static void the_next_report_has_what_it_refers_to(void **state)
{
	struct ring r;
	struct side s;
	uint32_t slot = begin(&r, &s), child;
	const char *path;

	(void)state;
	child = ring_thread(&r, 2, (uint32_t)getpid(), (uint32_t)gettid());
	r.arena->slot[child].parent_process = 1;
	put_module(&r, slot, 0x1000, "/lib/one");
	put_stack(&r, slot, 1, 0x1010, 0);
	put_stack(&r, child, 2, 0x1020, 5);
	put_code(&r, child, 5, 2, 2);
	put_code(&r, child, 6, 2, 2);
	put_call(&r, slot, 1);
	put_call(&r, child, 2);
	take(&s);
	path = next_report(&s);
	put_call(&r, child, 2);
	take(&s);
	assert_string_equal(ask_file(path, chains), "2");
	assert_string_equal(ask_file(path, stacks), "2:2:16");
	assert_string_equal(ask_file(path, spaces), "1:- 2:1");
	assert_string_equal(ask_file(path, modules), "1:4096:/lib/one:abcd");
	assert_string_equal(ask_file(path, codes), "5:file.py:fun:7:779:ll");
	put_call(&r, slot, 1);
	put_module(&r, slot, 0x5000, "/lib/new");
	take(&s);
	assert_string_equal(ask_file(path, stacks), "1:1:8 2:2:16");
	assert_string_equal(ask_file(path, modules), "1:4096:/lib/one:abcd 1:20480:/lib/new:abcd");
	/* One that refers to none has none. */
	path = next_report(&s);
	put_call(&r, slot, 0);
	take(&s);
	assert_string_equal(ask_file(path, stacks), "error: no such table: SL_RAW_STACKS");
	side_die(&s);
}

static void recover_goes_on_with_them(void **state)
{
	struct ring r;
	struct side s;
	uint32_t slot = begin(&r, &s);
	const char *path;

	(void)state;
	put_module(&r, slot, 0x1000, "/lib/one");
	put_stack(&r, slot, 1, 0x1010, 5);
	put_code(&r, slot, 5, 2, 2);
	put_call(&r, slot, 1);
	take(&s);
	side_die(&s);
	put_call(&r, slot, 1);
	put_stack(&r, slot, 2, 0x1020, 5);
	put_call(&r, slot, 2);
	side_open(&s, true);
	side_attach(&s, &r, true);
	take(&s);
	assert_string_equal(ask(chains), "1 1 2");
	assert_string_equal(ask(stacks), "1:1:16 2:1:16");
	assert_string_equal(ask(modules), "1:4096:/lib/one:abcd");
	assert_string_equal(ask(codes), "5:file.py:fun:7:779:ll");
	path = next_report(&s);
	put_call(&r, slot, 1);
	take(&s);
	assert_string_equal(ask_file(path, stacks), "1:1:16");
	assert_string_equal(ask_file(path, modules), "1:4096:/lib/one:abcd");
	assert_string_equal(ask_file(path, codes), "5:file.py:fun:7:779:ll");
	side_die(&s);
}

static void the_executable_has_no_name_of_its_own(void **state)
{
	struct ring r;
	struct side s;
	uint32_t slot = begin(&r, &s);

	(void)state;
	put_module(&r, slot, 0x1000, "");
	put_module(&r, slot, 0x2000, "linux-vdso.so.1");
	put_module(&r, slot, 0x3000, "here.so");
	take(&s);
	assert_string_equal(ask("SELECT value LIKE '/%/stacks' FROM SL_MODULES JOIN StringIds s ON "
				"s.id = path WHERE start = 0x1000"),
			    "1");
	assert_string_equal(ask("SELECT value FROM SL_MODULES JOIN StringIds s ON s.id = path "
				"WHERE start = 0x2000"),
			    "[vdso]");
	assert_string_equal(ask("SELECT value LIKE '/%/here.so' FROM SL_MODULES JOIN StringIds s "
				"ON s.id = path WHERE start = 0x3000"),
			    "1");
	side_die(&s);
}

static void many_calls_take_one_stack(void **state)
{
	struct ring r;
	struct side s;
	uint32_t slot = begin(&r, &s);

	(void)state;
	put_stack(&r, slot, 1, 0x1010, 0);
	for (int i = 0; i < 20000; i++)
		put_call(&r, slot, 1);
	take(&s);
	assert_string_equal(
		ask("SELECT count(*) || ' ' || count(DISTINCT callchainId) FROM OSRT_API"),
		"20000 1");
	assert_string_equal(ask(stacks), "1:1:8");
	side_die(&s);
}

/* Processes count their stacks each from 1; readers hold callchainId as a signed 32-bit integer. */
static void stacks_of_two_programs_have_numbers_of_one_count(void **state)
{
	struct ring r, other = ring_new();
	struct side s;
	uint32_t slot = begin(&r, &s),
		 slot_of_other = ring_thread(&other, 1, (uint32_t)getppid(), (uint32_t)getppid());

	(void)state;
	assert_non_null(
		arena_attach(&s.arenas, other.fd, 70000, (uint32_t)getppid(), (uint32_t)getppid()));
	put_stack(&r, slot, 1, 0x1010, 0);
	put_stack(&other, slot_of_other, 1, 0x2020, 0);
	for (int i = 0; i < 3; i++) {
		put_call(&r, slot, 1);
		put_call(&other, slot_of_other, 1);
	}
	take(&s);
	assert_string_equal(ask("SELECT group_concat(id || ':' || (source >> 32) || ':' || (source "
				"& 0xffffffff), ' ') FROM SL_RAW_STACKS"),
			    "1:1:1 2:70000:1");
	assert_string_equal(ask("SELECT group_concat(n, ' ') FROM (SELECT callchainId || 'x' || "
				"count(*) AS n FROM OSRT_API GROUP BY callchainId)"),
			    "1x3 2x3");
	assert_string_equal(ask("SELECT count(DISTINCT callchainId || ' ' || globalTid) FROM "
				"OSRT_API"),
			    "2");
	side_die(&s);
	munmap(other.arena, SL_ARENA_BYTES);
	close(other.fd);
}

/* A stack whose record is lost has a number, and no row: the next collector gives that number to no other. */
static void recover_gives_no_number_twice(void **state)
{
	struct ring r;
	struct side s;
	uint32_t slot = begin(&r, &s);

	(void)state;
	put_stack(&r, slot, 1, 0x1010, 0);
	put_call(&r, slot, 1);
	put_call(&r, slot, 7);
	take(&s);
	assert_string_equal(ask("SELECT max(callchainId) || ' ' || (SELECT max(id) FROM "
				"SL_RAW_STACKS) FROM OSRT_API"),
			    "2 1");
	side_die(&s);
	put_stack(&r, slot, 2, 0x1020, 0);
	put_call(&r, slot, 2);
	side_open(&s, true);
	side_attach(&s, &r, true);
	take(&s);
	assert_string_equal(ask(chains), "1 -2 2");
	assert_string_equal(ask("SELECT group_concat(id, ' ') FROM SL_RAW_STACKS"), "1 3");
	side_die(&s);
}

/* Whatever a program writes: nothing is believed. */
static void garbage_does_no_harm(void **state)
{
	struct ring r;
	struct side s;
	uint32_t slot = begin(&r, &s);
	uint64_t seed = 5;

	(void)state;
	for (int i = 0; i < 30000; i++) {
		unsigned words = 0;
		uint64_t *p;

		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
		words = seed >> 60;
		p = put(&r, slot, (enum sl_meta)(SL_META_CHAIN + (seed >> 50) % 6), 0, words);
		for (unsigned k = 0; k < words; k++) {
			seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
			/* Small ones mean something more often. */
			p[k] = seed >> (seed >> 58);
		}
		if (i % 7 == 0)
			put_call(&r, slot, (uint32_t)(seed >> 50));
	}
	side_drain(&s);
	side_commit(&s);
	assert_true(s.arenas.lost.corrupt > 1000);
	next_report(&s);
	for (uint32_t i = 1; i < 5000; i++)
		put_call(&r, slot, i);
	side_drain(&s);
	side_commit(&s);
	side_die(&s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_call_names_its_stack),
		TEST(a_number_without_its_call_has_no_stack),
		TEST(the_teller_may_be_read_later),
		TEST(a_number_and_its_call_are_read_together),
		TEST(a_line_table_in_pieces),
		TEST(a_child_has_its_parents_objects),
		TEST(the_next_report_has_what_it_refers_to),
		TEST(recover_goes_on_with_them),
		TEST(the_executable_has_no_name_of_its_own),
		TEST(many_calls_take_one_stack),
		TEST(stacks_of_two_programs_have_numbers_of_one_count),
		TEST(recover_gives_no_number_twice),
		TEST(garbage_does_no_harm),
	};

	return cmocka_run_group_tests_name("stacks", tests, NULL, NULL);
}

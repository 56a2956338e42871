/* symbolize_online.c - names of stacks before the end, and what makes them anew. */
#include "tests/unit/report/stacks_test.h"

#include "collector/symbols/symbols.h"

/* As a recording tells: what is looked up ahead goes by that. */
static void tell_stack(struct db *db, int64_t id, uint64_t frame)
{
	const struct db_module m = {.space = SPACE,
				    .start = bias,
				    .end = bias + (1u << 24),
				    .bias = bias,
				    .path = self};

	assert_int_equal(db_space(db, SPACE, 0, GPID(77)), 0);
	if (!db_has_stack(db, STACK(1)))
		assert_int_equal(db_module(db, &m), 0);
	assert_int_equal(db_stack(db, id, SPACE, 100, &frame, 1), 0);
}

/* What is there so far gets its names. */
static void name_now(struct db *db)
{
	assert_int_equal(db_commit(db, 1000), 0);
	while (db_ahead_is_there(db) && !db_ahead_is_idle(db))
		usleep(100);
	db_stacks_early(db, 100000);
	assert_int_equal(db_commit(db, 1000), 0);
}

/* Two stacks, one of which a call names. */
static struct db *named_early(void)
{
	struct db *db = test_open(false);

	tell_stack(db, STACK(1), EXACT(leaf));
	tell_stack(db, STACK(2), EXACT(Py_RunMain));
	call(db, STACK(1));
	name_now(db);
	assert_string_equal(symbols_of(STACK(1)), "leaf");
	assert_string_equal(symbols_of(STACK(2)), "NULL");
	/* Who makes the table anew loses that. */
	run(db, "UPDATE SL_FRAMES SET line = 4711");
	return db;
}

static const char *lines(void)
{
	return ask("SELECT count(*) || ' ' || sum(ifnull(line, 0) = 4711) FROM SL_FRAMES");
}

static const char *chains(void)
{
	return ask("SELECT group_concat((c.id - 4294967296) || value, ' ') FROM"
		   " (SELECT * FROM OSRT_CALLCHAINS ORDER BY id) c"
		   " JOIN StringIds s ON s.id = c.symbol");
}

static void names_of_before_stay(void **state)
{
	struct db *db = named_early();

	(void)state;
	call(db, STACK(1));
	end(db);
	assert_string_equal(lines(), "2 1");
	assert_string_equal(chains(), "1leaf");
	assert_string_equal(symbols_of(STACK(2)), "Py_RunMain");
	assert_string_equal(ask("SELECT count(*) FROM sqlite_schema WHERE name = 'SL_RAW_STACKS'"),
			    "0");
}

static void what_comes_after_them_is_added(void **state)
{
	struct db *db = named_early();
	int64_t *r;

	(void)state;
	tell_stack(db, STACK(3), EXACT(_PyEval_EvalFrameDefault));
	call(db, STACK(3));
	name_now(db);
	assert_string_equal(symbols_of(STACK(3)), "_PyEval_EvalFrameDefault");
	call(db, STACK(2));
	call(db, STACK(9));
	/* One that has its names is named by another kind of rows, too. */
	r = db_row(db, DB_SYSCALL);
	for (int i = 0; i < CALL_COL_CNT; i++)
		r[i] = 1;
	r[CALL_CALLCHAIN_ID] = STACK(1);
	db_stack_wanted(db, DB_STACK_SYSCALL, STACK(1));
	name_now(db);
	end(db);
	assert_string_equal(chains(), "1leaf 2Py_RunMain 3_PyEval_EvalFrameDefault 9[Lost stack]");
	assert_string_equal(ask("SELECT group_concat(value) FROM SYSCALL_CALLCHAINS c"
				" JOIN StringIds s ON s.id = c.symbol"),
			    "leaf");
	assert_string_equal(lines(), "4 1");
	assert_string_equal(ask("SELECT count(*) FROM SL_STACKS"), "4");
}

static void all_that_is_there_needs_nothing_at_the_end(void **state)
{
	struct db *db = named_early();

	(void)state;
	call(db, STACK(2));
	name_now(db);
	end(db);
	assert_string_equal(lines(), "2 1");
	assert_string_equal(chains(), "1leaf 2Py_RunMain");
}

static void rows_that_are_lost_take_names_with_them(void **state)
{
	struct db *db = named_early();

	(void)state;
	call(db, STACK(2));
	assert_int_equal(db_commit(db, 1000), 0);
	while (!db_ahead_is_idle(db))
		usleep(100);
	db_stacks_early(db, 100000);
	assert_true(db_pending(db) > 0);
	db_fail(db, SQLITE_NOMEM);
	assert_int_not_equal(db_commit(db, 1000), 0);
	end(db);
	assert_string_equal(lines(), "2 0");
	assert_string_equal(chains(), "1leaf 2Py_RunMain");
}

static void what_was_not_opened_ahead_is_left_to_the_end(void **state)
{
	struct db *db = test_open(false);
	const uint64_t kernel = SL_FRAME_KERNEL | 0xffff0000000010;
	struct symbols *s;

	(void)state;
	tell_stack(db, STACK(1), EXACT(leaf));
	call(db, STACK(1));
	assert_int_equal(db_commit(db, 1000), 0);
	/* One that nobody was asked about. */
	run(db, "UPDATE SL_RAW_STACKS SET frames = x'%016llx'", __builtin_bswap64(kernel));
	name_now(db);
	assert_string_equal(ask("SELECT count(*) FROM SL_STACKS"), "0");
	assert_int_equal(db_ahead_take(db, &s), 0);
	symbols_close(s);
	end(db);
	assert_string_equal(ask("SELECT kind FROM SL_FRAMES"), "2");
}

#define MANY  1500 /* stacks of as many frames as make several transactions */
#define DEPTH 100

/* Tells what follows when it begins with names; never comes back. */
static void name_until_killed(int tell)
{
	struct db *db = test_open(false);
	uint64_t frames[DEPTH];

	for (size_t i = 0; i < DEPTH; i++)
		frames[i] = i % 2 ? EXACT(leaf) : EXACT(Py_RunMain);
	tell_stack(db, STACK(1), EXACT(leaf));
	for (int64_t n = 2; n <= MANY; n++)
		if (db_stack(db, STACK(n), SPACE, 100, frames, DEPTH))
			_exit(1);
	for (int64_t n = 1; n <= MANY; n += 2)
		call(db, STACK(n));
	if (db_commit(db, 1000))
		_exit(2);
	while (!db_ahead_is_idle(db))
		usleep(1000);
	if (write(tell, "", 1) != 1)
		_exit(3);
	do {
		bool is_done = db_stacks_early(db, 20000);

		db_commit(db, 1000);
		if (is_done)
			break;
	} while (true);
	for (;;)
		pause();
}

static void killed_meanwhile(void **state)
{
	(void)state;
	for (useconds_t i = 0; i < 12; i++) {
		int begun[2], status;
		char byte;
		pid_t pid;

		assert_int_equal(pipe(begun), 0);
		pid = fork();
		if (!pid)
			name_until_killed(begun[1]);
		close(begun[1]);
		assert_int_equal(read(begun[0], &byte, 1), 1);
		close(begun[0]);
		usleep(i * 12000);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		assert_string_equal(ask("PRAGMA integrity_check"), "ok");
		end(test_open(true));
		assert_string_equal(
			ask("SELECT count(*) || ' ' || count(DISTINCT id) FROM SL_STACKS"),
			"149901 1500");
		assert_string_equal(
			ask("SELECT count(*) || ' ' || count(DISTINCT id) FROM OSRT_CALLCHAINS"),
			"74901 750");
		assert_string_equal(ask("SELECT count(*) FROM SL_FRAMES"), "2");
		assert_string_equal(symbols_of(STACK(1)), "leaf");
		assert_int_equal(unlink(test_path), 0);
	}
}

/* ---- whatever comes when ---- */

#define STEPS   120
#define SPACES  3
#define CODES   6
#define CHANCES 400

struct told {
	unsigned seed;
	bool is_early;
	int64_t stacks, samples;
	bool has_space[SPACES], has_code[CODES];
};

static unsigned roll(struct told *t, unsigned sides)
{
	t->seed = t->seed * 1103515245 + 12345;
	return (t->seed >> 16) % sides;
}

static const void *const PLACES[] = {(const void *)leaf, (const void *)Py_RunMain,
				     (const void *)_PyEval_EvalFrameDefault};

/* Near this program or far from it, so that modules and addresses meet; sometimes where none ever is. */
static uint64_t some_frame(struct told *t)
{
	switch (roll(t, 12)) {
	case 0:
		return SL_FRAME_PYTHON | sl_frame_python(1 + roll(t, CODES), 2 * roll(t, 4));
	case 1:
		return SL_FRAME_REMARK | SL_REMARK_BROKEN;
	case 2:
	case 3:
	case 4:
		return SL_FRAME_EXACT | (0x10000000u + 0x1000 * roll(t, 12));
	case 5:
		return SL_FRAME_EXACT | 0x7000000000;
	default:
		return EXACT(PLACES[roll(t, 3)]);
	}
}

static void tell_space(struct db *db, struct told *t, unsigned n)
{
	if (!t->has_space[n])
		assert_int_equal(db_space(db, SPACE + n, n ? SPACE + n - 1 : 0, GPID(77 + n)), 0);
	t->has_space[n] = true;
}

/* A little before or after its time, as when rings of two threads are read. */
static int64_t some_time(struct told *t, int at)
{
	return at * 10 + (int)roll(t, 30) - 15;
}

static void tell_module(struct db *db, struct told *t, int at)
{
	char path[64];
	struct db_module m = {.space = SPACE + roll(t, SPACES), .path = path};

	tell_space(db, t, (unsigned)(m.space - SPACE));
	if (roll(t, 3)) {
		m.start = m.bias = 0x10000000u + 0x1000 * roll(t, 10);
		m.end = m.start + 0x1000 * (1 + roll(t, 3));
		snprintf(path, sizeof(path), "/nowhere/lib%u.so", roll(t, 5));
	} else {
		m.start = m.bias = bias;
		m.end = bias + (1u << 24);
		m.path = self;
	}
	m.since = some_time(t, at) - (roll(t, 3) ? 0 : (int)roll(t, 400));
	assert_int_equal(db_module(db, &m), 0);
}

/* With the first lines of its table, or with more. */
static void tell_code(struct db *db, struct told *t)
{
	static const uint8_t lines[] = {0xe8, 2, 0xe8, 2, 0xe8, 2, 0xe8, 2}; /* a line each */
	unsigned n = roll(t, CODES);
	struct db_code c = {.id = STACK(1 + n),
			    .file = "/nowhere/a.py",
			    .name = "function",
			    .first_line = 10 * (int)(1 + n),
			    .version = 0x030b,
			    .lines = lines,
			    .lines_len = t->has_code[n] ? sizeof(lines) : 2};

	t->has_code[n] = true;
	assert_int_equal(db_code(db, &c), 0);
}

static void tell_some_stack(struct db *db, struct told *t, int at)
{
	uint64_t frames[8];
	size_t cnt = 1 + roll(t, 8);

	for (size_t i = 0; i < cnt; i++)
		frames[i] = some_frame(t);
	assert_int_equal(db_stack(db, STACK(++t->stacks), SPACE + roll(t, SPACES), some_time(t, at),
				  frames, cnt),
			 0);
}

/* Of a stack that was told of, or will be, or never. */
static void tell_call(struct db *db, struct told *t)
{
	int64_t stack = STACK(1 + roll(t, (unsigned)t->stacks + 2)), *r;
	unsigned what = roll(t, 6);

	if (what < 4) {
		call(db, stack);
		return;
	}
	r = db_row(db, what == 4 ? DB_SYSCALL : DB_COMPOSITE_EVENTS);
	for (int i = 0; i < (what == 4 ? CALL_COL_CNT : SAMPLE_COL_CNT); i++)
		r[i] = 1;
	db_stack_wanted(db, what == 4 ? DB_STACK_SYSCALL : DB_STACK_SAMPLE, stack);
	if (what == 4)
		r[CALL_CALLCHAIN_ID] = stack;
	else
		r[SAMPLE_STACK_ID] = stack;
	if (what == 5)
		r[SAMPLE_ID] = ++t->samples;
}

static int named_so_far(struct db *db)
{
	sqlite3_stmt *stmt;
	int cnt = 0;

	if (!db_table_exists(db, "SL_STACKS") ||
	    db_prepare(db, "SELECT count(DISTINCT id) FROM main.SL_STACKS", &stmt))
		return 0;
	if (sqlite3_step(stmt) == SQLITE_ROW)
		cnt = sqlite3_column_int(stmt, 0);
	sqlite3_finalize(stmt);
	return cnt;
}

/* Stacks that had their names before the end. */
static int record(unsigned seed, bool is_early)
{
	struct db *db = test_open(false);
	struct told t = {.seed = seed, .is_early = is_early};
	int named;

	for (int at = 0; at < STEPS; at++) {
		unsigned what = roll(&t, 10);

		if (what == 0)
			tell_module(db, &t, at);
		else if (what == 1)
			tell_code(db, &t);
		else if (what < 5)
			tell_some_stack(db, &t, at);
		else if (what < 9)
			tell_call(db, &t);
		else if (is_early)
			name_now(db);
	}
	named = named_so_far(db);
	end(db);
	return named;
}

/* What a reader sees, less numbers that depend on the order of things. */
#define SEEN(of)                                                                             \
	"SELECT 1 what, s.id, depth, kind, n.value, m.value, line, unresolved, originalIP,"  \
	" unwindMethod FROM " of ".SL_STACKS s JOIN " of ".SL_FRAMES f ON f.id = frameId"    \
	" JOIN " of ".StringIds n ON n.id = symbol JOIN " of ".StringIds m ON m.id = module" \
	" UNION ALL SELECT what, c.id, stackDepth, 0, n.value, m.value, line, unresolved,"   \
	" originalIP, unwindMethod FROM (SELECT 2 what, * FROM " of ".OSRT_CALLCHAINS"       \
	" UNION ALL SELECT 3, * FROM " of ".SYSCALL_CALLCHAINS) c"                           \
	" JOIN " of ".StringIds n ON n.id = symbol JOIN " of ".StringIds m ON m.id = module"
#define MISSING(from, in) "SELECT * FROM (" SEEN(from) ") EXCEPT SELECT * FROM (" SEEN(in) ")"

static const char *differences(const char *other)
{
	static char answer[64];
	char *sql = sqlite3_mprintf("ATTACH %Q AS other", other), *error = NULL;
	sqlite3_stmt *stmt;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(test_path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, &error), SQLITE_OK);
	sqlite3_free(sql);
	assert_int_equal(
		sqlite3_prepare_v2(
			db,
			"SELECT (SELECT count(*) FROM (" MISSING(
				"main",
				"other") "))"
					 " || ' ' || (SELECT count(*) FROM (" MISSING(
						 "other",
						 "main") "))"
							 " || ' ' || ((SELECT count(*) FROM "
							 "main.SL_STACKS) -"
							 " (SELECT count(*) FROM other.SL_STACKS))"
							 " || ' ' || ((SELECT count(*) FROM "
							 "main.OSRT_CALLCHAINS) -"
							 " (SELECT count(*) FROM "
							 "other.OSRT_CALLCHAINS))"
							 " || ' ' || ((SELECT count(*) FROM "
							 "main.SAMPLING_CALLCHAINS) -"
							 " (SELECT count(*) FROM "
							 "other.SAMPLING_CALLCHAINS))",
			-1, &stmt, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	snprintf(answer, sizeof(answer), "%s", sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return answer;
}

/* Names given before the end are those that all would have at the end. */
static void no_name_depends_on_when_it_is_given(void **state)
{
	char other[128];
	int named = 0;

	(void)state;
	snprintf(other, sizeof(other), "%s.other", test_path);
	for (unsigned seed = 1; seed <= CHANCES; seed++) {
		assert_int_equal(record(seed, false), 0);
		assert_int_equal(rename(test_path, other), 0);
		named += record(seed, true);
		if (strcmp(differences(other), "0 0 0 0 0") != 0)
			fail_msg("seed %u: %s", seed, differences(other));
		unlink(test_path);
		unlink(other);
	}
	if (named < CHANCES * 2)
		fail_msg("only %d stacks had names before the end", named);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, test_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(names_of_before_stay),
		T(what_comes_after_them_is_added),
		T(all_that_is_there_needs_nothing_at_the_end),
		T(rows_that_are_lost_take_names_with_them),
		T(what_was_not_opened_ahead_is_left_to_the_end),
		T(killed_meanwhile),
		T(no_name_depends_on_when_it_is_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

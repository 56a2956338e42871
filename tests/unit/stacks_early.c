/* stacks_early.c - names of stacks before the end, and what makes them anew. */
#include "tests/unit/stacks_test.h"

#include "collector/symbols.h"

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

/* Two stacks, one of which a call names. */
static struct db *named_early(void)
{
	struct db *db = test_open(false);

	tell_stack(db, STACK(1), EXACT(leaf));
	tell_stack(db, STACK(2), EXACT(Py_RunMain));
	call(db, STACK(1));
	assert_int_equal(db_commit(db, 1000), 0);
	while (!db_stacks_early(db))
		usleep(1000);
	assert_string_equal(symbols_of(STACK(1)), "leaf");
	/* Who makes the table anew loses that. */
	run(db, "UPDATE SL_FRAMES SET line = 4711");
	return db;
}

static const char *lines(void)
{
	return ask("SELECT count(*) || ' ' || sum(line = 4711) FROM SL_FRAMES");
}

static void names_of_before_are_those_of_the_end(void **state)
{
	struct db *db = named_early();

	(void)state;
	call(db, STACK(1));
	end(db);
	assert_string_equal(lines(), "2 2");
	assert_string_equal(ask("SELECT count(*) FROM OSRT_CALLCHAINS"), "1");
	assert_string_equal(ask("SELECT count(*) FROM sqlite_schema WHERE name = 'SL_RAW_STACKS'"),
			    "0");
}

static void what_comes_after_them_makes_them_anew(void **state)
{
	struct db *db = named_early();

	(void)state;
	tell_stack(db, STACK(3), EXACT(_PyEval_EvalFrameDefault));
	end(db);
	assert_string_equal(lines(), "3 0");
	assert_string_equal(symbols_of(STACK(3)), "_PyEval_EvalFrameDefault");
}

static void so_does_a_call_that_names_another(void **state)
{
	struct db *db = named_early();

	(void)state;
	call(db, STACK(2));
	call(db, STACK(9));
	end(db);
	assert_string_equal(ask("SELECT group_concat((c.id - 4294967296) || value, ' ') FROM"
				" OSRT_CALLCHAINS c JOIN StringIds s ON s.id = c.symbol"),
			    "1leaf 2Py_RunMain 9[Lost stack]");
	assert_string_equal(lines(), "3 0");
}

static void what_was_not_opened_ahead_is_left_to_the_end(void **state)
{
	struct db *db = test_open(false);
	const uint64_t kernel = SL_FRAME_KERNEL | 0xffff0000000010;
	struct symbols *s;

	(void)state;
	tell_stack(db, STACK(1), EXACT(leaf));
	assert_int_equal(db_commit(db, 1000), 0);
	/* One that nobody was asked about. */
	run(db, "UPDATE SL_RAW_STACKS SET frames = x'%016llx'", __builtin_bswap64(kernel));
	while (!db_stacks_early(db))
		usleep(1000);
	assert_string_equal(
		ask("SELECT count(*) FROM sqlite_schema WHERE name IN ('SL_STACKS', 'SL_FRAMES')"),
		"0");
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
	db_stacks_early(db); /* looks only */
	if (write(tell, "", 1) != 1 || !db_stacks_early(db))
		_exit(3);
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

#define T(test) cmocka_unit_test_setup_teardown(test, setup, test_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(names_of_before_are_those_of_the_end),
		T(what_comes_after_them_makes_them_anew),
		T(so_does_a_call_that_names_another),
		T(what_was_not_opened_ahead_is_left_to_the_end),
		T(killed_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* dump_tasks.c - tasks of asyncio as a tree and as JSON, of reports made by hand. */
#include "tests/unit/why/why_test.h"

#include "exporters/dump/dump.h"

/* @awaits, @deadlock: 0: none. */
static void task(int process, int number, const char *name, const char *state,
		 const char *waits_for, int awaits, int deadlock, const char *stack)
{
	sql("INSERT INTO SL_ASYNC_TASKS VALUES (%lld, %lld, %lld, %d, %d, %Q, %Q, nullif(%d, 0), "
	    "nullif(%d, 0), nullif(%d, 0))",
	    ns_of(20), pid_of(process), tid_of(process), number, text_id(name), state, waits_for,
	    awaits, stack_id(stack), deadlock);
}

static void waits(int process, int awaiter, int number)
{
	sql("INSERT INTO SL_ASYNC_AWAITERS VALUES (%lld, %lld, %d, %d)", ns_of(20), pid_of(process),
	    number, awaiter);
}

static void look(void)
{
	report(20);
	sql("INSERT INTO META_DATA_CAPTURE VALUES ('SL_LOOK', 'true')");
	sql("INSERT INTO PROCESSES VALUES (%lld, 100, 'prog')", pid_of(MAIN));
}

/* The answer; static. */
static const char *answer(bool json)
{
	static char *text;
	static struct dump d;
	char why[512] = "";
	size_t len;
	FILE *out;

	free(text);
	text = NULL;
	out = open_memstream(&text, &len);
	open_report();
	if (dump_read(&d, test.db, why, sizeof(why)) < 0)
		fail_msg("%s", why);
	if (json)
		assert_int_equal(dump_put_json(out, &d, "r", NULL), 0);
	else
		dump_put_text(out, &d, 0);
	dump_free(&d);
	fclose(out);
	return text;
}

static void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in:\n%s", part, text);
}

static void tasks_stand_below_those_that_wait_for_them(void **state)
{
	(void)state;
	look();
	task(MAIN, 1, "top", "waiting", "task", 2, 0, "main prog a.py:9");
	task(MAIN, 2, "middle", "waiting", "gather", 0, 0, "mid prog a.py:5");
	task(MAIN, 3, "low", "running", NULL, 0, 0, NULL);
	waits(MAIN, 1, 2);
	waits(MAIN, 2, 3);
	has(answer(false),
	    "\nTasks of asyncio of process 100 (3): below each the tasks that it waits for\n"
	    "task \"top\": waiting for task \"middle\"\n"
	    "    main (a.py:9)\n"
	    "  task \"middle\": waiting for a gather\n"
	    "      mid (a.py:5)\n"
	    "    task \"low\": running\n");
}

static void task_with_two_waiters_is_printed_once(void **state)
{
	(void)state;
	look();
	task(MAIN, 1, "a", "waiting", "task", 3, 0, "a prog a.py:1");
	task(MAIN, 2, "b", "waiting", "task", 3, 0, "b prog a.py:2");
	task(MAIN, 3, "c", "waiting", "future", 0, 0, "c prog a.py:3");
	waits(MAIN, 1, 3);
	waits(MAIN, 2, 3);
	has(answer(false), "  task \"c\": waiting for a future\n"
			   "      c (a.py:3)\n"
			   "task \"b\": waiting for task \"c\"\n"
			   "    b (a.py:2)\n"
			   "  task \"c\": waiting for a future, as above\n");
}

static void tasks_in_one_place_are_one_paragraph(void **state)
{
	const char *text;

	(void)state;
	look();
	for (int i = 0; i < 7; i++)
		task(MAIN, 10 + i, "w", "waiting", "future", 0, 0, "work prog a.py:4");
	text = answer(false);
	has(text,
	    "task \"w\", task \"w\", task \"w\", task \"w\" and 3 more: waiting for a future\n"
	    "    work (a.py:4)\n");
	assert_null(strstr(strstr(text, "work (a.py:4)") + 1, "work (a.py:4)"));
}

static void tasks_in_other_places_stand_apart(void **state)
{
	const char *text;

	(void)state;
	look();
	task(MAIN, 1, "a", "waiting", "future", 0, 0, "work prog a.py:4");
	task(MAIN, 2, "b", "waiting", "future", 0, 0, "work prog a.py:5");
	task(MAIN, 3, "c", "ready", NULL, 0, 0, "work prog a.py:5");
	text = answer(false);
	has(text, "task \"a\": waiting for a future\n");
	has(text, "task \"b\": waiting for a future\n");
	has(text, "task \"c\": ready\n");
}

static void tasks_that_await_each_other_are_named_first(void **state)
{
	const char *text;

	(void)state;
	look();
	task(MAIN, 1, "top", "waiting", "task", 2, 0, "main prog a.py:9");
	task(MAIN, 2, "one", "waiting", "task", 3, 1, "one prog a.py:1");
	task(MAIN, 3, "two", "waiting", "task", 2, 1, "two prog a.py:2");
	waits(MAIN, 1, 2);
	waits(MAIN, 3, 2);
	waits(MAIN, 2, 3);
	text = answer(false);
	has(text, "Deadlock: task \"one\" at a.py:1 in one awaits task \"two\"; task \"two\" at "
		  "a.py:2 in "
		  "two awaits task \"one\"\n");
	has(text, "\ntask \"one\": waiting for task \"two\" (deadlock 1)\n"
		  "    one (a.py:1)\n"
		  "  task \"two\": waiting for task \"one\" (deadlock 1)\n"
		  "      two (a.py:2)\n"
		  "    task \"one\": waiting for task \"two\" (deadlock 1), as above\n");
	has(answer(true), "\"task_deadlocks\": 1");
}

static void deadlocks_of_two_processes_have_two_numbers(void **state)
{
	const char *text;

	(void)state;
	look();
	process(CHILD, MAIN, 0, 20);
	for (int i = 0; i < 2; i++) {
		task(i ? CHILD : MAIN, 2, i ? "c" : "a", "waiting", "task", 3, 1,
		     "one prog a.py:1");
		task(i ? CHILD : MAIN, 3, i ? "d" : "b", "waiting", "task", 2, 1,
		     "two prog a.py:2");
	}
	text = answer(true);
	has(text, "\"task_deadlocks\": 2");
	text = answer(false);
	has(text, "Deadlock: task \"a\" at a.py:1 in one awaits task \"b\"; ");
	has(text, "Deadlock: task \"c\" at a.py:1 in one awaits task \"d\"; ");
	has(text, "(deadlock 2)");
}

static void json_has_each_task_with_its_waiters(void **state)
{
	const char *text;

	(void)state;
	look();
	task(MAIN, 1, "top", "waiting", "task", 2, 0, "main prog a.py:9");
	task(MAIN, 2, "low", "ready", NULL, 0, 0, NULL);
	waits(MAIN, 1, 2);
	text = answer(true);
	has(text,
	    "{\"task\": 1, \"pid\": 100, \"tid\": 100, \"name\": \"top\", \"state\": \"waiting\", "
	    "\"waits_for\": \"task\", \"awaits\": 2, \"awaiters\": [], \"deadlock\": null");
	has(text,
	    "{\"task\": 2, \"pid\": 100, \"tid\": 100, \"name\": \"low\", \"state\": \"ready\", "
	    "\"waits_for\": null, \"awaits\": null, \"awaiters\": [1], \"deadlock\": null");
}

static void look_without_tasks_has_no_tree(void **state)
{
	(void)state;
	look();
	assert_null(strstr(answer(false), "asyncio"));
	has(answer(true), "\"task_deadlocks\": 0");
	has(answer(true), "\"tasks\": []");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(tasks_stand_below_those_that_wait_for_them),
		TEST(task_with_two_waiters_is_printed_once),
		TEST(tasks_in_one_place_are_one_paragraph),
		TEST(tasks_in_other_places_stand_apart),
		TEST(tasks_that_await_each_other_are_named_first),
		TEST(deadlocks_of_two_processes_have_two_numbers),
		TEST(json_has_each_task_with_its_waiters),
		TEST(look_without_tasks_has_no_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

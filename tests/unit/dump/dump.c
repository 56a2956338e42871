/* dump.c - threads of a look as text and as JSON, in the order of their waits. */
#include "tests/unit/why/why_test.h"

#include "exporters/dump/dump.h"

#define THIRD 102

static void looked_at(int tid, const char *state, const char *name, int lock, int owner,
		      const char *stack)
{
	sql("INSERT INTO SL_OPEN_WAITS(timestamp, globalTid, nameId, object, ownerTid, stackId, "
	    "state) VALUES (%lld, %lld, %d, nullif(%d, 0), nullif(%lld, 0), nullif(%d, 0), %Q)",
	    ns_of(20), tid_of(tid), text_id(name), lock, owner ? tid_of(owner) : 0, stack_id(stack),
	    state);
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

#define STACK(n) "f" #n " prog a.c:" #n "; main prog a.c:9"

static void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in:\n%s", part, text);
}

static void stands_before(const char *text, const char *first, const char *then)
{
	has(text, first);
	has(text, then);
	assert_true(strstr(text, first) < strstr(text, then));
}

static void deadlock_is_named_first(void **state)
{
	const char *text;

	(void)state;
	look();
	looked_at(THIRD, "S", "read", 0, 0, STACK(3));
	looked_at(MAIN, "S", "futex", 7, OTHER, STACK(1));
	looked_at(OTHER, "S", "futex", 8, MAIN, STACK(2));
	text = answer(false);
	has(text,
	    "(3 threads)\nDeadlock: main thread waiting for a lock, futex at a.c:1 in f1, "
	    "which thread 101 has; thread 101 waiting for a lock, futex at a.c:2 in f2, which "
	    "main thread has\n");
	has(text, "\nThread 100: waiting for a lock, futex at a.c:1 in f1; thread 101 has it\n"
		  "    f1 (a.c:1)\n    main (a.c:9)\n");
	stands_before(text, "\nThread 101", "\nThread 102");
}

static void running_threads_stand_last_without_compiled_code(void **state)
{
	const char *text;

	(void)state;
	look();
	looked_at(MAIN, "R", "running", 0, 0, NULL);
	looked_at(OTHER, "S", "read", 0, 0, STACK(1));
	text = answer(false);
	stands_before(text,
		      "Thread 101:", "Thread 100: running, or ready to run\n    [not recorded");
}

static void threads_with_one_stack_are_one_paragraph(void **state)
{
	const char *text;

	(void)state;
	look();
	looked_at(MAIN, "S", "read", 0, 0, STACK(1));
	for (int i = 0; i < 6; i++)
		looked_at(OTHER + i, "S", "futex", 0, 0, STACK(2));
	text = answer(false);
	has(text, "Threads 101, 102, 103, 104 and 2 more: ");
	assert_null(strstr(text, "105"));
}

/* One that another waits for is not like the others. */
static void thread_that_is_waited_for_stands_alone(void **state)
{
	const char *text;

	(void)state;
	look();
	looked_at(MAIN, "S", "futex", 0, OTHER, STACK(1));
	looked_at(OTHER, "S", "read", 0, 0, STACK(2));
	looked_at(THIRD, "S", "read", 0, 0, STACK(2));
	text = answer(false);
	has(text, "\nThread 101: ");
	has(text, "\nThread 102: ");
}

static void threads_of_two_processes_stand_apart(void **state)
{
	const char *text;

	(void)state;
	look();
	process(CHILD, MAIN, 0, 20);
	looked_at(OTHER, "S", "read", 0, 0, STACK(2));
	looked_at(CHILD + 1, "S", "read", 0, 0, STACK(2));
	text = answer(false);
	assert_null(strstr(text, "Threads "));
	has(text, "\nThread 101");
	has(text, "\nThread 201");
}

/* A worker like others, for which a later one waits. */
static void later_thread_that_is_waited_for_stands_alone(void **state)
{
	const char *text;

	(void)state;
	look();
	looked_at(MAIN, "S", "futex", 0, THIRD, STACK(1));
	looked_at(OTHER, "S", "read", 0, 0, STACK(2));
	looked_at(THIRD, "S", "read", 0, 0, STACK(2));
	text = answer(false);
	assert_null(strstr(text, "Threads "));
	stands_before(text, "\nThread 102: ", "\nThread 101: ");
}

static void threads_of_a_cycle_stand_apart(void **state)
{
	const char *text;

	(void)state;
	look();
	looked_at(OTHER, "S", "futex", 7, OTHER, STACK(2));
	looked_at(THIRD, "S", "futex", 7, OTHER, STACK(2));
	text = answer(false);
	assert_null(strstr(text, "Threads "));
	stands_before(text, "\nThread 101: ", "\nThread 102: ");
}

static void lock_of_an_ended_thread_says_so(void **state)
{
	(void)state;
	look();
	looked_at(MAIN, "S", "futex", 7, OTHER, STACK(1));
	has(answer(false), "; thread 101 had it when it ended\n");
}

static void other_ends_and_the_gil_are_named(void **state)
{
	(void)state;
	look();
	looked_at(MAIN, "S", "read", 0, 0, STACK(1));
	sql("UPDATE SL_OPEN_WAITS SET peer = 'only this process has the other end', hasGil = 1");
	has(answer(false), "; only this process has the other end; it has the GIL\n");
	has(answer(true), "\"peer\": \"only this process has the other end\", \"has_gil\": true");
}

static void json_has_each_thread_with_its_stack(void **state)
{
	const char *text;

	(void)state;
	look();
	looked_at(MAIN, "S", "futex", 7, OTHER, STACK(1));
	looked_at(OTHER, "R", "running", 0, 0, NULL);
	text = answer(true);
	has(text, "\"deadlocks\": 0");
	has(text,
	    "{\"tid\": 100, \"pid\": 100, \"name\": null, \"state\": \"S\", \"call\": \"futex\"");
	has(text, "\"owner\": 101, \"deadlock\": null");
	has(text, "{\"function\": \"f1\", \"module\": \"prog\", \"file\": \"a.c\", \"line\": 1, "
		  "\"kind\": "
		  "\"native\", \"inlined\": false}");
	has(text, "\"stack\": null");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(deadlock_is_named_first),
		TEST(running_threads_stand_last_without_compiled_code),
		TEST(threads_with_one_stack_are_one_paragraph),
		TEST(thread_that_is_waited_for_stands_alone),
		TEST(threads_of_two_processes_stand_apart),
		TEST(later_thread_that_is_waited_for_stands_alone),
		TEST(threads_of_a_cycle_stand_apart),
		TEST(lock_of_an_ended_thread_says_so),
		TEST(other_ends_and_the_gil_are_named),
		TEST(json_has_each_thread_with_its_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

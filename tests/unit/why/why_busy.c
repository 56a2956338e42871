/* why_busy.c - a root that waits for processes that work: which of them is explained, how processes are named and the one that was last. */
#include "tests/unit/why/why_test.h"

#define THIRD  300
#define FOURTH 400

/* The root waits for time to pass in select(), from 0 to 100, and looks at its children each 20. */
static void master(void)
{
	report(100);
	for (int t = 0; t < 100; t += 20) {
		runs(MAIN, t, t + 1, .ready = t);
		call(MAIN, "select", t + 1, t + 20, "loop /me/master.py:9");
	}
}

/* A child that computes from @from to @to, with a line. */
static void worker(int pid, double from, double to, const char *line)
{
	process(pid, MAIN, from, to);
	runs(pid, from, to, .by = MAIN);
	computes(pid, from, to, line);
}

/* The process whose thread is explained. */
static int64_t focus(void)
{
	return test.y.model.processes[test.y.model.threads[test.y.focus].process].pid & 0xffffff;
}

static void busiest_of_the_workers_is_explained(void **state)
{
	(void)state;
	master();
	worker(CHILD, 2, 60, L(2));
	worker(THIRD, 2, 99, L(3));
	worker(FOURTH, 30, 98, L(4));
	ask();
	assert_true(test.y.busy.is_moved);
	assert_int_equal(focus(), THIRD);
	assert_string_equal(parts(), "COMPUTE at a.py:3 in f3 97\n");
	assert_int_equal(test.y.ns, 97 * MS);
	assert_int_equal(test.y.busy.list_cnt, 3);
	assert_int_equal(test.y.busy.list[0].run, 97 * MS);
	assert_int_equal(test.y.busy.list[1].run, 68 * MS);
}

/* On a busy machine: of each 20 the root waits 7 for events and 12 for a CPU. */
static void waits_of_the_root_for_a_cpu_are_no_work(void **state)
{
	(void)state;
	report(100);
	for (int t = 0; t < 100; t += 20) {
		runs(MAIN, t, t + 1, .ready = t ? t - 12 : 0);
		call(MAIN, "select", t + 1, t + 8, "loop /me/master.py:9");
	}
	worker(CHILD, 2, 99, L(2));
	ask();
	assert_true(test.y.busy.is_moved);
	assert_int_equal(focus(), CHILD);
}

/* The root sleeps @times times for 90 / @times, and its child, which is killed at 99, all the time from 5 on. */
static void agent(int times)
{
	int each = 90 / times;

	report(100);
	for (int i = 0; i < times; i++) {
		runs(MAIN, i * (each + 1), i * (each + 1) + 1, .ready = i * (each + 1));
		call(MAIN, "usleep", i * (each + 1) + 1, (i + 1) * (each + 1), L(1));
	}
	runs(MAIN, times * (each + 1), 100, .ready = times * (each + 1));
	process(CHILD, MAIN, 2, 99);
	runs(CHILD, 2, 5, .by = MAIN);
	call(CHILD, "usleep", 5, 97, L(2));
	runs(CHILD, 97, 99, .ready = 97);
}

static void root_that_asks_again_and_again_is_not_explained(void **state)
{
	(void)state;
	agent(3);
	ask();
	assert_int_equal(focus(), CHILD);
	assert_string_equal(test.y.walk.places.list[test.y.culprits[0].place].text, "a.py:2 in f2");
}

static void root_that_sleeps_twice_is_explained(void **state)
{
	(void)state;
	agent(2);
	ask();
	assert_int_equal(focus(), MAIN);
	assert_string_equal(test.y.walk.places.list[test.y.culprits[0].place].text, "a.py:1 in f1");
}

/* A worker of a server: 28 at one line, 29 at another, and 40 without a request. */
static void idle_time_of_a_worker_is_no_cause(void **state)
{
	(void)state;
	master();
	process(CHILD, MAIN, 2, 99);
	runs(CHILD, 2, 30, .by = MAIN);
	computes(CHILD, 2, 30, L(2));
	call(CHILD, "epoll_wait", 30, 70, L(5));
	runs(CHILD, 70, 99);
	computes(CHILD, 70, 99, L(3));
	ask();
	assert_int_equal(focus(), CHILD);
	assert_string_equal(test.y.walk.places.list[test.y.culprits[0].place].text, "a.py:3 in f3");
	assert_int_equal(test.y.culprits_cnt, 3);
	assert_string_equal(test.y.walk.places.list[test.y.culprits[2].place].text, "a.py:5 in f5");
	for (size_t i = 0; i < test.y.gains_cnt; i++)
		assert_true(test.y.gains[i].culprit != 2);
	assert_true(why_is_idle(&test.y, &test.y.culprits[2]));
	test.y.busy.is_moved = false;
	assert_false(why_is_idle(&test.y, &test.y.culprits[2]));
}

/* The root's end waits for the last one, though another one did more before. */
static void last_of_the_workers_is_explained(void **state)
{
	(void)state;
	master();
	worker(CHILD, 2, 60, L(2));
	worker(THIRD, 70, 95, L(3));
	ask();
	assert_int_equal(focus(), THIRD);
}

/* 10 of 58 are no fifth. */
static void short_command_at_the_end_is_not_explained(void **state)
{
	(void)state;
	master();
	worker(CHILD, 2, 60, L(2));
	worker(THIRD, 85, 95, L(3));
	ask();
	assert_int_equal(focus(), CHILD);
}

static void root_that_works_is_explained(void **state)
{
	(void)state;
	report(100);
	runs(MAIN, 0, 60);
	computes(MAIN, 0, 60, L(1));
	call(MAIN, "select", 60, 100, L(1));
	worker(CHILD, 2, 99, L(2));
	ask();
	assert_false(test.y.busy.is_moved);
	assert_int_equal(focus(), MAIN);
}

static void root_whose_children_do_little_is_explained(void **state)
{
	(void)state;
	master();
	worker(CHILD, 2, 40, L(2));
	ask();
	assert_false(test.y.busy.is_moved);
	assert_int_equal(focus(), MAIN);
}

/* The wait for the child leads to the child's work: the answer has it. */
static void root_that_waits_for_its_child_is_followed(void **state)
{
	(void)state;
	report(100);
	runs(MAIN, 0, 2);
	call(MAIN, "waitpid", 2, 99, "run /me/a.py:1");
	runs(MAIN, 99, 100, .by = CHILD);
	worker(CHILD, 2, 99, L(2));
	ask();
	assert_false(test.y.busy.is_moved);
	assert_near(of_reason(WHY_COMPUTE), 100);
}

/* The root waits for its own thread, which sleeps at a line: that is the answer, whatever another process does meanwhile. */
static void root_that_waits_for_its_own_thread_is_explained(void **state)
{
	(void)state;
	report(100);
	runs(MAIN, 0, 2);
	call(MAIN, "sem_wait", 2, 99, "run /me/a.py:1");
	runs(MAIN, 99, 100, .by = OTHER);
	runs(OTHER, 0, 2);
	call(OTHER, "usleep", 2, 98, "slow /me/a.py:5");
	runs(OTHER, 98, 99);
	worker(CHILD, 2, 99, L(2));
	ask();
	assert_false(test.y.busy.is_moved);
	assert_near(of_reason(WHY_SLEEP), 96);
}

static void thread_that_is_asked_for_stays(void **state)
{
	(void)state;
	master();
	worker(CHILD, 2, 99, L(2));
	ask_how(&(struct why_ask){.tid = MAIN});
	assert_false(test.y.busy.is_moved);
	assert_int_equal(focus(), MAIN);
}

static void process_is_explained_as_long_as_it_lives(void **state)
{
	(void)state;
	master();
	worker(CHILD, 10, 60, L(2));
	ask_how(&(struct why_ask){.pid = CHILD});
	assert_string_equal(parts(), "COMPUTE at a.py:2 in f2 50\n");
	assert_string_equal(refusal(&(struct why_ask){.pid = 777}),
			    "no thread of process 777 is in the report");
}

/* ---- the end ---- */

/* Both end at 60; the third goes on to 99: 39 alone. */
static void last_command_works_alone(void **state)
{
	(void)state;
	master();
	worker(CHILD, 2, 50, L(2));
	worker(FOURTH, 2, 60, L(4));
	worker(THIRD, 2, 99, L(3));
	ask();
	assert_int_equal(test.y.model.processes[test.y.busy.tail].pid & 0xffffff, THIRD);
	assert_int_equal(test.y.busy.tail_ns, 39 * MS);
}

static void commands_that_end_together_have_no_last(void **state)
{
	(void)state;
	master();
	worker(CHILD, 2, 50, L(2));
	worker(FOURTH, 2, 90, L(4));
	worker(THIRD, 2, 99, L(3));
	ask();
	assert_true(test.y.busy.tail == WHY_NONE);
}

/* ---- names ---- */

static const char *command(const char *exe, const char *arguments)
{
	static char name[72];

	report(10);
	runs(MAIN, 0, 10);
	sql("UPDATE SL_PROCESS_TREE SET exe = %Q, commandLine = %Q", exe, arguments);
	ask();
	return why_command(&test.y, 0, name, sizeof(name));
}

#define COMMAND(name, exe, arguments, want)                         \
	static void name(void **state)                              \
	{                                                           \
		(void)state;                                        \
		assert_string_equal(command(exe, arguments), want); \
	}

COMMAND(command_has_the_file_that_it_is_about, "/usr/lib/gcc/x/cc1",
	"cc1 -quiet -O2 src/sqlite3.c -o a.s", "cc1 sqlite3.c")
COMMAND(command_has_its_script, "/usr/bin/python3.11", "python3 -u /me/train.py --lr 0.1",
	"python3.11 train.py")
COMMAND(command_of_text_has_no_file, "/bin/sh", "sh -c 'cat a.txt | sort'", "sh")
COMMAND(number_is_no_file, "/bin/sleep", "sleep 0.5", "sleep")
COMMAND(option_is_no_file, "/usr/bin/gcc", "gcc -I/usr/include", "gcc")
COMMAND(folder_has_no_name, "/usr/bin/make", "make -C /me/", "make")
COMMAND(command_has_its_level, "/usr/bin/zstd", "zstd -q -17 -T1 -c", "zstd -17 -T1")
COMMAND(third_level_is_left_out, "/usr/bin/x", "x -1 -2 -3", "x -1 -2")
COMMAND(long_option_is_no_level, "/usr/bin/gcc", "gcc --std=c11 -O2fast -march=1 -9-", "gcc")
COMMAND(command_has_its_subcommand, "/usr/bin/git", "git -c core.compression=9 add src/a.c",
	"git add a.c")
COMMAND(subcommand_alone, "/usr/bin/git", "git commit -q -m a", "git commit")
COMMAND(command_has_its_module, "/usr/bin/python3.11", "python3 -u -m http.server 80",
	"python3.11 -m http.server")
COMMAND(version_is_no_level_of_an_interpreter, "/usr/bin/perl", "perl -0 -i2 a.pl", "perl a.pl")
COMMAND(command_without_arguments, "/usr/bin/make", NULL, "make")
COMMAND(command_that_is_not_known, NULL, NULL, "process")

/* Compilers below make differ by their sources; their time belongs to no function of make. */
static void commands_below_a_tool_are_culprits(void **state)
{
	(void)state;
	report(100);
	runs(MAIN, 0, 1);
	sample(MAIN, 1, "main /usr/bin/make");
	call(MAIN, "wait", 1, 99, "reap_children /usr/bin/make");
	runs(MAIN, 40, 41, .by = CHILD);
	runs(MAIN, 99, 100, .by = THIRD);
	process(CHILD, MAIN, 1, 40);
	process(THIRD, MAIN, 41, 99);
	runs(CHILD, 1, 40, .by = MAIN);
	runs(THIRD, 41, 99, .by = MAIN);
	sql("UPDATE SL_PROCESS_TREE SET exe = '/usr/lib/cc1', commandLine = 'cc1 b.c' WHERE "
	    "globalPid = %lld",
	    pid_of(CHILD));
	sql("UPDATE SL_PROCESS_TREE SET exe = '/usr/lib/cc1', commandLine = 'cc1 c.c' WHERE "
	    "globalPid = %lld",
	    pid_of(THIRD));
	ask();
	assert_int_equal(test.y.culprits[0].place, PLACE_NONE);
	assert_int_equal(test.y.culprits[0].ns, 58 * MS);
	assert_int_equal(test.y.culprits[1].ns, 39 * MS);
}

/* Two compressors one after the other, with functions of a library and without symbols: one command, which could do with less. */
static void functions_of_commands_are_no_places(void **state)
{
	(void)state;
	report(100);
	runs(MAIN, 0, 10);
	sample(MAIN, 1, "main /bin/sh");
	call(MAIN, "wait", 10, 99, "wait_for /bin/sh");
	runs(MAIN, 40, 41, .by = CHILD);
	runs(MAIN, 99, 100, .by = THIRD);
	process(CHILD, MAIN, 10, 40);
	process(THIRD, MAIN, 41, 99);
	runs(CHILD, 10, 40, .by = MAIN);
	runs(THIRD, 41, 99, .by = MAIN);
	computes(CHILD, 10, 40, "deflate /usr/lib/libz.so.1");
	computes(THIRD, 41, 99, "?0x12 /bin/gzip");
	sql("UPDATE SL_PROCESS_TREE SET exe = '/bin/gzip', commandLine = 'gzip -9 -c part' WHERE "
	    "globalPid IN (%lld, %lld)",
	    pid_of(CHILD), pid_of(THIRD));
	ask();
	assert_int_equal(test.y.culprits[0].place, PLACE_NONE);
	assert_int_equal(test.y.culprits[0].ns, 88 * MS);
	assert_int_equal(test.y.gains[0].culprit, 0);
	assert_true(test.y.gains[0].upper >= 80 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(functions_of_commands_are_no_places),
		TEST(busiest_of_the_workers_is_explained),
		TEST(waits_of_the_root_for_a_cpu_are_no_work),
		TEST(root_that_asks_again_and_again_is_not_explained),
		TEST(root_that_sleeps_twice_is_explained),
		TEST(idle_time_of_a_worker_is_no_cause),
		TEST(last_of_the_workers_is_explained),
		TEST(short_command_at_the_end_is_not_explained),
		TEST(root_that_works_is_explained),
		TEST(root_whose_children_do_little_is_explained),
		TEST(root_that_waits_for_its_child_is_followed),
		TEST(root_that_waits_for_its_own_thread_is_explained),
		TEST(thread_that_is_asked_for_stays),
		TEST(process_is_explained_as_long_as_it_lives),
		TEST(last_command_works_alone),
		TEST(commands_that_end_together_have_no_last),
		TEST(command_has_the_file_that_it_is_about),
		TEST(command_has_its_script),
		TEST(command_has_its_level),
		TEST(third_level_is_left_out),
		TEST(long_option_is_no_level),
		TEST(command_has_its_subcommand),
		TEST(subcommand_alone),
		TEST(command_has_its_module),
		TEST(version_is_no_level_of_an_interpreter),
		TEST(command_of_text_has_no_file),
		TEST(number_is_no_file),
		TEST(option_is_no_file),
		TEST(folder_has_no_name),
		TEST(command_without_arguments),
		TEST(command_that_is_not_known),
		TEST(commands_below_a_tool_are_culprits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* counters.c - event counters: the list of events, what is chosen from it, scaling, and pages that are really touched. */
#include "tests/unit/report/db_test.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#include "collector/base/message.h"
#include "collector/kernel/counters/counters.h"
#include "collector/kernel/perf/event_list.h"
#include "collector/options/event_options.h"
#include "collector/base/capture_window.h"

/* ---- events that a driver describes ---- */

static void put(const char *path, const char *text)
{
	char full[256], *slash;
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", test_dir, path);
	for (slash = full + strlen(test_dir) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		mkdir(full, 0700);
		*slash = '/';
	}
	f = fopen(full, "w");
	assert_non_null(f);
	fprintf(f, "%s\n", text);
	fclose(f);
}

static struct event_def find(const struct event_list *l, enum event_kind kind, const char *word)
{
	struct event_def e = {.id = 0};

	if (!event_find(l, kind, word, strlen(word), &e))
		e.id = 0;
	return e;
}

static void events_of_the_driver_are_read(void **state)
{
	struct event_list l;

	(void)state;
	put("cpu/type", "4");
	put("cpu/format/event", "config:0-7,32-35");
	put("cpu/format/umask", "config:8-15");
	put("cpu/format/edge", "config:18");
	put("cpu/format/ldat", "config1:0-15");
	put("cpu/events/mem-loads", "event=0x5cd,umask=0x1,ldat=3");
	put("cpu/events/edges", "event=0x3c,edge");
	put("cpu/events/instructions", "event=0xc0");
	put("cpu/events/mem-loads.unit", "x");
	put("cpu/events/asks", "event=?");
	put("cpu/events/unknown", "event=1,colour=2");
	put("cpu/events/large", "umask=0x100");
	put("uncore_x/type", "9");
	put("uncore_x/events/clocks", "event=1");
	put("cpu_atom/type", "10");
	put("cpu_atom/cpus", "4-7");
	put("cpu_atom/format/event", "config:0-7");
	put("cpu_atom/events/small", "event=0x12");
	assert_int_equal(event_list_make(&l, EVENT_CORE, test_dir), 0);
	assert_int_equal(find(&l, EVENT_CORE, "mem-loads").config[0],
			 0xcdull | 1 << 8 | 5ull << 32);
	assert_int_equal(find(&l, EVENT_CORE, "mem-loads").config[1], 3);
	assert_int_equal(find(&l, EVENT_CORE, "mem-loads").type, 4);
	assert_int_equal(find(&l, EVENT_CORE, "mem-loads").id, EVENT_SYSFS_FIRST + 1);
	assert_string_equal(find(&l, EVENT_CORE, "101").name, "mem-loads");
	assert_int_equal(find(&l, EVENT_CORE, "edges").config[0], 0x3c | 1 << 18);
	assert_int_equal(find(&l, EVENT_CORE, "small").config[0], 0x12);
	assert_int_equal(find(&l, EVENT_CORE, "small").type, 10);
	/* One name, one event; what cannot be put together is no event. */
	assert_int_equal(find(&l, EVENT_CORE, "instructions").id, 2);
	assert_int_equal(find(&l, EVENT_CORE, "mem-loads.unit").id, 0);
	assert_int_equal(find(&l, EVENT_CORE, "asks").id, 0);
	assert_int_equal(find(&l, EVENT_CORE, "unknown").id, 0);
	assert_int_equal(find(&l, EVENT_CORE, "large").id, 0);
	assert_int_equal(find(&l, EVENT_CORE, "clocks").id, 0);
	event_list_free(&l);
}

static void without_a_driver_there_are_the_known_ones(void **state)
{
	struct event_list l;

	(void)state;
	assert_int_equal(event_list_make(&l, EVENT_CORE, "/nowhere"), 0);
	assert_string_equal(find(&l, EVENT_CORE, "2").name, "instructions");
	assert_int_equal(find(&l, EVENT_CORE, "CACHE-misses").id, 4);
	assert_int_equal(find(&l, EVENT_CORE, "page-faults").id, 0);
	assert_int_equal(find(&l, EVENT_CORE, "").id, 0);
	assert_int_equal(find(&l, EVENT_CORE, "2x").id, 0);
	assert_int_equal(find(&l, EVENT_CORE, "r1C2").config[0], 0x1c2);
	assert_int_equal(find(&l, EVENT_CORE, "r").id, 0);
	assert_int_equal(find(&l, EVENT_CORE, "rest").id, 0);
	assert_int_equal(find(&l, EVENT_CORE, "r11111111111111111").id, 0);
	event_list_free(&l);
	assert_int_equal(event_list_make(&l, EVENT_OS, "/nowhere"), 0);
	assert_string_equal(find(&l, EVENT_OS, "1").name, "page-faults");
	assert_int_equal(find(&l, EVENT_OS, "r1c2").id, 0);
	event_list_free(&l);
}

static void a_choice_is_checked(void **state)
{
	struct event_choice c;
	char why[256];

	(void)state;
	assert_int_equal(
		event_choose(&c, "2,none,1,,2,cpu-cycles", "page-faults", false, why, sizeof(why)),
		0);
	assert_int_equal(c.cnt, 3);
	assert_string_equal(c.event[0].name, "instructions");
	assert_string_equal(c.event[1].name, "cpu-cycles");
	assert_string_equal(c.event[2].name, "page-faults");
	assert_int_equal(event_choose(&c, NULL, "1,page-folts", false, why, sizeof(why)), -ENOENT);
	assert_non_null(strstr(why, "'--os-events' does not know the event 'page-folts'"));
	assert_int_equal(event_choose(&c, "r1,r2,r3,r4,r5,r6,r7,r8,r9,ra,rb,rc,rd,re,rf,r10", "1",
				      false, why, sizeof(why)),
			 -E2BIG);
	assert_non_null(strstr(why, "more than 16"));
	/* No CPU has it, and no kernel takes it. */
	assert_int_equal(event_choose(&c, "rffffffffffffffff", NULL, true, why, sizeof(why)),
			 -ENOTSUP);
	assert_non_null(strstr(why, "'rffffffffffffffff'"));
}

/* ---- options ---- */

static struct event_options options(const char *core, const char *os, const char *sample, int want)
{
	struct event_words w = {.core = core, .os = os, .sample = sample};
	struct event_options o;

	assert_int_equal(event_options_read(&o, &w, false, "try"), want);
	return o;
}

static void words_say_what_is_counted(void **state)
{
	struct event_options o;

	(void)state;
	assert_int_equal(options(NULL, NULL, NULL, 0).scope, SCHED_MODE_NONE);
	assert_int_equal(options("none", "none", "system-wide", 0).scope, SCHED_MODE_NONE);
	assert_int_equal(options(NULL, "1", NULL, 0).scope, SCHED_MODE_TREE);
	assert_int_equal(options(NULL, "1", "process-tree", 0).scope, SCHED_MODE_TREE);
	assert_int_equal(options(NULL, "1", "system-wide", 0).scope, SCHED_MODE_SYSTEM);
	assert_int_equal(options(NULL, "1", "none", 0).scope, SCHED_MODE_NONE);
	assert_int_equal(options(NULL, NULL, "none", 0).scope, SCHED_MODE_NONE);
	o = options(NULL, "1,4", NULL, 0);
	assert_null(o.core);
	assert_string_equal(o.os, "1,4");
	options(NULL, "1,nothing", NULL, -SL_EXIT_USAGE);
	options("help", NULL, NULL, -SL_EXIT_USAGE);
	/* nsys's default, where it can be counted; else nothing, and no reason to fail. */
	o = options(NULL, NULL, "process-tree", 0);
	if (o.scope == SCHED_MODE_NONE)
		assert_null(o.core);
	else
		assert_string_equal(o.core, EVENT_DEFAULT);
}

/* ---- scaling ---- */

static void what_took_turns_is_scaled(void **state)
{
	/* Two events on two CPUs; the first one's. */
	struct counted system[] = {
		{100, 1000, 500, 0}, {7, 9, 9, 0}, {100, 1000, 1000, 0}, {7, 9, 9, 0}};
	struct counted moved[] = {{60, 1000, 600, 0}, {0, 0, 0, 0}, {40, 1000, 400, 0}};
	struct counted turns[] = {{60, 1000, 300, 0}, {0, 0, 0, 0}, {40, 990, 200, 0}};
	struct counted none[] = {{5, 1000, 0, 0}, {0, 0, 0, 0}, {5, 1000, 0, 0}};
	struct counted skew[] = {{60, 1000, 600, 0}, {0, 0, 0, 0}, {40, 980, 375, 0}};

	(void)state;
	counted_scale(system, 2, 2, false);
	assert_int_equal(system[0].value, 200);
	assert_int_equal(system[0].per_cent, 50);
	assert_int_equal(system[2].value, 100);
	assert_int_equal(system[2].per_cent, 100);
	assert_int_equal(system[1].value, 7);
	/* A thread that changed its CPU was counted all the time. */
	counted_scale(moved, 2, 2, true);
	assert_int_equal(moved[0].value, 60);
	assert_int_equal(moved[2].value, 40);
	assert_int_equal(moved[0].per_cent, 100);
	counted_scale(turns, 2, 2, true);
	assert_int_equal(turns[0].value, 120);
	assert_int_equal(turns[2].value, 80);
	assert_int_equal(turns[2].per_cent, 50);
	counted_scale(none, 2, 2, true);
	assert_int_equal(none[0].per_cent, 0);
	counted_scale(skew, 2, 2, true);
	assert_int_equal(skew[0].value, 60);
	assert_int_equal(skew[0].per_cent, 100);
}

/* ---- truth ---- */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#define PAGES 1000

static void touch(char *memory, int part)
{
	for (size_t i = 0; i < PAGES; i++)
		memory[((size_t)part * PAGES + i) * 4096] = 1;
}

/* Touches a thousand pages at each command: itself, and in a child. */
static void toucher(int orders, int answers)
{
	size_t bytes = (size_t)8 * PAGES * 4096;
	char *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char order;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (memory == MAP_FAILED)
		_exit(1);
	madvise(memory, bytes, MADV_NOHUGEPAGE);
	for (int part = 0; read(orders, &order, 1) == 1; part++) {
		pid_t child = order == 'c' ? fork() : 0;

		if (child == 0)
			touch(memory, part);
		if (order == 'c' && child == 0)
			_exit(0);
		if (child > 0)
			waitpid(child, NULL, 0);
		if (write(answers, "", 1) != 1)
			break;
	}
	_exit(0);
}

static void tell(const int *pipes, char order)
{
	char answer;

	assert_int_equal(write(pipes[1], &order, 1), 1);
	assert_int_equal(read(pipes[2], &answer, 1), 1);
}

static int64_t faults(const char *where)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "SELECT coalesce(sum(value), 0) FROM PMU_EVENTS e JOIN PMU_EVENT_COUNTERS c ON "
		 "c.id = "
		 "counter_id WHERE %s",
		 where);
	return strtoll(ask_file(test_path, sql), NULL, 10);
}

static void pages_are_counted_while_it_is_on(void **state)
{
	struct window list[2] = {{0, 0, 0, 0}, {0, 0, 0, 0}};
	struct windows windows = {.list = list, .cnt = 1};
	struct event_choice choice;
	struct counters *cs;
	struct db *db = test_open(false);
	int orders[2], answers[2], pipes[3];
	char why[512];
	pid_t pid;

	(void)state;
	assert_int_equal(event_choose(&choice, NULL, "1", false, why, sizeof(why)), 0);
	cs = counters_open(&choice, SCHED_MODE_TREE, why, sizeof(why));
#ifdef __SANITIZE_ADDRESS__
	/* It has pages of its own for every one that is touched. */
	counters_close(cs);
	cs = NULL;
#endif
	if (!cs) {
		db_abandon(db);
		skip();
	}
	assert_int_equal(pipe(orders) | pipe(answers), 0);
	pid = fork();
	if (pid == 0)
		toucher(orders[0], answers[1]);
	pipes[1] = orders[1];
	pipes[2] = answers[0];
	tell(pipes, 's');
	assert_int_equal(counters_follow(cs, pid, false), 0);
	tell(pipes, 's'); /* not yet */
	list[0].from_mono = (int64_t)now_ns();
	counters_begin(cs, (uint64_t)list[0].from_mono);
	tell(pipes, 's');
	counters_read(cs, now_ns());
	tell(pipes, 'c'); /* the child that is started, too */
	list[0].to_mono = (int64_t)now_ns();
	counters_end(cs, (uint64_t)list[0].to_mono);
	tell(pipes, 's'); /* no more */
	/* The next report begins, before this one is written. */
	list[1].from_mono = (int64_t)now_ns();
	list[1].to_mono = INT64_MAX;
	counters_begin(cs, (uint64_t)list[1].from_mono);
	tell(pipes, 's');
	counters_read(cs, now_ns());
	assert_int_not_equal(counters_write(cs, db, &windows, 0, list[1].from_mono).cnt, 0);
	assert_int_equal(db_commit(db, 1), 0);
	assert_in_range(faults("1"), 2 * PAGES, 2 * PAGES + 150);
	/* Its turn. */
	windows.list = &list[1];
	assert_int_not_equal(counters_write(cs, db, &windows, 0, INT64_MAX).cnt, 0);
	assert_int_equal(db_commit(db, 2), 0);
	assert_in_range(faults("1"), 3 * PAGES, 3 * PAGES + 200);
	assert_string_equal(
		ask_file(test_path,
			 "SELECT count(*) FROM PMU_EVENT_COUNTERS WHERE counted IS NOT 100"),
		"0");
	assert_string_equal(ask_file(test_path,
				     "SELECT group_concat(event_name || systemWide) FROM "
				     "PMU_EVENT_REQUESTS"),
			    "page-faults0");
	counters_end(cs, now_ns());
	counters_close(cs);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	db_abandon(db);
}

static void who_is_gone_is_no_trouble(void **state)
{
	struct event_choice choice;
	struct counters *cs;
	char why[512];
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	assert_int_equal(event_choose(&choice, NULL, "1", false, why, sizeof(why)), 0);
	cs = counters_open(&choice, SCHED_MODE_TREE, why, sizeof(why));
	if (!cs)
		skip();
	assert_int_equal(counters_follow(cs, pid, false), -ESRCH);
	counters_close(cs);
	counters_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(events_of_the_driver_are_read, test_setup,
						test_teardown),
		cmocka_unit_test(without_a_driver_there_are_the_known_ones),
		cmocka_unit_test(a_choice_is_checked),
		cmocka_unit_test(words_say_what_is_counted),
		cmocka_unit_test(what_took_turns_is_scaled),
		cmocka_unit_test_setup_teardown(pages_are_counted_while_it_is_on, test_setup,
						test_teardown),
		cmocka_unit_test(who_is_gone_is_no_trouble),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* why_model.c - what the walk reads of a report: processes, switches, what was not recorded. */
#include "tests/unit/why/why_test.h"
#include "tests/unit/why/why_model_test.h"

static const struct why_process *process_of(int pid)
{
	return &model.processes[thread(pid)->process];
}

/* ---- lists in order of time ---- */

/* The last of equal times; before the first: none. Asked forwards, backwards, and of two lists in turn. */
static void last_element_at_a_time(void **state)
{
	const int64_t list[] = {10, 20, 20, 20, 30}, other[] = {5, 25};
	const struct {
		int64_t time;
		size_t want, of_other;
	} asks[] = {{9, 5, 0},  {10, 0, 0},        {19, 0, 0}, {20, 3, 0}, {25, 3, 1},
		    {30, 4, 1}, {INT64_MAX, 4, 1}, {20, 3, 0}, {5, 5, 0},  {INT64_MIN, 5, 2}};

	(void)state;
	for (size_t i = 0; i < sizeof(asks) / sizeof(*asks); i++) {
		assert_int_equal(why_last(list, 5, sizeof(*list), asks[i].time), asks[i].want);
		assert_int_equal(why_last(other, 2, sizeof(*other), asks[i].time),
				 asks[i].of_other);
	}
	assert_int_equal(why_last(NULL, 0, sizeof(*list), 7), 0);
}

/* ---- nothing ---- */

static void empty_report_has_nothing(void **state)
{
	const struct why_model *m;

	(void)state;
	m = read_model();
	assert_int_equal(m->threads_cnt + m->processes_cnt + m->ops_cnt + m->sends_cnt, 0);
	assert_int_equal(m->root, WHY_NONE);
	assert_false(m->has_switches || m->has_samples || m->has_calls || m->has_peers);
	assert_int_equal(m->lost, 0);
}

/* ---- processes ---- */

/* Two images: it starts with the first, ends with and is called after the last; one of them was traced. */
static void images_of_a_process(void **state)
{
	const struct why_process *p;

	(void)state;
	report(50);
	sql("INSERT INTO SL_PROCESS_TREE VALUES (%lld, %lld, 10, 20, 1, 0, '/bin/sh', 'sh', 0)",
	    pid_of(CHILD), pid_of(MAIN));
	sql("INSERT INTO SL_PROCESS_TREE VALUES (%lld, %lld, 20, NULL, 2, 1, '/bin/gcc', 'gcc', 0)",
	    pid_of(CHILD), pid_of(MAIN));
	runs(CHILD, 1, 2);
	read_model();
	p = process_of(CHILD);
	assert_int_equal(p->start, 10);
	assert_int_equal(p->end, INT64_MAX);
	assert_string_equal(p->exe, "/bin/gcc");
	assert_true(p->traced);
	assert_int_equal(p->parent, pid_of(MAIN) >> 24);
	assert_int_equal(p->main_thread, why_model_find(&model, tid_of(CHILD)));
	assert_int_equal(process_of(MAIN)->end, 50 * MS);
	assert_int_equal(model.root, why_model_find(&model, tid_of(MAIN)));
}

/* An image without a name keeps the one before. */
static void image_without_a_name(void **state)
{
	(void)state;
	report(50);
	sql("INSERT INTO SL_PROCESS_TREE VALUES (%lld, NULL, 20, 30, 2, 0, NULL, NULL, 0)",
	    pid_of(MAIN));
	read_model();
	assert_string_equal(process_of(MAIN)->exe, "/bin/p100");
	assert_int_equal(process_of(MAIN)->end, 30);
}

/* The root: traced, of no traced parent, the first to start. 200 has an untraced parent, 300 a traced one, 400 starts later. */
static void root_is_the_first_traced_process(void **state)
{
	(void)state;
	sql("INSERT INTO SL_PROCESS_TREE VALUES (%lld, NULL, 0, 90, 0, 0, '/bin/sh', 'sh', 0)",
	    pid_of(MAIN));
	process(400, 0, 7, 90);
	process(CHILD, MAIN, 5, 90);
	process(300, CHILD, 2, 90);
	read_model();
	assert_int_equal(model.root, why_model_find(&model, tid_of(CHILD)));
}

/* A process that is its own parent by its row is a root all the same. */
static void root_that_is_its_own_parent(void **state)
{
	(void)state;
	process(300, 300, 2, 90);
	read_model();
	assert_int_equal(model.root, why_model_find(&model, tid_of(300)));
}

/* Without a tree: the thread with most calls and switches. 101 has 3 calls and 2 switches, 200 has 4 switches. */
static void root_without_a_tree_is_the_busiest_thread(void **state)
{
	(void)state;
	runs(CHILD, 0, 1);
	runs(CHILD, 2, 3);
	runs(OTHER, 0, 1);
	for (int i = 0; i < 3; i++)
		call(OTHER, "read", i, i + 0.5, NULL);
	read_model();
	assert_int_equal(model.root, why_model_find(&model, tid_of(OTHER)));
}

/* Calls of CUDA count, too; of equals the first. */
static void busiest_thread_by_calls_of_cuda(void **state)
{
	(void)state;
	runs(CHILD, 0, 1);
	runs(OTHER, 0, 1);
	cuda(OTHER, "cudaFree", 0, 1, NULL, 1);
	runs(102, 0, 1);
	cuda(102, "cudaFree", 0, 1, NULL, 2);
	read_model();
	assert_int_equal(model.root, why_model_find(&model, tid_of(OTHER)));
}

/* What analyze has found in its pass over the tables is used: 5 calls of 102, which no table has. */
static void busiest_thread_of_a_pass(void **state)
{
	(void)state;
	runs(OTHER, 0, 1);
	call(OTHER, "read", 0, 1, NULL);
	runs(102, 0, 1);
	open_report();
	sql("CREATE TEMP TABLE event_spans(name, first, last); INSERT INTO event_spans VALUES "
	    "('OSRT_API', 0, 1); CREATE TEMP TABLE thread_calls(name, globalTid, n); INSERT INTO "
	    "thread_calls VALUES ('OSRT_API', %lld, 5)",
	    tid_of(102));
	assert_int_equal(why_model_read(&model, test.db, &(struct why_scope){0}), SQLITE_OK);
	assert_int_equal(model.root, why_model_find(&model, tid_of(102)));
}

/* ---- switches ---- */

/* Rows in any order; at one time the thread gets the CPU before it leaves it. */
static void switches_are_put_in_order(void **state)
{
	const struct why_switch *s;

	(void)state;
	report(50);
	runs(MAIN, 30, 40);
	runs(MAIN, 20, 20);
	runs(MAIN, 5, 10);
	read_model();
	assert_int_equal(thread(MAIN)->switches_cnt, 6);
	s = thread(MAIN)->switches;
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(s[i].is_in, i % 2 == 0);
	assert_int_equal(s[2].time, 20 * MS);
	assert_int_equal(s[3].time, 20 * MS);
	assert_int_equal(thread(MAIN)->birth, 5 * MS);
}

/* At 20 it leaves and comes back: each row of the details is of one of them. */
static void details_join_by_direction(void **state)
{
	const struct why_switch *s;

	(void)state;
	report(50);
	runs(OTHER, 0, 1);
	runs(MAIN, 0, 20);
	runs(MAIN, 20, 40, .by = OTHER, .ready = 19);
	sql("INSERT INTO SL_SCHED_DETAIL VALUES (%lld, %lld, 1, NULL, NULL, 120)", ns_of(20),
	    tid_of(MAIN));
	read_model();
	s = thread(MAIN)->switches;
	/* In order: in 0, in 20, out 20, out 40, as a thread leaves last. */
	assert_true(s[1].is_in && !s[2].is_in);
	assert_int_equal(s[1].wakeup, 19 * MS);
	assert_int_equal(s[1].waker, why_model_find(&model, tid_of(OTHER)));
	assert_true(s[2].is_preempted);
	assert_int_equal(s[2].wakeup, WHY_NO_TIME);
	assert_int_equal(s[0].wakeup, WHY_NO_TIME);
	assert_int_equal(s[0].waker, WHY_NONE);
	assert_false(s[3].is_preempted);
}

/* The detail is more exact than the state; details of no switch and of no thread are of nothing. */
static void details_that_differ(void **state)
{
	(void)state;
	report(50);
	runs(MAIN, 0, 10, .preempted = true);
	runs(MAIN, 20, 30, .on_disk = true);
	sql("INSERT INTO SL_SCHED_DETAIL VALUES (%lld, %lld, 0, NULL, NULL, 120), (%lld, %lld, 1, "
	    "NULL, "
	    "NULL, 120), (%lld, %lld, 1, 5, 5, 120)",
	    ns_of(10), tid_of(MAIN), ns_of(11), tid_of(MAIN), ns_of(30), tid_of(150));
	read_model();
	assert_false(thread(MAIN)->switches[1].is_preempted);
	assert_false(thread(MAIN)->switches[3].is_preempted);
	assert_true(thread(MAIN)->switches[3].is_on_disk);
	assert_false(thread(MAIN)->switches[1].is_on_disk);
	assert_int_equal(why_model_find(&model, tid_of(150)), WHY_NONE);
}

/* A thread is born when it first wanted a CPU; without switches, with its first call, and a main thread with its process. */
static void births_of_threads(void **state)
{
	(void)state;
	report(50);
	process(CHILD, MAIN, 7, 50);
	runs(OTHER, 20, 30, .ready = 15);
	runs(102, 21, 30);
	sql("INSERT INTO SCHED_EVENTS VALUES (%lld, 0, 0, %lld, 2, NULL)", ns_of(9), tid_of(103));
	call(CHILD, "read", 9, 10, NULL);
	call(201, "read", 9, 10, NULL);
	sample(201, 8.5, NULL);
	sample(202, 8, L(1));
	sample(202, 9, L(1));
	read_as(&(struct why_scope){.is_all = true});
	assert_int_equal(thread(OTHER)->birth, 15 * MS);
	assert_int_equal(thread(102)->birth, 21 * MS);
	assert_int_equal(thread(103)->birth, 9 * MS);
	assert_int_equal(thread(CHILD)->birth, 7 * MS);
	assert_int_equal(thread(201)->birth, 9 * MS);
	assert_int_equal(thread(202)->birth, 8 * MS);
	assert_true(model.has_switches);
}

/* Times of 2^63 are cut to 2^61: no difference of two overflows. */
static void times_out_of_all_bounds_are_cut(void **state)
{
	const struct why_thread *t;

	(void)state;
	report(50);
	sql("INSERT INTO SCHED_EVENTS VALUES (9223372036854775807, 0, 0, %lld, 2, NULL), "
	    "(-9223372036854775808, 0, 1, %lld, 0, NULL)",
	    tid_of(MAIN), tid_of(MAIN));
	call(MAIN, "read", 1, 2, NULL);
	sql("UPDATE OSRT_API SET start = -9223372036854775808, end = 9223372036854775807");
	read_model();
	t = thread(MAIN);
	assert_int_equal(t->switches[0].time, -WALL_FAR);
	assert_int_equal(t->switches[1].time, WALL_FAR);
	assert_int_equal(t->calls[0].start, -WALL_FAR);
	assert_int_equal(t->calls[0].end, WALL_FAR);
}

/* ---- which processes are read ---- */

/*
 * Calls of 200, which woke the root's thread; of 300, woken by 200; of 400, which sends; of 500, which runs a collective's
 * kernel; none of 600, which wakes 700, and none of that.
 */
static void calls_of_processes_that_a_walk_may_come_to(void **state)
{
	const int near[] = {100, 200, 300, 400, 500}, far[] = {600, 700};

	(void)state;
	report(50);
	for (int pid = 200; pid <= 700; pid += 100)
		process(pid, MAIN, 0, 50);
	runs(CHILD, 0, 50);
	runs(MAIN, 0, 50, .by = CHILD);
	runs(300, 0, 50, .by = CHILD);
	runs(600, 0, 50);
	runs(700, 0, 50, .by = 600);
	call(400, "send", 1, 2, NULL, .path = "tcp:1.1.1.1:80");
	kernel(1, 2, 0, .name = "ncclDevKernel_Reduce", .pid = 500);
	for (int pid = 100; pid <= 700; pid += 100)
		call(pid, "usleep", 10, 11, NULL);
	read_model();
	for (size_t i = 0; i < 5; i++)
		assert_true(thread(near[i])->calls_cnt > 0);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(thread(far[i])->calls_cnt, 0);
}

/* Kernels that are no collective's do not make a process one to be read. */
static void only_the_roots_calls(void **state)
{
	(void)state;
	report(50);
	process(CHILD, MAIN, 0, 50);
	runs(MAIN, 0, 50, .ready = -1);
	runs(CHILD, 0, 50);
	kernel(1, 2, 0, .pid = CHILD);
	call(MAIN, "usleep", 10, 11, NULL);
	call(CHILD, "usleep", 10, 11, NULL);
	/* Next to its globalTids. */
	process(MAIN + 100 * 256, 0, 1, 50);
	call(MAIN + 100 * 256, "usleep", 10, 11, NULL);
	read_model();
	assert_int_equal(thread(MAIN)->calls_cnt, 1);
	assert_int_equal(thread(CHILD)->calls_cnt, 0);
	assert_int_equal(model.ops_cnt, 0);
}

/* Without wakers, calls may show which process has ended a wait. */
static void calls_of_all_without_wakers(void **state)
{
	(void)state;
	report(50);
	process(CHILD, MAIN, 0, 50);
	runs(MAIN, 0, 50);
	runs(CHILD, 0, 50);
	call(CHILD, "usleep", 10, 11, NULL);
	read_model();
	assert_int_equal(thread(CHILD)->calls_cnt, 1);
}

static void calls_of_all_where_they_are_asked_for(void **state)
{
	(void)state;
	report(50);
	process(CHILD, MAIN, 0, 50);
	runs(CHILD, 0, 50);
	call(CHILD, "usleep", 10, 11, NULL);
	read_as(&(struct why_scope){.is_all = true});
	assert_int_equal(thread(CHILD)->calls_cnt, 1);
}

/* Of a thread that is asked for by its number: those near to it, and not those of the root. */
static void calls_near_the_thread_that_is_asked_for(void **state)
{
	(void)state;
	report(50);
	process(CHILD, MAIN, 0, 50);
	runs(MAIN, 0, 50, .ready = -1);
	runs(CHILD, 0, 50);
	runs(201, 0, 50);
	call(MAIN, "usleep", 10, 11, NULL);
	call(CHILD, "usleep", 10, 11, NULL);
	read_as(&(struct why_scope){.thread = 201});
	assert_int_equal(thread(CHILD)->calls_cnt, 1);
	assert_int_equal(thread(MAIN)->calls_cnt, 0);
}

/* A thread that has no switch may be anywhere. */
static void calls_of_all_for_an_unknown_thread(void **state)
{
	(void)state;
	report(50);
	process(CHILD, MAIN, 0, 50);
	runs(MAIN, 0, 50);
	call(201, "usleep", 10, 11, NULL);
	call(CHILD, "usleep", 10, 11, NULL);
	read_as(&(struct why_scope){.thread = tid_of(201)});
	assert_int_equal(thread(CHILD)->calls_cnt, 1);
	assert_int_equal(thread(201)->calls_cnt, 1);
}

/* ---- what was not recorded ---- */

/* Losses are added up; callers that a stack lacks are no events. */
static void losses_add_up(void **state)
{
	(void)state;
	report(50);
	sql("INSERT INTO SL_LOST_EVENTS VALUES (0, 1, NULL, 'records: no room', 3), (0, 1, NULL, "
	    "'samples', "
	    "4), (0, 1, NULL, 'callers in stacks: too deep', 100)");
	read_model();
	assert_int_equal(model.lost, 7);
}

static void reasons_why_there_are_no_samples(void **state)
{
	(void)state;
	report(50);
	sql("INSERT INTO META_DATA_CAPTURE VALUES ('LINUX_PERF_OPTIONS:SAMPLING_FREQUENCY', "
	    "'100')");
	sql("INSERT INTO DIAGNOSTIC_EVENT(timestamp, timestampType, source, severity, text) VALUES "
	    "(0, 0, 0, 0, "
	    "'no CPU samples: not permitted'), (0, 0, 0, 0, 'no CPU samples: second'), (0, 0, 0, "
	    "0, "
	    "'Python''s frames in samples need eBPF'), (0, 0, 0, 0, 'something else')");
	read_model();
	assert_true(model.samples.taken);
	assert_string_equal(model.samples.refused, "not permitted");
	assert_string_equal(model.samples.no_python, "Python's frames in samples need eBPF");
}

static void samples_that_are_just_not_there(void **state)
{
	(void)state;
	report(50);
	read_model();
	assert_false(model.samples.taken);
	assert_null(model.samples.refused);
	assert_null(model.samples.no_python);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MODEL(last_element_at_a_time),
		MODEL(empty_report_has_nothing),
		MODEL(images_of_a_process),
		MODEL(image_without_a_name),
		MODEL(root_is_the_first_traced_process),
		MODEL(root_that_is_its_own_parent),
		MODEL(root_without_a_tree_is_the_busiest_thread),
		MODEL(busiest_thread_by_calls_of_cuda),
		MODEL(busiest_thread_of_a_pass),
		MODEL(switches_are_put_in_order),
		MODEL(details_join_by_direction),
		MODEL(details_that_differ),
		MODEL(births_of_threads),
		MODEL(times_out_of_all_bounds_are_cut),
		MODEL(calls_of_processes_that_a_walk_may_come_to),
		MODEL(only_the_roots_calls),
		MODEL(calls_of_all_without_wakers),
		MODEL(calls_of_all_where_they_are_asked_for),
		MODEL(calls_near_the_thread_that_is_asked_for),
		MODEL(calls_of_all_for_an_unknown_thread),
		MODEL(losses_add_up),
		MODEL(reasons_why_there_are_no_samples),
		MODEL(samples_that_are_just_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* why_model_calls.c - what the walk reads of calls: samples and requests, messages, locks. */
#include "tests/unit/why/why_test.h"
#include "tests/unit/why/why_model_test.h"

/* ---- calls ---- */

/* Only outermost calls; of two that begin together the longer one contains the other. Of level 1 none. */
static void calls_inside_of_others_are_dropped(void **state)
{
	const struct why_thread *t;

	(void)state;
	report(50);
	call(MAIN, "fread", 12, 14, NULL);
	call(MAIN, "open", 10, 12, NULL);
	call(MAIN, "fopen", 10, 20, NULL, .path = "/x");
	call(MAIN, "read", 30, 40, NULL, .level = 1);
	call(MAIN, "write", 20, 21, NULL, .result = 5);
	system_call(MAIN, "futex", 11, 13, NULL);
	system_call(MAIN, "read", 10, 15, NULL);
	read_model();
	t = thread(MAIN);
	assert_int_equal(t->calls_cnt, 2);
	assert_int_equal(t->calls[0].end, 20 * MS);
	assert_int_equal(t->calls[1].start, 20 * MS);
	assert_false(why_what(&model, &t->calls[0])->has_result);
	assert_true(why_what(&model, &t->calls[1])->has_result);
	assert_int_equal(why_what(&model, &t->calls[1])->object, WHY_NONE);
	assert_int_not_equal(why_what(&model, &t->calls[0])->object, WHY_NONE);
	assert_int_equal(t->system_cnt, 1);
	assert_int_equal(t->system[0].end, 15 * MS);
	assert_true(model.has_calls);
	assert_false(model.has_gpu_calls);
}

/* One that ends before it begins has no length; the last one of a thread that has none never returned. */
static void call_without_an_end(void **state)
{
	const struct why_thread *t;

	(void)state;
	report(50);
	call(MAIN, "read", 10, 5, NULL);
	call(MAIN, "read", 20, 20, NULL);
	call(OTHER, "read", 20, 21, NULL);
	read_model();
	t = thread(MAIN);
	assert_int_equal(t->calls[0].end, 10 * MS);
	assert_int_equal(t->calls[1].end, INT64_MAX);
	assert_int_equal(thread(OTHER)->calls[0].end, 21 * MS);
}

/* Periodic samples, and stacks of threads that leave the CPU; none without a stack. */
static void samples_of_two_kinds(void **state)
{
	const struct why_thread *t;

	(void)state;
	report(50);
	sample(MAIN, 20, "f /me/a.py:1");
	sample(MAIN, 10, "f /me/a.py:2");
	sample(MAIN, 15, NULL);
	off_sample(MAIN, 30, 40, "f /me/a.py:1");
	read_model();
	t = thread(MAIN);
	assert_int_equal(t->samples_cnt, 2);
	assert_int_equal(t->samples[0].time, 10 * MS);
	assert_int_equal(t->offs_cnt, 1);
	assert_int_equal(t->offs[0].stack, t->samples[1].stack);
	assert_true(model.has_samples);
}

static void stacks_off_the_cpu_alone_are_no_samples(void **state)
{
	(void)state;
	report(50);
	off_sample(MAIN, 30, 40, "f /me/a.py:1");
	read_model();
	assert_false(model.has_samples);
	assert_int_equal(thread(MAIN)->offs_cnt, 1);
}

/* A fault where no file is mapped has no object. */
static void faults_have_the_file(void **state)
{
	(void)state;
	report(50);
	fault(MAIN, 20, NULL, "/data/x");
	fault(MAIN, 10, "f /me/a.py:1", "");
	read_model();
	assert_int_equal(thread(MAIN)->faults_cnt, 2);
	assert_int_equal(thread(MAIN)->faults[0].object, WHY_NONE);
	assert_int_not_equal(thread(MAIN)->faults[1].object, WHY_NONE);
	assert_int_equal(thread(MAIN)->faults[1].stack, WHY_NONE);
	assert_int_equal(thread(MAIN)->faults[1].time, 20 * MS);
}

/* Up to when all before are over: 30, although the second ends at 12. Of the kernel's: journals and flushes. */
static void requests_reach_as_far_as_those_before(void **state)
{
	const struct why_io *io;

	(void)state;
	report(50);
	request(MAIN, 11, 12, "vda", "p100", 0);
	request(MAIN, 10, 30, "vda", "p100", 0);
	request(MAIN, 35, 36, "vdb", "p100", 0);
	request(0, 5, 9, "vda", "jbd2/vda-8", 1);
	request(0, 6, 8, "vda", "kworker/1", 1);
	request(0, 7, 10, "vda", "kworker/1", 2);
	request(0, 8, 20, "vda", "xfs-log", 1);
	read_model();
	io = thread(MAIN)->ios;
	assert_int_equal(thread(MAIN)->ios_cnt, 3);
	assert_int_equal(io[0].reach, 30 * MS);
	assert_int_equal(io[1].reach, 30 * MS);
	assert_int_equal(io[2].reach, 36 * MS);
	assert_int_equal(io[0].disk, io[1].disk);
	assert_int_not_equal(io[0].disk, io[2].disk);
	assert_int_equal(model.ios_cnt, 3);
	assert_int_equal(model.ios[1].reach, 10 * MS);
}

/* ---- messages and sockets ---- */

/* Calls that send, to what is a peer: not recv(), not a file. In order of their start. */
static void messages_are_calls_that_send(void **state)
{
	(void)state;
	report(50);
	call(MAIN, "send", 20, 21, NULL, .path = "tcp:1.1.1.1:80", .file = 7);
	call(OTHER, "write", 10, 11, NULL, .path = "unix:/s");
	call(MAIN, "recv", 30, 31, NULL, .path = "tcp:1.1.1.1:80");
	call(MAIN, "write", 40, 41, NULL, .path = "/data");
	read_model();
	assert_true(model.has_peers);
	assert_int_equal(model.sends_cnt, 2);
	assert_int_equal(model.sends[0].thread, why_model_find(&model, tid_of(OTHER)));
	assert_int_equal(model.sends[0].file, 0);
	assert_int_equal(model.sends[1].end, 21 * MS);
	assert_int_equal(model.sends[1].file, 7);
}

static void socket_of(int file, int pid, double closed, const char *peer, const char *own)
{
	sql("INSERT INTO OSRT_FILE_ACCESS_DESCRIPTORS VALUES (%d, %d, 0, %lld, %Q)", file, pid,
	    ns_of(closed), peer);
	sql("INSERT INTO SL_SOCKETS VALUES (%d, %Q)", file, own);
}

/*
 * File 1 of process 100 and file 2 of 200 are the ends of a connection, 2 until 30; 3 and 4 of another, in 100, whose addresses
 * are written as those of IPv6. Of file 9 no address is known.
 */
static void messages_reach_the_other_end(void **state)
{
	const struct why_object at_2 = {.object = 2}, at_4 = {.object = 4};
	const struct why_model *m;

	(void)state;
	report(50);
	socket_of(1, 100, 0, "tcp:1.1.1.1:80", "tcp:1.1.1.2:90");
	socket_of(2, 200, 30, "tcp:1.1.1.2:90", "tcp:1.1.1.1:80");
	socket_of(3, 100, 0, "tcp6:[::ffff:1.1.1.3]:70", "tcp:1.1.1.4:60");
	socket_of(4, 100, 0, "tcp:1.1.1.4:60", "tcp:1.1.1.3:70");
	m = read_model();
	assert_int_equal(m->ends_cnt, 4);
	assert_true(why_reaches(m, 1, 30 * MS, 200, NULL));
	assert_true(why_reaches(m, 1, 30 * MS, pid_of(CHILD) >> 24, NULL));
	assert_false(why_reaches(m, 1, 30 * MS + 1, 200, NULL));
	assert_false(why_reaches(m, 1, 10 * MS, 100, NULL));
	assert_true(why_reaches(m, 1, 10 * MS, 200, &at_2));
	assert_false(why_reaches(m, 1, 10 * MS, 200, &at_4));
	assert_true(why_reaches(m, 2, INT64_MAX, 100, NULL));
	assert_true(why_reaches(m, 3, 10 * MS, 100, &at_4));
	assert_false(why_reaches(m, 3, 10 * MS, 200, NULL));
	assert_true(why_reaches(m, 9, 10 * MS, 200, NULL));
	assert_true(why_reaches(m, 0, 10 * MS, 200, &at_2));
}

/* What a call works on is found by its start: locks, with their owners, and sockets of connections. */
static void objects_of_calls(void **state)
{
	const struct why_thread *t;

	(void)state;
	report(50);
	runs(OTHER, 0, 1);
	call(MAIN, "pthread_mutex_lock", 20, 21, NULL, .lock = 77, .owner = OTHER);
	call(MAIN, "pthread_mutex_lock", 10, 11, NULL, .lock = 78, .owner = 150);
	call(MAIN, "recv", 30, 31, NULL, .file = 2);
	call(MAIN, "read", 40, 41, NULL, .file = 3);
	socket_of(1, 200, 0, "tcp:1.1.1.1:80", "tcp:1.1.1.2:90");
	socket_of(2, 100, 0, "tcp:1.1.1.2:90", "tcp:1.1.1.1:80");
	sql("INSERT INTO SL_OSRT_LOCKS VALUES (5, %lld, 1, NULL)", tid_of(150));
	read_model();
	t = thread(MAIN);
	assert_int_equal(why_object_of(t, &t->calls[0])->object, 78);
	assert_int_equal(why_object_of(t, &t->calls[0])->owner, WHY_NONE);
	assert_int_equal(why_object_of(t, &t->calls[1])->object, 77);
	assert_int_equal(why_object_of(t, &t->calls[1])->owner,
			 why_model_find(&model, tid_of(OTHER)));
	assert_int_equal(why_object_of(t, &t->calls[2])->object, 2);
	assert_null(why_object_of(t, &t->calls[3]));
	assert_null(why_object_of(t, NULL));
	assert_null(why_object_of(thread(OTHER), &t->calls[0]));
}

/* Sockets of which no other end is known are nothing to match. */
static void socket_without_another_end(void **state)
{
	(void)state;
	report(50);
	socket_of(1, 100, 0, "tcp:1.1.1.1:80", "tcp:1.1.1.2:90");
	call(MAIN, "recv", 30, 31, NULL, .file = 1);
	read_model();
	assert_int_equal(model.ends_cnt, 0);
	assert_int_equal(thread(MAIN)->objects_cnt, 0);
}

/* ---- semaphores ---- */

/* Is the semaphore of the main thread's first call a lock? */
static bool is_lock(void)
{
	const struct why_thread *t;

	read_model();
	t = thread(MAIN);
	return why_object_of(t, &t->calls[0])->is_lock;
}

/* It is posted by @tid, a semaphore at @address; the main thread waits for that at 7 by @name. */
static bool posted_by(int tid, const char *name, int64_t address)
{
	report(50);
	call(MAIN, name, 10, 11, NULL, .lock = 7);
	call(tid, "sem_post", 20, 21, NULL, .lock = address);
	return is_lock();
}

static void semaphore_that_its_waiter_posts_is_a_lock(void **state)
{
	(void)state;
	assert_true(posted_by(MAIN, "sem_wait", 7));
}

static void semaphore_with_a_limit_is_a_lock(void **state)
{
	(void)state;
	assert_true(posted_by(MAIN, "sem_timedwait", 7));
}

static void semaphore_with_a_limit_by_a_clock_is_a_lock(void **state)
{
	(void)state;
	assert_true(posted_by(MAIN, "sem_clockwait", 7));
}

static void semaphore_that_another_posts_is_none(void **state)
{
	(void)state;
	assert_false(posted_by(OTHER, "sem_wait", 7));
}

static void another_semaphore_that_is_posted_is_another(void **state)
{
	(void)state;
	assert_false(posted_by(MAIN, "sem_wait", 8));
}

static void condition_at_the_address_of_a_semaphore_is_none(void **state)
{
	(void)state;
	assert_false(posted_by(MAIN, "pthread_cond_wait", 7));
}

/* 101 and 102 use it as a lock, twice each; so it is one for the main thread, too. In another process 7 is another one. */
static void semaphore_is_a_lock_for_all_threads_of_its_process(void **state)
{
	(void)state;
	report(50);
	process(CHILD, MAIN, 0, 50);
	runs(MAIN, 0, 50);
	runs(CHILD, 0, 50, .by = MAIN);
	call(MAIN, "sem_wait", 10, 11, NULL, .lock = 7);
	for (int tid = 101; tid <= 102; tid++)
		for (int i = 0; i < 2; i++) {
			call(tid, "sem_wait", 4 * i, 4 * i + 1, NULL, .lock = 7);
			call(tid, "sem_post", 4 * i + 2, 4 * i + 3, NULL, .lock = 7);
		}
	call(CHILD, "sem_wait", 10, 11, NULL, .lock = 7);
	call(OTHER, "sem_wait", 30, 31, NULL, .lock = 6);
	assert_true(is_lock());
	assert_false(why_object_of(thread(CHILD), &thread(CHILD)->calls[0])->is_lock);
	assert_true(thread(OTHER)->objects[0].is_lock);
	assert_false(thread(OTHER)->objects[4].is_lock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MODEL(calls_inside_of_others_are_dropped),
		MODEL(call_without_an_end),
		MODEL(samples_of_two_kinds),
		MODEL(stacks_off_the_cpu_alone_are_no_samples),
		MODEL(faults_have_the_file),
		MODEL(requests_reach_as_far_as_those_before),
		MODEL(messages_are_calls_that_send),
		MODEL(messages_reach_the_other_end),
		MODEL(objects_of_calls),
		MODEL(socket_without_another_end),
		MODEL(semaphore_that_its_waiter_posts_is_a_lock),
		MODEL(semaphore_with_a_limit_is_a_lock),
		MODEL(semaphore_with_a_limit_by_a_clock_is_a_lock),
		MODEL(semaphore_that_another_posts_is_none),
		MODEL(another_semaphore_that_is_posted_is_another),
		MODEL(condition_at_the_address_of_a_semaphore_is_none),
		MODEL(semaphore_is_a_lock_for_all_threads_of_its_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

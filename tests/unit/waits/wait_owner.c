/* wait_owner.c - owners of locks, of threads of this process that really wait. */
#include "collector/waits/wait_owner.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t *shared;
static uint32_t waiter;

static void *wants(void *arg)
{
	__atomic_store_n(&waiter, (uint32_t)gettid(), __ATOMIC_RELEASE);
	pthread_mutex_lock(arg);
	pthread_mutex_unlock(arg);
	return NULL;
}

/* Until the thread has gone to sleep in the call. */
static struct thread_call waits_in(uint32_t tid, long number)
{
	struct thread_call c = {.pid = (uint32_t)getpid(), .tid = tid};

	while (!thread_call_read(&c) || c.number != number || c.state != 'S')
		usleep(1000);
	return c;
}

static uint32_t tid_of_waiter(void)
{
	uint32_t tid;

	while (!(tid = __atomic_load_n(&waiter, __ATOMIC_ACQUIRE)))
		usleep(1000);
	return tid;
}

static void lock_has_its_owner(void **state)
{
	struct thread_call c, again;
	uint32_t process = 0;
	bool is_lock = false;
	pthread_t t;

	(void)state;
	waiter = 0;
	pthread_mutex_lock(&lock);
	pthread_create(&t, NULL, wants, &lock);
	c = waits_in(tid_of_waiter(), SYS_futex);
	assert_int_equal(c.args[0], (uintptr_t)&lock);
	assert_int_equal(wait_owner_of_futex(&c, &is_lock, &process), gettid());
	assert_true(is_lock);
	assert_int_equal(process, getpid());
	/* It sleeps: nothing changes. */
	again = c;
	assert_true(thread_call_read(&again));
	assert_true(thread_call_is_same(&c, &again));
	assert_int_equal(again.switches, c.switches);
	assert_true(thread_call_goes_on(&c));
	again.args[0]++;
	assert_false(thread_call_goes_on(&again));
	pthread_mutex_unlock(&lock);
	pthread_join(t, NULL);
	assert_false(thread_call_goes_on(&c));
}

static void *joins(void *arg)
{
	__atomic_store_n(&waiter, (uint32_t)gettid(), __ATOMIC_RELEASE);
	pthread_join(*(pthread_t *)arg, NULL);
	return NULL;
}

static void join_is_for_a_thread_without_a_lock(void **state)
{
	pthread_t t, joiner;
	uint32_t sleeper, process = 0;
	struct thread_call c;
	bool is_lock = true;

	(void)state;
	waiter = 0;
	pthread_mutex_lock(&lock);
	pthread_create(&t, NULL, wants, &lock);
	sleeper = tid_of_waiter();
	__atomic_store_n(&waiter, 0, __ATOMIC_RELEASE);
	pthread_create(&joiner, NULL, joins, &t);
	c = waits_in(tid_of_waiter(), SYS_futex);
	assert_int_equal(wait_owner_of_futex(&c, &is_lock, &process), sleeper);
	assert_false(is_lock);
	pthread_mutex_unlock(&lock);
	pthread_join(joiner, NULL);
}

static void share_a_lock(void)
{
	pthread_mutexattr_t at;

	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(shared, MAP_FAILED);
	pthread_mutexattr_init(&at);
	pthread_mutexattr_setpshared(&at, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(shared, &at);
}

/* A process that has the lock, and ends with it or sleeps. */
static pid_t child_takes(bool stays)
{
	pid_t child = fork();

	if (child)
		return child;
	pthread_mutex_lock(shared);
	while (stays)
		pause();
	_exit(0);
}

static void check_shared(pid_t child, uint32_t owner_process)
{
	struct thread_call c;
	uint32_t process = 0;
	bool is_lock = false;
	pthread_t t;

	waiter = 0;
	pthread_create(&t, NULL, wants, shared);
	c = waits_in(tid_of_waiter(), SYS_futex);
	assert_int_equal(wait_owner_of_futex(&c, &is_lock, &process), child);
	assert_int_equal(process, owner_process);
	assert_true(is_lock);
	/* For good. */
	pthread_detach(t);
}

static void shared_lock_of_another_process_has_that_process(void **state)
{
	pid_t child;

	(void)state;
	share_a_lock();
	child = child_takes(true);
	while (!*(volatile int *)shared)
		usleep(1000);
	check_shared(child, (uint32_t)child);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void shared_lock_of_an_ended_process_has_its_number(void **state)
{
	pid_t child;

	(void)state;
	share_a_lock();
	child = child_takes(false);
	waitpid(child, NULL, 0);
	check_shared(child, (uint32_t)getpid());
}

static void running_thread_is_in_no_call(void **state)
{
	struct thread_call c = {.pid = (uint32_t)getpid(), .tid = (uint32_t)gettid()};

	(void)state;
	assert_true(thread_call_read(&c));
	assert_int_equal(c.state, 'R');
	/* It reads this very file. */
	assert_true(c.number == SYS_read || c.number == CALL_RUNS);
	c.tid = 1 << 22;
	assert_false(thread_call_read(&c));
}

static void stopped_process_is_in_no_call(void **state)
{
	pid_t child = fork();
	struct thread_call c = {.pid = (uint32_t)child, .tid = (uint32_t)child};

	(void)state;
	if (!child)
		for (;;)
			pause();
	kill(child, SIGSTOP);
	assert_int_equal(waitpid(child, NULL, WUNTRACED), child);
	assert_true(thread_call_read(&c));
	assert_int_equal(c.number, CALL_STOPPED);
	assert_int_equal(c.state, 'T');
	assert_true(thread_call_goes_on(&c));
	c.sp -= 16;
	assert_false(thread_call_goes_on(&c));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_false(thread_call_read(&c));
}

static void poll_with_a_time_limit_ends_by_itself(void **state)
{
	struct thread_call c = {.number = SYS_ppoll, .args = {0, 1, 0}};

	(void)state;
	assert_false(thread_call_has_limit(&c));
	c.args[2] = 4096;
	assert_true(thread_call_has_limit(&c));
	c.number = SYS_read;
	assert_false(thread_call_has_limit(&c));
#ifdef SYS_poll
	c.number = SYS_poll;
	assert_true(thread_call_has_limit(&c));
	c.args[2] = UINT32_MAX;
	assert_false(thread_call_has_limit(&c));
	c.args[2] = 0;
	assert_true(thread_call_has_limit(&c));
#endif
}

static void children_are_awaited_by_number_or_any(void **state)
{
	struct thread_call c = {.number = SYS_wait4, .args = {4711}};
	bool any;

	(void)state;
	assert_int_equal(wait_child(&c, &any), 4711);
	assert_false(any);
	c.args[0] = (unsigned long long)-1;
	assert_int_equal(wait_child(&c, &any), 0);
	assert_true(any);
	c = (struct thread_call){.number = SYS_waitid, .args = {P_PID, 4712}};
	assert_int_equal(wait_child(&c, &any), 4712);
	assert_false(any);
	c.args[0] = P_ALL;
	assert_int_equal(wait_child(&c, &any), 0);
	assert_true(any);
	c.number = SYS_read;
	assert_int_equal(wait_child(&c, &any), 0);
	assert_false(any);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lock_has_its_owner),
		cmocka_unit_test(join_is_for_a_thread_without_a_lock),
		cmocka_unit_test(shared_lock_of_another_process_has_that_process),
		cmocka_unit_test(shared_lock_of_an_ended_process_has_its_number),
		cmocka_unit_test(running_thread_is_in_no_call),
		cmocka_unit_test(stopped_process_is_in_no_call),
		cmocka_unit_test(poll_with_a_time_limit_ends_by_itself),
		cmocka_unit_test(children_are_awaited_by_number_or_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

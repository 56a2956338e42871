/* task.c - work beside the caller's: by whom it is done, with which signals, and where there is room for one only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/task.h"

struct work {
	pthread_t by;
	sigset_t blocked;
	int times;
};

static void work(void *of)
{
	struct work *w = of;

	w->by = pthread_self();
	pthread_sigmask(SIG_BLOCK, NULL, &w->blocked);
	w->times++;
}

static void a_thread_does_it_without_signals(void **state)
{
	sigset_t before, after;
	struct aside a;
	struct work w = {0};

	(void)state;
	pthread_sigmask(SIG_BLOCK, NULL, &before);
	aside_begin(&a, work, &w);
	pthread_sigmask(SIG_BLOCK, NULL, &after);
	aside_end(&a);
	assert_int_equal(w.times, 1);
	assert_false(pthread_equal(w.by, pthread_self()));
	for (int sig = 1; sig < 32; sig++)
		assert_int_equal(sigismember(&after, sig), sigismember(&before, sig));
	assert_true(sigismember(&w.blocked, SIGINT) && sigismember(&w.blocked, SIGCHLD));
	assert_false(sigismember(&w.blocked, SIGBUS) || sigismember(&w.blocked, SIGSEGV));
}

/* 0: by this thread, and not before aside_end() */
static int done_at_the_end(void)
{
	struct aside a;
	struct work w = {0};
	bool early;

	aside_begin(&a, work, &w);
	early = w.times > 0;
	aside_end(&a);
	return early || w.times != 1 || !pthread_equal(w.by, pthread_self());
}

/* In a child, whose limits go with it. */
static int with_limit(__rlimit_resource_t what, rlim_t most, uid_t user)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		const struct rlimit limit = {most, most};

		if (setrlimit(what, &limit) || (user && setuid(user)))
			_exit(2);
		_exit(done_at_the_end());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void little_room_is_for_the_caller(void **state)
{
	(void)state;
#ifndef __SANITIZE_ADDRESS__ /* takes terabytes */
	assert_int_equal(with_limit(RLIMIT_AS, 512 << 20, 0), 0);
#endif
	assert_int_equal(with_limit(RLIMIT_NOFILE, 40, 0), 0);
}

static void no_thread_is_no_failure(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(with_limit(RLIMIT_NPROC, 1, 65534), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_does_it_without_signals),
		cmocka_unit_test(little_room_is_for_the_caller),
		cmocka_unit_test(no_thread_is_no_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

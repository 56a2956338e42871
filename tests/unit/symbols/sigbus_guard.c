/*
 * sigbus_guard.c - memory of files that lose their end while they are read: each thread leaves its own work, covered memory
 * is zeros, and what is not ours is for others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/symbols/sigbus_guard.h"

static const volatile uint8_t *cut_mapping(void)
{
	char name[] = "/tmp/sl-bus-error-XXXXXX";
	int fd = mkstemp(name);
	void *at;

	unlink(name);
	assert_int_equal(ftruncate(fd, 4 << 12), 0);
	at = mmap(NULL, 4 << 12, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(at != MAP_FAILED);
	assert_int_equal(ftruncate(fd, 0), 0);
	close(fd);
	return at;
}

struct reading {
	const volatile uint8_t *at;
	bool is_through;
};

static void read_it(void *of)
{
	struct reading *r = of;

	(void)*r->at;
	r->is_through = true;
}

static void *try_often(void *of)
{
	intptr_t left = 0;

	for (int i = 0; i < 2000; i++) {
		struct reading r = {of, false};

		left += !bus_error_try(read_it, &r) && !r.is_through;
	}
	return (void *)left;
}

static void each_thread_leaves_its_own_work(void **state)
{
	const volatile uint8_t *cut = cut_mapping();
	struct reading whole = {(const uint8_t *)"whole", false};
	pthread_t thread[4];
	void *left;

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(
			pthread_create(&thread[i], NULL, try_often, (void *)(uintptr_t)cut), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(thread[i], &left);
		assert_int_equal((intptr_t)left, 2000);
	}
	assert_true(bus_error_try(read_it, &whole));
	assert_true(whole.is_through);
	munmap((void *)(uintptr_t)cut, 4 << 12);
}

static void covered_memory_reads_as_zeros(void **state)
{
	const volatile uint8_t *cut = cut_mapping();

	(void)state;
	assert_true(bus_error_cover((const void *)(uintptr_t)cut, 4 << 12));
	for (unsigned i = 0; i < 4 << 12; i += 512)
		assert_int_equal(cut[i], 0);
	bus_error_uncover_all();
	munmap((void *)(uintptr_t)cut, 4 << 12);
}

static void on_signal(int sig)
{
	_exit(sig == SIGBUS ? 7 : 8);
}

/* A SIGBUS that is not the guard's goes to the handler @before; or, where it is reset meanwhile, to the default action. */
static int end_of_child(void (*before)(int), bool is_taken_meanwhile)
{
	const volatile uint8_t *cut = cut_mapping(), *other = cut_mapping();
	struct reading r = {other, false};
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		signal(SIGBUS, before);
		if (bus_error_try(read_it, &r))
			_exit(1);
		if (is_taken_meanwhile) {
			signal(SIGBUS, SIG_DFL);
			if (bus_error_try(read_it, &r))
				_exit(2);
		}
		(void)*cut;
		_exit(3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	munmap((void *)(uintptr_t)cut, 4 << 12);
	munmap((void *)(uintptr_t)other, 4 << 12);
	return status;
}

static void other_bus_errors_are_for_others(void **state)
{
	int status;

	(void)state;
	status = end_of_child(SIG_DFL, false);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
	status = end_of_child(SIG_DFL, true);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
	status = end_of_child(on_signal, false);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_thread_leaves_its_own_work),
		cmocka_unit_test(covered_memory_reads_as_zeros),
		cmocka_unit_test(other_bus_errors_are_for_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

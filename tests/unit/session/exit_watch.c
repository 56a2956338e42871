/* exit_watch.c - the program wakes a futex at its end, from another process and without write access; the collector hears it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/futex.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/session/exit_watch.h"

static struct sl_session *map(int fd, int prot)
{
	void *m = mmap(NULL, sizeof(struct sl_session), prot, MAP_SHARED, fd, 0);

	assert_ptr_not_equal(m, MAP_FAILED);
	return m;
}

static int session_file(void)
{
	int fd = memfd_create("session", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, sizeof(struct sl_session)), 0);
	return fd;
}

/* As preload/core/session_join.c does, from a process that may only read. How many were woken. */
static int wake_as_the_program(int fd)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		const struct sl_session *s = map(fd, PROT_READ);

		_exit((int)syscall(SYS_futex, &s->leaving, FUTEX_WAKE, 1, NULL, NULL, 0));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static bool is_readable(int fd, int ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, ms) == 1;
}

static void the_program_is_heard(void **state)
{
	int fd = session_file(), woken = 0;
	struct sl_session *s = map(fd, PROT_READ | PROT_WRITE);
	struct leaving l = {0};

	(void)state;
	assert_int_equal(leaving_begin(&l, s), 0);
	/* The thread may not wait yet. */
	for (int i = 0; i < 5000 && !woken; i++) {
		assert_false(is_readable(l.event, 0));
		woken = wake_as_the_program(fd);
	}
	assert_int_equal(woken, 1);
	assert_true(is_readable(l.event, 60000));
	leaving_seen(&l);
	assert_false(is_readable(l.event, 0));
	/* It was woken, not told to end: it hears the next one, too. */
	for (woken = 0; !woken;)
		woken = wake_as_the_program(fd);
	assert_true(is_readable(l.event, 60000));
	leaving_end(&l);
	munmap(s, sizeof(*s));
	close(fd);
}

static void an_end_without_it(void **state)
{
	int fd = session_file();
	struct sl_session *s = map(fd, PROT_READ | PROT_WRITE);
	struct leaving l = {0};

	(void)state;
	leaving_end(&l); /* never begun */
	assert_int_equal(leaving_begin(&l, s), 0);
	leaving_end(&l);
	assert_int_equal(s->leaving, 1);
	leaving_end(&l);
	munmap(s, sizeof(*s));
	close(fd);
}

static void where_there_is_no_room_for_a_thread(void **state)
{
	int fd = session_file();
	struct sl_session *s = map(fd, PROT_READ | PROT_WRITE);
	struct rlimit before, few;
	struct leaving l = {0};

	(void)state;
	getrlimit(RLIMIT_NOFILE, &before);
	few = (struct rlimit){100, before.rlim_max};
	setrlimit(RLIMIT_NOFILE, &few);
	assert_int_equal(leaving_begin(&l, s), 0);
	assert_false(l.aside.has_thread);
	leaving_end(&l); /* does not wait for anybody */
	setrlimit(RLIMIT_NOFILE, &before);
	munmap(s, sizeof(*s));
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_program_is_heard),
		cmocka_unit_test(an_end_without_it),
		cmocka_unit_test(where_there_is_no_room_for_a_thread),
	};

	return cmocka_run_group_tests_name("leaving", tests, NULL, NULL);
}

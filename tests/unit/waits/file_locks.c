/* file_locks.c - the owner of a lock on a file, from lists as /proc/locks has them, and from the kernel's own. */
#include "collector/waits/file_locks.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static const char list[] = "1: POSIX  ADVISORY  WRITE 700 fe:01:42 0 EOF\n"
			   "1: -> POSIX  ADVISORY  WRITE 701 fe:01:42 0 EOF\n"
			   "1: -> POSIX  ADVISORY  WRITE 702 fe:01:42 0 EOF\n"
			   "2: FLOCK  ADVISORY  WRITE 800 fe:01:43 0 EOF\n"
			   "2: -> FLOCK  ADVISORY  WRITE 701 fe:01:43 0 EOF\n"
			   "3: OFDLCK ADVISORY  WRITE -1 fe:01:44 0 EOF\n"
			   "3: -> OFDLCK ADVISORY  WRITE 701 fe:01:44 0 EOF\n"
			   "4: FLOCK  ADVISORY  READ 900 fe:01:45 0 EOF\n";

static void owner_has_the_number_of_the_lock(void **state)
{
	(void)state;
	assert_int_equal(file_lock_owner_in(list, 701, 42), 700);
	assert_int_equal(file_lock_owner_in(list, 702, 42), 700);
	assert_int_equal(file_lock_owner_in(list, 701, 43), 800);
}

static void process_that_does_not_wait_has_no_owner(void **state)
{
	(void)state;
	assert_int_equal(file_lock_owner_in(list, 700, 42), 0);
	assert_int_equal(file_lock_owner_in(list, 702, 43), 0);
	assert_int_equal(file_lock_owner_in(list, 701, 45), 0);
	assert_int_equal(file_lock_owner_in("", 701, 42), 0);
}

/* The lock of an open file belongs to no process. */
static void lock_of_an_open_file_has_no_owner(void **state)
{
	(void)state;
	assert_int_equal(file_lock_owner_in(list, 701, 44), 0);
}

static void damaged_lists_have_no_owner(void **state)
{
	(void)state;
	assert_int_equal(
		file_lock_owner_in("1: -> POSIX ADVISORY WRITE 701 fe:01:42 0 EOF", 701, 42), 0);
	assert_int_equal(file_lock_owner_in("x\n\n:\n1\n1:\n-> \n1: -> POSIX\n", 701, 42), 0);
}

static void kernel_knows_the_process_that_has_a_lock(void **state)
{
	char path[] = "/tmp/sightline-lock.XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);
	struct stat st;
	uint32_t owner = 0;
	pid_t child;

	(void)state;
	assert_true(fd >= 0 && flock(fd, LOCK_EX) == 0 && fstat(fd, &st) == 0);
	child = fork();
	if (!child) {
		int own = open(path, O_RDWR);

		dup2(own, 77);
		flock(77, LOCK_EX);
		_exit(0);
	}
	/* Until it waits; the inode is shown from Linux 5.14 on. */
	for (int i = 0; i < 2000 && !owner; i++) {
		owner = file_lock_owner((uint32_t)child, st.st_ino);
		usleep(1000);
	}
	assert_int_equal(owner, getpid());
	if (file_lock_inode((uint32_t)getpid(), (unsigned long long)fd))
		assert_int_equal(file_lock_inode((uint32_t)child, 77), st.st_ino);
	assert_int_equal(file_lock_inode((uint32_t)child, 78), 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	unlink(path);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owner_has_the_number_of_the_lock),
		cmocka_unit_test(process_that_does_not_wait_has_no_owner),
		cmocka_unit_test(lock_of_an_open_file_has_no_owner),
		cmocka_unit_test(damaged_lists_have_no_owner),
		cmocka_unit_test(kernel_knows_the_process_that_has_a_lock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

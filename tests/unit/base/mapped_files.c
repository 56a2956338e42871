/* mapped_files.c - which files a process other than this one has mapped. */
#include "collector/base/proc.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define FILES 3

static int fd[FILES];
static struct mapped_file files[FILES];

static int set_up(void **state)
{
	(void)state;
	for (int i = 0; i < FILES; i++) {
		struct stat st;

		fd[i] = memfd_create("mapped", MFD_CLOEXEC);
		assert_true(fd[i] >= 0);
		assert_int_equal(ftruncate(fd[i], 4096), 0);
		assert_int_equal(fstat(fd[i], &st), 0);
		files[i] = (struct mapped_file){.device = st.st_dev, .inode = st.st_ino};
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (int i = 0; i < FILES; i++)
		close(fd[i]);
	return 0;
}

/* A process that has file @which mapped, once it has written a byte. */
static pid_t start_user(int which)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		if (mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd[which], 0) == MAP_FAILED ||
		    write(ready[1], "", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void one_look_marks_each_file_that_a_process_has_mapped(void **state)
{
	pid_t first = start_user(0), last = start_user(2);

	(void)state;
	users_find_mapped(files, FILES, NULL);
	stop(first);
	stop(last);
	assert_true(files[0].is_used);
	assert_false(files[1].is_used);
	assert_true(files[2].is_used);
}

static void a_file_of_another_device_is_not_marked(void **state)
{
	pid_t pid = start_user(1);

	(void)state;
	files[1].device++;
	users_find_mapped(files, FILES, NULL);
	stop(pid);
	assert_false(files[1].is_used);
}

static void the_asking_process_does_not_count(void **state)
{
	void *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd[0], 0);

	(void)state;
	assert_true(map != MAP_FAILED);
	assert_false(users_have_mapped(files[0].device, files[0].inode));
	assert_int_equal(proc_has_mapped((uint32_t)getpid(), files[0].device, files[0].inode), 1);
	munmap(map, 4096);
	assert_int_equal(proc_has_mapped((uint32_t)getpid(), files[0].device, files[0].inode), 0);
}

/* One that is older than the files has none of them, unless it has made it. */
static void an_older_process_is_not_looked_at_unless_it_is_the_maker(void **state)
{
	pid_t older = start_user(0), younger = start_user(1), pid = fork();
	struct elders elders = {.since = proc_age() + 1000};
	struct proc_origin o;

	(void)state;
	if (pid == 0)
		_exit(0);
	stop(pid);
	files[0].maker = (uint32_t)older;
	for (int look = 0; look < 2; look++) {
		for (int i = 0; i < FILES; i++)
			files[i].is_used = false;
		users_find_mapped(files, FILES, &elders);
		assert_true(files[0].is_used);
		assert_false(files[1].is_used);
	}
	assert_non_null(map_at(&elders.inode, (uint32_t)younger, false));
	/* Another process by that number. */
	*map_at(&elders.inode, (uint32_t)younger, false) += 1;
	assert_true(proc_origin((uint32_t)younger, &o));
	elders.since = o.start;
	users_find_mapped(files, FILES, &elders);
	assert_true(files[1].is_used);
	files[0].maker = 0;
	map_free(&elders.inode);
	/* Without a time nothing is left out. */
	elders.since = 0;
	files[1].is_used = false;
	users_find_mapped(files, FILES, &elders);
	assert_true(files[1].is_used);
	assert_int_equal(elders.inode.cnt, 0);
	stop(older);
	stop(younger);
}

static void a_process_that_is_gone_cannot_be_seen(void **state)
{
	pid_t pid = start_user(0);

	(void)state;
	stop(pid);
	assert_int_equal(proc_has_mapped((uint32_t)pid, files[0].device, files[0].inode), -ENOENT);
	assert_false(users_have_mapped(files[0].device, files[0].inode));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_look_marks_each_file_that_a_process_has_mapped,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			an_older_process_is_not_looked_at_unless_it_is_the_maker, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(a_file_of_another_device_is_not_marked, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_asking_process_does_not_count, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_process_that_is_gone_cannot_be_seen, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

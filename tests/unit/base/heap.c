/* heap.c - the collector's memory: one heap for all threads, and what is had in advance. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/heap.h"

#define ROOM (1u << 20)

static char *first_heap_end(void)
{
	return sbrk(0);
}

static void *allocate(void *of)
{
	(void)of;
	return malloc(1000);
}

static void threads_share_the_first_heap(void **state)
{
	pthread_t thread;
	void *got;

	(void)state;
#ifdef __SANITIZE_ADDRESS__
	skip();
#endif
	assert_int_equal(pthread_create(&thread, NULL, allocate, NULL), 0);
	assert_int_equal(pthread_join(thread, &got), 0);
	assert_non_null(got);
	assert_true((char *)got < first_heap_end());
	free(got);
}

/* Pages of @at that are in memory. */
static size_t resident(const char *at, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), cnt = 0;
	uintptr_t first = ((uintptr_t)at + page - 1) & -page;
	size_t pages = ((uintptr_t)at + bytes - first) / page;
	unsigned char *in = calloc(pages, 1);

	assert_non_null(in);
	assert_int_equal(mincore((void *)first, pages * page, in), 0);
	for (size_t i = 0; i < pages; i++)
		cnt += in[i] & 1;
	free(in);
	return cnt;
}

static bool kernel_can(void)
{
	struct utsname u;
	int major = 0, minor = 0;

	return !uname(&u) && sscanf(u.release, "%d.%d", &major, &minor) == 2 &&
	       major * 1000 + minor >= 5014;
}

static void what_comes_next_is_there(void **state)
{
	char *room;

	(void)state;
#ifdef __SANITIZE_ADDRESS__
	skip();
#endif
	if (!kernel_can())
		skip();
	heap_warm(ROOM);
	room = malloc(ROOM - 4096);
	assert_non_null(room);
	assert_true(resident(room, ROOM - 4096) >= ROOM / (size_t)sysconf(_SC_PAGESIZE) - 3);
	free(room);
}

/* Large pages are the kernel's choice; that nothing is used up before, and all can be, is not. */
static void large_pages_are_not_used_before_somebody_asks(void **state)
{
	size_t bytes = 8 * ROOM;
	char *room;

	(void)state;
	heap_large(bytes);
	room = malloc(bytes - 4096);
	assert_non_null(room);
#ifndef __SANITIZE_ADDRESS__
	assert_true(resident(room, bytes - 4096) < bytes / 2 / (size_t)sysconf(_SC_PAGESIZE));
#endif
	for (size_t i = 0; i < bytes - 4096; i += 4096)
		room[i] = 1;
	free(room);
}

/* A limit that leaves no room: nothing happens. */
static void without_room_nothing_happens(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		struct rlimit none = {0, 0};

		setrlimit(RLIMIT_DATA, &none);
		heap_warm(256u * ROOM);
		heap_large(256u * ROOM);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_share_the_first_heap),
		cmocka_unit_test(what_comes_next_is_there),
		cmocka_unit_test(large_pages_are_not_used_before_somebody_asks),
		cmocka_unit_test(without_room_nothing_happens),
	};

	heap_prepare();
	return cmocka_run_group_tests_name("heap", tests, NULL, NULL);
}

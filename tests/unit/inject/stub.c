/* stub.c - the code that is put into a process unmaps itself when nothing runs in it any more. */
#include "collector/inject/stub.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <cmocka.h>

#ifdef __x86_64__

#define UNMAPS 2

static struct {
	struct stub_data data;
	uint8_t *code;
	int create_ms;           /* before the creating call returns */
	bool opens, has_entry;   /* answers of dlopen(), dlsym() */
	uint32_t failed;         /* answer of the entry */
	uint32_t entered;        /* atomic: calls of the entry */
	uint32_t has_returned;   /* atomic: the first function has */
	uint32_t unmaps;         /* atomic */
	uint32_t unmapped_early; /* code that was still to be run */
	const void *unmapped[UNMAPS];
	size_t detached, stack;
} run;

static void doze(int ms)
{
	const struct timespec t = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&t, NULL);
}

static int create(pthread_t *t, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	int state = -1, rc = pthread_create(t, attr, start, arg);

	pthread_attr_getdetachstate(attr, &state);
	run.detached = state == PTHREAD_CREATE_DETACHED;
	pthread_attr_getstacksize(attr, &run.stack);
	doze(run.create_ms);
	return rc;
}

static int refuse(pthread_t *t, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	(void)t;
	(void)attr;
	(void)start;
	(void)arg;
	return 11;
}

static int entry(struct sl_late *late)
{
	assert_ptr_equal(late, &run.data.late);
	__atomic_add_fetch(&run.entered, 1, __ATOMIC_SEQ_CST);
	return (int)run.failed;
}

static void *open_library(const char *path, int how)
{
	assert_string_equal(path, "/a/library.so");
	assert_int_equal(how, 2);
	return run.opens ? &run : NULL;
}

static void *find_entry(void *library, const char *name)
{
	assert_ptr_equal(library, &run);
	assert_string_equal(name, "an_entry");
	return run.has_entry ? (void *)(uintptr_t)entry : NULL;
}

/* Does it at the end of the test. */
static int unmap(void *at, size_t bytes)
{
	uint32_t n = __atomic_load_n(&run.unmaps, __ATOMIC_SEQ_CST);

	assert_true(n < UNMAPS);
	assert_int_equal(bytes, at == run.code ? 4096 : 8192);
	run.unmapped[n] = at;
	/* Its last jump has left the code; only the attributes are set after that. */
	if (!run.data.created || !run.data.left[1])
		run.unmapped_early++;
	__atomic_add_fetch(&run.unmaps, 1, __ATOMIC_SEQ_CST);
	return 0;
}

static void begin(void)
{
	struct stub_data *d = &run.data;

	memset(&run, 0, sizeof(run));
	run.code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(run.code, MAP_FAILED);
	memcpy(run.code, stub_code, (size_t)(stub_code_end - stub_code));
	assert_int_equal(mprotect(run.code, 4096, PROT_READ | PROT_EXEC), 0);
	run.opens = run.has_entry = true;
	d->create = (uintptr_t)create;
	d->attr_init = (uintptr_t)pthread_attr_init;
	d->attr_detach = (uintptr_t)pthread_attr_setdetachstate;
	d->attr_stack = (uintptr_t)pthread_attr_setstacksize;
	d->dlopen = (uintptr_t)open_library;
	d->dlsym = (uintptr_t)find_entry;
	d->munmap = (uintptr_t)unmap;
	d->stack_bytes = 1 << 18;
	d->data_bytes = 8192;
	memcpy(d->entry, "an_entry", 9);
	memcpy(d->path, "/a/library.so", 14);
}

static void call_first(void)
{
	void (*first)(struct stub_data *);

	memcpy(&first, &run.code, sizeof(first));
	first(&run.data);
}

static bool is_unmapped(int limit_ms)
{
	for (int ms = 0; ms < limit_ms; ms++) {
		if (__atomic_load_n(&run.unmaps, __ATOMIC_SEQ_CST) == UNMAPS)
			return run.unmapped[0] == &run.data && run.unmapped[1] == run.code;
		doze(1);
	}
	return false;
}

static void end(void)
{
	/* The thread returns from unmap() to the C library. */
	munmap(run.code, 4096);
}

static void the_entry_is_called_once_on_a_detached_thread(void **state)
{
	(void)state;
	begin();
	call_first();
	assert_int_equal(run.data.created, 1);
	assert_int_equal(run.detached, 1);
	assert_int_equal(run.stack, 1 << 18);
	assert_true(is_unmapped(20000));
	assert_int_equal(run.entered, 1);
	assert_int_equal(run.data.late.state, 0);
	end();
}

static void code_that_is_still_to_be_run_stays(void **state)
{
	(void)state;
	begin();
	run.create_ms = 300;
	call_first();
	assert_true(is_unmapped(20000));
	assert_int_equal(run.unmapped_early, 0);
	end();
}

static void a_library_that_cannot_be_opened_is_answered(void **state)
{
	(void)state;
	begin();
	run.opens = false;
	run.data.seen = 1;
	call_first();
	assert_true(is_unmapped(20000));
	assert_int_equal(run.data.late.state, SL_LATE_FAILED);
	assert_int_equal(run.data.late.error, SL_LATE_NO_LIBRARY);
	assert_int_equal(run.entered, 0);
	end();
}

static void a_library_without_the_entry_is_answered(void **state)
{
	(void)state;
	begin();
	run.has_entry = false;
	run.data.seen = 1;
	call_first();
	assert_true(is_unmapped(20000));
	assert_int_equal(run.data.late.state, SL_LATE_FAILED);
	assert_int_equal(run.data.late.error, SL_LATE_NO_ENTRY);
	end();
}

static void an_answer_stays_until_it_is_read(void **state)
{
	(void)state;
	begin();
	run.failed = 5;
	call_first();
	doze(200);
	assert_int_equal(__atomic_load_n(&run.unmaps, __ATOMIC_SEQ_CST), 0);
	__atomic_store_n(&run.data.seen, 1, __ATOMIC_SEQ_CST);
	assert_true(is_unmapped(20000));
	end();
}

static void an_answer_that_nobody_reads_goes_after_two_seconds(void **state)
{
	(void)state;
	begin();
	run.failed = 5;
	call_first();
	assert_true(is_unmapped(20000));
	assert_int_equal(run.data.seen, 0);
	end();
}

static void a_thread_that_cannot_be_started_is_answered(void **state)
{
	(void)state;
	begin();
	run.data.create = (uintptr_t)refuse;
	call_first();
	assert_int_equal(run.data.created, 12);
	assert_int_equal(run.unmaps, 0);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_entry_is_called_once_on_a_detached_thread),
		cmocka_unit_test(code_that_is_still_to_be_run_stays),
		cmocka_unit_test(a_library_that_cannot_be_opened_is_answered),
		cmocka_unit_test(a_library_without_the_entry_is_answered),
		cmocka_unit_test(an_answer_stays_until_it_is_read),
		cmocka_unit_test(an_answer_that_nobody_reads_goes_after_two_seconds),
		cmocka_unit_test(a_thread_that_cannot_be_started_is_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	return 0;
}

#endif

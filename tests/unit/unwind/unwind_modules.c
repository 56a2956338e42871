/*
 * unwind_modules.c - the objects that stacks lie in: emitted once, and again where another has taken the place.
 */
#include <dlfcn.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/unwind/unwind_test.h"

static unsigned take_modules(struct sl_module *m, unsigned room)
{
	unsigned n = 0;

	while (n < room && shim_next_module(&m[n]))
		n++;
	return n;
}

static const struct sl_module *module_of(const struct sl_module *m, unsigned n, const void *address)
{
	for (unsigned i = 0; i < n; i++)
		if ((uint64_t)address >= m[i].start && (uint64_t)address < m[i].end)
			return &m[i];
	return NULL;
}

/* Before all others: nothing has been met yet. */
static void objects_are_emitted_once(void **state)
{
	struct sl_module m[16];
	const struct sl_module *p;
	unsigned n, fresh = 0;
	int status;
	pid_t pid;

	(void)state;
	assert_false(shim_next_module(&m[0]));
	frame_cnt = shim_unwind(frames, SL_FRAME_MAX + 1, SL_FRAME_MAX, &fresh);
	n = take_modules(m, 16);
	assert_int_equal(n, fresh);
	p = module_of(m, n, (void *)objects_are_emitted_once);
	assert_non_null(p);
	assert_string_equal(p->path, "");
	assert_int_equal(p->build_id_len, 20);
	p = module_of(m, n, (void *)qsort);
	assert_non_null(p);
	assert_non_null(strstr(p->path, "/libc.so"));
	assert_null(module_of(m, n, (void *)shim_unwind)); /* it is left out itself */
	shim_unwind(frames, SL_FRAME_MAX + 1, SL_FRAME_MAX, &fresh);
	assert_int_equal(fresh, n);
	shim_forget();
	shim_unwind(frames, SL_FRAME_MAX + 1, SL_FRAME_MAX, &fresh);
	assert_int_equal(fresh, n);
	assert_int_equal(take_modules(m, 16), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		shim_unwind(frames, SL_FRAME_MAX + 1, SL_FRAME_MAX, &fresh);
		_exit(take_modules(m, 16) != 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void *open_lib(const char *name, void (**function)(void (*)(void), uint64_t *))
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);
	void *lib;

	assert_true(n > 0);
	path[n] = 0;
	snprintf(strrchr(path, '/') + 1, 32, "%s", name);
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	assert_non_null(lib);
	*(void **)function = dlsym(lib, "stack_lib_call");
	assert_non_null(*function);
	return lib;
}

/* Two libraries with functions at the same place and frames of different sizes. */
static void another_library_at_the_same_address(void **state)
{
	static const char *const names[] = {"stack_lib_a.so", "stack_lib_b.so", "stack_lib_a.so"};
	void (*call)(void (*)(void), uint64_t *), (*first)(void (*)(void), uint64_t *) = NULL;
	struct sl_module m[16];

	(void)state;
	run(case_plain, 0);
	take_modules(m, 16);
	for (int i = 0; i < 3; i++) {
		void *lib = open_lib(names[i], &call);
		const struct sl_module *p;
		unsigned n;

		first = first ? first : call;
		if (call != first)
			skip(); /* it has gone elsewhere */
		truth.cnt = 0;
		call(probe, &truth.address[truth.cnt++]);
		assert_true(is_noted(0));
		assert_true(is_like_glibc());
		n = take_modules(m, 16);
		p = module_of(m, n, (void *)call);
		assert_non_null(p);
		assert_non_null(strstr(p->path, names[i]));
		dlclose(lib);
		shim_forget();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_are_emitted_once),
		cmocka_unit_test(another_library_at_the_same_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

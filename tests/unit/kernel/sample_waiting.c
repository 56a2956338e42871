/* sample_waiting.c - the stack of a process that waits, from its two pointers alone. */
#include "collector/kernel/sample/sample_waiting.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "collector/base/now.h"
#include "collector/report/db.h"
#include "preload/wire/frame.h"

#define FAR 512 /* bytes of a function at most */

static struct {
	uint64_t frames[SL_FRAME_MAX];
	size_t cnt;
	unsigned stacks;
} told;

static void on_space(void *to, int64_t space, int64_t parent, int64_t global_pid)
{
	(void)to, (void)space, (void)parent, (void)global_pid;
}
static void on_module(void *to, const struct db_module *m)
{
	(void)to, (void)m;
}
static void on_code(void *to, const struct db_code *c)
{
	(void)to, (void)c;
}
static void on_stack(void *to, int64_t id, int64_t space, uint64_t ns, const uint64_t *frames,
		     size_t cnt)
{
	(void)to, (void)id, (void)space, (void)ns;
	memcpy(told.frames, frames, cnt * sizeof(*frames));
	told.cnt = cnt;
	told.stacks++;
}
static bool has(void *to, int64_t id)
{
	(void)to, (void)id;
	return true;
}
static const struct sample_sink_ops ops = {.space = on_space,
					   .module = on_module,
					   .code = on_code,
					   .stack = on_stack,
					   .has_space = has,
					   .has_stack = has};
static const struct sample_sink sink = {&ops, NULL};

#if defined(__x86_64__)
#define SAVES_FRAME_POINTER __asm__ volatile("" ::: "rbp")
#else
#define SAVES_FRAME_POINTER
#endif

/* The outer frame needs the frame pointer, as its size is known at run time alone: the inner one has saved it. */
static __attribute__((noinline, optimize("O2", "omit-frame-pointer"))) void inner(
	volatile char *room)
{
	room[0] = 1;
	SAVES_FRAME_POINTER;
	syscall(SYS_pause);
	room[0] = 2;
}
static __attribute__((noinline)) void outer(size_t bytes)
{
	volatile char *room = __builtin_alloca(bytes);

	inner(room);
	room[1] = 3;
}

static bool has_frame_in(void (*function)(void))
{
	uint64_t from = (uint64_t)(uintptr_t)function;

	for (size_t i = 0; i < told.cnt; i++)
		if (!(told.frames[i] & SL_FRAME_REMARK) &&
		    sl_frame_address(told.frames[i]) - from < FAR)
			return true;
	return false;
}

/* A child that waits in inner(). */
static pid_t start(struct sample_wait *wait)
{
	unsigned long long sp = 0, pc = 0;
	pid_t child = fork();
	char path[64];
	long number = -1;

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		outer((size_t)getpid() % 64 + 64);
		_exit(0);
	}
	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)child);
	for (int i = 0; i < 5000 && number != SYS_pause; i++) {
		FILE *f = fopen(path, "re");

		if (!f ||
		    fscanf(f, "%ld %*x %*x %*x %*x %*x %*x %llx %llx", &number, &sp, &pc) != 3)
			number = -1;
		if (f)
			fclose(f);
		usleep(1000);
	}
	assert_int_equal(number, SYS_pause);
	*wait = (struct sample_wait){.pid = (uint32_t)child,
				     .tid = (uint32_t)child,
				     .pc = pc,
				     .sp = sp,
				     .ns = (uint64_t)mono_ns()};
	memset(&told, 0, sizeof(told));
	return child;
}

static void stop(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void callers_of_the_wait_are_found(void **state)
{
	struct sample_waiting *w = sample_waiting_open(NULL, true, false);
	struct sample_wait wait;
	pid_t child = start(&wait);
	int64_t stack;

	(void)state;
	assert_non_null(w);
	stack = sample_waiting_stack(w, &sink, &wait);
	assert_true(stack != DB_NULL);
	assert_true(has_frame_in((void (*)(void))inner));
	assert_true(has_frame_in((void (*)(void))outer));
	/* The same wait has the same stack, which is written once. */
	assert_int_equal(sample_waiting_stack(w, &sink, &wait), stack);
	assert_int_equal(told.stacks, 1);
	sample_waiting_close(w);
	stop(child);
}

static void pointer_to_no_memory_has_no_stack(void **state)
{
	struct sample_waiting *w = sample_waiting_open(NULL, true, false);
	struct sample_wait wait;
	pid_t child = start(&wait);

	(void)state;
	wait.sp = 16;
	assert_int_equal(sample_waiting_stack(w, &sink, &wait), DB_NULL);
	wait.sp = UINT64_MAX - 7;
	assert_int_equal(sample_waiting_stack(w, &sink, &wait), DB_NULL);
	stop(child);
	assert_int_equal(sample_waiting_stack(w, &sink, &wait), DB_NULL);
	assert_int_equal(told.stacks, 0);
	sample_waiting_close(w);
	sample_waiting_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(callers_of_the_wait_are_found),
		cmocka_unit_test(pointer_to_no_memory_has_no_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

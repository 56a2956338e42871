/*
 * unwind.c - native stacks against what is known of them: functions that note where they return to (stack_cases.c), and
 * glibc's own backtrace().
 */
#include <execinfo.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/unwind/unwind_test.h"

static bool is_right(void (*function)(int), int arg)
{
	for (int i = 0; i < 2; i++) { /* the second time with rows that are kept */
		run(function, arg);
		if (!is_noted(0) || !is_like_glibc())
			return false;
	}
	return true;
}

static void stacks_of_c_functions_are_right(void **state)
{
	(void)state;
	assert_true(is_right(case_plain, 0));
	assert_true(is_right(case_recursion, 1));
	assert_true(is_right(case_recursion, 300));
	assert_true(is_right(case_alloca, 1000));
	assert_true(is_right(case_vla, 100));
	assert_true(is_right(case_many_registers, 20));
	assert_true(is_right(case_aligned, 1));
	assert_true(is_right(case_aligned, 5));
	assert_true(is_right(case_noreturn, 0));
}

static void stacks_of_cxx_functions_are_right(void **state)
{
	(void)state;
	assert_true(is_right(case_virtual, 10));
	assert_true(is_right(case_inlined, 1));
}

static void stacks_go_through_libraries(void **state)
{
	(void)state;
	run(case_qsort, 20);
	assert_true(is_noted_in_parts());
	assert_true(is_like_glibc());
	/* Frames of the unwinding library, while an exception passes. */
	run(case_exception, 3);
	assert_true(is_noted_in_parts());
	assert_true(is_like_glibc());
}

static void stacks_are_as_deep_as_asked(void **state)
{
	unsigned all;

	(void)state;
	run(case_recursion, 30);
	all = frame_cnt;
	depth_asked = 7;
	run(case_recursion, 30);
	assert_int_equal(frame_cnt, 8);
	assert_int_equal(frames[7], remark(SL_REMARK_DEPTH));
	assert_true(frames[6] == truth.address[truth.cnt - 6]);
	depth_asked = all;
	run(case_recursion, 30);
	assert_int_equal(frame_cnt, all);
	assert_true(is_like_glibc());
	depth_asked = SL_FRAME_MAX;
	run(case_recursion, 600);
	assert_int_equal(frame_cnt, SL_FRAME_MAX + 1);
	assert_int_equal(frames[SL_FRAME_MAX], remark(SL_REMARK_DEPTH));
}

/* ---- signals ---- */

static void handler(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	(void)sig;
	(void)info;
	NOTE();
	probe();
#if defined(__x86_64__)
	u->uc_mcontext.gregs[REG_RIP] += TRAP_BYTES;
#else
	u->uc_mcontext.pc += TRAP_BYTES;
#endif
}

static void handle(int sig, int flags, void (*f)(int, siginfo_t *, void *))
{
	struct sigaction a = {.sa_flags = SA_SIGINFO | flags};

	a.sa_sigaction = f;
	assert_int_equal(sigaction(sig, &a, NULL), 0);
}

/* What is between the interrupted place and its callers is the trap's function alone. */
static void assert_interrupted(void)
{
	assert_true(is_right(case_trap, 0));
	run(case_trap_first, 0);
	assert_true(is_noted_in_parts());
	assert_true(is_like_glibc());
}

static void stacks_go_through_a_signal(void **state)
{
	(void)state;
	handle(SIGILL, 0, handler);
	assert_interrupted();
}

static void stacks_go_on_from_a_stack_for_signals(void **state)
{
	size_t size = (size_t)64 * 1024;
	stack_t mine = {.ss_sp = malloc(size), .ss_size = size}, off = {.ss_flags = SS_DISABLE};

	(void)state;
	assert_non_null(mine.ss_sp);
	assert_int_equal(sigaltstack(&mine, NULL), 0);
	handle(SIGILL, SA_ONSTACK, handler);
	assert_interrupted();
	/* And back: the thread's own stack is still known. */
	assert_true(is_right(case_plain, 0));
	assert_int_equal(sigaltstack(&off, NULL), 0);
	free(mine.ss_sp);
}

static volatile sig_atomic_t in_vdso;

static void tick(int sig, siginfo_t *info, void *context)
{
	uint64_t start = getauxval(AT_SYSINFO_EHDR);

	(void)sig;
	(void)info;
	(void)context;
	if (in_vdso)
		return;
	truth.cnt = 1; /* what read_clock() noted */
	probe();
	for (unsigned i = 0; i < frame_cnt; i++)
		if (frames[i] & SL_FRAME_EXACT && start &&
		    sl_frame_address(frames[i]) - start < 0x4000)
			in_vdso = 1;
}

__attribute__((noinline)) static void read_clock(int unused)
{
	struct timespec ts;

	(void)unused;
	NOTE();
	for (long i = 0; i < 20000000 && !in_vdso; i++)
		clock_gettime(CLOCK_MONOTONIC, &ts);
}

static void stacks_go_on_from_the_vdso(void **state)
{
	struct itimerval often = {{0, 1000}, {0, 1000}}, off = {{0, 0}, {0, 0}};

	(void)state;
	handle(SIGALRM, SA_RESTART, tick);
	in_vdso = 0;
	setitimer(ITIMER_REAL, &often, NULL);
	run(read_clock, 0);
	setitimer(ITIMER_REAL, &off, NULL);
	signal(SIGALRM, SIG_IGN);
	if (!in_vdso)
		skip(); /* the clock is not read there */
	truth.cnt = 1;
	assert_true(is_noted_in_parts());
	assert_true(is_like_glibc());
}

/* ---- other stacks ---- */

static ucontext_t outside, inside;
static void (*coroutine_does)(int);
static int coroutine_arg;

static void coroutine(void)
{
	NOTE();
	truth.address[0] |= SL_FRAME_EXACT; /* not behind a call */
	coroutine_does(coroutine_arg);
	HERE();
}

static void run_coroutine(void *stack, size_t size, void (*f)(int), int arg)
{
	truth.cnt = 0;
	truth.probe = probe;
	coroutine_does = f;
	coroutine_arg = arg;
	assert_int_equal(getcontext(&inside), 0);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = size;
	inside.uc_link = &outside;
	makecontext(&inside, coroutine, 0);
	assert_int_equal(swapcontext(&outside, &inside), 0);
}

static void stacks_of_a_coroutine_end_with_it(void **state)
{
	size_t size = (size_t)256 * 1024;
	void *stack = malloc(size);
	bool own;

	(void)state;
	assert_non_null(stack);
	for (int i = 0; i < 3; i++) {
		run_coroutine(stack, size, case_recursion, 100);
		assert_true(is_noted(0));
		assert_true(is_like_glibc());
		run_coroutine(stack, size, case_aligned, 3);
		assert_true(is_noted(0));
		assert_true(is_right(case_vla, 10));
	}
	/* Where system calls are forbidden, memory is not known to be there; the thread's own stack is known by now. */
	shim_restrict(true);
	own = is_right(case_vla, 10);
	run_coroutine(stack, size, case_alloca, 20000);
	shim_restrict(false);
	assert_int_equal(frames[frame_cnt - 1], remark(SL_REMARK_MEMORY));
	assert_true(own);
	free(stack);
}

static void *thread(void *arg)
{
	(void)arg;
	return is_right(case_aligned, 2) && is_right(case_plain, 0) ? theirs : NULL;
}

static void threads_with_small_stacks_have_stacks(void **state)
{
	static char stack[4 * 65536] __attribute__((aligned(65536)));
	pthread_attr_t a;
	pthread_t t;
	void *ok = NULL;

	(void)state;
	assert_int_equal(pthread_attr_init(&a), 0);
	/* Beside glibc's smallest: what this test keeps by thread. */
	assert_int_equal(pthread_attr_setstacksize(&a, (size_t)PTHREAD_STACK_MIN + 32768), 0);
	assert_int_equal(pthread_create(&t, &a, thread, NULL), 0);
	pthread_join(t, &ok);
	assert_non_null(ok);
	assert_int_equal(pthread_attr_setstack(&a, stack, sizeof(stack)), 0);
	assert_int_equal(pthread_create(&t, &a, thread, NULL), 0);
	pthread_join(t, &ok);
	assert_non_null(ok);
	pthread_attr_destroy(&a);
}

static bool threads_go_on;

static void *many_stacks(void *arg)
{
	static void (*const function[])(int) = {case_recursion, case_aligned, case_many_registers,
						case_vla, case_virtual};

	for (unsigned i = (unsigned)(uintptr_t)arg; i < 20000; i++) {
		run(function[i % 5], (int)(1 + i % 23));
		if (!is_noted(0))
			return NULL;
	}
	return frames;
}

static void *forget(void *arg)
{
	(void)arg;
	while (__atomic_load_n(&threads_go_on, __ATOMIC_RELAXED)) {
		shim_forget();
		usleep(200);
	}
	return NULL;
}

/* Rows are kept by all at once, and are void again and again. */
static void many_threads_have_stacks_at_once(void **state)
{
	pthread_t t[4], other;
	bool all = true;

	(void)state;
	ask_glibc = false;
	threads_go_on = true;
	pthread_create(&other, NULL, forget, NULL);
	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, many_stacks, (void *)i);
	for (int i = 0; i < 4; i++) {
		void *ok = NULL;

		pthread_join(t[i], &ok);
		all &= ok != NULL;
	}
	__atomic_store_n(&threads_go_on, false, __ATOMIC_RELAXED);
	pthread_join(other, NULL);
	ask_glibc = true;
	assert_true(all);
}

/* ---- no table, damage ---- */

#if defined(__x86_64__)
static void registers_that_are_not_followed_at_first(void **state)
{
	(void)state;
	assert_true(is_right(case_by_rbx, 0));
}

static void code_without_a_table(void **state)
{
	unsigned cnt;

	(void)state;
	run(case_no_table, 1);
	assert_true(is_noted(0));
	cnt = truth.cnt;
	/* probe, innermost, with_fp and then its caller. */
	for (unsigned i = 0; i <= cnt; i++)
		assert_int_equal(frames[i] & SL_FRAME_BY_FP, i == 3 ? SL_FRAME_BY_FP : 0);
	for (int way = 0; way < 3; way += 2) {
		run(case_no_table, way);
		assert_true(is_noted(2));
		assert_int_equal(frame_cnt, 4);
		assert_int_equal(frames[3], remark(SL_REMARK_NO_TABLE));
	}
}

/* In a child, which does not return. Its frames go into memory that we share. */
static struct {
	unsigned cnt;
	uint64_t frames[SL_FRAME_MAX + 1];
} * damaged;

static void report(void)
{
	unsigned fresh = 0;

	damaged->cnt = shim_unwind(damaged->frames, SL_FRAME_MAX + 1, SL_FRAME_MAX, &fresh);
	_exit(0);
}

static void smash(void (*how)(void (*)(void), uint64_t), uint64_t value)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		how(report, value);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void share_damaged(void)
{
	if (damaged)
		return;
	damaged = mmap(NULL, sizeof(*damaged), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	assert_true(damaged != MAP_FAILED);
}

static void damaged_stacks_end_with_a_remark(void **state)
{
	static char data[64];
	char on_stack = 0, *heap = calloc(1, 64);
	const uint64_t wrong_return[] = {0x4141414141414141, 0x414141414141, 64,
					 (uint64_t)data,     (uint64_t)heap, (uint64_t)&on_stack,
					 (uint64_t)-1};
	const uint64_t wrong_fp[] = {0x4141414141414141,
				     0x4141414141414140,
				     0,
				     8,
				     (uint64_t)data & ~(uint64_t)15,
				     (uint64_t)heap,
				     (uint64_t)&on_stack & ~(uint64_t)15 & ~0xfffff,
				     (uint64_t)-16};

	(void)state;
	share_damaged();
	for (size_t i = 0; i < sizeof(wrong_return) / sizeof(wrong_return[0]); i++) {
		smash(smash_return, wrong_return[i]);
		assert_int_equal(damaged->cnt, 3); /* report(), smash_return() */
		assert_int_equal(damaged->frames[2], remark(SL_REMARK_BROKEN));
	}
	for (size_t i = 0; i < sizeof(wrong_fp) / sizeof(wrong_fp[0]); i++) {
		smash(smash_fp, wrong_fp[i]);
		assert_int_equal(damaged->cnt, 3);
		assert_int_equal(damaged->frames[2], remark(SL_REMARK_BROKEN));
	}
	/* Where an outermost frame is made by hand, its return address is 0. */
	smash(smash_return, 0);
	assert_int_equal(damaged->cnt, 2);
	free(heap);
}

static uint64_t random_state;
static uint64_t random_number(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static uint64_t junk(uint64_t near)
{
	switch (random_number() % 5) {
	case 0:
		return random_number();
	case 1:
		return near + random_number() % 4096 - 1024;
	case 2:
		return (near + random_number() % 65536) & ~UINT64_C(7);
	case 3:
		return (uint64_t)case_recursion + random_number() % 4096;
	default:
		return (uint64_t)qsort + random_number() % 65536;
	}
}

/* In a child: anything may be on the stack above. */
__attribute__((noinline)) static void spoil(uint64_t seed)
{
	volatile uint64_t *words = (volatile uint64_t *)__builtin_frame_address(0) + 1;

	random_state = seed * 0x9e3779b97f4a7c15 + 1;
	for (unsigned n = 1 + (unsigned)(random_number() % 40); n; n--)
		words[random_number() % 160] = junk((uint64_t)words);
	report();
}

static uint64_t spoil_seed;
static void spoil_probe(void)
{
	spoil(spoil_seed);
}

static void random_words_on_the_stack_do_no_harm(void **state)
{
	(void)state;
	share_damaged();
	for (spoil_seed = 1; spoil_seed < 300; spoil_seed++) {
		int status;
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0) {
			truth.cnt = 0;
			truth.probe = spoil_probe;
			(spoil_seed % 2 ? case_aligned : case_many_registers)(4);
			_exit(1);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_of_c_functions_are_right),
		cmocka_unit_test(stacks_of_cxx_functions_are_right),
		cmocka_unit_test(stacks_go_through_libraries),
		cmocka_unit_test(stacks_are_as_deep_as_asked),
		cmocka_unit_test(stacks_go_through_a_signal),
		cmocka_unit_test(stacks_go_on_from_a_stack_for_signals),
		cmocka_unit_test(stacks_go_on_from_the_vdso),
		cmocka_unit_test(stacks_of_a_coroutine_end_with_it),
		cmocka_unit_test(threads_with_small_stacks_have_stacks),
		cmocka_unit_test(many_threads_have_stacks_at_once),
#if defined(__x86_64__)
		cmocka_unit_test(registers_that_are_not_followed_at_first),
		cmocka_unit_test(code_without_a_table),
		cmocka_unit_test(damaged_stacks_end_with_a_remark),
		cmocka_unit_test(random_words_on_the_stack_do_no_harm),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

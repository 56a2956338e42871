/*
 * seccomp.c - what a seccomp filter would do with a system call, by the shim's reading of it and by the kernel's: random
 * filters that answer with a number which they compute. And the number of a thread that asks no kernel.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/core/seccomp.c" /* NOLINT(bugprone-suspicious-include) */

#include <cmocka.h>

/* ---- in place of the rest of the tracer ---- */

struct sl_global sl_global;
__thread struct sl_tls sl_tls;
static unsigned left;

void *sl_object_next(const char *name)
{
	assert_string_equal(name, "pthread_getcpuclockid");
	return (void *)(uintptr_t)pthread_getcpuclockid;
}

void sl_arena_map_rest(void) {}

bool sl_unwind_prepare(void)
{
	return true;
}

bool sl_pystack_prepare(void)
{
	return true;
}

void sl_env_untrace(void)
{
	left++;
}

/* ---- filters ---- */

#define STEPS 24
#define TRIES 150

static unsigned pick(unsigned *seed, unsigned of)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 16) % of;
}

static struct sock_filter ins(unsigned code, unsigned jt, unsigned jf, uint32_t k)
{
	return (struct sock_filter){(uint16_t)code, (uint8_t)jt, (uint8_t)jf, k};
}

/* One that changes A, X or a cell of memory, or jumps over what follows, but not beyond @left instructions. */
static struct sock_filter random_step(unsigned *seed, unsigned left_over)
{
	static const unsigned ops[] = {BPF_ADD, BPF_SUB, BPF_MUL, BPF_OR, BPF_AND, BPF_XOR},
			      tests[] = {BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET};
	uint32_t k = pick(seed, 2) ? pick(seed, 256) : pick(seed, 65536) * 65537u;
	unsigned source = pick(seed, 2) ? BPF_X : BPF_K;

	switch (pick(seed, 12)) {
	case 0:
		return ins(BPF_LD | BPF_IMM, 0, 0, k);
	case 1:
		return ins(BPF_LDX | BPF_IMM, 0, 0, k);
	case 2:
		return ins(BPF_MISC | BPF_TAX, 0, 0, 0);
	case 3:
		return ins(BPF_MISC | BPF_TXA, 0, 0, 0);
	case 4:
		return ins(pick(seed, 2) ? BPF_ST : BPF_STX, 0, 0, pick(seed, 4));
	case 5:
		return ins((pick(seed, 2) ? BPF_LD : BPF_LDX) | BPF_MEM, 0, 0, pick(seed, 4));
	case 6:
		return ins(BPF_LD | BPF_W | BPF_ABS, 0, 0, pick(seed, 2) ? 4 : 0);
	case 7:
		return ins(BPF_ALU | (pick(seed, 2) ? BPF_LSH : BPF_RSH) | BPF_K, 0, 0,
			   pick(seed, 32));
	case 8:
		return pick(seed, 2) ? ins(BPF_ALU | BPF_NEG, 0, 0, 0)
				     : ins(BPF_ALU | BPF_DIV | BPF_K, 0, 0, k | 1);
	case 9:
		return ins(BPF_JMP | tests[pick(seed, 4)] | source, pick(seed, left_over),
			   pick(seed, left_over), k);
	case 10:
		return pick(seed, 2) ? ins(BPF_JMP | BPF_JA, 0, 0, pick(seed, left_over))
				     : ins(BPF_LDX | BPF_W | BPF_LEN, 0, 0, 0);
	default:
		return ins(BPF_ALU | ops[pick(seed, 6)] | source, 0, 0, k);
	}
}

/* Answers getppid() with an error of 0 to 255, all else with what is asked for. */
static unsigned random_filter(struct sock_filter *f, unsigned seed)
{
	unsigned n = 0;

	f[n++] = ins(BPF_LD | BPF_W | BPF_ABS, 0, 0, 0);
	f[n++] = ins(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SYS_getppid);
	f[n++] = ins(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
	for (uint32_t i = 0; i < 4; i++) /* what is loaded must have been stored */
		f[n++] = ins(BPF_ST, 0, 0, i);
	for (unsigned i = 0; i < STEPS; i++)
		f[n++] = random_step(&seed, STEPS - i);
	f[n++] = ins(BPF_ALU | BPF_AND | BPF_K, 0, 0, 255);
	f[n++] = ins(BPF_ALU | BPF_OR | BPF_K, 0, 0, SECCOMP_RET_ERRNO);
	f[n++] = ins(BPF_RET | BPF_A, 0, 0, 0);
	return n;
}

/* What the kernel answers; -1: it takes no filters here. */
static int asked(struct sock_filter *f, unsigned cnt)
{
	const struct sock_fprog p = {(unsigned short)cnt, f};
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
			_exit(1);
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p))
			abort();
		errno = 0;
		_exit(syscall(SYS_getppid) == -1 ? errno : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void filters_are_read_as_the_kernel_does(void **state)
{
	struct sock_filter f[STEPS + 16];
	unsigned seen[256] = {0}, different = 0;

	(void)state;
	for (unsigned seed = 1; seed <= TRIES; seed++) {
		unsigned cnt = random_filter(f, seed);
		int answer = asked(f, cnt);

		if (answer < 0 && seed == 1)
			skip();
		different += !seen[answer & 255]++;
		assert_int_equal(verdict(f, cnt, SYS_getppid), SECCOMP_RET_ERRNO | answer);
		assert_int_equal(verdict(f, cnt, SYS_read), SECCOMP_RET_ALLOW);
	}
	assert_true(different > 20); /* it is no test where all answer the same */
}

static void who_looks_at_arguments_is_not_trusted(void **state)
{
	const struct sock_filter arguments[] =
		{
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		},
				 by_nothing[] =
					 {
						 BPF_STMT(BPF_LDX | BPF_IMM, 0),
						 BPF_STMT(BPF_ALU | BPF_DIV | BPF_X, 0),
						 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
					 },
				 endless[] =
					 {
						 BPF_STMT(BPF_LD | BPF_IMM, 0),
					 },
				 backwards[] = {
					 BPF_STMT(BPF_JMP | BPF_JA, UINT32_MAX),
					 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
				 };

	(void)state;
	assert_int_equal(verdict(arguments, 2, SYS_read), UNKNOWN);
	assert_int_equal(verdict(by_nothing, 3, SYS_read), UNKNOWN);
	assert_int_equal(verdict(endless, 1, SYS_read), UNKNOWN);
	assert_int_equal(verdict(endless, 0, SYS_read), UNKNOWN);
	assert_int_equal(verdict(backwards, 2, SYS_read), UNKNOWN);
}

/* What it is after a filter was taken, and after it was refused. */
static uint32_t restricted_by(const void *filter, bool failed, unsigned leaves)
{
	uint32_t before;

	sl_global.seccomp = left = 0;
	before = sl_seccomp_before(SECCOMP_MODE_FILTER, filter);
	assert_int_not_equal(sl_global.seccomp, SL_SECCOMP_NONE);
	sl_seccomp_after(before, failed);
	assert_int_equal(left, leaves);
	return sl_global.seccomp;
}

static void the_worst_is_expected_of_what_cannot_be_read(void **state)
{
	struct sock_filter one = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog p = {1, &one};

	(void)state;
	assert_int_equal(restricted_by(&p, false, 0), SL_SECCOMP_FILTER);
	assert_int_equal(restricted_by(&p, true, 0), SL_SECCOMP_NONE);
	one.k = SECCOMP_RET_ERRNO | EPERM;
	assert_int_equal(restricted_by(&p, false, 0), SL_SECCOMP_FILTER);
	one.k = SECCOMP_RET_TRAP;
	assert_int_equal(restricted_by(&p, false, 1), SL_SECCOMP_KILLS_GETPID);
	one.k = SECCOMP_RET_KILL_THREAD;
	assert_int_equal(restricted_by(&p, false, 1), SL_SECCOMP_KILLS_GETPID);
	assert_int_equal(restricted_by(&p, true, 0), SL_SECCOMP_NONE);
	assert_int_equal(restricted_by(NULL, false, 1), SL_SECCOMP_KILLS_GETPID);
	p.filter = (struct sock_filter *)8;
	assert_int_equal(restricted_by(&p, false, 1), SL_SECCOMP_KILLS_GETPID);
	p = (struct sock_fprog){BPF_MAXINSNS + 1, &one};
	assert_int_equal(restricted_by(&p, false, 1), SL_SECCOMP_KILLS_GETPID);
}

/* One that kills for a system call; what was there before, and is then. */
static void filters_add_up(void **state)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_reboot, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog p = {4, f};
	static const struct {
		uint32_t nr, is;
	} then[] = {{SYS_reboot, SL_SECCOMP_FILTER},
		    {SYS_reboot, SL_SECCOMP_FILTER},
		    {SYS_socket, SL_SECCOMP_KILLS_START},
		    /* Which must not be looked at. */
		    {SYS_reboot, SL_SECCOMP_KILLS_GETPID},
		    {SYS_reboot, SL_SECCOMP_KILLS_GETPID}};

	(void)state;
	sl_global.seccomp = left = 0;
	for (size_t i = 0; i < sizeof(then) / sizeof(then[0]); i++) {
		f[1].k = then[i].nr;
		sl_seccomp_after(sl_seccomp_before(SECCOMP_MODE_FILTER, &p), false);
		assert_int_equal(sl_global.seccomp, then[i].is);
		assert_int_equal(sl_seccomp_kills_start(), i > 1);
		assert_int_equal(sl_seccomp_kills_getpid(), i > 2);
	}
	assert_int_equal(left, 1);
	f[1].k = SYS_getpid;
	sl_global.seccomp = SL_SECCOMP_NONE;
	sl_seccomp_after(sl_seccomp_before(SECCOMP_MODE_FILTER, &p), false);
	assert_int_equal(sl_global.seccomp, SL_SECCOMP_KILLS_GETPID);
	sl_global.seccomp = SL_SECCOMP_NONE;
	sl_seccomp_after(sl_seccomp_before(SECCOMP_MODE_STRICT, NULL), false);
	assert_int_equal(sl_global.seccomp, SL_SECCOMP_KILLS_GETPID);
	sl_global.seccomp = SL_SECCOMP_NONE;
}

/* One of vfork's child is not its parent's. */
static void a_child_that_shares_memory_is_another_process(void **state)
{
	struct sock_filter one = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
	const struct sock_fprog p = {1, &one};

	(void)state;
	sl_global.seccomp = left = 0;
	sl_tls.cookie = SL_COOKIE_VFORK;
	sl_tls.vfork_pid = (uint32_t)getpid() + 1;
	sl_seccomp_after(sl_seccomp_before(SECCOMP_MODE_FILTER, &p), true);
	assert_false(sl_seccomp_kills_start());
	sl_seccomp_after(sl_seccomp_before(SECCOMP_MODE_FILTER, &p), false);
	assert_true(sl_seccomp_kills_start() && sl_seccomp_kills_getpid());
	assert_int_equal(sl_global.seccomp, SL_SECCOMP_NONE);
	assert_int_equal(left, 0);
	sl_tls.vfork_seccomp = SL_SECCOMP_NONE;
	sl_tls.vfork_pid = (uint32_t)getpid();
	sl_seccomp_after(sl_seccomp_before(SECCOMP_MODE_FILTER, &p), false);
	assert_int_equal(sl_global.seccomp, SL_SECCOMP_KILLS_GETPID);
	sl_tls.cookie = 0;
	sl_global.seccomp = SL_SECCOMP_NONE;
}

static void *compare_tids(void *of)
{
	(void)of;
	assert_int_equal(sl_own_tid(), gettid());
	return NULL;
}

static void threads_have_their_numbers(void **state)
{
	pthread_t t;
	pid_t pid;
	int status;

	(void)state;
	sl_seccomp_start();
	for (uint32_t how = SL_SECCOMP_NONE; how <= SL_SECCOMP_KILLS_START; how++) {
		sl_global.seccomp = how;
		compare_tids(NULL);
		assert_int_equal(pthread_create(&t, NULL, compare_tids, NULL), 0);
		assert_int_equal(pthread_join(t, NULL), 0);
		pid = fork();
		if (pid == 0)
			_exit(sl_forked_pid() != (uint32_t)getpid());
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filters_are_read_as_the_kernel_does),
		cmocka_unit_test(who_looks_at_arguments_is_not_trusted),
		cmocka_unit_test(the_worst_is_expected_of_what_cannot_be_read),
		cmocka_unit_test(filters_add_up),
		cmocka_unit_test(a_child_that_shares_memory_is_another_process),
		cmocka_unit_test(threads_have_their_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

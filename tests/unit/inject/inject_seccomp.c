/* inject_seccomp.c - which filters of a process forbid what a library does that is brought into it, on filters made by hand and of a live child. */
#include "collector/inject/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#ifdef __x86_64__

#define LOAD(what)       BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, what))
#define RETURN(what)     BPF_STMT(BPF_RET | BPF_K, what)
#define EQUAL(k, t, f)   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, k, t, f)
#define HAS_BIT(k, t, f) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, k, t, f)

/* The answer of a filter that gives @action to call @nr, and allows all others. */
static const char *with(int nr, uint32_t action)
{
	const struct sock_filter f[] = {
		LOAD(arch),
		EQUAL(AUDIT_ARCH_X86_64, 1, 0),
		RETURN(SECCOMP_RET_KILL_PROCESS),
		LOAD(nr),
		EQUAL((uint32_t)nr, 0, 1),
		RETURN(action),
		RETURN(SECCOMP_RET_ALLOW),
	};

	return seccomp_forbids(f, sizeof(f) / sizeof(*f));
}

static void all_is_allowed(void **state)
{
	const struct sock_filter f[] = {RETURN(SECCOMP_RET_ALLOW)};

	(void)state;
	assert_null(seccomp_forbids(f, 1));
	assert_null(with(SYS_reboot, SECCOMP_RET_KILL_PROCESS));
	assert_null(with(SYS_openat, SECCOMP_RET_LOG));
}

static void calls_that_are_needed_have_to_be_allowed(void **state)
{
	static const struct {
		int nr;
		const char *name;
	} needed[] = {
		{SYS_openat, "openat"}, {SYS_mmap, "mmap"},   {SYS_mprotect, "mprotect"},
		{SYS_close, "close"},   {SYS_fstat, "fstat"}, {SYS_pread64, "pread64"},
		{SYS_futex, "futex"},   {SYS_clone, "clone"}, {SYS_memfd_create, "memfd_create"},
		{SYS_ppoll, "ppoll"},   {SYS_exit, "exit"},   {SYS_rt_sigreturn, "rt_sigreturn"},
		{SYS_socket, "socket"},
	};
	static const uint32_t actions[] = {SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_KILL_THREAD,
					   SECCOMP_RET_TRAP,         SECCOMP_RET_TRACE,
					   SECCOMP_RET_USER_NOTIF,   SECCOMP_RET_ERRNO | EPERM};

	(void)state;
	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		for (size_t k = 0; k < sizeof(actions) / sizeof(*actions); k++)
			assert_string_equal(with(needed[i].nr, actions[k]), needed[i].name);
}

static void calls_with_another_way_may_fail_but_not_kill(void **state)
{
	static const int calls[] = {SYS_clone3, SYS_rseq, SYS_process_vm_readv, SYS_prlimit64,
				    SYS_mremap};

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		assert_null(with(calls[i], SECCOMP_RET_ERRNO | ENOSYS));
		assert_non_null(with(calls[i], SECCOMP_RET_KILL_PROCESS));
		assert_non_null(with(calls[i], SECCOMP_RET_TRAP));
		assert_non_null(with(calls[i], SECCOMP_RET_USER_NOTIF));
	}
}

static void arguments_that_are_known_decide(void **state)
{
	/* As containers have it: no new namespaces. */
	struct sock_filter f[] = {
		LOAD(nr),
		EQUAL(SYS_clone, 0, 3),
		LOAD(args[0]),
		HAS_BIT(0x7e020000, 0, 1),
		RETURN(SECCOMP_RET_ERRNO | EPERM),
		RETURN(SECCOMP_RET_ALLOW),
	};
	struct sock_filter families[] = {
		LOAD(nr),
		EQUAL(SYS_socket, 0, 3),
		LOAD(args[0]),
		EQUAL(AF_UNIX, 1, 0),
		RETURN(SECCOMP_RET_ERRNO | EPERM),
		RETURN(SECCOMP_RET_ALLOW),
	};
	struct sock_filter executable[] = {
		LOAD(nr),
		EQUAL(SYS_mmap, 0, 3),
		LOAD(args[2]),
		HAS_BIT(PROT_EXEC, 0, 1),
		RETURN(SECCOMP_RET_ERRNO | EPERM),
		RETURN(SECCOMP_RET_ALLOW),
	};

	(void)state;
	assert_null(seccomp_forbids(f, 6));
	f[3].k = CLONE_THREAD;
	assert_string_equal(seccomp_forbids(f, 6), "clone");
	assert_null(seccomp_forbids(families, 6));
	families[3].k = AF_INET;
	assert_string_equal(seccomp_forbids(families, 6), "socket");
	assert_string_equal(seccomp_forbids(executable, 6), "mmap");
	/* Write and execute at once. */
	executable[3] = (struct sock_filter)HAS_BIT(0x100, 0, 1);
	assert_null(seccomp_forbids(executable, 6));
	/* The high half is 0. */
	f[2].k += 4;
	assert_null(seccomp_forbids(f, 6));
}

static void arguments_that_are_not_known_are_taken_for_the_worst(void **state)
{
	const struct sock_filter f[] = {
		LOAD(nr),
		EQUAL(SYS_openat, 0, 3),
		LOAD(args[2]),
		EQUAL(O_RDONLY, 0, 1),
		RETURN(SECCOMP_RET_ALLOW),
		RETURN(SECCOMP_RET_ALLOW),
	};

	(void)state;
	assert_string_equal(seccomp_forbids(f, 6), "openat");
}

static void programs_that_are_none_forbid_all(void **state)
{
	const struct sock_filter jump[] = {BPF_STMT(BPF_JMP | BPF_JA, UINT32_MAX),
					   RETURN(SECCOMP_RET_ALLOW)},
				 pointer[] = {LOAD(instruction_pointer), RETURN(SECCOMP_RET_ALLOW)};

	(void)state;
	assert_non_null(seccomp_forbids(jump, 0));
	assert_non_null(seccomp_forbids(jump, 2));
	assert_non_null(seccomp_forbids(pointer, 2));
}

/* ---- of a live child ---- */

static void install(int nr, unsigned flags)
{
	struct sock_filter f[] = {
		LOAD(nr),
		EQUAL((uint32_t)nr, 0, 1),
		RETURN(SECCOMP_RET_ERRNO | EPERM),
		RETURN(SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog p = {4, f};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_seccomp, 1, flags, &p))
		_exit(2);
}

static void *wait_for_ever(void *none)
{
	pause();
	return none;
}

/* A child with two filters, stopped; the first one forbids @nr, the second, of its first thread alone, nothing that is needed. */
static pid_t begin_child(int nr, bool differs)
{
	pthread_t thread;
	pid_t pid = fork();
	int status;

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		install(nr, 0);
		if (differs && pthread_create(&thread, NULL, wait_for_ever, NULL))
			_exit(2);
		install(SYS_reboot, 0);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status));
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void filters_of_a_stopped_thread_are_read(void **state)
{
	char why[512] = "";
	pid_t pid;

	(void)state;
	if (!seccomp_can_be_read())
		skip();
	pid = begin_child(SYS_acct, false);
	assert_int_equal(seccomp_look(pid, pid, why, sizeof(why)), 0);
	assert_true(seccomp_is_the_same(pid));
	end_child(pid);
	pid = begin_child(SYS_memfd_create, false);
	assert_int_equal(seccomp_look(pid, pid, why, sizeof(why)), -ENOTSUP);
	assert_non_null(strstr(why, "forbids memfd_create"));
	end_child(pid);
}

static void threads_with_other_filters_are_seen(void **state)
{
	pid_t pid;

	(void)state;
	pid = begin_child(SYS_acct, true);
	assert_false(seccomp_is_the_same(pid));
	end_child(pid);
}

static void a_thread_that_is_not_stopped_cannot_be_read(void **state)
{
	char why[512] = "";

	(void)state;
	assert_int_equal(seccomp_look(getpid(), getpid(), why, sizeof(why)), -ENOTSUP);
	assert_non_null(strstr(why, "cannot be read"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_is_allowed),
		cmocka_unit_test(calls_that_are_needed_have_to_be_allowed),
		cmocka_unit_test(calls_with_another_way_may_fail_but_not_kill),
		cmocka_unit_test(arguments_that_are_known_decide),
		cmocka_unit_test(arguments_that_are_not_known_are_taken_for_the_worst),
		cmocka_unit_test(programs_that_are_none_forbid_all),
		cmocka_unit_test(filters_of_a_stopped_thread_are_read),
		cmocka_unit_test(threads_with_other_filters_are_seen),
		cmocka_unit_test(a_thread_that_is_not_stopped_cannot_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	return 0;
}

#endif

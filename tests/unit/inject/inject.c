/*
 * inject.c - calls on stopped threads of another process: it goes on as if nothing had been, also where the tracer dies between two
 * steps. The process is tests/prog/entered, or a child of this program that waits in a system call.
 */
#include "collector/inject/call.h"
#include "collector/inject/inject.h"
#include "collector/inject/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "collector/base/now.h"

#define LONG_NS 20000000000ll /* on a busy machine, too */

static char library[4096]; /* any file that the process sees */

#ifdef __x86_64__

/* ---- a child that waits ---- */

/* Where it waits. */
enum wait {
	WAIT_SLEEP,
	WAIT_POLL,
	WAIT_EPOLL,
	WAIT_READ,
	WAIT_CONDITION,
	WAIT_CNT
};

static int wait_at[2]; /* a pipe, on which a byte ends the waits but the sleep */

/* 0: it ended as it should. */
static int wait_once(enum wait how)
{
	const struct timespec second = {1, 0};
	struct timespec left = {0, 0};
	struct pollfd p = {wait_at[0], POLLIN, 0};
	struct epoll_event e = {.events = EPOLLIN};
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
	struct timespec until;
	int64_t begun = mono_ns();
	char byte;
	int fd;

	switch (how) {
	case WAIT_SLEEP:
		/* Neither cut, nor much longer than it should be. */
		return nanosleep(&second, &left) || mono_ns() - begun < 1000000000ll;
	case WAIT_POLL:
		return poll(&p, 1, 20000) != 1;
	case WAIT_EPOLL:
		fd = epoll_create1(0);
		return epoll_ctl(fd, EPOLL_CTL_ADD, wait_at[0], &e) ||
		       epoll_wait(fd, &e, 1, 20000) != 1;
	case WAIT_READ:
		return read(wait_at[0], &byte, 1) != 1;
	default:
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec++;
		pthread_mutex_lock(&lock);
		return pthread_cond_timedwait(&never, &lock, &until) != ETIMEDOUT;
	}
}

static bool waits(pid_t pid)
{
	return thread_choose(pid, THREAD_REPEATS, NULL, 0) == pid;
}

static pid_t start_child(enum wait how)
{
	pid_t pid;

	assert_int_equal(pipe(wait_at), 0);
	fflush(NULL);
	pid = fork();
	if (!pid) {
		volatile double x = 1.5, y = x * 3;

		_exit(wait_once(how) || x * 3 != y ? 1 : 42);
	}
	for (int i = 0; i < 20000 && !waits(pid); i++)
		usleep(1000);
	return pid;
}

static void end_child(pid_t pid)
{
	int status;

	assert_int_equal(write(wait_at[1], "x", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 42);
	close(wait_at[0]);
	close(wait_at[1]);
}

static void look(struct subject *t, pid_t pid)
{
	char why[512] = "";

	if (subject_look(t, pid, library, NULL, why, sizeof(why)))
		fail_msg("%s", why);
}

static const uint64_t map_a_page[6] = {
	0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, UINT64_MAX, 0};

/* ---- tests ---- */

static void a_call_changes_nothing_for_the_thread(void **state)
{
	(void)state;
	for (unsigned how = 0; how < WAIT_CNT; how++) {
		pid_t pid = start_child((enum wait)how);
		const char *why = "";
		struct subject t;
		struct call c;
		int64_t at[2] = {0, 0};
		uint64_t word = 0x1234, back = 0;

		look(&t, pid);
		assert_int_equal(call_begin(&c, &t, pid, LONG_NS, &why), CALL_DONE);
		for (int i = 0; i < 2; i++)
			assert_int_equal(call_run(&c, t.function[SUBJECT_MMAP], map_a_page, &at[i]),
					 CALL_DONE);
		assert_int_equal(call_end(&c), CALL_DONE);
		assert_true(at[0] > 4096 && at[1] > 4096 && at[0] != at[1]);
		assert_true(subject_write(pid, (uint64_t)at[0], &word, sizeof(word)));
		assert_true(subject_read(pid, (uint64_t)at[0], &back, sizeof(back)));
		assert_true(back == word);
		subject_free(&t);
		end_child(pid);
	}
}

/* Kills itself after @steps steps, as a collector may be killed. */
static void be_tracer(pid_t pid, int steps)
{
	const char *why;
	struct subject t;
	struct call c;
	int64_t at;

	look(&t, pid);
	if (call_begin(&c, &t, pid, LONG_NS, &why) != CALL_DONE)
		_exit(1);
	for (int i = 0; i < steps; i++)
		if (call_run(&c, t.function[SUBJECT_MMAP], map_a_page, &at) != CALL_DONE)
			_exit(2);
	/* In the middle of a call. */
	if (steps > 2) {
		struct user_regs_struct r = c.saved;

		r.rip = t.function[SUBJECT_MMAP];
		r.rdi = 0;
		r.rsi = 4096;
		r.rdx = PROT_READ;
		r.rcx = MAP_PRIVATE | MAP_ANONYMOUS;
		r.r8 = UINT64_MAX;
		r.r9 = 0;
		r.orig_rax = UINT64_MAX;
		r.rsp = c.frame;
		ptrace(PTRACE_SETREGS, pid, NULL, &r);
	}
	raise(SIGKILL);
}

static void a_thread_whose_tracer_is_killed_puts_itself_back(void **state)
{
	(void)state;
	for (unsigned how = 0; how < WAIT_CNT; how++)
		for (int steps = 0; steps < 4; steps++) {
			pid_t pid = start_child((enum wait)how), tracer;
			int status;

			fflush(NULL);
			tracer = fork();
			if (!tracer)
				be_tracer(pid, steps);
			assert_int_equal(waitpid(tracer, &status, 0), tracer);
			assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
			end_child(pid);
		}
}

static void a_function_that_faults_is_called_off(void **state)
{
	pid_t pid = start_child(WAIT_POLL);
	const char *why = "";
	struct subject t;
	struct call c;
	int64_t at;

	(void)state;
	look(&t, pid);
	assert_int_equal(call_begin(&c, &t, pid, LONG_NS, &why), CALL_DONE);
	assert_int_equal(call_run(&c, 16, map_a_page, &at), CALL_FAULT);
	subject_free(&t);
	end_child(pid);
}

static void threads_in_locks_memory_and_files_are_left_alone(void **state)
{
	const uint64_t none[6] = {0}, condition[6] = {0, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG},
		       lock[6] = {0, FUTEX_WAIT | FUTEX_PRIVATE_FLAG};
	pid_t self = getpid();

	(void)state;
	assert_int_equal(thread_rank_of(self, -1, none), THREAD_RUNS);
	assert_int_equal(thread_rank_of(self, SYS_poll, none), THREAD_CONTINUES);
	assert_int_equal(thread_rank_of(self, SYS_epoll_wait, none), THREAD_REPEATS);
	assert_int_equal(thread_rank_of(self, SYS_futex, condition), THREAD_CONTINUES);
	assert_int_equal(thread_rank_of(self, SYS_restart_syscall, none), THREAD_CONTINUES);
	assert_int_equal(thread_rank_of(self, SYS_futex, lock), THREAD_NEVER);
	assert_int_equal(thread_rank_of(self, SYS_mmap, none), THREAD_NEVER);
	assert_int_equal(thread_rank_of(self, SYS_openat, none), THREAD_NEVER);
	assert_int_equal(thread_rank_of(self, SYS_connect, none), THREAD_NEVER);
}

static void sleeps_are_told_by_their_length_and_reads_by_their_file(void **state)
{
	struct timespec brief = {0, 1000000}, full = {0, 100000000};
	const uint64_t spins[6] = {(uintptr_t)&brief}, sleeps[6] = {(uintptr_t)&full};
	int file = open("/proc/self/stat", O_RDONLY), p[2];
	uint64_t reads[6] = {0};
	pid_t self = getpid();
	char fifo[300];

	(void)state;
	assert_int_equal(thread_rank_of(self, SYS_nanosleep, spins), THREAD_NEVER);
	assert_int_equal(thread_rank_of(self, SYS_nanosleep, sleeps), THREAD_CONTINUES);
	assert_int_equal(pipe(p), 0);
	reads[0] = (uint64_t)p[0];
	assert_int_equal(thread_rank_of(self, SYS_read, reads), THREAD_CONTINUES);
	reads[0] = (uint64_t)file;
	assert_int_equal(thread_rank_of(self, SYS_read, reads), THREAD_NEVER);
	close(file);
	/* A pipe that has a name. */
	snprintf(fifo, sizeof(fifo), "%s/fifo.XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	close(mkstemp(fifo));
	unlink(fifo);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	file = open(fifo, O_RDWR);
	assert_true(file >= 0);
	unlink(fifo);
	reads[0] = (uint64_t)file;
	assert_int_equal(thread_rank_of(self, SYS_read, reads), THREAD_CONTINUES);
	close(file);
	close(p[0]);
	close(p[1]);
}

static void on_signal(int sig)
{
	(void)sig;
	poll(NULL, 0, 20000);
}

/* A handler may have interrupted anything. */
static void a_thread_in_a_handler_is_left_alone(void **state)
{
	const char *why = "";
	struct subject t;
	struct call c;
	pid_t pid;

	(void)state;
	fflush(NULL);
	pid = fork();
	if (!pid) {
		signal(SIGUSR1, on_signal);
		raise(SIGUSR1);
		_exit(0);
	}
	for (int i = 0; i < 20000 && !waits(pid); i++)
		usleep(1000);
	look(&t, pid);
	assert_int_equal(call_begin(&c, &t, pid, LONG_NS, &why), CALL_NOT_SAFE);
	assert_non_null(strstr(why, "handlers"));
	subject_free(&t);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* A second visit finds the call that the first one has interrupted, under its own number or as the kernel continues it. */
static void a_thread_is_taken_a_second_time_in_the_same_wait(void **state)
{
	(void)state;
	for (unsigned how = 0; how < WAIT_CNT; how++) {
		pid_t pid = start_child((enum wait)how);
		const char *why = "";
		struct subject t;
		struct call c;
		int64_t at;

		look(&t, pid);
		for (int i = 0; i < 2; i++) {
			for (int k = 0; k < 20000 && !waits(pid); k++)
				usleep(1000);
			assert_int_equal(call_begin(&c, &t, pid, LONG_NS, &why), CALL_DONE);
			assert_int_equal(call_run(&c, t.function[SUBJECT_MMAP], map_a_page, &at),
					 CALL_DONE);
			assert_int_equal(call_end(&c), CALL_DONE);
		}
		subject_free(&t);
		end_child(pid);
	}
}

static void functions_are_found_where_the_program_has_them(void **state)
{
	struct subject t;
	pid_t pid = start_child(WAIT_READ);

	(void)state;
	/* A child of this program has its functions at the same addresses. */
	look(&t, pid);
	assert_true(t.function[SUBJECT_MMAP] == (uintptr_t)&mmap);
	assert_true(t.function[SUBJECT_MUNMAP] == (uintptr_t)&munmap);
	assert_true(t.function[SUBJECT_CREATE] == (uintptr_t)&pthread_create);
	assert_true(subject_mapping_of(&t, t.restorer)->rights[2] == 'x');
	assert_null(subject_mapping_of(&t, 1));
	subject_free(&t);
	end_child(pid);
}

#endif

static void gates_of_sessions_grow(void **state)
{
	uint32_t first = inject_first_gate();

	(void)state;
	assert_int_equal(first & 1, 0);
	usleep(20000);
	assert_true(inject_first_gate() > first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef __x86_64__
		cmocka_unit_test(a_call_changes_nothing_for_the_thread),
		cmocka_unit_test(a_thread_is_taken_a_second_time_in_the_same_wait),
		cmocka_unit_test(a_thread_whose_tracer_is_killed_puts_itself_back),
		cmocka_unit_test(a_function_that_faults_is_called_off),
		cmocka_unit_test(threads_in_locks_memory_and_files_are_left_alone),
		cmocka_unit_test(sleeps_are_told_by_their_length_and_reads_by_their_file),
		cmocka_unit_test(a_thread_in_a_handler_is_left_alone),
		cmocka_unit_test(functions_are_found_where_the_program_has_them),
#endif
		cmocka_unit_test(gates_of_sessions_grow),
	};

	if (readlink("/proc/self/exe", library, sizeof(library) - 1) <= 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * thread.c - where a thread may be interrupted.
 *
 * The call that is put onto a thread starts another thread (pthread_create()), which takes locks of allocator and loader; a thread
 * that holds them would wait for itself. Allocators and loaders wait in a few system calls: mmap, munmap, brk, madvise, mprotect,
 * futex for a lock, open, read, nanosleep of some spinlocks. A thread that waits in any other one, for a peer, a timer or a
 * condition, is outside of both, unless a signal's handler waits, which a frame of the kernel on its stack shows. A running thread is
 * taken where its code is neither the C library's nor an allocator's, and no handler's.
 */
#include "collector/inject/thread.h"

#include <dirent.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "collector/base/proc.h"

#define STACK_LOOK (256u << 10) /* bytes of a stack that are searched for the frame of a signal */

/* ---- system calls ---- */

/* Only waits for conditions and timers (glibc's FUTEX_WAIT_BITSET); locks use the plain one. */
static bool is_condition(uint64_t operation)
{
	return (operation & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
}

/* Spinlocks of allocators sleep for two milliseconds at most. */
static bool is_long_sleep(pid_t pid, uint64_t at)
{
	struct timespec time = {0};

	return subject_read(pid, at, &time, sizeof(time)) &&
	       (time.tv_sec > 0 || time.tv_nsec > 5000000);
}

/* A pipe, socket or terminal, which no allocator reads. */
static bool is_stream(pid_t pid, uint64_t fd)
{
	char path[64], name[64];
	struct stat st;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%d/fd/%llu", proc_root(), (int)pid,
		 (unsigned long long)fd);
	if (stat(path, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
		return true;
	n = readlink(path, name, sizeof(name) - 1);
	name[n > 0 ? n : 0] = 0;
	return strncmp(name, "/dev/pts/", 9) == 0 || strncmp(name, "/dev/tty", 8) == 0;
}

enum thread_rank thread_rank_of(pid_t pid, int64_t nr, const uint64_t args[6])
{
	switch (nr) {
	case -1:
		return THREAD_RUNS;
#ifdef __x86_64__
	case SYS_poll:
	case SYS_select:
	case SYS_pause:
	case SYS_accept:
#endif
	case SYS_ppoll:
	case SYS_pselect6:
	case SYS_accept4:
	case SYS_wait4:
	case SYS_waitid:
	case SYS_rt_sigsuspend:
	case SYS_restart_syscall: /* of one with a time, which no lock has */
		return THREAD_CONTINUES;
	case SYS_read:
	case SYS_readv:
	case SYS_write:
	case SYS_writev:
		return is_stream(pid, args[0]) ? THREAD_CONTINUES : THREAD_NEVER;
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_sendto:
	case SYS_sendmsg:
		return THREAD_CONTINUES;
	case SYS_futex:
		return is_condition(args[1]) ? THREAD_CONTINUES : THREAD_NEVER;
#ifdef __x86_64__
	case SYS_nanosleep:
		return is_long_sleep(pid, args[0]) ? THREAD_CONTINUES : THREAD_NEVER;
	case SYS_epoll_wait:
#endif
	case SYS_epoll_pwait:
		return THREAD_REPEATS;
	case SYS_clock_nanosleep:
		/* With an absolute time, too, it is the time in the third argument. */
		return is_long_sleep(pid, args[2]) ? THREAD_CONTINUES : THREAD_NEVER;
	default:
		return THREAD_NEVER;
	}
}

/* ---- which thread ---- */

/* "running", or "NUMBER ARGUMENTS... SP PC"; -1 in place of the number: it waits for no system call. */
static enum thread_rank rank_of_thread(pid_t pid, pid_t tid)
{
	char path[64], text[512];
	unsigned long long a[6];
	uint64_t args[6];
	long long nr;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%d/task/%d/syscall", proc_root(), (int)pid, (int)tid);
	f = fopen(path, "re");
	if (!f)
		return THREAD_NEVER;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = 0;
	if (strncmp(text, "running", 7) == 0)
		return THREAD_RUNS;
	if (sscanf(text, "%lld %llx %llx %llx %llx %llx %llx", &nr, &a[0], &a[1], &a[2], &a[3],
		   &a[4], &a[5]) != 7)
		return THREAD_NEVER;
	for (unsigned i = 0; i < 6; i++)
		args[i] = a[i];
	return thread_rank_of(pid, nr, args);
}

static bool is_among(pid_t tid, const pid_t *tried, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (tried[i] == tid)
			return true;
	return false;
}

pid_t thread_choose(pid_t pid, enum thread_rank least, const pid_t *tried, size_t tried_cnt)
{
	enum thread_rank best = THREAD_NEVER, rank;
	const struct dirent *e;
	char path[64];
	pid_t tid, chosen = 0;
	DIR *d;

	snprintf(path, sizeof(path), "%s/%d/task", proc_root(), (int)pid);
	d = opendir(path);
	while (d && best < THREAD_CONTINUES && (e = readdir(d))) {
		tid = (pid_t)strtol(e->d_name, NULL, 10);
		if (tid <= 0 || is_among(tid, tried, tried_cnt))
			continue;
		rank = rank_of_thread(pid, tid);
		if (rank >= least && rank > best) {
			best = rank;
			chosen = tid;
		}
	}
	if (d)
		closedir(d);
	return chosen;
}

/* ---- where it has been stopped ---- */

/* The kernel's frame of a handler begins with the address that the handler returns to. */
static bool is_signal_frame(const struct subject *t, const uint64_t *words, size_t left)
{
	const size_t need = 1 + offsetof(ucontext_t, uc_sigmask) / sizeof(*words);
	const ucontext_t *u = (const ucontext_t *)(words + 1);
	const struct subject_mapping *m;

	if (words[0] != t->restorer || left < need || u->uc_flags > 15 || u->uc_link)
		return false;
#ifdef __x86_64__
	m = subject_mapping_of(t, (uint64_t)u->uc_mcontext.gregs[REG_RIP]);
#else
	m = NULL;
#endif
	return m && m->rights[2] == 'x';
}

static bool is_in_handler(const struct subject *t, uint64_t sp, uint64_t end)
{
	size_t bytes = (end - sp < STACK_LOOK ? end - sp : STACK_LOOK) & ~UINT64_C(7);
	uint64_t *words = malloc(bytes);
	bool is = true; /* if it cannot be read */

	if (words && subject_read(t->pid, sp, words, bytes)) {
		is = false;
		for (size_t i = 0; i < bytes / sizeof(*words) && !is; i++)
			is = is_signal_frame(t, words + i, bytes / sizeof(*words) - i);
	}
	free(words);
	return is;
}

/* On the stack that the thread was started with, where a call finds room: not on a coroutine's or a handler's. */
static bool has_stack(const struct thread_at *at, const struct subject_mapping *m)
{
	bool is_own = at->is_first ? m->kind == SUBJECT_STACK
				   : at->fs_base >= m->from && at->fs_base < m->to;

	return is_own && strncmp(m->rights, "rw", 2) == 0 && at->sp - m->from >= THREAD_STACK;
}

bool thread_is_safe(const struct subject *t, const struct thread_at *at, const char **why)
{
	const struct subject_mapping *code = subject_mapping_of(t, at->pc),
				     *stack = subject_mapping_of(t, at->sp);

	*why = "its threads have stacks of their own, or too little room on them";
	if (!code || !stack || !has_stack(at, stack))
		return false;
	*why = "its threads are in handlers of signals";
	if (is_in_handler(t, at->sp, stack->to))
		return false;
	*why = "its threads are in the allocator or the loader";
	if (at->nr >= 0)
		return thread_rank_of(t->pid, at->nr, at->args) >= THREAD_REPEATS;
	if (code->kind == SUBJECT_LIBC || code->kind == SUBJECT_LOADER ||
	    code->kind == SUBJECT_VDSO)
		return false;
	return !t->allocator_to || at->pc < t->allocator_from || at->pc >= t->allocator_to;
}

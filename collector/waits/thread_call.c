/* thread_call.c - reads /proc/PID/task/TID/{syscall,stat,status}. */
#include "collector/waits/thread_call.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collector/base/proc.h"

bool thread_read(char *line, size_t len, const char *name, uint32_t pid, uint32_t tid)
{
	char path[96];
	ssize_t got;
	int fd, err;

	snprintf(path, sizeof(path), "%s/%u/task/%u/%s", proc_root(), pid, tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = read(fd, line, len - 1);
	err = errno;
	close(fd);
	errno = err;
	line[got > 0 ? got : 0] = '\0';
	return got > 0;
}

static uint64_t number_after(const char *text, const char *key)
{
	const char *at = strstr(text, key);
	unsigned long long value = 0;

	return at && sscanf(at + strlen(key), "%llu", &value) == 1 ? value : 0;
}

void thread_call_parse(struct thread_call *c, const char *text)
{
	c->sp = c->pc = 0;
	if (sscanf(text, "%ld %llx %llx %llx %*x %*x %*x %llx %llx", &c->number, &c->args[0],
		   &c->args[1], &c->args[2], &c->sp, &c->pc) == 6)
		return;
	memset(c->args, 0, sizeof(c->args));
	c->number = sscanf(text, "-1 %llx %llx", &c->sp, &c->pc) == 2 ? CALL_NONE : CALL_RUNS;
}

bool thread_call_read(struct thread_call *c)
{
	static const char state[] = "\nState:\t";
	char text[4096];
	const char *at;

	/* A name has no line breaks in this file: the kernel escapes them. */
	if (!thread_read(text, sizeof(text), "status", c->pid, c->tid) ||
	    !(at = strstr(text, state)))
		return false;
	c->state = at[sizeof(state) - 1];
	c->switches = number_after(at, "\nvoluntary_ctxt_switches:") +
		      number_after(at, "\nnonvoluntary_ctxt_switches:");
	if (c->state == 'Z' || c->state == 'X' ||
	    !thread_read(text, sizeof(text), "syscall", c->pid, c->tid))
		return false;
	thread_call_parse(c, text);
	if (c->state == 'T' || c->state == 't')
		c->number = CALL_STOPPED;
	return true;
}

bool thread_call_goes_on(const struct thread_call *c)
{
	struct thread_call now = {.pid = c->pid, .tid = c->tid};
	char text[4096];

	if (!thread_read(text, sizeof(text), "syscall", c->pid, c->tid))
		return false;
	thread_call_parse(&now, text);
	/* The file has the call in which a signal has stopped the thread. */
	if (c->number == CALL_STOPPED)
		return now.sp == c->sp && now.pc == c->pc;
	return thread_call_is_same(c, &now);
}

bool thread_call_is_same(const struct thread_call *a, const struct thread_call *b)
{
	return a->pid == b->pid && a->tid == b->tid && a->number == b->number &&
	       a->args[0] == b->args[0] && a->sp == b->sp && a->pc == b->pc;
}

static const struct {
	long number;
	bool reads;
} calls[] = {
	{SYS_read, true},     {SYS_write, false},     {SYS_readv, true},     {SYS_writev, false},
	{SYS_recvfrom, true}, {SYS_sendto, false},    {SYS_recvmsg, true},   {SYS_sendmsg, false},
	{SYS_accept, true},   {SYS_accept4, true},    {SYS_connect, false},  {SYS_flock, false},
	{SYS_fcntl, false},   {SYS_pread64, true},    {SYS_pwrite64, false}, {SYS_splice, true},
	{SYS_fsync, false},   {SYS_fdatasync, false},
};

/* The only file that a poll is for. */
static bool read_poll(const struct thread_call *c, struct pollfd *p)
{
	struct iovec here = {p, sizeof(*p)};
	struct iovec there = {(void *)(uintptr_t)c->args[0], sizeof(*p)};
	bool is_poll = c->number == SYS_ppoll;

#ifdef SYS_poll
	is_poll |= c->number == SYS_poll;
#endif
	return is_poll && c->args[1] == 1 &&
	       process_vm_readv((pid_t)c->pid, &here, 1, &there, 1, 0) == (ssize_t)sizeof(*p);
}

int64_t thread_call_descriptor(const struct thread_call *c)
{
	struct pollfd p;

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i].number == c->number)
			return (int64_t)(c->args[0] & INT32_MAX);
	return read_poll(c, &p) && p.fd >= 0 ? p.fd : -1;
}

bool thread_call_has_limit(const struct thread_call *c)
{
#ifdef SYS_poll
	if (c->number == SYS_poll)
		return (int32_t)c->args[2] >= 0;
#endif
	return c->number == SYS_ppoll && c->args[2];
}

bool thread_call_reads(const struct thread_call *c)
{
	struct pollfd p;

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i].number == c->number)
			return calls[i].reads;
	return read_poll(c, &p) && p.events & POLLIN;
}

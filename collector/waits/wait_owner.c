/* wait_owner.c - owners of locks of the C library, and of locks on files. */
#include "collector/waits/wait_owner.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define CONTENDED 2 /* of a mutex of glibc: others wait for it */
/* Words of a mutex of glibc: the lock itself, how often its owner has it, the owner, how many have it, the kind. */
enum {
	COUNT_WORD = 1,
	OWNER_WORD,
	USERS_WORD,
	KIND_WORD,
	MUTEX_WORDS
};
#define TID_MOST  (1u << 22)
#define KIND_MOST 3u    /* PTHREAD_MUTEX_ADAPTIVE_NP */
#define IS_SHARED 0x80u /* among processes: a bit of the kind */

/* A thread of the process; that of the call itself may have the lock that it waits for. */
static bool is_thread(const struct thread_call *c, uint32_t tid)
{
	char line[16];

	return tid && thread_read(line, sizeof(line), "stat", c->pid, tid);
}

/* The process of any thread; 0: it has ended. */
static uint32_t process_of(uint32_t tid)
{
	char text[1024];
	const char *at = NULL;
	unsigned pid = 0;

	if (thread_read(text, sizeof(text), "status", tid, tid))
		at = strstr(text, "\nTgid:");
	return at && sscanf(at, " Tgid: %u", &pid) == 1 ? pid : 0;
}

/*
 * The owner behind a mutex, which may have ended: it counts where the rest of the mutex is plausible. Behind other locks lies
 * something else.
 */
static bool is_mutex_owner(const struct thread_call *c, const uint32_t words[MUTEX_WORDS])
{
	return is_thread(c, words[OWNER_WORD]) ||
	       (words[OWNER_WORD] && words[OWNER_WORD] <= TID_MOST && !words[COUNT_WORD] &&
		words[USERS_WORD] == 1 && (words[KIND_WORD] & ~IS_SHARED) <= KIND_MOST);
}

uint32_t wait_owner_of_futex(const struct thread_call *c, bool *is_lock, uint32_t *process)
{
	uint32_t words[MUTEX_WORDS] = {0};
	struct iovec here = {words, sizeof(words)};
	struct iovec there = {(void *)(uintptr_t)c->args[0], sizeof(words)};
	unsigned op = (unsigned)c->args[1] & FUTEX_CMD_MASK;
	uint32_t value = (uint32_t)c->args[2];

	if (process_vm_readv((pid_t)c->pid, &here, 1, &there, 1, 0) != (ssize_t)sizeof(words))
		return 0;
	*is_lock = true;
	*process = c->pid;
	if (op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2)
		return words[0] & FUTEX_TID_MASK;
	if (op != FUTEX_WAIT && op != FUTEX_WAIT_BITSET)
		return 0;
	/* A robust mutex is its owner's number, with marks. */
	if (value & FUTEX_WAITERS && value == words[0])
		return value & FUTEX_TID_MASK;
	if (value == CONTENDED && words[0] == CONTENDED) {
		uint32_t owner = is_mutex_owner(c, words) ? words[OWNER_WORD] : 0;

		/* The owner may have ended: then the number is all that is left. */
		if (owner && words[KIND_WORD] & IS_SHARED && !is_thread(c, owner) &&
		    process_of(owner))
			*process = process_of(owner);
		return owner;
	}
	*is_lock = false;
	return value == words[0] && is_thread(c, value) ? value : 0;
}

bool wait_is_for_file_lock(const struct thread_call *c)
{
	return c->number == SYS_flock ||
	       (c->number == SYS_fcntl && (c->args[1] == F_SETLKW || c->args[1] == F_OFD_SETLKW));
}

uint32_t wait_child(const struct thread_call *c, bool *any)
{
	*any = (c->number == SYS_wait4 && (int32_t)c->args[0] == -1) ||
	       (c->number == SYS_waitid && c->args[0] == P_ALL);
	if (c->number == SYS_wait4 && (int32_t)c->args[0] > 0)
		return (uint32_t)c->args[0];
	return c->number == SYS_waitid && c->args[0] == P_PID ? (uint32_t)c->args[1] : 0;
}

/*
 * wait_python.c - up to Python 3.13 a lock object points to the semaphore that threads wait at. The waiting thread's stack has the address
 * of the object: each word there that may be one is tried. From 3.14 on each thread waits at a semaphore of its own, on its stack (struct
 * wait_entry of CPython's parking lot), behind the address of the mutex inside of the object.
 */
#include "collector/waits/wait_python.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "collector/kernel/sample/sample_python_outside.h"

#define STACK_WORDS 512u
#define PAGE        4096u
#define LAST        0x030d /* later locks are no semaphores */
#define HEAD_BYTES  16u    /* of an object, with the GIL */
#define TRIES_MOST  256u   /* reads of objects */

/* The beginning of Python's rlockobject. */
struct rlock {
	uint64_t references, type;
	uint64_t semaphore, owner, count;
};

/* The same from 3.14 on, behind the head of the object. */
struct recursive_mutex {
	uint8_t bits;
	uint64_t owner, level;
};
#define IS_LOCKED_AND_WAITED_FOR 3u

static bool load(uint32_t pid, uint64_t address, void *to, size_t bytes)
{
	struct iovec here = {to, bytes}, there = {(void *)(uintptr_t)address, bytes};

	return process_vm_readv((pid_t)pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

/* The words from the stack pointer on, up to the last page that there is. */
static size_t read_stack(const struct thread_call *c, uint64_t words[STACK_WORDS])
{
	size_t got = 0, most = STACK_WORDS * sizeof(*words);

	while (got < most) {
		size_t len = PAGE - (c->sp + got) % PAGE;

		if (len > most - got)
			len = most - got;
		if (!load(c->pid, c->sp + got, (char *)words + got, len))
			break;
		got += len;
	}
	return got / sizeof(*words);
}

static bool may_be_object(uint64_t word)
{
	return word >= 65536 && word % 16 == 0 && word >> 47 == 0;
}

/* @head: bytes of an object. */
static bool is_rlock(uint32_t pid, uint64_t type, uint64_t head)
{
	static const char want[] = "_thread.RLock";
	char name[sizeof(want)];
	uint64_t at;

	return load(pid, type + head + 8, &at, sizeof(at)) && load(pid, at, name, sizeof(name)) &&
	       memcmp(name, want, sizeof(want)) == 0;
}

/* From 3.14 on. */
static uint32_t owner_of_mutex(const struct thread_call *c, const struct sl_pylayout *at,
			       uint64_t *object)
{
	uint64_t head = at->type + 8, address, type;
	struct recursive_mutex mutex;

	if (!load(c->pid, c->args[0] - 8, &address, sizeof(address)) || address < 65536 ||
	    !load(c->pid, address, &mutex, sizeof(mutex)) ||
	    (mutex.bits & IS_LOCKED_AND_WAITED_FOR) != IS_LOCKED_AND_WAITED_FOR || !mutex.owner ||
	    !load(c->pid, address - head + at->type, &type, sizeof(type)) ||
	    !is_rlock(c->pid, type, head))
		return 0;
	*object = address - head;
	return pyoutside_tid(c->pid, mutex.owner);
}

uint32_t wait_owner_of_rlock(const struct thread_call *c, const struct sl_pylayout *at,
			     uint64_t *object)
{
	uint64_t words[STACK_WORDS];
	unsigned op = (unsigned)c->args[1] & FUTEX_CMD_MASK, tries = 0;
	size_t cnt;

	if (c->number != SYS_futex || (op != FUTEX_WAIT && op != FUTEX_WAIT_BITSET))
		return 0;
	if (at->version > LAST)
		return owner_of_mutex(c, at, object);
	if (at->type != HEAD_BYTES - 8)
		return 0;
	cnt = read_stack(c, words);
	for (size_t i = 0; i < cnt && tries < TRIES_MOST; i++) {
		struct rlock lock;
		uint32_t tid;

		if (!may_be_object(words[i]) || words[i] == c->args[0])
			continue;
		tries++;
		if (!load(c->pid, words[i], &lock, sizeof(lock)) || lock.semaphore != c->args[0] ||
		    !lock.owner || !lock.count || !is_rlock(c->pid, lock.type, HEAD_BYTES))
			continue;
		tid = pyoutside_tid(c->pid, lock.owner);
		if (!tid)
			continue;
		*object = words[i];
		return tid;
	}
	return 0;
}

/* wait_python.c - the owner of an RLock, of objects made as Python makes them, at which a thread of this process waits. */
#include "collector/waits/wait_python.h"

#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

struct type {
	uint64_t head[3];
	const char *name;
};

struct object {
	uint64_t references;
	const struct type *type;
	sem_t *semaphore;
	uint64_t owner, count;
} __attribute__((aligned(16)));

static const struct type rlock = {.name = "_thread.RLock"}, lock = {.name = "_thread.lock"};
static const struct sl_pylayout layout = {.version = 0x030c, .type = 8};
static sem_t semaphore;
static struct object object;
static uint32_t waiter;

static void *waits(void *arg)
{
	/* As Python's C code has it, somewhere on the stack. */
	struct object *volatile kept = arg;

	__atomic_store_n(&waiter, (uint32_t)gettid(), __ATOMIC_RELEASE);
	while (sem_wait(kept->semaphore) < 0)
		;
	return NULL;
}

/* Changes of the call, or of the object, once the thread waits. */
static void (*change)(struct thread_call *c);

/* The owner that is found while a thread waits at the object. */
static uint32_t owner_of(const struct sl_pylayout *at, uint64_t *found)
{
	struct thread_call c = {.pid = (uint32_t)getpid()};
	uint32_t owner;
	pthread_t t;

	waiter = 0;
	*found = 0;
	sem_init(&semaphore, 0, 0);
	pthread_create(&t, NULL, waits, &object);
	while (!(c.tid = __atomic_load_n(&waiter, __ATOMIC_ACQUIRE)) || !thread_call_read(&c) ||
	       c.number != SYS_futex || c.state != 'S')
		usleep(1000);
	if (change)
		change(&c);
	owner = wait_owner_of_rlock(&c, at, found);
	change = NULL;
	sem_post(&semaphore);
	pthread_join(t, NULL);
	return owner;
}

static void begin(const struct type *type)
{
	object = (struct object){.references = 3,
				 .type = type,
				 .semaphore = &semaphore,
				 .owner = (uint64_t)pthread_self(),
				 .count = 1};
}

static void owner_is_a_thread_by_its_number(void **state)
{
	uint64_t found;

	(void)state;
	begin(&rlock);
	assert_int_equal(owner_of(&layout, &found), gettid());
	assert_int_equal(found, (uintptr_t)&object);
}

static void plain_locks_have_no_owner(void **state)
{
	uint64_t found;

	(void)state;
	begin(&lock);
	assert_int_equal(owner_of(&layout, &found), 0);
	assert_int_equal(found, 0);
}

static void lock_that_nobody_has_has_no_owner(void **state)
{
	uint64_t found;

	(void)state;
	begin(&rlock);
	object.count = 0;
	assert_int_equal(owner_of(&layout, &found), 0);
	begin(&rlock);
	object.owner = 0;
	assert_int_equal(owner_of(&layout, &found), 0);
	/* A number that is no thread's. */
	object.owner = 4096;
	assert_int_equal(owner_of(&layout, &found), 0);
}

static void locks_of_other_layouts_are_not_looked_at(void **state)
{
	struct sl_pylayout at = layout;
	uint64_t found;

	(void)state;
	begin(&rlock);
	at.version = 0x030d;
	assert_int_equal(owner_of(&at, &found), gettid());
	at.version = 0x030e;
	assert_int_equal(owner_of(&at, &found), 0);
	at.version = 0x030d;
	at.type = 24; /* without the GIL */
	assert_int_equal(owner_of(&at, &found), 0);
}

static void to_another_call(struct thread_call *c)
{
	c->number = SYS_read;
}

static void to_a_wake(struct thread_call *c)
{
	c->args[1] = FUTEX_WAKE;
}

static void to_another_semaphore(struct thread_call *c)
{
	static sem_t other;

	(void)c;
	object.semaphore = &other;
}

static void waits_for_something_else_have_no_such_owner(void **state)
{
	static void (*const changes[])(struct thread_call *) = {to_another_call, to_a_wake,
								to_another_semaphore};
	uint64_t found;

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		begin(&rlock);
		change = changes[i];
		assert_int_equal(owner_of(&layout, &found), 0);
	}
}

/* From 3.14 on: the entry of a thread that waits, and the mutex in the object. */
static struct {
	void *argument;
	const void *address;
	sem_t semaphore;
} entry;

static struct {
	uint64_t references;
	const struct type *type;
	uint8_t bits;
	uint64_t owner, level;
} mutex;

static void *waits_in_entry(void *arg)
{
	(void)arg;
	__atomic_store_n(&waiter, (uint32_t)gettid(), __ATOMIC_RELEASE);
	while (sem_wait(&entry.semaphore) < 0)
		;
	return NULL;
}

static uint32_t owner_of_entry(uint32_t version, uint64_t *found)
{
	const struct sl_pylayout at = {.version = version, .type = 8};
	struct thread_call c = {.pid = (uint32_t)getpid()};
	uint32_t owner;
	pthread_t t;

	waiter = 0;
	*found = 0;
	entry.address = &mutex.bits;
	sem_init(&entry.semaphore, 0, 0);
	pthread_create(&t, NULL, waits_in_entry, NULL);
	while (!(c.tid = __atomic_load_n(&waiter, __ATOMIC_ACQUIRE)) || !thread_call_read(&c) ||
	       c.number != SYS_futex || c.state != 'S')
		usleep(1000);
	owner = wait_owner_of_rlock(&c, &at, found);
	sem_post(&entry.semaphore);
	pthread_join(t, NULL);
	return owner;
}

static void mutexes_of_later_versions_have_their_owner_inside(void **state)
{
	uint64_t found;

	(void)state;
	mutex.type = &rlock;
	mutex.bits = 3;
	mutex.owner = (uint64_t)pthread_self();
	assert_int_equal(owner_of_entry(0x030e, &found), gettid());
	assert_int_equal(found, (uintptr_t)&mutex);
	assert_int_equal(owner_of_entry(0x030f, &found), gettid());
	mutex.bits = 1; /* no thread waits: another mutex */
	assert_int_equal(owner_of_entry(0x030e, &found), 0);
	mutex.bits = 3;
	mutex.type = &lock;
	assert_int_equal(owner_of_entry(0x030e, &found), 0);
	mutex.type = &rlock;
	mutex.owner = 0;
	assert_int_equal(owner_of_entry(0x030e, &found), 0);
	assert_int_equal(found, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owner_is_a_thread_by_its_number),
		cmocka_unit_test(plain_locks_have_no_owner),
		cmocka_unit_test(lock_that_nobody_has_has_no_owner),
		cmocka_unit_test(waits_for_something_else_have_no_such_owner),
		cmocka_unit_test(locks_of_other_layouts_are_not_looked_at),
		cmocka_unit_test(mutexes_of_later_versions_have_their_owner_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * stack_fault.c HOW - what may be the matter with a stack when a call is made. Each prints what it did and ends with
 * a status of its own, as it does without a tracer.
 *   damaged     return address and frame pointer of a function are overwritten when it calls nanosleep()
 *   nonsense    the whole stack above the call is overwritten
 *   jit         code that was made at run time, with a frame pointer and without, and listed in /tmp/perf-PID.map
 *   signal      a handler on an alternate stack of the least size
 *   guard       calls with less and less stack left, down to nearly none
 *   small       threads with PTHREAD_STACK_MIN, most of which is used
 *   handmade    a stack of the program's own making (swapcontext), in memory from malloc()
 *   dies        threads that end while others make calls
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/prog/raw.h"

#define NOINLINE __attribute__((noinline, noclone))

static int null;
static const struct timespec moment = {0, 1000};

static void NOINLINE call(long number)
{
	char byte;

	if (pread(null, &byte, 1, number) != 0)
		_exit(8);
	__asm__ volatile("" : : : "memory");
}

/* ---- damaged ---- */

/* Nothing of the stack above here is to be believed; there is no way back from here. */
static void NOINLINE damages(size_t words, uint64_t with)
{
	uint64_t *frame = __builtin_frame_address(0);

	for (size_t i = 0; i < words; i++)
		frame[i] = with ? with : (uint64_t)(uintptr_t)(frame + i * 3);
	nanosleep(&moment, NULL);
	call(1);
	raw_write(1, "damaged\n", 8);
	_exit(7);
}

/* ---- jit ---- */

typedef void caller(void (*f)(long), long number);

static void NOINLINE from_jit(long number)
{
	call(number);
	__asm__ volatile("" : : : "memory");
}

static int NOINLINE jit(void)
{
#ifdef __x86_64__
	static const unsigned char with_fp[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8,
						0x48, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3};
	static const unsigned char without[] = {0x48, 0x83, 0xec, 0x08, 0x48, 0x89,
						0xf8, 0x48, 0x89, 0xf7, 0xff, 0xd0,
						0x48, 0x83, 0xc4, 0x08, 0xc3};
	unsigned char *code = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char name[64], text[256];
	int map;

	if (code == MAP_FAILED)
		return 9;
	memcpy(code, with_fp, sizeof(with_fp));
	memcpy(code + 256, without, sizeof(without));
	snprintf(name, sizeof(name), "/tmp/perf-%d.map", (int)getpid());
	map = raw_open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	raw_write(map, text,
		  (unsigned long)snprintf(
			  text, sizeof(text), "%lx %x jit_with_fp\n%lx %x jit_without\n",
			  (unsigned long)code, 256, (unsigned long)code + 256, 256));
	raw_close(map);
	for (long i = 0; i < 100; i++) {
		((caller *)(uintptr_t)code)(from_jit, i);
		((caller *)(uintptr_t)(code + 256))(from_jit, 1000 + i);
	}
	munmap(code, 8192);
	call(2000);
#endif
	return 0;
}

/* ---- signal ---- */

static volatile sig_atomic_t handled;

static void handler(int sig)
{
	(void)sig;
	call(100 + handled);
	handled++;
}

static int NOINLINE on_alternate_stack(size_t size)
{
	size_t room = (size + 2048 + 4095) & ~(size_t)4095;
	char *memory = mmap(NULL, room + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sigaction act = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	stack_t stack = {.ss_sp = memory + 4096 + room - size, .ss_size = size};

	if (memory == MAP_FAILED || mprotect(memory + 4096, room, PROT_READ | PROT_WRITE))
		return 9;
	/* Below it lies something else of the program's. */
	memset(memory + 4096, 0x5a, room - size);
	if (sigaltstack(&stack, NULL))
		return 9;
	sigaction(SIGUSR1, &act, NULL);
	for (int i = 0; i < 20; i++)
		raw3(SYS_kill, getpid(), SIGUSR1, 0);
	call(1);
	for (size_t i = 0; i < room - size; i++)
		if (memory[4096 + i] != 0x5a)
			return 6;
	printf("handled %d\n", (int)handled);
	return 0;
}

/* ---- guard, small ---- */

struct room {
	char *lowest; /* of the stack */
	size_t left;  /* to be when the call is made */
	long number;
};

static void NOINLINE deeper(const struct room *r)
{
	volatile char here[64];

	here[0] = 1;
	if ((char *)(uintptr_t)here > r->lowest + r->left + 192)
		deeper(r);
	else
		call(r->number);
	__asm__ volatile("" : : "r"(here) : "memory");
}

static void *with_little_left(void *to)
{
	deeper(to);
	return NULL;
}

/* Calls with @from bytes left, then less. */
static int calls_near_the_end(size_t from, size_t to, size_t stack_size)
{
	size_t page = 4096;
	char *memory = mmap(NULL, stack_size + page, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct room r = {.lowest = memory + page};
	pthread_attr_t attr;
	pthread_t t;
	int calls = 0;

	if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE))
		return 9;
	for (r.left = from; r.left >= to; r.left -= 64, calls++) {
		r.number = (long)r.left;
		pthread_attr_init(&attr);
		if (pthread_attr_setstack(&attr, memory + page, stack_size) ||
		    pthread_create(&t, &attr, with_little_left, &r) || pthread_join(t, NULL))
			return 9;
	}
	printf("calls %d\n", calls);
	return 0;
}

/* ---- handmade ---- */

static ucontext_t outside, inside;

static void handmade_entry(void)
{
	call(1);
	swapcontext(&inside, &outside);
	call(2);
	__asm__ volatile("" : : : "memory");
}

static int handmade(void)
{
	size_t size = 64 * 1024;

	for (int i = 0; i < 50; i++) {
		void *stack = malloc(size);

		getcontext(&inside);
		inside.uc_stack.ss_sp = stack;
		inside.uc_stack.ss_size = size;
		inside.uc_link = &outside;
		makecontext(&inside, handmade_entry, 0);
		swapcontext(&outside, &inside);
		call(3);
		swapcontext(&outside, &inside);
		free(stack);
	}
	printf("handmade\n");
	return 0;
}

/* ---- dies ---- */

static void *dies(void *number)
{
	call((long)(intptr_t)number);
	if ((intptr_t)number % 3 == 0)
		syscall(SYS_exit, 0);
	return NULL;
}

static int threads_die(void)
{
	pthread_t t;

	for (intptr_t i = 0; i < 600; i++) {
		if (pthread_create(&t, NULL, dies, (void *)i))
			return 9;
		if (i % 3)
			pthread_join(t, NULL);
		else
			pthread_detach(t);
		call(1000 + i);
	}
	printf("died\n");
	return 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	null = raw_open("/dev/null", O_RDONLY, 0);
	if (!strcmp(how, "damaged"))
		damages(2, 0x1234567890);
	if (!strcmp(how, "noncanonical"))
		damages(2, UINT64_C(0xdead00000000beef));
	if (!strcmp(how, "nonsense"))
		damages(60, 0);
	if (!strcmp(how, "jit"))
		return jit();
	if (!strcmp(how, "signal"))
		return on_alternate_stack(argc > 2 ? (size_t)atol(argv[2])
						   : (size_t)sysconf(_SC_MINSIGSTKSZ) + 1536);
	if (!strcmp(how, "guard"))
		return calls_near_the_end(8192, argc > 2 ? (size_t)atol(argv[2]) : 1024,
					  256 * 1024);
	if (!strcmp(how, "small"))
		return calls_near_the_end(8192, argc > 2 ? (size_t)atol(argv[2]) : 1024,
					  PTHREAD_STACK_MIN);
	if (!strcmp(how, "handmade"))
		return handmade();
	if (!strcmp(how, "dies"))
		return threads_die();
	return 2;
}

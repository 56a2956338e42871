/*
 * fake_python.c - a program with an interpreter in it that is made by hand: a 3.14 without the lock, as it describes
 * itself. Three threads run one function, each in a copy of its bytecode: the first in the bytecode itself, in its 2nd
 * instruction, the second in a copy, in the 5th; the third names a copy that does not exist. A fourth runs code
 * that was made at run time, as by CPython's JIT: without tables, and with another use for the frame pointer.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "preload/base/object.h"

/* What it is found by. */
#define runtime   _PyRuntime
#define code_type PyCode_Type
#define hex       Py_Version
static unsigned long Py_Version = 0x030e00f0;

#include "tests/unit/lib/fake_python.h"

#define SECONDS     0.4
#define INSTRUCTION (0x80 | 11 << 3) /* one, in the line behind the one before */

static char interpreter[8192];
static char states[4][400];
static uint16_t copy[64];
static uint64_t copies[3] = {2};

typedef void step_fn(long cnt);

static void step(long cnt)
{
	for (volatile long i = 0; i < cnt; i++)
		;
}

static step_fn *make_step(void)
{
#ifdef __x86_64__
	static const uint8_t made[] = {
		0x53, 0x41, 0x54,             /* push %rbx; push %r12 */
		0xe8, 4,    0,    0,    0,    /* call behind this */
		0x41, 0x5c, 0x5b, 0xc3,       /* pop %r12; pop %rbx; ret */
		0x55, 0x48, 0x89, 0xfd,       /* push %rbp; mov %rdi, %rbp */
		0x48, 0xff, 0xcd, 0x75, 0xfb, /* dec %rbp; jne there */
		0x5d, 0xc3,                   /* pop %rbp; ret */
	};
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return step;
	memcpy(at, made, sizeof(made));
	return mprotect(at, 4096, PROT_READ | PROT_EXEC) == 0 ? (step_fn *)at : step;
#else
	return step;
#endif
}

/* The loop, as others know it by name. */
double _PyEval_EvalFrameDefault(step_fn *one);
__attribute__((noinline)) double _PyEval_EvalFrameDefault(step_fn *one)
{
	struct timespec now;

	do {
		one(100000);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while ((double)now.tv_sec + (double)now.tv_nsec / 1e9 < SECONDS);
	return (double)now.tv_nsec;
}

static void *run(void *state)
{
	double end;

	*(pthread_t *)((char *)state + 152) = pthread_self();
	end = _PyEval_EvalFrameDefault(state == states[3] ? make_step() : step);
	return end < 0 ? state : NULL;
}

static void add_thread(unsigned i, char *code, int number, const void *instruction)
{
	char *f = make_frame(enter(NULL), code, 0, OWNER_THREAD);

	*(const void **)(f + 56) = instruction;
	*(int32_t *)(f + 72) = number;
	f[74] = OWNER_THREAD;
	*(char **)(states[i] + 72) = f;
	*(char **)(states[i] + 8) = i ? states[i - 1] : NULL;
}

int main(void)
{
	char *code, *lines;
	pthread_t t[4];

	head = 32;
	describe(16, true);
	code = make_code(ascii("fake.py"), ascii("work"), 100);
	lines = make(head + 64);
	*(int64_t *)(lines + head) = 30;
	for (int i = 0; i < 10; i++)
		lines[head + 16 + 3 * i] = (char)INSTRUCTION;
	*(char **)(code + head + LINES_AT) = lines;
	copies[1] = (uint64_t)(code + head + BYTECODE_AT);
	copies[2] = (uint64_t)copy;
	*(uint64_t **)(code + head + COPIES_AT) = copies;
	add_thread(0, code, 0, code + head + BYTECODE_AT + 2);
	add_thread(1, code, 1, copy + 4);
	add_thread(2, code, 50, copy + 4);
	add_thread(3, code, 0, code + head + BYTECODE_AT + 14);
	*(char **)(interpreter + 7000 + 24) = states[3];
	runtime[16008 / 8] = (uint64_t)interpreter;
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, run, states[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	return 0;
}

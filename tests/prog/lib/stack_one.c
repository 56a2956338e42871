/* stack_one.c - a library whose stacks are known, for stack_c.c and Python (stack_python.py). */
#include "tests/prog/shadow.h"

#define NOINLINE __attribute__((noinline))

typedef int callback(int n);

static void NOINLINE one_leaf(struct shadow *s)
{
	IN(s);
	TRACED(s);
	OUT(s);
}

static inline void one_inlined(struct shadow *s, int n)
{
	IN(s);
	HERE(s, one_leaf(s));
	if (n & 1)
		TRACED(s);
	OUT(s);
}

void library_call(struct shadow *s, int n);
void library_call(struct shadow *s, int n)
{
	IN(s);
	HERE(s, one_inlined(s, n));
	OUT(s);
}

/* ---- from Python ---- */

struct shadow *library_new(const char *truth);
struct shadow *library_new(const char *truth)
{
	return shadow_new(truth, 0);
}

/* Frames of Python, as text, stand below what follows. */
void library_push(struct shadow *s, const char *frames);
void library_push(struct shadow *s, const char *frames)
{
	shadow_in(s, frames, NULL);
}

void library_pop(struct shadow *s);
void library_pop(struct shadow *s)
{
	s->depth--;
}

/* Python makes the call itself: its number. */
long library_note(struct shadow *s);
long library_note(struct shadow *s)
{
	shadow_note(s);
	return s->number++;
}

void library_end(struct shadow *s);
void library_end(struct shadow *s)
{
	shadow_free(s);
}

static int NOINLINE calls_back(struct shadow *s, callback *f, int n)
{
	int result;

	IN(s);
	HERE(s, result = f(n));
	OUT(s);
	return result + 1;
}

int library_call_back(struct shadow *s, callback *f, int n);
int library_call_back(struct shadow *s, callback *f, int n)
{
	int result;

	IN(s);
	TRACED(s);
	HERE(s, result = calls_back(s, f, n));
	OUT(s);
	return result + 1;
}

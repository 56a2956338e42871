/*
 * shadow.h - the stack that a program knows to have: each function notes its begin and end, and the line of each
 * call. Each traced call is a pread() whose offset is its number; the truth of it is one line of a file:
 *   NUMBER <tab> FUNCTION|FILE|LINE;FUNCTION|FILE|LINE;...     the innermost first
 * Compared with the report by tests/e2e/trace/stack_truth.py.
 */
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/prog/raw.h"

enum {
	SHADOW_DEPTH = 200,
	SHADOW_ROOM = 1 << 20
};

struct shadow {
	int depth, fd, out;
	long number;
	struct {
		const char *function, *file; /* file NULL: frames as they are written */
		int line;
	} at[SHADOW_DEPTH];
	char *text;
	size_t len;
	char byte;
};

/* One per thread; numbers begin at @number. */
static inline struct shadow *shadow_new(const char *truth, long number)
{
	struct shadow *s = (struct shadow *)calloc(1, sizeof(*s));

	if (!s || !(s->text = (char *)malloc(SHADOW_ROOM)))
		exit(9);
	s->fd = raw_open("/dev/null", O_RDONLY, 0);
	s->out = raw_open(truth, O_WRONLY | O_CREAT | O_APPEND, 0644);
	s->number = number;
	return s;
}

/* Whole lines, with one system call that is not traced. */
static inline void shadow_flush(struct shadow *s)
{
	if (s->len)
		raw_write(s->out, s->text, s->len);
	s->len = 0;
}

static inline void shadow_free(struct shadow *s)
{
	shadow_flush(s);
	raw_close(s->fd);
	raw_close(s->out);
	free(s->text);
	free(s);
}

static inline void shadow_in(struct shadow *s, const char *function, const char *file)
{
	const char *slash = file ? strrchr(file, '/') : NULL;

	if (s->depth == SHADOW_DEPTH)
		exit(9);
	s->at[s->depth].function = function;
	s->at[s->depth++].file = slash ? slash + 1 : file;
}

static inline void shadow_add(struct shadow *s, const char *text)
{
	size_t len = strlen(text);

	memcpy(s->text + s->len, text, len);
	s->len += len;
}

__attribute__((noinline, unused)) static void shadow_note(struct shadow *s)
{
	char line[64];

	if (s->len > SHADOW_ROOM - 32768)
		shadow_flush(s);
	snprintf(line, sizeof(line), "%ld\t", s->number);
	shadow_add(s, line);
	for (int i = s->depth; i-- > 0;) {
		shadow_add(s, s->at[i].function);
		if (s->at[i].file) {
			snprintf(line, sizeof(line), "|%s|%d", s->at[i].file, s->at[i].line);
			shadow_add(s, line);
		}
		shadow_add(s, i ? ";" : "\n");
	}
}

/* At the beginning and end of a function; around what it calls, all in one line. */
#define IN(s)         shadow_in(s, __func__, __FILE__)
#define OUT(s)        ((s)->depth--)
#define HERE(s, call) ((s)->at[(s)->depth - 1].line = __LINE__, (call))
/* clang-format off */
#define TRACED(s) do { HERE(s, shadow_note(s)); if (pread((s)->fd, &(s)->byte, 1, (s)->number++) < 0) exit(8); } while (0)
/* clang-format on */

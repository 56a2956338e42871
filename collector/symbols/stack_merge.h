/*
 * stack_merge.h - one stack of native and Python frames: Python's take the place of the interpreter's.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Role of a frame in the order of frames. */
enum stack_role {
	STACK_NATIVE,
	STACK_LOOP,    /* the loop of the interpreter */
	STACK_TAIL,    /* a part of a loop that is made of functions; the loop may be its caller */
	STACK_ABOVE,   /* calls the loop, as nothing else is called by it */
	STACK_OUTSIDE, /* has all of Python above it */
	STACK_UNNAMED, /* no function is known there: might be a part of the loop */
	STACK_PYTHON,
	STACK_ENTRY,  /* Python, entered by C */
	STACK_REMARK, /* at the end of the native frames, or of Python's */
};

/* The role of a native function. */
enum stack_role stack_role(const char *function);

/* A frame as it was taken: with the functions inlined into it, several frames of the report. */
struct stack_part {
	uint32_t first, cnt;
	enum stack_role role;
};

/*
 * Puts @native and @python, both the innermost first, in order: @to has room for both. How many. A
 * frame of the loop stands for Python's frames up to the next one that C entered, and goes; frames
 * of Python in excess stay, and native frames, too.
 */
size_t stack_merge(const struct stack_part *native, size_t natives, const struct stack_part *python,
		   size_t pythons, struct stack_part *to);

/*
 * gpu_parse.h - parser of the texts of gpu.h: lines, types of arguments, roles. Used by both sides; allocates nothing and
 * calls nothing.
 *
 *	const char *at = sl_gpu_text;
 *
 *	for (unsigned function = 0; function < SL_GPU_FUNCTION_CNT; function++) {
 *		struct sl_gpu_line line;
 *
 *		at = sl_gpu_next(at, &line);
 *		...
 *	}
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "preload/wire/gpu.h"

struct sl_gpu_line {
	const char *name, *abi, *roles;
	unsigned
		until; /* last major version of the library that the line describes; 0: the newest */
};

static inline const char *sl_gpu_after(const char *text)
{
	while (*text)
		text++;
	return text + 1;
}

/* Parses the line at @at; returns the address of the next one. */
static inline const char *sl_gpu_next(const char *at, struct sl_gpu_line *line)
{
	line->name = at;
	line->abi = sl_gpu_after(line->name);
	line->roles = sl_gpu_after(line->abi);
	line->until = 0;
	if (*line->abi == '<') {
		while (*++line->abi != ':')
			line->until = line->until * 10 + (unsigned)(*line->abi - '0');
		line->abi++;
	}
	return sl_gpu_after(line->roles);
}

/* ---- abi ---- */

#define SL_GPU_PARAMETERS 40u /* of one function at most; the largest has 30 */

enum sl_gpu_class {
	SL_GPU_VOID,
	SL_GPU_WORD,   /* i z p h 1 2: general registers */
	SL_GPU_FLOAT,  /* f d x y: SSE registers */
	SL_GPU_MEMORY, /* m...: a copy on the stack (return value: a hidden first argument) */
};
struct sl_gpu_type {
	char letter;
	uint8_t class; /* enum sl_gpu_class */
	uint8_t words; /* of 8 bytes: registers taken, or room on the stack */
};

/* Parses one type; returns what follows it, or NULL on an error. */
static inline const char *sl_gpu_type(const char *abi, struct sl_gpu_type *type)
{
	unsigned bytes = 0;

	type->letter = *abi;
	type->words = 1;
	switch (*abi++) {
	case 'v':
		type->class = SL_GPU_VOID;
		type->words = 0;
		return abi;
	case '2':
		type->words = 2;
		type->class = SL_GPU_WORD;
		return abi;
	case '1':
	case 'i':
	case 'z':
	case 'p':
	case 'h':
		type->class = SL_GPU_WORD;
		return abi;
	case 'y':
		type->words = 2;
		type->class = SL_GPU_FLOAT;
		return abi;
	case 'f':
	case 'd':
	case 'x':
		type->class = SL_GPU_FLOAT;
		return abi;
	case 'm':
		while (*abi >= '0' && *abi <= '9' && bytes < 1000)
			bytes = bytes * 10 + (unsigned)(*abi++ - '0');
		type->class = SL_GPU_MEMORY;
		type->words = (uint8_t)(bytes / 8);
		/* Smaller structures are passed in registers. */
		return bytes > 16 && bytes < 1000 && bytes % 8 == 0 ? abi : NULL;
	}
	return NULL;
}

/*
 * Parses @abi: types[0] is the return type, types[1] the first argument, as roles count them. Returns the number of
 * arguments, or -1.
 */
static inline int sl_gpu_types(const char *abi, struct sl_gpu_type types[SL_GPU_PARAMETERS + 1])
{
	int cnt = 0;

	do {
		if (cnt > (int)SL_GPU_PARAMETERS)
			return -1;
		abi = sl_gpu_type(abi, &types[cnt]);
		if (!abi || (cnt && types[cnt].class == SL_GPU_VOID))
			return -1;
		cnt++;
	} while (*abi);
	return cnt - 1;
}

/* ---- roles ---- */

#define SL_GPU_SKIP (-2) /* "skip": known, not recorded */

/* One word to be recorded. */
struct sl_gpu_use {
	uint8_t role;     /* enum sl_gpu_role */
	uint8_t argument; /* counted from 1 */
	uint8_t part;     /* grid, block: which 32 bits of the dim3 */
	bool is_pointer;  /* the word it points to, read after success */
	bool is_int;      /* 32 bits of that */
	uint8_t offset;   /* bytes from there */
	uint8_t step;     /* sum over an array with so many bytes per element; 0: one word */
	uint8_t hashed;   /* hash of so many bytes; 0: the word itself */
};

/* Names of the roles in order, each with its NUL; no pointers, as for the tables. */
static const char sl_gpu_role_names[] = {
#define SL_GPU_ROLE_NAME(name, what) #name "\0"
	SL_GPU_ROLES(SL_GPU_ROLE_NAME)
#undef SL_GPU_ROLE_NAME
};

/* True if the @len bytes at @a are the string @b. */
static inline bool sl_gpu_same(const char *a, size_t len, const char *b)
{
	for (size_t i = 0; i < len; i++)
		if (a[i] != b[i])
			return false;
	return !b[len];
}

/* SL_GPU_ROLE_CNT: no role has this name. */
static inline unsigned sl_gpu_role_find(const char *text, size_t len)
{
	const char *name = sl_gpu_role_names;
	unsigned role;

	for (role = 0; role < SL_GPU_ROLE_CNT; role++) {
		if (sl_gpu_same(text, len, name))
			break;
		name = sl_gpu_after(name);
	}
	return role;
}

/* Parses a number below 1000 and moves *@text past it. Larger ones give a wrong value, not an error. */
static inline unsigned sl_gpu_number_at(const char **text)
{
	unsigned n = 0;

	for (; **text >= '0' && **text <= '9' && n < 1000; ++*text)
		n = n * 10 + (unsigned)(**text - '0');
	return n;
}

/* Parses one "*ROLE=ARGUMENT:i+OFFSET*STEP" or "*ROLE=ARGUMENT#BYTES"; a dim3 makes three uses. Returns their number, or -1. @next: what follows. */
static inline int sl_gpu_use(const char *text, const char **next, struct sl_gpu_use use[3])
{
	struct sl_gpu_use u = {.is_pointer = *text == '*'};
	unsigned argument, offset = 0, step = 0, hashed = 0, cnt = 1;
	const char *name;
	size_t len;

	name = text += u.is_pointer;
	while (*text >= 'a' && *text <= 'z')
		text++;
	len = (size_t)(text - name);
	if (sl_gpu_same(name, len, "grid") || sl_gpu_same(name, len, "block")) {
		cnt = 3;
		u.role = *name == 'g' ? SL_GPU_ROLE_gridx : SL_GPU_ROLE_blockx;
	} else {
		u.role = (uint8_t)sl_gpu_role_find(name, len);
	}
	if (u.role >= SL_GPU_ROLE_CNT || *text++ != '=')
		return -1;
	argument = sl_gpu_number_at(&text);
	if (u.is_pointer && text[0] == ':' && text[1] == 'i') {
		u.is_int = true;
		text += 2;
	}
	if (u.is_pointer && *text == '+') {
		text++;
		offset = sl_gpu_number_at(&text);
	}
	if (u.is_pointer && !u.is_int && *text == '*') {
		text++;
		step = sl_gpu_number_at(&text);
		if (!step || step % 8)
			return -1;
	}
	if (*text == '#') {
		text++;
		hashed = sl_gpu_number_at(&text);
		if (!hashed || hashed % 8)
			return -1;
	}
	if (offset > 240 || step > 240 || hashed > 240)
		return -1;
	if (!argument || argument > SL_GPU_PARAMETERS || (*text && *text != ' '))
		return -1;
	u.argument = (uint8_t)argument;
	u.step = (uint8_t)step;
	u.hashed = (uint8_t)hashed;
	for (unsigned i = 0; i < cnt; i++) {
		use[i] = u;
		use[i].role = (uint8_t)(u.role + i);
		use[i].part = u.is_pointer ? 0 : (uint8_t)i;
		use[i].offset = (uint8_t)(offset + (u.is_pointer ? 4 * i : 0));
	}
	*next = *text ? text + 1 : text;
	return (int)cnt;
}

/* Parses @roles. Returns their number, SL_GPU_SKIP, or -1 if they are malformed or too many. */
static inline int sl_gpu_uses(const char *roles, struct sl_gpu_use uses[SL_GPU_ARGS])
{
	unsigned cnt = 0;

	if (sl_gpu_same(roles, sizeof("skip") - 1, "skip"))
		return SL_GPU_SKIP;
	while (*roles) {
		struct sl_gpu_use use[3];
		int new = sl_gpu_use(roles, &roles, use);

		if (new < 0 || cnt + (unsigned)new > SL_GPU_ARGS || (use->step && !cnt))
			return -1;
		for (int i = 0; i < new; i++)
			uses[cnt++] = use[i];
	}
	return (int)cnt;
}

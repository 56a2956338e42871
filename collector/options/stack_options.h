/*
 * stack_options.h - which calls get a stack, and which frames: values of --backtrace,
 * --cudabacktrace and the like.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "preload/wire/session.h"

/* Where nothing else is asked for. */
#define STACK_DEPTH   128 /* frames of each language */
#define STACK_OSRT_NS 80000
#define STACK_OPTIONS_DEFAULT                                                                   \
	{                                                                                       \
		.kinds = SL_STACK_OSRT_NATIVE | SL_STACK_OSRT_PYTHON, .osrt_ns = STACK_OSRT_NS, \
		.gpu_ns = {-1, -1, -1, -1}, .depth = STACK_DEPTH, .is_native = true,            \
	}

struct stack_options {
	uint32_t kinds;                     /* SL_STACK_* */
	int64_t osrt_ns;                    /* shorter calls get none */
	int64_t gpu_ns[SL_STACK_CLASS_CNT]; /* likewise; -1: none of that class do */
	int64_t depth;                      /* frames of each language at most */
	bool is_native;                     /* --backtrace is not none: of samples, too */
};

/* As they were typed; NULL: not given. */
struct stack_words {
	const char *backtrace, *cuda, *python;
	int64_t osrt_ns, depth;
};

/* 0; -SL_EXIT_USAGE after one line that names @cmd ("profile"). */
int stack_options_read(struct stack_options *o, const struct stack_words *words, const char *cmd);

/* Fills the session's fields. @ticks_per_ns: fixed point, 32 fractional bits. */
void stack_options_tell(const struct stack_options *o, uint64_t ticks_per_ns, struct sl_session *s);

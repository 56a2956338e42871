/*
 * sample_waiting.h - the stack of a thread that waits in the kernel, read from outside: its memory, from the stack pointer on
 * that /proc shows, and Python's frames. Nothing is done to the thread, and no privilege is needed for one's own processes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collector/kernel/sample/sample.h"
#include "collector/kernel/sample/sample_python_outside.h"

struct sample_waiting;

struct sample_wait {
	uint32_t pid, tid;
	uint64_t pc,
		sp; /* of the thread when it entered the kernel; sp 0: it runs, only Python's frames are known */
	uint64_t ns; /* CLOCK_MONOTONIC */
};

/*
 * Beside samples, whose stacks it shares (NULL: there are none); Python's frames only where they are wanted. @is_second: the
 * report has stacks of another reader, too, and the sink is one of sample_second_sink(). NULL: no memory.
 */
struct sample_waiting *sample_waiting_open(struct sample *beside, bool wants_python,
					   bool is_second);
void sample_waiting_close(struct sample_waiting *w);
/* Number of the stack (SL_STACKS.id), which @sink has from here on; DB_NULL: none. */
int64_t sample_waiting_stack(struct sample_waiting *w, const struct sample_sink *sink,
			     const struct sample_wait *wait);
/* As pyoutside_layout(). */
const struct sl_pylayout *sample_waiting_layout(struct sample_waiting *w, uint32_t pid);
/* The reader of Python; NULL: its frames are not wanted. */
struct pyoutside *sample_waiting_python(struct sample_waiting *w);
/* As sample_waiting_stack(), of frames that pyoutside_put() has put together. */
int64_t sample_waiting_coroutine(struct sample_waiting *w, const struct sample_sink *sink,
				 uint32_t pid, const uint64_t words[PYOUTSIDE_WORDS], uint64_t ns);
/* Locks of Python's interpreters in the process; their number. */
unsigned sample_waiting_gils(struct sample_waiting *w, uint32_t pid,
			     struct pyoutside_gil list[PYOUTSIDE_GILS]);

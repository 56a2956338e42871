/* open_samples.h - samples of threads without privileges: they are looked at again and again, from outside. */
#pragma once

#include <stdint.h>

struct collector;

struct samples_ask {
	int64_t every_ns; /* between two looks */
	int64_t for_ns;   /* 0: until a signal comes, or all processes have ended */
};

/*
 * Rows of COMPOSITE_EVENTS of all threads of the recording's processes. A thread that runs at a look is a CPU sample, with the frames of
 * Python alone: its registers cannot be read. One that has waited from one look to another is a wait, with its whole stack;
 * when it began and ended is known to one look. Waits between two looks are not seen. Signals that end it must be blocked.
 */
void open_samples_take(struct collector *c, const struct samples_ask *ask);

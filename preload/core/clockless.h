/* clockless.h - effect of the program's calls on the clock of their thread. */
#pragma once

#include <stdbool.h>

#pragma GCC visibility push(hidden)

enum sl_clock_change {
	SL_CLOCK_KEPT,
	SL_CLOCK_STOPPED,
	SL_CLOCK_RESTARTED,
};
/* The effect of system call @nr (prctl, seccomp) with these arguments; to be applied before and after the call. */
enum sl_clock_change sl_clock_change(long nr, unsigned long option, unsigned long arg);
bool sl_clock_before(enum sl_clock_change change); /* true: the clock was stopped here */
void sl_clock_after(enum sl_clock_change change, bool stopped, bool failed);

bool sl_inherits_clockless(void); /* in a new thread */
bool sl_counter_faults(void);     /* in a new program, which inherits that across exec */

#pragma GCC visibility pop

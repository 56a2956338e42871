/* unwind_test.h - taking a stack, and comparing it with what was noted and with glibc's backtrace(). */
#pragma once

#include <execinfo.h>

#include "tests/unit/lib/stack_cases.h"

static __thread uint64_t frames[SL_FRAME_MAX + 1];
static __thread unsigned frame_cnt;
static unsigned depth_asked = SL_FRAME_MAX;
static __thread void *theirs[SL_FRAME_MAX];
static __thread int their_cnt;
static bool ask_glibc = true;

__attribute__((noinline, unused)) static void probe(void)
{
	unsigned fresh = 0;

	NOTE();
	frame_cnt = shim_unwind(frames, SL_FRAME_MAX + 1, depth_asked, &fresh);
	HERE();
	if (ask_glibc)
		their_cnt = backtrace(theirs, SL_FRAME_MAX);
}

__attribute__((noinline, unused)) static void run(void (*function)(int), int arg)
{
	truth.cnt = 0;
	truth.probe = probe;
	function(arg);
	HERE();
}

static inline uint64_t remark(enum sl_remark what)
{
	return SL_FRAME_REMARK | what;
}

/* The innermost frame is the return address in probe(); what was noted follows, @skip of it all not asked for. */
static inline bool is_noted(unsigned skip)
{
	for (unsigned i = 0; i < truth.cnt - skip; i++)
		if (i + 1 >= frame_cnt ||
		    (frames[i + 1] & ~SL_FRAME_BY_FP) != truth.address[truth.cnt - 1 - i])
			return false;
	return true;
}

/* All that was noted, in this order, whatever else is between. */
static inline bool is_noted_in_parts(void)
{
	unsigned at = 1;

	for (unsigned i = truth.cnt; i-- > 0;) {
		while (at < frame_cnt && frames[at] != truth.address[i])
			at++;
		if (at++ >= frame_cnt)
			return false;
	}
	return true;
}

/* backtrace() has the function itself in front, at another place; all else is the same. */
static inline bool is_like_glibc(void)
{
	if (frame_cnt != (unsigned)their_cnt)
		return false;
	for (unsigned i = 1; i < frame_cnt; i++)
		if (sl_frame_address(frames[i]) != (uint64_t)theirs[i])
			return false;
	return true;
}

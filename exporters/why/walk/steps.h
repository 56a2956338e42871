/* steps.h - the parts that take longer in the slow steps than in the median of all. */
#pragma once

#include "exporters/why/model/focus.h"
#include "exporters/why/walk/walk.h"

#define STEPS_SHOWN 5

/* The time of a part in a step: the mean of the slow steps, the median of all. */
struct why_excess {
	uint32_t part; /* index into the parts */
	int64_t median, slow;
};

struct why_steps {
	size_t cnt; /* 0: none */
	int64_t median, min, max;
	int64_t slow_ns;             /* the mean of the slow steps */
	WHY_LIST(why_excess, parts); /* the largest difference first */
	WHY_LIST(why_span, slow);    /* the tenth of the steps that took longest, in order */
};

/*
 * After the walk over each span of @f with its pieces kept, whose leaves belong to parts: @part_of, by leaf. SQLite's result
 * code.
 */
int why_compare_steps(struct why_steps *s, const struct why_focus *f, const struct walk *w,
		      const uint32_t *part_of);
void why_steps_free(struct why_steps *s);

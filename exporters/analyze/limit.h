/* limit.h - what findings may claim at most, from the answer of why: the same in lists, for single rules, and on the page. */
#pragma once

#include "exporters/analyze/findings.h"
#include "exporters/why/answer/why.h"

struct gain_limit findings_limit_of(const struct why *y);
/*
 * Limits the findings of a report from number @first on, unless none of them claims anything: reads the report once more. 0, or -1
 * after one sentence in @why.
 */
int findings_limit_report(struct findings *fs, size_t first, const struct analysis *a, char *why,
			  size_t why_len);
/* Are the reports of this filter answered by why as a whole? Else nothing is limited. */
bool findings_have_limit(const struct db_filter *filter);

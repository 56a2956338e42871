/*
 * merge.h - reports of several nodes as one: on one axis of time, by lines that say how far their clocks are apart.
 *
 * Numbers that refer to rows (names, stacks, calls) are those of the part plus a number of the part; processes and threads keep
 * their ids where no other part has the same. Times are rewritten, so META_DATA_EXPORT of the result has its sources.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* At a time t of the node from @time on the reference's clock is ahead by offset + drift * (t - time); ns since 1970. */
struct merge_line {
	int64_t time, offset, drift; /* ns, parts in 1e9 */
};

/* By so much at a time @t of the node; the line may be of any numbers. */
int64_t merge_ahead(const struct merge_line *l, int64_t t);

struct merge_part {
	const char *path, *name;        /* @name: of the report it was cut from */
	const char *host;               /* "": not known */
	int64_t epoch;                  /* its session time 0, ns since 1970 */
	const struct merge_line *lines; /* in order of time; none: its clock is taken to be right */
	size_t lines_cnt;
	int64_t first_cpu,
		cpus; /* the number of its CPU 0 in the result, how many CPUs the host has */
};

/* @origin: time 0 of the result, ns since 1970 by the reference. 0, or -1 after one sentence in @why; then there is no file @to. */
int merge_reports(const char *to, const struct merge_part *parts, size_t cnt, int64_t origin,
		  char *why, size_t why_len);

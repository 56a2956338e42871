/*
 * clock_fit.h - the clocks of nodes against each other, from collectives that all their ranks end together.
 *
 * One node is the reference. A line through the differences of the ends is put for each stretch of time (drift changes, as NTP
 * steers it) by medians, so that single ends that are off do not count. Nodes that share no collectives with the reference are
 * fitted through one that does.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The end of a collective on a node, by the node's clock; the times of two differ by less than 2^63. */
struct clock_end {
	uint64_t collective;
	uint32_t node;
	int64_t end;
};

/* From @time (of the node) to that of the next line, the reference's clock is ahead by @offset + @drift * (t - @time), ns. */
struct clock_line {
	uint32_t node;
	int64_t time;
	double offset, drift;
	double error; /* ns: three standard errors at the ends of the line, and those of the nodes on the way */
	uint32_t ends;
};

struct clock_fit {
	struct clock_line *
		lines; /* in order of node and time; none of the reference, and of nodes that could not be fitted */
	size_t cnt;
	uint32_t reference;
};

/* Sorts @ends. 0, -1: no memory. */
int clock_fit(struct clock_end *ends, size_t cnt, uint32_t nodes, struct clock_fit *to);
void clock_fit_free(struct clock_fit *f);

/* How far the reference's clock is ahead of the node's at @time; 0 where there is no line. */
double clock_fit_at(const struct clock_fit *f, uint32_t node, int64_t time);

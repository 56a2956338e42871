/* bars.h - what a rank did in a span of time, out of a report: ranges, long calls, kernels. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum bar_kind {
	BAR_RANGE,  /* NVTX */
	BAR_CALL,   /* into the C library, of a hundredth of the span at least */
	BAR_KERNEL, /* any but those of NCCL */
	BAR_NCCL,
};

struct bar {
	int64_t start, end; /* ns since 1970, by the clock of the node */
	enum bar_kind kind;
	char name[64];
};

struct bars {
	struct bar *list;
	size_t cnt, room;
	bool is_cut; /* there are more */
};

/* 0; 1: the report has no such rank; -1 after one sentence in @why. */
int bars_read(struct bars *b, const char *report, int64_t rank, int64_t from, int64_t to, char *why,
	      size_t why_len);
void bars_free(struct bars *b);

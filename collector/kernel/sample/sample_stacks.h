/* sample_stacks.h - numbers for stacks of samples: the same stack, the same number. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A stack, recognized by 128 bits of hash: its frames are in the report. */
struct sample_stack {
	uint64_t hash[2];
	uint32_t number; /* 0: free */
	uint32_t round;  /* round in which it was last written */
};

struct sample_stacks {
	struct sample_stack *slot;
	size_t slots, cnt;
	size_t most; /* then it begins anew; 0: a million */
	uint32_t numbers, round;
};

/* @where: frames mean the same only in the same space. *@is_new: not written in this round. 0: no memory. */
uint32_t sample_stacks_number(struct sample_stacks *st, uint64_t where, const uint64_t *frames,
			      size_t cnt, bool *is_new);
/* The next round: each is new again, and has the number that it had, unless that was many rounds ago. */
void sample_stacks_renew(struct sample_stacks *st);
void sample_stacks_release(struct sample_stacks *st);

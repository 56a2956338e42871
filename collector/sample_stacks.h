/* sample_stacks.h - numbers for stacks of samples: the same stack, the same number. */
#ifndef SL_SAMPLE_STACKS_H
#define SL_SAMPLE_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Known by 128 bits of hash: what they are made of is in the report. */
struct sample_stack {
	uint64_t hash[2];
	uint32_t number; /* 0: free */
	uint32_t reserved;
};

struct sample_stacks {
	struct sample_stack *slot;
	size_t slots, cnt;
	uint32_t numbers;
};

/* @where: frames mean the same only in the same place. 0: no memory. */
uint32_t sample_stacks_number(struct sample_stacks *st, uint64_t where, const uint64_t *frames,
			      size_t cnt, bool *is_new);
/* Each is new again. Numbers go on. */
void sample_stacks_forget(struct sample_stacks *st);
void sample_stacks_release(struct sample_stacks *st);

#endif

/* gpu_place.c - locations of a function's arguments at its entry, by the processor's calling convention. */
#include "preload/gpu/gpu_engine.h"

#include <string.h>

#include "preload/wire/gpu_parse.h"

#if defined(__x86_64__)
#define INT_REGISTERS      6u
#define SSE_REGISTERS      8u
#define IS_COPY_POINTED_TO 0 /* large structures are on the stack */
#else
#define INT_REGISTERS      8u
#define SSE_REGISTERS      8u
#define IS_COPY_POINTED_TO 1
#endif

/* Location of each argument: integer registers, then stack words from SL_GPU_STACK on. */
static bool place(const char *abi, struct sl_gpu_type types[SL_GPU_PARAMETERS + 1],
		  uint8_t where[SL_GPU_PARAMETERS + 1], uint8_t *stack_words)
{
	unsigned regs = 0, floats = 0, stack = 0;
	int cnt = sl_gpu_types(abi, types);

	if (cnt < 0 || types[0].class == SL_GPU_MEMORY)
		return false;
	for (int i = 1; i <= cnt; i++) {
		unsigned words = types[i].words, class = types[i].class;

#if defined(__aarch64__)
		/* Large structures travel as a pointer to a copy; complex numbers as two floats. */
		if (class == SL_GPU_MEMORY) {
			class = SL_GPU_WORD;
			words = 1;
		} else if (types[i].letter == 'x') {
			words = 2;
		}
#endif
		where[i] = UINT8_MAX;
		if (class == SL_GPU_WORD && regs + words <= INT_REGISTERS) {
			where[i] = (uint8_t)regs;
			regs += words;
		} else if (class == SL_GPU_FLOAT && floats + words <= SSE_REGISTERS) {
			floats += words;
		} else {
			where[i] = (uint8_t)(SL_GPU_STACK + stack);
			stack += types[i].letter == 'x' ? 1 : words;
#if defined(__aarch64__)
			if (class == SL_GPU_WORD)
				regs = INT_REGISTERS;
			else
				floats = SSE_REGISTERS;
#endif
		}
	}
	/* The same symbol of another CUDA version may have an argument or two more. */
	if (regs == INT_REGISTERS)
		stack += 2;
	*stack_words = (uint8_t)(stack | (floats ? SL_GPU_SSE : 0));
	return stack < 64;
}

/* 32 bits for types narrower than a register, and for the parts of a dim3. */
static enum sl_gpu_how how(const struct sl_gpu_use *use, char letter)
{
	if (use->role == SL_GPU_ROLE_esize)
		return SL_GPU_HOW_TYPE;
	if (use->hashed)
		return use->is_pointer || IS_COPY_POINTED_TO ? SL_GPU_HOW_HASH_AT : SL_GPU_HOW_HASH;
	if (use->step)
		return SL_GPU_HOW_SUM;
	if (use->is_pointer)
		return use->is_int ? SL_GPU_HOW_INT_AT : SL_GPU_HOW_AT;
	if (letter != 'i' && letter != '2')
		return SL_GPU_HOW_WORD;
	return use->part == 1 ? SL_GPU_HOW_HIGH : SL_GPU_HOW_LOW;
}

static enum sl_gpu_returns returns(char letter)
{
	switch (letter) {
	case 'i':
	case '1': /* a status and its origin */
		return SL_GPU_RETURNS_STATUS;
	case 'z':
		return SL_GPU_RETURNS_COUNT;
	}
	return SL_GPU_RETURNS_OTHER;
}

/* The argument of the last pointer that is not recorded: the configuration of a communicator that is made with an id, or split off. */
static uint8_t config_of(const struct sl_gpu_comm_use *c, const struct sl_gpu_type *types,
			 const uint8_t *where, const struct sl_gpu_use *uses, int cnt, int last)
{
	if (c->is_mpi)
		return UINT8_MAX;
	if (c->kind != SL_GPU_COMM_SPLIT &&
	    (c->kind != SL_GPU_COMM_MADE || c->word[SL_GPU_COMM_WORD_UNIQUE] == UINT8_MAX))
		return UINT8_MAX;
	for (int i = last; i > 0; i--) {
		bool is_recorded = false;

		for (int n = 0; n < cnt; n++)
			is_recorded |= uses[n].argument == i;
		if (types[i].letter == 'p' && !is_recorded)
			return where[i];
	}
	return UINT8_MAX;
}

bool sl_gpu_place(const struct sl_gpu_line *line, struct sl_gpu_function_state *f,
		  uint8_t *stack_words)
{
	struct sl_gpu_type types[SL_GPU_PARAMETERS + 1];
	uint8_t where[SL_GPU_PARAMETERS + 1];
	struct sl_gpu_use uses[SL_GPU_ARGS];
	int cnt = sl_gpu_uses(line->roles, uses);

	if (!place(line->abi, types, where, stack_words))
		return false;
	f->is_quiet = cnt == SL_GPU_SKIP;
	f->comm.kind = SL_GPU_COMM_NONE;
	if (cnt > 0 && strchr("npMP", line->name[0])) {
		sl_gpu_comm_place(line->name, uses, cnt, &f->comm);
		f->comm.config = config_of(&f->comm, types, where, uses, cnt,
					   sl_gpu_types(line->abi, types));
	}
	f->returns = (uint8_t)returns(types[0].letter);
	for (int i = 0; i < cnt; i++) {
		uint8_t at = where[uses[i].argument];

		/* Values in SSE registers are not recorded. */
		if (at == UINT8_MAX)
			continue;
		f->arg[f->arg_cnt++] = (struct sl_gpu_arg){
			.where = (uint8_t)(at + (uses[i].part == 2)),
			.how = (uint8_t)how(&uses[i], types[uses[i].argument].letter),
			.offset = uses[i].offset,
			.step = uses[i].hashed ? uses[i].hashed : uses[i].step};
	}
	return true;
}

/* sample_libc_start.c - finds _start and the like by the ELF header and by their bytes. */
#include "collector/kernel/sample/sample_libc_start.h"

#include <string.h>

#if defined(__x86_64__)
#define WORD      8
#define INIT_MOST 64u  /* bytes of _init and _fini, to which a program adds few calls */
#define LEAF_MOST 128u /* of each of crtbegin.o's functions */

static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa}, take[] = {0x48, 0x83, 0xec, 0x08},
		     give[] = {0x48, 0x83, 0xc4, 0x08, 0xc3}, pop[] = {0x5d, 0xc3};

static void add(struct sample_crt *crt, uint64_t from, uint64_t to, int16_t cfa, bool has_fp)
{
	if (from < to && crt->cnt < sizeof(crt->part) / sizeof(*crt->part))
		crt->part[crt->cnt++] = (struct sample_crt_part){from, to, cfa, has_fp};
}

/* Returns the place of @what in the first @bytes of @code; @bytes: not found. */
static size_t place_of(const uint8_t *code, size_t bytes, const uint8_t *what, size_t len)
{
	for (size_t i = 0; i + len <= bytes; i++)
		if (memcmp(code + i, what, len) == 0)
			return i;
	return bytes;
}

static size_t behind_endbr(const uint8_t *code)
{
	return memcmp(code, endbr, sizeof(endbr)) == 0 ? sizeof(endbr) : 0;
}

/* _init, _fini: sub $8, %rsp; calls; add $8, %rsp; ret. */
static void find_calls(struct sample_crt *crt, const struct sample_crt_ask *ask, uint64_t from)
{
	size_t bytes = INIT_MOST, begin, end;
	const uint8_t *code = from ? ask->at(ask->ctx, from, bytes) : NULL;

	/* _fini may be the last of all code. */
	while (from && !code && --bytes > sizeof(endbr) + sizeof(take))
		code = ask->at(ask->ctx, from, bytes);
	if (!code)
		return;
	begin = behind_endbr(code);
	if (memcmp(code + begin, take, sizeof(take)) != 0)
		return;
	begin += sizeof(take);
	end = place_of(code, bytes, give, sizeof(give));
	if (end == bytes)
		return;
	add(crt, from, from + begin, WORD, false);
	add(crt, from + begin, from + end + 4, 2 * WORD, false);
	add(crt, from + end + 4, from + end + 5, WORD, false);
}

static uint64_t target(uint64_t behind, const uint8_t *distance)
{
	int32_t to;

	memcpy(&to, distance, sizeof(to));
	return behind + (uint64_t)(int64_t)to;
}

static uint64_t first_of(const struct sample_crt_ask *ask, uint64_t array)
{
	const uint8_t *at = array ? ask->at(ask->ctx, array, sizeof(uint64_t)) : NULL;
	uint64_t first = 0;

	if (at)
		memcpy(&first, at, sizeof(first));
	return first;
}

/*
 * crtbegin.o, in this order: deregister_tm_clones and register_tm_clones, which never touch the stack;
 * __do_global_dtors_aux, which pushes the frame pointer, calls the first of them, and pops it; frame_dummy, which jumps to
 * the second. The arrays' first words are where the last two begin, if the linker has written them into the file.
 */
static void find_begin(struct sample_crt *crt, const struct sample_crt_ask *ask)
{
	uint64_t dummy = first_of(ask, ask->init_array), dtors = first_of(ask, ask->fini_array),
		 enter, leave;
	const uint8_t *last, *code;
	size_t bytes, push, end, jump;

	if (!dtors || dummy <= dtors || dummy - dtors > LEAF_MOST)
		return;
	bytes = (size_t)(dummy - dtors);
	code = ask->at(ask->ctx, dtors, bytes);
	last = ask->at(ask->ctx, dummy, 9);
	if (!code || !last || bytes < 16)
		return;
	jump = behind_endbr(last);
	if (last[jump] != 0xe9)
		return;
	enter = target(dummy + jump + 5, last + jump + 1);
	if (enter >= dtors || dtors - enter > LEAF_MOST)
		return;
	/* cmpb $0, ...(%rip); jne; push %rbp */
	push = behind_endbr(code) + 9;
	end = place_of(code, bytes, pop, sizeof(pop));
	if (end == bytes || push + 6 > end || code[push - 9] != 0x80 || code[push - 2] != 0x75 ||
	    code[push] != 0x55)
		return;
	add(crt, dtors, dtors + push + 1, WORD, false);
	add(crt, dtors + push + 1, dtors + end + 1, 2 * WORD, true);
	add(crt, dtors + end + 1, dummy + jump + 5, WORD, false);
	add(crt, enter, dtors, WORD, false);
	/* The last call before the pop: movb $1, ...(%rip) is between. */
	if (end < 12 || code[end - 12] != 0xe8)
		return;
	leave = target(dtors + end - 7, code + end - 11);
	if (leave < enter && enter - leave <= LEAF_MOST)
		add(crt, leave, enter, WORD, false);
}

void sample_crt_find(struct sample_crt *crt, const struct sample_crt_ask *ask)
{
	crt->cnt = 0;
	find_calls(crt, ask, ask->init);
	find_calls(crt, ask, ask->fini);
	find_begin(crt, ask);
}

#else
/* On other machines they have frame pointers. */
void sample_crt_find(struct sample_crt *crt, const struct sample_crt_ask *ask)
{
	(void)ask;
	crt->cnt = 0;
}
#endif

bool sample_crt_row(const struct sample_crt *crt, uint64_t address, struct sl_row *row)
{
	for (unsigned i = 0; i < crt->cnt; i++) {
		const struct sample_crt_part *p = &crt->part[i];

		if (address < p->from || address >= p->to)
			continue;
		*row = (struct sl_row){.kind = SL_ROW_SP,
				       .ra = -8,
				       .fp = p->has_fp ? -16 : 0,
				       .cfa = p->cfa,
				       .size = (uint32_t)(p->to - address)};
		return true;
	}
	return false;
}

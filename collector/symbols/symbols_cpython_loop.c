/*
 * symbols_cpython_loop.c - the part of CPython's loop that has no name.
 *
 * Compilers move blocks that they take to be rarely run out of a function; with some profiles that
 * is nearly the whole loop (Debian's 3.13 to 3.15). Files without a full symbol table name only the
 * rest. But from there jumps lead into the other part, to the middle of something that has an entry
 * of its own in .eh_frame, and no symbol, and from there others lead back: no call and no jump to a
 * function does that. (10 and 156 times at least, in those; 377 and 395 in Debian's 3.11. Bytes
 * that only look like jumps: once, and never back.)
 */
#include "collector/symbols/symbols_internal.h"

#include <elf.h>
#include <string.h>

#include "preload/unwind/cfi.h"

#define LOOP       "_PyEval_EvalFrameDefault"
#define PARTS      8u
#define JUMP_LEAST 4u

struct code {
	struct sl_cfi frames; /* addresses are those of the file */
	const uint8_t *at;    /* of the executable segment, in memory */
	uint64_t low, high;
};

struct part {
	uint64_t begin, end;
	unsigned jumps;
};

/* Opens the code that the program headers describe, as far as it lies in the file. */
static bool open_code(const struct elf_image *e, uint64_t address, struct code *c)
{
	Elf64_Ehdr head;
	Elf64_Phdr p, frames = {0};

	if (e->size < sizeof(head))
		return false;
	memcpy(&head, e->at, sizeof(head));
	if (head.e_phentsize != sizeof(p) || head.e_phoff > e->size ||
	    head.e_phnum > (e->size - head.e_phoff) / sizeof(p))
		return false;
	for (int pass = 0; pass < 2; pass++)
		for (unsigned i = 0; i < head.e_phnum; i++) {
			memcpy(&p, e->at + head.e_phoff + i * sizeof(p), sizeof(p));
			if (p.p_type == PT_GNU_EH_FRAME)
				frames = p;
			if (p.p_type != PT_LOAD || p.p_offset > e->size ||
			    p.p_filesz > e->size - p.p_offset)
				continue;
			if (address - p.p_vaddr < p.p_filesz) {
				c->at = e->at + p.p_offset;
				c->low = p.p_vaddr;
				c->high = p.p_vaddr + p.p_filesz;
			}
			if (frames.p_memsz && frames.p_vaddr - p.p_vaddr < p.p_filesz)
				c->frames = (struct sl_cfi){
					.header = frames.p_vaddr,
					.low = p.p_vaddr,
					.high = p.p_vaddr + p.p_filesz,
					.at = (intptr_t)(e->at + p.p_offset - p.p_vaddr)};
		}
	return c->at && c->frames.high;
}

/* Where the instruction at @p, if it is one that jumps, leads to, from @p on; 0: it is none. */
#if defined(__x86_64__)
#define STEP 1
static int64_t jump(const uint8_t *p)
{
	size_t len = p[0] == 0xe9 ? 1 : p[0] == 0x0f && (p[1] & 0xf0) == 0x80 ? 2 : 0;
	int32_t by;

	if (!len)
		return 0;
	memcpy(&by, p + len, sizeof(by));
	return (int64_t)len + 4 + by;
}
#else
#define STEP 4
static int64_t jump(const uint8_t *p)
{
	uint32_t code;

	memcpy(&code, p, sizeof(code));
	if ((code & 0xfc000000) == 0x14000000) /* b */
		return (int64_t)(int32_t)(code << 6) >> 4 & ~INT64_C(3);
	if ((code & 0xff000010) == 0x54000000 ||
	    (code & 0x7e000000) == 0x34000000) /* b.cond, cbz, cbnz */
		return (int64_t)((int32_t)(code << 8) >> 13) * 4;
	return 0;
}
#endif
#define JUMP_BYTES 6u

static uint64_t target(const struct code *c, uint64_t address)
{
	return address + (uint64_t)jump(c->at + (address - c->low));
}

/* Jumps of @part into the middle of @to. */
static unsigned jumps_back(const struct code *c, const struct part *part, uint64_t to,
			   uint64_t size)
{
	unsigned cnt = 0;

	for (uint64_t at = part->begin; at + JUMP_BYTES <= part->end; at += STEP)
		cnt += target(c, at) - to - 1 < size - 1;
	return cnt;
}

static void count(struct part *parts, uint64_t begin, uint64_t end)
{
	for (unsigned i = 0; i < PARTS; i++) {
		if (parts[i].end && parts[i].begin != begin)
			continue;
		parts[i].begin = begin;
		parts[i].end = end;
		parts[i].jumps++;
		return;
	}
}

bool symbols_loop_part(const struct symbols_table *t, const struct elf_image *e, uint64_t *at,
		       uint64_t *size)
{
	const struct symbols_entry *loop = NULL;
	struct part parts[PARTS] = {{0}}, *most = parts;
	struct code c = {.at = NULL};

	for (size_t i = 0; i < t->cnt; i++) {
		if (strncmp(t->entry[i].name, LOOP, sizeof(LOOP) - 1) != 0)
			continue;
		if (t->entry[i].name[sizeof(LOOP) - 1])
			return false; /* its parts have names */
		loop = &t->entry[i];
	}
	if (!loop || !e->at || !open_code(e, loop->at, &c) || loop->size > c.high - loop->at)
		return false;
	for (uint64_t i = 0; i + JUMP_BYTES <= loop->size; i += STEP) {
		uint64_t to = target(&c, loop->at + i), begin, end;

		if (to - loop->at >= loop->size && to - c.low < c.high - c.low &&
		    !symbols_table_find(t, to) && sl_cfi_range(&c.frames, to, &begin, &end) &&
		    begin != to && !symbols_table_find(t, begin))
			count(parts, begin, end);
	}
	for (unsigned i = 1; i < PARTS; i++)
		if (parts[i].jumps > most->jumps)
			most = &parts[i];
	*at = most->begin;
	*size = most->end - most->begin;
	return most->jumps >= JUMP_LEAST && most->begin >= c.low && most->end <= c.high &&
	       jumps_back(&c, most, loop->at, loop->size) >= JUMP_LEAST;
}

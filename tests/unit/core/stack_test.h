/*
 * stack_test.h - around the shim's stacks of calls: a ring without chunks, unwinders that return what a test wants, and
 * the emitted records, read back. Includes what is tested.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "preload/base/table.c"   /* NOLINT(bugprone-suspicious-include) */
#include "preload/core/leaving.c" /* NOLINT(bugprone-suspicious-include) */
#include "preload/core/stack.c" /* NOLINT(bugprone-suspicious-include): with what it calls replaced */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

__thread struct sl_tls sl_tls;
struct sl_proc sl_proc;
struct sl_global sl_global;

#define RING_WORDS (1u << 20)
#define TEXT       "a path"

/* ---- a ring, without chunks ---- */

struct ring {
	struct sl_chunk chunk;
	uint64_t more[RING_WORDS];
};
static __thread struct ring *ring;
static __thread unsigned room_left; /* records that find room before there is none; 0: endless */

uint64_t *sl_room_or_none(unsigned words)
{
	if (room_left && --room_left == 0) {
		room_left = 1;
		return NULL;
	}
	assert_true(sl_tls.cur + words <= sl_tls.end);
	return sl_tls.cur;
}

void sl_count_nested(void) {}

uint64_t sl_slow_ticks(void)
{
	return 0;
}

const volatile uint32_t sl_no_gate = (uint32_t)SL_GATE_NONE;
static char noted[64];

uint32_t sl_sync(void)
{
	return 0;
}

void sl_meta(enum sl_meta meta, uint64_t start, const uint64_t *payload, unsigned words,
	     const void *bytes, size_t len)
{
	(void)start;
	assert_int_equal(meta, SL_META_NOTE);
	assert_int_equal(words, 1);
	assert_int_equal(*payload, SL_NOTE_PYTHON);
	snprintf(noted, sizeof(noted), "%.*s", (int)len, (const char *)bytes);
}

static void begin_thread(void)
{
	ring = calloc(1, sizeof(*ring));
	assert_non_null(ring);
	memset(&sl_tls, 0, sizeof(sl_tls));
	sl_tls.chunk = &ring->chunk;
	sl_tls.cur = ring->chunk.data;
	sl_tls.end = ring->more + RING_WORDS;
	sl_tls.agg = calloc(SL_HOOK_MAX, sizeof(struct sl_agg));
	room_left = 0;
}

static void end_thread(void)
{
	free(sl_tls.agg);
	free(ring);
}

/* ---- unwinders ---- */

static __thread uint64_t native[SL_FRAME_MAX], python[SL_FRAME_MAX];
static __thread unsigned native_cnt, python_cnt, new_modules, new_codes;
static __thread void (*meanwhile)(void);
static unsigned modules_left, codes_left, module_tries;
static uint32_t generation, code_lines;
static bool no_room, python_is_gone;

static unsigned give(uint64_t *to, unsigned room, unsigned depth, const uint64_t *from,
		     unsigned cnt)
{
	assert_true(room >= depth + 1);
	if (cnt > depth) {
		memcpy(to, from, depth * sizeof(*to));
		to[depth] = SL_FRAME_REMARK | SL_REMARK_DEPTH;
		return depth + 1;
	}
	memcpy(to, from, cnt * sizeof(*to));
	return cnt;
}

unsigned sl_unwind(uint64_t *frames, unsigned room, unsigned depth, unsigned *fresh)
{
	unsigned cnt = give(frames, room, depth, native, native_cnt);

	*fresh += new_modules;
	if (meanwhile)
		meanwhile();
	return cnt;
}

bool sl_unwind_prepare(void)
{
	return true;
}

bool sl_unwind_next_module(struct sl_module *m)
{
	static const uint8_t id[] = {1, 2, 3, 4, 5};

	module_tries++;
	if (!modules_left)
		return false;
	modules_left--;
	*m = (struct sl_module){0x1000, 0x2000, 0x1000, TEXT, id, sizeof(id)};
	return true;
}

uint32_t sl_unwind_generation(void)
{
	return generation;
}

void sl_unwind_forget(void)
{
	generation++;
}

void sl_pystack_forget(void) {}

bool sl_unwind_has_room(void)
{
	return !no_room;
}

bool sl_pystack_is_readable(void)
{
	return !python_is_gone;
}

void sl_pystack_rescan(bool is_loading)
{
	(void)is_loading;
}

static const char *note;

const char *sl_pystack_take_note(void)
{
	const char *taken = note;

	note = NULL;
	return taken;
}

bool sl_pystack_has(void)
{
	return python_cnt != 0;
}

unsigned sl_pystack(uint64_t *frames, unsigned room, unsigned depth, unsigned *fresh)
{
	*fresh += new_codes;
	return give(frames, room, depth, python, python_cnt);
}

bool sl_pystack_next_code(struct sl_pycode *c, char *room)
{
	(void)room;
	static uint8_t lines[100000];

	if (!codes_left)
		return false;
	for (unsigned i = 0; i < sizeof(lines); i++)
		lines[i] = (uint8_t)(i * 7);
	*c = (struct sl_pycode){codes_left--, 12,    0x030b,    "file.py",
				"Class.name", lines, code_lines};
	return true;
}

/* ---- emitted records ---- */

struct record {
	enum sl_meta meta;
	unsigned words;
	const uint64_t *payload;
	uint64_t start, duration;
	unsigned payload_words;
};

/* The record at *@at of the published ones. False: there is no more. */
static bool next(const uint64_t **at, struct record *r)
{
	const uint64_t *end = ring->chunk.data + sl_tls.chunk->committed / 8, *w = *at;
	uint32_t head;
	unsigned used;

	if (w >= end)
		return false;
	head = (uint32_t)(w[1] >> 32);
	used = 2 + !!(sl_head_flags(head) & SL_REC_LONG);
	*r = (struct record){.meta = (enum sl_meta)sl_head_hook(head),
			     .words = sl_head_words(head),
			     .payload = w + used,
			     .start = w[0],
			     .duration = used == 3 ? w[2] : (uint32_t)w[1],
			     .payload_words = sl_head_words(head) - used};
	assert_true(r->words >= used && w + r->words <= end);
	*at = w + r->words;
	return true;
}

static unsigned count(enum sl_meta meta)
{
	const uint64_t *at = ring->chunk.data;
	struct record r;
	unsigned cnt = 0;

	while (next(&at, &r))
		cnt += r.meta == meta;
	return cnt;
}

/* As the wrapper of a call does. Its number, 0: it has no stack. */
static uint32_t call_for(uint64_t ticks)
{
	struct sl_call call = {.start = 1000, .duration = ticks};
	uint32_t id = sl_stack_take(&call, SL_STACK_OF_OSRT), before;

	assert_false(sl_tls.busy);
	if (!id || !sl_begin_write())
		return 0;
	before = sl_tls.chunk->committed;
	sl_stack_put(&call, id, 4);
	assert_int_equal(sl_tls.chunk->committed, before);
	sl_commit(sl_tls.cur); /* the record, of no words */
	sl_end_write();
	return id;
}

static uint32_t call_from(uint64_t place)
{
	native[0] = place;
	native[1] = 0x77;
	native_cnt = 2;
	return call_for(100);
}

static struct sl_session session = {.stack_kinds = 15, .stack_depth = 128};
static uint64_t last_place = 1;

static int begin(void **state)
{
	(void)state;
	sl_global.session = &session;
	sl_global.arena = mmap(NULL, sizeof(struct sl_arena), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	native_cnt = python_cnt = new_modules = new_codes = 0;
	modules_left = codes_left = module_tries = code_lines = 0;
	modules_due = 0;
	session.stack_depth = 128;
	no_room = python_is_gone = false;
	begin_thread();
	/* Stacks of other tests are at other addresses. */
	last_place += 1u << 24;
	return 0;
}

static int end(void **state)
{
	(void)state;
	end_thread();
	munmap(sl_global.arena, sizeof(struct sl_arena));
	return 0;
}

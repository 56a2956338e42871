/*
 * pystack.c - walks the Python frames of the calling thread, and keeps a table of known code objects.
 *
 * Frames for which the interpreter's loop was entered from C (SL_FRAME_ENTRY): up to 3.10 every frame; in 3.11 those with a
 * flag; later those followed by a frame of C code.
 */
#include "preload/unwind/pystack.h"

#include <stddef.h>
#include <string.h>

#include "preload/base/state.h"
#include "preload/base/table.h"
#include "preload/unwind/pyfind.h"
#include "preload/unwind/pytext.h"
#include "preload/unwind/unwind_internal.h"

#define NOT_BEGUN 0xffffffu /* as in frame.h: offset / 2 */
#define WALK_MAX  100000u   /* frames: more are a cycle */
/* Code objects: the first ones are in a small table of a few pages, as programs mostly use few; others are hashed. */
#define EARLY_CNT    512u
#define EARLY_PROBES 2u
#define CODE_CNT     32768u
#define PROBE_CNT    8u

/* ---- the frames of a thread ---- */

struct walk {
	const struct sl_python *py;
	const char *frame;                  /* next frame, of the current interpreter */
	const char *then[SL_PYTHON_NESTED]; /* next frame of each interpreter */
	unsigned cnt, at;                   /* number of interpreters; the current one */
	uint32_t left;
	bool had; /* the current run of the loop had a Python frame */
};

struct frame {
	const char *code;
	uint32_t unit; /* index of the instruction, or NOT_BEGUN */
	bool is_entry;
};

enum step {
	STEP_FRAME,
	STEP_LOOP, /* a run of the loop without a Python frame */
	STEP_END,
	STEP_BROKEN,
};

static uint32_t unit_of(const struct sl_pylayout *at, const char *frame, const char *code)
{
	const char *p = frame + at->instruction, *copies;
	const char *first = code + at->bytecode;
	uint64_t unit;

	if (!at->bytecode) {
		int32_t last = *(const int32_t *)p;

		if (last < 0)
			return NOT_BEGUN;
		/* Up to 3.9 in bytes. */
		return at->version < 0x030a ? (uint32_t)last / 2 : (uint32_t)last;
	}
	copies = at->copies ? sl_python_load(code + at->copies) : NULL;
	if (copies && sl_python_is_pointer(copies)) {
		int32_t number = *(const int32_t *)(frame + at->copy_number);

		if (number >= 0 && number < *(const int64_t *)copies)
			first = sl_python_load(copies + 8 + 8 * (size_t)number);
	}
	/* 3.11 and 3.12: before the first instruction, if it has not begun. */
	unit = ((uintptr_t)sl_python_load(p) - (uintptr_t)first) / 2;
	return unit < NOT_BEGUN ? (uint32_t)unit : NOT_BEGUN;
}

static bool is_c(const struct sl_pylayout *at, const char *frame)
{
	return at->owner && frame[at->owner] >= SL_PYLAYOUT_OWNED_BY_C;
}

static bool is_entry(const struct sl_pylayout *at, const char *frame, const char *previous)
{
	if (at->is_entry)
		return frame[at->is_entry] != 0;
	return !at->owner || !sl_python_is_pointer(previous) || is_c(at, previous);
}

/* ---- nested interpreters ---- */

/*
 * Position on the native stack of the run of the loop that @frame belongs to: its frame of C code is a local variable of
 * the loop. Up to 3.11 there is none: the first interpreter is the innermost.
 */
static uintptr_t place_of(const struct walk *w, const char *frame)
{
	const struct sl_pylayout *at = &w->py->at;
	uint32_t left = w->left;

	for (; frame && sl_python_is_pointer(frame) && left--;
	     frame = sl_python_load(frame + at->previous))
		if (is_c(at, frame))
			return at->base && !sl_python_load(frame + at->previous) ? UINTPTR_MAX
										 : (uintptr_t)frame;
	return UINTPTR_MAX;
}

/* Continues with the innermost remaining run of the loop. False: none is left. */
static bool next_run(struct walk *w)
{
	uintptr_t innermost = UINTPTR_MAX;

	if (w->cnt < 2)
		return w->frame;
	w->then[w->at] = w->frame;
	w->frame = NULL;
	for (unsigned i = 0; i < w->cnt; i++) {
		uintptr_t place = w->then[i] ? place_of(w, w->then[i]) : UINTPTR_MAX;

		if (!w->then[i] || (w->frame && place >= innermost))
			continue;
		w->frame = w->then[i];
		w->at = i;
		innermost = place;
	}
	return w->frame;
}

/* Frames that are being unmapped: the first one, and the first that stays. */
static __thread struct {
	const char *first, *stays;
} unmapped __attribute__((tls_model("initial-exec")));

static bool begin_walk(struct walk *w)
{
	w->cnt = sl_python_frames(w->py, w->then);
	for (unsigned i = 0; i < w->cnt; i++)
		if (w->then[i] == unmapped.first)
			w->then[i] = unmapped.stays;
	w->at = 0;
	w->frame = w->cnt ? w->then[0] : NULL;
	return next_run(w);
}

static enum step step(struct walk *w, struct frame *f)
{
	const struct sl_pylayout *at = &w->py->at;

	for (;;) {
		const char *frame = w->frame;
		bool had = w->had;

		if (!frame) {
			if (!next_run(w))
				return STEP_END;
			continue;
		}
		if (!sl_python_is_pointer(frame) || !w->left)
			return STEP_BROKEN;
		w->left--;
		w->frame = sl_python_load(frame + at->previous);
		if (is_c(at, frame)) {
			/* The sentinel after all others is no run of the loop. */
			if (at->base && !w->frame)
				had = true;
			w->had = false;
			next_run(w);
			if (!had)
				return STEP_LOOP;
			continue;
		}
		/* The lowest bits may be tags of a reference (3.14). */
		f->code =
			(const char *)((uintptr_t)sl_python_load(frame + at->code) & ~(uintptr_t)7);
		if (!sl_python_is_pointer(f->code) ||
		    sl_python_load(f->code + at->type) != w->py->code_type)
			return STEP_BROKEN;
		/* Frames that call __init__ (from 3.12 on) are internal to Python. */
		if (at->owner &&
		    sl_python_load(f->code + at->name) == sl_python_load(f->code + at->file))
			continue;
		w->had = true;
		f->unit = unit_of(at, frame, f->code);
		f->is_entry = is_entry(at, frame, w->frame);
		return STEP_FRAME;
	}
}

/* ---- known code objects ---- */

/*
 * By address, and by fields that distinguish a code object from a later one at the same address. A writer makes @seq odd;
 * an entry is valid if @seq is even and the same before and after reading.
 */
struct code {
	_Alignas(64) uint32_t seq;
	uint32_t id;
	const char *code, *name, *file, *lines;
	uint32_t first_line;
	uint32_t recorded; /* 1: taken by sl_pystack_next_code() */
};
static SL_APART struct code early[EARLY_CNT];

static struct code *get_codes(void)
{
	return sl_table(SL_TABLE_CODES, sizeof(struct code) * CODE_CNT);
}

bool sl_pystack_prepare(void)
{
	return get_codes() != NULL;
}

#define LOAD(at)         __atomic_load_n(&(at), __ATOMIC_RELAXED)
#define STORE(at, value) __atomic_store_n(&(at), value, __ATOMIC_RELAXED)

void sl_pystack_forget(void)
{
	for (unsigned i = 0; i < EARLY_CNT; i++)
		STORE(early[i].code, NULL);
	sl_table_clear(SL_TABLE_CODES);
}

/*
 * The @i-th place for a hash: two neighbours in the small table, then PROBE_CNT in the large one. NULL: the large one cannot
 * be mapped.
 */
static struct code *place(uint32_t hash, uint32_t i)
{
	struct code *codes;

	if (i < EARLY_PROBES)
		return &early[(hash ^ i) % EARLY_CNT];
	codes = get_codes();
	return codes ? &codes[(hash + i - EARLY_PROBES) % CODE_CNT] : NULL;
}

static void read_code(const struct sl_pylayout *at, const char *code, struct code *c)
{
	c->id = 0;
	c->code = code;
	c->name = sl_python_load(code + (at->qualified_name ? at->qualified_name : at->name));
	c->file = sl_python_load(code + at->file);
	c->lines = sl_python_load(code + at->line_table);
	c->first_line = *(const uint32_t *)(code + at->first_line);
}

enum match {
	MATCH_NOT, /* another code object, or one being written */
	MATCH_FREE,
	MATCH_OLD, /* a former code object at the same address */
	MATCH_YES,
};

/* *@at_seq: the entry's @seq when it was read. */
static enum match match(const struct code *e, const struct code *c, uint32_t *id, uint32_t *at_seq)
{
	/* Acquire: pairs with the release in put_code(). */
	uint32_t seq = *at_seq = __atomic_load_n(&e->seq, __ATOMIC_ACQUIRE);
	const char *code = LOAD(e->code);
	bool same;

	if (!code)
		return MATCH_FREE;
	if (code != c->code || seq & 1)
		return MATCH_NOT;
	same = LOAD(e->name) == c->name && LOAD(e->file) == c->file && LOAD(e->lines) == c->lines &&
	       LOAD(e->first_line) == c->first_line;
	*id = LOAD(e->id);
	/* The reads above must not move after the next one. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (LOAD(e->seq) != seq)
		return MATCH_NOT;
	return same ? MATCH_YES : MATCH_OLD;
}

/* Fails if the entry was written since @seq. */
static bool put_code(struct code *e, struct code *c, uint32_t seq)
{
	if (seq & 1 || !__atomic_compare_exchange_n(&e->seq, &seq, seq + 1, false, __ATOMIC_ACQUIRE,
						    __ATOMIC_RELAXED))
		return false;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	c->id = __atomic_add_fetch(&sl_global.arena->code_serial, 1, __ATOMIC_RELAXED);
	STORE(e->id, c->id);
	STORE(e->code, c->code);
	STORE(e->name, c->name);
	STORE(e->file, c->file);
	STORE(e->lines, c->lines);
	STORE(e->first_line, c->first_line);
	STORE(e->recorded, 0);
	__atomic_store_n(&e->seq, seq + 2, __ATOMIC_RELEASE);
	return true;
}

/* The entry of @c, with its id. NULL: other threads are writing all of its places, or there is no memory for more. */
static struct code *find_code(struct code *c)
{
	uint32_t at = (uint32_t)((uintptr_t)c->code / 8 * UINT64_C(0x9e3779b97f4a7c15) >> 40);
	struct code *e;
	uint32_t seq;

	for (uint32_t i = 0; i < EARLY_PROBES + PROBE_CNT; i++) {
		e = place(at, i);
		if (!e)
			return NULL;
		switch (match(e, c, &c->id, &seq)) {
		case MATCH_YES:
			return e;
		case MATCH_FREE:
		case MATCH_OLD:
			if (put_code(e, c, seq))
				return e;
			break;
		case MATCH_NOT:
			break;
		}
	}
	/* Full: replaces an entry, round-robin. */
	e = place(at, EARLY_PROBES + LOAD(sl_global.arena->code_serial) % PROBE_CNT);
	return e && put_code(e, c, LOAD(e->seq)) ? e : NULL;
}

/* ---- stacks ---- */

/* The walk of the thread's last stack, advanced as its code objects are taken. */
static __thread struct walk last_walk __attribute__((tls_model("initial-exec")));

void sl_pystack_unmapping(const void *at, size_t bytes)
{
	const struct sl_python *py = sl_python_known();
	const char *frame, *first;
	uint32_t left = WALK_MAX;

	if (!py || py->at.version < 0x030b)
		return;
	first = frame = sl_python_frame(py);
	while (frame && sl_python_is_pointer(frame) && left--) {
		const char *code = sl_python_load(frame + py->at.code);

		/* The memory may also contain the frame's code object. */
		if ((uintptr_t)frame - (uintptr_t)at >= bytes &&
		    (uintptr_t)code - (uintptr_t)at >= bytes)
			break;
		frame = sl_python_load(frame + py->at.previous);
	}
	if (frame != first) {
		unmapped.first = first;
		unmapped.stays = frame;
	}
}

void sl_pystack_unmapped(void)
{
	unmapped.first = NULL;
}

bool sl_pystack_has(void)
{
	return sl_python_get() != NULL;
}

bool sl_pystack_is_readable(void)
{
	const struct sl_python *py = sl_python_get();
	const char *frame = py ? sl_python_frame(py) : NULL;

	return !frame || unwind_readable((uint64_t)(uintptr_t)frame & ~UINT64_C(7));
}

static uint64_t word_of(const struct walk *w, const struct frame *f, unsigned *fresh)
{
	struct code c, *e;

	read_code(&w->py->at, f->code, &c);
	e = find_code(&c);
	*fresh += e && !LOAD(e->recorded);
	return sl_frame_python(e ? c.id : 0, f->unit * 2) | (f->is_entry ? SL_FRAME_ENTRY : 0);
}

unsigned sl_pystack(uint64_t *frames, unsigned room, unsigned depth, unsigned *fresh)
{
	struct walk w = {.py = sl_python_get(), .left = WALK_MAX};
	unsigned cnt = 0, is_new = 0;
	struct frame f;
	enum step s;

	last_walk.py = NULL;
	if (!w.py || !room || !begin_walk(&w))
		return 0;
	last_walk = w;
	while ((s = step(&w, &f)) != STEP_END) {
		if (s == STEP_BROKEN || cnt >= depth || cnt + 1 >= room) {
			frames[cnt++] =
				SL_FRAME_REMARK |
				(s == STEP_BROKEN ? SL_REMARK_PYTHON_BROKEN : SL_REMARK_DEPTH);
			break;
		}
		frames[cnt++] = s == STEP_FRAME
					? word_of(&w, &f, &is_new)
					: sl_frame_python(0, NOT_BEGUN * 2) | SL_FRAME_ENTRY;
	}
	if (!is_new)
		last_walk.py = NULL;
	*fresh += is_new;
	return cnt;
}

/* ---- texts ---- */

/* The text of a str object; in @room (SL_PYTEXT_ROOM bytes) unless it is ASCII. */
static const char *text_of(const struct sl_pylayout *at, const char *object, char *room)
{
	uint32_t state, kind;
	const char *data;
	char *end = room;
	int64_t len;

	*room = 0;
	if (!sl_python_is_pointer(object))
		return room;
	state = sl_pytext_state(*(const uint32_t *)(object + at->text_state));
	kind = state & 7;
	len = *(const int64_t *)(object + at->text_length);
	/* Not compact: a subclass. */
	if (!(state & SL_PYTEXT_COMPACT))
		data = sl_python_load(object + at->text_compact);
	else
		data = object + (state & SL_PYTEXT_ASCII ? at->text_ascii : at->text_compact);
	if ((kind != 1 && kind != 2 && kind != 4) || len < 0 || !data)
		return room;
	if (kind == 1 && (state & 24) == (SL_PYTEXT_COMPACT | SL_PYTEXT_ASCII))
		return data;
	for (int64_t i = 0; i < len && end + 4 < room + SL_PYTEXT_ROOM; i++)
		end = sl_pytext_put(end, sl_pytext_at(data, kind, (size_t)i));
	*end = 0;
	return room;
}

static void fill_code(const struct sl_pylayout *at, const struct code *e, struct sl_pycode *c,
		      char *room)
{
	int64_t len = 0;

	*c = (struct sl_pycode){
		.id = e->id,
		.first_line = e->first_line,
		.version = at->version,
		.file = text_of(at, e->file, room),
		.name = text_of(at, e->name, room + SL_PYTEXT_ROOM),
	};
	if (sl_python_is_pointer(e->lines))
		len = *(const int64_t *)(e->lines + at->bytes_size);
	if (len <= 0 || len > INT32_MAX)
		return;
	c->lines = (const uint8_t *)e->lines + at->bytes;
	c->lines_len = (uint32_t)len;
}

bool sl_pystack_next_code(struct sl_pycode *out, char *room)
{
	struct walk *w = &last_walk;
	struct frame f;
	enum step s;

	while (w->py) {
		struct code c, *e;

		s = step(w, &f);
		if (s == STEP_LOOP)
			continue;
		if (s != STEP_FRAME)
			break;
		read_code(&w->py->at, f.code, &c);
		e = find_code(&c);
		if (!e || __atomic_exchange_n(&e->recorded, 1, __ATOMIC_RELAXED))
			continue;
		fill_code(&w->py->at, &c, out, room);
		return true;
	}
	w->py = NULL;
	return false;
}

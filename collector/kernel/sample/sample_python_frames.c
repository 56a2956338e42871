/* sample_python_frames.c - turns records of bpf/pysample.h into frame words. */
#include "collector/kernel/sample/sample_python_frames.h"

#include <stdbool.h>

#include "preload/wire/frame.h"

#define NOT_BEGUN 0xffffffu

struct frame {
	uint64_t code, instruction, check;
	uint8_t flag;
	bool is_last; /* of its interpreter */
};

static struct frame frame_at(const struct pyrecord *r, uint32_t i)
{
	uint64_t at = PYSAMPLE_HEAD_WORDS + (uint64_t)PYSAMPLE_FRAME_WORDS * i,
		 code = pyrecord_word(r, at);

	return (struct frame){.code = code & (UINT64_MAX >> 8),
			      .instruction = pyrecord_word(r, at + 1),
			      .check = pyrecord_word(r, at + 2),
			      .flag = (uint8_t)(code >> 56)};
}

static bool is_c(const struct pyframes_of *of, const struct frame *f)
{
	return of->from->at.owner && f->flag >= SL_PYLAYOUT_OWNED_BY_C;
}

void pyframes_meet(const struct pyframes_of *of, const struct pyrecord *r)
{
	uint32_t cnt = (uint32_t)pyrecord_word(r, PYSAMPLE_HEAD_CNT);

	for (uint32_t i = 0; i < cnt; i++) {
		struct frame f = frame_at(r, i);

		if (!is_c(of, &f))
			pycode_get(of->codes, of->from, f.code, f.check, of->serial);
	}
}

static uint32_t unit_of(const struct sl_pylayout *at, const struct frame *f)
{
	uint64_t unit;

	if (!at->bytecode) {
		int32_t last = (int32_t)f->instruction;

		return last < 0 ? NOT_BEGUN : (uint32_t)last / (at->version < 0x030a ? 2 : 1);
	}
	unit = (f->instruction - f->code - at->bytecode) / 2;
	return unit < NOT_BEGUN ? (uint32_t)unit : NOT_BEGUN;
}

/* ---- one interpreter within another ---- */

/* Frames of one interpreter, as many as are left. */
struct run {
	const struct frame *at, *end;
};

/*
 * Up to the end of its present run of the loop. *@place: the address of that on the native stack; all ones where it is
 * unknown.
 */
static const struct frame *end_of_run(const struct pyframes_of *of, const struct run *run,
				      uint64_t *place)
{
	const struct frame *f = run->at;

	while (f < run->end && !is_c(of, f))
		f++;
	*place = UINT64_MAX;
	if (f == run->end)
		return f;
	if (!(of->from->at.base && f->is_last))
		*place = f->instruction;
	return f + 1;
}

/* As they are called: the innermost run of all is the next one. */
static uint32_t merge(const struct pyframes_of *of, struct run *runs, uint32_t cnt,
		      struct frame *to)
{
	struct frame *at = to;

	for (;;) {
		const struct frame *end = NULL;
		uint64_t innermost = 0, place;
		struct run *next = NULL;

		for (uint32_t i = 0; i < cnt; i++) {
			const struct frame *e = end_of_run(of, &runs[i], &place);

			if (runs[i].at == runs[i].end || (next && place >= innermost))
				continue;
			next = &runs[i];
			innermost = place;
			end = e;
		}
		if (!next)
			return (uint32_t)(at - to);
		while (next->at < end)
			*at++ = *next->at++;
	}
}

/* All frames of a record. How many; @to has room for PYSAMPLE_DEPTH. */
static uint32_t frames_of(const struct pyframes_of *of, const struct pyrecord *r, struct frame *to)
{
	uint64_t marks = pyrecord_word(r, PYSAMPLE_HEAD_CNT);
	struct frame apart[PYSAMPLE_DEPTH];
	struct run runs[PYSAMPLE_NESTED];
	uint32_t cnt = (uint32_t)marks, found = 0, nested = 0;

	runs[nested++] = (struct run){apart, apart};
	for (uint32_t i = 0; i < cnt && i < PYSAMPLE_DEPTH; i++) {
		struct frame f = frame_at(r, i);

		if (f.code || f.instruction != PYSAMPLE_NEXT) {
			apart[found++] = f;
		} else if (nested < PYSAMPLE_NESTED) {
			if (found)
				apart[found - 1].is_last = true;
			runs[nested - 1].end = apart + found;
			runs[nested++] = (struct run){apart + found, apart + found};
		}
	}
	if (found)
		apart[found - 1].is_last = !(marks & (PYSAMPLE_DEEPER | PYSAMPLE_BROKEN));
	runs[nested - 1].end = apart + found;
	return merge(of, runs, nested, to);
}

/* ---- words ---- */

/* As pystack.c has it. */
static bool is_entry(const struct pyframes_of *of, const struct frame *f,
		     const struct frame *previous)
{
	if (of->from->at.is_entry)
		return f->flag != 0;
	return !of->from->at.owner || f->is_last || (previous && is_c(of, previous));
}

unsigned pyframes_make(const struct pyframes_of *of, const struct pyrecord *r,
		       const struct sample_sink *sink, uint64_t *frames)
{
	uint64_t marks = pyrecord_word(r, PYSAMPLE_HEAD_CNT);
	struct frame all[PYSAMPLE_DEPTH];
	uint32_t cnt = frames_of(of, r, all);
	bool had = false;
	unsigned words = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		const struct frame *f = &all[i], *previous = i + 1 < cnt ? f + 1 : NULL;
		const struct pycode *c;

		if (is_c(of, f)) {
			/* The one behind all others stands for no run of the loop. */
			if (!had && !(of->from->at.base && f->is_last))
				frames[words++] =
					sl_frame_python(0, NOT_BEGUN * 2) | SL_FRAME_ENTRY;
			had = false;
			continue;
		}
		c = pycode_get(of->codes, of->from, f->code, f->check, of->serial);
		if (!c || !c->number) {
			frames[words++] = SL_FRAME_REMARK | SL_REMARK_PYTHON_BROKEN;
			return words;
		}
		if (c->is_hidden)
			continue;
		had = true;
		*of->nameless += !c->name;
		pycode_tell(c, of->from->at.version, sink);
		frames[words++] = sl_frame_python(c->number, unit_of(&of->from->at, f) * 2) |
				  (is_entry(of, f, previous) ? SL_FRAME_ENTRY : 0);
	}
	if (marks & PYSAMPLE_BROKEN)
		frames[words++] = SL_FRAME_REMARK | SL_REMARK_PYTHON_BROKEN;
	else if (marks & PYSAMPLE_DEEPER)
		frames[words++] = SL_FRAME_REMARK | SL_REMARK_DEPTH;
	return words;
}

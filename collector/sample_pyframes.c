/* sample_pyframes.c - see sample_pyframes.h. */
#include "collector/sample_pyframes.h"

#include <stdbool.h>

#include "preload/frame.h"

#define NOT_BEGUN 0xffffffu

struct frame {
	uint64_t code, instruction, check;
	uint8_t flag;
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
	/* Of copies (from 3.14 on, without GIL) the address says nothing here. */
	unit = (f->instruction - f->code - at->bytecode) / 2;
	return unit < NOT_BEGUN && !at->copies ? (uint32_t)unit : NOT_BEGUN;
}

/* As pystack.c has it; @is_last: the outermost frame. */
static bool is_entry(const struct pyframes_of *of, const struct frame *f,
		     const struct frame *previous, bool is_last)
{
	if (of->from->at.is_entry)
		return f->flag != 0;
	return !of->from->at.owner || is_last || (previous && is_c(of, previous));
}

unsigned pyframes_make(const struct pyframes_of *of, const struct pyrecord *r,
		       const struct sample_sink *sink, uint64_t *frames)
{
	uint64_t marks = pyrecord_word(r, PYSAMPLE_HEAD_CNT);
	uint32_t cnt = (uint32_t)marks;
	bool is_whole = !(marks & (PYSAMPLE_DEEPER | PYSAMPLE_BROKEN)), had = false;
	unsigned words = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		struct frame f = frame_at(r, i), previous;
		const struct pycode *c;
		bool has_previous = i + 1 < cnt;

		if (is_c(of, &f)) {
			/* The one behind all others stands for no run of the loop. */
			if (!had && !(of->from->at.base && !has_previous && is_whole))
				frames[words++] =
					sl_frame_python(0, NOT_BEGUN * 2) | SL_FRAME_ENTRY;
			had = false;
			continue;
		}
		c = pycode_get(of->codes, of->from, f.code, f.check, of->serial);
		if (!c || !c->number) {
			frames[words++] = SL_FRAME_REMARK | SL_REMARK_PYTHON_BROKEN;
			return words;
		}
		if (c->is_hidden)
			continue;
		had = true;
		if (has_previous)
			previous = frame_at(r, i + 1);
		pycode_tell(c, of->from->at.version, sink);
		frames[words++] = sl_frame_python(c->number, unit_of(&of->from->at, &f) * 2) |
				  (is_entry(of, &f, has_previous ? &previous : NULL,
					    !has_previous && is_whole)
					   ? SL_FRAME_ENTRY
					   : 0);
	}
	if (marks & PYSAMPLE_BROKEN)
		frames[words++] = SL_FRAME_REMARK | SL_REMARK_PYTHON_BROKEN;
	else if (marks & PYSAMPLE_DEEPER)
		frames[words++] = SL_FRAME_REMARK | SL_REMARK_DEPTH;
	return words;
}

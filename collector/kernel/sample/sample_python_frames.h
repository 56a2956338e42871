/*
 * sample_python_frames.h - Python's frames of one stack: from eBPF's records (bpf/pysample.h) to
 * words of preload/wire/frame.h.
 */
#pragma once

#include <stdint.h>

#include "collector/kernel/bpf/pysample.h"
#include "collector/kernel/sample/sample_python_code.h"

/* One that lies in a ring, or by itself (@mask all ones). */
struct pyrecord {
	const uint64_t *words;
	uint64_t at, mask;
};

static inline uint64_t pyrecord_word(const struct pyrecord *r, uint64_t i)
{
	return r->words[(r->at + i) & r->mask];
}

static inline uint64_t pyrecord_words(const struct pyrecord *r)
{
	return PYSAMPLE_HEAD_WORDS +
	       (uint64_t)PYSAMPLE_FRAME_WORDS * (uint32_t)pyrecord_word(r, PYSAMPLE_HEAD_CNT);
}

/* The image of a process, and its code objects. */
struct pyframes_of {
	const struct pycode_from *from;
	struct pycodes *codes;
	uint32_t *serial;   /* of all code objects */
	uint64_t *nameless; /* counts frames of code objects that were gone before they were read */
};

/* Code objects get their names. */
void pyframes_meet(const struct pyframes_of *of, const struct pyrecord *r);
/* How many words of @frames, and @sink knows the names. */
unsigned pyframes_make(const struct pyframes_of *of, const struct pyrecord *r,
		       const struct sample_sink *sink, uint64_t *frames);

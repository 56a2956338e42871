/* pylayout.c - offsets in CPython's structures: a table by version, and _Py_DebugOffsets from 3.13 on. */
#include "preload/unwind/pylayout.h"

#include <string.h>

/* Offsets that are the same from 3.8 to 3.12. */
#define OBJECTS                                                                        \
	.type = 8, .bytes_size = 16, .bytes = 32, .text_length = 16, .text_state = 32, \
	.next_thread = 8, .gil_holder = 8, .gil_locked = 16
#define TEXTS_WITH_WCHAR    .text_ascii = 48, .text_compact = 72
#define TEXTS_WITHOUT_WCHAR .text_ascii = 40, .text_compact = 56
#define BEFORE_3_11                                                                       \
	OBJECTS, TEXTS_WITH_WCHAR, .finalizing = 16, .lock = 24, .interpreters = 32,      \
				   .next_interpreter = 0, .threads = 8, .thread_id = 176, \
				   .locals = 64, .generator_frame = 16, .current = 24,    \
				   .previous = 24, .code = 32, .name = 112, .file = 104,  \
				   .first_line = 40, .line_table = 120

static const struct sl_pylayout known[] = {
	{.version = 0x0308,
	 BEFORE_3_11,
	 .instruction = 104,
	 .gil = 1152,
	 .modules = 56,
	 .stack = 72},
	{.version = 0x0309,
	 BEFORE_3_11,
	 .instruction = 104,
	 .gil = 352,
	 .modules = 856,
	 .stack = 72},
	{.version = 0x030a,
	 BEFORE_3_11,
	 .instruction = 96,
	 .gil = 352,
	 .modules = 856,
	 .stack = 80},
	{.version = 0x030b,
	 OBJECTS,
	 TEXTS_WITH_WCHAR,
	 .finalizing = 24,
	 .gil = 360,
	 .lock = 32,
	 .interpreters = 40,
	 .next_interpreter = 0,
	 .threads = 16,
	 .modules = 888,
	 .thread_id = 152,
	 .stack = 64,
	 .locals = 72,
	 .generator_frame = 80,
	 .generator_state = 75,
	 .current = 56,
	 .has_cframe = true,
	 .cframe_current = 8,
	 .previous = 48,
	 .code = 32,
	 .instruction = 56,
	 .is_entry = 68,
	 .name = 120,
	 .qualified_name = 128,
	 .file = 112,
	 .first_line = 72,
	 .line_table = 136,
	 .bytecode = 184},
	{.version = 0x030c,
	 OBJECTS,
	 TEXTS_WITHOUT_WCHAR,
	 .finalizing = 24,
	 .gil = 384,
	 .interpreters = 40,
	 .next_interpreter = 0,
	 .threads = 72,
	 .modules = 944,
	 .thread_id = 136,
	 .stack = 64,
	 .locals = 72,
	 .generator_frame = 72,
	 .generator_state = 67,
	 .current = 56,
	 .has_cframe = true,
	 .cframe_current = 0,
	 .previous = 8,
	 .code = 0,
	 .instruction = 56,
	 .owner = 70,
	 .name = 120,
	 .qualified_name = 128,
	 .file = 112,
	 .first_line = 68,
	 .line_table = 136,
	 .bytecode = 192},
};

/*
 * _Py_DebugOffsets: 64-bit words in groups, each of which begins with the size of the structure that it describes (the
 * first: with the cookie). Groups grow with versions, so the table has the number of words of each.
 */
struct shape {
	uint32_t version;
	/* Words of the groups that differ: thread and what follows it; type and heap types. */
	uint8_t interpreter, thread, frame, code, type, set;
	uint8_t base, thread_id; /* indices of words of the thread; base 0: it has none */
	uint8_t text,
		gc; /* words of str, and of the collector of garbage; 0: no group of generators follows */
};
/*
 * For a new version, count the members of struct _Py_DebugOffsets in CPython's Include/internal/pycore_debug_offsets.h
 * (3.13: pycore_runtime.h). A line has the number of members, each of them a uint64_t, of
 *   interpreter_state  3.13: 13 from size to gil_runtime_state_holder; 3.14: + threads_main, code_object_generation,
 *                      tlbc_generation
 *   thread_state       9 from size to status; 3.15: + base_frame, last_profiled_frame, last_profiled_frame_seq, holds_gil,
 *                      gil_requested, current_exception, exc_state, and exc_value of err_stackitem, the next group
 *   interpreter_frame  3.13: 6 from size to owner; 3.14: + stackpointer, tlbc_index
 *   code_object        3.13: 10 from size to co_code_adaptive; 3.14: + co_tlbc
 *   type_object        4 from size to tp_flags; 3.15: + tp_basicsize, tp_dictoffset, and size and ht_cached_keys of
 *                      heap_type_object, the next group
 *   set_object         3.14: 4; 3.13 has no such group
 * the indices of base_frame and thread_id in thread_state, and the number of members of
 *   unicode_object     3.14: 4; 3.15: + compactunicodeobject_size
 *   gc                 3.14: 2; 3.15: + frame, generation_stats_size, generation_stats The lines below the first of 3.14 are states of the header
 * before some of these members were added. The groups without a column have the sizes of the enumeration below.
 */
static const struct shape shapes[] = {
	{0x030d, 13, 9, 6, 10, 4, 0, 0, 5, 0, 0},  {0x030e, 16, 9, 8, 11, 4, 4, 0, 5, 4, 2},
	{0x030e, 15, 9, 8, 11, 4, 4, 0, 5, 4, 2}, /* release candidates of 3.14 */
	{0x030e, 14, 9, 8, 11, 4, 4, 0, 5, 4, 2},  {0x030e, 14, 9, 7, 10, 4, 4, 0, 5, 4, 2},
	{0x030f, 16, 17, 8, 11, 8, 4, 5, 8, 5, 5},
};

enum {
	HEAD_WORDS = 3, /* cookie, version, free-threaded */
	RUNTIME_WORDS = 3,
	OBJECT_WORDS = 2,
	TUPLE_WORDS = 3,
	LIST_WORDS = 3,
	DICT_WORDS = 3,
	FLOAT_WORDS = 2,
	LONG_WORDS = 3,
	BYTES_WORDS = 3,
};

/* Whether the size is plausible and the @cnt offsets after it are inside of it. */
static bool is_sane(const uint64_t *group, unsigned cnt, uint64_t least, uint64_t most)
{
	if (group[0] < least || group[0] > most)
		return false;
	for (unsigned i = 1; i < cnt; i++)
		if (group[i] >= group[0])
			return false;
	return true;
}

/* Of the group of generators, and of what belongs to it in the others; false: they are not plausible. */
static bool read_generators(struct sl_pylayout *l, const uint64_t *frame, const uint64_t *text,
			    const struct shape *s)
{
	const uint64_t *generator = text + s->text + s->gc;

	if (!s->text) { /* 3.13 */
		l->stack = 64;
		l->locals = (uint32_t)frame[4];
		l->generator_frame = 72;
		l->generator_state = 67;
		return true;
	}
	if (!is_sane(generator, 4, 64, 512))
		return false;
	l->locals = (uint32_t)frame[4];
	l->stack = (uint32_t)frame[6];
	l->generator_frame = (uint32_t)generator[2];
	l->generator_state = (uint32_t)generator[3];
	return true;
}

static bool read_shape(struct sl_pylayout *l, const uint64_t *words, const struct shape *s)
{
	const uint64_t *runtime = words + HEAD_WORDS, *interpreter = runtime + RUNTIME_WORDS;
	const uint64_t *thread = interpreter + s->interpreter, *frame = thread + s->thread;
	const uint64_t *code = frame + s->frame, *object = code + s->code;
	const uint64_t *list = object + OBJECT_WORDS + s->type + TUPLE_WORDS;
	const uint64_t *bytes = list + LIST_WORDS + s->set + DICT_WORDS + FLOAT_WORDS + LONG_WORDS;
	const uint64_t *text = bytes + BYTES_WORDS;
	/* Where the lock is, and inside of the interpreter its own one with its parts; release candidates of 3.14 have them elsewhere. */
	const uint64_t *gil = s->interpreter == 13   ? interpreter + 8
			      : s->interpreter == 16 ? interpreter + 9
						     : NULL;
	bool free_threaded = words[2] == 1;

	if (!is_sane(runtime, RUNTIME_WORDS, 1024, 16 << 20) ||
	    !is_sane(interpreter, 5, 1024, 16 << 20) || !is_sane(thread, 8, 128, 65536) ||
	    !is_sane(frame, 6, 64, 256) || !is_sane(code, 9, 128, 512) ||
	    !is_sane(object, 2, 16, 64) || !is_sane(bytes, 3, 24, 128) ||
	    !is_sane(text, 3, 48, 256))
		return false;
	/* These have never changed; nor has what the others are next to. */
	if (object[0] != (free_threaded ? 32u : 16u) || object[1] != object[0] - 8 ||
	    bytes[1] != object[0] || bytes[2] != object[0] + 16 || text[2] != object[0] ||
	    text[3] != object[0] + 24 || text[1] != object[0] + 16 || frame[1] % 8 ||
	    frame[2] % 8 || frame[3] % 8 || thread[4] % 8 || code[4] % 8 || code[5] % 4)
		return false;
	*l = (struct sl_pylayout){
		.version = s->version,
		.finalizing = (uint32_t)runtime[1],
		.interpreters = (uint32_t)runtime[2],
		.gil = gil ? (uint32_t)gil[0] : 0,
		.gil_locked = gil ? (uint32_t)(gil[3] - gil[1]) : 0,
		.gil_holder = gil ? (uint32_t)(gil[4] - gil[1]) : 0,
		.next_interpreter = (uint32_t)interpreter[2],
		.threads = (uint32_t)interpreter[3],
		.modules = (uint32_t)interpreter[s->interpreter == 13 ? 5 : 6],
		.next_thread = (uint32_t)thread[2],
		.thread_id = (uint32_t)thread[s->thread_id],
		.current = (uint32_t)thread[4],
		.base = s->base ? (uint32_t)thread[s->base] : 0,
		.previous = (uint32_t)frame[1],
		.code = (uint32_t)frame[2],
		.instruction = (uint32_t)frame[3],
		.owner = (uint32_t)frame[5],
		.file = (uint32_t)code[1],
		.name = (uint32_t)code[2],
		.qualified_name = (uint32_t)code[3],
		.line_table = (uint32_t)code[4],
		.first_line = (uint32_t)code[5],
		.bytecode = (uint32_t)code[9],
		.type = (uint32_t)object[1],
		.bytes_size = (uint32_t)bytes[1],
		.bytes = (uint32_t)bytes[2],
		.text_state = (uint32_t)text[1],
		.text_length = (uint32_t)text[2],
		.text_ascii = (uint32_t)text[3],
		/* + utf8_length and utf8 */
		.text_compact = (uint32_t)text[3] + 16,
	};
	if (free_threaded && s->frame == 8 && s->code == 11) {
		l->copy_number = (uint32_t)frame[7];
		l->copies = (uint32_t)code[10];
	}
	/* Without them there are no tasks of asyncio; all else is known. */
	if (!read_generators(l, frame, text, s))
		l->generator_frame = 0;
	return true;
}

bool sl_pylayout_get(struct sl_pylayout *l, uint32_t hex, const void *runtime)
{
	const uint64_t *words = runtime;

	/* Before its first release candidate a version may still change. */
	if ((hex >> 4 & 0xf) < 0xc)
		return false;
	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].version == hex >> 16) {
			*l = known[i];
			return true;
		}
	if (!runtime || memcmp(runtime, "xdebugpy", 8) != 0 || words[1] != hex)
		return false;
	for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		if (shapes[i].version == hex >> 16 && read_shape(l, words, &shapes[i]))
			return true;
	return false;
}

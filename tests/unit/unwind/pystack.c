/*
 * pystack.c - stacks of an interpreter that is made here: a 3.14, with and without the global lock, as it describes itself;
 * damaged memory, texts of every kind, code objects that come and go. Real interpreters: tests/e2e/python/pystack.t.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "preload/base/table.c"      /* NOLINT(bugprone-suspicious-include) */
#include "preload/unwind/pyfind.c"   /* NOLINT(bugprone-suspicious-include) */
#include "preload/unwind/pylayout.c" /* NOLINT(bugprone-suspicious-include) */
#include "preload/unwind/pystack.c"  /* NOLINT(bugprone-suspicious-include) */

#include <cmocka.h>

/* ---- in place of the rest of the tracer ---- */

static struct sl_arena *arena;
struct sl_global sl_global;
void *sl_real[SL_HOOK_CNT];
static char note_taken[256];
static unsigned notes;

void *sl_resolve(enum sl_hook hook)
{
	(void)hook;
	return NULL;
}

bool unwind_readable(uint64_t address)
{
	return address != 0;
}

static void take_note(void)
{
	const char *text = sl_pystack_take_note();

	if (!text)
		return;
	snprintf(note_taken, sizeof(note_taken), "%s", text);
	notes++;
}

#include "tests/unit/lib/fake_python.h"

static void begin(unsigned long version, unsigned interpreter_words, bool free_threaded)
{
	static char state[400];

	if (!arena)
		arena = calloc(1, sizeof(*arena));
	sl_global.arena = arena;
	sl_global.session = (const struct sl_session *)arena;
	head = free_threaded ? 32 : 16;
	hex = version;
	describe(interpreter_words, free_threaded);
	thread = state;
	memset(state, 0, sizeof(state));
	python_cnt = 0;
	assert_true(sl_pystack_prepare());
	memset(sl_tables[SL_TABLE_CODES].at, 0, sl_tables[SL_TABLE_CODES].bytes);
	notes = 0;
	python = NULL;
	sl_pystack_rescan(false);
}

static void run(char *frame)
{
	*(char **)(thread + 72) = frame;
}

#define FINAL 0x030e00f0ul

static uint64_t words[SL_FRAME_MAX];
static char text_room[2 * SL_PYTEXT_ROOM];
static unsigned fresh;

static unsigned take(void)
{
	fresh = 0;
	return sl_pystack_has() ? sl_pystack(words, SL_FRAME_MAX, SL_FRAME_MAX - 1, &fresh) : 0;
}

static void a_stack_has_its_frames_in_every_layout(void **state)
{
	(void)state;
	for (int round = 0; round < 5; round++) {
		/* Groups as in the release, as in its candidates, and without the lock. */
		static const unsigned interpreter_words[] = {16, 15, 14, 16, 15};
		struct sl_pycode c;
		char *inner, *outer, *f;

		begin(FINAL, interpreter_words[round], round >= 3);
		inner = make_code(ascii("/dir/a.py"), ascii("C.inner"), 7);
		outer = make_code(ascii("/dir/b.py"), ascii("outer"), 70);
		f = make_frame(enter(NULL), outer, 3, OWNER_THREAD);
		f = make_frame(f, inner, 5, OWNER_THREAD);
		f = make_frame(enter(f), inner, 0, 1);
		run(f);
		assert_int_equal(take(), 3);
		assert_int_equal(fresh, 3);
		assert_true(words[0] & SL_FRAME_ENTRY);
		assert_false(words[1] & SL_FRAME_ENTRY);
		assert_true(words[2] & SL_FRAME_ENTRY);
		assert_int_equal(sl_frame_offset(words[0]), 0);
		assert_int_equal(sl_frame_offset(words[1]), 10);
		assert_int_equal(sl_frame_offset(words[2]), 6);
		assert_int_equal(sl_frame_code(words[0]), sl_frame_code(words[1]));
		assert_true(sl_pystack_next_code(&c, text_room));
		assert_int_equal(c.id, sl_frame_code(words[0]));
		assert_string_equal(c.file, "/dir/a.py");
		assert_string_equal(c.name, "C.inner");
		assert_int_equal(c.first_line, 7);
		assert_int_equal(c.version, 0x030e);
		assert_int_equal(c.lines_len, 2);
		assert_int_equal(c.lines[0], 0x80);
		assert_true(sl_pystack_next_code(&c, text_room));
		assert_string_equal(c.name, "outer");
		assert_false(sl_pystack_next_code(&c, text_room));
		/* Met again: emitted already, and there is nothing to take. */
		assert_int_equal(take(), 3);
		assert_int_equal(fresh, 0);
		assert_false(sl_pystack_next_code(&c, text_room));
		run(NULL);
		assert_int_equal(take(), 0);
		thread = NULL;
		assert_int_equal(take(), 0);
	}
}

static void copies_of_bytecode_have_their_lines(void **state)
{
	static uint64_t copies[4] = {2};
	static uint16_t copy[64];
	char *code, *f;

	(void)state;
	begin(FINAL, 16, true);
	code = make_code(ascii("a"), ascii("b"), 1);
	copies[1] = (uint64_t)(code + head + BYTECODE_AT);
	copies[2] = (uint64_t)copy;
	*(uint64_t **)(code + head + COPIES_AT) = copies;
	f = make_frame(NULL, code, 9, OWNER_THREAD);
	run(f);
	assert_int_equal(take(), 1);
	assert_int_equal(sl_frame_offset(words[0]), 18);
	*(int32_t *)(f + 72) = 1;
	f[74] = OWNER_THREAD;
	*(uint16_t **)(f + 56) = copy + 6;
	assert_int_equal(take(), 1);
	assert_int_equal(sl_frame_offset(words[0]), 12);
	/* A number that there is not: no instruction, rather than any. */
	*(int32_t *)(f + 72) = 50;
	assert_int_equal(take(), 1);
	assert_true(sl_frame_offset(words[0]) == 2 * NOT_BEGUN);
}

static void runs_of_the_loop_without_frames_are_counted(void **state)
{
	char *code, *f;

	(void)state;
	begin(FINAL, 16, false);
	code = make_code(ascii("a"), ascii("b"), 1);
	f = make_frame(enter(NULL), code, 1, OWNER_THREAD);
	f = make_frame(enter(enter(f)), code, 1, OWNER_THREAD);
	run(enter(f));
	assert_int_equal(take(), 4);
	assert_true(words[0] == (SL_FRAME_PYTHON | SL_FRAME_ENTRY | (uint64_t)NOT_BEGUN << 32));
	assert_int_not_equal(sl_frame_code(words[1]), 0);
	assert_true(words[2] == words[0]);
	assert_true(words[3] & SL_FRAME_ENTRY);
}

static void hidden_frames_are_left_out(void **state)
{
	char *name, *hidden, *code, *f;

	(void)state;
	begin(FINAL, 16, false);
	code = make_code(ascii("a"), ascii("b"), 1);
	/* What calls __init__ has one text for everything. */
	name = ascii("__init__");
	hidden = make_code(name, name, 1);
	*(char **)(hidden + head + NAME_AT) = name;
	f = make_frame(enter(NULL), code, 1, OWNER_THREAD);
	f = make_frame(f, hidden, 1, OWNER_THREAD);
	run(make_frame(f, code, 2, OWNER_THREAD));
	assert_int_equal(take(), 2);
	assert_false(words[0] & SL_FRAME_ENTRY);
	assert_true(words[1] & SL_FRAME_ENTRY);
}

static void damaged_frames_end_with_a_remark(void **state)
{
	const uint64_t broken = SL_FRAME_REMARK | SL_REMARK_PYTHON_BROKEN;
	char *code, *outer, *f;

	(void)state;
	begin(FINAL, 16, false);
	code = make_code(ascii("a"), ascii("b"), 1);
	outer = make_frame(NULL, code, 1, OWNER_THREAD);
	f = make_frame(outer, code, 1, OWNER_THREAD);
	run(f);
	*(char **)outer = (char *)16;
	assert_int_equal(take(), 2);
	assert_true(words[1] == broken);
	*(char **)outer = make_code(NULL, NULL, 1);
	*(char **)(*(char **)outer + 8) = other_type;
	assert_int_equal(take(), 2);
	assert_true(words[1] == broken);
	*(uint64_t *)(f + 8) = 0xdeadbeef00000001;
	assert_int_equal(take(), 2);
	assert_true(words[1] == broken);
	/* A circle ends, at the latest where no more was asked for. */
	*(char **)(f + 8) = f;
	assert_int_equal(take(), SL_FRAME_MAX);
	assert_true(words[SL_FRAME_MAX - 1] == (SL_FRAME_REMARK | SL_REMARK_DEPTH));
	f = enter(NULL);
	*(char **)(f + 8) = f;
	run(f);
	assert_int_equal(take(), SL_FRAME_MAX);
	/* Texts and tables that are none. */
	*(char **)outer = make_code(NULL, (char *)8, 1);
	*(char **)(*(char **)outer + head + LINES_AT) = NULL;
	run(outer);
	assert_int_equal(take(), 1);
	{
		struct sl_pycode c;

		assert_true(sl_pystack_next_code(&c, text_room));
		assert_string_equal(c.file, "");
		assert_string_equal(c.name, "");
		assert_int_equal(c.lines_len, 0);
	}
}

static void depth_is_as_asked(void **state)
{
	char *code, *f = NULL;

	(void)state;
	begin(FINAL, 16, false);
	code = make_code(ascii("a"), ascii("b"), 1);
	for (int i = 0; i < 10; i++)
		f = make_frame(f ? f : enter(NULL), code, i, OWNER_THREAD);
	run(f);
	fresh = 0;
	assert_int_equal(sl_pystack(words, 5, 4, &fresh), 5);
	assert_true(words[4] == (SL_FRAME_REMARK | SL_REMARK_DEPTH));
	assert_int_equal(sl_frame_offset(words[3]), 12);
	assert_int_equal(sl_pystack(words, 11, 10, &fresh), 10);
	assert_int_equal(sl_pystack(words, 1, 0, &fresh), 1);
	assert_int_equal(sl_pystack(words, 0, 0, &fresh), 0);
}

static const char *name_of_new(char *text)
{
	struct sl_pycode c;

	run(make_frame(NULL, make_code(ascii("f"), text, 1), 1, OWNER_THREAD));
	assert_int_equal(take(), 1);
	assert_true(sl_pystack_next_code(&c, text_room));
	assert_string_equal(c.file, "f");
	return c.name;
}

static void texts_of_every_width_are_read(void **state)
{
	static const uint16_t wide[] = {0x540d, 'a', 0x524d, 0xdc80};
	static const uint32_t widest[] = {0x1f600, 'b', 0xe9};
	static uint16_t much[3000];
	const char *name;
	char *text;

	(void)state;
	begin(FINAL, 16, false);
	/* The bits of the kind have moved within 3.14 and without the lock. */
	for (unsigned shift = 2; shift <= 16; shift += shift == 2 ? 6 : 8) {
		assert_string_equal(name_of_new(make_text("plain", 5, 1, true, shift)), "plain");
		assert_string_equal(name_of_new(make_text("gr\xf6\xdf", 4, 1, false, shift)),
				    "größ");
		assert_string_equal(name_of_new(make_text(wide, 4, 2, false, shift)),
				    "名a前\ufffd");
		assert_string_equal(name_of_new(make_text(widest, 3, 4, false, shift)), "😀bé");
	}
	assert_string_equal(name_of_new(make_text("", 0, 1, true, 16)), "");
	/* Cut between characters. */
	for (unsigned i = 0; i < 3000; i++)
		much[i] = 0x540d;
	name = name_of_new(make_text(much, 3000, 2, false, 16));
	assert_true(strlen(name) > SL_PYTEXT_ROOM - 8 && strlen(name) < SL_PYTEXT_ROOM);
	assert_int_equal(strlen(name) % 3, 0);
	/* Of a subclass: the characters lie elsewhere. */
	text = make_text("", 0, 1, true, 16);
	*(uint32_t *)(text + head + 16) = 1u << 16;
	*(int64_t *)(text + head) = 5;
	*(const char **)(text + head + 40) = "other";
	assert_string_equal(name_of_new(text), "other");
	/* No kind of characters. */
	*(uint32_t *)(text + head + 16) = 7u << 16;
	assert_string_equal(name_of_new(text), "");
}

static void code_at_a_used_address_has_a_new_number(void **state)
{
	struct sl_pycode c;
	uint32_t first, ids = 0;
	char *code, *f;

	(void)state;
	begin(FINAL, 16, false);
	code = make_code(ascii("f"), ascii("first"), 1);
	f = make_frame(NULL, code, 1, OWNER_THREAD);
	run(f);
	take();
	first = sl_frame_code(words[0]);
	assert_true(sl_pystack_next_code(&c, text_room));
	/* Another lies where it was. */
	*(char **)(code + head + QUALIFIED_AT) = ascii("second");
	take();
	assert_int_equal(fresh, 1);
	assert_int_not_equal(sl_frame_code(words[0]), first);
	assert_true(sl_pystack_next_code(&c, text_room));
	assert_string_equal(c.name, "second");
	/* What was not taken is fresh again, and the same. */
	*(int32_t *)(code + head + FIRST_LINE) = 99;
	take();
	first = sl_frame_code(words[0]);
	take();
	assert_int_equal(fresh, 1);
	assert_int_equal(sl_frame_code(words[0]), first);
	assert_true(sl_pystack_next_code(&c, text_room));
	assert_int_equal(c.id, first);
	/* More than there is room for: each is emitted when it is met. */
	for (int i = 0; i < 3 * (int)CODE_CNT; i++) {
		*(int32_t *)(code + head + FIRST_LINE) = 1000 + i;
		take();
		assert_int_equal(fresh, 1);
		assert_true(sl_frame_code(words[0]) > ids);
		ids = sl_frame_code(words[0]);
		assert_true(sl_pystack_next_code(&c, text_room));
		assert_int_equal(c.id, ids);
	}
}

#define MANY (2 * CODE_CNT)

static void a_full_table_of_code_does_no_harm(void **state)
{
	char *many, *f;

	(void)state;
	begin(FINAL, 16, false);
	many = aligned_alloc(16, (size_t)MANY * CODE_BYTES);
	memset(many, 0, (size_t)MANY * CODE_BYTES);
	f = make_frame(NULL, NULL, 0, OWNER_THREAD);
	run(f);
	for (int round = 0; round < 2; round++)
		for (unsigned i = 0; i < MANY; i++) {
			char *code = many + (size_t)i * CODE_BYTES;
			struct sl_pycode c;

			*(const char **)(code + head - 8) = code_type;
			*(char **)f = code;
			*(char **)(code + head + NAME_AT) = code;
			*(int32_t *)(code + head + FIRST_LINE) = (int)i + 1;
			assert_int_equal(take(), 1);
			assert_int_not_equal(sl_frame_code(words[0]), 0);
			while (sl_pystack_next_code(&c, text_room)) {
				assert_int_equal(c.id, sl_frame_code(words[0]));
				assert_int_equal(c.first_line, i + 1);
			}
		}
	free(many);
}

/* Threads that meet the same code objects at once: whatever id one gets has been emitted, with the right line. */
#define THREADS 4
#define SHARED  200
static char *shared[SHARED];
static uint32_t line_of[1 << 22];

static void *meet(void *arg)
{
	static const unsigned steps[THREADS] = {1, 3, 7, 11};
	unsigned me = (unsigned)(uintptr_t)arg, mine;
	static char states[THREADS][400];
	uint64_t word[8];
	struct sl_pycode c;
	char *f;

	thread = states[me];
	f = make_frame(NULL, NULL, 0, OWNER_THREAD);
	run(f);
	for (unsigned i = 0; i < 20000; i++) {
		unsigned which = i * steps[me] % SHARED;

		*(char **)f = shared[which];
		mine = 0;
		if (sl_pystack(word, 8, 7, &mine) != 1 || !sl_frame_code(word[0]))
			return (void *)"no frame";
		while (sl_pystack_next_code(&c, text_room)) {
			if (c.id >= sizeof(line_of) / sizeof(line_of[0]))
				return (void *)"many ids";
			__atomic_store_n(&line_of[c.id], c.first_line, __ATOMIC_RELAXED);
		}
	}
	return NULL;
}

static void threads_share_the_numbers_of_code(void **state)
{
	pthread_t t[THREADS];

	(void)state;
	begin(FINAL, 16, false);
	assert_true(sl_pystack_has());
	for (unsigned i = 0; i < SHARED; i++)
		shared[i] = make_code(ascii("f"), ascii("g"), (int)i + 1);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, meet, (void *)i);
	for (unsigned i = 0; i < THREADS; i++) {
		void *why;

		pthread_join(t[i], &why);
		assert_null(why);
	}
	for (unsigned i = 0; i < SHARED; i++) {
		run(make_frame(NULL, shared[i], 0, OWNER_THREAD));
		assert_int_equal(take(), 1);
		assert_int_equal(fresh, 0);
		assert_int_equal(line_of[sl_frame_code(words[0])], i + 1);
	}
}

static void stacks_end_with_python(void **state)
{
	(void)state;
	begin(FINAL, 16, false);
	run(make_frame(NULL, make_code(ascii("a"), ascii("b"), 1), 1, OWNER_THREAD));
	assert_int_equal(take(), 1);
	/* Another thread ends it: what this one has may be gone already. */
	*(char **)((char *)runtime + 16000) = (char *)runtime;
	assert_int_equal(take(), 0);
	*(char **)((char *)runtime + 16000) = thread;
	assert_int_equal(take(), 1);
}

/* The frame behind all others is none, and no run of the loop. */
static void the_base_frame_is_left_out(void **state)
{
	char *base, *frame;

	(void)state;
	is_3_15 = true;
	begin(0x030f02f0, 16, false);
	base = enter(NULL);
	*(char **)(thread + BASE) = base;
	run(base);
	assert_true(sl_pystack_has());
	assert_int_equal(take(), 0);
	frame = make_frame(enter(base), make_code(ascii("a"), ascii("outer"), 1), 1, OWNER_THREAD);
	run(frame);
	assert_int_equal(take(), 1);
	assert_true(words[0] & SL_FRAME_ENTRY);
	run(enter(make_frame(frame, make_code(ascii("a"), ascii("inner"), 1), 1, OWNER_THREAD)));
	assert_int_equal(take(), 3);
	assert_int_equal(sl_frame_code(words[0]), 0);
	assert_false(words[1] & SL_FRAME_ENTRY);
	assert_true(words[2] & SL_FRAME_ENTRY);
	is_3_15 = false;
}

static void unknown_versions_have_no_stacks(void **state)
{
	static const struct {
		unsigned long hex;
		const char *version;
	} list[] = {{0x030e00a3, "3.14"},
		    {0x030f00f0, "3.15"}, /* one that looks like 3.14 */
		    {0x031000f0, "3.16"},
		    {0x030700f0, "3.7"},
		    {0x030c00b1, "3.12"}};

	(void)state;
	for (unsigned i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		char want[100];

		begin(list[i].hex, 16, false);
		assert_int_equal(take(), 0);
		assert_int_equal(take(), 0);
		sl_pystack_rescan(false);
		take_note();
		assert_int_equal(take(), 0);
		take_note();
		assert_int_equal(notes, 1);
		snprintf(want, sizeof(want),
			 "say Python %s: where its stacks lie is not known, so they are missing",
			 list[i].version);
		assert_string_equal(note_taken, want);
	}
	/* One that describes itself as nothing that makes sense. */
	begin(0x030e02f0, 13, false);
	assert_int_equal(take(), 0);
	take_note();
	assert_int_equal(notes, 1);
	begin(0x030e03f0, 16, false);
	runtime[0]++;
	assert_int_equal(take(), 0);
	take_note();
	assert_int_equal(notes, 1);
}

static void versions_are_read_from_texts(void **state)
{
	(void)state;
	assert_int_equal(read_version("3.9.18 (main, May  9 2026)"), 0x030912f0);
	assert_int_equal(read_version("3.10.0+ (heads/3.10)"), 0x030a00f0);
	assert_int_equal(read_version("3.10.0b1 (x)") & 0xf0, 0xa0);
	assert_int_equal(read_version("3.10.0rc2 (x)") & 0xf0, 0xf0);
	assert_int_equal(read_version(""), 0xf0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_has_its_frames_in_every_layout),
		cmocka_unit_test(copies_of_bytecode_have_their_lines),
		cmocka_unit_test(runs_of_the_loop_without_frames_are_counted),
		cmocka_unit_test(hidden_frames_are_left_out),
		cmocka_unit_test(damaged_frames_end_with_a_remark),
		cmocka_unit_test(depth_is_as_asked),
		cmocka_unit_test(texts_of_every_width_are_read),
		cmocka_unit_test(code_at_a_used_address_has_a_new_number),
		cmocka_unit_test(a_full_table_of_code_does_no_harm),
		cmocka_unit_test(threads_share_the_numbers_of_code),
		cmocka_unit_test(stacks_end_with_python),
		cmocka_unit_test(the_base_frame_is_left_out),
		cmocka_unit_test(unknown_versions_have_no_stacks),
		cmocka_unit_test(versions_are_read_from_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

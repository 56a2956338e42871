/* symbols_kept.c - what a session keeps for later ones: answers for whole spans, each equal to that of its address alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collector/symbols/symbols_session.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROOM (SYMBOLS_FRAMES_MAX + 1)
#define CODE 0x6000u /* bytes of the program in which its functions are */

static char prog[PATH_MAX], dir[64], kept[128];

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool is_same(const struct symbols_frame *a, const struct symbols_frame *b, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (!is_same_text(a[i].function, b[i].function) ||
		    !is_same_text(a[i].file, b[i].file) || a[i].line != b[i].line ||
		    a[i].is_inlined != b[i].is_inlined ||
		    a[i].is_interpreter != b[i].is_interpreter)
			return false;
	return true;
}

static struct symbols_module *open_prog(struct symbols *s)
{
	struct symbols_module *m = symbols_module_alone(s, prog, NULL, 0, -1);

	assert_non_null(m);
	return m;
}

static void an_answer_holds_up_to_the_address_that_is_stated(void **state)
{
	struct symbols *s = symbols_open();
	struct symbols_module *m = open_prog(s);
	struct symbols_frame first[ROOM], other[ROOM];
	unsigned steps = 0, inlined = 0;
	uint64_t until, unused;

	(void)state;
	for (uint64_t at = 0; at < CODE; at = until) {
		size_t cnt = symbols_ask(s, m, at, first, ROOM, &until);

		assert_true(until > at);
		steps++;
		inlined += cnt > 1;
		for (uint64_t next = at + 1; next < until && next < CODE; next++) {
			assert_int_equal(symbols_ask(s, m, next, other, ROOM, &unused), cnt);
			assert_true(is_same(first, other, cnt));
		}
	}
	/* Neither one answer for everything, nor one for each byte. */
	assert_in_range(steps, 30, CODE / 4);
	assert_true(!SL_HAVE_LIBDW || inlined > 2);
	symbols_close(s);
}

static struct symbols_module *open_with_id(struct symbols *s)
{
	struct elf_image e;
	struct elf_part id;
	struct symbols_module *m;

	assert_true(elf_image_open(&e, prog));
	id = elf_image_build_id(&e);
	assert_non_null(id.at);
	m = symbols_module(s, prog, id.at, id.size);
	elf_image_close(&e);
	assert_non_null(m);
	return m;
}

/* An address with @least frames; 0: there is none. */
static uint64_t address_with(struct symbols *s, struct symbols_module *m, size_t least)
{
	struct symbols_frame frame[ROOM];
	uint64_t until;

	for (uint64_t at = 0x1000; at < CODE; at = until)
		if (symbols_ask(s, m, at, frame, ROOM, &until) >= least)
			return at;
	return 0;
}

static void a_program_with_its_debug_information_in_itself_is_read_once(void **state)
{
	struct symbols *s = symbols_open(), *later;
	struct symbols_module *m = open_with_id(s);
	uint64_t address = address_with(s, m, 2);
	struct symbols_frame first[ROOM], other[ROOM];
	size_t cnt;

	(void)state;
	if (!address || SL_HAVE_LIBDW == 0) {
		symbols_close(s);
		skip();
	}
	cnt = symbols_at(s, m, address, first, ROOM);
	assert_true(cnt >= 2);
	for (size_t i = 0; i < cnt; i++) {
		first[i].function = first[i].function ? strdup(first[i].function) : NULL;
		first[i].file = first[i].file ? strdup(first[i].file) : NULL;
	}
	symbols_close(s);
	later = symbols_open();
	m = open_with_id(later);
	assert_int_equal(symbols_at(later, m, address, other, ROOM), cnt);
	assert_true(is_same(first, other, cnt));
	/* Nor for addresses near it. */
	assert_true(symbols_at(later, m, address - 32, other, ROOM) < ROOM);
	assert_true(symbols_at(later, m, address + 32, other, ROOM) < ROOM);
	assert_false(m->is_open);
	assert_true(symbols_at(later, m, address + 0x100000, other, ROOM) == 0);
	assert_true(m->is_open);
	symbols_close(later);
	for (size_t i = 0; i < cnt; i++) {
		free((char *)first[i].function);
		free((char *)first[i].file);
	}
}

static void all_new_addresses_are_kept_however_many_there_are(void **state)
{
	struct symbols *s = symbols_open();
	struct symbols_module *m = open_with_id(s);
	struct symbols_frame frame[ROOM];

	(void)state;
	unlink(kept);
	for (uint64_t at = 0x1000; at < CODE; at += 3)
		symbols_at(s, m, at, frame, ROOM);
	if (!m->dwarf) {
		symbols_close(s);
		skip();
	}
	symbols_close(s);
	s = symbols_open();
	m = open_with_id(s);
	for (uint64_t at = 0x1000; at < CODE; at += 3)
		symbols_at(s, m, at, frame, ROOM);
	assert_false(m->is_open);
	symbols_close(s);
}

static int set_up(void **state)
{
	char self[PATH_MAX - 32], path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	(void)state;
	if (len < 0)
		return -1;
	self[len] = 0;
	snprintf(path, sizeof(path), "%.*s/../prog/symbols", (int)(strrchr(self, '/') - self),
		 self);
	strcpy(dir, "/tmp/sightline-kept.XXXXXX");
	if (!realpath(path, prog) || !mkdtemp(dir))
		return -1;
	snprintf(kept, sizeof(kept), "%s/sightline/symbols", dir);
	return setenv("XDG_CACHE_HOME", dir, 1);
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_holds_up_to_the_address_that_is_stated),
		cmocka_unit_test(a_program_with_its_debug_information_in_itself_is_read_once),
		cmocka_unit_test(all_new_addresses_are_kept_however_many_there_are),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

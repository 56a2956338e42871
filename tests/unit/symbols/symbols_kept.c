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

static char prog[PATH_MAX];

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
	return realpath(path, prog) ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_holds_up_to_the_address_that_is_stated),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}

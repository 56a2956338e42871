/* hotkey.c - the key among what is typed: whole, in pieces, behind its own beginning, and everything that is not it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "collector/run/hotkey.h"

static struct hotkey h;

static void use(const char *key)
{
	memset(&h, 0, sizeof(h));
	assert_true(hotkey_sequences(key, h.key) > 0);
}

static int type(const char *text)
{
	return hotkey_take(&h, text, strlen(text));
}

static void kept(const char *want)
{
	assert_int_equal(h.kept_len, strlen(want));
	assert_memory_equal(h.kept, want, strlen(want));
}

static void keys_have_the_sequences_of_terminals(void **state)
{
	char s[3][8];

	(void)state;
	assert_int_equal(hotkey_sequences("F12", s), 1);
	assert_string_equal(s[0], "\033[24~");
	assert_int_equal(hotkey_sequences("f1", s), 3);
	assert_string_equal(s[0], "\033[11~");
	assert_string_equal(s[1], "\033OP");
	assert_string_equal(s[2], "\033[[A");
	assert_int_equal(hotkey_sequences("F5", s), 2);
	assert_string_equal(s[1], "\033[[E");
	assert_int_equal(hotkey_sequences("q", s), 1);
	assert_int_equal(hotkey_sequences("F13", s), 0);
	assert_int_equal(hotkey_sequences("F0", s), 0);
	assert_int_equal(hotkey_sequences("", s), 0);
}

static void the_key_is_found_whole_and_in_pieces(void **state)
{
	(void)state;
	use("F12");
	assert_int_equal(type("\033[24~"), 1);
	assert_int_equal(type("\033"), 0);
	assert_int_equal(type("[2"), 0);
	assert_int_equal(type("4~\033[24~"), 2);
	kept("");
	use("F1");
	assert_int_equal(type("\033OP\033[11~\033[[A"), 3);
	use("q");
	assert_int_equal(type("aqbqq"), 3);
	kept("ab");
}

static void what_is_not_the_key_is_kept_in_order(void **state)
{
	(void)state;
	use("F12");
	assert_int_equal(type("ab\033[23~\033[A\033\033[24~x"), 1);
	kept("ab\033[23~\033[A\033x");
	/* Begun, and not decided. */
	assert_int_equal(type("\033[2"), 0);
	assert_int_equal(h.part_len, 3);
	assert_int_equal(type("\033[24~"), 1);
	assert_int_equal(h.part_len, 0);
	kept("ab\033[23~\033[A\033x\033[2");
}

static void much_that_is_typed_overflows_nothing(void **state)
{
	(void)state;
	use("F12");
	for (int i = 0; i < 1000; i++)
		assert_int_equal(type("\033[2xyz"), 0);
	assert_int_equal(h.kept_len, sizeof(h.kept));
	assert_int_equal(type("\033[24~"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_have_the_sequences_of_terminals),
		cmocka_unit_test(the_key_is_found_whole_and_in_pieces),
		cmocka_unit_test(what_is_not_the_key_is_kept_in_order),
		cmocka_unit_test(much_that_is_typed_overflows_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

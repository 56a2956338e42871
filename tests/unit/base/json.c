/* json.c - the writer of JSON: layouts, numbers, the escaper on bytes of strangers, into memory and to a FILE. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collector/base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EVIL "say \033]0;pwned\007 \302\2331m \177 \233 \303\244\342\202\254\n\302"

static void write_all(struct writer *w)
{
	json_open(w, NULL, '{');
	json_int(w, "least", INT64_MIN);
	json_open(w, "list", '[');
	json_close(w, ']');
	json_line(w, 2);
	json_open(w, "rows", '[');
	for (int i = 0; i < 2; i++) {
		json_line(w, 4);
		json_open(w, NULL, '[');
		json_real(w, NULL, i ? NAN : 0.5);
		json_bool(w, NULL, i == 0);
		json_text(w, NULL, i ? NULL : "a\"b");
		json_format(w, NULL, "%.3f", 1.0);
		json_close(w, ']');
	}
	json_line(w, 2);
	json_close(w, ']');
	json_null(w, "k\\");
	json_raw(w, "raw", "{}", 2);
	json_close(w, '}');
}

#define SPACED                                                                             \
	"{\"least\": -9223372036854775808, \"list\": [],\n  \"rows\": [\n    [0.5, true, " \
	"\"a\\\"b\", 1.000],\n    "                                                        \
	"[null, false, null, 1.000]\n  ], \"k\\\\\": null, \"raw\": {}}"
#define DENSE                                                              \
	"{\"least\":-9223372036854775808,\"list\":[],\n  \"rows\":[\n    " \
	"[0.5,true,\"a\\\"b\",1.000],\n    "                               \
	"[null,false,null,1.000]\n  ],\"k\\\\\":null,\"raw\":{}}"

static void elements_stand_in_their_layout(void **state)
{
	struct writer w = {0};

	(void)state;
	write_all(&w);
	writer_add(&w, "", 1);
	assert_string_equal(w.data, DENSE);
	writer_free(&w);
	w.is_spaced = true;
	write_all(&w);
	writer_add(&w, "", 1);
	assert_string_equal(w.data, SPACED);
	writer_free(&w);
}

static void a_file_gets_the_bytes_of_memory(void **state)
{
	char *text = NULL;
	size_t len;
	struct writer w = {.file = open_memstream(&text, &len), .is_spaced = true};

	(void)state;
	write_all(&w);
	fclose(w.file);
	assert_string_equal(text, SPACED);
	assert_null(w.data);
	free(text);
}

static void a_text_has_nothing_that_steers_a_terminal(void **state)
{
	struct writer w = {0};

	(void)state;
	json_text(&w, NULL, EVIL "\342\200\256\363\240\200\201");
	writer_add(&w, "", 1);
	assert_string_equal(w.data, "\"say \\u001b]0;pwned\\u0007 \\u009b1m \\u007f \\ufffd "
				    "\303\244\342\202\254\\u000a\\ufffd\\u202e\\udb40\\udc01\"");
	writer_free(&w);
}

/* A text of @len bytes has the same escapes whatever its distance from the ends of pieces. */
static void a_character_across_two_pieces_stays_whole(void **state)
{
	(void)state;
	for (size_t before = 100; before < 160; before++) {
		char text[200], want[210];
		struct writer w = {0};

		memset(text, 'x', before);
		strcpy(text + before, "\360\237\230\200\342\202\254z");
		snprintf(want, sizeof(want), "\"%s\"", text);
		json_text(&w, NULL, text);
		writer_add(&w, "", 1);
		assert_string_equal(w.data, want);
		writer_free(&w);
	}
}

static void the_limit_is_kept(void **state)
{
	struct writer w = {.max = 8192};

	(void)state;
	for (int i = 0; i < 10000; i++)
		json_int(&w, NULL, i);
	assert_true(w.failed);
	assert_true(w.len <= 8192);
	writer_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elements_stand_in_their_layout),
		cmocka_unit_test(a_file_gets_the_bytes_of_memory),
		cmocka_unit_test(a_text_has_nothing_that_steers_a_terminal),
		cmocka_unit_test(a_character_across_two_pieces_stays_whole),
		cmocka_unit_test(the_limit_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

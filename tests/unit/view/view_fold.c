/* view_fold.c - names that differ in numbers alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "exporters/view/answers/fold.h"

static void folds(const char *name, const char *want)
{
	char to[VIEW_FOLD_MAX];
	size_t len;
	bool is_folded = view_fold(name, strlen(name), to, &len);

	assert_int_equal(is_folded, strcmp(name, want) != 0);
	assert_int_equal(len, strlen(want));
	assert_memory_equal(to, want, len);
}

static void numbers_behind_an_equals_sign_are_folded(void **state)
{
	(void)state;
	folds("aten::copy_, op_id = 17", "aten::copy_, op_id = #");
	folds("aten::add, seq = 4, op_id = 123456", "aten::add, seq = #, op_id = #");
	folds("x = -5 y", "x = # y");
}

static void other_names_stay(void **state)
{
	(void)state;
	folds("step 17", "step 17");
	folds("x=5", "x=5");
	folds("x = y5", "x = y5");
	folds("x = -", "x = -");
	folds("= ", "= ");
	folds("", "");
}

static void a_name_longer_than_the_buffer_stays(void **state)
{
	char name[VIEW_FOLD_MAX + 8], to[VIEW_FOLD_MAX];
	size_t len;

	(void)state;
	memset(name, 'a', sizeof(name));
	memcpy(name, "x = 5", 5);
	assert_false(view_fold(name, sizeof(name), to, &len));
	assert_true(len < VIEW_FOLD_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_behind_an_equals_sign_are_folded),
		cmocka_unit_test(other_names_stay),
		cmocka_unit_test(a_name_longer_than_the_buffer_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

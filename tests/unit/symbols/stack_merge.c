/* stack_merge.c - the order of native and Python frames. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collector/symbols/stack_merge.h"

#include <string.h>

/*
 * Native frames by letters, the innermost first: n any, L the loop, T a part of one that is made of functions, A calls
 * the loop, O outside of Python, u unnamed, r a remark. Python's: p, e entered by C, r a remark; in what comes out they
 * are numbered from 1, a remark among them is R.
 */
static const char *merge(const char *native, const char *python)
{
	static const char letters[] = "nLTAOupe";
	static const enum stack_role roles[] = {STACK_NATIVE, STACK_LOOP,    STACK_TAIL,
						STACK_ABOVE,  STACK_OUTSIDE, STACK_UNNAMED,
						STACK_PYTHON, STACK_ENTRY};
	static char text[64];
	struct stack_part list[2][32], out[64];
	const char *in[] = {native, python};
	size_t cnt[2], outs;

	for (int k = 0; k < 2; k++) {
		cnt[k] = strlen(in[k]);
		for (size_t i = 0; i < cnt[k]; i++) {
			const char *at = strchr(letters, in[k][i]);

			list[k][i] = (struct stack_part){
				.first = (uint32_t)(k * 100 + i),
				.cnt = 1,
				.role = in[k][i] == 'r' ? STACK_REMARK : roles[at - letters]};
		}
	}
	outs = stack_merge(list[0], cnt[0], list[1], cnt[1], out);
	for (size_t i = 0; i < outs; i++) {
		if (out[i].first < 100)
			text[i] = native[out[i].first];
		else
			text[i] = python[out[i].first - 100] == 'r'
					  ? 'R'
					  : (char)('1' + (out[i].first - 100));
	}
	text[outs] = 0;
	return text;
}

static void without_python_nothing_changes(void **state)
{
	(void)state;
	assert_string_equal(merge("nnO", ""), "nnO");
	assert_string_equal(merge("nLO", ""), "nLO");
	assert_string_equal(merge("", ""), "");
}

static void without_native_frames_python_is_all(void **state)
{
	(void)state;
	assert_string_equal(merge("", "ppe"), "123");
	assert_string_equal(merge("r", "ppe"), "r123");
}

/* 3.8 to 3.10: every function of Python has a loop of its own. */
static void each_loop_is_one_frame(void **state)
{
	(void)state;
	assert_string_equal(merge("nnLALALAO", "eee"), "nn1A2A3AO");
	assert_string_equal(merge("LLLO", "eee"), "123O");
}

/* From 3.11 on functions of Python that call each other share one. */
static void one_loop_stands_for_all_up_to_the_next_entry(void **state)
{
	(void)state;
	assert_string_equal(merge("nLAnLAO", "ppepe"), "n123An45AO");
	assert_string_equal(merge("nLAO", "ppp"), "n123AO");
}

static void a_loop_of_functions_is_one_loop(void **state)
{
	(void)state;
	assert_string_equal(merge("nTLAnTLAO", "pepe"), "n12An34AO");
	assert_string_equal(merge("nTAO", "pe"), "n12AO");
	assert_string_equal(merge("TLO", ""), "TLO");
}

static void a_part_of_the_loop_without_a_name_is_found_by_its_caller(void **state)
{
	(void)state;
	assert_string_equal(merge("nuALAO", "ee"), "n1A2AO");
	assert_string_equal(merge("nLAuAO", "ee"), "n1A2AO");
	/* Nothing is missing: it is what it is. */
	assert_string_equal(merge("nuALAO", "e"), "nuA1AO");
	assert_string_equal(merge("nunLAO", "ee"), "nun12AO");
}

/* Its frame of Python has not begun, or has ended; where a stack is cut, that cannot be seen. */
static void the_innermost_loop_may_have_no_frame_yet(void **state)
{
	(void)state;
	assert_string_equal(merge("LALALO", "ee"), "LA1A2O");
	assert_string_equal(merge("nLnLAO", "ppe"), "nLn123AO");
	assert_string_equal(merge("TALO", "e"), "TA1O");
	assert_string_equal(merge("LALALr", "ee"), "1A2ALr");
	assert_string_equal(merge("LALALO", "eer"), "1A2ARLO");
	assert_string_equal(merge("LO", ""), "LO");
}

static void nothing_of_python_is_lost(void **state)
{
	(void)state;
	assert_string_equal(merge("nnnO", "pe"), "nnn12O");
	assert_string_equal(merge("nLnnO", "eee"), "n123nnO");
	assert_string_equal(merge("nnn", "pe"), "nnn12");
	/* C was not followed to its end: the rest of Python called what is there. */
	assert_string_equal(merge("nLnr", "eee"), "n1nr23");
}

static void nothing_native_is_lost(void **state)
{
	(void)state;
	assert_string_equal(merge("nLnLnLO", "e"), "n1nLnLO");
	assert_string_equal(merge("nLnLO", "er"), "n1nRLO");
	assert_string_equal(merge("nnO", "r"), "nnRO");
	assert_string_equal(merge("nLO", "r"), "nRLO");
}

/* exec(): what is outside of Python at the end of a stack can also stand in the middle of it. */
static void python_may_run_python_anew(void **state)
{
	(void)state;
	assert_string_equal(merge("nLOnLO", "pee"), "n12On3O");
}

static void roles_follow_from_names(void **state)
{
	(void)state;
	assert_int_equal(stack_role("_PyEval_EvalFrameDefault"), STACK_LOOP);
	assert_int_equal(stack_role("_TAIL_CALL_CALL_PY"), STACK_TAIL);
	assert_int_equal(stack_role("_PyFunction_Vectorcall"), STACK_ABOVE);
	assert_int_equal(stack_role("Py_RunMain"), STACK_OUTSIDE);
	assert_int_equal(stack_role("PyRun_SimpleFileExFlags"), STACK_OUTSIDE);
	assert_int_equal(stack_role("mainly"), STACK_NATIVE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_python_nothing_changes),
		cmocka_unit_test(without_native_frames_python_is_all),
		cmocka_unit_test(each_loop_is_one_frame),
		cmocka_unit_test(one_loop_stands_for_all_up_to_the_next_entry),
		cmocka_unit_test(a_loop_of_functions_is_one_loop),
		cmocka_unit_test(a_part_of_the_loop_without_a_name_is_found_by_its_caller),
		cmocka_unit_test(the_innermost_loop_may_have_no_frame_yet),
		cmocka_unit_test(nothing_of_python_is_lost),
		cmocka_unit_test(nothing_native_is_lost),
		cmocka_unit_test(python_may_run_python_anew),
		cmocka_unit_test(roles_follow_from_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

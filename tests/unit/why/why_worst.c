/* why_worst.c - the longest stretch that a culprit takes at once, and pieces of the walk in the order of time. */
#include "tests/unit/why/why_test.h"

#include "exporters/why/answer/pieces.h"

static const struct why_culprit *culprit(size_t i)
{
	assert_true(i < test.y.culprits_cnt);
	return &test.y.culprits[i];
}

/* Line 1 computes 10, 25 and 5, line 2 between them. */
static void computes_by_turns(void)
{
	report(60);
	runs(MAIN, 0, 60);
	computes(MAIN, 0, 10, "f /me/a.py:1");
	computes(MAIN, 10, 20, "g /me/a.py:2");
	computes(MAIN, 20, 45, "f /me/a.py:1");
	computes(MAIN, 45, 55, "g /me/a.py:2");
	computes(MAIN, 55, 60, "f /me/a.py:1");
	ask();
}

static void the_longest_stretch_of_a_line_is_its_worst_place(void **state)
{
	(void)state;
	computes_by_turns();
	assert_int_equal(culprit(0)->ns, 40 * MS);
	assert_int_equal(culprit(0)->worst_from, 20 * MS);
	assert_int_equal(culprit(0)->worst_to, 45 * MS);
	assert_int_equal(culprit(1)->worst_to - culprit(1)->worst_from, 10 * MS);
}

static void the_second_walk_adds_nothing_to_the_leaves(void **state)
{
	int64_t sum = 0;

	(void)state;
	computes_by_turns();
	for (size_t i = 0; i < test.y.walk.leaves_cnt; i++)
		sum += test.y.walk.leaves[i].ns;
	assert_int_equal(sum, 60 * MS);
}

static void slices_cover_the_time_in_order(void **state)
{
	struct why_pieces p = {.keeps_slices = true};

	(void)state;
	computes_by_turns();
	why_pieces_cover(&p, &test.y.walk, test.y.focus, 0, 60 * MS);
	assert_int_equal(p.slices_cnt, 6);
	assert_int_equal(p.kinds_cnt, 2);
	for (size_t i = 0; i + 1 < p.slices_cnt; i++) {
		assert_true(p.slices[i].start < p.slices[i + 1].start);
		assert_int_equal(p.slices[i].kind, i % 2);
	}
	assert_int_equal(p.slices[0].start, 0);
	assert_int_equal(p.slices[5].start, 60 * MS);
	assert_int_equal(p.slices[5].kind, WHY_NONE);
	assert_int_equal(p.kinds[0].ns, 40 * MS);
	assert_int_equal(p.kinds[1].ns, 20 * MS);
	why_pieces_free(&p);
}

static void spans_that_touch_have_no_gap_between_them(void **state)
{
	struct why_pieces p = {.keeps_slices = true};

	(void)state;
	computes_by_turns();
	why_pieces_cover(&p, &test.y.walk, test.y.focus, 0, 10 * MS);
	why_pieces_cover(&p, &test.y.walk, test.y.focus, 10 * MS, 20 * MS);
	why_pieces_cover(&p, &test.y.walk, test.y.focus, 45 * MS, 55 * MS);
	/* f, g, none, g, none */
	assert_int_equal(p.slices_cnt, 5);
	assert_int_equal(p.slices[1].start, 10 * MS);
	assert_int_equal(p.slices[1].kind, 1);
	assert_int_equal(p.slices[2].kind, WHY_NONE);
	assert_int_equal(p.slices[3].start, 45 * MS);
	assert_int_equal(p.kinds[1].end - p.kinds[1].start, 10 * MS);
	assert_null(why_piece_of(&p, &p.kinds[0].cause, p.kinds[0].thread + 1));
	assert_ptr_equal(why_piece_of(&p, &p.kinds[1].cause, p.kinds[1].thread), &p.kinds[1]);
	why_pieces_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_longest_stretch_of_a_line_is_its_worst_place),
		TEST(the_second_walk_adds_nothing_to_the_leaves),
		TEST(slices_cover_the_time_in_order),
		TEST(spans_that_touch_have_no_gap_between_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

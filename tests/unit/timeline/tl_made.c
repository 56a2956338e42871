/* tl_made.c - slices that no table has: one lasts until the next begins, gaps show nothing. */
#include "tl_test.h"

static struct tl_made_kind kinds[] = {
	{.name = {0, "busy", 4},
	 .arg_cnt = 1,
	 .args = {{.key = "share", .kind = TL_REAL, .real = 0.5}}},
	{.name = {0, "waits", 5}},
};

static struct tl_options with(const struct tl_made *made)
{
	return (struct tl_options){.activities = TL_ACT_OSRT, .no_args = true, .made = made};
}

static void a_slice_lasts_until_the_next_one_and_a_gap_is_none(void **state)
{
	struct tl_made_slice slices[] = {{5, TL_MADE_GAP},  {10, 0},           {15, 1},
					 {20, TL_MADE_GAP}, {30, TL_MADE_GAP}, {40, 1},
					 {45, TL_MADE_GAP}};
	struct tl_made_track tracks[] = {{.name = "states",
					  .category = "made",
					  .thread = GLOBAL(70, 71),
					  .device = -1,
					  .slices = slices,
					  .slices_cnt = 7}};
	struct tl_made made = {.tracks = tracks, .kinds = kinds, .tracks_cnt = 1, .kinds_cnt = 2};
	struct tl_options opt = with(&made);

	(void)state;
	check_with(&opt, SHOW_TRACKS | SHOW_ROWS,
		   "strings: (1, 'read');"
		   "libc: (12, 42, $70.71, 1);",
		   "1: process 70 '' in 0, pid 70 tid 0 sort 70\n"
		   "2: thread 70.71 '' in 1, pid 70 tid 71 sort 71\n"
		   "3: made 'states' of thread 70.71 'states' in 2, pid 70 tid 16777216 sort 71\n"
		   "made 'states' of thread 70.71: 10 +5 'busy' {share=0.5} ( 0, made)\n"
		   "thread 70.71: 12 +30 'read' (OSRT_API 1, osrt)\n"
		   "made 'states' of thread 70.71: 15 +5 'waits' ( 0, made)\n"
		   "made 'states' of thread 70.71: 40 +5 'waits' ( 0, made)\n");
}

static void a_track_of_a_device_stands_before_its_streams(void **state)
{
	struct tl_made_slice slices[] = {{-10, 1}, {10, TL_MADE_GAP}},
			     same[] = {{-10, 0}, {20, TL_MADE_GAP}};
	struct tl_made_track tracks[] = {{.name = "gpu",
					  .thread = GLOBAL(70, 71),
					  .device = 3,
					  .slices = slices,
					  .slices_cnt = 2},
					 {.name = "gpu",
					  .thread = GLOBAL(70, 71),
					  .device = 3,
					  .slices = same,
					  .slices_cnt = 2}};
	struct tl_made made = {.tracks = tracks, .kinds = kinds, .tracks_cnt = 2, .kinds_cnt = 2};
	struct tl_options opt = with(&made);

	(void)state;
	/* Of slices that begin together the longer comes first; each of the two has a track of its own. */
	check_with(&opt, SHOW_TRACKS, "strings: (1, 'x');",
		   "1: process 70 '' in 0, pid 70 tid 0 sort 70\n"
		   "2: gpu 3 of 70 'GPU 3' in 1, pid 16777216 tid 0 sort 3\n"
		   "3: made 'gpu' of gpu 3 of 70 'gpu' in 2, pid 16777216 tid 16777217 sort -1\n"
		   "made 'gpu' of gpu 3 of 70: -10 +30 'busy' {share=0.5}\n"
		   "4: made 'gpu' of gpu 3 of 70 'gpu' in 2, pid 16777216 tid 16777218 sort -1\n"
		   "made 'gpu' of gpu 3 of 70: -10 +20 'waits'\n");
}

static void a_track_without_slices_is_not_announced(void **state)
{
	struct tl_made_slice gaps[] = {{5, TL_MADE_GAP}, {9, TL_MADE_GAP}};
	struct tl_made_track tracks[] = {
		{.name = "none", .device = -1},
		{.name = "gaps", .device = -1, .slices = gaps, .slices_cnt = 2}};
	struct tl_made made = {.tracks = tracks, .kinds = kinds, .tracks_cnt = 2, .kinds_cnt = 2};
	struct tl_options opt = with(&made);

	(void)state;
	check_with(&opt, SHOW_TRACKS, "strings: (1, 'x');", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slice_lasts_until_the_next_one_and_a_gap_is_none),
		cmocka_unit_test(a_track_of_a_device_stands_before_its_streams),
		cmocka_unit_test(a_track_without_slices_is_not_announced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

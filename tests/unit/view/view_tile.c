/* view_tile.c - what a tile shows: events of a pixel or more, rectangles of smaller ones, curves; each by hand. */
#include "view_test.h"

/* "10-30 a" an event, "10-30 3x a 7" a rectangle of three, of which 7 ns are covered, and the flags of both. */
static void check_tile(struct view_store *v, uint32_t lane, uint32_t k, int64_t index,
		       const char *want)
{
	static const char *const flags[] = {"",         " open",   " flow",  " error",
					    " several", " before", " after", " instant"};
	struct view_rect rects[VIEW_TILE_MAX];
	struct view_reader r;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	unsigned n;

	assert_non_null(f);
	assert_true(view_reader_begin(&r, v, lane));
	n = view_tile(&r, k, index, rects);
	assert_false(r.is_damaged);
	view_reader_end(&r);
	for (unsigned i = 0; i < n; i++) {
		const struct view_rect *t = &rects[i];

		fprintf(f, "%s%lld-", i ? ", " : "", (long long)t->start);
		if (t->end == VIEW_TIME_MAX)
			fprintf(f, "end");
		else
			fprintf(f, "%lld", (long long)t->end);
		assert_int_equal(t->cnt == 1, !!(t->flags & RECT_EXACT));
		if (t->cnt != 1)
			fprintf(f, " %llux", (unsigned long long)t->cnt);
		fprintf(f, " %s", v->names[t->name].text);
		if (t->cnt != 1)
			fprintf(f, " %lld", (long long)t->covered);
		else if (t->end != VIEW_TIME_MAX)
			assert_int_equal(t->covered, t->end - t->start);
		for (int bit = 1; bit < 8; bit++)
			if (t->flags >> bit & 1)
				fputs(flags[bit], f);
	}
	fclose(f);
	assert_string_equal(text, want);
	free(text);
}

static void a_tile_has_256_pixels_of_2_to_the_k(void **state)
{
	int64_t from, to;

	(void)state;
	assert_true(view_tile_span(0, 0, &from, &to) && from == 0 && to == 256);
	assert_true(view_tile_span(3, 2, &from, &to) && from == 4096 && to == 6144);
	assert_true(view_tile_span(3, -1, &from, &to) && from == -2048 && to == 0);
	/* The largest: 2^62 long, of which there are few. */
	assert_true(view_tile_span(54, -2, &from, &to) && from == INT64_MIN &&
		    to == -(INT64_C(1) << 62));
	assert_false(view_tile_span(54, 1, &from, &to));
	assert_false(view_tile_span(54, INT64_MAX, &from, &to));
	assert_false(view_tile_span(55, 0, &from, &to));
	assert_false(view_tile_span(0, INT64_MAX / 100, &from, &to));
}

static void events_of_a_pixel_or_more_are_shown_as_they_are(void **state)
{
	struct view_store *v = make_store();
	struct view_lane *lane = make_lane(v);
	struct view_event flow = event(300, 316, 'd');

	(void)state;
	/* At k 4 a pixel is 16, a tile 4096: exactly a pixel is enough, 15 are not. */
	put(v, lane, -100, 10, 'a');
	put(v, lane, 100, 116, 'b');
	put(v, lane, 200, 215, 'c');
	flow.flags |= VIEW_FLOW;
	assert_int_equal(view_lane_put(v, lane, &flow), 0);
	put(v, lane, 4000, 4200, 'e');
	put(v, lane, 5000, VIEW_TIME_MAX, 'f');
	assert_int_equal(view_lanes_publish(v, true), 0);
	check_tile(v, lane->id, 4, 0,
		   "-100-10 a before, 100-116 b, 200-215 c, 300-316 d flow, 4000-4200 e after");
	check_tile(v, lane->id, 4, 1, "4000-4200 e before, 5000-end f open after");
	check_tile(v, lane->id, 4, 2, "5000-end f open before after");
	check_tile(v, lane->id, 4, -1, "-100-10 a after");
	check_tile(v, lane->id, 4, -2, "");
	view_store_free(v);
}

static void smaller_events_that_start_in_one_pixel_are_one_rectangle(void **state)
{
	struct view_store *v = make_store();
	struct view_lane *lane = make_lane(v);
	struct view_event flow = event(88, 89, 'd');

	(void)state;
	/*
	 * Pixels of 16: in the first 'a' has 2 of 5, so no name has half; in the second 'b' has 4 of 6; in the fourth
	 * are instants; in the fifth one event alone, that reaches into the sixth; then one with an arrow and one without.
	 */
	put(v, lane, 0, 1, 'a');
	put(v, lane, 2, 3, 'a');
	put(v, lane, 4, 5, 'b');
	put(v, lane, 6, 7, 'c');
	put(v, lane, 15, 16, 'd');
	put(v, lane, 16, 18, 'a');
	put(v, lane, 20, 24, 'b');
	put(v, lane, 48, 48, 'e');
	put(v, lane, 50, 50, 'e');
	put(v, lane, 79, 88, 'c');
	flow.flags |= VIEW_FLOW;
	assert_int_equal(view_lane_put(v, lane, &flow), 0);
	put(v, lane, 90, 92, 'd');
	/* As long as a pixel: it stands alone, between what is before and after it in its pixel. */
	put(v, lane, 96, 97, 'a');
	put(v, lane, 98, 114, 'z');
	put(v, lane, 114, 115, 'a');
	assert_int_equal(view_lanes_publish(v, true), 0);
	check_tile(v, lane->id, 4, 0,
		   "0-16 5x a 5 several, 16-24 2x b 6, 48-50 2x e 0 instant, 79-88 c, "
		   "88-92 2x d 3 flow, 96-97 a, 98-114 z, 114-115 a");
	/* Half is enough for a name: 'a' has 2 of 4. */
	view_store_free(v);
	v = make_store();
	lane = make_lane(v);
	put(v, lane, 0, 2, 'a');
	put(v, lane, 2, 4, 'b');
	assert_int_equal(view_lanes_publish(v, true), 0);
	check_tile(v, lane->id, 4, 0, "0-4 2x a 4");
	view_store_free(v);
}

static void what_starts_before_the_tile_and_is_small_has_a_rectangle_of_its_own(void **state)
{
	struct view_store *v = make_store();
	struct view_lane *lane = make_lane(v);

	(void)state;
	/* It overlaps the tile by 2, and the first event in it, in the first pixel, is another rectangle. */
	put(v, lane, -5, 2, 'a');
	put(v, lane, 3, 5, 'b');
	put(v, lane, 4094, 4098, 'c');
	put(v, lane, 4098, 4099, 'd');
	assert_int_equal(view_lanes_publish(v, true), 0);
	check_tile(v, lane->id, 4, 0, "-5-2 a before, 3-5 b, 4094-4098 c after");
	check_tile(v, lane->id, 4, 1, "4094-4098 c before, 4098-4099 d");
	/* What ends where a tile begins is none of it; an instant there is. */
	view_store_free(v);
	v = make_store();
	lane = make_lane(v);
	put(v, lane, 4090, 4096, 'a');
	put(v, lane, 4096, 4096, 'b');
	put(v, lane, 8192, 8192, 'c');
	assert_int_equal(view_lanes_publish(v, true), 0);
	check_tile(v, lane->id, 4, 0, "4090-4096 a");
	check_tile(v, lane->id, 4, 1, "4096-4096 b instant");
	view_store_free(v);
}

static void of_more_than_8_names_the_lightest_gives_way(void **state)
{
	struct view_store *v = make_store();
	struct view_lane *lane = make_lane(v);
	int64_t at = 0;

	(void)state;
	/*
	 * 'a' to 'h' weigh 11 to 18; 'i' takes the place of 'a', 11 + 5 = 16, and 'j' that of 'b', 12 + 7 = 19, more than
	 * 'h' with 18: an upper bound, as is meant. All of it is 116 + 12, of which 19 are less than half. The last event
	 * lies in another pixel, so that the block is looked into, whose node has the right names.
	 */
	for (int i = 0; i < 8; i++, at += 20)
		put(v, lane, at, at + 11 + i, (char)('a' + i));
	put(v, lane, at, at + 5, 'i');
	put(v, lane, at + 20, at + 27, 'j');
	put(v, lane, 5000, 5001, 'z');
	assert_int_equal(view_lanes_publish(v, true), 0);
	check_tile(v, lane->id, 12, 0, "0-187 10x j 128 several, 5000-5001 z");
	view_store_free(v);
}

static void whole_nodes_are_taken_where_they_are_shorter_than_a_pixel(void **state)
{
	struct view_store *v = make_store();
	struct view_lane *lane = make_lane(v);

	(void)state;
	/*
	 * 2,560 events, 80 blocks of 320 ns, ten nodes of 2,560 above them; each event lasts 3. At k 20 all lie in the first
	 * pixel: 7,680 are covered, 'x' has more than half. At k 13 a pixel is 8,192: four nodes begin in the first, at 7,680
	 * the last, three in each of the next.
	 */
	for (int i = 0; i < 2560; i++)
		put(v, lane, 10 * i, 10 * i + 3, i / 32 % 32 == 31 ? 'z' : i % 4 ? 'x' : 'y');
	assert_int_equal(view_lanes_publish(v, true), 0);
	check_tile(v, lane->id, 20, 0, "0-25593 2560x x 7680");
	check_tile(v, lane->id, 13, 0,
		   "0-10233 1024x x 3072, 10240-17913 768x x 2304, 17920-25593 768x x 2304");
	view_store_free(v);
}

static void a_long_event_is_shown_among_the_small_ones_of_its_block(void **state)
{
	struct view_store *v = make_store();
	struct view_lane *lane = make_lane(v);

	(void)state;
	/*
	 * Three blocks of events of 1 in 10 ns, 'b' of 1,000 and 31 more in the fourth, a fifth. A pixel is 512: blocks begin
	 * at 0, 320, 640 and 2,310. Of the fourth 5 begin before 2,048, and 26 after it.
	 */
	for (int i = 0; i < 96; i++)
		put(v, lane, 10 * i, 10 * i + 1, 'a');
	put(v, lane, 1000, 2000, 'b');
	for (int i = 200; i < 263; i++)
		put(v, lane, 10 * i, 10 * i + 1, 'a');
	assert_int_equal(view_lanes_publish(v, true), 0);
	check_tile(v, lane->id, 9, 0,
		   "0-631 64x a 64, 640-951 32x a 32, 1000-2000 b, 2000-2041 5x a 5, 2050-2621 58x "
		   "a 58");
	view_store_free(v);
}

/* ---- curves ---- */

struct px {
	float least, most, last;
};

static void curve_of(struct view_store *v, uint32_t lane, uint32_t k, int64_t index, struct px *px)
{
	float least[VIEW_TILE_PX], most[VIEW_TILE_PX], last[VIEW_TILE_PX];
	struct view_reader r;

	assert_true(view_reader_begin(&r, v, lane));
	view_tile_counter(&r, k, index, least, most, last);
	assert_false(r.is_damaged);
	view_reader_end(&r);
	for (int i = 0; i < VIEW_TILE_PX; i++)
		px[i] = (struct px){least[i], most[i], last[i]};
}

static void check_px(const struct px *px, float least, float most, float last)
{
	if (isnan(last)) {
		assert_true(isnan(px->least) && isnan(px->most) && isnan(px->last));
		return;
	}
	assert_true(px->least == least && px->most == most && px->last == last);
}

static void a_value_holds_until_the_next_one(void **state)
{
	struct view_store *v = make_store();
	struct view_lane *lane = view_lane_add(v, make_row(v, VIEW_COUNTER));
	struct px px[VIEW_TILE_PX];

	(void)state;
	/* At k 2 a pixel is 4. In pixel 2 the first value; in pixel 5 it goes from 10 to 3, 30 and 20; the last in tile 1. */
	view_lane_value(v, lane, 9, false, 10, 0);
	view_lane_value(v, lane, 20, false, 3, 0);
	view_lane_value(v, lane, 21, false, 30, 0);
	view_lane_value(v, lane, 23, false, 20, 0);
	view_lane_value(v, lane, 1024, false, 7, 0);
	assert_int_equal(view_lanes_publish(v, true), 0);
	curve_of(v, lane->id, 2, 0, px);
	check_px(&px[0], 0, 0, NAN);
	check_px(&px[1], 0, 0, NAN);
	for (int i = 2; i < 5; i++)
		check_px(&px[i], 10, 10, 10);
	check_px(&px[5], 3, 30, 20);
	for (int i = 6; i < 256; i++)
		check_px(&px[i], 20, 20, 20);
	/* The value from before is there at the beginning of the pixel in which it changes. */
	curve_of(v, lane->id, 2, 1, px);
	check_px(&px[0], 7, 20, 7);
	check_px(&px[1], 7, 7, 7);
	check_px(&px[255], 7, 7, 7);
	curve_of(v, lane->id, 2, 5, px);
	check_px(&px[0], 7, 7, 7);
	curve_of(v, lane->id, 2, -1, px);
	check_px(&px[255], 0, 0, NAN);
	/* A time that there is not has no value; a lane of slices has no curve, and a curve no rectangles. */
	curve_of(v, lane->id, 55, 0, px);
	check_px(&px[0], 0, 0, NAN);
	check_tile(v, lane->id, 2, 0, "");
	lane = make_lane(v);
	put(v, lane, 1, 2, 'a');
	assert_int_equal(view_lanes_publish(v, true), 0);
	curve_of(v, lane->id, 2, 0, px);
	check_px(&px[0], 0, 0, NAN);
	view_store_free(v);
}

static void a_curve_of_many_values_has_the_extremes_of_each_pixel(void **state)
{
	struct view_store *v = make_store();
	struct view_lane *lane = view_lane_add(v, make_row(v, VIEW_COUNTER));
	struct px px[VIEW_TILE_PX];

	(void)state;
	/* i at 4 * i, 3,000 of them: a pixel of 2^11 has 512, those of a tile 0 to 511 and so on, after the one before. */
	for (int i = 0; i < 3000; i++)
		view_lane_value(v, lane, 4 * i, false, i, 0);
	assert_int_equal(view_lanes_publish(v, true), 0);
	curve_of(v, lane->id, 11, 0, px);
	check_px(&px[0], 0, 511, 511);
	check_px(&px[1], 511, 1023, 1023);
	check_px(&px[4], 2047, 2559, 2559);
	check_px(&px[5], 2559, 2999, 2999);
	check_px(&px[6], 2999, 2999, 2999);
	/* At k 3 a pixel has two values: tile 1 begins with 512. */
	curve_of(v, lane->id, 3, 1, px);
	check_px(&px[0], 511, 513, 513);
	check_px(&px[255], 1021, 1023, 1023);
	view_store_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tile_has_256_pixels_of_2_to_the_k),
		cmocka_unit_test(events_of_a_pixel_or_more_are_shown_as_they_are),
		cmocka_unit_test(smaller_events_that_start_in_one_pixel_are_one_rectangle),
		cmocka_unit_test(
			what_starts_before_the_tile_and_is_small_has_a_rectangle_of_its_own),
		cmocka_unit_test(of_more_than_8_names_the_lightest_gives_way),
		cmocka_unit_test(whole_nodes_are_taken_where_they_are_shorter_than_a_pixel),
		cmocka_unit_test(a_long_event_is_shown_among_the_small_ones_of_its_block),
		cmocka_unit_test(a_value_holds_until_the_next_one),
		cmocka_unit_test(a_curve_of_many_values_has_the_extremes_of_each_pixel),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

/* view_lane.c - what nodes say of the events and the nodes below them, where they lie, and what a lane has as a whole. */
#include "view_test.h"

#include "exporters/view/index/totals.h"

static struct view_node node_at(struct view_store *v, uint32_t lane, uint32_t level, uint32_t i)
{
	struct view_reader r;
	struct view_node n;

	assert_true(view_reader_begin(&r, v, lane));
	assert_true(i < r.lane->seen.cnt[level]);
	n = *view_reader_node(&r, level, i);
	assert_false(r.is_damaged);
	view_reader_end(&r);
	return n;
}

static void check_times(const struct view_node *n, int64_t start, int64_t end, uint32_t cnt,
			int64_t covered, int64_t longest)
{
	assert_int_equal(n->start, start);
	assert_int_equal(n->end, end);
	assert_int_equal(n->cnt, cnt);
	assert_int_equal(n->covered, covered);
	assert_int_equal(n->longest, longest);
}

static void check_names(const struct view_node *n, char first, float weight, char second,
			float second_weight)
{
	assert_int_equal(n->name[0], first ? first - 'a' + 1 : 0);
	assert_true(n->weight[0] == weight);
	assert_int_equal(n->name[1], second ? second - 'a' + 1 : 0);
	assert_true(n->weight[1] == second_weight);
}

static void a_node_sums_up_the_events_of_its_block(void **state)
{
	struct view_store *v = make_store();
	struct view_lane *lane = make_lane(v);
	struct view_node n;

	(void)state;
	/*
	 * 32 events: 16 of 'a' with 10, 8 of 'b' with 30, 8 of 'c' with 0, each of which weighs 1. So 400 are covered,
	 * 'b' has 240 and 'a' 160.
	 */
	for (int i = 0; i < 32; i++)
		put(v, lane, 100 * i,
		    100 * i + (i % 2 == 0   ? 10
			       : i % 4 == 1 ? 30
					    : 0),
		    i % 2 == 0   ? 'a'
		    : i % 4 == 1 ? 'b'
				 : 'c');
	/* And a block of one. */
	put(v, lane, 3300, 3307, 'd');
	assert_int_equal(view_lanes_publish(v, true), 0);
	n = node_at(v, lane->id, 0, 0);
	check_times(&n, 0, 3100, 32, 400, 30);
	check_names(&n, 'b', 240, 'a', 160);
	assert_int_equal(n.flags, VIEW_INSTANT);
	n = node_at(v, lane->id, 0, 1);
	check_times(&n, 3300, 3307, 1, 7, 7);
	check_names(&n, 'd', 7, 0, 0);
	assert_int_equal(n.flags, 0);
	assert_int_equal(lane->seen.cnt[0], 2);
	assert_int_equal(lane->seen.cnt[1], 0);
	view_store_free(v);
}

static void a_node_sums_up_the_eight_nodes_below_it(void **state)
{
	struct view_store *v = make_store();
	struct view_lane *lane = make_lane(v);
	struct view_node n;

	(void)state;
	/*
	 * Blocks 0 to 63, of one name each, in turn 'a', 'b', 'c': an event of block i lasts i + 1. Above blocks 0 to 7 'a'
	 * has 0, 3, 6, 32 * (1 + 4 + 7) = 384, 'b' 32 * (2 + 5 + 8) = 480, 'c' 32 * (3 + 6) = 288; 32 * 36 = 1152 in all.
	 */
	for (int i = 0; i < 64 * 32; i++)
		put(v, lane, 1000 * i, 1000 * i + i / 32 + 1, (char)('a' + i / 32 % 3));
	assert_int_equal(view_lanes_publish(v, true), 0);
	assert_int_equal(lane->seen.cnt[0], 64);
	assert_int_equal(lane->seen.cnt[1], 8);
	assert_int_equal(lane->seen.cnt[2], 1);
	assert_int_equal(lane->seen.cnt[3], 0);
	n = node_at(v, lane->id, 1, 0);
	check_times(&n, 0, 255000 + 8, 256, 1152, 8);
	check_names(&n, 'b', 480, 'a', 384);
	/*
	 * Blocks 56 to 63 last 57 to 64: 'c' 56, 59, 62: 32 * (57 + 60 + 63) = 5760, 'a' 57, 60, 63: 32 * (58 + 61 + 64) =
	 * 5856, 'b' 58, 61: 32 * (59 + 62) = 3872.
	 */
	n = node_at(v, lane->id, 1, 7);
	check_times(&n, 1792000, 2047000 + 64, 256, 5760 + 5856 + 3872, 64);
	check_names(&n, 'a', 5856, 'c', 5760);
	/* All: 32 * 64 * 65 / 2. */
	n = node_at(v, lane->id, 2, 0);
	check_times(&n, 0, 2047064, 2048, 66560, 64);
	view_store_free(v);
}

static void values(struct view_store *v, struct view_lane *lane, int from, int to)
{
	for (int i = from; i < to; i++) {
		double real = i % 100 == 7 ? NAN : i % 2 ? i : -i;
		int64_t bits;

		memcpy(&bits, &real, sizeof(bits));
		assert_int_equal(view_lane_value(v, lane, 10 * i, true, bits, 0), 0);
	}
}

static void a_node_of_a_counter_has_its_least_its_most_and_its_last_value(void **state)
{
	struct view_store *v = make_store();
	struct view_lane *lane = view_lane_add(v, make_row(v, VIEW_COUNTER));
	struct view_lane *whole = view_lane_add(v, make_row(v, VIEW_COUNTER));
	struct view_node n;

	(void)state;
	/* i where it is odd, -i where it is even, and nothing at 7, 107, 207: 0 to 31 sum up to 16 - 7. */
	values(v, lane, 0, 256);
	for (int i = 5; i < 8; i++)
		assert_int_equal(view_lane_value(v, whole, i, false, -i, 0), 0);
	assert_int_equal(view_lanes_publish(v, false), 0);
	n = node_at(v, lane->id, 0, 0);
	assert_int_equal(n.cnt, 32);
	assert_int_equal(n.flags, VIEW_REAL);
	assert_true(n.least == -30 && n.most == 31 && n.last == 31 && n.sum == 9);
	/* 128 pairs of 1, without 7 + 107 + 207. */
	n = node_at(v, lane->id, 1, 0);
	assert_int_equal(n.cnt, 256);
	assert_true(n.least == -254 && n.most == 255 && n.last == 255 && n.sum == 128 - 321);
	assert_true(n.start == 0 && n.end == 2550);
	assert_true(lane->seen.least == -254 && lane->seen.most == 255);
	n = node_at(v, whole->id, 0, 0);
	assert_true(n.least == -7 && n.most == -5 && n.last == -7 && n.sum == -18 && n.flags == 0);
	assert_true(whole->seen.least == -7 && whole->seen.most == -5);
	/* Values that lie within change neither, and a first value is both. */
	assert_int_equal(view_lane_value(v, whole, 9, false, -6, 0), 0);
	assert_int_equal(view_lanes_publish(v, true), 0);
	assert_true(whole->seen.least == -7 && whole->seen.most == -5);
	view_store_free(v);
}

static bool has_name(const struct view_lane *lane, char name)
{
	uint32_t bit = view_name_bit((uint32_t)(name - 'a') + 1);

	return lane->seen.names[bit / 64] >> bit % 64 & 1;
}

static void a_lane_has_its_events_its_span_and_what_is_busy(void **state)
{
	struct view_store *v = make_store();
	struct view_lane *lane = make_lane(v);

	(void)state;
	put(v, lane, 5, 15, 'a');
	put(v, lane, 20, 20, 'c');
	/* Nothing is seen before it is published. */
	assert_int_equal(lane->seen.events, 0);
	assert_int_equal(view_lanes_publish(v, false), 0);
	assert_int_equal(lane->seen.events, 2);
	assert_true(lane->seen.first == 5 && lane->seen.last == 20 && lane->seen.busy == 10);
	assert_true(has_name(lane, 'a') && !has_name(lane, 'b') && has_name(lane, 'c'));
	/* What is open is not busy, and its end not the last. */
	put(v, lane, 30, 37, 'b');
	put(v, lane, 40, VIEW_TIME_MAX, 'd');
	assert_int_equal(view_lanes_publish(v, true), 0);
	assert_int_equal(lane->seen.events, 4);
	assert_true(lane->seen.first == 5 && lane->seen.last == 40 && lane->seen.busy == 17);
	assert_true(has_name(lane, 'b') && has_name(lane, 'd'));
	check_lane(v, lane->id, "5+10 a, 20+0 c, 30+7 b, 40 open d");
	assert_int_equal(v->generation, 2);
	view_store_free(v);
}

static void what_begins_before_the_end_of_the_one_before_it_is_moved(void **state)
{
	struct view_store *v = make_store();
	struct view_lane *lane = make_lane(v);

	(void)state;
	put(v, lane, 10, 20, 'a');
	put(v, lane, 20, 25, 'b');
	assert_int_equal(v->disordered, 0);
	put(v, lane, 22, 30, 'c');
	put(v, lane, 26, 28, 'd');
	assert_int_equal(v->disordered, 2);
	assert_int_equal(view_lanes_publish(v, true), 0);
	check_lane(v, lane->id, "10+10 a, 20+5 b, 25+5 c, 30+0 d");
	view_store_free(v);
}

static void sources_of_a_lane_are_those_of_its_events(void **state)
{
	struct view_store *v = make_store();
	struct view_lane *lane = make_lane(v);
	struct view_event e = event(10, 20, 'a');

	(void)state;
	assert_int_equal(view_source_of(v, "OTHER"), 1);
	assert_int_equal(view_source_of(v, "THIRD"), 2);
	e.source = 2;
	assert_int_equal(view_lane_put(v, lane, &e), 0);
	assert_int_equal(lane->sources, 4);
	put(v, lane, 30, 40, 'a');
	assert_int_equal(lane->sources, 5);
	view_store_free(v);
}

static void extents_grow_to_64_kib_and_to_16_above_the_first_level(void **state)
{
	uint32_t at;

	(void)state;
	/* A node has 64 bytes, an extent a head of 32: (1024 - 32) / 64 = 15, then 63, 255 and 1023. */
	assert_int_equal(sizeof(struct view_node), 64);
	for (uint32_t level = 0; level < 2; level++) {
		assert_true(view_node_extent(level, 0, &at) == 0 && at == 0);
		assert_true(view_node_extent(level, 14, &at) == 0 && at == 14);
		assert_true(view_node_extent(level, 15, &at) == 1 && at == 0);
		assert_true(view_node_extent(level, 15 + 62, &at) == 1 && at == 62);
		assert_true(view_node_extent(level, 15 + 63, &at) == 2 && at == 0);
		assert_true(view_node_extent(level, 15 + 63 + 254, &at) == 2 && at == 254);
		assert_true(view_node_extent(level, 15 + 63 + 255, &at) == 3 && at == 0);
	}
	assert_true(view_node_extent(0, 333 + 1022, &at) == 3 && at == 1022);
	assert_true(view_node_extent(0, 333 + 1023, &at) == 4 && at == 0);
	assert_true(view_node_extent(0, 333 + 2 * 1023 + 5, &at) == 5 && at == 5);
	assert_true(view_node_extent(1, 333 + 254, &at) == 3 && at == 254);
	assert_true(view_node_extent(1, 333 + 255, &at) == 4 && at == 0);
}

/* ---- many events ---- */

static void count_total(void *ctx, const struct view_total *t)
{
	uint64_t *cnt = ctx;

	cnt[0] += t->cnt;
	cnt[1] += (uint64_t)t->total;
	cnt[2]++;
}

static void a_long_lane_has_nodes_of_four_levels_and_totals_of_each_512_blocks(void **state)
{
	enum {
		BLOCKS = 1100
	};
	struct view_store *v = make_store();
	struct view_lane *lane = make_lane(v);
	static const uint32_t want[] = {BLOCKS, 137, 17, 2, 0}; /* an eighth of each */
	struct view_reader r;
	struct view_node n;
	uint64_t sums[3] = {0};

	(void)state;
	/* Some of it is published on the way, in the middle of extents; half a block becomes one of its own at the end only. */
	for (int i = 0; i < BLOCKS * 32; i++) {
		put(v, lane, 10 * i, 10 * i + 3, i % 2 ? 'x' : 'y');
		if (i % 3200 == 3199)
			assert_int_equal(view_lanes_publish(v, false), 0);
	}
	assert_int_equal(view_lanes_publish(v, true), 0);
	for (uint32_t level = 0; level < 5; level++)
		assert_int_equal(lane->seen.cnt[level], want[level]);
	for (uint32_t i = 0; i < BLOCKS; i++) {
		n = node_at(v, lane->id, 0, i);
		check_times(&n, 320 * i, 320 * i + 313, 32, 96, 3);
		check_names(&n, 'y', 48, 'x', 48);
	}
	for (uint32_t i = 0; i < 137; i++) {
		n = node_at(v, lane->id, 1, i);
		check_times(&n, 2560 * i, 2560 * i + 2553, 256, 768, 3);
	}
	n = node_at(v, lane->id, 3, 1);
	check_times(&n, 163840, 163840 + 163833, 16384, 49152, 3);
	assert_true(view_reader_begin(&r, v, lane->id));
	for (uint32_t i = 0; i < 2; i++)
		assert_true(view_reader_totals(&r, i, count_total, sums));
	view_reader_end(&r);
	/* Two stretches of 16,384 events that last 3, of two names. */
	assert_true(sums[0] == 32768 && sums[1] == 98304 && sums[2] == 4);
	view_store_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_sums_up_the_events_of_its_block),
		cmocka_unit_test(a_node_sums_up_the_eight_nodes_below_it),
		cmocka_unit_test(a_node_of_a_counter_has_its_least_its_most_and_its_last_value),
		cmocka_unit_test(a_lane_has_its_events_its_span_and_what_is_busy),
		cmocka_unit_test(what_begins_before_the_end_of_the_one_before_it_is_moved),
		cmocka_unit_test(sources_of_a_lane_are_those_of_its_events),
		cmocka_unit_test(extents_grow_to_64_kib_and_to_16_above_the_first_level),
		cmocka_unit_test(
			a_long_lane_has_nodes_of_four_levels_and_totals_of_each_512_blocks),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

/*
 * view_cut.c - taking back the end of a lane: what is written after it makes the lane one that had never been longer, node by
 * node, wherever it is cut.
 */
#include "view_test.h"

#include "exporters/view/index/lane.h"

/* Event @i of a lane: of three names, some without duration. */
static struct view_event nth(int i)
{
	return event(10 * i, 10 * i + i % 4, (char)('a' + i % 3));
}

static void fill(struct view_store *v, struct view_lane *lane, int from, int to)
{
	for (int i = from; i < to; i++) {
		struct view_event e = nth(i);

		assert_int_equal(view_lane_put(v, lane, &e), 0);
	}
	pthread_rwlock_wrlock(&v->lock);
	assert_int_equal(view_lane_publish(v, lane), 0);
	pthread_rwlock_unlock(&v->lock);
}

static void cut(struct view_store *v, struct view_lane *lane, uint32_t block)
{
	pthread_rwlock_wrlock(&v->lock);
	assert_int_equal(view_lane_cut(v, lane, block), 0);
	pthread_rwlock_unlock(&v->lock);
}

static void same_nodes(struct view_store *v, uint32_t one, uint32_t other)
{
	struct view_reader r;
	struct view_node *nodes;

	for (uint32_t level = 0; level < VIEW_LEVELS; level++) {
		uint32_t cnt = v->lanes[one - 1]->seen.cnt[level];

		assert_int_equal(cnt, v->lanes[other - 1]->seen.cnt[level]);
		nodes = calloc(cnt + 1, sizeof(*nodes));
		assert_true(view_reader_begin(&r, v, one));
		for (uint32_t i = 0; i < cnt; i++)
			nodes[i] = *view_reader_node(&r, level, i);
		assert_true(view_reader_lane(&r, other));
		for (uint32_t i = 0; i < cnt; i++) {
			struct view_node n = *view_reader_node(&r, level, i);

			/* Each lies in a place of its own. */
			n.where = nodes[i].where;
			assert_memory_equal(&n, &nodes[i], sizeof(n));
		}
		assert_false(r.is_damaged);
		view_reader_end(&r);
		free(nodes);
	}
}

/* Both lanes have the same: all nodes, all events, what is known of the whole. */
static void same_lanes(struct view_store *v, struct view_lane *one, struct view_lane *other)
{
	char *text = text_of_lane(v, one->id);

	same_nodes(v, one->id, other->id);
	check_lane(v, other->id, text);
	free(text);
	assert_int_equal(one->seen.events, other->seen.events);
	assert_int_equal(one->seen.first, other->seen.first);
	assert_int_equal(one->seen.last, other->seen.last);
	assert_int_equal(one->seen.busy, other->seen.busy);
	assert_memory_equal(one->seen.names, other->seen.names, sizeof(one->seen.names));
}

/* Of a lane with @had events what is from @block on is taken back, and others are put until there are @has. */
static void cut_and_fill(int had, uint32_t block, int has)
{
	struct view_store *v = make_store();
	struct view_lane *lane = make_lane(v), *whole = make_lane(v), *beside = make_lane(v);

	if (block > 0)
		fill(v, whole, 0, 32 * (int)block);
	fill(v, whole, 32 * (int)block, has);
	fill(v, beside, 0, 100);
	fill(v, lane, 0, had);
	cut(v, lane, block);
	fill(v, lane, 32 * (int)block, has);
	same_lanes(v, whole, lane);
	/* Room that was freed is given to others, and this lane is as it was. */
	fill(v, beside, 100, 4000);
	same_lanes(v, whole, lane);
	view_store_free(v);
}

static void a_lane_that_was_cut_anywhere_grows_as_if_it_had_not_been(void **state)
{
	/* Around extents, which have 15, 63 and 255 nodes, and the eight blocks of a node. */
	static const uint32_t blocks[] = {0, 1, 7, 8, 9, 14, 15, 16, 64, 78, 79, 120, 332, 333};

	(void)state;
	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		int at = 32 * (int)blocks[i];

		cut_and_fill(at + 32, blocks[i], at + 32 * 9);
		cut_and_fill(at + 32 * 20 + 5, blocks[i], at + 3);
		cut_and_fill(at + 32 * 90, blocks[i], at + 32 * 90);
	}
}

static void a_cut_behind_the_end_takes_nothing(void **state)
{
	struct view_store *v = make_store();
	struct view_lane *lane = make_lane(v), *whole = make_lane(v);

	(void)state;
	fill(v, whole, 0, 64);
	fill(v, lane, 0, 64);
	cut(v, lane, 2);
	cut(v, lane, 100);
	fill(v, lane, 64, 64);
	same_lanes(v, whole, lane);
	/* And of a lane without events there is nothing to take. */
	cut(v, make_lane(v), 0);
	view_store_free(v);
}

static void what_was_cut_counts_no_more(void **state)
{
	struct view_store *v = make_store();
	struct view_lane *lane = make_lane(v);

	(void)state;
	/* 32 events of 10 each, 32 of 1, the last of them open, so that 31 are busy. */
	for (int i = 0; i < 64; i++)
		put(v, lane, 20 * i, i == 63 ? VIEW_TIME_MAX : 20 * i + (i < 32 ? 10 : 1), 'a');
	assert_int_equal(view_lanes_publish(v, false), 0);
	assert_true(lane->seen.busy == 351 && lane->seen.last == 1260 && lane->seen.events == 64);
	cut(v, lane, 1);
	/* What comes next may begin where the last that is left has ended, at 630. */
	put(v, lane, 630, 700, 'b');
	assert_int_equal(v->disordered, 0);
	assert_int_equal(view_lanes_publish(v, false), 0);
	assert_true(lane->seen.busy == 390 && lane->seen.last == 700 && lane->seen.events == 33);
	/* All of it: then anything may come. */
	cut(v, lane, 0);
	put(v, lane, -5, -3, 'c');
	assert_int_equal(view_lanes_publish(v, true), 0);
	assert_int_equal(v->disordered, 0);
	assert_true(lane->seen.busy == 2 && lane->seen.last == -3 && lane->seen.events == 1 &&
		    lane->seen.first == -5);
	check_lane(v, lane->id, "-5+2 c");
	view_store_free(v);
}

static void extents_of_what_was_cut_are_used_again(void **state)
{
	struct view_store *v = make_store();
	struct view_lane *lane = make_lane(v);
	uint64_t bytes;

	(void)state;
	fill(v, lane, 0, 40000);
	bytes = view_side_bytes(v->side);
	/* Ten times most of it is taken back and written again: the file hardly grows. */
	for (int i = 0; i < 10; i++) {
		cut(v, lane, 3);
		fill(v, lane, 96, 40000);
	}
	assert_true(view_side_bytes(v->side) < bytes + bytes / 4);
	view_store_free(v);
}

/* The side file, which has no name while it is written. */
static int side_file(void)
{
	char link[64], target[256];

	for (int fd = 3; fd < 100; fd++) {
		ssize_t len;

		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		len = readlink(link, target, sizeof(target) - 1);
		if (len > 0 && memmem(target, (size_t)len, store_dir, strlen(store_dir)))
			return fd;
	}
	return -1;
}

static void an_extent_that_is_damaged_cannot_be_written_again(void **state)
{
	struct view_store *v = make_store();
	struct view_lane *lane = make_lane(v);
	int fd = side_file();

	(void)state;
	/*
	 * 160 blocks, 20 nodes above them, of which the first extent has 15. Of 64 blocks eight are left: none of them is
	 * looked at before it is written again.
	 */
	fill(v, lane, 0, 160 * 32);
	assert_int_equal(lane->seen.refs[1].cnt, 2);
	assert_int_equal(
		pwrite(fd, "damage", 6, (off_t)VIEW_REF_OFFSET(lane->seen.refs[1].ref[0]) + 100),
		6);
	pthread_rwlock_wrlock(&v->lock);
	assert_int_equal(view_lane_cut(v, lane, 64), -1);
	pthread_rwlock_unlock(&v->lock);
	view_store_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lane_that_was_cut_anywhere_grows_as_if_it_had_not_been),
		cmocka_unit_test(a_cut_behind_the_end_takes_nothing),
		cmocka_unit_test(what_was_cut_counts_no_more),
		cmocka_unit_test(extents_of_what_was_cut_are_used_again),
		cmocka_unit_test(an_extent_that_is_damaged_cannot_be_written_again),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

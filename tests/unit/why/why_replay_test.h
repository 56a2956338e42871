/* why_replay_test.h - one edit of a recording, replayed. After why_test.h. */
#pragma once

#include "exporters/why/answer/replay.h"

/* The culprit at a line of the program; the test fails if there is none. */
static inline uint32_t culprit_at(int line)
{
	const struct why *y = &test.y;

	for (uint32_t i = 0; i < y->culprits_cnt; i++)
		if (y->walk.places.list[y->culprits[i].place].line == line)
			return i;
	fail_msg("no culprit at line %d", line);
	return 0;
}

static inline uint64_t bit_of(int line)
{
	return UINT64_C(1) << culprit_at(line);
}

/* What is replayed, with no change and with one: by how much earlier, in ms, the thread ends. With no change it ends as recorded. */
static inline double won_by(struct replay_edit edit)
{
	struct replay_edit edits[2] = {{.keep = 1, .sync = REPLAY_ANY}, edit};
	struct replay r = {.edits = edits, .cnt = 2, .culprits = test.y.culprits_cnt};
	double won;

	assert_int_equal(replay_run(&test.y, &r), SQLITE_OK);
	assert_int_equal(r.end[0], test.y.time.spans_cnt > 1 ? test.y.from + test.y.ns : test.y.to);
	won = (double)(r.end[0] - r.end[1]) / MS;
	replay_free(&r);
	return won;
}

/* Of the line, @keep stays; members of the edit may follow. Zero is what the caution of gains.c chooses. */
#define won(line, share, ...)                                              \
	won_by((struct replay_edit){.culprits = (line) ? bit_of(line) : 0, \
				    .keep = (share),                       \
				    .sync = REPLAY_ANY,                    \
				    ##__VA_ARGS__})

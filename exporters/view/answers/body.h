/* body.h - the small JSON objects that the page sends. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct view_span {
	int64_t from, to;
	uint32_t *lanes; /* in the order they were given */
	uint32_t lane_cnt;
	char table[32];
	char by[16]; /* "thread": names apart by thread or GPU */
	/* The same of another report, to be tested against. */
	struct {
		int64_t report; /* -1: none */
		int64_t from, to;
		uint32_t *lanes;
		uint32_t lane_cnt;
	} other;
};

/*
 * {"from": n, "to": n, "lanes": [n, ...], "table": "word", "by": "word", "other": n, "other_from": n, "other_to": n, "other_lanes": [n, ...]},
 * in any order; other members are ignored. False: no such object.
 */
bool view_body_span(const uint8_t *body, size_t len, struct view_span *s);
void view_span_free(struct view_span *s);

/* sample_ranges.c - a list of mappings by address; see sample_ranges.h. */
#include "collector/kernel/sample/sample_ranges.h"

#include <stdlib.h>
#include <string.h>

void sample_ranges_release(struct sample_ranges *rs)
{
	if (!rs || --rs->refs)
		return;
	free(rs->list);
	free(rs);
}

struct sample_ranges *sample_ranges_share(struct sample_ranges *rs)
{
	if (rs)
		rs->refs++;
	return rs;
}

struct sample_ranges *sample_ranges_own(struct sample_ranges **at, size_t more)
{
	struct sample_ranges *old = *at, *rs = old;
	struct sample_range *list;

	if (!old || old->refs > 1) {
		rs = calloc(1, sizeof(*rs));
		if (!rs)
			return NULL;
		rs->refs = 1;
	}
	if (!rs->list || rs->cnt + more > rs->cap) {
		size_t cnt = (old ? old->cnt : 0) + more, cap = cnt + cnt / 2 + 32;

		list = reallocarray(rs->list, cap, sizeof(*list));
		if (!list) {
			if (rs != old)
				free(rs);
			return NULL;
		}
		rs->list = list;
		rs->cap = cap;
	}
	if (rs == old)
		return rs;
	for (size_t i = 0; old && i < old->cnt; i++)
		rs->list[rs->cnt++] = old->list[i];
	sample_ranges_release(old);
	*at = rs;
	return rs;
}

/* The first that ends behind @address. */
static size_t place_of(const struct sample_ranges *rs, uint64_t address)
{
	size_t low = 0, high = rs ? rs->cnt : 0;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (rs->list[mid].to <= address)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct sample_range *sample_ranges_find(const struct sample_ranges *rs, uint64_t address)
{
	size_t i = place_of(rs, address);

	return rs && i < rs->cnt && rs->list[i].from <= address ? &rs->list[i] : NULL;
}

static bool is_known(const struct sample_ranges *rs, const struct sample_range *r)
{
	const struct sample_range *there = sample_ranges_find(rs, r->from);

	return there && there->from == r->from && there->to == r->to && there->file == r->file &&
	       there->offset == r->offset && there->path == r->path &&
	       there->is_moved == r->is_moved;
}

static void begin_at(struct sample_range *r, uint64_t address)
{
	if (r->path[0] == '/')
		r->offset += address - r->from;
	r->from = address;
}

bool sample_ranges_put(struct sample_ranges **at, const struct sample_range *r)
{
	struct sample_ranges *rs;
	size_t from, to;

	if (r->from >= r->to || is_known(*at, r))
		return false;
	rs = sample_ranges_own(at, 2);
	if (!rs)
		return false;
	from = place_of(rs, r->from);
	if (from < rs->cnt && rs->list[from].from < r->from) {
		/* Begins within one: its first part stays, and perhaps its last. */
		memmove(&rs->list[from + 1], &rs->list[from], (rs->cnt - from) * sizeof(*rs->list));
		rs->cnt++;
		rs->list[from].to = r->from;
		begin_at(&rs->list[from + 1], r->from);
		from++;
	}
	for (to = from; to < rs->cnt && rs->list[to].to <= r->to; to++)
		;
	if (to < rs->cnt && rs->list[to].from < r->to)
		begin_at(&rs->list[to], r->to);
	memmove(&rs->list[from + 1], &rs->list[to], (rs->cnt - to) * sizeof(*rs->list));
	rs->cnt = rs->cnt - (to - from) + 1;
	rs->list[from] = *r;
	return true;
}

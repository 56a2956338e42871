/* capture_window.c - finds the time range of a report that holds a time, and clips to it. */
#include "collector/base/capture_window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"

bool windows_cut(const struct windows *w, int64_t zero, int64_t *start, int64_t *end)
{
	int64_t from = INT64_MAX, to = INT64_MIN;

	if (!w)
		return true;
	for (size_t i = 0; i < w->cnt; i++) {
		const struct window *one = &w->list[i];

		if (*start + zero >= one->to_mono || *end + zero < one->from_mono)
			continue;
		if (from == INT64_MAX)
			from = one->from_mono;
		to = one->to_mono;
	}
	if (from == INT64_MAX)
		return false;
	if (*start + zero < from)
		*start = from - zero;
	if (*end + zero > to)
		*end = to - zero;
	return true;
}

int windows_add(struct windows *w, uint64_t from, int64_t from_mono)
{
	if (!grow(&w->list, w->cnt, &w->cap, sizeof(*w->list)))
		return -ENOMEM;
	w->list[w->cnt++] = (struct window){from, UINT64_MAX, from_mono, INT64_MAX};
	return 0;
}

void windows_release(struct windows *w)
{
	free(w->list);
	memset(w, 0, sizeof(*w));
}

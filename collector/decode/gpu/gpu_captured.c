/*
 * gpu_captured.c - whether the GPU's work was launched in one of the report's capture windows.
 *
 * Kinds of records that CUPTI must not disable, or cannot enable late, are also recorded of work
 * before and after. Times do not distinguish such work, as it may wait on the GPU for long.
 * Correlation ids do: they grow with the calls, and CUPTI gives the calls of windows. So each
 * window has a range of ids; and work that began before a window closed was not launched after it.
 */
#include "collector/decode/gpu/gpu_internal.h"
#include "collector/base/grow.h"

#include <stdlib.h>
#include <string.h>

/* The ids of calls in a window; they wrap around. */
struct gpu_range {
	uint32_t first, last;
	bool is_known; /* there was a call */
};

void gpu_captured_call(const struct arenas *as, struct gpu_process *p, int64_t start,
		       uint32_t correlation)
{
	const struct windows *w = as->report.windows;
	struct gpu_range *r;
	size_t i;

	if (!w || as->flight.follows_files || !correlation)
		return;
	for (i = w->cnt; i > 0 && start + as->clock->zero < w->list[i - 1].from_mono; i--)
		;
	if (!i--)
		return;
	while (p->calls.range_cnt <= i) {
		if (!grow(&p->calls.range, p->calls.range_cnt, &p->calls.range_cap,
			  sizeof(*p->calls.range))) {
			p->calls.is_range_partial = true;
			return;
		}
		p->calls.range[p->calls.range_cnt++] = (struct gpu_range){0};
	}
	r = &p->calls.range[i];
	if (!r->is_known)
		*r = (struct gpu_range){correlation, correlation, true};
	if ((int32_t)(correlation - r->first) < 0)
		r->first = correlation;
	if ((int32_t)(correlation - r->last) > 0)
		r->last = correlation;
}

static bool is_in(const struct arenas *as, const struct gpu_process *p, size_t i, int64_t start,
		  uint32_t correlation)
{
	const struct window *w = &as->report.windows->list[i];
	const struct gpu_range *r = i < p->calls.range_cnt ? &p->calls.range[i] : NULL;
	bool has_begin = p->time.first + as->clock->zero >= w->from_mono;
	bool has_end = w->to_mono == INT64_MAX || start + as->clock->zero < w->to_mono;

	/* All records of the process so far, also those without a known call. */
	if (has_begin && has_end)
		return true;
	return r && r->is_known && correlation &&
	       (has_begin || (int32_t)(correlation - r->first) >= 0) &&
	       (has_end || (int32_t)(correlation - r->last) <= 0);
}

bool gpu_captured(const struct arenas *as, const struct gpu_process *p, int64_t start,
		  uint32_t correlation)
{
	const struct windows *w = as->report.windows;

	if (!w || as->flight.follows_files || p->calls.is_range_partial)
		return true;
	/* CUPTI cannot record calls here, and gives work no ids then. */
	if (!p->calls.range_cnt && p->calls.last != INT64_MIN)
		return true;
	for (size_t i = w->cnt; i > 0; i--)
		if (is_in(as, p, i - 1, start, correlation))
			return true;
	return false;
}

void gpu_captured_forget(struct gpu_process *p)
{
	p->calls.range_cnt = 0;
	p->calls.is_range_partial = false;
}

void gpu_captured_release(struct gpu_process *p)
{
	free(p->calls.range);
	p->calls.range = NULL;
	p->calls.range_cnt = p->calls.range_cap = 0;
}

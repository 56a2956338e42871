/*
 * pm_decode.c - decodes samples and hands them on as frames, in CLOCK_MONOTONIC. CUPTI's times are those of CLOCK_REALTIME, which
 * may be set while samples are taken: a pair of both clocks is read at each round, and a step between two of them is found in
 * the samples.
 */
#include "collector/probe/pm_session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS  64 /* of one call */
#define STEP_NS 200000
#define NS      1000000000
#define OVER \
	1.1 /* counters of different units are not read at once: a full one may read as 104 % */

/* ---- time ---- */

static int64_t cupti_now(const void *ctx)
{
	const struct pm_api *api = ctx;
	struct timespec t;
	uint64_t its;

	if (!api->GetTimestamp(&its))
		return (int64_t)its;
	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * NS + t.tv_nsec;
}

static struct pm_clock read_clock(const struct pm_api *api)
{
	struct out_pair pair = out_pair(cupti_now, api);

	return (struct pm_clock){pair.its, pair.mono - pair.its};
}

/* The clock in a round: a pair before it, and one behind it. */
struct span {
	struct pm_clock from, to;
	bool is_step, is_behind; /* behind the step */
};

static int64_t map(struct span *s, int64_t its, int64_t expected)
{
	int64_t before = its + s->from.offset, behind = its + s->to.offset;

	if (!s->is_step) {
		int64_t width = s->to.its - s->from.its, at = its - s->from.its;

		if (width <= 0 || at >= width)
			return behind;
		if (at <= 0)
			return before;
		return before + (int64_t)((double)(behind - before) * (double)at / (double)width);
	}
	/* Takes the candidate that fits the samples before. */
	if (!s->is_behind && llabs(behind - expected) < llabs(before - expected))
		s->is_behind = true;
	return s->is_behind ? behind : before;
}

void pm_flow_start(struct pm_flow *f, const struct pm_session *s)
{
	f->clock = read_clock(&s->device->library->api);
	f->since = out_now();
	f->is_first = true;
}

/* ---- samples ---- */

/* False: none of the values is a number. */
static bool check(const struct pm_config *c, double *value)
{
	bool any = false;

	for (unsigned i = 0; i < c->cnt; i++) {
		bool is_percent = pm_is_percent(c->wants->at[c->want[i]].name);

		if (!isfinite(value[i]) ||
		    (is_percent && (value[i] < -1 || value[i] > 100 * OVER))) {
			value[i] = NAN;
			continue;
		}
		if (is_percent)
			value[i] = value[i] < 0 ? 0 : value[i] > 100 ? 100 : value[i];
		any = true;
	}
	return any;
}

static void hand_on(struct pm_flow *f, const struct pm_session *s, int64_t t0, int64_t t1,
		    const double *value)
{
	f->samples++;
	f->ns += t1 - t0;
	if (f->is_silent)
		return;
	if (f->last_end && t0 - f->last_end > s->rate.period / 2)
		out_gap(f->out, f->stream, f->last_end, t0, f->gap ? f->gap : PROBE_LATE);
	f->gap = PROBE_WHY_NONE;
	out_values(f->out, f->stream, t0, t1, value, s->config->cnt);
	f->last_start = t0;
	f->last_end = t1;
}

static void take(struct pm_flow *f, struct pm_session *s, struct span *span, size_t index)
{
	const struct pm_api *api = &s->device->library->api;
	double value[PROBE_VALUES_MAX];
	struct pm_sample_info info = PM(pm_sample_info, end, .object = s->object, .image = s->image,
					.size = s->image_size, .index = index);
	struct pm_evaluate evaluate =
		PM(pm_evaluate, values, .host = s->config->host, .image = s->image,
		   .image_size = s->image_size, .index = index, .names = s->config->spellings,
		   .cnt = s->config->cnt, .values = value);
	int64_t t0, t1;

	/* The first one after a start has values of anything, and may have no start. */
	if (f->is_first) {
		f->is_first = false;
		return;
	}
	if (api->PmSamplingCounterDataGetSampleInfo(&info) || !info.start)
		return;
	/* The clock may be set between both. */
	t0 = map(span, (int64_t)info.start, f->last_end ? f->last_end : f->since);
	t1 = map(span, (int64_t)info.end, t0);
	/* Before the start, in the future, before the last one: not a time of this session's. */
	if (t1 < t0 || t0 < f->since - NS || t1 > out_now() + NS || t0 <= f->last_start)
		return;
	if (api->ProfilerHostEvaluateToGpuValues(&evaluate) || !check(s->config, value))
		return;
	hand_on(f, s, t0, t1, value);
}

static int round_of(struct pm_flow *f, struct pm_session *s, int *reason)
{
	const struct pm_api *api = &s->device->library->api;
	struct pm_decode d = PM(pm_decode, overflow, .object = s->object, .image = s->image,
				.size = s->image_size);
	struct pm_data_info info =
		PM(pm_data_info, completed, .image = s->image, .size = s->image_size);
	struct span span = {.from = f->clock};
	int result = api->PmSamplingDecodeData(&d);

	*reason = d.stop_reason;
	if (result)
		return result;
	if (d.overflow) {
		f->is_overflow = true;
		f->gap = PROBE_OVERFLOW;
	}
	result = api->PmSamplingGetCounterDataInfo(&info);
	if (result || !info.populated)
		return result;
	span.to = read_clock(api);
	span.is_step = llabs(span.to.offset - span.from.offset) > STEP_NS;
	for (size_t i = 0; i < info.completed; i++)
		take(f, s, &span, i);
	/* Of a late reader the next rounds still have samples from before the step. */
	if (!span.is_step || span.is_behind)
		f->clock = span.to;
	memcpy(s->image, s->blank, s->image_size);
	return 0;
}

int pm_decode(struct pm_flow *f, struct pm_session *s)
{
	int reason = PM_STOP_OTHER, result = 0;

	f->samples = 0;
	f->ns = 0;
	for (int i = 0; i < ROUNDS && !result && reason != PM_STOP_END_OF_RECORDS; i++) {
		out_beat(f->out);
		result = round_of(f, s, &reason);
	}
	return result;
}

/*
 * folded.c - one line per stack with how often it was sampled, or how many ns were spent in it itself: the input of
 * flamegraph.pl, inferno, speedscope and others.
 *
 * Stacks are summed up in a tree, so memory follows how many different ones there are.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/utf8.h"
#include "exporters/read/db_read.h"
#include "exporters/formats/fold.h"
#include "exporters/text/cell.h"

struct node {
	uint32_t parent, frame; /* node 0 is the root */
	uint32_t child, next;   /* lists; 0: none */
	uint64_t weight;
};

struct folded {
	struct fold fold;
	struct node *node;
	uint32_t cnt, max;
	struct map by_parent; /* (parent, frame) -> node */
};

/* The node of @frame below @parent. */
static uint32_t node_of(struct folded *d, uint32_t parent, uint32_t frame)
{
	uint64_t *at = map_at(&d->by_parent, (uint64_t)parent << 32 | frame, true);

	if (at && *at)
		return (uint32_t)*at;
	grow(&d->node, d->cnt, &d->max, sizeof(*d->node));
	if (!at || d->cnt == d->max) {
		d->fold.failed = true;
		return 0;
	}
	if (d->cnt == 0) /* the root */
		d->node[d->cnt++] = (struct node){0};
	d->node[d->cnt] =
		(struct node){.parent = parent, .frame = frame, .next = d->node[parent].child};
	d->node[parent].child = d->cnt;
	*at = d->cnt;
	return d->cnt++;
}

static uint32_t node_of_track(struct folded *d, struct fold_track *t)
{
	for (unsigned i = 0; t->node == 0 && i < t->path_cnt; i++) {
		uint32_t node = 0;

		for (unsigned k = 0; k < t->path_cnt; k++)
			node = node_of(d, node, t->path[k]);
		t->node = node;
	}
	return t->node;
}

static void on_open(struct fold *f, struct fold_track *t, struct fold_open *o)
{
	struct folded *d = f->self;

	o->node = node_of(d, t->open_cnt > 1 ? o[-1].node : node_of_track(d, t), o->frame);
}

static void on_close(struct fold *f, struct fold_track *t, struct fold_open *o)
{
	struct folded *d = f->self;

	(void)t;
	if (o->end - o->start > o->inner && !f->failed)
		d->node[o->node].weight += (uint64_t)(o->end - o->start - o->inner);
}

static void on_sample(struct fold *f, struct fold_track *t, const uint32_t *frames, unsigned cnt,
		      int64_t ts)
{
	struct folded *d = f->self;
	uint32_t node = node_of_track(d, t);

	(void)ts;
	for (unsigned i = 0; i < cnt; i++)
		node = node_of(d, node, frames[i]);
	if (!f->failed)
		d->node[node].weight++;
}

/* ---- output ---- */

/* A line end would end the stack; others would steer the terminal. */
static void put_frame(struct out *o, const char *text)
{
	for (size_t left = strlen(text), n; left; left -= n, text += n) {
		int32_t cp;

		n = utf8_next(text, left, &cp);
		if (cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || utf8_is_hidden((uint32_t)cp))
			out_literal(o, "?");
		else
			out_write(o, cp == ';' ? ":" : text, n);
	}
}

static void put_stack(struct folded *d, uint32_t node)
{
	uint32_t path[FOLD_DEPTH_MAX + 8];
	struct out *o = d->fold.job->out;
	unsigned cnt = 0;
	char weight[32];

	for (uint32_t n = node; n && cnt < sizeof(path) / sizeof(path[0]); n = d->node[n].parent)
		path[cnt++] = d->node[n].frame;
	while (cnt-- > 0) {
		put_frame(o, d->fold.frame[path[cnt]]);
		if (cnt > 0)
			out_literal(o, ";");
	}
	snprintf(weight, sizeof(weight), " %" PRIu64 "\n", d->node[node].weight);
	out_text(o, weight);
}

/* ---- weights ---- */

static void put_weighed(struct stack_costs *w, struct out *o, const struct stack_entry *e,
			int64_t value)
{
	const struct stack_owner *owner = &w->owner[e->owner];
	uint32_t path[FOLD_DEPTH_MAX + 8];
	unsigned cnt = 0;
	char weight[32];

	for (uint32_t n = e->node; n && cnt < sizeof(path) / sizeof(path[0]); n = w->node[n].parent)
		path[cnt++] = w->node[n].frame;
	put_frame(o, owner->process);
	out_literal(o, ";");
	put_frame(o, owner->thread);
	while (cnt-- > 0) {
		out_literal(o, ";");
		put_frame(o, w->frame[path[cnt]].text);
	}
	snprintf(weight, sizeof(weight), " %" PRId64 "\n", value);
	out_text(o, weight);
}

static int run_weighed(struct export_job *job, enum stack_cost what, char *why, size_t why_len)
{
	struct stack_costs w = {.frames = job->opt.frames,
				.by = OWNER_BY_NAME,
				.python_only = job->opt.python_only};
	unsigned asked = job->opt.flame;
	int rc;

	job->opt.flame = COST_BIT(what);
	rc = fold_weigh(&w, job, why, why_len);
	job->opt.flame = asked;
	for (size_t i = 0; i < w.entry_cnt && rc == 0; i++)
		if (w.entry[i].value[what] > 0)
			put_weighed(&w, job->out, &w.entry[i], w.entry[i].value[what]);
	stack_costs_free(&w);
	return rc;
}

static int run(struct export_job *job, char *why, size_t why_len)
{
	struct folded d = {0};
	int rc;

	if (job->opt.flame & (job->opt.flame - 1)) {
		snprintf(why, why_len, "folded shows one thing at a time; pprof takes several");
		return -1;
	}
	if (job->opt.flame)
		return run_weighed(job, (enum stack_cost)__builtin_ctz(job->opt.flame), why,
				   why_len);
	if ((job->timeline.activities & TL_ACT_SAMPLE) && db_read_has_samples(job->db))
		return run_weighed(job, COST_CPU, why, why_len);
	d.fold.self = &d;
	d.fold.on_open = on_open;
	d.fold.on_close = on_close;
	d.fold.on_sample = on_sample;
	rc = fold_run(&d.fold, job, why, why_len);
	for (uint32_t i = 1; i < d.cnt && rc == 0; i++)
		if (d.node[i].weight > 0)
			put_stack(&d, i);
	fold_free(&d.fold);
	map_free(&d.by_parent);
	free(d.node);
	return rc;
}

const struct exporter exporter_folded = {
	.name = "folded",
	.extension = "folded",
	.about = "stacks for flame graphs: samples if there are some, else ns in ranges and calls",
	.shape = EXPORT_STREAM,
	.activities = FOLD_ACTIVITIES,
	.flames = true,
	.run = run,
};

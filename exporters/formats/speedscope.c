/*
 * speedscope.c - a profile for speedscope.app: one per thread (or stream), in order of time.
 *
 * The format wants each profile in one piece, and the timeline goes through all threads at once: so events wait in a
 * temporary file, in blocks per thread, of which only the places are kept in memory.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "exporters/formats/fold.h"
#include "exporters/formats/json_out.h"

#define BLOCK 256 /* entries */

struct entry {
	int64_t at;     /* time; samples: place of the stack among the stacks */
	uint32_t frame; /* samples: frames it has */
	uint32_t opens;
};

struct spool { /* fold_track.own */
	struct entry entry[BLOCK];
	unsigned cnt;
	long *block; /* places of the written blocks */
	size_t block_cnt, block_max;
	uint64_t total;
	int64_t first, last;
};

struct speedscope {
	struct fold fold;
	FILE *tmp;
	long end;
	bool failed; /* the temporary file */
	bool any;    /* a profile was written */
};

/* ---- the temporary file ---- */

static void flush(struct speedscope *s, struct fold_track *t)
{
	struct spool *p = t->own;

	if (!grow(&p->block, p->block_cnt, &p->block_max, sizeof(*p->block))) {
		s->fold.failed = true;
		return;
	}
	p->block[p->block_cnt++] = s->end;
	if (fseek(s->tmp, s->end, SEEK_SET) < 0 ||
	    fwrite(p->entry, sizeof(p->entry), 1, s->tmp) != 1)
		s->failed = true;
	s->end += (long)sizeof(p->entry);
	p->cnt = 0;
}

static void keep(struct speedscope *s, struct fold_track *t, struct entry e, int64_t ts)
{
	struct spool *p = t->own;

	if (!p)
		p = t->own = calloc(1, sizeof(*p));
	if (!p) {
		s->fold.failed = true;
		return;
	}
	if (p->total == 0)
		p->first = p->last = ts;
	if (ts > p->last)
		p->last = ts;
	p->entry[p->cnt++] = e;
	p->total++;
	if (p->cnt == BLOCK)
		flush(s, t);
}

/* ---- events ---- */

static void on_open(struct fold *f, struct fold_track *t, struct fold_open *o)
{
	keep(f->self, t, (struct entry){o->start, o->frame, 1}, o->start);
}

static void on_close(struct fold *f, struct fold_track *t, struct fold_open *o)
{
	keep(f->self, t, (struct entry){o->end, o->frame, 0}, o->end);
}

static void on_sample(struct fold *f, struct fold_track *t, const uint32_t *frames, unsigned cnt,
		      int64_t ts)
{
	struct speedscope *s = f->self;

	for (unsigned i = 0; i < cnt; i++) /* opens: the first of a stack */
		keep(s, t, (struct entry){ts, frames[i], i == 0}, ts);
}

/* ---- output ---- */

static void put_events(struct out *o, const struct entry *e, unsigned cnt, bool first)
{
	for (; cnt-- > 0; e++, first = false) {
		if (!first)
			out_literal(o, ",");
		if (e->opens)
			out_literal(o, "\n{\"type\":\"O\",\"frame\":");
		else
			out_literal(o, "\n{\"type\":\"C\",\"frame\":");
		json_out_int(o, e->frame);
		out_literal(o, ",\"at\":");
		json_out_int(o, e->at);
		out_literal(o, "}");
	}
}

static void put_samples(struct out *o, const struct entry *e, unsigned cnt, bool first)
{
	for (; cnt-- > 0; e++, first = false) {
		if (e->opens)
			out_text(o, first ? "\n[" : "],\n[");
		else
			out_literal(o, ",");
		json_out_int(o, e->frame);
	}
}

/* All entries of a track, block by block. Returns how many begin a stack. */
static uint64_t put_entries(struct speedscope *s, struct spool *p)
{
	struct entry block[BLOCK];
	uint64_t stacks = 0;

	for (size_t i = 0; i <= p->block_cnt; i++) {
		const struct entry *e = i < p->block_cnt ? block : p->entry;
		unsigned cnt = i < p->block_cnt ? BLOCK : p->cnt;

		if (i < p->block_cnt && (fseek(s->tmp, p->block[i], SEEK_SET) < 0 ||
					 fread(block, sizeof(block), 1, s->tmp) != 1)) {
			s->failed = true;
			return 0;
		}
		if (s->fold.samples)
			put_samples(s->fold.job->out, e, cnt, i == 0);
		else
			put_events(s->fold.job->out, e, cnt, i == 0);
		for (unsigned k = 0; k < cnt; k++)
			stacks += e[k].opens;
	}
	return stacks;
}

static void put_profile(struct speedscope *s, struct fold_track *t)
{
	struct out *o = s->fold.job->out;
	struct spool *p = t->own;
	uint64_t stacks;

	if (!p || p->total == 0)
		return;
	out_text(o, s->any ? ",\n" : "\n");
	s->any = true;
	out_literal(o, "{\"name\":");
	json_out_text(o, t->name, strlen(t->name));
	if (!s->fold.samples) {
		out_literal(o, ",\"type\":\"evented\",\"unit\":\"nanoseconds\",\"startValue\":");
		json_out_int(o, p->first);
		out_literal(o, ",\"endValue\":");
		json_out_int(o, p->last);
		out_literal(o, ",\"events\":[");
		put_entries(s, p);
		out_literal(o, "]}");
		return;
	}
	out_literal(o, ",\"type\":\"sampled\",\"unit\":\"none\",\"samples\":[");
	stacks = put_entries(s, p);
	out_literal(o, "]],\"weights\":[");
	for (uint64_t i = 0; i < stacks; i++)
		out_text(o, i ? ",1" : "1");
	out_literal(o, "],\"startValue\":0,\"endValue\":");
	json_out_int(o, (int64_t)stacks);
	out_literal(o, "}");
}

static void put_head(const struct export_job *job)
{
	const char *input = job->input, *slash = strrchr(input, '/');
	struct out *o = job->out;

	out_literal(
		o,
		"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":"
		"\"sightline " SL_VERSION "\",\"name\":");
	json_out_text(o, slash ? slash + 1 : input, strlen(slash ? slash + 1 : input));
	out_literal(o, ",\"activeProfileIndex\":0,\"profiles\":[");
}

static void put_file(struct speedscope *s)
{
	struct out *o = s->fold.job->out;

	put_head(s->fold.job);
	for (struct fold_track *t = s->fold.tracks; t; t = t->next)
		put_profile(s, t);
	out_literal(o, "],\n\"shared\":{\"frames\":[");
	for (uint32_t i = 0; i < s->fold.frame_cnt; i++) {
		out_text(o, i ? ",\n{\"name\":" : "\n{\"name\":");
		json_out_text(o, s->fold.frame[i], strlen(s->fold.frame[i]));
		out_literal(o, "}");
	}
	out_literal(o, "]}}\n");
}

/* ---- weights: a profile for each thing that was asked for ---- */

static void put_path(struct stack_costs *w, struct out *o, const struct stack_entry *e)
{
	uint32_t path[FOLD_DEPTH_MAX];
	unsigned cnt = 0;

	for (uint32_t n = e->node; n && cnt < FOLD_DEPTH_MAX; n = w->node[n].parent)
		path[cnt++] = w->node[n].frame;
	/* Owners stand after all frames: process, then thread. */
	json_out_int(o, (int64_t)w->frame_cnt + 2 * (int64_t)e->owner);
	out_literal(o, ",");
	json_out_int(o, (int64_t)w->frame_cnt + 2 * (int64_t)e->owner + 1);
	while (cnt-- > 0) {
		out_literal(o, ",");
		json_out_int(o, path[cnt]);
	}
}

static void put_weights(struct stack_costs *w, struct out *o, enum stack_cost what)
{
	const char *unit = stack_cost_kinds[what].unit;
	bool first = true;

	out_literal(o, "{\"name\":\"");
	out_text(o, stack_cost_kinds[what].name);
	out_literal(o, "\",\"type\":\"sampled\",\"unit\":\"");
	out_text(o, *unit == 'n' || *unit == 'b' ? unit : "none");
	out_literal(o, "\",\"samples\":[");
	for (size_t i = 0; i < w->entry_cnt; i++) {
		if (w->entry[i].value[what] <= 0)
			continue;
		out_text(o, first ? "\n[" : ",\n[");
		first = false;
		put_path(w, o, &w->entry[i]);
		out_literal(o, "]");
	}
	out_literal(o, "],\"weights\":[");
	first = true;
	for (size_t i = 0; i < w->entry_cnt; i++) {
		if (w->entry[i].value[what] <= 0)
			continue;
		if (!first)
			out_literal(o, ",");
		first = false;
		json_out_int(o, w->entry[i].value[what]);
	}
	out_literal(o, "],\"startValue\":0,\"endValue\":");
	json_out_int(o, w->total[what]);
	out_literal(o, "}");
}

static void put_name(struct out *o, const char *name)
{
	out_literal(o, "\n{\"name\":");
	json_out_text(o, name, strlen(name));
	out_literal(o, "}");
}

static int run_weighed(struct export_job *job, char *why, size_t why_len)
{
	struct stack_costs w = {.frames = job->opt.frames,
				.by = OWNER_BY_NAME,
				.python_only = job->opt.python_only};
	struct out *o = job->out;
	const char *comma = "\n";

	if (fold_weigh(&w, job, why, why_len) < 0) {
		stack_costs_free(&w);
		return -1;
	}
	put_head(job);
	for (int what = 0; what < COST_CNT; what++) {
		if (!(w.what & COST_BIT(what)))
			continue;
		out_text(o, comma);
		comma = ",\n";
		put_weights(&w, o, (enum stack_cost)what);
	}
	out_literal(o, "],\n\"shared\":{\"frames\":[");
	for (uint32_t i = 0; i < w.frame_cnt; i++) {
		if (i)
			out_literal(o, ",");
		put_name(o, w.frame[i].text);
	}
	for (uint32_t i = 0; i < w.owner_cnt; i++) {
		if (i + w.frame_cnt)
			out_literal(o, ",");
		put_name(o, w.owner[i].process);
		out_literal(o, ",");
		put_name(o, w.owner[i].thread);
	}
	out_literal(o, "]}}\n");
	stack_costs_free(&w);
	return 0;
}

static int run(struct export_job *job, char *why, size_t why_len)
{
	struct speedscope s = {.tmp = NULL};
	int rc = -1;

	if (job->opt.flame)
		return run_weighed(job, why, why_len);
	s.tmp = tmpfile();
	if (!s.tmp) {
		snprintf(why, why_len, "cannot make a temporary file: %s", strerror(errno));
		return -1;
	}
	s.fold.self = &s;
	s.fold.on_open = on_open;
	s.fold.on_close = on_close;
	s.fold.on_sample = on_sample;
	rc = fold_run(&s.fold, job, why, why_len);
	if (rc == 0)
		put_file(&s);
	if (s.failed) {
		snprintf(why, why_len, "cannot use the temporary file: %s", strerror(errno));
		rc = -1;
	}
	for (struct fold_track *t = s.fold.tracks; t; t = t->next)
		if (t->own)
			free(((struct spool *)t->own)->block);
	fold_free(&s.fold);
	fclose(s.tmp);
	return rc;
}

const struct exporter exporter_speedscope = {
	.name = "speedscope",
	.extension = "speedscope.json",
	.about = "profile for speedscope.app, one per thread: samples if there are some, else "
		 "ranges and calls",
	.shape = EXPORT_STREAM,
	.activities = FOLD_ACTIVITIES,
	.flames = true,
	.run = run,
};

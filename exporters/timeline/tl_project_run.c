/* tl_project_run.c - a run over ranges, calls and GPU work alone, ahead of the run that is to have the projected ranges. */
#include "exporters/timeline/tl_internal.h"

static int on_track(void *self, struct tl_track *track)
{
	(void)self;
	(void)track;
	return 0;
}

static int on_event(void *self, const struct tl_event *e)
{
	struct tl_projector **p = self;

	return tl_projector_event(*p, e);
}

static int on_end(void *self)
{
	struct tl_projector **p = self;
	int rc = tl_projector_end(*p);

	*p = NULL;
	return rc;
}

int tl_project(struct tl_run *r)
{
	static const struct tl_sink sink = {on_track, on_event, on_end};
	struct tl_options opt = {.activities = TL_ACT_PROJECTED, .filtered = r->opt->filtered};
	struct tl_projector *p;
	struct tl_run inner = {
		.db = r->db,
		.opt = &opt,
		.sink = &sink,
		.self = &p,
		.args_for = TL_ACT_NVTX,
		.why = r->why,
		.why_len = r->why_len,
	};
	int rc;

	p = tl_projector_new(&inner, r->spans);
	if (!p)
		return -1;
	rc = tl_run(&inner);
	if (p)
		rc |= tl_projector_end(p);
	return rc;
}

/* tl_emit.c - hands an event of any source to the sink of the run. */
#include "exporters/timeline/tl_internal.h"

#define PROGRESS_EVERY 16384

int tl_emit(struct tl_run *r, struct tl_event *e)
{
	if (r->projector && tl_projector_event(r->projector, e) < 0)
		return -1;
	if (__builtin_add_overflow(e->ts, r->opt->shift, &e->ts))
		e->ts = r->opt->shift < 0 ? INT64_MIN : INT64_MAX;
	e->ts = e->ts > TL_TIME_MAX ? TL_TIME_MAX : e->ts < -TL_TIME_MAX ? -TL_TIME_MAX : e->ts;
	if (e->dur > TL_TIME_MAX - e->ts)
		e->dur = TL_TIME_MAX - e->ts;
	r->events++;
	if (r->events % PROGRESS_EVERY == 0 && r->opt->progress &&
	    r->opt->progress(r->opt->of_progress, r->events, r->total) < 0) {
		r->stopped = true;
		return -1;
	}
	if (r->sink->event(r->self, e) < 0) {
		r->stopped = true;
		return -1;
	}
	return 0;
}

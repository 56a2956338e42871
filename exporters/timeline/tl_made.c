/* tl_made.c - slices that no table has, a source for each of their tracks. */
#include <stdlib.h>
#include <string.h>

#include "exporters/timeline/tl_internal.h"

struct made {
	const struct tl_made *all;
	const struct tl_made_track *of;
	struct tl_track *track; /* NULL: not announced yet */
	size_t at;              /* of the slice that comes next, + 1 */
};

static const struct tl_source_def made_def = {.table = "", .place = TL_AT_MADE};

int tl_made_open(const struct tl_made *made, size_t track, struct tl_source *s)
{
	struct made *m = calloc(1, sizeof(*m));

	memset(s, 0, sizeof(*s));
	s->def = &made_def;
	s->state = m;
	if (!m)
		return -1;
	m->all = made;
	m->of = &made->tracks[track];
	return tl_made_step(s);
}

int tl_made_step(struct tl_source *s)
{
	struct made *m = s->state;

	while (m->at < m->of->slices_cnt && m->of->slices[m->at].kind == TL_MADE_GAP)
		m->at++;
	/* The last is a gap, which ends the one before it. */
	if (m->at >= m->of->slices_cnt)
		return 0;
	s->ts = m->of->slices[m->at++].start;
	s->end = m->of->slices[m->at].start;
	s->dur = s->end - s->ts;
	return 1;
}

int tl_made_row(struct tl_run *r, struct tl_source *s, struct tl_event *e)
{
	struct made *m = s->state;
	const struct tl_made_kind *kind = &m->all->kinds[m->of->slices[m->at - 1].kind];

	if (!m->track)
		m->track = tl_track_made(r->tracks, m->of->thread, m->of->device, m->of->name);
	e->kind = TL_SLICE;
	e->category = m->of->category;
	e->track = m->track;
	e->dur = s->dur;
	e->name = kind->name;
	e->args = kind->args;
	e->arg_cnt = kind->arg_cnt;
	return m->track ? tl_emit(r, e) : -1;
}

void tl_made_close(struct tl_source *s)
{
	free(s->state);
	s->state = NULL;
}

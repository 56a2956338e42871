/*
 * tl_spans.c - ranges as the GPU saw them, a source: they become known in the order of their ends, and are sorted by their start.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "exporters/sql/range_texts.h"
#include "exporters/events/sorter.h"
#include "exporters/timeline/tl_internal.h"

/* Words of a record; the first three give the order. */
enum word {
	W_START,
	W_LONGER, /* the longer one is in front */
	W_OUTER,  /* the later one is in front */
	W_ROW,
	W_NAME_ID, /* of StringIds, + 1; 0: it has a text */
	W_NAME,    /* number among the texts */
	W_DOMAIN,
	W_PLACE,
	W_OPERATIONS,
	WORDS
};
#define KEYS 3

struct place { /* of a thread's ranges on a stream */
	int64_t thread, process, device, context, stream;
	struct tl_track *track; /* NULL: not announced yet */
};

struct tl_spans {
	struct sorter *sorter;
	struct texts texts;
	struct place *places;
	size_t places_cnt, places_room;
	size_t last_place;
	int64_t cnt;
	const int64_t *now;
};

static const struct tl_source_def spans_def = {.table = "NVTX_EVENTS",
					       .activity = TL_ACT_NVTX_KERNEL,
					       .place = TL_AT_PROJECTED,
					       .category = "gpu_user_annotation"};

struct tl_spans *tl_spans_new(void)
{
	struct tl_spans *s = calloc(1, sizeof(*s));

	if (s)
		s->sorter = sorter_new(WORDS, KEYS);
	if (s && s->sorter)
		return s;
	free(s);
	return NULL;
}

void tl_spans_free(struct tl_spans *s)
{
	if (!s)
		return;
	sorter_free(s->sorter);
	texts_free(&s->texts);
	free(s->places);
	free(s);
}

static bool is_of(const struct place *p, const struct tl_span *span)
{
	return p->thread == span->thread && p->process == span->stream->parent->global &&
	       p->device == span->stream->device && p->context == span->stream->context &&
	       p->stream == span->stream->stream;
}

/* Number of a place; there are few. SIZE_MAX: no memory. */
static size_t place_of(struct tl_spans *s, const struct tl_span *span)
{
	const struct tl_track *t = span->stream;

	if (s->last_place < s->places_cnt && is_of(&s->places[s->last_place], span))
		return s->last_place;
	for (size_t i = 0; i < s->places_cnt; i++)
		if (is_of(&s->places[i], span))
			return s->last_place = i;
	if (!grow(&s->places, s->places_cnt, &s->places_room, sizeof(*s->places)))
		return SIZE_MAX;
	s->places[s->places_cnt] = (struct place){span->thread, t->parent->global, t->device,
						  t->context,   t->stream,         NULL};
	return s->places_cnt++;
}

int tl_spans_add(struct tl_spans *s, const struct tl_span *span)
{
	size_t place = place_of(s, span);
	int64_t w[WORDS] = {
		[W_START] = span->start,
		[W_LONGER] = -span->end,
		[W_OUTER] = -++s->cnt,
		[W_ROW] = span->row,
		[W_NAME_ID] = span->name.id,
		[W_PLACE] = (int64_t)place,
		[W_OPERATIONS] = span->operations,
	};

	if (place == SIZE_MAX)
		return -1;
	if (span->name.id == 0 &&
	    texts_add(&s->texts, span->name.text, span->name.len, &w[W_NAME]) != SQLITE_OK)
		return -1;
	if (span->domain.text &&
	    texts_add(&s->texts, span->domain.text, span->domain.len, &w[W_DOMAIN]) != SQLITE_OK)
		return -1;
	return sorter_add(s->sorter, w) == SQLITE_OK ? 0 : -1;
}

/* ---- the source ---- */

int tl_spans_open(struct tl_run *r, struct tl_source *s)
{
	struct tl_spans *spans = r->spans;

	memset(s, 0, sizeof(*s));
	s->def = &spans_def;
	s->state = spans;
	if (spans->texts.file && fflush(spans->texts.file) != 0)
		return -1;
	return sorter_rewind(spans->sorter) == SQLITE_OK ? tl_spans_step(s) : -1;
}

int tl_spans_step(struct tl_source *s)
{
	struct tl_spans *spans = s->state;
	int rc = sorter_next(spans->sorter, &spans->now);

	if (rc != SQLITE_ROW)
		return rc == SQLITE_DONE ? 0 : -1;
	s->ts = spans->now[W_START];
	s->end = -spans->now[W_LONGER];
	s->dur = s->end == INT64_MAX ? TL_OPEN : s->end - s->ts;
	return 1;
}

static int text_of(struct tl_spans *spans, int64_t number, struct tl_text *text)
{
	text->id = 0;
	return texts_get(&spans->texts, number, &text->text, &text->len) == SQLITE_OK ? 0 : -1;
}

int tl_spans_row(struct tl_run *r, struct tl_source *s, struct tl_event *e)
{
	struct tl_spans *spans = s->state;
	const int64_t *w = spans->now;
	struct place *p = &spans->places[w[W_PLACE]];
	char *domain = NULL;
	int rc;

	if (!p->track)
		p->track = tl_track_projected(r->tracks, p->thread, p->process, p->device,
					      p->context, p->stream);
	if (!p->track)
		return -1;
	e->row = w[W_ROW];
	if (w[W_DOMAIN] && !r->opt->no_args) {
		/* The texts have one buffer for those in their file. */
		if (text_of(spans, w[W_DOMAIN], &r->args[0].text) < 0)
			return -1;
		domain = strndup(r->args[0].text.text, r->args[0].text.len);
		if (!domain)
			return -1;
		r->args[0].text.text = domain;
		r->args[0].key = "domain";
		r->args[0].kind = TL_TEXT;
		e->arg_cnt = 1;
	}
	if (!r->opt->no_args)
		r->args[e->arg_cnt++] =
			(struct tl_arg){.key = "operations", .num = w[W_OPERATIONS]};
	e->args = r->args;
	e->kind = TL_SLICE;
	e->dur = s->dur;
	if (w[W_NAME_ID] > 0)
		e->name = tl_name(r->names, w[W_NAME_ID] - 1, false);
	else if (text_of(spans, w[W_NAME], &e->name) < 0)
		goto fail;
	e->track = tl_track_lane(r->tracks, p->track, s->ts, s->end);
	if (!e->track)
		goto fail;
	rc = tl_emit(r, e);
	free(domain);
	return rc;
fail:
	free(domain);
	return -1;
}

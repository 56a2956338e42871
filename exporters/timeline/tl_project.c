/*
 * tl_project.c - NVTX ranges as the GPU saw them: from the start of the first piece of work that was started
 * in a range to the end of the last, on each stream.
 *
 * That is known only when the last piece has run, which is long after the first; yet ranges shall come in the
 * order of their start. So one run over the ranges, calls and GPU work collects them (tl_spans.c), and they are a
 * source like any other after that. Kept in memory are ranges that are open or whose work has not all run.
 */
#include <stdlib.h>
#include <string.h>

#include "exporters/timeline/tl_internal.h"

/* A range on one stream. */
struct span {
	const struct tl_track *stream;  /* lane 0 */
	int64_t start, end, operations; /* end: INT64_MAX while any work is open */
};

struct range {
	struct range *parent; /* the one it was opened in */
	size_t refs;          /* it is open, ranges in it, calls whose work has not all run */
	int64_t start, end, thread, row;
	struct tl_text name, domain; /* copies, but for a name with an id */
	struct span *span;
	size_t span_cnt;
};

struct call {
	union {
		struct range *range;
		struct call *next_spare;
	};
	int64_t start;
	uint32_t left; /* pieces of work to come */
};

struct tl_projector {
	struct tl_run *run; /* the run whose ranges are projected */
	struct tl_spans *spans;
	struct map open;    /* globalTid -> innermost open range */
	struct map calls;   /* flow -> struct call * */
	struct call *spare; /* to be used again: as many are under way as the GPU is behind */
};

static bool copy(struct tl_text *to, const struct tl_text *from)
{
	char *text = malloc(from->len + 1);

	if (!text)
		return false;
	memcpy(text, from->text, from->len);
	text[from->len] = '\0';
	*to = (struct tl_text){0, text, from->len};
	return true;
}

static int write_span(struct tl_projector *p, const struct range *g, const struct span *s)
{
	return tl_spans_add(p->spans, &(struct tl_span){
					      .start = s->start,
					      .end = s->end,
					      .row = g->row,
					      .operations = s->operations,
					      .name = g->name,
					      .domain = g->domain,
					      .thread = g->thread,
					      .stream = s->stream,
				      });
}

static void range_free(struct range *g)
{
	free(g->span);
	free((char *)g->domain.text);
	if (g->name.id == 0)
		free((char *)g->name.text);
	free(g);
}

/* Gives up one reference; a range that nothing holds any more is complete. */
static int release(struct tl_projector *p, struct range *g)
{
	int rc = 0;

	while (g && --g->refs == 0) {
		struct range *parent = g->parent;

		for (size_t i = 0; i < g->span_cnt && rc == 0; i++)
			rc = write_span(p, g, &g->span[i]);
		range_free(g);
		g = parent;
	}
	return rc;
}

/* The thread's innermost range that is open at @ts. */
static int innermost(struct tl_projector *p, int64_t thread, int64_t ts, uint64_t **slot)
{
	int rc = 0;

	*slot = map_at(&p->open, (uint64_t)thread, true);
	if (!*slot)
		return -1;
	while (**slot && rc == 0) {
		struct range *top = (struct range *)(uintptr_t) * *slot;

		if (top->end > ts)
			break;
		**slot = (uintptr_t)top->parent;
		rc = release(p, top);
	}
	return rc;
}

static int open_range(struct tl_projector *p, const struct tl_event *e)
{
	struct range *g = calloc(1, sizeof(*g));
	uint64_t *slot;

	if (!g || innermost(p, e->track->global, e->ts, &slot) < 0) {
		free(g);
		return -1;
	}
	g->parent = (struct range *)(uintptr_t)*slot;
	if (g->parent)
		g->parent->refs++;
	g->refs = 1;
	g->start = e->ts;
	g->end = e->dur == TL_OPEN ? INT64_MAX : e->ts + e->dur;
	g->thread = e->track->global;
	g->row = e->row;
	g->name.id = e->name.id;
	*slot = (uintptr_t)g;
	if (e->name.id == 0 && !copy(&g->name, &e->name))
		return -1;
	for (uint32_t i = 0; i < e->arg_cnt; i++)
		if (strcmp(e->args[i].key, "domain") == 0 && e->args[i].kind == TL_TEXT &&
		    !copy(&g->domain, &e->args[i].text))
			return -1;
	return 0;
}

static int add_call(struct tl_projector *p, const struct tl_event *e)
{
	uint64_t *slot;
	struct call *c;

	if (innermost(p, e->track->global, e->ts, &slot) < 0)
		return -1;
	struct range *g = (struct range *)(uintptr_t)*slot;

	if (!g)
		return 0;
	slot = map_at(&p->calls, e->flow_out, true);
	if (!slot || *slot) /* an id that occurs twice: the first call it is */
		return slot ? 0 : -1;
	c = p->spare;
	if (c)
		p->spare = c->next_spare;
	else
		c = malloc(sizeof(*c));
	if (!c)
		return -1;
	*c = (struct call){
		.range = g, .start = e->ts, .left = tl_flow_count(p->run->flows, e->flow_out)};
	g->refs++;
	*slot = (uintptr_t)c;
	return 0;
}

static int add_to_range(struct range *g, const struct tl_event *e)
{
	struct span *s = g->span;
	int64_t end = e->dur == TL_OPEN ? INT64_MAX : e->ts + e->dur;
	size_t i;

	/* Lanes of a stream are the stream. */
	for (i = 0; i < g->span_cnt; i++, s++)
		if (s->stream->stream == e->track->stream &&
		    s->stream->context == e->track->context &&
		    s->stream->parent == e->track->parent)
			break;
	if (i == g->span_cnt) {
		s = reallocarray(g->span, i + 1, sizeof(*s));
		if (!s)
			return -1;
		g->span = s;
		s += i;
		*s = (struct span){e->track, e->ts, end, 0};
		g->span_cnt++;
	}
	if (e->ts < s->start)
		s->start = e->ts;
	if (end > s->end)
		s->end = end;
	s->operations++;
	return 0;
}

static int add_work(struct tl_projector *p, const struct tl_event *e)
{
	uint64_t *slot = map_at(&p->calls, e->flow_in, false);
	struct call *c = slot ? (struct call *)(uintptr_t)*slot : NULL;
	struct range *innermost_range;

	if (!c)
		return 0;
	/* The call is in all ranges that were open when it began, also where ranges (of different domains) overlap. */
	for (struct range *g = c->range; g; g = g->parent)
		if (g->end > c->start && add_to_range(g, e) < 0)
			return -1;
	if (--c->left > 0)
		return 0;
	innermost_range = c->range;
	c->next_spare = p->spare;
	p->spare = c;
	map_remove(&p->calls, e->flow_in);
	return release(p, innermost_range);
}

int tl_projector_event(struct tl_projector *p, const struct tl_event *e)
{
	if (e->kind != TL_SLICE)
		return 0;
	if (e->activity == TL_ACT_NVTX)
		return e->track->kind == TL_THREAD ? open_range(p, e) : 0;
	if (e->flow_out)
		return add_call(p, e);
	return e->flow_in ? add_work(p, e) : 0;
}

struct tl_projector *tl_projector_new(struct tl_run *r, struct tl_spans *to)
{
	struct tl_projector *p = calloc(1, sizeof(*p));

	if (p) {
		p->run = r;
		p->spans = to;
	}
	return p;
}

/* Ranges that are still open, and those whose calls found no work: at the end nothing more will come. */
int tl_projector_end(struct tl_projector *p)
{
	int rc = 0;

	for (size_t i = 0; i < p->calls.size; i++) {
		struct call *c = (struct call *)(uintptr_t)p->calls.slot[i].value;

		if (!p->calls.slot[i].used || !c)
			continue;
		if (rc == 0)
			rc = release(p, c->range);
		free(c);
	}
	for (size_t i = 0; i < p->open.size; i++) {
		struct range *g = (struct range *)(uintptr_t)p->open.slot[i].value;

		while (p->open.slot[i].used && g && rc == 0) {
			/* The parent is open too, so it outlives the ranges opened in it. */
			struct range *parent = g->parent; /* NOLINT(clang-analyzer-unix.Malloc) */

			rc = release(p, g);
			g = parent;
		}
	}
	for (struct call *c = p->spare, *next; c; c = next) {
		next = c->next_spare;
		free(c);
	}
	map_free(&p->calls);
	map_free(&p->open);
	free(p);
	return rc;
}

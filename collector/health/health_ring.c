/*
 * health_ring.c - frames of sl-gpu: out of the shared ring, into a queue for each stream, with times of CLOCK_MONOTONIC.
 *
 * The ring is shared memory that another process writes: a frame's head is copied once, then checked, then believed; the
 * place is not read a second time.
 */
#include "collector/health/health_internal.h"

#include <stdlib.h>
#include <string.h>

#define QUEUES_MOST   (UINT64_C(64) << 20) /* bytes of all queues, where nothing else is asked for */
#define UNMAPPED_MOST 65536u /* of a stream: its pair of clocks must have come by then */

struct health_sample *health_queue_at(const struct health_queue *q, size_t i)
{
	return (struct health_sample *)(q->at + (q->first + i) % q->cap * q->place);
}

void health_queue_drop(struct health *h, struct health_queue *q)
{
	q->first = (q->first + 1) % q->cap;
	q->cnt--;
	if (q->unmapped > q->cnt)
		q->unmapped = q->cnt;
	h->bytes -= q->place;
}

/* Another place at the end; NULL: no memory. */
static struct health_sample *grow(struct health *h, struct health_queue *q)
{
	if (q->cnt == q->cap) {
		size_t cap = q->cap ? q->cap * 2 : 64;
		char *more = malloc(cap * q->place);

		if (!more)
			return NULL;
		for (size_t i = 0; i < q->cnt; i++)
			memcpy(more + i * q->place, health_queue_at(q, i), q->place);
		free(q->at);
		q->at = more;
		q->cap = cap;
		q->first = 0;
	}
	h->bytes += q->place;
	return health_queue_at(q, q->cnt++);
}

/* Drops the oldest samples when memory is used up; the gap shows in the times. */
static void make_room(struct health *h)
{
	size_t most = h->ask.keep_bytes ? h->ask.keep_bytes : QUEUES_MOST;

	while (h->bytes > most) {
		struct health_stream *oldest = NULL;

		for (unsigned i = 0; i < h->streams; i++) {
			struct health_stream *s = h->stream[i];

			if (s && s->queue.cnt &&
			    (!oldest || s->queue.cnt * s->queue.place >
						oldest->queue.cnt * oldest->queue.place))
				oldest = s;
		}
		if (!oldest)
			return;
		for (size_t n = oldest->queue.cnt / 2 + 1; n; n--)
			health_queue_drop(h, &oldest->queue);
		if (oldest->queue.cnt)
			health_queue_at(&oldest->queue, 0)->why = PROBE_OVERFLOW;
		else
			oldest->why = PROBE_OVERFLOW;
	}
}

/* ---- times ---- */

static void map_one(struct health_stream *s, struct health_sample *f, const struct clock_pair *a,
		    const struct clock_pair *b)
{
	f->t0 = health_clock_line(a, b, f->t0);
	f->t1 = health_clock_line(a, b, f->t1);
	if (f->t1 < f->t0)
		f->t1 = f->t0;
	/* Two lines may meet with a few nanoseconds between: samples stay in order. */
	if (s->came_to && f->t0 < s->came_to && f->t1 > s->came_to &&
	    s->about.what == PROBE_METRICS)
		f->t0 = s->came_to;
	if (f->t1 > s->came_to)
		s->came_to = f->t1;
}

/* The samples since the pair before, now that this one has come. */
static void map_batch(struct health_stream *s, const struct clock_pair *to)
{
	struct health_queue *q = &s->queue;
	struct clock_pair from = s->clock.is_there ? s->clock.last : *to;
	size_t first = q->cnt - q->unmapped, set;

	if (health_clock_jumps(&from, to)) {
		int64_t *its = malloc((q->unmapped + 1) * sizeof(*its));

		for (size_t i = 0; its && i < q->unmapped; i++)
			its[i] = health_queue_at(q, first + i)->t1;
		set = its ? health_clock_set_at(&from, to, its, q->unmapped, 1) : 0;
		free(its);
		for (size_t i = 0; i < q->unmapped; i++) {
			const struct clock_pair *p = i < set ? &from : to;

			map_one(s, health_queue_at(q, first + i), p, p);
		}
	} else {
		for (size_t i = 0; i < q->unmapped; i++)
			map_one(s, health_queue_at(q, first + i), &from, to);
	}
	q->unmapped = 0;
	s->clock.last = *to;
	s->clock.is_there = true;
}

void health_map_rest(struct health *h)
{
	for (unsigned i = 0; i < h->streams; i++) {
		struct health_stream *s = h->stream[i];

		/* Without any pair the times mean nothing. */
		while (s && s->queue.unmapped && !s->clock.is_there)
			health_queue_drop(h, &s->queue);
		if (s && s->queue.unmapped) {
			struct clock_pair last = s->clock.last;

			map_batch(s, &last);
		}
	}
}

/* ---- frames ---- */

static void take_values(struct health *h, struct health_stream *s, const struct probe_frame *f,
			const double *value)
{
	struct health_sample *to;

	if (f->t1 < f->t0 || f->t0 < 0 || s->queue.unmapped >= UNMAPPED_MOST) {
		h->ring.bad++;
		return;
	}
	to = grow(h, &s->queue);
	if (!to)
		return;
	to->t0 = f->t0;
	to->t1 = f->t1;
	to->raw = f->t0;
	to->why = s->why;
	s->why = PROBE_WHY_NONE;
	memcpy(to->value, value, s->about.names * sizeof(*value));
	if (s->about.clock == PROBE_OTHER)
		s->queue.unmapped++;
	else if (f->t1 > s->came_to)
		s->came_to = f->t1;
	make_room(h);
}

/* @f is ours; @value lies in the ring. */
static void take_frame(struct health *h, const struct probe_frame *f, const double *value)
{
	struct health_stream *s = f->stream < PROBE_STREAMS ? h->stream[f->stream] : NULL;
	struct clock_pair pair = {f->t0, f->t1};

	if (f->kind == PROBE_PAD)
		return;
	if (!s) {
		h->ring.bad++;
		return;
	}
	switch (f->kind) {
	case PROBE_VALUES:
		if (f->bytes == sizeof(*f) + s->about.names * sizeof(double))
			take_values(h, s, f, value);
		else
			h->ring.bad++;
		break;
	case PROBE_GAP:
		if (f->why < PROBE_WHY_CNT)
			s->why = f->why;
		break;
	case PROBE_CLOCK:
		if (s->about.clock == PROBE_OTHER)
			map_batch(s, &pair);
		break;
	default:
		h->ring.bad++;
	}
}

bool health_frames(struct health *h)
{
	const struct probe_ring *r = h->ring.map;
	/* Acquire pairs with the release of sl-gpu: frames up to it, and messages before them, are there. */
	uint64_t head = r ? __atomic_load_n(&r->head, __ATOMIC_ACQUIRE) : 0,
		 mask = h->ring.bytes - 1;
	bool is_open = health_messages(h);

	if (!r)
		return is_open;
	if (head - h->ring.tail > h->ring.bytes || head & 7) {
		h->ring.bad++;
		h->ring.tail = head & ~UINT64_C(7);
	}
	while (h->ring.tail < head) {
		uint64_t at = h->ring.tail & mask, left = h->ring.bytes - at;
		const char *place = (const char *)r + PROBE_RING_DATA + at;
		struct probe_frame f;

		if (left < sizeof(f)) {
			h->ring.tail += left;
			continue;
		}
		memcpy(&f, place, sizeof(f));
		if (f.bytes < sizeof(f) || f.bytes & 7 || f.bytes > left ||
		    f.bytes > head - h->ring.tail) {
			h->ring.bad++;
			h->ring.tail = head;
			break;
		}
		take_frame(h, &f, (const double *)(place + sizeof(f)));
		h->ring.tail += f.bytes;
	}
	/* Release: sl-gpu may overwrite the bytes read. */
	__atomic_store_n(&h->ring.map->tail, h->ring.tail, __ATOMIC_RELEASE);
	return is_open;
}

/*
 * out.c - writes the ring and the socket that frame.h describes.
 *
 * Several threads write, one at a time: a lock is simple, and held for the copy of a frame. Nothing
 * waits for the collector: a frame that finds no room is counted, and stands in the ring as a gap
 * in front of the stream's next frame.
 */
#include "collector/probe/out.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include "preload/wire/clock.h"

#define GPUS 64

/* State of a stream. */
struct stream {
	int64_t missing,
		until; /* the first span without room, the end of the last one; until 0: none */
};

struct out {
	pthread_mutex_t lock;
	pthread_mutex_t end_lock;
	pthread_cond_t end_wake;
	bool is_over;
	int socket;
	struct probe_ring *ring;
	uint8_t *data;
	uint64_t mask; /* of the ring's bytes, which the collector cannot change afterwards */
	unsigned threads, streams;
	char reason[GPUS][SOURCE_WHY]; /* of the newest stream of hardware metrics */
	struct stream stream[PROBE_STREAMS];
};

static __thread struct probe_beat *beat;

int64_t out_now(void)
{
	return (int64_t)sl_mono_ns();
}

struct out *out_open(int socket, int ring)
{
	struct out *o = calloc(1, sizeof(*o));
	pthread_condattr_t attr;
	struct stat st;
	void *map;

	if (!o || fstat(ring, &st) || st.st_size <= PROBE_RING_DATA)
		goto fail;
	map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, ring, 0);
	if (map == MAP_FAILED)
		goto fail;
	o->socket = socket;
	o->ring = map;
	o->data = (uint8_t *)map + PROBE_RING_DATA;
	o->mask = o->ring->bytes - 1;
	if (o->ring->magic != PROBE_MAGIC || o->ring->version != PROBE_VERSION ||
	    o->ring->bytes != (uint64_t)st.st_size - PROBE_RING_DATA || o->ring->bytes & o->mask)
		goto fail;
	pthread_mutex_init(&o->lock, NULL);
	pthread_mutex_init(&o->end_lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&o->end_wake, &attr);
	return o;
fail:
	free(o);
	return NULL;
}

void out_end(struct out *o)
{
	pthread_mutex_lock(&o->end_lock);
	__atomic_store_n(&o->is_over, true, __ATOMIC_RELAXED);
	pthread_cond_broadcast(&o->end_wake);
	pthread_mutex_unlock(&o->end_lock);
}

bool out_is_over(const struct out *o)
{
	return __atomic_load_n(&o->is_over, __ATOMIC_RELAXED);
}

/* ---- signs of life ---- */

static struct probe_beat *my_beat(struct out *o)
{
	unsigned no;

	if (beat)
		return beat;
	no = __atomic_fetch_add(&o->threads, 1, __ATOMIC_RELAXED);
	if (no >= PROBE_THREADS) /* not watched, then */
		return NULL;
	beat = &o->ring->beat[no];
	return beat;
}

void out_beat(struct out *o)
{
	struct probe_beat *b = my_beat(o);

	if (!b)
		return;
	__atomic_store_n(&b->count, b->count + 1, __ATOMIC_RELAXED);
	if (!b->limit_ms)
		__atomic_store_n(&b->limit_ms, PROBE_PATIENCE_MS, __ATOMIC_RELAXED);
}

void out_patience(struct out *o, unsigned ms)
{
	struct probe_beat *b = my_beat(o);

	if (!b)
		return;
	__atomic_store_n(&b->limit_ms, ms ? ms : PROBE_PATIENCE_MS, __ATOMIC_RELAXED);
	__atomic_store_n(&b->count, b->count + 1, __ATOMIC_RELAXED);
}

void out_leave(struct out *o)
{
	struct probe_beat *b = my_beat(o);

	if (b)
		__atomic_store_n(&b->limit_ms, 0, __ATOMIC_RELAXED);
}

void out_sleep(struct out *o, int64_t when)
{
	int64_t now;

	pthread_mutex_lock(&o->end_lock);
	while (!o->is_over && (now = out_now()) < when) {
		int64_t to = when - now > 500000000 ? now + 500000000 : when;
		struct timespec ts = {to / 1000000000, to % 1000000000};

		pthread_cond_timedwait(&o->end_wake, &o->end_lock, &ts);
		out_beat(o);
	}
	pthread_mutex_unlock(&o->end_lock);
}

/* ---- messages ---- */

void out_send(struct out *o, const void *message, size_t bytes)
{
	ssize_t n;

	do
		n = send(o->socket, message, bytes, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
}

bool out_stream(struct out *o, struct probe_stream *stream, const struct probe_name *name,
		unsigned cnt)
{
	char message[PROBE_MESSAGE_MAX];
	size_t names = cnt * sizeof(*name);
	bool ok = false;

	if (cnt > PROBE_VALUES_MAX || sizeof(*stream) + names > sizeof(message))
		return false;
	pthread_mutex_lock(&o->lock);
	if (o->streams < PROBE_STREAMS) {
		stream->kind = PROBE_STREAM;
		stream->stream = (uint16_t)o->streams++;
		stream->names = cnt;
		memcpy(message, stream, sizeof(*stream));
		memcpy(message + sizeof(*stream), name, names);
		out_send(o, message, sizeof(*stream) + names);
		if (stream->what == PROBE_METRICS && stream->gpu < GPUS)
			memcpy(o->reason[stream->gpu], stream->reason, SOURCE_WHY);
		ok = true;
	}
	pthread_mutex_unlock(&o->lock);
	return ok;
}

void out_reason(struct out *o, unsigned gpu, char reason[SOURCE_WHY])
{
	pthread_mutex_lock(&o->lock);
	memcpy(reason, gpu < GPUS ? o->reason[gpu] : "", gpu < GPUS ? SOURCE_WHY : 1);
	pthread_mutex_unlock(&o->lock);
}

void out_event(struct out *o, const struct probe_event *event)
{
	struct probe_event e = *event;

	e.kind = PROBE_EVENT;
	out_send(o, &e, sizeof(e));
}

void out_note(struct out *o, unsigned severity, const char *format, ...)
{
	struct probe_note note = {.kind = PROBE_NOTE, .severity = severity};
	va_list ap;

	va_start(ap, format);
	vsnprintf(note.text, sizeof(note.text), format, ap);
	va_end(ap);
	out_send(o, &note, sizeof(note));
}

/* ---- frames ---- */

/* Room for @bytes in one piece; NULL: none. */
static struct probe_frame *room(struct out *o, uint32_t bytes)
{
	uint64_t head = o->ring->head, tail = __atomic_load_n(&o->ring->tail, __ATOMIC_ACQUIRE);
	uint64_t at = head & o->mask, left = o->mask + 1 - at;
	uint64_t want = left < bytes ? left + bytes : bytes;

	if (head - tail + want > o->mask + 1)
		return NULL;
	if (left <
	    bytes) { /* a head fits: all is a multiple of 8, and less than a head is passed over */
		if (left >= sizeof(struct probe_frame))
			*(struct probe_frame *)(o->data + at) =
				(struct probe_frame){.bytes = (uint32_t)left, .kind = PROBE_PAD};
		__atomic_store_n(&o->ring->head, head + left, __ATOMIC_RELEASE);
		at = 0;
	}
	return (struct probe_frame *)(o->data + at);
}

static bool put(struct out *o, const struct probe_frame *head, const double *value, unsigned cnt)
{
	uint32_t bytes = (uint32_t)(sizeof(*head) + cnt * sizeof(*value));
	struct probe_frame *f = room(o, bytes);

	if (!f) {
		o->ring->dropped++;
		return false;
	}
	*f = *head;
	f->bytes = bytes;
	if (cnt)
		memcpy(f->value, value, cnt * sizeof(*value));
	__atomic_store_n(&o->ring->head, o->ring->head + bytes, __ATOMIC_RELEASE);
	return true;
}

bool out_values(struct out *o, unsigned stream, int64_t t0, int64_t t1, const double *value,
		unsigned cnt)
{
	struct probe_frame head = {
		.stream = (uint16_t)stream, .kind = PROBE_VALUES, .t0 = t0, .t1 = t1};
	struct stream *s = &o->stream[stream];
	bool ok = true;

	if (stream >= PROBE_STREAMS || cnt > PROBE_VALUES_MAX)
		return false;
	pthread_mutex_lock(&o->lock);
	if (s->until) {
		struct probe_frame gap = {.stream = (uint16_t)stream,
					  .kind = PROBE_GAP,
					  .why = PROBE_OVERFLOW,
					  .t0 = s->missing,
					  .t1 = s->until};

		ok = put(o, &gap, NULL, 0);
		if (ok)
			s->until = 0;
	}
	ok = ok && put(o, &head, value, cnt);
	if (!ok) {
		if (!s->until)
			s->missing = t0;
		s->until = t1 > t0 ? t1 : t0 + 1;
	}
	pthread_mutex_unlock(&o->lock);
	return ok;
}

static void put_plain(struct out *o, const struct probe_frame *head)
{
	pthread_mutex_lock(&o->lock);
	put(o, head, NULL, 0);
	pthread_mutex_unlock(&o->lock);
}

void out_gap(struct out *o, unsigned stream, int64_t t0, int64_t t1, enum probe_why why)
{
	struct probe_frame gap = {.stream = (uint16_t)stream,
				  .kind = PROBE_GAP,
				  .why = (uint8_t)why,
				  .t0 = t0,
				  .t1 = t1};

	put_plain(o, &gap);
}

void out_clock(struct out *o, unsigned stream, struct out_pair pair)
{
	struct probe_frame f = {
		.stream = (uint16_t)stream, .kind = PROBE_CLOCK, .t0 = pair.its, .t1 = pair.mono};

	put_plain(o, &f);
}

/* cuda_stream.c - the stand-in driver: streams, events, host functions. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/standin/cuda_driver.h"

/* ---- streams ---- */

struct CUstream_st *stream_make(struct CUctx_st *context, unsigned flags, int priority, uint32_t id)
{
	struct CUstream_st *s = object_make(OBJECT_STREAM, sizeof(*s));

	s->context = context;
	s->flags = flags;
	s->priority = priority;
	s->id = id;
	s->next = context->streams;
	context->streams = s;
	tell(&(struct standin_activity){.kind = STANDIN_STREAM,
					.start = now(),
					.device = (uint32_t)context->device,
					.context = context->id,
					.stream = id,
					.value = (uint32_t)priority,
					.sync_type = context->null ? flags : 2});
	return s;
}

void stream_free(struct CUstream_st *stream)
{
	struct CUstream_st **s = &stream->context->streams;

	while (*s != stream)
		s = &(*s)->next;
	*s = stream->next;
	free(stream->tails);
	object_drop(stream);
}

struct CUstream_st *stream_find(CUstream handle, bool per_thread)
{
	static __thread struct CUstream_st *own;
	struct CUctx_st *c = context_current();

	if (handle && handle != CUDA_STREAM_LEGACY && handle != CUDA_STREAM_PER_THREAD)
		return object_find(handle, OBJECT_STREAM);
	if (!c)
		return NULL;
	if (handle == CUDA_STREAM_LEGACY || (!handle && !per_thread))
		return c->null;
	if (!object_find(own, OBJECT_STREAM) || own->context != c)
		own = stream_make(c, 0, 0, driver.next_stream++);
	return own;
}

/* The legacy default stream and those that block wait for each other. */
static uint64_t stream_end(const struct CUstream_st *stream)
{
	const struct CUctx_st *c = stream->context;
	const struct CUstream_st *s;
	uint64_t end = stream->end;

	if (stream == c->null) {
		for (s = c->streams; s; s = s->next)
			if (!(s->flags & CUDA_STREAM_NON_BLOCKING))
				end = later(end, s->end);
	} else if (!(stream->flags & CUDA_STREAM_NON_BLOCKING)) {
		end = later(end, c->null->end);
	}
	return end;
}

uint64_t stream_begin(const struct CUstream_st *stream)
{
	return later(stream_end(stream), now() + STANDIN_LAUNCH_NS);
}

static bool is_busy(const struct CUstream_st *stream)
{
	const struct CUstream_st *s;

	if (stream->host_pending)
		return true;
	if (stream == stream->context->null)
		for (s = stream->context->streams; s; s = s->next)
			if (!(s->flags & CUDA_STREAM_NON_BLOCKING) && s->host_pending)
				return true;
	return false;
}

bool stream_gate(struct CUstream_st *stream, bool wait)
{
	static const struct timespec nap = {0, 100000};

	while (object_find(stream, OBJECT_STREAM) && stream->gate.end) {
		struct gate *g = &stream->gate;
		uint64_t end = g->end(g->data, g->kernel.start);

		if (end) {
			g->end = NULL;
			g->kernel.end = later(end, g->least);
			stream->end = later(stream->end, g->kernel.end);
			tell(&g->kernel);
		} else if (!wait) {
			return false;
		} else {
			driver_unlock();
			nanosleep(&nap, NULL);
			driver_lock();
		}
	}
	return true;
}

void stream_wait(struct CUstream_st *stream)
{
	static const struct timespec nap = {0, 20000};

	stream_gate(stream, true);

	/* The lock is released while it waits, and the stream may be gone then. */
	while (object_find(stream, OBJECT_STREAM)) {
		uint64_t end = stream_end(stream);

		if (end > now()) {
			wait_until(end);
		} else if (is_busy(stream)) {
			driver_unlock();
			nanosleep(&nap, NULL);
			driver_lock();
		} else {
			return;
		}
	}
}

static int create(CUstream *stream, unsigned flags, int priority)
{
	struct CUctx_st *c = context_current();

	if (!stream || flags > CUDA_STREAM_NON_BLOCKING)
		return CUDA_INVALID_VALUE;
	if (!c)
		return CUDA_INVALID_CONTEXT;
	*stream = stream_make(c, flags,
			      priority < -5  ? -5
			      : priority > 0 ? 0
					     : priority,
			      driver.next_stream++);
	return CUDA_OK;
}

int cuStreamCreate(CUstream *stream, unsigned flags)
{
	return CALL(create(stream, flags, 0));
}

int cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
	return CALL(create(stream, flags, priority));
}

static int destroy(CUstream handle)
{
	struct CUstream_st *s = object_find(handle, OBJECT_STREAM);

	if (!s || s == s->context->null)
		return CUDA_INVALID_HANDLE;
	stream_free(s);
	return CUDA_OK;
}

int cuStreamDestroy_v2(CUstream stream)
{
	return CALL(destroy(stream));
}

static void tell_sync(const struct CUstream_st *s, uint64_t start, uint32_t type, uint32_t event)
{
	tell(&(struct standin_activity){.kind = STANDIN_SYNC,
					.start = start,
					.end = now(),
					.device = (uint32_t)s->context->device,
					.context = s->context->id,
					.stream = s->id,
					.event = event,
					.sync_type = type});
}

static int sync_stream(struct CUstream_st *s)
{
	uint64_t start = now();

	if (!s)
		return CUDA_INVALID_HANDLE;
	if (s->capture)
		return CUDA_CAPTURE_UNSUPPORTED;
	stream_wait(s);
	if (object_find(s, OBJECT_STREAM))
		tell_sync(s, start, 3, UINT32_MAX);
	return CUDA_OK;
}

static int query(struct CUstream_st *s)
{
	if (!s)
		return CUDA_INVALID_HANDLE;
	if (s->capture)
		return CUDA_CAPTURE_UNSUPPORTED;
	return !stream_gate(s, false) || stream_end(s) > now() || is_busy(s) ? CUDA_NOT_READY
									     : CUDA_OK;
}

PAIR(cuStreamSynchronize, _ptsz, (CUstream stream), sync_stream(STREAM(stream)))
PAIR(cuStreamQuery, _ptsz, (CUstream stream), query(STREAM(stream)))

/* One thing about a stream, written where the caller wants it. */
#define ABOUT(s, out, expression)                           \
	({                                                  \
		const struct CUstream_st *about = (s);      \
		int about_result = CUDA_OK;                 \
		if (!about)                                 \
			about_result = CUDA_INVALID_HANDLE; \
		else if (!(out))                            \
			about_result = CUDA_INVALID_VALUE;  \
		else                                        \
			*(out) = (expression);              \
		about_result;                               \
	})
PAIR(cuStreamGetPriority, _ptsz, (CUstream stream, int *priority),
     ABOUT(STREAM(stream), priority, about->priority))
PAIR(cuStreamGetFlags, _ptsz, (CUstream stream, unsigned *flags),
     ABOUT(STREAM(stream), flags, about->flags))
PAIR(cuStreamGetId, _ptsz, (CUstream stream, unsigned long long *id),
     ABOUT(STREAM(stream), id, about->id))
PAIR(cuStreamGetCtx, _ptsz, (CUstream stream, CUcontext *context),
     ABOUT(STREAM(stream), context, about->context))
PAIR(cuStreamGetDevice, _ptsz, (CUstream stream, int *device),
     ABOUT(STREAM(stream), device, about->context->device))

/* ---- host functions: a thread of the driver calls them, when their time has come ---- */

struct host_entry {
	struct host_entry *next;
	struct cuda_host_node what;
	struct CUstream_st *stream;
	uint32_t stream_id;
	uint64_t when;
};
static struct host_entry *host_queue;
static pthread_mutex_t host_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t host_more = PTHREAD_COND_INITIALIZER;

static void host_done(const struct host_entry *e)
{
	struct CUstream_st *s;

	driver_lock();
	s = object_find(e->stream, OBJECT_STREAM);
	if (s && s->id == e->stream_id) {
		s->host_pending--;
		s->end = later(s->end, now());
	}
	driver_unlock();
}

static void *host_thread(void *unused)
{
	struct host_entry *e;

	for (;;) {
		pthread_mutex_lock(&host_lock);
		while (!host_queue)
			pthread_cond_wait(&host_more, &host_lock);
		e = host_queue;
		host_queue = e->next;
		pthread_mutex_unlock(&host_lock);
		driver_lock();
		wait_until(e->when);
		driver_unlock();
		e->what.function(e->what.data);
		host_done(e);
		free(e);
	}
	return unused;
}

void host_call(struct CUstream_st *stream, uint64_t when, const struct cuda_host_node *what)
{
	static bool begun;
	struct host_entry *e = calloc(1, sizeof(*e)), **at = &host_queue;
	pthread_t thread;

	if (!e)
		abort();
	e->what = *what;
	e->stream = stream;
	e->stream_id = stream->id;
	e->when = when;
	stream->host_pending++;
	pthread_mutex_lock(&host_lock);
	while (*at && (*at)->when <= when)
		at = &(*at)->next;
	e->next = *at;
	*at = e;
	if (!begun) {
		begun = true;
		if (pthread_create(&thread, NULL, host_thread, NULL))
			abort();
		pthread_detach(thread);
	}
	pthread_cond_signal(&host_more);
	pthread_mutex_unlock(&host_lock);
}

static int host_launch(struct CUstream_st *s, cuda_host_function *function, void *data)
{
	struct work w = {.kind = NODE_HOST, .host = {function, data}};

	if (!s)
		return CUDA_INVALID_HANDLE;
	if (!function)
		return CUDA_INVALID_VALUE;
	return work_submit(s, &w, false);
}

PAIR(cuLaunchHostFunc, _ptsz, (CUstream stream, cuda_host_function *function, void *data),
     host_launch(STREAM(stream), function, data))

/* ---- events ---- */

static int event_create(CUevent *event, unsigned flags)
{
	struct CUctx_st *c = context_current();

	if (!event)
		return CUDA_INVALID_VALUE;
	if ((flags & (CUDA_EVENT_INTERPROCESS | CUDA_EVENT_DISABLE_TIMING)) ==
	    CUDA_EVENT_INTERPROCESS)
		return CUDA_INVALID_VALUE;
	if (!c)
		return CUDA_INVALID_CONTEXT;
	*event = object_make(OBJECT_EVENT, sizeof(**event));
	(*event)->context = c;
	(*event)->id = driver.next_event++;
	(*event)->flags = flags;
	return CUDA_OK;
}

int cuEventCreate(CUevent *event, unsigned flags)
{
	return CALL(event_create(event, flags));
}

static int event_destroy(CUevent event)
{
	if (!object_find(event, OBJECT_EVENT))
		return CUDA_INVALID_HANDLE;
	event_unshare(event);
	free(event->tails);
	object_drop(event);
	return CUDA_OK;
}

int cuEventDestroy_v2(CUevent event)
{
	return CALL(event_destroy(event));
}

static int event_record(CUevent event, struct CUstream_st *s)
{
	if (!s || !object_find(event, OBJECT_EVENT))
		return CUDA_INVALID_HANDLE;
	if (s->capture) {
		capture_record(s, event);
		return CUDA_OK;
	}
	stream_gate(s, true);
	event->capture = NULL;
	event->recorded = true;
	event->stream = s;
	event->time = s->end = later(stream_end(s), now());
	event_tell(event);
	tell(&(struct standin_activity){.kind = STANDIN_EVENT,
					.start = event->time,
					.end = event->time,
					.device = (uint32_t)s->context->device,
					.context = s->context->id,
					.stream = s->id,
					.event = event->id});
	return CUDA_OK;
}

PAIR(cuEventRecord, _ptsz, (CUevent event, CUstream stream), event_record(event, STREAM(stream)))
PAIR(cuEventRecordWithFlags, _ptsz, (CUevent event, CUstream stream, unsigned flags),
     ((void)flags, event_record(event, STREAM(stream))))

static int event_sync(CUevent event)
{
	uint64_t start = now();
	struct CUstream_st *s;
	uint64_t time;
	uint32_t id;

	if (!object_find(event, OBJECT_EVENT))
		return CUDA_INVALID_HANDLE;
	if (event->capture)
		return CUDA_CAPTURE_UNSUPPORTED;
	event_hear(event);
	if (!event->recorded)
		return CUDA_OK;
	time = event->time;
	id = event->id;
	s = event->stream;
	wait_until(time);
	if (object_find(s, OBJECT_STREAM))
		tell_sync(s, start, 1, id);
	return CUDA_OK;
}

int cuEventSynchronize(CUevent event)
{
	return CALL(event_sync(event));
}

static int event_query(CUevent event)
{
	if (!object_find(event, OBJECT_EVENT))
		return CUDA_INVALID_HANDLE;
	if (event->capture)
		return CUDA_CAPTURE_UNSUPPORTED;
	event_hear(event);
	return event->recorded && event->time > now() ? CUDA_NOT_READY : CUDA_OK;
}

int cuEventQuery(CUevent event)
{
	return CALL(event_query(event));
}

static int elapsed(float *ms, CUevent start, CUevent end)
{
	if (!ms)
		return CUDA_INVALID_VALUE;
	if (!object_find(start, OBJECT_EVENT) || !object_find(end, OBJECT_EVENT) ||
	    !start->recorded || !end->recorded ||
	    (start->flags | end->flags) & CUDA_EVENT_DISABLE_TIMING)
		return CUDA_INVALID_HANDLE;
	if (start->time > now() || end->time > now())
		return CUDA_NOT_READY;
	*ms = (float)((double)(int64_t)(end->time - start->time) / 1e6);
	return CUDA_OK;
}

int cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
	return CALL(elapsed(ms, start, end));
}

int cuEventElapsedTime_v2(float *ms, CUevent start, CUevent end)
{
	return CALL(elapsed(ms, start, end));
}

static int wait_event(struct CUstream_st *s, CUevent event)
{
	if (!s || !object_find(event, OBJECT_EVENT))
		return CUDA_INVALID_HANDLE;
	if (s->capture || event->capture)
		return capture_wait(s, event);
	event_hear(event);
	if (event->recorded) {
		s->end = later(s->end, event->time);
		tell_sync(s, now(), 2, event->id);
	}
	return CUDA_OK;
}

PAIR(cuStreamWaitEvent, _ptsz, (CUstream stream, CUevent event, unsigned flags),
     ((void)flags, wait_event(STREAM(stream), event)))

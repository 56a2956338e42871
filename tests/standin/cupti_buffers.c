/* cupti_buffers.c - the stand-in for libcupti: records, the buffers they lie in, the worker that returns them. */
#include "tests/standin/cupti.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

pthread_mutex_t standin_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
cupti_timestamp *standin_timestamp;
cupti_buffer_requested *standin_requested;
cupti_buffer_completed *standin_completed;
uint32_t standin_period, standin_used, standin_no_polls;
unsigned standin_sessions;

static uint64_t enabled;
static size_t dropped, emitted;
static unsigned delivering; /* by the worker */
static bool stopped;
__thread bool standin_delivers;
static pthread_cond_t delivered = PTHREAD_COND_INITIALIZER;

struct shape_field {
	uint16_t offset, bytes;
	uint32_t version;
};
static const struct shape_field fields[] = {
#define FIELD(shape, field, offset, bytes, version, member) {offset, bytes, version},
#include "preload/cupti/layout.def"
	{4, 4, 15}, /* externalKind, externalId, correlationId */
	{8, 8, 15},
	{16, 4, 15},
};

/* A record in a buffer: where, and the times that it gets when they are over. */
struct pending {
	uint32_t at, bytes;
	uint32_t start_at, end_at; /* in the record; 0: it has none */
	uint64_t start, end;
	uint64_t cpu_start, cpu_end; /* as the record has them, where the CPU took them */
	int kind;
	enum standin_fate fate;
};

struct buffer {
	struct buffer *next;
	uint8_t *data;
	size_t size, max, valid, cnt, room;
	struct pending *records;
	uint64_t not_before; /* the worker waits until then */
};
static struct buffer *current, *full, *spare;

bool standin_enabled(int kind)
{
	return kind >= 0 && kind < 64 && __atomic_load_n(&enabled, __ATOMIC_RELAXED) >> kind & 1;
}

bool standin_any_enabled(void)
{
	return __atomic_load_n(&enabled, __ATOMIC_RELAXED) != 0;
}

static size_t shape_bytes(enum cupti_kind kind)
{
	size_t size = 0;
	const char *of = "";

#define KIND(name, number, version, shape, flag) \
	if (kind == (number))                    \
		of = #shape;
#include "tests/standin/cupti_layout.def"
#define STRUCT(shape, version, bytes, name)                        \
	if (!strcmp(of, #shape) && standin_version() >= (version)) \
		size = bytes;
#include "tests/standin/cupti_layout.def"
	return size + standin_env("STANDIN_CUPTI_SHIFT", 0);
}

/* ---- returning ---- */

static bool complete(const struct buffer *b, uint64_t now)
{
	for (size_t i = 0; i < b->cnt; i++)
		if (b->records[i].end > now)
			return false;
	return true;
}

/* CUPTI's clock: the wall clock, or CLOCK_MONOTONIC_RAW as on WSL. */
uint64_t standin_default_clock(void)
{
	struct timespec t;

	clock_gettime(standin_env("STANDIN_CUPTI_RAW_CLOCK", 0) ? CLOCK_MONOTONIC_RAW
								: CLOCK_REALTIME,
		      &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/*
 * The client's clock minus CLOCK_MONOTONIC. Measured, where the real one asks each time, so a clock that is the same or a
 * constant apart must come out so: the interval is narrowed until the clock is set.
 */
int64_t standin_clock_offset(bool of_client)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct {
		int64_t low, high;
		bool is_known;
	} offsets[2];
	cupti_timestamp *callback = standin_timestamp,
			*clock = of_client && callback ? callback : standin_default_clock;
	int64_t before, theirs, after, low, high, offset;
	int left, most = 200; /* ticks never fit */

	pthread_mutex_lock(&lock);
	__typeof__(offsets[0]) *o = &offsets[clock == callback];
	for (left = o->is_known ? 1 : 100; left > 0 && most-- > 0; left--) {
		before = (int64_t)standin_now();
		theirs = (int64_t)clock();
		after = (int64_t)standin_now();
		low = theirs - after;
		high = theirs - before;
		if (!o->is_known || low > o->high || high < o->low) {
			/* Another clock: a thread that was off-CPU in between would leave it far off. */
			left = o->is_known ? 100 : left;
			o->low = low;
			o->high = high;
			o->is_known = true;
		}
		o->low = low > o->low ? low : o->low;
		o->high = high < o->high ? high : o->high;
	}
	offset = o->low <= 0 && o->high >= 0 ? 0 : o->low + (o->high - o->low) / 2;
	pthread_mutex_unlock(&lock);
	return offset;
}

static void fill_in_times(const struct pending *p, uint64_t now, uint8_t *record)
{
	uint64_t start = 0, end = 0;

	if (!p->end_at)
		return;
	if (p->end <= now) {
		start = standin_is_by_gpu(p->kind) ? p->start : p->cpu_start;
		end = standin_is_by_gpu(p->kind) ? p->end : p->cpu_end;
		if (standin_is_by_gpu(p->kind))
			standin_lie_times(p->kind, &start, &end);
	}
	if (p->start_at)
		memcpy(record + p->start_at, &start, 8);
	memcpy(record + p->end_at, &end, 8);
	standin_log_times(p->kind, p->fate,
			  (uint64_t[]){p->start, p->end, p->start_at ? start : end, end});
}

/* Fills in times, brings the records out of order, and hands the buffer over. No lock is held. */
static void deliver(struct buffer *b)
{
	uint64_t now = standin_now();
	uint8_t *copy = malloc(b->valid + 1);
	size_t at = 0;
	uint32_t seed = (uint32_t)b->cnt;

	memcpy(copy, b->data, b->valid);
	for (size_t i = 0; i < b->cnt; i++)
		fill_in_times(&b->records[i], now, copy + b->records[i].at);
	/* Each place gets one of those that are left. */
	for (size_t left = b->cnt; left; left--) {
		size_t from = (seed = seed * 1103515245u + 12345u) % left;
		struct pending p = b->records[from];

		b->records[from] = b->records[left - 1];
		memcpy(b->data + at, copy + p.at, p.bytes);
		if (left == (b->cnt + 1) / 2 && standin_lies(LIE_INCOMPLETE))
			memset(b->data + at, 0, sizeof(uint32_t));
		at += p.bytes;
	}
	free(copy);
	standin_delivers = true;
	if (standin_completed)
		standin_completed(NULL, 0, b->data, b->size, b->valid);
	standin_delivers = false;
	free(b->records);
	free(b);
}

static struct buffer *take_complete(struct buffer **list, bool all)
{
	struct buffer *taken = NULL, **end = &taken;
	uint64_t now = standin_now();

	while (*list) {
		struct buffer *b = *list;

		if (b->not_before > now || (!all && !complete(b, now))) {
			list = &b->next;
			continue;
		}
		*list = b->next;
		b->next = NULL;
		*end = b;
		end = &b->next;
	}
	return taken;
}

static void deliver_all(struct buffer *b)
{
	while (b) {
		struct buffer *next = b->next;

		deliver(b);
		b = next;
	}
}

/* Only full buffers, only complete ones: as CUPTI's own worker, every period, or soon where none is set. */
static void *work(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&standin_lock);
	for (;;) {
		uint32_t ms = __atomic_load_n(&standin_period, __ATOMIC_RELAXED);
		struct timespec until;
		struct buffer *b;

		clock_gettime(CLOCK_REALTIME, &until);
		if (!ms || ms > 20)
			ms = 20;
		until.tv_nsec += (long)ms * 1000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&wake, &standin_lock, &until);
		b = stopped ? NULL : take_complete(&full, false);
		delivering++;
		pthread_mutex_unlock(&standin_lock);
		deliver_all(b);
		pthread_mutex_lock(&standin_lock);
		delivering--;
		pthread_cond_broadcast(&delivered);
	}
	return NULL;
}

void standin_stop(void)
{
	pthread_mutex_lock(&standin_lock);
	stopped = true;
	while (delivering)
		pthread_cond_wait(&delivered, &standin_lock);
	pthread_mutex_unlock(&standin_lock);
}

static void start_worker(void)
{
	sigset_t every, kept;
	pthread_t thread;

	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &kept);
	if (pthread_create(&thread, NULL, work, NULL))
		standin_wrong("no thread to be had");
	pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &kept, NULL);
}

bool standin_enable(int kind, bool on)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	uint64_t bit = 1ull << kind;

	pthread_once(&once, start_worker);
	if (on && kind == CUPTI_KIND_CONCURRENT_KERNEL && !standin_enabled(kind))
		standin_sessions++;
	if (on)
		return !(__atomic_fetch_or(&enabled, bit, __ATOMIC_RELAXED) & bit);
	__atomic_fetch_and(&enabled, ~bit, __ATOMIC_RELAXED);
	return false;
}

static struct buffer *request(void);

/* Some versions have the next buffer before there is anything to put into it. */
static void request_ahead(void)
{
	struct buffer *b = standin_env("STANDIN_CUPTI_AHEAD", 0) ? request() : NULL;

	if (!b)
		return;
	pthread_mutex_lock(&standin_lock);
	b->next = spare;
	spare = b;
	pthread_mutex_unlock(&standin_lock);
}

/* A buffer in which something is not over yet stays where it is, and is filled further, unless @forced. */
int standin_flush(bool forced)
{
	uint64_t late = standin_env("STANDIN_CUPTI_LATE", 0);
	struct buffer *b;
	bool is_news;

	pthread_mutex_lock(&standin_lock);
	if (current && current->cnt && (forced || complete(current, standin_now()))) {
		current->next = full;
		full = current;
		current = NULL;
		if (forced && late)
			full->not_before = standin_now() + late * 1000000;
	}
	b = take_complete(&full, forced);
	is_news = b != NULL;
	pthread_mutex_unlock(&standin_lock);
	deliver_all(b);
	/* It blocks until all is handed over, also what the worker has in hand. */
	pthread_mutex_lock(&standin_lock);
	while (delivering)
		pthread_cond_wait(&delivered, &standin_lock);
	pthread_mutex_unlock(&standin_lock);
	if (is_news && !forced)
		request_ahead();
	return 0;
}

size_t standin_dropped(void)
{
	return __atomic_exchange_n(&dropped, 0, __ATOMIC_RELAXED);
}

void standin_reset(void)
{
	__atomic_store_n(&enabled, 0, __ATOMIC_RELAXED);
	standin_flush(true);
	standin_requested = NULL;
	standin_completed = NULL;
	standin_timestamp = NULL;
	standin_period = 0;
}

/* ---- taking ---- */

/* Of a client other than the shim, what it leaves in there shows in its records. */
static void check_zero(const struct buffer *b)
{
	if (!standin_is_shim((void *)standin_requested))
		return;
	for (size_t i = 0; i < b->size; i++)
		if (b->data[i])
			standin_wrong("the buffer was to be zero, and is not");
}

/* From the client, on the program's thread; no lock is held. */
static struct buffer *request(void)
{
	struct buffer *b = calloc(1, sizeof(*b));

	__atomic_store_n(&standin_used, 1, __ATOMIC_RELAXED);
	standin_requested(&b->data, &b->size, &b->max);
	if (!b->data && standin_version() < 27)
		standin_wrong("no buffer: this version crashes");
	if ((uintptr_t)b->data % 8)
		standin_wrong("the buffer is not aligned to 8 bytes");
	if (!b->data || b->size < 1024) {
		free(b);
		return NULL;
	}
	if (!standin_zeroed())
		memset(b->data, 0, b->size);
	else
		check_zero(b);
	return b;
}

/* A buffer with room, or NULL. Called and left with the lock held. */
static struct buffer *room_for(size_t bytes)
{
	struct buffer *b;

	if (current && (current->valid + bytes > current->size ||
			(current->max && current->cnt == current->max))) {
		current->next = full;
		full = current;
		current = NULL;
		pthread_cond_signal(&wake);
	}
	if (!current && spare) {
		current = spare;
		spare = spare->next;
		current->next = NULL;
	}
	if (current)
		return current;
	pthread_mutex_unlock(&standin_lock);
	b = request();
	pthread_mutex_lock(&standin_lock);
	if (current && b) {
		/* Another thread was faster. */
		b->next = spare;
		spare = b;
	} else if (b) {
		current = b;
	}
	return current;
}

static void put(struct buffer *b, const struct standin_emit *e, size_t bytes)
{
	size_t shift = standin_env("STANDIN_CUPTI_SHIFT", 0);
	uint8_t *to = b->data + b->valid;
	uint32_t kind = e->kind;
	struct pending *p;

	if (b->cnt == b->room) {
		b->room = b->room ? 2 * b->room : 64;
		b->records = realloc(b->records, b->room * sizeof(*b->records));
	}
	p = &b->records[b->cnt++];
	*p = (struct pending){.at = (uint32_t)b->valid,
			      .bytes = (uint32_t)bytes,
			      .kind = (int)kind,
			      .fate = standin_fate,
			      .start = e->start,
			      .end = e->end,
			      .cpu_start = e->start,
			      .cpu_end = e->end};
	if (e->end_field && !standin_is_by_gpu(p->kind))
		standin_lie_times(p->kind, &p->cpu_start, &p->cpu_end);
	memcpy(to, &kind, sizeof(kind));
	for (unsigned i = 0; i < e->cnt; i++) {
		const struct shape_field *f = &fields[e->values[i].field];
		const void *from = f->bytes > 8 ? (const void *)(uintptr_t)e->values[i].value
						: (const void *)&e->values[i].value;

		if (f->version <= standin_version())
			memcpy(to + f->offset + shift, from, f->bytes);
	}
	if (e->start_field && fields[e->start_field].version <= standin_version())
		p->start_at = fields[e->start_field].offset + (uint32_t)shift;
	if (e->end_field && fields[e->end_field].version <= standin_version())
		p->end_at = fields[e->end_field].offset + (uint32_t)shift;
	b->valid += bytes;
}

__attribute__((visibility("default"))) void standin_cupti_emit(const struct standin_emit *e)
{
	static uint64_t drop = UINT64_MAX;
	size_t bytes;
	struct buffer *b;

	standin_fate = FATE_OFF;
	if (!standin_enabled(e->kind) || !standin_requested)
		return;
	if (drop == UINT64_MAX)
		drop = standin_env("STANDIN_CUPTI_DROP", 0);
	bytes = shape_bytes(e->kind);
	pthread_mutex_lock(&standin_lock);
	b = drop && ++emitted % drop == 0 ? NULL : room_for(bytes);
	standin_fate = FATE_CLIENT;
	if (standin_is_shim((void *)standin_requested))
		standin_fate = b && b->valid + bytes <= b->size ? FATE_SHIM : FATE_DROPPED;
	if (b && b->valid + bytes <= b->size) {
		put(b, e, bytes);
	} else {
		__atomic_add_fetch(&dropped, 1, __ATOMIC_RELAXED);
		standin_log_dropped((int)e->kind, standin_fate);
	}
	pthread_mutex_unlock(&standin_lock);
}

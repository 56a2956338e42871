/* health_internal.h - structures and functions private to the files of health.h. */
#pragma once

#include <sys/types.h>

#include "collector/health/health.h"
#include "collector/health/health_clock.h"
#include "collector/probe/frame.h"

#define HEALTH_GPUS    64u
#define HEALTH_EVENTS  4096u
#define HEALTH_METRICS 512u /* different names */

/* A frame in a queue: this, then the stream's values. */
struct health_sample {
	int64_t t0, t1; /* CLOCK_MONOTONIC; of an unmapped one the stream's clock */
	int64_t raw;    /* t0 of the stream's clock */
	int64_t why;    /* enum probe_why: of a gap before it */
	double value[];
};

/* Samples, oldest first, in a ring of equal places. */
struct health_queue {
	char *at;
	size_t place; /* bytes of one */
	size_t first, cnt, cap;
	size_t unmapped; /* of the newest ones: their times are still those of the stream */
};

struct health_stream {
	struct probe_stream about; /* its texts end */
	struct probe_name *name;
	int64_t *id;      /* by name: metricId, counterId; valid while is_told */
	bool is_told;     /* the reports know them */
	bool *is_unknown; /* by name: the last row is NULL, or there is none */
	int64_t period;   /* ns; 0: not known */
	struct health_queue queue;
	struct {
		struct clock_pair last;
		bool is_there;
	} clock;
	uint8_t why;        /* of a gap before the next sample */
	int64_t came_to;    /* CLOCK_MONOTONIC of the end of the newest sample; 0: none came */
	int64_t written_to; /* the same of rows; 0: none yet in this window */
	int64_t window;     /* from_mono of the window that the rows are in */
	bool is_over;       /* another one took its place */
};

struct health_gpu {
	bool is_there;
	struct probe_gpu_info info;
	int64_t target;   /* TARGET_INFO_GPU.id; -1: the table has no room for it */
	bool has_row;     /* there */
	unsigned metrics; /* number of its newest stream of hardware metrics + 1; 0: none */
	int64_t written_to; /* CLOCK_MONOTONIC of the end of its last row of hardware metrics; 0: none in this window */
	int64_t period; /* of that */
	int64_t window; /* from_mono of that */
};

struct health_event {
	struct probe_event about;
};

/* The process. */
struct health_process {
	pid_t pid;                  /* 0: it has ended, and was waited for */
	int socket, ring_fd, timer; /* -1: closed */
	bool is_ready, has_hello;
	bool is_ending;            /* we have asked for it */
	unsigned look_ms, mute_ms; /* between two looks; without a hello so far */
	uint64_t waited_ns; /* proc_waited_ns() at the last look at a silent thread; 0: none */
	struct {
		uint32_t count;
		unsigned silent_ms;
	} beat[PROBE_THREADS];
};

struct health {
	struct health_ask ask;
	char *path;
	char *texts[4]; /* copies of the options' texts */
	struct health_process process;
	struct {
		struct probe_ring *map; /* NULL: none */
		uint64_t bytes, tail;
		uint64_t bad; /* frames that made no sense */
		uint64_t dropped;
	} ring;
	struct health_gpu gpu[HEALTH_GPUS];
	struct health_stream *stream[PROBE_STREAMS]; /* by number */
	unsigned streams;                            /* the highest number + 1 */
	struct health_event *event;
	size_t events;
	struct {
		char name[sizeof(((struct probe_name *)0)->name)];
		int64_t id;
	} * metric; /* names of hardware metrics in this report, HEALTH_METRICS of them */
	unsigned metrics;
	size_t bytes;     /* of all queues */
	int64_t ended_at; /* CLOCK_MONOTONIC; 0: sl-gpu works */
	int64_t asked_at; /* to end; 0: it was not */
};

/* ---- health_intake.c ---- */

/* All messages that wait. False: the other end is closed. */
bool health_messages(struct health *h);
void health_stream_free(struct health_stream *s);

/* ---- health_ring.c ---- */

/* All frames up to where the head was at the call's begin; reads the messages in between. False: as health_messages(). */
bool health_frames(struct health *h);
/* Samples that still wait for a pair of clocks use the last pair. */
void health_map_rest(struct health *h);

struct health_sample *health_queue_at(const struct health_queue *q, size_t i);
void health_queue_drop(struct health *h, struct health_queue *q);

/* ---- health.c ---- */

void health_say(struct health *h, int severity, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

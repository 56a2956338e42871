/*
 * pm_session.h - PM sampling of one GPU: the device, a session that samples it, its samples as frames.
 */
#pragma once

#include "collector/probe/pm_config.h"
#include "collector/probe/pm_find.h"
#include "collector/probe/source.h"

/* pm_device.c: one GPU, as CUPTI and the driver name it. */
struct pm_device {
	const struct pm_library *library;
	struct probe_gpu *gpu;
	size_t ordinal; /* CUDA's */
	int handle;
	char chip[16];
	uint8_t *availability;
	bool has_context, is_counted;
};
/* Loads the libraries, once per process, and finds the GPU. False: why. pm_device_close() in any case. */
bool pm_device_open(struct pm_device *d, struct probe_gpu *gpu, struct out *out,
		    struct source_why *why);
/* Finds, without permission, the chip, and whether it can be sampled at all. */
bool pm_device_check(struct pm_device *d, struct source_why *why);
/* Which of the counters this process may sample. */
bool pm_device_available(struct pm_device *d, struct source_why *why);
/* True: no other GPU is sampled by this process; from now on this one is. */
bool pm_device_alone(struct pm_device *d);
void pm_device_close(struct pm_device *d);
/* Held while a session begins or ends: CUPTI's set-up is not used by two threads at once. */
void pm_lock(void);
void pm_unlock(void);

/*
 * pm_why.c: explains a result of CUPTI to the user of this machine: "STEP: failure; remedy".
 * is_sampled: sampling has begun, so no other profiler is in the way.
 */
void pm_explain(const struct pm_device *d, struct source_why *why, const char *step, int result,
		bool is_sampled);

/* pm_rate.c: how often. */
struct pm_rate {
	int64_t hz;        /* wanted */
	uint64_t interval; /* ns, or cycles */
	int trigger, append;
	int64_t period; /* ns, as the samples are: with a trigger by cycles it follows the clock */
	bool is_measured; /* period is */
};
void pm_rate_init(struct pm_rate *r, const char *chip, int64_t hz);
/* The next way to trigger, where this one is refused. False: there is none. */
bool pm_rate_other(struct pm_rate *r);
/* Takes note of @cnt samples of @ns together. True: another interval is needed for the rate. */
bool pm_rate_seen(struct pm_rate *r, unsigned cnt, int64_t ns);

/* pm_session.c */
struct pm_session {
	struct pm_device *device;
	struct pm_config *config;
	struct pm_rate rate;
	void *object;
	uint8_t *image, *blank; /* blank: as initialized, copied back after each round */
	size_t image_size;
	uint64_t buffer; /* bytes of the hardware's; 0: as many as are usual */
	bool is_started;
};
/* Samples of a round, at most. */
unsigned pm_session_samples(const struct pm_rate *r);
bool pm_session_start(struct pm_session *s, struct source_why *why);
void pm_session_stop(struct pm_session *s);

/* pm_decode.c */
struct pm_clock {
	int64_t its, offset; /* CLOCK_MONOTONIC - CUPTI's */
};
struct pm_flow {
	struct out *out;
	unsigned stream;
	struct pm_clock clock;               /* at the last round */
	int64_t since, last_start, last_end; /* CLOCK_MONOTONIC; 0: none */
	enum probe_why gap;                  /* the reason for the next one */
	bool is_first;                       /* the next sample is the first after a start */
	bool is_silent;                      /* samples are counted only */
	unsigned samples;                    /* of this round, and how long they are together */
	int64_t ns;
	bool is_overflow;
};
void pm_flow_start(struct pm_flow *f, const struct pm_session *s);
/* Hands on the samples so far. 0 or CUPTI's result. */
int pm_decode(struct pm_flow *f, struct pm_session *s);

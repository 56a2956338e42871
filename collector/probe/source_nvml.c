/*
 * source_nvml.c - curves of a GPU's health: power, energy, clocks, memory, temperature, throttling, links, processes.
 *
 * By NVML alone, and never by nvmlDeviceGetPcieThroughput, which counts for 20 ms inside the call.
 */
#include "collector/probe/nvml_process.h"
#include "collector/probe/nvml_read.h"

#include <stdlib.h>
#include <time.h>

#define MS         INT64_C(1000000)
#define MIDDLE_NS  (500 * MS)
#define SLOW_NS    (1000 * MS)
#define DEAR_SHARE 5 /* of the period: beyond a fifth the driver is too slow for it */
#define DEAR_TICKS 5
#define SAMPLES    256

/* The driver's own samples of utilisation, which are closer than ours. */
struct use_samples {
	int type; /* NVML_SAMPLES_... */
	const char *name;
	int stream; /* -1: none */
	unsigned long long last_us;
};

struct health {
	struct nvml_reader read;
	struct nvml_processes *processes;
	struct use_samples use[2];
	int64_t period, due[TIERS];
	unsigned dear; /* consecutive ticks that took too long */
	unsigned long long reasons;
	bool has_reasons;
};

static int64_t real_now(const void *ctx)
{
	struct timespec ts;

	(void)ctx;
	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* ---- utilisation ---- */

static unsigned get_samples(struct health *h, struct use_samples *u, struct nvml_sample *sample,
			    unsigned *cnt)
{
	const struct nvml *n = h->read.gpu->nvml;
	int type = NVML_TYPE_UINT;

	*cnt = SAMPLES;
	if (!n->samples)
		return NVML_FUNCTION_NOT_FOUND;
	return n->samples(h->read.gpu->device, u->type, u->last_us, &type, cnt, sample);
}

static void open_use(struct health *h)
{
	struct nvml_sample sample[SAMPLES];
	unsigned cnt;

	for (int i = 0; i < 2; i++) {
		struct use_samples *u = &h->use[i];
		struct probe_name name = {.unit = "%"};
		struct probe_stream stream = {.what = PROBE_COUNTERS,
					      .clock = PROBE_OTHER,
					      .gpu = h->read.gpu->info.gpu,
					      .source = "nvml",
					      .clocks_locked = -1};
		unsigned ret;

		*u = (struct use_samples){.type = i ? NVML_SAMPLES_MEMORY : NVML_SAMPLES_GPU,
					  .name = i ? "Memory Utilization" : "GPU Utilization",
					  .stream = -1,
					  .last_us = (unsigned long long)real_now(NULL) / 1000};
		ret = get_samples(h, u, sample, &cnt);
		/* Nothing new is no error. */
		if ((ret != NVML_SUCCESS && ret != NVML_NOT_FOUND) || (i && !h->read.has_samples))
			return;
		snprintf(name.name, sizeof(name.name), "%s", u->name);
		if (!out_stream(h->read.out, &stream, &name, 1))
			return;
		u->stream = stream.stream;
		h->read.has_samples = true;
		out_clock(h->read.out, stream.stream, out_pair(real_now, NULL));
	}
}

static void poll_use(struct health *h)
{
	struct nvml_sample sample[SAMPLES];
	unsigned cnt;

	for (int i = 0; i < 2; i++) {
		struct use_samples *u = &h->use[i];

		if (u->stream < 0 || get_samples(h, u, sample, &cnt) != NVML_SUCCESS)
			continue;
		for (unsigned k = 0; k < cnt && k < SAMPLES; k++) {
			double value = sample[k].value.u;
			int64_t at = (int64_t)(sample[k].time_us * 1000);

			if (sample[k].time_us <= u->last_us || value > 100)
				continue;
			u->last_us = sample[k].time_us;
			out_values(h->read.out, (unsigned)u->stream, at, at, &value, 1);
		}
		out_clock(h->read.out, (unsigned)u->stream, out_pair(real_now, NULL));
	}
}

/* ---- clocks ---- */

static void poll_reasons(struct health *h)
{
	const struct nvml *n = h->read.gpu->nvml;
	unsigned long long reasons;
	struct probe_event e = {.gpu = h->read.gpu->info.gpu,
				.mono = out_now(),
				.what = "clock",
				.instance = -1,
				.sub_instance = -1};

	if (!n->reasons || n->reasons(h->read.gpu->device, &reasons) != NVML_SUCCESS ||
	    (h->has_reasons && reasons == h->reasons))
		return;
	h->has_reasons = true;
	h->reasons = reasons;
	e.code = (int64_t)reasons;
	out_event(h->read.out, &e);
}

/* ---- the source ---- */

static void close_health(void *source)
{
	struct health *h = source;

	nvml_processes_free(h->processes);
	free(h);
}

static void *open_health(struct probe_gpu *gpu, const struct source_want *want, struct out *out,
			 struct source_why *why)
{
	struct health *h = calloc(1, sizeof(*h));

	if (!h) {
		snprintf(why->text, sizeof(why->text), "no memory");
		return NULL;
	}
	h->read = (struct nvml_reader){.gpu = gpu, .out = out, .asked_mhz = want->hz * 1000};
	for (int t = 0; t < TIERS; t++)
		h->read.tier[t].stream = -1;
	h->use[0].stream = h->use[1].stream = -1;
	h->period = 1000 * MS / want->hz;
	h->processes = nvml_processes_new(gpu, out);
	if (!gpu->parent)
		open_use(h);
	return h;
}

/* ns in which this thread could run and no CPU was free: a busy machine is not a slow driver. 0: the kernel does not count. */
static int64_t waited_for_cpu(void)
{
	FILE *f = fopen("/proc/thread-self/schedstat", "re");
	long long ran, waited = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%lld %lld", &ran, &waited) != 2)
		waited = 0;
	fclose(f);
	return waited;
}

/* A driver that takes long is asked less often. */
static void degrade(struct health *h, int64_t took)
{
	const struct probe_gpu *g = h->read.gpu;

	h->dear = took * DEAR_SHARE > h->period ? h->dear + 1 : 0;
	if (h->dear < DEAR_TICKS || h->period >= SLOW_NS)
		return;
	h->dear = 0;
	h->period *= 2;
	out_note(h->read.out, 1,
		 "GPU %u: reading its health takes %.1f ms: it is read every %lld ms instead of "
		 "every %lld",
		 g->index, (double)took / 1e6, (long long)(h->period / MS),
		 (long long)(h->period / 2 / MS));
}

static bool poll_due(struct health *h, int64_t now)
{
	int64_t began;

	if (now >= h->due[FAST]) {
		h->due[FAST] = now + h->period;
		began = out_now() - waited_for_cpu();
		if (!nvml_read(&h->read, FAST))
			return false;
		degrade(h, out_now() - waited_for_cpu() - began);
	}
	if (now >= h->due[MIDDLE]) {
		h->due[MIDDLE] = now + MIDDLE_NS;
		if (!nvml_read(&h->read, MIDDLE))
			return false;
		poll_use(h);
		if (!h->read.gpu->parent)
			poll_reasons(h);
	}
	if (now >= h->due[SLOW]) {
		h->due[SLOW] = now + SLOW_NS;
		if (!nvml_read(&h->read, SLOW))
			return false;
		nvml_processes_poll(h->processes);
	}
	return true;
}

static int64_t poll_health(void *source, struct source_why *why)
{
	struct health *h = source;
	int64_t now = out_now(), next;

	/* The last ones, of a program that may have run for less than a period. */
	if (out_is_over(h->read.out))
		h->due[FAST] = h->due[MIDDLE] = now;
	if (!poll_due(h, now)) {
		snprintf(why->text, sizeof(why->text), "%s", nvml_text(NVML_GPU_IS_LOST));
		why->is_final = true;
		return -1;
	}
	next = h->due[FAST];
	for (int t = MIDDLE; t < TIERS; t++)
		if (h->due[t] < next)
			next = h->due[t];
	return next;
}

const struct source source_nvml = {"nvml", open_health, poll_health, close_health};

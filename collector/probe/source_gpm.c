/*
 * source_gpm.c - GPM of NVML (Hopper and later): averages of hardware metrics between two samples that the driver takes.
 *
 * Another unit of the GPU than that of PM sampling: it needs no permission, and runs beside other profilers. The driver
 * renews its numbers every 100 ms, so nothing shorter can be asked for.
 */
#include "collector/probe/nvml.h"
#include "collector/probe/source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PERIOD_NS \
	105263158 /* 9.5 Hz: above the 100 ms of the driver, with room for a late wake-up before */
#define MIB 1048576.0

/* bytes: of the library's MiB/s the bytes in the span. */
static const struct {
	unsigned id;
	bool bytes;
	const char *name;
} METRIC[] = {
	{1, false, "GR Active [Throughput %]"},
	{2, false, "SMs Active [Throughput %]"},
	{3, false, "Compute Warps in Flight [Throughput %]"},
	{5, false, "Tensor Active [Throughput %]"},
	{10, false, "DRAM Bandwidth [Throughput %]"}, /* read and write together */
	{11, false, "FP64 Active [Throughput %]"},
	{12, false, "FP32 Active [Throughput %]"},
	{13, false, "FP16 Active [Throughput %]"},
	{20, true, "PCIe TX [Bytes]"},
	{21, true, "PCIe RX [Bytes]"},
	{60, true, "NVLink RX [Bytes]"},
	{61, true, "NVLink TX [Bytes]"},
};
#define METRICS (sizeof(METRIC) / sizeof(METRIC[0]))

struct gpm {
	struct probe_gpu *gpu;
	struct out *out;
	nvml_gpm_sample sample[2];
	unsigned newest; /* of the two */
	int64_t at;      /* when it was taken; 0: none yet */
	int64_t asked_mhz;
	char reason[SOURCE_WHY];
	int stream; /* -1: not described yet: which metrics there are shows with the first sample */
	unsigned cnt;
	uint8_t metric[METRICS]; /* of METRIC */
	struct nvml_gpm_get get;
};

static unsigned take(struct gpm *g, nvml_gpm_sample to)
{
	const struct nvml *n = g->gpu->nvml;

	return n->gpm_sample(g->gpu->device, to);
}

/* A part of a GPU that the driver does not take as such is asked for by its number. */
static unsigned sample(struct gpm *g, nvml_gpm_sample to)
{
	const struct nvml *n = g->gpu->nvml;
	unsigned ret = take(g, to);

	if ((ret == NVML_NOT_SUPPORTED || ret == NVML_INVALID_ARGUMENT) && g->gpu->parent &&
	    n->gpm_mig_sample)
		ret = n->gpm_mig_sample(g->gpu->parent, (unsigned)g->gpu->info.instance, to);
	return ret;
}

static void close_gpm(void *source)
{
	struct gpm *g = source;
	const struct nvml *n = g->gpu->nvml;

	for (int i = 0; i < 2; i++)
		if (g->sample[i])
			n->gpm_free(g->sample[i]);
	free(g);
}

static void *open_gpm(struct probe_gpu *gpu, const struct source_want *want, struct out *out,
		      struct source_why *why)
{
	const struct nvml *n = gpu->nvml;
	struct nvml_gpm_support support = {.version = 1};
	struct gpm *g;
	unsigned ret;

	if (!n->gpm_support || !n->gpm_alloc || !n->gpm_free || !n->gpm_sample || !n->gpm_metrics) {
		snprintf(why->text, sizeof(why->text), "the driver %s is too old for GPM",
			 n->driver);
		return NULL;
	}
	/* A part of a GPU supports the same as the whole. */
	ret = n->gpm_support(gpu->parent ? gpu->parent : gpu->device, &support);
	if (ret != NVML_SUCCESS || !support.supported) {
		snprintf(why->text, sizeof(why->text),
			 "the GPU has no GPM (Hopper and later have it)%s%s",
			 ret == NVML_SUCCESS ? "" : ": ",
			 ret == NVML_SUCCESS ? "" : nvml_text(ret));
		return NULL;
	}
	g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	g->gpu = gpu;
	g->out = out;
	g->stream = -1;
	g->asked_mhz = want->hz * 1000;
	snprintf(g->reason, sizeof(g->reason), "%s", want->reason ? want->reason : "");
	for (int i = 0; i < 2; i++)
		if (n->gpm_alloc(&g->sample[i]) != NVML_SUCCESS) {
			g->sample[i] = NULL;
			snprintf(why->text, sizeof(why->text), "GPM: no memory in the driver");
			close_gpm(g);
			return NULL;
		}
	ret = sample(g, g->sample[0]);
	if (ret != NVML_SUCCESS) {
		snprintf(why->text, sizeof(why->text), "GPM: %s (code %u)", nvml_text(ret), ret);
		close_gpm(g);
		return NULL;
	}
	g->at = out_now();
	return g;
}

/* Metrics between the two samples. */
static unsigned evaluate(struct gpm *g)
{
	const struct nvml *n = g->gpu->nvml;

	g->get.version = 1;
	g->get.s1 = g->sample[!g->newest];
	g->get.s2 = g->sample[g->newest];
	g->get.cnt = g->stream < 0 ? (unsigned)METRICS : g->cnt;
	for (unsigned i = 0; i < g->get.cnt; i++)
		g->get.metric[i] = (struct nvml_gpm_metric){
			.id = METRIC[g->stream < 0 ? i : g->metric[i]].id, .ret = NVML_UNKNOWN};
	return n->gpm_metrics(&g->get);
}

/* Describes metrics of the first sample; others are not asked for again. */
static bool describe(struct gpm *g, struct source_why *why)
{
	struct probe_name name[METRICS] = {0};
	struct probe_stream s = {.what = PROBE_METRICS,
				 .clock = PROBE_MONOTONIC,
				 .gpu = g->gpu->info.gpu,
				 .source = "gpm",
				 .set = "gpm",
				 .asked_mhz = g->asked_mhz,
				 .real_mhz = 1000000000000 / PERIOD_NS,
				 .clocks_locked = -1};

	snprintf(s.reason, sizeof(s.reason), "%s", g->reason);
	for (unsigned i = 0; i < METRICS; i++) {
		if (g->get.metric[i].ret != NVML_SUCCESS)
			continue;
		g->get.metric[g->cnt] = g->get.metric[i];
		snprintf(name[g->cnt].name, sizeof(name->name), "%s", METRIC[i].name);
		g->metric[g->cnt++] = (uint8_t)i;
	}
	if (!g->cnt || !out_stream(g->out, &s, name, g->cnt)) {
		snprintf(why->text, sizeof(why->text), "GPM has no metric on this GPU");
		return false;
	}
	g->stream = s.stream;
	return true;
}

static void hand_on(struct gpm *g, int64_t t0, int64_t t1)
{
	double value[METRICS];

	for (unsigned i = 0; i < g->cnt; i++) {
		const struct nvml_gpm_metric *m = &g->get.metric[i];
		bool bytes = METRIC[g->metric[i]].bytes;

		value[i] = m->ret == NVML_SUCCESS && isfinite(m->value) && m->value >= 0
				   ? m->value * (bytes ? MIB * (double)(t1 - t0) / 1e9 : 1)
				   : NAN;
	}
	out_values(g->out, (unsigned)g->stream, t0, t1, value, g->cnt);
}

static int64_t poll_gpm(void *source, struct source_why *why)
{
	struct gpm *g = source;
	int64_t t0 = g->at, now = out_now();
	unsigned ret;

	if (now - t0 < PERIOD_NS)
		return t0 + PERIOD_NS;
	ret = sample(g, g->sample[!g->newest]);
	if (ret == NVML_GPU_IS_LOST || ret == NVML_RESET_REQUIRED || ret == NVML_UNINITIALIZED) {
		snprintf(why->text, sizeof(why->text), "%s", nvml_text(ret));
		why->is_final = true;
		return -1;
	}
	if (ret != NVML_SUCCESS) /* the next one is about the whole span */
		return now + PERIOD_NS;
	/* Behind the call: from here on a period is no shorter than the driver's span, though the call was late. */
	g->at = now = out_now();
	g->newest = !g->newest;
	ret = evaluate(g);
	if (ret != NVML_SUCCESS) {
		if (g->stream < 0) {
			snprintf(why->text, sizeof(why->text), "GPM: %s (code %u)", nvml_text(ret),
				 ret);
			return -1;
		}
		out_gap(g->out, (unsigned)g->stream, t0, now, PROBE_LATE);
		return now + PERIOD_NS;
	}
	if (g->stream < 0 && !describe(g, why))
		return -1;
	hand_on(g, t0, now);
	return now + PERIOD_NS;
}

const struct source source_gpm = {"gpm", open_gpm, poll_gpm, close_gpm};

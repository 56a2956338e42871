/* cupti_pm_host.c - the stand-in for libcupti: chips, metrics, configurations. Needs no GPU, as the real ones. */
#include "tests/standin/cupti_pm.h"

#include <stdlib.h>
#include <string.h>

#define HOST_MAGIC 0x74736f686d70u
#define FITS       25u /* metrics in one pass */

#define METRIC(passes, name) {passes, #name},
static const struct {
	const char *passes, *name;
} metrics[] = {
#include "tests/standin/cupti_pm_metrics.def"
};
static const char *const chips[] = {CHIPS};
#define METRIC_CNT (sizeof(metrics) / sizeof(*metrics))
#define CHIP_CNT   (sizeof(chips) / sizeof(*chips))

const char *standin_pm_metric(uint32_t index)
{
	return metrics[index].name;
}

bool standin_pm_host_is_good(const struct pm_host_object *h)
{
	if (!h || h->magic != HOST_MAGIC)
		return false;
	for (uint32_t i = 0; i < h->config.cnt; i++)
		if (h->names[i] != h->texts[i] ||
		    strcmp(h->texts[i], metrics[h->config.metrics[i]].name) != 0)
			return false;
	return true;
}

PM_EXPORT int cuptiProfilerHostGetSupportedChips(struct pm_chips *p)
{
	PM_CHECK("ProfilerHostGetSupportedChips", p, 32, 0);
	/* As without libnvperf_host. */
	p->cnt = standin_pm_mood("nochip") >= 0 ? 0 : CHIP_CNT;
	p->chips = chips;
	return PM_OK;
}

PM_EXPORT int cuptiProfilerHostInitialize(struct pm_host_init *p)
{
	struct pm_host_object *h;
	uint32_t chip = 0;

	PM_CHECK("ProfilerHostInitialize", p, 48, 56);
	if (p->type != PM_PROFILER_TYPE || !p->chip)
		return PM_INVALID_PARAMETER;
	while (chip < CHIP_CNT && strcmp(chips[chip], p->chip) != 0)
		chip++;
	if (chip == CHIP_CNT)
		return PM_INVALID_CHIP_NAME;
	h = calloc(1, sizeof(*h));
	h->magic = HOST_MAGIC;
	h->config.magic = PM_CONFIG_MAGIC;
	h->config.chip = chip;
	p->host = h;
	/* The real one of CUDA 13.5 clears a field that lies behind a size of 48. */
	memset((char *)p + 48, 0, 8);
	return PM_OK;
}

PM_EXPORT int cuptiProfilerHostDeinitialize(struct pm_host *p)
{
	struct pm_host_object *h;

	PM_CHECK("ProfilerHostDeinitialize", p, 24, 0);
	h = p->host;
	if (!h || h->magic != HOST_MAGIC)
		standin_wrong("cuptiProfilerHostDeinitialize of no host object");
	memset(h, 0xee, sizeof(*h));
	free(h);
	return PM_OK;
}

static int find(const struct pm_host_object *h, const char *name)
{
	for (uint32_t i = 0; i < METRIC_CNT; i++)
		if (strcmp(metrics[i].name, name) == 0 && metrics[i].passes[h->config.chip] != '-')
			return (int)i;
	return -1;
}

PM_EXPORT int cuptiProfilerHostConfigAddMetrics(struct pm_add_metrics *p)
{
	struct pm_host_object *h;

	PM_CHECK("ProfilerHostConfigAddMetrics", p, 40, 0);
	h = p->host;
	if (!h || h->magic != HOST_MAGIC || !p->cnt || h->config.cnt + p->cnt > PM_METRICS)
		return PM_INVALID_PARAMETER;
	/* One that is not known refuses all. */
	for (size_t i = 0; i < p->cnt; i++)
		if (find(h, p->names[i]) < 0)
			return PM_INVALID_PARAMETER;
	if (!h->config.cnt)
		h->names = p->names;
	for (size_t i = 0; i < p->cnt; i++) {
		h->texts[h->config.cnt] = p->names[i];
		h->config.metrics[h->config.cnt++] = (uint32_t)find(h, p->names[i]);
	}
	return PM_OK;
}

/* Each alone in one pass, so few that they fit, and NVLink not in both ways. */
static uint32_t passes_of(const struct pm_host_object *h)
{
	uint32_t most = 1, heavy = 0;
	bool has_links = false, has_packets = false;

	for (uint32_t i = 0; i < h->config.cnt; i++) {
		uint32_t index = h->config.metrics[i];
		const char *name = metrics[index].name;
		uint32_t alone = (uint32_t)(metrics[index].passes[h->config.chip] - '0');

		most = alone > most ? alone : most;
		has_links |= strstr(name, "nvlrx__bytes.") || strstr(name, "nvltx__bytes.");
		has_packets |= strstr(name, "__bytes_packet_") != NULL;
		heavy += strstr(name, "sm__pipe_fma_") != NULL;
	}
	if (h->config.cnt + 4 * heavy > FITS && most < 2)
		most = 2;
	return has_links && has_packets && most < 2 ? 2 : most;
}

PM_EXPORT int cuptiProfilerHostGetConfigImageSize(struct pm_config_size *p)
{
	const struct pm_host_object *h;

	PM_CHECK("ProfilerHostGetConfigImageSize", p, 32, 0);
	h = p->host;
	if (!h || h->magic != HOST_MAGIC || !h->config.cnt)
		return PM_INVALID_PARAMETER;
	p->size = sizeof(h->config);
	return PM_OK;
}

PM_EXPORT int cuptiProfilerHostGetConfigImage(struct pm_config_image *p)
{
	struct pm_host_object *h;

	PM_CHECK("ProfilerHostGetConfigImage", p, 40, 0);
	h = p->host;
	if (!h || h->magic != HOST_MAGIC || p->size < sizeof(h->config) || !p->image)
		return PM_INVALID_PARAMETER;
	h->config.passes = passes_of(h);
	memcpy(p->image, &h->config, sizeof(h->config));
	return PM_OK;
}

PM_EXPORT int cuptiProfilerHostGetNumOfPasses(struct pm_passes *p)
{
	struct pm_image_head head;

	PM_CHECK("ProfilerHostGetNumOfPasses", p, 40, 0);
	if (p->size < sizeof(head) || !p->image)
		return PM_INVALID_PARAMETER;
	memcpy(&head, p->image, sizeof(head));
	if (head.magic != PM_CONFIG_MAGIC)
		return PM_INVALID_PARAMETER;
	p->passes = head.passes;
	return PM_OK;
}

/* Without rollups; all as counters. */
PM_EXPORT int cuptiProfilerHostGetBaseMetrics(struct pm_base_metrics *p)
{
	static const char *names[METRIC_CNT];

	PM_CHECK("ProfilerHostGetBaseMetrics", p, 48, 0);
	p->cnt = 0;
	p->names = names;
	for (size_t i = 0; i < METRIC_CNT && p->type == 0; i++) {
		const char *dot = strchr(strstr(metrics[i].name, "__"), '.');

		free((char *)(uintptr_t)names[p->cnt]);
		names[p->cnt++] = strndup(metrics[i].name, (size_t)(dot - metrics[i].name));
	}
	return PM_OK;
}

/*
 * pm_config.c - selects the metrics to sample. CUPTI refuses a whole list for one metric that it
 * does not know, and metrics that take one pass each may take two together: each is tried alone,
 * then all, then those that fit.
 */
#include "collector/probe/pm_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct trial {
	const struct pm_api *api;
	const char *chip;
	const uint8_t *availability;
};

/* An object that has the metrics, and its image; both NULL where CUPTI does not take them. */
static int make(const struct trial *t, const char **names, unsigned cnt, void **host,
		uint8_t **image, size_t *size)
{
	struct pm_host_init init = PM(pm_host_init, host, .type = PM_PROFILER_TYPE, .chip = t->chip,
				      .availability = t->availability);
	struct pm_add_metrics add = PM(pm_add_metrics, cnt, .names = names, .cnt = cnt);
	struct pm_config_size ask = PM(pm_config_size, size);
	struct pm_config_image get = PM(pm_config_image, image);
	struct pm_host end = PM(pm_host, host);
	int result = t->api->ProfilerHostInitialize(&init);

	*host = *image = NULL;
	if (result)
		return result;
	add.host = ask.host = get.host = end.host = init.host;
	result = t->api->ProfilerHostConfigAddMetrics(&add);
	if (!result)
		result = t->api->ProfilerHostGetConfigImageSize(&ask);
	if (!result) {
		get.size = ask.size;
		get.image = calloc(1, ask.size + 1);
		result = get.image ? t->api->ProfilerHostGetConfigImage(&get) : PM_OUT_OF_MEMORY;
	}
	if (result) {
		free(get.image);
		t->api->ProfilerHostDeinitialize(&end);
		return result;
	}
	*host = init.host;
	*image = get.image;
	*size = get.size;
	return 0;
}

/* Passes of the hardware that the metrics take together; below 0: an enum pm_lack. */
static int passes(const struct trial *t, const char **names, unsigned cnt)
{
	struct pm_passes p = PM(pm_passes, passes);
	struct pm_host end = PM(pm_host, host);
	int result = make(t, names, cnt, &end.host, &p.image, &p.size);

	/* AddMetrics: INVALID_PARAMETER for a metric that it does not know. */
	if (result)
		return result == PM_INVALID_PARAMETER || result == PM_INVALID_METRIC_NAME
			       ? PM_NO_SUCH
			       : PM_FAILED;
	result = t->api->ProfilerHostGetNumOfPasses(&p);
	t->api->ProfilerHostDeinitialize(&end);
	free(p.image);
	return result || !p.passes || p.passes > 1000 ? PM_FAILED : (int)p.passes;
}

/* The first spelling from @at on that takes one pass alone; -1: none, *lack has the reason. */
static int spelling_of(const struct trial *t, const struct pm_metric *m, int at, int *lack)
{
	*lack = PM_NO_SUCH;
	for (; at < (int)PM_SPELLINGS && m->spellings[at]; at++) {
		const char *name = m->spellings[at];
		int n = passes(t, &name, 1);

		if (n == 1) {
			*lack = PM_THERE;
			return at;
		}
		if (n != PM_NO_SUCH)
			*lack = n;
	}
	return -1;
}

/* Keeps metrics that the chip has. */
static void keep_known(const struct trial *t, struct pm_config *c, int *spelled)
{
	for (unsigned i = 0; i < c->wants->cnt; i++) {
		const struct pm_metric *m = &c->wants->at[i];

		if (m->is_otherwise && i && c->lacks[i - 1] == PM_THERE) {
			c->lacks[i] = PM_INSTEAD;
			continue;
		}
		spelled[i] = spelling_of(t, m, 0, &c->lacks[i]);
		if (spelled[i] < 0)
			continue;
		c->spellings[c->cnt] = m->spellings[spelled[i]];
		c->want[c->cnt++] = i;
	}
}

static void leave_out(struct pm_config *c, unsigned at)
{
	c->lacks[c->want[at]] = PM_TOGETHER;
	memmove(c->want + at, c->want + at + 1, (c->cnt - at - 1) * sizeof(*c->want));
	memmove(c->spellings + at, c->spellings + at + 1,
		(c->cnt - at - 1) * sizeof(*c->spellings));
	c->cnt--;
}

/* Keeps metrics that fit one pass with all before them. fits: number of metrics from the beginning on that do. */
static void keep_fitting(const struct trial *t, struct pm_config *c, int *spelled)
{
	unsigned fits = 0;

	while (c->cnt && passes(t, c->spellings, c->cnt) != 1) {
		unsigned low = fits, high = c->cnt; /* low fits, high does not */
		int lack;

		while (high - low > 1) {
			unsigned mid = (low + high) / 2;

			if (passes(t, c->spellings, mid) == 1)
				low = mid;
			else
				high = mid;
		}
		fits = low;
		/* In another spelling? */
		for (unsigned i = c->want[low];;) {
			spelled[i] = spelling_of(t, &c->wants->at[i], spelled[i] + 1, &lack);
			if (spelled[i] < 0) {
				leave_out(c, low);
				break;
			}
			c->spellings[low] = c->wants->at[i].spellings[spelled[i]];
			if (passes(t, c->spellings, low + 1) == 1)
				break;
		}
	}
}

struct pm_config *pm_config_new(const struct pm_api *api, const char *chip,
				const uint8_t *availability, const struct pm_wants *wants,
				char *why, size_t why_size)
{
	struct trial t = {api, chip, availability};
	struct pm_config *c = calloc(1, sizeof(*c));
	int *spelled = calloc(wants->cnt + 1, sizeof(*spelled)), result;

	snprintf(why, why_size, "out of memory");
	if (!c || !spelled)
		goto fail;
	c->wants = wants;
	c->want = calloc(wants->cnt + 1, sizeof(*c->want));
	c->spellings = calloc(wants->cnt + 1, sizeof(*c->spellings));
	c->lacks = calloc(wants->cnt + 1, sizeof(*c->lacks));
	if (!c->want || !c->spellings || !c->lacks)
		goto fail;
	keep_known(&t, c, spelled);
	keep_fitting(&t, c, spelled);
	if (!c->cnt) {
		snprintf(why, why_size, "CUPTI knows none of the metrics on %s", chip);
		goto fail;
	}
	result = make(&t, c->spellings, c->cnt, &c->host, &c->image, &c->image_size);
	if (result) {
		snprintf(why, why_size, "CUPTI makes no configuration for %s (error %d)", chip,
			 result);
		goto fail;
	}
	free(spelled);
	return c;
fail:
	free(spelled);
	pm_config_free(api, c);
	return NULL;
}

void pm_config_free(const struct pm_api *api, struct pm_config *c)
{
	struct pm_host end = PM(pm_host, host);

	if (!c)
		return;
	end.host = c->host;
	if (c->host)
		api->ProfilerHostDeinitialize(&end);
	free(c->image);
	free(c->want);
	free(c->spellings);
	free(c->lacks);
	free(c);
}

void pm_lack_text(int lack, char *text, size_t size)
{
	const char *const texts[] = {"sampled", "unknown", "not in one pass with the others",
				     "the one before it is there", "refused"};

	if (lack > 0)
		snprintf(text, size, "%d passes", lack);
	else
		snprintf(text, size, "%s", texts[-lack]);
}

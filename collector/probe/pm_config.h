/*
 * pm_config.h - which of the wanted metrics a chip has, and fit one pass together; the image that samples them.
 */
#pragma once

#include "collector/probe/pm_api.h"
#include "collector/probe/sets.h"

struct pm_config {
	void *host; /* CUPTI's object, which turns counters into values; of the metrics below alone */
	const struct pm_wants *wants; /* lives as long */
	unsigned *want;               /* index of each sampled metric in wants */
	const char **spellings;       /* of each */
	unsigned cnt;
	uint8_t *image; /* CUPTI keeps its address until Disable */
	size_t image_size;
	int *lacks; /* per want: enum pm_lack, or the passes that it takes alone */
};

enum pm_lack {
	PM_THERE = 0,
	PM_NO_SUCH = -1,  /* the chip has no metric of this name */
	PM_TOGETHER = -2, /* in one pass, but not with those before it */
	PM_INSTEAD = -3,  /* the metric before it is there */
	PM_FAILED = -4,   /* CUPTI's answer is something else */
};

/* NULL: why has the reason. @availability may be NULL. */
struct pm_config *pm_config_new(const struct pm_api *api, const char *chip,
				const uint8_t *availability, const struct pm_wants *wants,
				char *why, size_t why_size);
void pm_config_free(const struct pm_api *api, struct pm_config *c);
/* The reason for a want that is not sampled: "unknown", "2 passes", ... */
void pm_lack_text(int lack, char *text, size_t size);
/* " (there is NAME, NAME)": metrics with names like one that the chip does not have; "": none. */
void pm_near(const struct pm_api *api, const struct pm_config *c, const char *metric, char *text,
	     size_t size);

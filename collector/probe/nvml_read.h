/* nvml_read.h - reads the counters of nvml_counters.def, tier by tier. */
#pragma once

#include "collector/probe/nvml.h"
#include "collector/probe/source.h"

enum tier {
	FAST,
	MIDDLE,
	SLOW,
	TIERS
};

#define TIER_MOST 24u

/* One counter that the GPU has. */
struct counter_state {
	unsigned counter; /* of the table */
	bool is_known;    /* a sum: raw is the reading before */
	uint64_t raw;
};

struct tier_state {
	int stream; /* -1: not read yet; -2: the GPU has none of it */
	unsigned cnt;
	struct counter_state state[TIER_MOST];
	int64_t began; /* the reading before */
};

struct nvml_reader {
	struct probe_gpu *gpu;
	struct out *out;
	int64_t asked_mhz;
	bool has_samples; /* utilisation comes by nvmlDeviceGetSamples */
	double link;      /* bytes per second that PCIe can move at most; 0: not known */
	struct tier_state tier[TIERS];
};

/* Reads the counters of @tier that are due and hands them on. False: the GPU is lost. */
bool nvml_read(struct nvml_reader *r, enum tier tier);

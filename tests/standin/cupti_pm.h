/*
 * cupti_pm.h - PM sampling of the stand-in for libcupti. It enforces the contract: sizes of structures, the order of calls, what
 * must stay as it is until Disable, images that are reset before each round; what is not so gets an error where the real one
 * has one, and ends the process where that crashes. Samples have known values:
 *
 *   GPC clock      1 GHz + the sample's number: one that is missing is found by it
 *   SYS clock      of TU102 and GA100 1.2 GHz, and 1.9 GHz from STANDIN_PM_CLOCK_MS (2000) after the first start on
 *   SMs Active     80 % in even seconds of CLOCK_MONOTONIC, 20 % in odd ones
 *   DRAM read      a ramp of 10 s from 0 to 100 %; write: 100 - read, and no number in every 997th sample
 *   tensor         the share in which kernels of STANDIN_PM_KERNELS ran, else 0
 *   others         a constant of each name
 *
 * Environment:
 *   SL_STANDIN_PM=MOOD,...   denied, denied-early (at the availability image), held[=RESULT], crash[=ROUND], hang[=ROUND],
 *                            lost[=MS], context (needed for the chip's name), vgpu, step=MS (CLOCK_REALTIME is set forward
 *                            by 3 s then, or back: back=MS), slow (it keeps samples for later), nochip
 *   STANDIN_PM_CHIPS=GH100,GA100   chips of the GPUs, the last one for the rest
 *   STANDIN_PM_SAMPLES=N     so many samples fit the hardware's buffer (default: its bytes / 256)
 *   STANDIN_PM_LOCK=FOLDER   one client at a time for each GPU, of all processes that name the folder
 *   STANDIN_PM_KERNELS=FILE  kernels of all processes that name the file
 *   STANDIN_PM_IMAGE=BYTES   of a sample in an image (512)
 */
#pragma once

#include "collector/probe/pm_api.h"
#include "tests/standin/cupti.h"

#define PM_EXPORT  __attribute__((visibility("default")))
#define PM_METRICS 128u /* of a configuration */
#define PM_GPUS    16u
#define PM_CHECK(...)                                        \
	do {                                                 \
		int result_ = standin_pm_check(__VA_ARGS__); \
		if (result_)                                 \
			return result_;                      \
	} while (0)

/* The number behind a mood, 0 where there is none; -1: not in this mood. */
long standin_pm_mood(const char *name);
/* A call's structure: its size must be one of both (least 0: the one), nothing may be in priv. */
int standin_pm_check(const char *function, const void *params, size_t size, size_t other);
/* The same, of calls for each sample: without STANDIN_CUPTI_FAIL. */
int standin_pm_check_size(const void *params, size_t size);
/* Of GPU @device; NULL: there is none. */
const char *standin_pm_chip(size_t device);
bool standin_pm_initialized(void);

/* cupti_pm_host.c */
struct pm_image_head { /* of a configuration */
	uint64_t magic;
	uint32_t chip, cnt, passes;
	uint32_t metrics[PM_METRICS]; /* indices */
};
#define PM_CONFIG_MAGIC 0x6769666e6f636d70u
struct pm_host_object {
	uint64_t magic;
	struct pm_image_head config;
	const char **names; /* as they were added: they must stay */
	const char *texts[PM_METRICS];
};
const char *standin_pm_metric(uint32_t index);
/* Nonzero: the object, its names or its metrics are not those it was made with. */
bool standin_pm_host_is_good(const struct pm_host_object *h);

/* cupti_pm_curves.c */
double standin_pm_value(uint32_t metric, size_t device, uint64_t number, int64_t t0, int64_t t1);
uint64_t standin_pm_sys_hz(size_t device, int64_t at);
/* A kernel ran, in some process. */
void standin_pm_kernel(int64_t start, int64_t end);
/* CUPTI's time of a moment of CLOCK_MONOTONIC. */
uint64_t standin_pm_time(int64_t mono);
/* CLOCK_REALTIME is set while the process runs. */
bool standin_pm_sets_clock(void);

/*
 * pm_api.h - the part of CUPTI's interface that samples hardware counters (PM sampling, since CUDA 12.6), and of the driver's:
 * structures and prototypes, so that no toolkit is needed to build. All sizes are those of the first library that has the
 * call: newer ones take them, too. tests/unit/probe/pm_layout.c compares with NVIDIA's headers.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
	PM_OLDEST = 24, /* CUDA 12.6 */
	PM_APPEND_MODE =
		26, /* CUDA 12.8: how a full buffer goes on; several GPUs without a mix-up of their samples */
	PM_DECODE_AT_STOP = 8 /* rounds */
};

enum pm_result {
	PM_OK = 0,
	PM_INVALID_PARAMETER = 1,
	PM_INVALID_OPERATION = 7,
	PM_OUT_OF_MEMORY = 8,
	PM_NOT_INITIALIZED = 15,
	PM_INVALID_METRIC_NAME = 17,
	PM_HARDWARE_BUSY = 26,
	PM_NOT_SUPPORTED = 27,
	PM_VIRTUALIZED = 33,
	PM_INSUFFICIENT_PRIVILEGES = 35,
	PM_VIRTUALIZED_PRIVILEGES = 40,
	PM_CONFIDENTIAL = 41,
	PM_MINING = 42,
	PM_MIG = 43,
	PM_SLI = 44,
	PM_WSL = 45,
	PM_INVALID_CHIP_NAME = 46,
	PM_UNKNOWN = 999,
};

enum {
	PM_PROFILER_TYPE = 1, /* of a host object: PM sampling */
	PM_PROFILER_API = 3,  /* asked of a device */
	PM_LEVEL_SUPPORTED = 3,
	PM_TRIGGER_SYSCLK = 0,
	PM_TRIGGER_TIME = 1,
	PM_KEEP_OLDEST = 0,
	PM_KEEP_LATEST = 1,
	PM_STOP_OTHER = 0,
	PM_STOP_FULL = 1,
	PM_STOP_END_OF_RECORDS = 2,
};

#define PM_HEAD             \
	size_t struct_size; \
	void *priv

/* CUPTI of CUDA 13.5 clears a field of its own of pm_host_init, which lies behind the size that it is given. */
#define PM_TAIL uint64_t later[8]

/* offset of the last field + its size, which is not sizeof() */
#define PM_BYTES(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))
#define PM(type, last, ...)                                                           \
	{                                                                             \
		.struct_size = PM_BYTES(struct type, last), .priv = NULL, __VA_ARGS__ \
	}

struct pm_none {
	PM_HEAD;
	PM_TAIL;
};
struct pm_device_supported {
	PM_HEAD;
	int device; /* the driver's handle */
	int is_supported, architecture, sli, vgpu, confidential, mining, wsl;
	int api;
	PM_TAIL;
};
struct pm_chip_name {
	PM_HEAD;
	size_t device;
	const char *chip;
	PM_TAIL;
};
struct pm_availability {
	PM_HEAD;
	size_t device, image_size;
	uint8_t *image;
	PM_TAIL;
};
struct pm_host_init {
	PM_HEAD;
	int type;
	const char *chip;
	const uint8_t *availability;
	void *host;
	PM_TAIL;
};
struct pm_host {
	PM_HEAD;
	void *host;
	PM_TAIL;
};
struct pm_chips {
	PM_HEAD;
	size_t cnt;
	const char *const *chips;
	PM_TAIL;
};
struct pm_base_metrics {
	PM_HEAD;
	void *host;
	int type;
	const char **names;
	size_t cnt;
	PM_TAIL;
};
struct pm_add_metrics {
	PM_HEAD;
	void *host;
	const char **names;
	size_t cnt;
	PM_TAIL;
};
struct pm_config_size {
	PM_HEAD;
	void *host;
	size_t size;
	PM_TAIL;
};
struct pm_config_image {
	PM_HEAD;
	void *host;
	size_t size;
	uint8_t *image;
	PM_TAIL;
};
struct pm_passes {
	PM_HEAD;
	size_t size;
	uint8_t *image;
	size_t passes;
	PM_TAIL;
};
struct pm_evaluate {
	PM_HEAD;
	void *host;
	const uint8_t *image;
	size_t image_size, index;
	const char **names;
	size_t cnt;
	double *values;
	PM_TAIL;
};
struct pm_enable {
	PM_HEAD;
	size_t device;
	void *object;
	PM_TAIL;
};
struct pm_object {
	PM_HEAD;
	void *object;
	PM_TAIL;
};
struct pm_set_config {
	PM_HEAD;
	void *object;
	size_t config_size;
	const uint8_t *config;
	size_t buffer_size;
	uint64_t interval;
	int trigger;
	int append; /* since PM_APPEND_MODE; the size without it before */
	PM_TAIL;
};
struct pm_data_size {
	PM_HEAD;
	void *object;
	const char **names;
	size_t cnt;
	uint32_t samples;
	size_t size;
	PM_TAIL;
};
struct pm_data_init {
	PM_HEAD;
	void *object;
	size_t size;
	uint8_t *image;
	PM_TAIL;
};
struct pm_decode {
	PM_HEAD;
	void *object;
	uint8_t *image;
	size_t size;
	int stop_reason;
	uint8_t overflow;
	PM_TAIL;
};
struct pm_data_info {
	PM_HEAD;
	const uint8_t *image;
	size_t size, total, populated, completed;
	PM_TAIL;
};
struct pm_sample_info {
	PM_HEAD;
	void *object;
	const uint8_t *image;
	size_t size, index;
	uint64_t start, end;
	PM_TAIL;
};

/* Functions of the loaded libraries. */
struct pm_api {
#define CUPTI(name, parameters)  int(*name) parameters;
#define DRIVER(name, parameters) int(*name) parameters;
#include "collector/probe/pm_calls.def"
#undef CUPTI
#undef DRIVER
	uint32_t version; /* of libcupti's API */
};

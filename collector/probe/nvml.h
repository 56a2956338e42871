/*
 * nvml.h - as much of the NVIDIA Management Library (libnvidia-ml.so.1, of the driver) as is used here.
 *
 * The types are those of its interface 13, declared here since the driver brings no header. Functions are asked for by
 * their versioned names: unversioned ones have older layouts. The version of a struct is its size | number << 24, but for
 * GPM's, which is the number.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct nvml_device *nvml_device;
typedef struct nvml_event_set *nvml_event_set;
typedef struct nvml_gpm_sample *nvml_gpm_sample;

enum nvml_return {
	NVML_SUCCESS = 0,
	NVML_UNINITIALIZED = 1,
	NVML_INVALID_ARGUMENT = 2,
	NVML_NOT_SUPPORTED = 3,
	NVML_NO_PERMISSION = 4,
	NVML_NOT_FOUND = 6,
	NVML_INSUFFICIENT_SIZE = 7,
	NVML_DRIVER_NOT_LOADED = 9,
	NVML_TIMEOUT = 10,
	NVML_FUNCTION_NOT_FOUND = 13,
	NVML_GPU_IS_LOST = 15,
	NVML_RESET_REQUIRED = 16,
	NVML_LIB_RM_VERSION_MISMATCH = 18,
	NVML_ARGUMENT_VERSION_MISMATCH = 25,
	NVML_UNKNOWN = 999,
};

#define NVML_VERSION(type, no) ((unsigned)sizeof(struct type) | (no##u << 24))

struct nvml_pci {
	char legacy[16];
	unsigned domain, bus, device, device_id, subsystem_id;
	char id[32];
};
struct nvml_memory_v2 {
	unsigned version;
	unsigned long long total, reserved, free, used;
};
struct nvml_utilization {
	unsigned gpu, memory;
};
struct nvml_process {
	unsigned pid;
	unsigned long long used;
	unsigned instance, sub_instance;
};
struct nvml_process_use {
	unsigned pid;
	unsigned long long time_us;
	unsigned sm, memory, encoder, decoder;
};
struct nvml_field {
	unsigned id, scope;
	long long time_us, latency_us;
	unsigned type, ret;
	union {
		double d;
		unsigned u;
		unsigned long ul;
		unsigned long long ull;
		long long sll;
		int si;
		unsigned short us;
	} value;
};
struct nvml_sample {
	unsigned long long time_us;
	union {
		double d;
		unsigned u;
		unsigned long ul;
		unsigned long long ull;
		long long sll;
	} value;
};
struct nvml_event {
	nvml_device device;
	unsigned long long type, data;
	unsigned instance, sub_instance;
};
struct nvml_gpm_support {
	unsigned version, supported;
};
struct nvml_gpm_metric {
	unsigned id, ret;
	double value;
	const char *info[3];
};
#define NVML_GPM_MOST 333 /* the longest array of any version; the library uses the first ones */
struct nvml_gpm_get {
	unsigned version, cnt;
	nvml_gpm_sample s1, s2;
	struct nvml_gpm_metric metric[NVML_GPM_MOST];
};
_Static_assert(sizeof(struct nvml_memory_v2) == 40 && sizeof(struct nvml_process) == 24 &&
		       sizeof(struct nvml_process_use) == 32 && sizeof(struct nvml_field) == 40 &&
		       sizeof(struct nvml_sample) == 16 && sizeof(struct nvml_event) == 32 &&
		       sizeof(struct nvml_gpm_metric) == 40 &&
		       offsetof(struct nvml_gpm_get, metric) == 24 && sizeof(struct nvml_pci) == 68,
	       "layouts of NVML");

enum { /* fields; see source_nvml.c */
	NVML_TYPE_DOUBLE,
	NVML_TYPE_UINT,
	NVML_TYPE_ULONG,
	NVML_TYPE_ULL,
	NVML_TYPE_SLL,
	NVML_TYPE_SINT,
	NVML_TYPE_USHORT,
};
enum {
	NVML_EVENT_DOUBLE_BIT = 0x2,
	NVML_EVENT_XID = 0x8,
	NVML_EVENT_UNAVAILABLE = 0x4000,
	NVML_EVENT_RECOVERY = 0x8000,
};
enum {
	NVML_CLOCK_GRAPHICS,
	NVML_CLOCK_SM,
	NVML_CLOCK_MEM,
};
enum {
	NVML_SAMPLES_GPU = 1,
	NVML_SAMPLES_MEMORY = 2,
};

/* NULL where the library has none. Must be there: those up to name. */
struct nvml {
#define NVML(member, symbol, args) enum nvml_return(*member) args;
#include "collector/probe/nvml.def"
	void *library;
	char driver[80];
};

/* Loads and initialises it, once per process. NULL and a line in @why; @absent: there is no driver at all. */
const struct nvml *nvml_load(char *why, size_t why_len, bool *absent);
/* The meaning of a return value, in a few words. */
const char *nvml_text(unsigned ret);

/* host_devices.h - things that have a name and several counters: disks, interfaces, cgroups. Private to host_*.c. */
#pragma once

#include "collector/health/host_internal.h"

#define DEVICES_MOST    512u
#define DEVICE_COUNTERS 8

struct host_device {
	char name[HOST_NAME];
	bool is_skipped;
	struct host_counter counters[DEVICE_COUNTERS];
};

struct host_devices {
	struct host_device *list;
	size_t cnt, cap;
	size_t at; /* the next one, as a rule: files keep their order */
};

/* The device of that name, made with its first line; @is_new is set then. NULL: too many, no memory, or no name. */
struct host_device *host_device(struct host_devices *all, const char *name, bool *is_new);

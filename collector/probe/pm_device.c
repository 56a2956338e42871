/*
 * pm_device.c - a GPU as CUPTI names it. libcupti is loaded once per process, and never given up: to end its profiler is not
 * counted, and a second time crashes.
 */
#include "collector/probe/pm_session.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_MS 60000 /* a driver without persistence takes seconds to wake a GPU */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pm_library library;
static struct source_why library_why;
static unsigned sampled; /* GPUs, by pm_device_alone() */
static enum {
	NOT_TRIED,
	READY,
	FAILED
} state;

void pm_lock(void)
{
	pthread_mutex_lock(&lock);
}

void pm_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

static bool load(struct source_why *why)
{
	struct pm_none begin = PM(pm_none, priv);
	int result;

	if (pm_find(&library, why->text, sizeof(why->text)))
		return false;
	if (!library.api.Init || !library.api.DeviceGetCount || !library.api.DeviceGet ||
	    !library.api.DeviceGetUuid) {
		snprintf(why->text, sizeof(why->text), "no NVIDIA driver (libcuda.so.1)");
		return false;
	}
	result = library.api.Init(0);
	if (result) {
		snprintf(why->text, sizeof(why->text),
			 "the driver does not start (cuInit: error %d)", result);
		return false;
	}
	/* Where this call fails, later calls crash. */
	result = library.api.ProfilerInitialize(&begin);
	if (result) {
		snprintf(why->text, sizeof(why->text), "CUPTI's profiler does not start (error %d)",
			 result);
		return false;
	}
	return true;
}

static bool load_once(struct source_why *why)
{
	if (state == NOT_TRIED)
		state = load(&library_why) ? READY : FAILED;
	if (state == READY)
		return true;
	*why = library_why;
	return false;
}

/* CUDA's number of the GPU. */
static bool find(struct pm_device *d, struct source_why *why)
{
	const struct pm_api *api = &d->library->api;
	int cnt = 0, handle;

	for (int i = 0; api->DeviceGetCount(&cnt) == 0 && i < cnt; i++) {
		char text[64] = "GPU-";
		uint8_t u[16];
		size_t len = 4;

		if (api->DeviceGet(&handle, i) || api->DeviceGetUuid(u, handle))
			continue;
		for (int j = 0; j < 16; j++)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%02x",
						j == 4 || j == 6 || j == 8 || j == 10 ? "-" : "",
						u[j]);
		if (strcmp(text, d->gpu->info.uuid) != 0)
			continue;
		d->ordinal = (size_t)i;
		d->handle = handle;
		return true;
	}
	snprintf(why->text, sizeof(why->text), "CUDA has no GPU %s", d->gpu->info.uuid);
	return false;
}

bool pm_device_open(struct pm_device *d, struct probe_gpu *gpu, struct out *out,
		    struct source_why *why)
{
	bool ok;

	memset(d, 0, sizeof(*d));
	d->gpu = gpu;
	if (gpu->info.instance >= 0) {
		snprintf(why->text, sizeof(why->text), "parts of a GPU (MIG) cannot be sampled");
		return false;
	}
	if (out)
		out_patience(out, PATIENCE_MS);
	pm_lock();
	ok = load_once(why);
	d->library = ok ? &library : NULL;
	ok = ok && find(d, why);
	pm_unlock();
	return ok;
}

/* Which of the levels is not as it must be. 0 unknown, 1 unsupported, 2 disabled, 3 supported. */
static const char *refused(const struct pm_device_supported *s)
{
	if (s->architecture == 1)
		return "the GPU is older than Turing";
	if (s->vgpu == 1 || s->vgpu == 2)
		return "virtual GPUs (vGPU) cannot be sampled";
	if (s->confidential == 1 || s->confidential == 2)
		return "confidential computing is on";
	if (s->mining == 1)
		return "mining GPUs (CMP) cannot be sampled";
	if (s->sli == 1 || s->sli == 2)
		return "the GPU is part of SLI";
	if (s->wsl == 1 || s->wsl == 2)
		return "not under WSL with this driver";
	return "CUPTI does not support this GPU";
}

/* Some drivers name a chip only while there is a context: 0.3 to 0.5 GB of the GPU's memory. */
static int name_chip(struct pm_device *d, struct pm_chip_name *name)
{
	const struct pm_api *api = &d->library->api;
	int result = api->DeviceGetChipName(name);
	void *context;

	if (!result || !api->DevicePrimaryCtxRetain || !api->DevicePrimaryCtxRelease_v2 ||
	    api->DevicePrimaryCtxRetain(&context, d->handle))
		return result;
	d->has_context = true;
	return api->DeviceGetChipName(name);
}

bool pm_device_check(struct pm_device *d, struct source_why *why)
{
	const struct pm_api *api = &d->library->api;
	struct pm_device_supported s =
		PM(pm_device_supported, api, .device = d->handle, .api = PM_PROFILER_API);
	struct pm_chip_name name = PM(pm_chip_name, chip, .device = d->ordinal);
	int result;

	pm_lock();
	result = api->ProfilerDeviceSupported(&s);
	if (!result && s.is_supported != PM_LEVEL_SUPPORTED) {
		snprintf(why->text, sizeof(why->text), "%s", refused(&s));
		pm_unlock();
		return false;
	}
	if (!result)
		result = name_chip(d, &name);
	pm_unlock();
	if (result || !name.chip) {
		pm_explain(d, why, "the chip's name", result, false);
		return false;
	}
	snprintf(d->chip, sizeof(d->chip), "%s", name.chip);
	return true;
}

bool pm_device_available(struct pm_device *d, struct source_why *why)
{
	struct pm_availability a = PM(pm_availability, image, .device = d->ordinal);
	int result;

	pm_lock();
	result = d->library->api.PmSamplingGetCounterAvailability(&a);
	if (!result) {
		a.image = d->availability = calloc(1, a.image_size + 1);
		result = a.image ? d->library->api.PmSamplingGetCounterAvailability(&a)
				 : PM_OUT_OF_MEMORY;
	}
	pm_unlock();
	if (result)
		pm_explain(d, why, "counter availability", result, false);
	return !result;
}

bool pm_device_alone(struct pm_device *d)
{
	bool is_alone;

	pm_lock();
	is_alone = !sampled;
	d->is_counted = is_alone;
	sampled += is_alone;
	pm_unlock();
	return is_alone;
}

void pm_device_close(struct pm_device *d)
{
	pm_lock();
	sampled -= d->is_counted;
	pm_unlock();
	d->is_counted = false;
	free(d->availability);
	d->availability = NULL;
	if (d->has_context)
		d->library->api.DevicePrimaryCtxRelease_v2(d->handle);
	d->has_context = false;
}

/*
 * cuda_limits.c - the stand-in driver: what programs set and ask of contexts and devices that has no effect here: limits,
 * caches, access to peers, the profiler's switch, and the older ways to ask for what cuda_context.c reports.
 */
#include <stdio.h>
#include <string.h>

#include "tests/standin/cuda_driver.h"

/* CUlimit: 0 stack, 1 printf's buffer, 2 heap, 3 and 4 launches by the device, 5 fetching, 6 cache that stays. */
static size_t limits[] = {1024, 7 << 20, 8 << 20, 2, 2048, 128, 0};
enum {
	LIMIT_CNT = sizeof(limits) / sizeof(*limits)
};

static int limit(size_t *get, const size_t *set, int which)
{
	if (which < 0 || which >= LIMIT_CNT || (!get && !set))
		return CUDA_INVALID_VALUE;
	if (!context_current())
		return CUDA_INVALID_CONTEXT;
	if (set)
		limits[which] = *set;
	else
		*get = limits[which];
	return CUDA_OK;
}

int cuCtxGetLimit(size_t *value, int which)
{
	return CALL(limit(value, NULL, which));
}

int cuCtxSetLimit(int which, size_t value)
{
	return CALL(limit(NULL, &value, which));
}

/* Preferences of caches and banks: remembered. */
static int cache, banks = 1;

static int preference(int *keep, int *get, const int *set)
{
	if (!get && !set)
		return CUDA_INVALID_VALUE;
	if (!context_current())
		return CUDA_INVALID_CONTEXT;
	if (set)
		*keep = *set;
	else
		*get = *keep;
	return CUDA_OK;
}

int cuCtxGetCacheConfig(int *config)
{
	return CALL(preference(&cache, config, NULL));
}

int cuCtxSetCacheConfig(int config)
{
	return CALL(preference(&cache, NULL, &config));
}

int cuCtxGetSharedMemConfig(int *config)
{
	return CALL(preference(&banks, config, NULL));
}

int cuCtxSetSharedMemConfig(int config)
{
	return CALL(preference(&banks, NULL, &config));
}

int cuCtxResetPersistingL2Cache(void)
{
	return CALL(context_current() ? CUDA_OK : CUDA_INVALID_CONTEXT);
}

/* ---- peers: every device reaches every other, once enabled ---- */

static bool peers[DEVICE_MAX][DEVICE_MAX];

static int peer(CUcontext context, bool on)
{
	struct CUctx_st *c = context_current();

	if (!c || !object_find(context, OBJECT_CONTEXT))
		return CUDA_INVALID_CONTEXT;
	if (c->device == context->device)
		return CUDA_INVALID_DEVICE;
	if (peers[c->device][context->device] == on)
		return on ? CUDA_PEER_ENABLED : CUDA_PEER_NOT_ENABLED;
	peers[c->device][context->device] = on;
	return CUDA_OK;
}

int cuCtxEnablePeerAccess(CUcontext context, unsigned flags)
{
	return CALL(flags ? CUDA_INVALID_VALUE : peer(context, true));
}

int cuCtxDisablePeerAccess(CUcontext context)
{
	return CALL(peer(context, false));
}

/* CUdevice_P2PAttribute: 1 rank, 2 access, 3 atomics, 4 arrays */
static int peer_attribute(int *value, int attribute, int device, int other)
{
	if (!value || attribute < 1 || attribute > 4)
		return CUDA_INVALID_VALUE;
	if (device < 0 || other < 0 || device >= driver.device_cnt || other >= driver.device_cnt ||
	    device == other)
		return CUDA_INVALID_DEVICE;
	*value = attribute != 1;
	return CUDA_OK;
}

int cuDeviceGetP2PAttribute(int *value, int attribute, int device, int other)
{
	return CALL(peer_attribute(value, attribute, device, other));
}

/* ---- the profiler's switch: a profiler sees the call itself ---- */

int cuProfilerStart(void)
{
	return CALL(context_current() ? CUDA_OK : CUDA_INVALID_CONTEXT);
}

int cuProfilerStop(void)
{
	return CALL(context_current() ? CUDA_OK : CUDA_INVALID_CONTEXT);
}

/* ---- older ways ---- */

static int attached(CUcontext *context)
{
	if (!context)
		return CUDA_INVALID_VALUE;
	*context = context_current();
	if (!*context)
		return CUDA_INVALID_CONTEXT;
	(*context)->attached++;
	return CUDA_OK;
}

int cuCtxAttach(CUcontext *context, unsigned flags)
{
	return CALL(flags ? CUDA_INVALID_VALUE : attached(context));
}

/* The last one to go destroys it. */
static int detach(CUcontext context)
{
	if (!object_find(context, OBJECT_CONTEXT) || context != context_current())
		return CUDA_INVALID_CONTEXT;
	if (context->attached) {
		context->attached--;
		return CUDA_OK;
	}
	return context_destroy(context);
}

int cuCtxDetach(CUcontext context)
{
	return CALL(detach(context));
}

static int capability(int *major, int *minor, int device)
{
	int r = device_attribute(major, 75, device);

	return r ? r : device_attribute(minor, 76, device);
}

int cuDeviceComputeCapability(int *major, int *minor, int device)
{
	return CALL(capability(major, minor, device));
}

struct device_properties { /* CUdevprop */
	int threads, block[3], grid[3], shared, constant, warp, pitch, registers, clock, alignment;
};

static int properties(struct device_properties *p, int device)
{
	int *values = (int *)p;
	/* In the order of the structure. */
	static const int ids[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
	size_t i;
	int r = p ? CUDA_OK : CUDA_INVALID_VALUE;

	for (i = 0; !r && i < sizeof(ids) / sizeof(*ids); i++)
		r = device_attribute(&values[i], ids[i], device);
	return r;
}

int cuDeviceGetProperties(struct device_properties *p, int device)
{
	return CALL(properties(p, device));
}

static int by_bus(int *device, const char *text)
{
	unsigned domain = 0, bus, slot, function = 0;

	if (!device || !text)
		return CUDA_INVALID_VALUE;
	if (sscanf(text, "%x:%x:%x.%x", &domain, &bus, &slot, &function) < 3 &&
	    sscanf(text, "%x:%x.%x", &bus, &slot, &function) < 2)
		return CUDA_INVALID_VALUE;
	if (domain || slot || function || bus < 1 || bus > (unsigned)driver.device_cnt)
		return CUDA_INVALID_DEVICE;
	*device = (int)bus - 1;
	return CUDA_OK;
}

int cuDeviceGetByPCIBusId(int *device, const char *text)
{
	return CALL(by_bus(device, text));
}

/* cuda_context.c - the stand-in driver: devices and contexts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/standin/cuda_driver.h"

/* ---- devices ---- */

static const struct {
	int id, value;
} attributes[] = {
	{1, 1024}, /* threads per block; then the largest block and grid */
	{2, 1024},        {3, 1024},   {4, 64},    {5, 2147483647},
	{6, 65535},       {7, 65535},  {8, 49152},           /* shared memory per block */
	{9, 65536},                                          /* constant memory */
	{10, 32},                                            /* warp */
	{11, 2147483647}, {12, 65536},                       /* registers per block */
	{13, 1500000},    {14, 512},   {15, 1},    {16, 16}, /* multiprocessors */
	{19, 1},          {31, 1},                           /* concurrent kernels */
	{36, 1000000},    {37, 4096},                        /* bus width */
	{38, 4 << 20},    {39, 2048},                        /* threads per multiprocessor */
	{40, 2},                                             /* copy engines */
	{41, 1},                                             /* unified addressing */
	{75, 9},                                             /* compute capability */
	{76, 0},          {78, 1},                           /* stream priorities */
	{81, 102400},     {82, 65536}, {83, 1},              /* managed memory */
	{90, 1},          {91, 1},     {95, 1},              /* cooperative launch */
	{97, 101376},     {99, 1},     {102, 1},             /* memory mapped at addresses */
	{106, 32},                                           /* blocks per multiprocessor */
	{111, 1024},      {115, 1},                          /* memory pools */
};
enum {
	ATTRIBUTE_LAST = 150,
	ATTRIBUTE_PCI_BUS = 33
};

static bool is_device(int device)
{
	return device >= 0 && device < driver.device_cnt;
}

static int device_get(int *device, int ordinal)
{
	if (!device)
		return CUDA_INVALID_VALUE;
	if (!is_device(ordinal))
		return CUDA_INVALID_DEVICE;
	*device = ordinal;
	return CUDA_OK;
}

int cuDeviceGet(int *device, int ordinal)
{
	return CALL(device_get(device, ordinal));
}

static int device_count(int *cnt)
{
	if (!cnt)
		return CUDA_INVALID_VALUE;
	*cnt = driver.device_cnt;
	return CUDA_OK;
}

int cuDeviceGetCount(int *cnt)
{
	return CALL(device_count(cnt));
}

static int device_name(char *name, int len, int device)
{
	if (!name || len <= 0)
		return CUDA_INVALID_VALUE;
	if (!is_device(device))
		return CUDA_INVALID_DEVICE;
	snprintf(name, (size_t)len, "Stand-in GPU %d", device);
	return CUDA_OK;
}

int cuDeviceGetName(char *name, int len, int device)
{
	return CALL(device_name(name, len, device));
}

static int device_uuid(unsigned char *uuid, int device)
{
	if (!uuid)
		return CUDA_INVALID_VALUE;
	if (!is_device(device))
		return CUDA_INVALID_DEVICE;
	memcpy(uuid, "stand-in gpu   ", 15);
	uuid[15] = (unsigned char)device;
	return CUDA_OK;
}

int cuDeviceGetUuid(unsigned char *uuid, int device)
{
	return CALL(device_uuid(uuid, device));
}

int cuDeviceGetUuid_v2(unsigned char *uuid, int device)
{
	return CALL(device_uuid(uuid, device));
}

static int device_bytes(size_t *bytes, int device)
{
	if (!bytes)
		return CUDA_INVALID_VALUE;
	if (!is_device(device))
		return CUDA_INVALID_DEVICE;
	*bytes = DEVICE_BYTES;
	return CUDA_OK;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	return CALL(device_bytes(bytes, device));
}

int device_attribute(int *value, int attribute, int device)
{
	size_t i;

	if (!value || attribute <= 0 || attribute > ATTRIBUTE_LAST)
		return CUDA_INVALID_VALUE;
	if (!is_device(device))
		return CUDA_INVALID_DEVICE;
	*value = attribute == ATTRIBUTE_PCI_BUS ? device + 1 : 0;
	for (i = 0; i < sizeof(attributes) / sizeof(*attributes); i++)
		if (attributes[i].id == attribute)
			*value = attributes[i].value;
	return CUDA_OK;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	return CALL(device_attribute(value, attribute, device));
}

static int device_bus(char *text, int len, int device)
{
	if (!text || len <= 0)
		return CUDA_INVALID_VALUE;
	if (!is_device(device))
		return CUDA_INVALID_DEVICE;
	snprintf(text, (size_t)len, "0000:%02x:00.0", device + 1);
	return CUDA_OK;
}

int cuDeviceGetPCIBusId(char *text, int len, int device)
{
	return CALL(device_bus(text, len, device));
}

static int peer_access(int *can, int device, int peer)
{
	if (!can)
		return CUDA_INVALID_VALUE;
	if (!is_device(device) || !is_device(peer))
		return CUDA_INVALID_DEVICE;
	*can = device != peer;
	return CUDA_OK;
}

int cuDeviceCanAccessPeer(int *can, int device, int peer)
{
	return CALL(peer_access(can, device, peer));
}

/* ---- contexts ---- */

enum {
	STACK_MAX = 32
};
static __thread struct {
	struct CUctx_st *contexts[STACK_MAX];
	unsigned cnt;
} stack;

struct CUctx_st *context_current(void)
{
	return stack.cnt ? object_find(stack.contexts[stack.cnt - 1], OBJECT_CONTEXT) : NULL;
}

static struct CUctx_st *context_make(int device, unsigned flags, bool primary)
{
	struct CUctx_st *c = object_make(OBJECT_CONTEXT, sizeof(*c));

	c->id = driver.next_context++;
	c->device = device;
	c->flags = flags;
	c->primary = primary;
	/* The default stream of the first context is number 7. */
	c->null = stream_make(c, 0, 0, c->id == 1 ? 7 : driver.next_stream++);
	tell(&(struct standin_activity){.kind = STANDIN_CONTEXT,
					.start = now(),
					.device = (uint32_t)device,
					.context = c->id,
					.stream = c->null->id});
	return c;
}

static void context_free(struct CUctx_st *c)
{
	if (c->primary)
		driver.primary[c->device] = NULL;
	while (c->streams)
		stream_free(c->streams);
	object_drop(c);
}

int context_sync(struct CUctx_st *c)
{
	struct standin_activity a = {.kind = STANDIN_SYNC,
				     .start = now(),
				     .device = (uint32_t)c->device,
				     .context = c->id,
				     .stream = UINT32_MAX,
				     .event = UINT32_MAX,
				     .sync_type = 4};
	struct CUstream_st *s;

	for (s = c->streams; s; s = s->next)
		if (s->capture)
			return CUDA_CAPTURE_UNSUPPORTED;
	/* The lock is released while it waits: other threads may make and destroy streams meanwhile. */
	for (s = c->streams; s;) {
		if (s->end > now() || s->host_pending || s->gate.end) {
			stream_wait(s);
			s = c->streams;
		} else {
			s = s->next;
		}
	}
	a.end = now();
	tell(&a);
	return CUDA_OK;
}

static int in_current(int (*what)(struct CUctx_st *))
{
	struct CUctx_st *c = context_current();

	return c ? what(c) : CUDA_INVALID_CONTEXT;
}

int cuCtxSynchronize(void)
{
	return CALL(in_current(context_sync));
}

static int primary_retain(struct CUctx_st **context, int device)
{
	if (!context)
		return CUDA_INVALID_VALUE;
	if (!is_device(device))
		return CUDA_INVALID_DEVICE;
	if (!driver.primary[device])
		driver.primary[device] = context_make(device, 0, true);
	driver.primary[device]->users++;
	*context = driver.primary[device];
	return CUDA_OK;
}

int cuDevicePrimaryCtxRetain(CUcontext *context, int device)
{
	return CALL(primary_retain(context, device));
}

static int primary_release(int device, bool all)
{
	struct CUctx_st *c;

	if (!is_device(device))
		return CUDA_INVALID_DEVICE;
	c = driver.primary[device];
	if (!c)
		return all ? CUDA_OK : CUDA_INVALID_CONTEXT;
	if (all || --c->users == 0)
		context_free(c);
	return CUDA_OK;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
	return CALL(primary_release(device, false));
}

int cuDevicePrimaryCtxReset_v2(int device)
{
	return CALL(primary_release(device, true));
}

static int primary_state(int device, unsigned *flags, int *active)
{
	if (!flags || !active)
		return CUDA_INVALID_VALUE;
	if (!is_device(device))
		return CUDA_INVALID_DEVICE;
	*active = driver.primary[device] != NULL;
	*flags = *active ? driver.primary[device]->flags : 0;
	return CUDA_OK;
}

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
	return CALL(primary_state(device, flags, active));
}

static int primary_flags(int device, unsigned flags)
{
	if (!is_device(device))
		return CUDA_INVALID_DEVICE;
	if (driver.primary[device])
		driver.primary[device]->flags = flags;
	return CUDA_OK;
}

int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags)
{
	return CALL(primary_flags(device, flags));
}

static int push(struct CUctx_st *context)
{
	if (!object_find(context, OBJECT_CONTEXT))
		return CUDA_INVALID_CONTEXT;
	if (stack.cnt == STACK_MAX)
		return CUDA_OUT_OF_MEMORY;
	stack.contexts[stack.cnt++] = context;
	return CUDA_OK;
}

int cuCtxPushCurrent_v2(CUcontext context)
{
	return CALL(push(context));
}

static int pop(CUcontext *context)
{
	if (!stack.cnt)
		return CUDA_INVALID_CONTEXT;
	stack.cnt--;
	if (context)
		*context = stack.contexts[stack.cnt];
	return CUDA_OK;
}

int cuCtxPopCurrent_v2(CUcontext *context)
{
	return CALL(pop(context));
}

static int set_current(CUcontext context)
{
	if (context && !object_find(context, OBJECT_CONTEXT))
		return CUDA_INVALID_CONTEXT;
	if (!context) {
		stack.cnt -= stack.cnt > 0;
		return CUDA_OK;
	}
	if (stack.cnt)
		stack.cnt--;
	return push(context);
}

int cuCtxSetCurrent(CUcontext context)
{
	return CALL(set_current(context));
}

static int get_current(CUcontext *context)
{
	if (!context)
		return CUDA_INVALID_VALUE;
	*context = context_current();
	return CUDA_OK;
}

int cuCtxGetCurrent(CUcontext *context)
{
	return CALL(get_current(context));
}

static int create(CUcontext *context, unsigned flags, int device)
{
	if (!context)
		return CUDA_INVALID_VALUE;
	if (!is_device(device))
		return CUDA_INVALID_DEVICE;
	*context = context_make(device, flags, false);
	return push(*context);
}

int cuCtxCreate_v2(CUcontext *context, unsigned flags, int device)
{
	return CALL(create(context, flags, device));
}

int cuCtxCreate_v3(CUcontext *context, void *affinity, int affinity_cnt, unsigned flags, int device)
{
	return CALL(affinity || affinity_cnt ? CUDA_NOT_SUPPORTED : create(context, flags, device));
}

int cuCtxCreate_v4(CUcontext *context, void *parameters, unsigned flags, int device)
{
	return CALL(parameters ? CUDA_NOT_SUPPORTED : create(context, flags, device));
}

int context_destroy(CUcontext context)
{
	if (!object_find(context, OBJECT_CONTEXT))
		return CUDA_INVALID_CONTEXT;
	if (context->primary)
		return CUDA_INVALID_CONTEXT;
	if (stack.cnt && stack.contexts[stack.cnt - 1] == context)
		stack.cnt--;
	context_free(context);
	return CUDA_OK;
}

int cuCtxDestroy_v2(CUcontext context)
{
	return CALL(context_destroy(context));
}

static int get_device(int *device)
{
	struct CUctx_st *c = context_current();

	if (!device)
		return CUDA_INVALID_VALUE;
	if (!c)
		return CUDA_INVALID_CONTEXT;
	*device = c->device;
	return CUDA_OK;
}

int cuCtxGetDevice(int *device)
{
	return CALL(get_device(device));
}

static int get_flags(unsigned *flags)
{
	struct CUctx_st *c = context_current();

	if (!flags)
		return CUDA_INVALID_VALUE;
	if (!c)
		return CUDA_INVALID_CONTEXT;
	*flags = c->flags;
	return CUDA_OK;
}

int cuCtxGetFlags(unsigned *flags)
{
	return CALL(get_flags(flags));
}

static int get_id(CUcontext context, unsigned long long *id)
{
	struct CUctx_st *c = context ? object_find(context, OBJECT_CONTEXT) : context_current();

	if (!id)
		return CUDA_INVALID_VALUE;
	if (!c)
		return CUDA_INVALID_CONTEXT;
	*id = c->id;
	return CUDA_OK;
}

int cuCtxGetId(CUcontext context, unsigned long long *id)
{
	return CALL(get_id(context, id));
}

static int priorities(int *least, int *greatest)
{
	if (!context_current())
		return CUDA_INVALID_CONTEXT;
	if (least)
		*least = 0;
	if (greatest)
		*greatest = -5;
	return CUDA_OK;
}

int cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	return CALL(priorities(least, greatest));
}

static int api_version(CUcontext context, unsigned *v)
{
	if (!v)
		return CUDA_INVALID_VALUE;
	if (context ? !object_find(context, OBJECT_CONTEXT) : !context_current())
		return CUDA_INVALID_CONTEXT;
	*v = 3020;
	return CUDA_OK;
}

int cuCtxGetApiVersion(CUcontext context, unsigned *v)
{
	return CALL(api_version(context, v));
}

/* cudart_memory.c - the stand-in runtime: allocations, copies, fills, pools. */
#include <string.h>

#include "tests/standin/cudart_driver.h"

#define AT(p) ((CUdeviceptr)(uintptr_t)(p))

/* ---- allocations ---- */

static CUdeviceptr *device_ptr(void **p)
{
	return (CUdeviceptr *)(void *)p;
}

static int alloc(void **p, size_t bytes)
{
	if (p && !bytes) { /* allowed here, not in the driver */
		*p = NULL;
		return CUDA_OK;
	}
	return LEGACY->cuMemAlloc(device_ptr(p), bytes);
}

int cudaMalloc(void **p, size_t bytes)
{
	return RT_CALL(alloc(p, bytes));
}

int cudaMallocPitch(void **p, size_t *pitch, size_t width, size_t height)
{
	return RT_CALL(LEGACY->cuMemAllocPitch(device_ptr(p), pitch, width, height, 4));
}

int cudaMallocManaged(void **p, size_t bytes, unsigned flags)
{
	return RT_CALL(LEGACY->cuMemAllocManaged(device_ptr(p), bytes, flags));
}

int cudaFree(void *p)
{
	return RT_CALL(LEGACY->cuMemFree(AT(p)));
}

int cudaMallocHost(void **p, size_t bytes)
{
	return RT_CALL(LEGACY->cuMemHostAlloc(p, bytes, 0));
}

int cudaHostAlloc(void **p, size_t bytes, unsigned flags)
{
	return RT_CALL(LEGACY->cuMemHostAlloc(p, bytes, flags));
}

int cudaFreeHost(void *p)
{
	return RT_CALL(LEGACY->cuMemFreeHost(p));
}

int cudaHostRegister(void *p, size_t bytes, unsigned flags)
{
	return RT_CALL(LEGACY->cuMemHostRegister(p, bytes, flags));
}

int cudaHostUnregister(void *p)
{
	return RT_CALL(LEGACY->cuMemHostUnregister(p));
}

int cudaHostGetDevicePointer(void **device, void *p, unsigned flags)
{
	return RT_CALL(LEGACY->cuMemHostGetDevicePointer(device_ptr(device), p, flags));
}

int cudaMemGetInfo(size_t *available, size_t *total)
{
	return RT_CALL(LEGACY->cuMemGetInfo(available, total));
}

struct pointer_attributes {
	int type, device;
	void *device_ptr, *host_ptr;
	long reserved[8];
};

/* cudaMemoryType: 0 not known to CUDA, 1 host, 2 device, 3 managed. */
static int pointer_attributes(struct pointer_attributes *a, const void *p)
{
	unsigned type, managed = 0;

	if (!a)
		return CUDA_INVALID_VALUE;
	memset(a, 0, offsetof(struct pointer_attributes, reserved));
	a->device = -2; /* none */
	if (LEGACY->cuPointerGetAttribute(&type, 2, AT(p)) != CUDA_OK) {
		a->host_ptr = (void *)(uintptr_t)p;
		return CUDA_OK;
	}
	LEGACY->cuPointerGetAttribute(&managed, 8, AT(p));
	LEGACY->cuPointerGetAttribute(&a->device, 9, AT(p));
	a->type = managed ? 3 : (int)type;
	a->device_ptr = (void *)(uintptr_t)p;
	a->host_ptr = type == CUDA_MEMORY_HOST || managed ? a->device_ptr : NULL;
	return CUDA_OK;
}

int cudaPointerGetAttributes(struct pointer_attributes *a, const void *p)
{
	return RT_CALL(pointer_attributes(a, p));
}

#if RUNTIME_MAJOR >= 13
RT_PAIR(cudaMemPrefetchAsync, _ptsz,
	(const void *p, size_t bytes, uint64_t place, unsigned flags, CUstream stream),
	DRIVER->cuMemPrefetchAsync(AT(p), bytes, place, flags, stream))

int cudaMemAdvise(const void *p, size_t bytes, int advice, uint64_t place)
{
	return RT_CALL(LEGACY->cuMemAdvise(AT(p), bytes, advice, place));
}
#else
/* A place is the device's kind and its number. */
RT_PAIR(cudaMemPrefetchAsync, _ptsz, (const void *p, size_t bytes, int device, CUstream stream),
	DRIVER->cuMemPrefetchAsync(AT(p), bytes, 1 | (uint64_t)(unsigned)device << 32, 0, stream))

int cudaMemAdvise(const void *p, size_t bytes, int advice, int device)
{
	return RT_CALL(
		LEGACY->cuMemAdvise(AT(p), bytes, advice, 1 | (uint64_t)(unsigned)device << 32));
}
#endif

/* ---- pools ---- */

RT_PAIR(cudaMallocAsync, _ptsz, (void **p, size_t bytes, CUstream stream),
	DRIVER->cuMemAllocAsync(device_ptr(p), bytes, stream))
RT_PAIR(cudaMallocFromPoolAsync, _ptsz,
	(void **p, size_t bytes, CUmemoryPool pool, CUstream stream),
	DRIVER->cuMemAllocFromPoolAsync(device_ptr(p), bytes, pool, stream))
RT_PAIR(cudaFreeAsync, _ptsz, (void *p, CUstream stream), DRIVER->cuMemFreeAsync(AT(p), stream))

int cudaMemPoolCreate(CUmemoryPool *pool, const void *properties)
{
	return RT_CALL(LEGACY->cuMemPoolCreate(pool, properties));
}

int cudaMemPoolDestroy(CUmemoryPool pool)
{
	return RT_CALL(LEGACY->cuMemPoolDestroy(pool));
}

int cudaMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
	return RT_CALL(LEGACY->cuMemPoolTrimTo(pool, keep));
}

int cudaMemPoolSetAttribute(CUmemoryPool pool, int attribute, void *value)
{
	return RT_CALL(LEGACY->cuMemPoolSetAttribute(pool, attribute, value));
}

int cudaMemPoolGetAttribute(CUmemoryPool pool, int attribute, void *value)
{
	return RT_CALL(LEGACY->cuMemPoolGetAttribute(pool, attribute, value));
}

/* ---- copies ---- */

static int copy(const struct rt_driver *d, void *dst, const void *src, size_t bytes, int kind)
{
	switch (kind) {
	case CUDA_HOST_TO_DEVICE:
		return d->cuMemcpyHtoD(AT(dst), src, bytes);
	case CUDA_DEVICE_TO_HOST:
		return d->cuMemcpyDtoH(dst, AT(src), bytes);
	case CUDA_DEVICE_TO_DEVICE:
		return d->cuMemcpyDtoD(AT(dst), AT(src), bytes);
	case CUDA_HOST_TO_HOST:
	case CUDA_BY_ADDRESS:
		return d->cuMemcpy(AT(dst), AT(src), bytes);
	default:
		return 21; /* cudaErrorInvalidMemcpyDirection */
	}
}

static int copy_async(const struct rt_driver *d, void *dst, const void *src, size_t bytes, int kind,
		      CUstream stream)
{
	switch (kind) {
	case CUDA_HOST_TO_DEVICE:
		return d->cuMemcpyHtoDAsync(AT(dst), src, bytes, stream);
	case CUDA_DEVICE_TO_HOST:
		return d->cuMemcpyDtoHAsync(dst, AT(src), bytes, stream);
	case CUDA_DEVICE_TO_DEVICE:
		return d->cuMemcpyDtoDAsync(AT(dst), AT(src), bytes, stream);
	case CUDA_HOST_TO_HOST:
	case CUDA_BY_ADDRESS:
		return d->cuMemcpyAsync(AT(dst), AT(src), bytes, stream);
	default:
		return 21;
	}
}

RT_PAIR(cudaMemcpy, _ptds, (void *dst, const void *src, size_t bytes, int kind),
	copy(DRIVER, dst, src, bytes, kind))
RT_PAIR(cudaMemcpyAsync, _ptsz,
	(void *dst, const void *src, size_t bytes, int kind, CUstream stream),
	copy_async(DRIVER, dst, src, bytes, kind, stream))

int cudaMemcpyPeer(void *dst, int dst_device, const void *src, int src_device, size_t bytes)
{
	(void)dst_device;
	(void)src_device;
	return RT_CALL(LEGACY->cuMemcpyPeer(AT(dst), NULL, AT(src), NULL, bytes));
}

int cudaMemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device, size_t bytes,
			CUstream stream)
{
	(void)dst_device;
	(void)src_device;
	return RT_CALL(LEGACY->cuMemcpyPeerAsync(AT(dst), NULL, AT(src), NULL, bytes, stream));
}

static int copy_to_symbol(const struct rt_driver *d, const void *symbol, const void *src,
			  size_t bytes, size_t offset, int kind, CUstream stream, bool wait)
{
	CUdeviceptr base;
	size_t size;
	int r = rt_symbol(&base, &size, symbol);

	if (r)
		return r;
	if (offset > size || bytes > size - offset)
		return CUDA_INVALID_VALUE;
	return wait ? copy(d, (void *)(uintptr_t)(base + offset), src, bytes, kind)
		    : copy_async(d, (void *)(uintptr_t)(base + offset), src, bytes, kind, stream);
}

static int copy_from_symbol(const struct rt_driver *d, void *dst, const void *symbol, size_t bytes,
			    size_t offset, int kind, CUstream stream, bool wait)
{
	CUdeviceptr base;
	size_t size;
	int r = rt_symbol(&base, &size, symbol);

	if (r)
		return r;
	if (offset > size || bytes > size - offset)
		return CUDA_INVALID_VALUE;
	return wait ? copy(d, dst, (void *)(uintptr_t)(base + offset), bytes, kind)
		    : copy_async(d, dst, (void *)(uintptr_t)(base + offset), bytes, kind, stream);
}

RT_PAIR(cudaMemcpyToSymbol, _ptds,
	(const void *symbol, const void *src, size_t bytes, size_t offset, int kind),
	copy_to_symbol(DRIVER, symbol, src, bytes, offset, kind, NULL, true))
RT_PAIR(cudaMemcpyFromSymbol, _ptds,
	(void *dst, const void *symbol, size_t bytes, size_t offset, int kind),
	copy_from_symbol(DRIVER, dst, symbol, bytes, offset, kind, NULL, true))
RT_PAIR(cudaMemcpyToSymbolAsync, _ptsz,
	(const void *symbol, const void *src, size_t bytes, size_t offset, int kind,
	 CUstream stream),
	copy_to_symbol(DRIVER, symbol, src, bytes, offset, kind, stream, false))
RT_PAIR(cudaMemcpyFromSymbolAsync, _ptsz,
	(void *dst, const void *symbol, size_t bytes, size_t offset, int kind, CUstream stream),
	copy_from_symbol(DRIVER, dst, symbol, bytes, offset, kind, stream, false))

int cudaGetSymbolAddress(void **p, const void *symbol)
{
	size_t bytes;

	return RT_CALL(p ? rt_symbol(device_ptr(p), &bytes, symbol) : CUDA_INVALID_VALUE);
}

int cudaGetSymbolSize(size_t *bytes, const void *symbol)
{
	CUdeviceptr p;

	return RT_CALL(bytes ? rt_symbol(&p, bytes, symbol) : CUDA_INVALID_VALUE);
}

/* The types of both ends of a copy in one direction. */
static void types(int kind, int *dst, int *src)
{
	*dst = kind == CUDA_HOST_TO_DEVICE || kind == CUDA_DEVICE_TO_DEVICE ? CUDA_MEMORY_DEVICE
	       : kind == CUDA_BY_ADDRESS                                    ? CUDA_MEMORY_UNIFIED
									    : CUDA_MEMORY_HOST;
	*src = kind == CUDA_DEVICE_TO_HOST || kind == CUDA_DEVICE_TO_DEVICE ? CUDA_MEMORY_DEVICE
	       : kind == CUDA_BY_ADDRESS                                    ? CUDA_MEMORY_UNIFIED
									    : CUDA_MEMORY_HOST;
}

struct cuda_copy3d rt_linear_copy(void *dst, const void *src, size_t bytes, int kind)
{
	struct cuda_copy3d c = {.src_host = src,
				.src_device = AT(src),
				.src_pitch = bytes,
				.src_height = 1,
				.dst_host = dst,
				.dst_device = AT(dst),
				.dst_pitch = bytes,
				.dst_height = 1,
				.width = bytes,
				.height = 1,
				.depth = 1};

	types(kind, &c.dst_type, &c.src_type);
	return c;
}

static struct cuda_copy2d copy2d(void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
				 size_t width, size_t height, int kind)
{
	struct cuda_copy2d c = {.src_host = src,
				.src_device = AT(src),
				.src_pitch = src_pitch,
				.dst_host = dst,
				.dst_device = AT(dst),
				.dst_pitch = dst_pitch,
				.width = width,
				.height = height};

	types(kind, &c.dst_type, &c.src_type);
	return c;
}

RT_PAIR(cudaMemcpy2D, _ptds,
	(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width,
	 size_t height, int kind),
	DRIVER->cuMemcpy2DUnaligned((struct cuda_copy2d[]){
		copy2d(dst, dst_pitch, src, src_pitch, width, height, kind)}))
RT_PAIR(cudaMemcpy2DAsync, _ptsz,
	(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width,
	 size_t height, int kind, CUstream stream),
	DRIVER->cuMemcpy2DAsync((struct cuda_copy2d[]){copy2d(dst, dst_pitch, src, src_pitch, width,
							      height, kind)},
				stream))

int rt_copy3d(struct cuda_copy3d *to, const struct rt_copy3d *from)
{
	if (!from || from->kind < 0 || from->kind > CUDA_BY_ADDRESS)
		return CUDA_INVALID_VALUE;
	if (from->src_array || from->dst_array)
		return CUDA_NOT_SUPPORTED;
	*to = (struct cuda_copy3d){.src_x = from->src_x,
				   .src_y = from->src_y,
				   .src_z = from->src_z,
				   .src_host = from->src.ptr,
				   .src_device = AT(from->src.ptr),
				   .src_pitch = from->src.pitch,
				   .src_height = from->src.height,
				   .dst_x = from->dst_x,
				   .dst_y = from->dst_y,
				   .dst_z = from->dst_z,
				   .dst_host = from->dst.ptr,
				   .dst_device = AT(from->dst.ptr),
				   .dst_pitch = from->dst.pitch,
				   .dst_height = from->dst.height,
				   .width = from->width,
				   .height = from->height,
				   .depth = from->depth};
	types(from->kind, &to->dst_type, &to->src_type);
	return CUDA_OK;
}

static int run_copy3d(const struct rt_driver *d, const struct rt_copy3d *from, CUstream stream,
		      bool wait)
{
	struct cuda_copy3d c;
	int r = rt_copy3d(&c, from);

	if (r)
		return r;
	return wait ? d->cuMemcpy3D(&c) : d->cuMemcpy3DAsync(&c, stream);
}

RT_PAIR(cudaMemcpy3D, _ptds, (const struct rt_copy3d *c), run_copy3d(DRIVER, c, NULL, true))
RT_PAIR(cudaMemcpy3DAsync, _ptsz, (const struct rt_copy3d *c, CUstream stream),
	run_copy3d(DRIVER, c, stream, false))

/* ---- fills ---- */

RT_PAIR(cudaMemset, _ptds, (void *p, int value, size_t bytes),
	DRIVER->cuMemsetD8(AT(p), (unsigned char)value, bytes))
RT_PAIR(cudaMemsetAsync, _ptsz, (void *p, int value, size_t bytes, CUstream stream),
	DRIVER->cuMemsetD8Async(AT(p), (unsigned char)value, bytes, stream))
RT_PAIR(cudaMemset2D, _ptds, (void *p, size_t pitch, int value, size_t width, size_t height),
	DRIVER->cuMemsetD2D8(AT(p), pitch, (unsigned char)value, width, height))
RT_PAIR(cudaMemset2DAsync, _ptsz,
	(void *p, size_t pitch, int value, size_t width, size_t height, CUstream stream),
	DRIVER->cuMemsetD2D8Async(AT(p), pitch, (unsigned char)value, width, height, stream))

/* ---- of another process ---- */

int cudaIpcGetMemHandle(struct cuda_ipc_handle *handle, void *p)
{
	return RT_CALL(LEGACY->cuIpcGetMemHandle(handle, (uintptr_t)p));
}

int cudaIpcOpenMemHandle(void **p, struct cuda_ipc_handle handle, unsigned flags)
{
	return RT_CALL(LEGACY->cuIpcOpenMemHandle((CUdeviceptr *)p, handle, flags));
}

int cudaIpcCloseMemHandle(void *p)
{
	return RT_CALL(LEGACY->cuIpcCloseMemHandle((uintptr_t)p));
}

int cudaIpcGetEventHandle(struct cuda_ipc_handle *handle, CUevent event)
{
	return RT_CALL(LEGACY->cuIpcGetEventHandle(handle, event));
}

int cudaIpcOpenEventHandle(CUevent *event, struct cuda_ipc_handle handle)
{
	return RT_CALL(LEGACY->cuIpcOpenEventHandle(event, handle));
}

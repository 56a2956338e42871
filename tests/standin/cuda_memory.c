/* cuda_memory.c - the stand-in driver: allocations and pools. Device memory is memory of the process. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/standin/cuda_driver.h"

/* ---- what is allocated, in the order of addresses ---- */

static struct memory *all;
static size_t all_cnt, all_room;

/* The first one that begins behind @address. */
static size_t behind(uint64_t address)
{
	size_t low = 0, high = all_cnt;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (all[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct memory *memory_find(uint64_t address)
{
	size_t i = behind(address);

	if (!i || address - all[i - 1].address >= all[i - 1].bytes)
		return NULL;
	return &all[i - 1];
}

static void insert(const struct memory *m)
{
	size_t i = behind(m->address);

	if (all_cnt == all_room) {
		all_room = all_room ? 2 * all_room : 64;
		all = realloc(all, all_room * sizeof(*all));
		if (!all)
			abort();
	}
	memmove(all + i + 1, all + i, (all_cnt - i) * sizeof(*all));
	all[i] = *m;
	all_cnt++;
}

static void remove_at(const struct memory *m)
{
	size_t i = (size_t)(m - all);

	all_cnt--;
	memmove(all + i, all + i + 1, (all_cnt - i) * sizeof(*all));
}

/* ---- reporting ---- */

/* CUPTI's kinds of memory: 1 pageable, 2 pinned, 3 device, 5 managed. */
static uint8_t memory_kind(const struct memory *m)
{
	if (m->type == CUDA_MEMORY_UNIFIED)
		return 5;
	return m->type == CUDA_MEMORY_DEVICE ? 3 : 2;
}

#define POOL_STEP (2u << 20)

static void tell_pool(struct standin_activity *a, const struct CUmemPoolHandle_st *pool)
{
	a->pool.address = (uint64_t)(uintptr_t)pool;
	a->pool.size = pool->reserved;
	a->pool.used = pool->used;
	a->pool.threshold = pool->threshold;
}

/* 1 made, 2 destroyed, 3 trimmed to @keep. */
static void pool_changed(const struct CUmemPoolHandle_st *pool, uint32_t what, uint64_t keep)
{
	struct standin_activity a = {.kind = STANDIN_POOL,
				     .start = now(),
				     .device = (uint32_t)pool->device,
				     .value = what,
				     .bytes = keep};

	tell_pool(&a, pool);
	tell(&a);
}

static void tell_memory(const struct memory *m, bool made, const struct CUstream_st *s)
{
	struct CUctx_st *c = context_current();

	struct standin_activity a = {.kind = made ? STANDIN_ALLOC : STANDIN_FREE,
				     .start = now(),
				     .device = (uint32_t)m->device,
				     .context = c ? c->id : 0,
				     .stream = s ? s->id : 0,
				     .bytes = m->bytes,
				     .address = m->address,
				     .memory_kind = memory_kind(m)};

	if (m->pool)
		tell_pool(&a, m->pool);
	tell(&a);
}

/* ---- making and freeing ---- */

static int make(uint64_t *address, size_t bytes, int type, struct CUmemPoolHandle_st *pool,
		const struct CUstream_st *s)
{
	struct CUctx_st *c = context_current();
	struct memory m = {.bytes = bytes, .type = type, .pinned = true, .pool = pool};
	void *p;

	if (!address || !bytes)
		return CUDA_INVALID_VALUE;
	if (!c)
		return CUDA_INVALID_CONTEXT;
	m.device = pool ? pool->device : c->device;
	if (type == CUDA_MEMORY_DEVICE && driver.used[m.device] + bytes > DEVICE_BYTES)
		return CUDA_OUT_OF_MEMORY;
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		 -1, 0);
	if (p == MAP_FAILED)
		return CUDA_OUT_OF_MEMORY;
	m.address = (uint64_t)(uintptr_t)p;
	if (type == CUDA_MEMORY_DEVICE)
		driver.used[m.device] += bytes;
	if (pool) {
		pool->used += bytes;
		if (pool->used > pool->high)
			pool->high = pool->used;
		if (pool->used > pool->reserved)
			pool->reserved = (pool->used + POOL_STEP - 1) / POOL_STEP * POOL_STEP;
	}
	insert(&m);
	*address = m.address;
	tell_memory(&m, true, s);
	return CUDA_OK;
}

static int release(uint64_t address, bool host, const struct CUstream_st *s)
{
	const struct memory *m = memory_find(address);
	struct memory gone;

	if (!address)
		return CUDA_OK;
	if (!m || m->address != address || m->opened || host != (m->type == CUDA_MEMORY_HOST))
		return CUDA_INVALID_VALUE;
	gone = *m;
	remove_at(m);
	munmap((void *)(uintptr_t)gone.address, gone.bytes);
	if (gone.file)
		close(gone.file - 1);
	if (gone.type == CUDA_MEMORY_DEVICE)
		driver.used[gone.device] -= gone.bytes;
	if (gone.pool)
		gone.pool->used -= gone.bytes;
	tell_memory(&gone, false, s);
	return CUDA_OK;
}

/* A module's variable is no allocation: CUPTI gets no record. */
int memory_make(uint64_t *address, size_t bytes)
{
	struct CUctx_st *c = context_current();
	void *p;

	if (!c)
		return CUDA_INVALID_CONTEXT;
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		 -1, 0);
	if (p == MAP_FAILED)
		return CUDA_OUT_OF_MEMORY;
	*address = (uintptr_t)p;
	memory_map(*address, bytes, c->device, NULL);
	return CUDA_OK;
}

void memory_drop(uint64_t address)
{
	const struct memory *m = memory_find(address);

	munmap((void *)(uintptr_t)m->address, m->bytes);
	memory_unmap(address);
}

void memory_map(uint64_t address, size_t bytes, int device, void *physical)
{
	insert(&(struct memory){.address = address,
				.bytes = bytes,
				.type = CUDA_MEMORY_DEVICE,
				.pinned = true,
				.device = device,
				.physical = physical});
}

void memory_unmap(uint64_t address)
{
	remove_at(memory_find(address));
}

void memory_is_array(uint64_t address)
{
	((struct memory *)memory_find(address))->type = CUDA_MEMORY_ARRAY;
}

struct memory *memory_opened(const struct cuda_ipc_handle *handle)
{
	size_t i;

	for (i = 0; i < all_cnt; i++)
		if (all[i].opened && !memcmp(&all[i].handle, handle, sizeof(*handle)))
			return &all[i];
	return NULL;
}

/* As make, without a pool: the driver asks the kernel, and that takes its time. */
static int make_slowly(uint64_t *address, size_t bytes, int type)
{
	uint64_t entry = now(), ns = STANDIN_ALLOC_NS;
	int r = make(address, bytes, type, NULL, NULL);

	if (type == CUDA_MEMORY_HOST)
		ns += (bytes >> 10) * STANDIN_PIN_NS_PER_MIB >> 10;
	if (!r)
		wait_until(entry + ns);
	return r;
}

/* Freeing waits for what may still use the memory. */
static int release_sync(uint64_t address)
{
	struct CUctx_st *c = context_current();
	const struct CUstream_st *s;
	uint64_t end = 0;

	if (!c)
		return CUDA_INVALID_CONTEXT;
	if (!memory_find(address)) /* NULL, or a mistake */
		return release(address, false, NULL);
	for (s = c->streams; s; s = s->next)
		if (s->end > end)
			end = s->end;
	wait_until(end);
	wait_until(now() + STANDIN_ALLOC_NS);
	return release(address, false, NULL);
}

int cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
	return CALL(make_slowly(address, bytes, CUDA_MEMORY_DEVICE));
}

int cuMemFree_v2(CUdeviceptr address)
{
	return CALL(release_sync(address));
}

int cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned flags)
{
	(void)flags;
	return CALL(make_slowly(address, bytes, CUDA_MEMORY_UNIFIED));
}

static int alloc_pitch(CUdeviceptr *address, size_t *pitch, size_t width, size_t height)
{
	if (!pitch)
		return CUDA_INVALID_VALUE;
	*pitch = (width + 511) & ~(size_t)511;
	return make_slowly(address, *pitch * height, CUDA_MEMORY_DEVICE);
}

int cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width, size_t height,
		       unsigned element)
{
	(void)element;
	return CALL(alloc_pitch(address, pitch, width, height));
}

int cuMemAllocHost_v2(void **p, size_t bytes)
{
	return CALL(make_slowly((uint64_t *)(void *)p, bytes, CUDA_MEMORY_HOST));
}

static int host_alloc(uint64_t *p, size_t bytes, unsigned flags)
{
	int r = make_slowly(p, bytes, CUDA_MEMORY_HOST);

	if (!r)
		((struct memory *)memory_find(*p))->flags = flags;
	return r;
}

int cuMemHostAlloc(void **p, size_t bytes, unsigned flags)
{
	return CALL(host_alloc((uint64_t *)(void *)p, bytes, flags));
}

static int host_flags(unsigned *flags, const void *p)
{
	const struct memory *m = memory_find((uintptr_t)p);

	if (!flags || !m || m->type != CUDA_MEMORY_HOST)
		return CUDA_INVALID_VALUE;
	*flags = m->flags;
	return CUDA_OK;
}

int cuMemHostGetFlags(unsigned *flags, void *p)
{
	return CALL(host_flags(flags, p));
}

int cuMemFreeHost(void *p)
{
	return CALL(release((uintptr_t)p, true, NULL));
}

static int host_register(void *p, size_t bytes)
{
	if (!p || !bytes || memory_find((uintptr_t)p))
		return CUDA_INVALID_VALUE;
	insert(&(struct memory){
		.address = (uintptr_t)p, .bytes = bytes, .type = CUDA_MEMORY_HOST, .pinned = true});
	return CUDA_OK;
}

int cuMemHostRegister_v2(void *p, size_t bytes, unsigned flags)
{
	(void)flags;
	return CALL(host_register(p, bytes));
}

static int host_unregister(void *p)
{
	const struct memory *m = memory_find((uintptr_t)p);

	if (!m || m->address != (uintptr_t)p)
		return CUDA_INVALID_VALUE;
	remove_at(m);
	return CUDA_OK;
}

int cuMemHostUnregister(void *p)
{
	return CALL(host_unregister(p));
}

static int host_device_pointer(CUdeviceptr *address, void *p)
{
	if (!address || !memory_find((uintptr_t)p))
		return CUDA_INVALID_VALUE;
	*address = (uintptr_t)p;
	return CUDA_OK;
}

int cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *p, unsigned flags)
{
	(void)flags;
	return CALL(host_device_pointer(address, p));
}

static int info(size_t *available, size_t *total)
{
	struct CUctx_st *c = context_current();

	if (!available || !total)
		return CUDA_INVALID_VALUE;
	if (!c)
		return CUDA_INVALID_CONTEXT;
	*available = DEVICE_BYTES - driver.used[c->device];
	*total = DEVICE_BYTES;
	return CUDA_OK;
}

int cuMemGetInfo_v2(size_t *available, size_t *total)
{
	return CALL(info(available, total));
}

static int range(CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
	const struct memory *m = memory_find(address);

	if (!m)
		return CUDA_NOT_FOUND;
	if (base)
		*base = m->address;
	if (bytes)
		*bytes = m->bytes;
	return CUDA_OK;
}

int cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
	return CALL(range(base, bytes, address));
}

/* CUpointer_attribute: 1 context, 2 type of memory, 3, 4 addresses, 8 managed, 9 ordinal, ... */
static int pointer_attribute(void *data, int attribute, CUdeviceptr address)
{
	const struct memory *m = memory_find(address);

	if (!data)
		return CUDA_INVALID_VALUE;
	if (!m)
		return CUDA_INVALID_VALUE;
	switch (attribute) {
	case 1:
		*(CUcontext *)data = driver.primary[m->device];
		return CUDA_OK;
	case 2:
		*(unsigned *)data =
			m->type == CUDA_MEMORY_UNIFIED ? CUDA_MEMORY_DEVICE : (unsigned)m->type;
		return CUDA_OK;
	case 3:
	case 4:
		*(uint64_t *)data = address;
		return CUDA_OK;
	case 8:
		*(unsigned *)data = m->type == CUDA_MEMORY_UNIFIED;
		return CUDA_OK;
	case 9:
		*(int *)data = m->device;
		return CUDA_OK;
	default:
		return CUDA_NOT_SUPPORTED;
	}
}

int cuPointerGetAttribute(void *data, int attribute, CUdeviceptr address)
{
	return CALL(pointer_attribute(data, attribute, address));
}

static int nothing_to_do(CUdeviceptr address, const struct CUstream_st *stream)
{
	if (!stream)
		return CUDA_INVALID_HANDLE;
	return memory_find(address) ? CUDA_OK : CUDA_INVALID_VALUE;
}

/* Managed memory is where it is: moving it ahead does nothing. */
PAIR(cuMemPrefetchAsync, _ptsz, (CUdeviceptr address, size_t bytes, int device, CUstream stream),
     ((void)bytes, (void)device, nothing_to_do(address, STREAM(stream))))

PAIR(cuStreamAttachMemAsync, _ptsz,
     (CUstream stream, CUdeviceptr address, size_t bytes, unsigned flags),
     ((void)bytes, (void)flags, nothing_to_do(address, STREAM(stream))))

/* A place is two ints in one register. */
PAIR(cuMemPrefetchAsync_v2, _ptsz,
     (CUdeviceptr address, size_t bytes, uint64_t place, unsigned flags, CUstream stream),
     ((void)bytes, (void)place, (void)flags, nothing_to_do(address, STREAM(stream))))

int cuMemAdvise_v2(CUdeviceptr address, size_t bytes, int advice, uint64_t place)
{
	(void)bytes;
	(void)advice;
	(void)place;
	return CALL(memory_find(address) ? CUDA_OK : CUDA_INVALID_VALUE);
}

int cuMemAdvise(CUdeviceptr address, size_t bytes, int advice, int device)
{
	(void)bytes;
	(void)advice;
	(void)device;
	return CALL(memory_find(address) ? CUDA_OK : CUDA_INVALID_VALUE);
}

/* ---- pools ---- */

static struct CUmemPoolHandle_st *default_pools[DEVICE_MAX];

static struct CUmemPoolHandle_st *default_pool(int device)
{
	if (device < 0 || device >= driver.device_cnt)
		return NULL;
	if (!default_pools[device]) {
		default_pools[device] = object_make(OBJECT_POOL, sizeof(**default_pools));
		default_pools[device]->device = device;
	}
	return default_pools[device];
}

static int get_pool(CUmemoryPool *pool, int device)
{
	if (!pool)
		return CUDA_INVALID_VALUE;
	*pool = default_pool(device);
	return *pool ? CUDA_OK : CUDA_INVALID_DEVICE;
}

int cuDeviceGetDefaultMemPool(CUmemoryPool *pool, int device)
{
	return CALL(get_pool(pool, device));
}

int cuDeviceGetMemPool(CUmemoryPool *pool, int device)
{
	return CALL(get_pool(pool, device));
}

/* The properties begin with the kinds of allocation and of handle, then the place: its type and number. */
static int pool_create(CUmemoryPool *pool, const int *properties)
{
	if (!pool || !properties || properties[3] < 0 || properties[3] >= driver.device_cnt)
		return CUDA_INVALID_VALUE;
	*pool = object_make(OBJECT_POOL, sizeof(**pool));
	(*pool)->device = properties[3];
	pool_changed(*pool, 1, 0);
	return CUDA_OK;
}

int cuMemPoolCreate(CUmemoryPool *pool, const void *properties)
{
	return CALL(pool_create(pool, properties));
}

static int pool_destroy(CUmemoryPool pool)
{
	size_t i;

	if (!object_find(pool, OBJECT_POOL) || default_pools[pool->device] == pool)
		return CUDA_INVALID_VALUE;
	for (i = 0; i < all_cnt; i++)
		if (all[i].pool == pool)
			all[i].pool = NULL;
	pool_changed(pool, 2, 0);
	object_drop(pool);
	return CUDA_OK;
}

int cuMemPoolDestroy(CUmemoryPool pool)
{
	return CALL(pool_destroy(pool));
}

static int pool_trim(CUmemoryPool pool, size_t keep)
{
	uint64_t least;

	if (!object_find(pool, OBJECT_POOL))
		return CUDA_INVALID_VALUE;
	least = pool->used > keep ? pool->used : keep;
	if (pool->reserved > least)
		pool->reserved = least;
	pool_changed(pool, 3, keep);
	return CUDA_OK;
}

int cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
	return CALL(pool_trim(pool, keep));
}

/* CUmemPool_attribute: 1-3 switches of how memory is used again, 4 threshold, 5, 6 reserved, 7, 8 used. */
static int pool_attribute(CUmemoryPool pool, int attribute, void *value, bool set)
{
	if (!object_find(pool, OBJECT_POOL) || !value || attribute < 1 || attribute > 8)
		return CUDA_INVALID_VALUE;
	if (attribute <= 3) {
		if (!set)
			*(int *)value = 1;
	} else if (set) {
		if (attribute == 4)
			pool->threshold = *(uint64_t *)value;
		else if (attribute == 6 || attribute == 8)
			pool->high = pool->used;
		else
			return CUDA_INVALID_VALUE;
	} else {
		*(uint64_t *)value = attribute == 4  ? pool->threshold
				     : attribute & 1 ? pool->used
						     : pool->high;
	}
	return CUDA_OK;
}

int cuMemPoolSetAttribute(CUmemoryPool pool, int attribute, void *value)
{
	return CALL(pool_attribute(pool, attribute, value, true));
}

int cuMemPoolGetAttribute(CUmemoryPool pool, int attribute, void *value)
{
	return CALL(pool_attribute(pool, attribute, value, false));
}

static int alloc_async(CUdeviceptr *address, size_t bytes, CUmemoryPool pool,
		       struct CUstream_st *stream)
{
	if (!stream)
		return CUDA_INVALID_HANDLE;
	if (stream->capture)
		return CUDA_CAPTURE_UNSUPPORTED; /* nodes that allocate: not here */
	if (!pool)
		pool = default_pool(stream->context->device);
	if (!object_find(pool, OBJECT_POOL))
		return CUDA_INVALID_VALUE;
	return make(address, bytes, CUDA_MEMORY_DEVICE, pool, stream);
}

PAIR(cuMemAllocAsync, _ptsz, (CUdeviceptr * address, size_t bytes, CUstream stream),
     alloc_async(address, bytes, NULL, STREAM(stream)))
PAIR(cuMemAllocFromPoolAsync, _ptsz,
     (CUdeviceptr * address, size_t bytes, CUmemoryPool pool, CUstream stream),
     pool ? alloc_async(address, bytes, pool, STREAM(stream)) : CUDA_INVALID_VALUE)

static int free_async(CUdeviceptr address, struct CUstream_st *stream)
{
	if (!stream)
		return CUDA_INVALID_HANDLE;
	if (stream->capture)
		return CUDA_CAPTURE_UNSUPPORTED;
	return release(address, false, stream);
}

PAIR(cuMemFreeAsync, _ptsz, (CUdeviceptr address, CUstream stream),
     free_async(address, STREAM(stream)))

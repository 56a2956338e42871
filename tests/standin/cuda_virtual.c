/*
 * cuda_virtual.c - the stand-in driver: addresses reserved, physical memory made, the one mapped at the other. The
 * content does not outlive its mapping.
 */
#include <sys/mman.h>

#include "tests/standin/cuda_driver.h"

enum {
	GRANULARITY = 2 << 20
};

struct physical {
	struct object object;
	size_t bytes;
	int device;
	unsigned users; /* mappings, and the handle itself */
};

struct allocation { /* the begin of CUmemAllocationProp */
	int type, handle_types, place_type, place_number;
};

static bool whole(uint64_t number)
{
	return number && !(number % GRANULARITY);
}

static int granularity(size_t *bytes, const struct allocation *a)
{
	if (!bytes || !a)
		return CUDA_INVALID_VALUE;
	*bytes = GRANULARITY;
	return CUDA_OK;
}

int cuMemGetAllocationGranularity(size_t *bytes, const struct allocation *a, int which)
{
	(void)which;
	return CALL(granularity(bytes, a));
}

static int reserve(CUdeviceptr *address, size_t bytes, size_t alignment)
{
	size_t more = alignment > GRANULARITY ? alignment : GRANULARITY;
	uint64_t begin, at;
	void *p;

	if (!address || !whole(bytes))
		return CUDA_INVALID_VALUE;
	p = mmap(NULL, bytes + more, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return CUDA_OUT_OF_MEMORY;
	begin = (uintptr_t)p;
	at = (begin + more - 1) / more * more;
	if (at > begin)
		munmap(p, at - begin);
	munmap((void *)(uintptr_t)(at + bytes), begin + more - at);
	*address = at;
	return CUDA_OK;
}

int cuMemAddressReserve(CUdeviceptr *address, size_t bytes, size_t alignment, CUdeviceptr wish,
			unsigned long long flags)
{
	(void)wish;
	return CALL(flags ? CUDA_INVALID_VALUE : reserve(address, bytes, alignment));
}

static int address_free(CUdeviceptr address, size_t bytes)
{
	if (!whole(address) || !whole(bytes) || memory_find(address))
		return CUDA_INVALID_VALUE;
	munmap((void *)(uintptr_t)address, bytes);
	return CUDA_OK;
}

int cuMemAddressFree(CUdeviceptr address, size_t bytes)
{
	return CALL(address_free(address, bytes));
}

static int create(struct physical **handle, size_t bytes, const struct allocation *a)
{
	if (!handle || !a || !whole(bytes))
		return CUDA_INVALID_VALUE;
	if (a->place_number < 0 || a->place_number >= driver.device_cnt)
		return CUDA_INVALID_DEVICE;
	if (driver.used[a->place_number] + bytes > DEVICE_BYTES)
		return CUDA_OUT_OF_MEMORY;
	*handle = object_make(OBJECT_PHYSICAL, sizeof(**handle));
	(*handle)->bytes = bytes;
	(*handle)->device = a->place_number;
	(*handle)->users = 1;
	driver.used[a->place_number] += bytes;
	wait_until(now() + STANDIN_ALLOC_NS);
	return CUDA_OK;
}

int cuMemCreate(struct physical **handle, size_t bytes, const struct allocation *a,
		unsigned long long flags)
{
	return CALL(flags ? CUDA_INVALID_VALUE : create(handle, bytes, a));
}

static int release(struct physical *handle)
{
	if (!object_find(handle, OBJECT_PHYSICAL))
		return CUDA_INVALID_VALUE;
	if (--handle->users == 0) {
		driver.used[handle->device] -= handle->bytes;
		object_drop(handle);
	}
	return CUDA_OK;
}

int cuMemRelease(struct physical *handle)
{
	return CALL(release(handle));
}

static int map(CUdeviceptr address, size_t bytes, size_t offset, struct physical *handle)
{
	if (!object_find(handle, OBJECT_PHYSICAL) || offset || bytes != handle->bytes ||
	    !whole(address) || memory_find(address))
		return CUDA_INVALID_VALUE;
	memory_map(address, bytes, handle->device, handle);
	handle->users++;
	return CUDA_OK;
}

int cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, struct physical *handle,
	     unsigned long long flags)
{
	return CALL(flags ? CUDA_INVALID_VALUE : map(address, bytes, offset, handle));
}

/* Access is for all of the range, however many mappings it holds. */
static int access_set(CUdeviceptr address, size_t bytes, const int *wanted, size_t cnt)
{
	uint64_t at;

	if (!wanted || !cnt || !whole(address) || !whole(bytes))
		return CUDA_INVALID_VALUE;
	for (at = address; at < address + bytes; at += GRANULARITY)
		if (!memory_find(at))
			return CUDA_INVALID_VALUE;
	return mprotect((void *)(uintptr_t)address, bytes, PROT_READ | PROT_WRITE)
		       ? CUDA_OUT_OF_MEMORY
		       : CUDA_OK;
}

int cuMemSetAccess(CUdeviceptr address, size_t bytes, const int *wanted, size_t cnt)
{
	return CALL(access_set(address, bytes, wanted, cnt));
}

static int unmap(CUdeviceptr address, size_t bytes)
{
	uint64_t at = address;
	const struct memory *m;

	while (at < address + bytes) {
		struct physical *handle;

		m = memory_find(at);
		if (!m || m->address != at || !m->physical || m->bytes > address + bytes - at)
			return CUDA_INVALID_VALUE;
		handle = m->physical;
		at += m->bytes;
		memory_unmap(m->address);
		release(handle);
	}
	mmap((void *)(uintptr_t)address, bytes, PROT_NONE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	return CUDA_OK;
}

int cuMemUnmap(CUdeviceptr address, size_t bytes)
{
	return CALL(unmap(address, bytes));
}

/* believe.c - whether records of versions newer than the compared headers have the layout that is known. */
#include "preload/cupti/guest.h"
#include "preload/cupti/view.h"

#include <errno.h>
#include <sys/mman.h>

static bool readable(uint64_t address)
{
	unsigned char in_core;

	if (!address || address >> 47)
		return false;
	/* EAGAIN: short of memory; ENOMEM: not mapped. */
	return mincore((void *)(uintptr_t)(address & ~(uint64_t)4095), 1, &in_core) == 0 ||
	       errno == EAGAIN;
}

/* Not by times: those of another clock have their own message, and are counted. */
static bool plausible(const struct view *v, uint32_t kind)
{
	switch (kind) {
	case CUPTI_KIND_RUNTIME:
	case CUPTI_KIND_DRIVER:
		return API_cbid(v) < 1u << 16 && API_process(v) == (uint64_t)guest.pid;
	case CUPTI_KIND_CONCURRENT_KERNEL:
		return KERNEL_device(v) < 1024 && readable(KERNEL_name(v)) &&
		       KERNEL_blockx(v) - 1 < 1024;
	case CUPTI_KIND_MEMCPY:
		return MEMCPY_device(v) < 1024 && MEMCPY_kind(v) < 64;
	case CUPTI_KIND_MEMSET:
		return MEMSET_device(v) < 1024;
	case CUPTI_KIND_DEVICE:
		return DEVICE_id(v) < 1024 && readable(DEVICE_name(v));
	case CUPTI_KIND_MEMORY2:
		return !MEMORY_name(v) || readable(MEMORY_name(v));
	case CUPTI_KIND_JIT:
		return !JIT_cache_path(v) || readable(JIT_cache_path(v));
	default:
		return true;
	}
}

bool believe(const struct view *v, uint32_t kind)
{
	char version[64];

	if (plausible(v, kind)) {
		__atomic_sub_fetch(&guest.unchecked, 1, __ATOMIC_RELAXED);
		return true;
	}
	if (!__atomic_exchange_n(&guest.broken, 1, __ATOMIC_RELAXED))
		status_record(
			SL_GPU_STATUS_NO_LAYOUT, (int)kind,
			"CUPTI of CUDA %s is newer than this Sightline and writes records that "
			"it cannot read (kind %u): "
			"what the GPU did is not recorded, calls are; %s",
			find_version_text(version, sizeof(version)), kind,
			status_remedy("an older libcupti"));
	return false;
}

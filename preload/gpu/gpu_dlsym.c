/*
 * gpu_dlsym.c - functions of GPU libraries that programs look up by name: dlsym and dlvsym, and the queries of CUDA
 * itself. A result is replaced by an entry if it is the address of the entry's real function; the name alone does not
 * suffice (a stub, a second copy, another version of the function).
 */
#include "preload/gpu/gpu_engine.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "preload/base/jump.h"

/* The entry for @real, or @real. */
static void *entry_for(void *real)
{
	int n = real ? sl_gpu_by_address(real) : -1;
	void *special;

	if (n < 0) {
		special = sl_gpu_yield_entry_of(real);
		return special ? special : real;
	}
	special = sl_gpu_special((unsigned)n);
	if (special)
		return special;
	return sl_gpu_state[n].is_quiet ? real : sl_gpu_entry((unsigned)n);
}

/* "cu...", "nccl...", "__cuda..." */
static bool may_be_gpu(const char *name)
{
	/* Without string functions: sanitizers look those up here. */
	return name && ((name[0] == 'c' && name[1] == 'u') || (name[0] == 'n' && name[1] == 'c') ||
			(name[0] == '_' && name[1] == '_' && name[2] == 'c'));
}

static void *gpu_dlsym(void *handle, const char *name)
{
	void *(*real)(void *, const char *) = sl_get_real(SL_H_dlsym);
	void *p = real(handle, name);

	/* The library's loading may not have been intercepted. */
	if (p)
		sl_gpu_scan_all();
	return entry_for(p);
}

static void *gpu_dlvsym(void *handle, const char *name, const char *version)
{
	void *(*real)(void *, const char *, const char *) = sl_get_real(SL_H_dlvsym);
	void *p = real(handle, name, version);

	if (p)
		sl_gpu_scan_all();
	return entry_for(p);
}

static void *absent(void)
{
	errno = ENOSYS;
	return NULL;
}

/*
 * RTLD_DEFAULT and RTLD_NEXT depend on the caller, so these calls are passed on unchanged, as are those of the tracer's
 * own libraries. A forked child has the entries of its parent before its first traced call.
 */
static bool is_plain(const void *handle, const char *name, const void *caller)
{
	return handle == RTLD_DEFAULT || handle == RTLD_NEXT || !may_be_gpu(name) ||
	       (sl_proc.cookie < SL_COOKIE_FIRST && !sl_gpu_state) ||
	       sl_gpu_is_inside(caller, false);
}

JUMP_PLAN(sl_plan_dlsym, (const void *handle, const char *name, const void *caller))
{
	void *real = sl_get_real(SL_H_dlsym);

	if (!real)
		return (void *)absent;
	return is_plain(handle, name, caller) ? real : (void *)gpu_dlsym;
}
JUMP_STUB(dlsym, sl_plan_dlsym);

JUMP_PLAN(sl_plan_dlvsym, (const void *handle, const char *name, const void *caller))
{
	void *real = sl_get_real(SL_H_dlvsym);

	if (!real)
		return (void *)absent;
	return is_plain(handle, name, caller) ? real : (void *)gpu_dlvsym;
}
JUMP_STUB(dlvsym, sl_plan_dlvsym);

/* ---- CUDA's queries: the second argument points to the result ---- */

/*
 * cuInit for the runtime, also for the one that is linked into cuBLAS, cuDNN and the like: CUPTI must be there before.
 * Not earlier: a process that only asks for addresses may fork children that use CUDA, which cuInit rules out.
 */
static int first_init(unsigned flags)
{
	int (*real)(unsigned) = sl_gpu_state[SL_G_cuInit].real;
	int rc;

	sl_gpu_start_cupti();
	rc = real(flags);
	sl_gpu_after_init();
	return rc;
}

static void exchange(void **answer, const void *caller)
{
	if (!answer || !*answer || sl_gpu_is_inside(caller, false))
		return;
	/* The runtime's calls into the driver are not the program's. */
	if (!sl_gpu_is_inside(caller, true))
		*answer = entry_for(*answer);
	else if (*answer == sl_gpu_state[SL_G_cuInit].real)
		*answer = (void *)first_init;
}

static int get_proc_address(const char *symbol, void **function, int version, uint64_t flags)
{
	int (*real)(const char *, void **, int, uint64_t) =
		sl_gpu_state[SL_G_cuGetProcAddress].real;
	int rc = real(symbol, function, version, flags);

	if (rc == 0)
		exchange(function, __builtin_return_address(0));
	return rc;
}

static int get_proc_address_v2(const char *symbol, void **function, int version, uint64_t flags,
			       int *status)
{
	int (*real)(const char *, void **, int, uint64_t, int *) =
		sl_gpu_state[SL_G_cuGetProcAddress_v2].real;
	int rc = real(symbol, function, version, flags, status);

	if (rc == 0)
		exchange(function, __builtin_return_address(0));
	return rc;
}

/* The fourth argument is of CUDA 12; before, its register has any value, and the function does not read it. */
#define ENTRY_POINT(name)                                                              \
	static int special_##name(const char *symbol, void **function, uint64_t flags, \
				  int *status)                                         \
	{                                                                              \
		int (*real)(const char *, void **, uint64_t, int *) =                  \
			sl_gpu_state[SL_G_##name].real;                                \
		int rc = real(symbol, function, flags, status);                        \
		if (rc == 0)                                                           \
			exchange(function, __builtin_return_address(0));               \
		return rc;                                                             \
	}
ENTRY_POINT(cudaGetDriverEntryPoint)
ENTRY_POINT(cudaGetDriverEntryPoint_ptsz)

#define ENTRY_POINT_BY_VERSION(name)                                                     \
	static int special_##name(const char *symbol, void **function, unsigned version, \
				  uint64_t flags, int *status)                           \
	{                                                                                \
		int (*real)(const char *, void **, unsigned, uint64_t, int *) =          \
			sl_gpu_state[SL_G_##name].real;                                  \
		int rc = real(symbol, function, version, flags, status);                 \
		if (rc == 0)                                                             \
			exchange(function, __builtin_return_address(0));                 \
		return rc;                                                               \
	}
ENTRY_POINT_BY_VERSION(cudaGetDriverEntryPointByVersion)
ENTRY_POINT_BY_VERSION(cudaGetDriverEntryPointByVersion_ptsz)

void *sl_gpu_special(unsigned number)
{
	switch (number) {
	case SL_G_cuGetProcAddress:
		return (void *)get_proc_address;
	case SL_G_cuGetProcAddress_v2:
		return (void *)get_proc_address_v2;
	case SL_G_cudaGetDriverEntryPoint:
		return (void *)special_cudaGetDriverEntryPoint;
	case SL_G_cudaGetDriverEntryPoint_ptsz:
		return (void *)special_cudaGetDriverEntryPoint_ptsz;
	case SL_G_cudaGetDriverEntryPointByVersion:
		return (void *)special_cudaGetDriverEntryPointByVersion;
	case SL_G_cudaGetDriverEntryPointByVersion_ptsz:
		return (void *)special_cudaGetDriverEntryPointByVersion_ptsz;
	default:
		return sl_gpu_profiler(number);
	}
}

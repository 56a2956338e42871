/*
 * wrap_env.c - getenv(): replaces the values of NVTX_INJECTION64_PATH (nvtx.c) and PYTHONPATH (python.c) for the caller,
 * so that the environment itself stays unchanged for the program and its children.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "preload/base/object.h"
#include "preload/core/hook.h"
#include "preload/nvtx/nvtx.h"
#include "preload/python/python_api.h"
#include "preload/wire/sys.h"

static char *real_getenv(const char *name)
{
	static char *(*real)(const char *);
	char *(*f)(const char *) = __atomic_load_n(&real, __ATOMIC_RELAXED);

	if (sl_unlikely(!f)) {
		f = (char *(*)(const char *))sl_object_next("getenv");
		__atomic_store_n(&real, f, __ATOMIC_RELAXED);
	}
	return f ? f(name) : NULL;
}

/*
 * IFUNC resolvers run while the loader still relocates, and some call getenv(). No function of another object can be
 * called then, string functions included; the kernel has a copy of the environment.
 */
static char *early_getenv(const char *name)
{
	enum {
		ROOM = 1 << 21
	};
	long fd = sl_sys4(SYS_openat, AT_FDCWD, "/proc/self/environ", O_RDONLY | O_CLOEXEC, 0);
	long at = sl_sys6(SYS_mmap, 0, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	bool ok = fd >= 0 && !(at < 0 && at > -4096);
	long got = 0, n = 0;

	while (ok && got < ROOM - 1 && (n = sl_sys3(SYS_read, fd, at + got, ROOM - 1 - got)) > 0)
		got += n;
	if (fd >= 0)
		sl_sys1(SYS_close, fd);
	for (char *p = (char *)at, *end = p + got; ok && p < end; p++) {
		long i = 0;

		while (name[i] && p[i] == name[i])
			i++;
		if (!name[i] && p[i] == '=')
			return p + i + 1;
		while (*p)
			p++;
	}
	if (ok)
		sl_sys2(SYS_munmap, at, ROOM);
	return NULL;
}

SL_WRAPPER(char *, getenv, (const char *name))
{
	/* Holds its own address once this library has been relocated. */
	static const volatile void *volatile relocated = &relocated;
	const char *path;

	if (sl_unlikely(relocated != &relocated))
		return early_getenv(name);
	if (sl_unlikely(name[0] == 'N' && name[1] == 'V') && (path = sl_nvtx_env(name)))
		return (char *)(uintptr_t)path;
	if (sl_unlikely(name[0] == 'P' && name[1] == 'Y' && strcmp(name, "PYTHONPATH") == 0))
		return sl_python_path(real_getenv(name));
	return real_getenv(name);
}

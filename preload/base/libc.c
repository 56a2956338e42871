/*
 * libc.c - functions of the C library that the shim needs, called at their addresses in libc itself: hidden functions of
 * the same names, so that no other definition can come in between.
 *
 * Sanitizers and the program may define these functions, and are not ready when their own set-up calls the shim. The
 * loader's list of objects is read without its lock until libc is found, which is never unloaded.
 */
#include "preload/base/libc.h"

#include <dirent.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>

#include "preload/base/object.h"
#include "preload/base/compiler.h"
#include "preload/wire/sys.h"

#define OWN __attribute__((visibility("hidden")))

/* The loader's list of objects: glibc's, and a pointer to the same structure in musl. */
extern struct r_debug _r_debug __attribute__((weak));
extern struct r_debug *_dl_debug_addr __attribute__((weak));

/* Of libc and of the loader; each address is published by itself, and is the same whichever thread finds it. */
static struct {
	int (*iterate)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
	unsigned long (*auxval)(unsigned long);
	pthread_t (*self)(void);
	int (*dirfd)(DIR *);
	int (*at_exit)(void (*)(void *), void *, void *);
	const char *(*version)(void);
} libc;
static int (*vdso_clock)(clockid_t, struct timespec *);

/* "libc.so.6"; musl's is "libc.musl-x86_64.so.1", or has no name of its own and is the loader. */
static bool is_libc(const struct sl_object *o, const struct link_map *m)
{
	return o->soname ? strncmp(o->soname, "libc.", 5) == 0
			 : m->l_name && strstr(m->l_name, "ld-musl");
}

static const struct link_map *open_libc(struct sl_object *o)
{
	const struct r_debug *list = &_r_debug         ? &_r_debug
				     : &_dl_debug_addr ? _dl_debug_addr
						       : NULL;

	for (const struct link_map *m = list ? list->r_map : NULL; m; m = m->l_next)
		if (m->l_ld && sl_object_of(o, m->l_addr, m->l_ld) && is_libc(o, m))
			return m;
	return NULL;
}

const struct link_map *sl_libc_map(void)
{
	struct sl_object o;

	return open_libc(&o);
}

static bool find(const char *name, void *to)
{
	struct sl_object o;
	void *p = open_libc(&o) ? sl_object_find(&o, name) : NULL;

	if (p)
		__atomic_store_n((void **)to, p, __ATOMIC_RELAXED);
	return p != NULL;
}
#define LIBC(member, name) \
	(__atomic_load_n(&libc.member, __ATOMIC_RELAXED) || find(name, (void *)&libc.member))

const char *sl_glibc_version(void)
{
	return LIBC(version, "gnu_get_libc_version") ? libc.version() : NULL;
}

OWN SL_ALIGNS_STACK int dl_iterate_phdr(int (*visit)(struct dl_phdr_info *, size_t, void *),
					void *arg)
{
	return LIBC(iterate, "dl_iterate_phdr") ? libc.iterate(visit, arg) : 0;
}

OWN SL_ALIGNS_STACK unsigned long getauxval(unsigned long type)
{
	return LIBC(auxval, "getauxval") ? libc.auxval(type) : 0;
}

OWN pthread_t pthread_self(void)
{
	return LIBC(self, "pthread_self") ? libc.self() : 0;
}

OWN SL_ALIGNS_STACK int dirfd(DIR *dir)
{
	return LIBC(dirfd, "dirfd") ? libc.dirfd(dir) : -1;
}

OWN int __cxa_atexit(void (*function)(void *), void *arg, void *dso);
OWN SL_ALIGNS_STACK int __cxa_atexit(void (*function)(void *), void *arg, void *dso)
{
	return LIBC(at_exit, "__cxa_atexit") ? libc.at_exit(function, arg, dso) : -1;
}

/* ---- the clock: the kernel's own function, in the vDSO ---- */

void sl_libc_start(void)
{
	static const char *const names[] = {"__vdso_clock_gettime", "__kernel_clock_gettime"};
	const ElfW(Ehdr) *e = (const ElfW(Ehdr) *)getauxval(AT_SYSINFO_EHDR);
	struct dl_phdr_info info = {0};
	struct sl_object o;

	if (!e)
		return;
	info.dlpi_phdr = (const ElfW(Phdr) *)((const char *)e + e->e_phoff);
	info.dlpi_phnum = e->e_phnum;
	for (int i = 0; i < info.dlpi_phnum; i++)
		if (info.dlpi_phdr[i].p_type == PT_LOAD) {
			info.dlpi_addr = (ElfW(Addr))e + info.dlpi_phdr[i].p_offset -
					 info.dlpi_phdr[i].p_vaddr;
			break;
		}
	if (!sl_object_open(&o, &info))
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !vdso_clock; i++)
		vdso_clock = (int (*)(clockid_t, struct timespec *))(uintptr_t)sl_object_find(
			&o, names[i]);
}

OWN int clock_gettime(clockid_t clock, struct timespec *to)
{
	if (sl_likely(vdso_clock != NULL) && vdso_clock(clock, to) == 0)
		return 0;
	return (int)sl_sys2(SYS_clock_gettime, clock, to);
}

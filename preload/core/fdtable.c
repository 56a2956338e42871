/*
 * fdtable.c - table of descriptors: a serial number for each, which the collector maps to a path.
 *
 * An entry is set by the call that opens the descriptor (open, dup, accept, ...), or else on first use
 * (inherited, received, opened inside libc) by one readlink of /proc/self/fd. Calls that close a
 * descriptor clear its entry. The table is ordinary memory: a forked child inherits it like the
 * descriptors.
 */
#include "preload/core/hook.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "preload/base/valgrind.h"
#include "preload/wire/sys.h"

#define FAR_BITS 10u
#define FAR_CNT  1023u /* blocks beyond the first: a million descriptors in all */

uint32_t sl_fd_near[SL_FD_NEAR];
static SL_APART uint32_t *far_blocks[FAR_CNT];

/* The entry of @fd; NULL: out of range, or not allocated yet and not @make. */
static uint32_t *entry(int fd, bool make)
{
	unsigned block = ((unsigned)fd >> FAR_BITS) - 1;
	uint32_t *p, *none = NULL;

	if (fd < 0)
		return NULL;
	if ((unsigned)fd < SL_FD_NEAR)
		return &sl_fd_near[fd];
	if (block >= FAR_CNT)
		return NULL;
	p = __atomic_load_n(&far_blocks[block], __ATOMIC_ACQUIRE);
	if (!p && make) {
		long m = sl_sys6(SYS_mmap, 0, 4u << FAR_BITS, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (m < 0 && m > -4096)
			return NULL;
		sl_valgrind_ignore((void *)m, 4u << FAR_BITS);
		p = (uint32_t *)m;
		if (!__atomic_compare_exchange_n(&far_blocks[block], &none, p, 0, __ATOMIC_RELEASE,
						 __ATOMIC_ACQUIRE)) {
			sl_sys2(SYS_munmap, m, 4u << FAR_BITS);
			p = none;
		}
	}
	return p ? &p[fd & ((1u << FAR_BITS) - 1)] : NULL;
}

uint32_t sl_fd_new_serial(void)
{
	uint32_t serial;

	if (!sl_global.arena)
		return 0;
	serial = __atomic_add_fetch(&sl_global.arena->file_serial, 1, __ATOMIC_RELAXED);
	/* After two billion files: one for all of the others, which has no name. */
	return serial < SL_FILE_STREAM ? serial : SL_FILE_STREAM - 2;
}

void sl_fd_set(int fd, uint32_t serial)
{
	uint32_t *e = entry(fd, serial != 0);

	if (e)
		__atomic_store_n(e, serial, __ATOMIC_RELAXED);
}

uint32_t sl_fd_take(int fd)
{
	uint32_t *e = entry(fd, false);

	return e ? __atomic_exchange_n(e, 0, __ATOMIC_RELAXED) : 0;
}

void sl_fd_clear_range(unsigned first, unsigned last)
{
	unsigned end = (FAR_CNT + 1) << FAR_BITS;

	for (unsigned fd = first; fd <= last && fd < end;) {
		uint32_t *e = entry((int)fd, false);

		if (!e) {
			fd = ((fd >> FAR_BITS) + 1) << FAR_BITS;
			continue;
		}
		__atomic_store_n(e, 0, __ATOMIC_RELAXED);
		fd++;
	}
}

long sl_fd_link(int fd, char *target, size_t room)
{
	char link[40] = "/proc/self/fd/";

	sl_put_number(link + strlen(link), (unsigned)fd);
	return sl_sys4(SYS_readlinkat, AT_FDCWD, link, target, room);
}

/* An address of a socket; none for Unix's own ones: they have none, or the path that names the peer of the others. */
static size_t make_address(long nr, int fd, char *to, size_t room)
{
	struct sockaddr *address = (struct sockaddr *)(void *)to;
	uint32_t len = sizeof(struct sockaddr_storage);

	if (room < len)
		return SL_MADE_CUT;
	address->sa_family = AF_UNSPEC;
	if (sl_sys3(nr, fd, to, &len) < 0 || len <= 2 || len > sizeof(struct sockaddr_storage) ||
	    (nr == SYS_getsockname && address->sa_family == AF_UNIX))
		return SL_MADE_NONE;
	return len;
}

static size_t make_local(const void *what, char *to, size_t room)
{
	return make_address(SYS_getsockname, *(const int *)what, to, room);
}

static size_t make_peer(const void *what, char *to, size_t room)
{
	return make_address(SYS_getpeername, *(const int *)what, to, room);
}

void sl_fd_local(int fd, uint32_t serial)
{
	uint64_t word = sl_fd_serial(fd, serial);

	if (!sl_global.seccomp)
		sl_meta_made(SL_META_LOCAL, sl_ticks(), &word, 1, make_local, &fd);
}

#define LINK_MAX 512u /* bytes of a name that are recorded */

static size_t make_link(const void *what, char *to, size_t room)
{
	long n = sl_fd_link(*(const int *)what, to, room < LINK_MAX ? room : LINK_MAX);

	if (n < 0)
		return 0;
	return (size_t)n < room || room >= LINK_MAX ? (size_t)n : SL_MADE_CUT;
}

uint32_t sl_fd_serial_slow(int fd)
{
	uint32_t serial, none = 0, *e;
	char begin[8] = "";
	uint64_t word[2] = {0}; /* no call opened it */

	if (fd < 0 || sl_global.seccomp)
		return 0;
	e = entry(fd, true);
	if (!e)
		return 0;
	serial = __atomic_load_n(e, __ATOMIC_RELAXED);
	if (serial)
		return serial;
	if (sl_fd_link(fd, begin, 7) <= 0)
		return 0;
	serial = sl_fd_new_serial();
	/* Another thread may do the same concurrently: the first serial is kept. */
	if (!__atomic_compare_exchange_n(e, &none, serial, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return none;
	word[0] = sl_fd_serial(fd, serial);
	if (memcmp(begin, "socket:", 7) == 0 &&
	    sl_meta_made(SL_META_SOCKET, sl_ticks(), word, 2, make_peer, &fd))
		sl_fd_local(fd, serial);
	else
		sl_meta_made(SL_META_FILE, sl_ticks(), word, 2, make_link, &fd);
	return serial;
}

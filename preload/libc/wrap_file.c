/*
 * wrap_file.c - calls on files and descriptors that a table line cannot express: variadic ones, and
 * those that open, duplicate or close descriptors.
 */
#include "preload/libc/wrap.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "preload/base/readable.h"
#include "preload/core/seccomp.h"
#include "preload/wire/sys.h"

uint64_t sl_iov_bytes(const struct iovec *v, int cnt)
{
	uint64_t n = 0;

	for (int i = 0; i < cnt && i < 1024; i++)
		n += v[i].iov_len;
	return n;
}

const char *sl_safe_path(bool failed, const char *path)
{
	if ((uintptr_t)path < 65536)
		return NULL;
	if (!failed)
		return path;
	/* Errors of path lookup: the kernel has copied the whole path before it returns them. */
	switch (errno) {
	case ENOENT:
	case ENOTDIR:
	case EACCES:
	case EEXIST:
	case ELOOP:
	case EISDIR:
	case ENOTEMPTY:
	case EXDEV:
	case EROFS:
	case ETXTBSY:
	case ENXIO:
	case ENODEV:
	case EBUSY:
	case EMLINK:
	case ENOSPC:
		return path;
	default:
		return NULL;
	}
}

const char *sl_probed_path(const char *path)
{
	struct sl_readable r = {0};

	if (!path || sl_seccomp_kills_start())
		return NULL;
	return sl_readable_len(&r, path, 32 * 4096) == SIZE_MAX ? NULL : path;
}

void sl_fd_unrecorded(int fd)
{
	/* A vfork child shares the parent's table, but not its descriptors. */
	if (fd >= 0 && sl_tls.cookie != SL_COOKIE_VFORK)
		sl_fd_set(fd, 0);
}

struct relative {
	int fd, dir;
	const char *path;
};

/* The path made absolute: by the cached working directory, else by readlink of the descriptor in /proc. */
static size_t make_absolute(const void *what, char *to, size_t room)
{
	const struct relative *r = what;
	size_t len;
	long n;

	if (r->dir == AT_FDCWD && sl_cwd_join(r->path, to, room))
		return strlen(to);
	n = sl_fd_link(r->fd, to, room);
	if (n > 0)
		return (size_t)n < room ? (size_t)n : SL_MADE_CUT;
	len = strlen(r->path);
	if (len > room)
		return SL_MADE_CUT;
	memcpy(to, r->path, len);
	return len;
}

void sl_leave_open(const struct sl_call *call, enum sl_hook hook, int64_t ret, bool failed, int fd,
		   int dir, const char *path)
{
	uint32_t serial;

	path = sl_safe_path(failed, path);
	if (failed || fd < 0) {
		sl_leave_path(call, hook, ret, failed, -1, 0, path);
		return;
	}
	serial = sl_fd_new_serial();
	if (path && path[0] != '/' && !sl_global.seccomp)
		sl_leave_made(call, hook, ret, sl_fd_serial(fd, serial), make_absolute,
			      &(struct relative){fd, dir, path});
	else
		sl_leave_path(call, hook, ret, false, fd, serial, path);
	/* After the record that has its path. */
	sl_fd_set(fd, serial);
}

/* The mode is an argument only with these flags. */
#define OPEN_MODE(flags)                                             \
	unsigned mode = 0;                                           \
	if (((flags)&O_CREAT) || ((flags)&O_TMPFILE) == O_TMPFILE) { \
		va_list ap;                                          \
		va_start(ap, flags);                                 \
		mode = va_arg(ap, unsigned);                         \
		va_end(ap);                                          \
	}
#define WRAP_OPEN(name, params, proto, args, dir)                        \
	SL_OPENING_VARIADIC(name, params, proto, args, OPEN_MODE(flags), \
			    sl_leave_open(&call, SL_H_##name, rc, rc == -1, rc, dir, path))
WRAP_OPEN(open, (const char *path, int flags, ...), (const char *, int, ...), (path, flags, mode),
	  AT_FDCWD)
WRAP_OPEN(open64, (const char *path, int flags, ...), (const char *, int, ...), (path, flags, mode),
	  AT_FDCWD)
WRAP_OPEN(openat, (int dir, const char *path, int flags, ...), (int, const char *, int, ...),
	  (dir, path, flags, mode), dir)
WRAP_OPEN(openat64, (int dir, const char *path, int flags, ...), (int, const char *, int, ...),
	  (dir, path, flags, mode), dir)

SL_CLOSING(close)

/* Records the close of each descriptor of a range. */
static void end_range(unsigned first, unsigned last)
{
	uint64_t now = sl_ticks();

	for (unsigned fd = first; fd <= last && fd < SL_FD_NEAR; fd++) {
		uint32_t serial = __atomic_exchange_n(&sl_fd_near[fd], 0, __ATOMIC_RELAXED);
		uint64_t word = sl_fd_serial((int)fd, serial);

		if (serial)
			sl_meta(SL_META_CLOSE, now, &word, 1, NULL, 0);
	}
	sl_fd_clear_range(first, last);
}

SL_WRAPPER(int, close_range, (unsigned first, unsigned last, int flags))
{
	SL_REAL(NEG, int, close_range, (unsigned, unsigned, int));
	struct sl_call call;
	int rc;

	if (!sl_enter(&call))
		return real(first, last, flags);
	rc = real(first, last, flags);
	sl_stop(&call);
	/* CLOSE_RANGE_CLOEXEC (4) closes nothing now. */
	if (rc == 0 && !(flags & 4))
		end_range(first, last);
	sl_leave_call(&call, SL_H_close_range, rc, rc == -1);
	return rc;
}

SL_WRAPPER(void, closefrom, (int first))
{
	void (*real)(int) = sl_get_real(SL_H_closefrom);
	struct sl_call call;

	if (!real)
		return;
	if (!sl_enter(&call)) {
		real(first);
		return;
	}
	real(first);
	sl_stop(&call);
	end_range(first < 0 ? 0 : (unsigned)first, UINT32_MAX);
	sl_leave_call(&call, SL_H_closefrom, 0, false);
}

/* @to: the duplicate of @fd, or -1. */
static void leave_dup(const struct sl_call *call, enum sl_hook hook, int rc, int fd,
		      uint32_t serial)
{
	uint32_t fresh = 0;

	if (rc >= 0 && rc != fd && serial)
		fresh = sl_fd_new_serial();
	sl_leave_dup(call, hook, rc, rc == -1, fd, serial, fresh);
	if (rc >= 0 && rc != fd)
		sl_fd_set(rc, fresh);
}

/* Records the close of the descriptor that dup2 or dup3 replaces. */
static void end_target(int fd, int to)
{
	uint64_t word;
	uint32_t serial;

	if (to < 0 || fd == to)
		return;
	serial = sl_fd_take(to);
	word = sl_fd_serial(to, serial);
	if (serial)
		sl_meta(SL_META_CLOSE, sl_ticks(), &word, 1, NULL, 0);
}

SL_WRAPPER(int, dup, (int fd))
{
	SL_REAL(NEG, int, dup, (int));
	struct sl_call call;
	int rc;

	if (!sl_enter(&call)) {
		rc = real(fd);
		sl_fd_unrecorded(rc);
		return rc;
	}
	rc = real(fd);
	sl_stop(&call);
	leave_dup(&call, SL_H_dup, rc, fd, sl_fd_get(fd));
	return rc;
}

SL_WRAPPER(int, dup2, (int fd, int to))
{
	SL_REAL(NEG, int, dup2, (int, int));
	struct sl_call call;
	int rc;

	if (!sl_enter(&call)) {
		rc = real(fd, to);
		sl_fd_unrecorded(rc);
		return rc;
	}
	rc = real(fd, to);
	sl_stop(&call);
	if (rc >= 0)
		end_target(fd, to);
	leave_dup(&call, SL_H_dup2, rc, fd, sl_fd_get(fd));
	return rc;
}

SL_WRAPPER(int, dup3, (int fd, int to, int flags))
{
	SL_REAL(NEG, int, dup3, (int, int, int));
	struct sl_call call;
	int rc;

	if (!sl_enter(&call)) {
		rc = real(fd, to, flags);
		sl_fd_unrecorded(rc);
		return rc;
	}
	rc = real(fd, to, flags);
	sl_stop(&call);
	if (rc >= 0)
		end_target(fd, to);
	leave_dup(&call, SL_H_dup3, rc, fd, sl_fd_get(fd));
	return rc;
}

/* One pointer-sized word follows the command, or nothing: libc, too, reads it in any case. */
#define WRAP_FCNTL(name)                                                      \
	SL_WRAPPER(int, name, (int fd, int cmd, ...))                         \
	{                                                                     \
		SL_REAL(NEG, int, name, (int, int, ...));                     \
		bool dups = cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC;         \
		struct sl_call call;                                          \
		va_list ap;                                                   \
		void *arg;                                                    \
		int rc;                                                       \
		va_start(ap, cmd);                                            \
		arg = va_arg(ap, void *);                                     \
		va_end(ap);                                                   \
		if (!sl_enter(&call)) {                                       \
			rc = real(fd, cmd, arg);                              \
			if (dups)                                             \
				sl_fd_unrecorded(rc);                         \
			return rc;                                            \
		}                                                             \
		rc = real(fd, cmd, arg);                                      \
		sl_stop(&call);                                               \
		if (dups)                                                     \
			leave_dup(&call, SL_H_##name, rc, fd, sl_fd_get(fd)); \
		else                                                          \
			sl_leave_fd(&call, SL_H_##name, rc, rc == -1, fd);    \
		return rc;                                                    \
	}
WRAP_FCNTL(fcntl)
WRAP_FCNTL(fcntl64)

SL_WRAPPER(int, ioctl, (int fd, unsigned long request, ...))
{
	SL_REAL(NEG, int, ioctl, (int, unsigned long, ...));
	struct sl_call call;
	va_list ap;
	void *arg;
	int rc;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (!sl_enter(&call))
		return real(fd, request, arg);
	rc = real(fd, request, arg);
	sl_stop(&call);
	sl_leave_fd(&call, SL_H_ioctl, rc, rc == -1, fd);
	return rc;
}

/* Calls that open two descriptors. */
#define WRAP_PAIR(name, params, args, fds)                               \
	SL_WRAPPER(int, name, params)                                    \
	{                                                                \
		SL_REAL(NEG, int, name, params);                         \
		struct sl_call call;                                     \
		bool traced = sl_enter(&call);                           \
		int rc = real args;                                      \
		if (traced)                                              \
			sl_stop(&call);                                  \
		if (rc == 0) {                                           \
			sl_fd_unrecorded((fds)[0]);                      \
			sl_fd_unrecorded((fds)[1]);                      \
		}                                                        \
		if (traced)                                              \
			sl_leave_call(&call, SL_H_##name, rc, rc == -1); \
		return rc;                                               \
	}
WRAP_PAIR(pipe, (int *fds), (fds), fds)
WRAP_PAIR(pipe2, (int *fds, int flags), (fds, flags), fds)
WRAP_PAIR(socketpair, (int domain, int type, int protocol, int *fds), (domain, type, protocol, fds),
	  fds)

SL_WRAPPER(int, signalfd, (int fd, const void *mask, int flags))
{
	SL_REAL(NEG, int, signalfd, (int, const void *, int));
	struct sl_call call;
	bool traced = sl_enter(&call);
	int rc = real(fd, mask, flags);

	if (traced)
		sl_stop(&call);
	if (fd == -1)
		sl_fd_unrecorded(rc);
	if (traced)
		sl_leave_call(&call, SL_H_signalfd, rc, rc == -1);
	return rc;
}

/* ---- directories ---- */

SL_WRAPPER(DIR *, opendir, (const char *path))
{
	SL_REAL(NUL, DIR *, opendir, (const char *));
	struct sl_call call;
	DIR *rc;

	if (!sl_enter(&call))
		return real(path);
	rc = real(path);
	sl_stop(&call);
	sl_leave_open(&call, SL_H_opendir, SL_INT(rc), !rc, rc ? dirfd(rc) : -1, AT_FDCWD, path);
	return rc;
}

SL_WRAPPER(DIR *, fdopendir, (int fd))
{
	SL_REAL(NUL, DIR *, fdopendir, (int));
	struct sl_call call;
	DIR *rc;

	if (!sl_enter(&call))
		return real(fd);
	rc = real(fd);
	sl_stop(&call);
	sl_leave_fd(&call, SL_H_fdopendir, SL_INT(rc), !rc, fd);
	return rc;
}

SL_WRAPPER(int, closedir, (DIR * dir))
{
	SL_REAL(NEG, int, closedir, (DIR *));
	struct sl_call call;
	uint32_t serial;
	int fd, rc;

	if (!sl_enter(&call))
		return real(dir);
	fd = dir ? dirfd(dir) : -1;
	serial = sl_fd_take(fd);
	rc = real(dir);
	sl_stop(&call);
	sl_leave_close(&call, SL_H_closedir, rc, rc == -1, fd, serial);
	return rc;
}

/* ---- memory ---- */

#define WRAP_MMAP(name, off_type)                                                                \
	SL_WRAPPER(void *, name, (void *p, size_t n, int prot, int flags, int fd, off_type off)) \
	{                                                                                        \
		SL_REAL(NEG, void *, name, (void *, size_t, int, int, int, off_type));           \
		struct sl_call call;                                                             \
		void *rc;                                                                        \
		if (!sl_enter(&call))                                                            \
			return real(p, n, prot, flags, fd, off);                                 \
		rc = real(p, n, prot, flags, fd, off);                                           \
		sl_stop(&call);                                                                  \
		sl_leave_fd(&call, SL_H_##name, SL_INT(rc), SL_FAILED_NEG(rc), fd);              \
		return rc;                                                                       \
	}
WRAP_MMAP(mmap, off_t)
WRAP_MMAP(mmap64, off64_t)

SL_WRAPPER(void *, mremap, (void *p, size_t old, size_t n, int flags, ...))
{
	SL_REAL(NEG, void *, mremap, (void *, size_t, size_t, int, ...));
	struct sl_call call;
	va_list ap;
	void *to, *rc;

	va_start(ap, flags);
	to = va_arg(ap, void *);
	va_end(ap);
	if (!sl_enter(&call))
		return real(p, old, n, flags, to);
	rc = real(p, old, n, flags, to);
	sl_stop(&call);
	sl_leave_call(&call, SL_H_mremap, SL_INT(rc), SL_FAILED_NEG(rc));
	return rc;
}

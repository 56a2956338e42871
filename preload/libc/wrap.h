/*
 * wrap.h - shared by the wrappers of libc: detection of failures, results where libc has no such
 * function, and the prologue of hand-written wrappers.
 *
 * Wrappers have C names of their own (sl_w_NAME) and the hooked name as their symbol (SL_WRAPPER), so
 * that prototypes and attributes of system headers do not conflict.
 */
#pragma once

#include <fcntl.h>
#include <dirent.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <wchar.h>

#include "preload/core/hook.h"

/* Whether @rc means failure. For NUM it is the error number, which the record has as the value. */
#define SL_FAILED_NEG(rc) ((int64_t)(intptr_t)(rc) == -1)
#define SL_FAILED_CNT(rc) SL_FAILED_NEG(rc)
#define SL_FAILED_NUL(rc) ((intptr_t)(rc) == 0)
#define SL_FAILED_NUM(rc) ((void)(rc), false)
#define SL_FAILED_END(rc) ((int64_t)(intptr_t)(rc) == -1)
#define SL_FAILED_NEV(rc) ((void)(rc), false)

#define SL_ABSENT_NEG (errno = ENOSYS, -1)
#define SL_ABSENT_CNT SL_ABSENT_NEG
#define SL_ABSENT_NUL (errno = ENOSYS, 0)
#define SL_ABSENT_NUM (ENOSYS)
#define SL_ABSENT_END (errno = ENOSYS, -1)
#define SL_ABSENT_NEV (errno = ENOSYS, 0)

#define SL_INT(rc) ((int64_t)(intptr_t)(rc))

/* Of a function that reads or writes: the totals by file that it counts in. */
#define SL_WAY(op)   (SL_IO_OF_##op == SL_IO_WRITE ? SL_FILE_WRITE : SL_FILE_READ)
#define SL_MOVES(op) (SL_IO_OF_##op == SL_IO_READ || SL_IO_OF_##op == SL_IO_WRITE)

/*
 * SL_WRAPPER for cheap functions: while the gate is closed, the wrapper tail-calls the real function. The body that
 * follows runs while the gate is open, and begins with sl_enter_open().
 */
#define SL_THIN_WRAPPER(ret, name, params, args) \
	SL_THIN_WRAPPER_UNLESS(false, ret, name, params, args)
/* The same, but if @wanted the body runs in any case, and checks the gate itself. */
#define SL_THIN_WRAPPER_UNLESS(wanted, ret, name, params, args)     \
	static __attribute__((noinline)) ret sl_open_##name params; \
	SL_WRAPPER(ret, name, params)                               \
	{                                                           \
		if (sl_is_closed() && !(wanted)) {                  \
			ret(*real) params = sl_real[SL_H_##name];   \
			if (sl_likely(real))                        \
				return real args;                   \
		}                                                   \
		return sl_open_##name args;                         \
	}                                                           \
	static ret sl_open_##name params

/* Prologue of a hand-written wrapper: defines `real`; returns the failure of @fail where libc has no such function. */
#define SL_REAL(fail, ret, name, params)              \
	ret(*real) params = sl_get_real(SL_H_##name); \
	if (sl_unlikely(!real))                       \
	return (ret)(intptr_t)SL_ABSENT_##fail

#pragma GCC visibility push(hidden)

/* As fileno(3); -1 for streams on memory or cookies (glibc's _IO_IS_FILEBUF, part of its ABI). */
static inline int sl_fileno(const FILE *f)
{
	return f && f->_flags & 0x2000 ? f->_fileno : -1;
}

/* The same for a stream that other threads may be using; unknown (-1) where that would be reported as a race. */
static inline int sl_stream_fd(const FILE *f)
{
	return sl_unlikely(sl_global.is_opaque) ? -1 : sl_fileno(f);
}

/*
 * The arguments of a failed call may be invalid pointers: where the kernel returns EFAULT, the wrapper would
 * crash. Vectors and offsets are read only after success, paths through sl_safe_path() or sl_probed_path().
 */
uint64_t sl_iov_bytes(const struct iovec *v, int cnt);
#define SL_IOV(v, cnt)        (rc < 0 ? 0 : sl_iov_bytes(v, (int)(cnt)))
#define SL_OFFSET_BEFORE(off) (rc < 0 || !(off) ? SL_NO_OFFSET : *(off)-rc)

/* @path if the kernel has certainly read it, else NULL. For calls that read no other argument before the path. */
const char *sl_safe_path(bool failed, const char *path);
/* @path if it can be read, which takes a system call, else NULL: where neither success nor errno proves it. */
const char *sl_probed_path(const char *path);
/* For the kinds of failure (hooks.h). */
#define SL_PATH_NEG(rc, path) sl_safe_path(SL_FAILED_NEG(rc), path)
#define SL_PATH_NUL(rc, path) sl_safe_path(SL_FAILED_NUL(rc), path)
#define SL_PATH_NEV(rc, path) sl_probed_path(path)

/* After a call that was not recorded and opened or closed @fd: forgets its serial. */
void sl_fd_unrecorded(int fd);

/*
 * A call that opened @path as descriptor @fd (-1: failed). @dir: base of a relative path; -1 if the path is not
 * relative to a directory (shm_open).
 */
void sl_leave_open(const struct sl_call *call, enum sl_hook hook, int64_t ret, bool failed, int fd,
		   int dir, const char *path);

/* After an mlockall() that succeeded. */
void sl_unlock_own(int flags);

/* cwd.c: makes the relative @path absolute in @to. NULL: not possible from the cache. */
const char *sl_cwd_join(const char *path, char *to, size_t room);
void sl_cwd_invalidate(void); /* the working directory may have changed */
void sl_cwd_disable(void);    /* disables the cache: changes can no longer be observed */

/* A call on a stream; @fd is its descriptor. */
void sl_leave_stream(const struct sl_call *call, enum sl_hook hook, int64_t ret, bool failed,
		     int fd, uint64_t requested, int64_t done);

/* Records the call whatever its duration: contended locks. @object: its address; @owner: thread that had it, 0 unknown. */
static inline void sl_leave_lock(const struct sl_call *call, enum sl_hook hook, int64_t ret,
				 bool failed, const void *object, uint32_t owner)
{
	uint64_t p[2] = {(uint32_t)sl_result(ret, failed) | (uint64_t)owner << 32,
			 (uint64_t)(uintptr_t)object};

	sl_record(call, hook, SL_SHAPE_LOCK, failed, p, 2);
}

#pragma GCC visibility pop

/*
 * A wrapper whose call opens a descriptor: @... records it; a call that is not recorded clears its serial. @proto: types
 * of the real function, @before: reads variadic arguments.
 */
#define SL_OPENING_VARIADIC(name, params, proto, args, before, ...) \
	SL_WRAPPER(int, name, params)                               \
	{                                                           \
		SL_REAL(NEG, int, name, proto);                     \
		struct sl_call call;                                \
		int rc;                                             \
		before;                                             \
		if (!sl_enter(&call)) {                             \
			rc = real args;                             \
			sl_fd_unrecorded(rc);                       \
			return rc;                                  \
		}                                                   \
		rc = real args;                                     \
		sl_stop(&call);                                     \
		__VA_ARGS__;                                        \
		return rc;                                          \
	}
#define SL_OPENING(name, params, args, ...) \
	SL_OPENING_VARIADIC(name, params, params, args, (void)0, __VA_ARGS__)

/* A wrapper of close() and the like. The serial is read before the call: after it, another thread may get the number. */
#define SL_CLOSING(name)                                                      \
	SL_WRAPPER(int, name, (int fd))                                       \
	{                                                                     \
		SL_REAL(NEG, int, name, (int));                               \
		struct sl_call call;                                          \
		uint32_t serial;                                              \
		int rc;                                                       \
		if (!sl_enter(&call)) {                                       \
			sl_fd_unrecorded(fd);                                 \
			return real(fd);                                      \
		}                                                             \
		serial = sl_fd_take(fd);                                      \
		rc = real(fd);                                                \
		sl_stop(&call);                                               \
		sl_leave_close(&call, SL_H_##name, rc, rc == -1, fd, serial); \
		return rc;                                                    \
	}

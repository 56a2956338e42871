/*
 * wrap.h - what wrappers share: how a failure shows, what to answer when libc has no such function,
 * and the prologue of those written by hand.
 *
 * Wrappers have C names of their own (sl_w_NAME) and get the hooked name as their symbol, so that the
 * system headers' prototypes and attributes never get in the way.
 */
#ifndef SL_WRAP_H
#define SL_WRAP_H

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

/* rc tells failure; for NUM it is the error number itself, which travels as the value. */
#define SL_FAILED_NEG(rc) ((int64_t)(intptr_t)(rc) == -1)
#define SL_FAILED_NUL(rc) ((intptr_t)(rc) == 0)
#define SL_FAILED_NUM(rc) ((void)(rc), false)
#define SL_FAILED_END(rc) ((int64_t)(intptr_t)(rc) == -1)
#define SL_FAILED_NEV(rc) ((void)(rc), false)

#define SL_ABSENT_NEG (errno = ENOSYS, -1)
#define SL_ABSENT_NUL (errno = ENOSYS, 0)
#define SL_ABSENT_NUM (ENOSYS)
#define SL_ABSENT_END (errno = ENOSYS, -1)
#define SL_ABSENT_NEV (errno = ENOSYS, 0)

#define SL_INT(rc) ((int64_t)(intptr_t)(rc))

/*
 * The same for functions that cost little themselves. While nothing is recorded the call goes on to the real function
 * with stack and registers as they are; what follows is the body for when something is, with sl_enter_open().
 */
#define SL_PASSING(ret, name, params, args) SL_PASSING_UNLESS(false, ret, name, params, args)
/* The same, but where @wanted the body is called also then: it asks again whether to record. */
#define SL_PASSING_UNLESS(wanted, ret, name, params, args)          \
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

/* The first lines of a wrapper written by hand: `real`, and the answer when there is none. */
#define SL_REAL(fail, ret, name, params)              \
	ret(*real) params = sl_get_real(SL_H_##name); \
	if (sl_unlikely(!real))                       \
	return (ret)(intptr_t)SL_ABSENT_##fail

#pragma GCC visibility push(hidden)

/* As fileno(3): streams on memory or cookies have none (glibc's _IO_IS_FILEBUF, part of its ABI). */
static inline int sl_fileno(const FILE *f)
{
	return f && f->_flags & 0x2000 ? f->_fileno : -1;
}

/*
 * A failed call may have been given any pointer: where the kernel answers EFAULT, a wrapper that looks
 * would crash. Vectors and offsets are looked at only after success, paths as sl_safe_path() says.
 */
uint64_t sl_iov_bytes(const struct iovec *v, int cnt);
#define SL_IOV(v, cnt)        (rc < 0 ? 0 : sl_iov_bytes(v, (int)(cnt)))
#define SL_OFFSET_BEFORE(off) (rc < 0 || !(off) ? SL_NO_OFFSET : *(off)-rc)

/* @path where it is certain that the kernel has read it, else NULL. */
const char *sl_safe_path(bool failed, const char *path);

/* After a call that was passed through and made or ended @fd: what it meant is no longer known. */
void sl_fd_passed(int fd);

/*
 * A call that made descriptor @fd (-1: failed) of @path. @dir: where a relative one begins; -1 where that is not
 * for the caller to say (shm_open).
 */
void sl_leave_open(const struct sl_call *call, enum sl_hook hook, int64_t ret, bool failed, int fd,
		   int dir, const char *path);

/* cwd.c: @path, relative to the working directory, as an absolute one in @to; NULL: ask the kernel. */
const char *sl_cwd_join(const char *path, char *to, size_t room);
void sl_cwd_forget(void); /* the working directory may have changed */
void sl_cwd_never(void);  /* it may change unseen from now on */

/* stdio: @f's descriptor stands for the file. */
void sl_leave_stream(const struct sl_call *call, enum sl_hook hook, int64_t ret, bool failed,
		     int fd, uint64_t asked, int64_t done);

/* Locks that had to wait are recorded however short the wait. */
static inline void sl_leave_always(const struct sl_call *call, enum sl_hook hook, int64_t ret,
				   bool failed)
{
	uint64_t p[1] = {sl_result(ret, failed)};

	sl_record(call, hook, SL_SHAPE_CALL, failed, p, 1);
}

#pragma GCC visibility pop
#endif

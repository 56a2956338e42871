/*
 * wrappers.c - expands each table line that needs no hand-written wrapper into one. The meaning of a
 * function's arguments is in its line.
 */
#include "preload/libc/wrap.h"

#include <sys/wait.h>
#include <time.h>

/* A wrapper of a cheap function: @... records the call, with its result in rc. */
#define HOOK_AROUND(fail, ret, name, params, args, ...) \
	SL_THIN_WRAPPER(ret, name, params, args)        \
	{                                               \
		SL_REAL(fail, ret, name, params);       \
		struct sl_call call;                    \
		ret rc;                                 \
		if (!sl_enter_open(&call))              \
			return real args;               \
		rc = real args;                         \
		sl_stop(&call);                         \
		__VA_ARGS__;                            \
		return rc;                              \
	}

#define HOOK_CALL(fail, op, waits, ret, name, params, args) \
	HOOK_AROUND(fail, ret, name, params, args,          \
		    sl_leave_call(&call, SL_H_##name, SL_INT(rc), SL_FAILED_##fail(rc)))

#define HOOK_ARG(fail, op, waits, ret, name, params, args, arg)                        \
	HOOK_AROUND(fail, ret, name, params, args,                                     \
		    sl_leave_arg(&call, SL_H_##name, SL_INT(rc), SL_FAILED_##fail(rc), \
				 (int64_t)(arg)))

#define HOOK_FD(fail, op, waits, ret, name, params, args, fd)         \
	HOOK_AROUND(fail, ret, name, params, args,                    \
		    (SL_MOVES(op) ? sl_leave_messages : sl_leave_fd)( \
			    &call, SL_H_##name, SL_INT(rc), SL_FAILED_##fail(rc), fd))

/*
 * The hottest calls. Rare ones, also the first, have a function of their own, which is entered by a jump: in the other one
 * depth and the like are constants.
 */
#define HOOK_IO(op, waits, ret, name, params, args, fd, requested, off)                            \
	static SL_COLD ret sl_rare_##name params                                                   \
	{                                                                                          \
		SL_REAL(NEG, ret, name, params);                                                   \
		struct sl_call call;                                                               \
		ret rc;                                                                            \
		if (!sl_enter_open(&call))                                                         \
			return real args;                                                          \
		rc = real args;                                                                    \
		sl_leave_io_rare(call.start, call.depth, SL_H_##name, rc, fd, requested, off);     \
		return rc;                                                                         \
	}                                                                                          \
	SL_THIN_WRAPPER(ret, name, params, args)                                                   \
	{                                                                                          \
		ret(*real) params = sl_real[SL_H_##name];                                          \
		struct sl_call call;                                                               \
		ret rc;                                                                            \
		if (sl_unlikely(!real || sl_tls.gate != sl_gate() || sl_tls.depth))                \
			return sl_rare_##name args;                                                \
		sl_begin_outermost(&call);                                                         \
		rc = real args;                                                                    \
		if (sl_unlikely(sl_is_rare())) {                                                   \
			sl_leave_io_rare(call.start, 0, SL_H_##name, rc, fd, requested, off);      \
			return rc;                                                                 \
		}                                                                                  \
		sl_stop_outermost(&call);                                                          \
		sl_leave_io(&call, SL_H_##name, SL_WAY(op), rc, rc == -1, fd, requested, rc, off); \
		return rc;                                                                         \
	}

#define HOOK_COPY(name, params, args, in, out, requested, off) \
	HOOK_AROUND(CNT, ssize_t, name, params, args,          \
		    sl_leave_copy(&call, SL_H_##name, rc, in, out, requested, off))

#define HOOK_PATH(fail, op, waits, ret, name, params, args, path)                              \
	HOOK_AROUND(fail, ret, name, params, args,                                             \
		    sl_leave_path(&call, SL_H_##name, SL_INT(rc), SL_FAILED_##fail(rc), -1, 0, \
				  SL_PATH_##fail(rc, path)))

#define HOOK_STREAM(fail, op, ret, name, params, args, stream, requested, done)           \
	HOOK_AROUND(fail, ret, name, params, args,                                        \
		    sl_leave_stream(&call, SL_H_##name, SL_INT(rc), SL_FAILED_##fail(rc), \
				    sl_stream_fd(stream), requested, done))

#define HOOK_VOID(op, waits, name, params, args)               \
	SL_WRAPPER(void, name, params)                         \
	{                                                      \
		void(*real) params = sl_get_real(SL_H_##name); \
		struct sl_call call;                           \
		if (sl_unlikely(!real))                        \
			return;                                \
		if (!sl_enter(&call)) {                        \
			real args;                             \
			return;                                \
		}                                              \
		real args;                                     \
		sl_stop(&call);                                \
		sl_leave_call(&call, SL_H_##name, 0, false);   \
	}

#define HOOK_OPEN(name, params, args, dir, path) \
	SL_OPENING(name, params, args,           \
		   sl_leave_open(&call, SL_H_##name, rc, rc == -1, rc, dir, path))

#define HOOK_NEWFD(name, params, args)                   \
	SL_OPENING(name, params, args, sl_fd_set(rc, 0); \
		   sl_leave_call(&call, SL_H_##name, rc, rc == -1))

#define HOOK_HAND(fail, op, waits, name)

#include "preload/wire/hooks.def"

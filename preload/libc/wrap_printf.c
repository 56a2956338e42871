/*
 * wrap_printf.c - variadic functions of streams, through the v-function of the same name.
 *
 * Their arguments may be floating point numbers: unlike all else of the shim, this file is compiled with SSE (Makefile).
 */
#include "preload/libc/wrap.h"

#define WRAP_PRINTF(name, vname, params, vparams, vargs, stream)                       \
	SL_WRAPPER(int, name, params)                                                  \
	{                                                                              \
		int(*real) vparams = sl_get_real(SL_H_##vname);                        \
		struct sl_call call;                                                   \
		bool traced;                                                           \
		va_list ap;                                                            \
		int rc;                                                                \
		if (!real)                                                             \
			return SL_ABSENT_END;                                          \
		traced = sl_enter(&call);                                              \
		va_start(ap, fmt);                                                     \
		rc = real vargs;                                                       \
		va_end(ap);                                                            \
		if (!traced)                                                           \
			return rc;                                                     \
		sl_stop(&call);                                                        \
		sl_leave_stream(&call, SL_H_##name, rc, rc == -1, stream, 0,           \
				sl_hook_info[SL_H_##name].io == SL_IO_WRITE ? rc : 0); \
		return rc;                                                             \
	}
WRAP_PRINTF(fprintf, vfprintf, (FILE * f, const char *fmt, ...), (FILE *, const char *, va_list),
	    (f, fmt, ap), sl_stream_fd(f))
WRAP_PRINTF(__fprintf_chk, __vfprintf_chk, (FILE * f, int flag, const char *fmt, ...),
	    (FILE *, int, const char *, va_list), (f, flag, fmt, ap), sl_stream_fd(f))
WRAP_PRINTF(printf, vfprintf, (const char *fmt, ...), (FILE *, const char *, va_list),
	    (stdout, fmt, ap), sl_stream_fd(stdout))
WRAP_PRINTF(__printf_chk, __vfprintf_chk, (int flag, const char *fmt, ...),
	    (FILE *, int, const char *, va_list), (stdout, flag, fmt, ap), sl_stream_fd(stdout))
WRAP_PRINTF(dprintf, vdprintf, (int fd, const char *fmt, ...), (int, const char *, va_list),
	    (fd, fmt, ap), fd)
WRAP_PRINTF(__dprintf_chk, __vdprintf_chk, (int fd, int flag, const char *fmt, ...),
	    (int, int, const char *, va_list), (fd, flag, fmt, ap), fd)
WRAP_PRINTF(fscanf, vfscanf, (FILE * f, const char *fmt, ...), (FILE *, const char *, va_list),
	    (f, fmt, ap), sl_stream_fd(f))
WRAP_PRINTF(__isoc99_fscanf, __isoc99_vfscanf, (FILE * f, const char *fmt, ...),
	    (FILE *, const char *, va_list), (f, fmt, ap), sl_stream_fd(f))
WRAP_PRINTF(__isoc23_fscanf, __isoc23_vfscanf, (FILE * f, const char *fmt, ...),
	    (FILE *, const char *, va_list), (f, fmt, ap), sl_stream_fd(f))
WRAP_PRINTF(scanf, vfscanf, (const char *fmt, ...), (FILE *, const char *, va_list),
	    (stdin, fmt, ap), sl_stream_fd(stdin))
WRAP_PRINTF(__isoc99_scanf, __isoc99_vfscanf, (const char *fmt, ...),
	    (FILE *, const char *, va_list), (stdin, fmt, ap), sl_stream_fd(stdin))
WRAP_PRINTF(__isoc23_scanf, __isoc23_vfscanf, (const char *fmt, ...),
	    (FILE *, const char *, va_list), (stdin, fmt, ap), sl_stream_fd(stdin))

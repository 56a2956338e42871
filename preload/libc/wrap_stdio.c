/*
 * wrap_stdio.c - streams: opening and closing, single characters.
 *
 * The calls that stdio makes itself (open, read, write) stay inside libc and bypass the wrappers, so the
 * bytes are recorded here.
 */
#include "preload/libc/wrap.h"

void sl_leave_stream(const struct sl_call *call, enum sl_hook hook, int64_t ret, bool failed,
		     int fd, uint64_t requested, int64_t done)
{
	uint32_t serial = failed ? sl_fd_peek(fd) : sl_fd_get(fd);
	uint64_t p[3];

	if (done < 0)
		done = 0;
	if (sl_file_shorter(call, hook, fd, serial, done, failed))
		return;
	/* These return a pointer or a count of items; the record has the bytes moved as well. */
	p[0] = sl_result(ret, failed);
	p[1] = (requested < UINT32_MAX ? requested : UINT32_MAX) |
	       (uint64_t)(done < UINT32_MAX ? done : UINT32_MAX) << 32;
	p[2] = sl_fd_serial(fd, serial);
	if (!sl_record(call, hook, SL_SHAPE_STREAM, failed, p, 3))
		sl_file_lost(call, hook, fd, serial, done);
}

#define WRAP_FOPEN(name, params, args, path)                                                       \
	SL_WRAPPER(FILE *, name, params)                                                           \
	{                                                                                          \
		SL_REAL(NUL, FILE *, name, params);                                                \
		struct sl_call call;                                                               \
		bool traced = sl_enter(&call);                                                     \
		FILE *rc = real args;                                                              \
		if (!traced) {                                                                     \
			sl_fd_unrecorded(sl_fileno(rc));                                           \
			return rc;                                                                 \
		}                                                                                  \
		sl_stop(&call);                                                                    \
		sl_leave_open(&call, SL_H_##name, SL_INT(rc), !rc, sl_fileno(rc), AT_FDCWD, path); \
		return rc;                                                                         \
	}
WRAP_FOPEN(fopen, (const char *path, const char *mode), (path, mode), path)
WRAP_FOPEN(fopen64, (const char *path, const char *mode), (path, mode), path)
WRAP_FOPEN(freopen, (const char *path, const char *mode, FILE *f), (path, mode, f), path)
WRAP_FOPEN(freopen64, (const char *path, const char *mode, FILE *f), (path, mode, f), path)
WRAP_FOPEN(tmpfile, (void), (), "tmpfile")
WRAP_FOPEN(tmpfile64, (void), (), "tmpfile")
/* Its child reads the command. */
WRAP_FOPEN(popen, (const char *command, const char *mode), (command, mode), sl_probed_path(command))

SL_WRAPPER(FILE *, fdopen, (int fd, const char *mode))
{
	SL_REAL(NUL, FILE *, fdopen, (int, const char *));
	struct sl_call call;
	FILE *rc;

	if (!sl_enter(&call))
		return real(fd, mode);
	rc = real(fd, mode);
	sl_stop(&call);
	sl_leave_fd(&call, SL_H_fdopen, SL_INT(rc), !rc, fd);
	return rc;
}

#define WRAP_FCLOSE(name)                                                     \
	SL_WRAPPER(int, name, (FILE * f))                                     \
	{                                                                     \
		SL_REAL(END, int, name, (FILE *));                            \
		int fd = sl_fileno(f), rc;                                    \
		struct sl_call call;                                          \
		uint32_t serial;                                              \
		if (!sl_enter(&call)) {                                       \
			sl_fd_unrecorded(fd);                                 \
			return real(f);                                       \
		}                                                             \
		serial = sl_fd_take(fd);                                      \
		rc = real(f);                                                 \
		sl_stop(&call);                                               \
		sl_leave_close(&call, SL_H_##name, rc, rc == -1, fd, serial); \
		return rc;                                                    \
	}
WRAP_FCLOSE(fclose)
WRAP_FCLOSE(pclose)

/* ---- buffers ---- */

/* @size 0: none. Recorded whatever the duration, then: later calls on the stream enter the kernel, each one. */
static void leave_buffer(const struct sl_call *call, enum sl_hook hook, int64_t ret, const FILE *f,
			 size_t size)
{
	int fd = sl_stream_fd(f);
	uint64_t p[3] = {sl_result(ret, false), 0, 0};

	if (size) {
		sl_leave_stream(call, hook, ret, false, fd, size, 0);
		return;
	}
	p[2] = sl_fd_serial(fd, sl_fd_get(fd));
	sl_record(call, hook, SL_SHAPE_STREAM, false, p, 3);
}

#define WRAP_SETBUF(name, params, args, size)                  \
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
		leave_buffer(&call, SL_H_##name, 0, f, size);  \
	}
WRAP_SETBUF(setbuf, (FILE * f, char *p), (f, p), p ? BUFSIZ : 0)
WRAP_SETBUF(setbuffer, (FILE * f, char *p, size_t n), (f, p, n), p ? n : 0)

SL_WRAPPER(int, setvbuf, (FILE * f, char *p, int mode, size_t n))
{
	SL_REAL(NEG, int, setvbuf, (FILE *, char *, int, size_t));
	struct sl_call call;
	int rc;

	if (!sl_enter(&call))
		return real(f, p, mode, n);
	rc = real(f, p, mode, n);
	sl_stop(&call);
	leave_buffer(&call, SL_H_setvbuf, rc, f, mode == _IONBF && rc == 0 ? 0 : n ? n : BUFSIZ);
	return rc;
}

/* ---- single characters ---- */

/*
 * While the stream's buffer has the character (or room for it), the call is a few instructions, less
 * than reading the clock. Such calls are counted; those that enter the kernel are timed. The check of
 * the buffer is a hint: a race with another thread costs a clock reading.
 */
static inline bool has_input(const FILE *f)
{
	return !sl_global.is_opaque && f->_IO_read_ptr < f->_IO_read_end;
}
/* Line buffered and unbuffered streams report no room here: each of their characters is timed. */
static inline bool has_room(const FILE *f)
{
	return !sl_global.is_opaque && f->_IO_write_ptr < f->_IO_write_end;
}

#define WRAP_CHAR(name, params, args, stream, way, ready)                             \
	SL_THIN_WRAPPER(int, name, params, args)                                      \
	{                                                                             \
		SL_REAL(END, int, name, params);                                      \
		FILE *file = stream;                                                  \
		struct sl_call call;                                                  \
		int rc;                                                               \
		if (sl_likely(ready(file))) {                                         \
			sl_count_char(SL_H_##name, way, sl_fileno(file));             \
			return real args;                                             \
		}                                                                     \
		if (!sl_enter(&call))                                                 \
			return real args;                                             \
		rc = real args;                                                       \
		sl_stop(&call);                                                       \
		sl_leave_stream(&call, SL_H_##name, rc, false, sl_stream_fd(file), 1, \
				rc == -1 ? 0 : 1);                                    \
		return rc;                                                            \
	}
WRAP_CHAR(fgetc, (FILE * f), (f), f, SL_FILE_READ, has_input)
WRAP_CHAR(fgetc_unlocked, (FILE * f), (f), f, SL_FILE_READ, has_input)
WRAP_CHAR(getc, (FILE * f), (f), f, SL_FILE_READ, has_input)
WRAP_CHAR(getc_unlocked, (FILE * f), (f), f, SL_FILE_READ, has_input)
WRAP_CHAR(getchar, (void), (), stdin, SL_FILE_READ, has_input)
WRAP_CHAR(getchar_unlocked, (void), (), stdin, SL_FILE_READ, has_input)
WRAP_CHAR(fputc, (int c, FILE *f), (c, f), f, SL_FILE_WRITE, has_room)
WRAP_CHAR(fputc_unlocked, (int c, FILE *f), (c, f), f, SL_FILE_WRITE, has_room)
WRAP_CHAR(putc, (int c, FILE *f), (c, f), f, SL_FILE_WRITE, has_room)
WRAP_CHAR(putc_unlocked, (int c, FILE *f), (c, f), f, SL_FILE_WRITE, has_room)
WRAP_CHAR(putchar, (int c), (c), stdout, SL_FILE_WRITE, has_room)
WRAP_CHAR(putchar_unlocked, (int c), (c), stdout, SL_FILE_WRITE, has_room)

SL_WRAPPER(void, flockfile, (FILE * f))
{
	void (*real)(FILE *) = sl_get_real(SL_H_flockfile);
	int (*try)(FILE *) = sl_get_real(SL_H_ftrylockfile);
	struct sl_call call;

	if (!real || !try)
		return;
	if (try(f) == 0) {
		sl_count_only(SL_H_flockfile, 0);
		return;
	}
	if (!sl_enter(&call)) {
		real(f);
		return;
	}
	real(f);
	sl_stop(&call);
	sl_leave_lock(&call, SL_H_flockfile, 0, false, f, 0);
}

/*
 * hooks.h - the hook tables, joined: hook numbers, and the properties of each hook.
 *
 * One line per function in the .def files generates the wrapper (wrappers.c), the number (enum sl_hook),
 * the name and class in the report (SL_HOOK_INFO) and the export (by default visibility, see
 * preload/libtrace.map). Kinds of lines; arguments that all share:
 *
 *   fail    how the function reports failure: NEG (-1, errno), CNT (the same; else the result is the
 *           number of bytes that it moved), NUL (NULL, errno), NUM (the error number is returned), END
 *           (EOF), NEV (never, or undetectably)
 *   op      its effect on a file or socket (hook_kinds.def)
 *   waits   for what a call waits that blocks (hook_kinds.def)
 *   ret name params args   the prototype, and the arguments that the wrapper passes on
 *
 *   HOOK_CALL(fail, op, waits, ret, name, params, args)         nothing but the return value
 *   HOOK_VOID(op, waits, name, params, args)                    returns nothing
 *   HOOK_ARG (fail, op, waits, ret, name, params, args, arg)    + one integer argument
 *   HOOK_FD  (fail, op, waits, ret, name, params, args, fd)     + the descriptor it operates on
 *   HOOK_IO  (op, waits, ret, name, params, args, fd, requested, off) moves rc bytes; CNT
 *   HOOK_COPY(name, params, args, in, out, requested, off)      moves rc bytes between two descriptors, recorded for
 *                                                               the one that is read; ssize_t, CNT, READ, OBJECT
 *   HOOK_PATH(fail, op, waits, ret, name, params, args, path)   + the path it operates on
 *   HOOK_STREAM(fail, op, ret, name, params, args, stream, requested, done)   stdio; OBJECT
 *   HOOK_OPEN(name, params, args, dir, path)    opens a path (relative: from dir); NEG, OPEN, OPEN
 *   HOOK_NEWFD(name, params, args)              opens a descriptor without a path; NEG, NONE, NONE
 *   HOOK_HAND(fail, op, waits, name)            written by hand in a wrap_*.c
 *
 * A .def file has no include guard: the includer defines the kinds first, and hooks.def undefines
 * them.
 */
#pragma once

#include <stdbool.h>

#include "preload/wire/arena.h"

enum sl_fail {
	SL_FAIL_NEG,
	SL_FAIL_CNT,
	SL_FAIL_NUL,
	SL_FAIL_NUM,
	SL_FAIL_END,
	SL_FAIL_NEV
};
/* As ENUM_OSRT_FILE_ACCESS_EVENT_TYPE has them. */
enum sl_io {
	SL_IO_NONE = 0,
	SL_IO_OPEN = 1,
	SL_IO_CLOSE = 2,
	SL_IO_READ = 3,
	SL_IO_WRITE = 4,
	SL_IO_META = 6,
/* Of each enum sl_op. */
#define OP(op, io, file, sends) SL_IO_OF_##op = SL_IO_##io,
#include "preload/wire/hook_kinds.def"
};

enum sl_op {
#define OP(op, io, file, sends) SL_OP_##op,
#include "preload/wire/hook_kinds.def"
	SL_OP_CNT
};
enum sl_waits {
#define WAITS(waits, text) SL_WAITS_##waits,
#include "preload/wire/hook_kinds.def"
	SL_WAITS_CNT
};

enum sl_hook {
#define SL_HOOK_ONE(fail, op, waits, name) SL_H_##name,
/* The number of the hook that follows. */
#define SL_HOOK_MARK(name) name, name##_BEFORE = name - 1,
#include "preload/wire/hooks.def"
#undef SL_HOOK_ONE
	SL_HOOK_CNT
};
_Static_assert(SL_HOOK_CNT <= SL_FILE_FEW_AT, "an aggregate chunk has room for every hook");

struct sl_hook_info {
	uint16_t name; /* sl_hook_name() */
	uint8_t fail;  /* enum sl_fail */
	uint8_t io;    /* enum sl_io */
	uint8_t op;    /* enum sl_op */
	uint8_t waits; /* enum sl_waits */
};
extern const struct sl_hook_info sl_hook_info[SL_HOOK_CNT]; /* hook_info.c */
const char *sl_hook_name(unsigned hook);

/* Whether it works on the buffer of a stream: its calls and bytes are no calls and bytes of the kernel's. */
static inline bool sl_hook_is_stdio(unsigned hook)
{
	return hook >= SL_STDIO_FIRST && hook < SL_STDIO_END;
}

/* Of all names; the collector compares it, so that a hook number has one meaning. */
uint64_t sl_hook_hash(void); /* hook_info.c */

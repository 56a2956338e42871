/*
 * tables.h - includes every hook table, one line per table. No guard: included once per use.
 * If SL_HOOK_ONE(fail, io, name) is defined, all kinds expand to it; otherwise the includer defines
 * each kind (see hooks.h) itself. SL_HOOK_MARK(name) stands before and after the functions of stdio, if it is defined.
 */
#ifdef SL_HOOK_ONE
#define HOOK_CALL(fail, ret, name, params, args)                 SL_HOOK_ONE(fail, NONE, name)
#define HOOK_VOID(name, params, args)                            SL_HOOK_ONE(NEV, NONE, name)
#define HOOK_ARG(fail, ret, name, params, args, arg)             SL_HOOK_ONE(fail, NONE, name)
#define HOOK_FD(fail, io, ret, name, params, args, fd)           SL_HOOK_ONE(fail, io, name)
#define HOOK_IO(io, ret, name, params, args, fd, requested, off) SL_HOOK_ONE(NEG, io, name)
#define HOOK_COPY(name, params, args, in, out, requested, off)   SL_HOOK_ONE(NEG, READ, name)
#define HOOK_PATH(fail, io, ret, name, params, args, path)       SL_HOOK_ONE(fail, io, name)
#define HOOK_STREAM(fail, io, ret, name, params, args, stream, requested, done) \
	SL_HOOK_ONE(fail, io, name)
#define HOOK_OPEN(name, params, args, dir, path) SL_HOOK_ONE(NEG, OPEN, name)
#define HOOK_NEWFD(name, params, args)           SL_HOOK_ONE(NEG, NONE, name)
#define HOOK_HAND(fail, io, name)                SL_HOOK_ONE(fail, io, name)
#endif

#ifndef SL_HOOK_MARK
#define SL_HOOK_MARK(name)
#endif

#include "preload/libc/file.def"
SL_HOOK_MARK(SL_STDIO_FIRST)
#include "preload/libc/stdio.def"
SL_HOOK_MARK(SL_STDIO_END)
#include "preload/libc/socket.def"
#include "preload/libc/thread.def"
#include "preload/libc/process.def"
#include "preload/libc/memory.def"
#include "preload/libc/misc.def"

#undef SL_HOOK_MARK
#undef HOOK_CALL
#undef HOOK_VOID
#undef HOOK_ARG
#undef HOOK_FD
#undef HOOK_IO
#undef HOOK_COPY
#undef HOOK_PATH
#undef HOOK_STREAM
#undef HOOK_OPEN
#undef HOOK_NEWFD
#undef HOOK_HAND

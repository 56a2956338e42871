/*
 * thread_room.h - memory of a thread that thread-local variables have no room for.
 *
 * The thread-local variables of a preloaded library are taken from a reserve of 1,664 bytes where LD_AUDIT is set (glibc lays
 * the block out before it reads LD_PRELOAD): a library that needs more keeps every program from starting. Therefore they are
 * few, and arrays are here: in private memory of the process, by slot, in blocks that are mapped when a thread first needs one.
 */
#pragma once

#include "preload/core/hook.h"
#include "preload/wire/exec_file.h"

#pragma GCC visibility push(hidden)

struct sl_thread_room {
	/* Of NVTX (nvtx.h): zeros in a new thread, copied into a forked child. */
	_Alignas(64) char nvtx[704];
	/* Of an exec: the frame that uses it, NULL: none; the program's file, and the environment for it. */
	const char *exec_frame;
	struct sl_exec_room exec;
	char exec_env[4096];
};

/* Of a thread with a slot; it may be that of the parent, in a child that is not set up. NULL: there is no memory. */
SL_COLD struct sl_thread_room *sl_thread_room_map(void);
/* NULL: this thread has none. */
SL_HOT struct sl_thread_room *sl_thread_room(void)
{
	if (sl_likely(sl_tls.room))
		return sl_tls.room;
	return sl_tls.slot || sl_ready() ? sl_thread_room_map() : NULL;
}

/* The thread has taken its slot. @parent: its room in the process that was forked, or NULL. */
void sl_thread_room_start(const struct sl_thread_room *parent);

#pragma GCC visibility pop

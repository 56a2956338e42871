/* wrap_misc.c - dlclose and munmap, which may remove code and Python frames; mlockall; variadic IPC calls. */
#include "preload/unwind/pystack.h"
#include "preload/unwind/unwind.h"
#include "preload/libc/wrap.h"
#include "preload/base/table.h"
#include "preload/core/arena_map.h"
#include "preload/core/seccomp.h"
#include "preload/core/stack.h"

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>

static int take_subs(struct dl_phdr_info *info, size_t size, void *subs)
{
	if (size < offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs))
		return 1;
	*(unsigned long long *)subs = info->dlpi_subs;
	return 1;
}

/*
 * If an object was unloaded, cached unwind rows are invalidated. Not after every dlclose: all known stacks would be
 * recorded again. After the call: destructors may have taken stacks.
 */
SL_WRAPPER(int, dlclose, (void *handle))
{
	SL_REAL(NEV, int, dlclose, (void *));
	unsigned long long before = 0, after = 0;
	struct sl_call call;
	bool traced;
	int rc;

	dl_iterate_phdr(take_subs, &before);
	traced = sl_enter(&call);
	rc = real(handle);
	if (traced)
		sl_stop(&call);
	dl_iterate_phdr(take_subs, &after);
	if (after != before) {
		sl_unwind_invalidate();
		sl_stack_rescan(false);
	}
	if (traced)
		sl_leave_call(&call, SL_H_dlclose, rc, false);
	return rc;
}

SL_THIN_WRAPPER(int, munmap, (void *at, size_t bytes), (at, bytes))
{
	SL_REAL(NEG, int, munmap, (void *, size_t));
	struct sl_call call;
	int rc;

	if (!sl_enter_open(&call))
		return real(at, bytes);
	sl_pystack_unmapping(at, bytes);
	rc = real(at, bytes);
	sl_stop(&call);
	sl_leave_call(&call, SL_H_munmap, rc, rc == -1);
	sl_pystack_unmapped();
	return rc;
}

/* The shim's memory is not the program's to lock: it would count towards RLIMIT_MEMLOCK. */
void sl_unlock_own(int flags)
{
	if (sl_seccomp_is_on())
		return;
	sl_tables_unlock(flags & MCL_FUTURE);
	sl_arena_unlock();
}

SL_WRAPPER(int, mlockall, (int flags))
{
	SL_REAL(NEG, int, mlockall, (int));
	struct sl_call call;
	bool traced = sl_enter(&call);
	int rc = real(flags);

	if (traced)
		sl_stop(&call);
	if (rc == 0)
		sl_unlock_own(flags);
	if (traced)
		sl_leave_call(&call, SL_H_mlockall, rc, rc == -1);
	return rc;
}

SL_WRAPPER(int, semctl, (int id, int num, int cmd, ...))
{
	SL_REAL(NEG, int, semctl, (int, int, int, ...));
	struct sl_call call;
	va_list ap;
	void *arg;
	int rc;

	va_start(ap, cmd);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (!sl_enter(&call))
		return real(id, num, cmd, arg);
	rc = real(id, num, cmd, arg);
	sl_stop(&call);
	sl_leave_call(&call, SL_H_semctl, rc, rc == -1);
	return rc;
}

/* Mode and attributes are arguments only with O_CREAT. */
#define MQ_ARGS                              \
	unsigned mode = 0;                   \
	void *attr = NULL;                   \
	if (flags & O_CREAT) {               \
		va_list ap;                  \
		va_start(ap, flags);         \
		mode = va_arg(ap, unsigned); \
		attr = va_arg(ap, void *);   \
		va_end(ap);                  \
	}
SL_OPENING_VARIADIC(mq_open, (const char *name, int flags, ...), (const char *, int, ...),
		    (name, flags, mode, attr), MQ_ARGS,
		    sl_leave_open(&call, SL_H_mq_open, rc, rc == -1, rc, -1, name))
SL_CLOSING(mq_close)

SL_WRAPPER(void *, sem_open, (const char *name, int flags, ...))
{
	SL_REAL(NUL, void *, sem_open, (const char *, int, ...));
	unsigned mode = 0, value = 0;
	struct sl_call call;
	va_list ap;
	void *rc;

	if (flags & O_CREAT) {
		va_start(ap, flags);
		mode = va_arg(ap, unsigned);
		value = va_arg(ap, unsigned);
		va_end(ap);
	}
	if (!sl_enter(&call))
		return real(name, flags, mode, value);
	rc = real(name, flags, mode, value);
	sl_stop(&call);
	sl_leave_path(&call, SL_H_sem_open, SL_INT(rc), !rc, -1, 0, sl_probed_path(name));
	return rc;
}

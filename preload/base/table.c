/* table.c - maps the tables of table.h. System calls are direct. */
#include "preload/base/table.h"

#include <sys/mman.h>

#include "preload/base/state.h"
#include "preload/base/valgrind.h"
#include "preload/wire/sys.h"

struct sl_table_at sl_tables[SL_TABLE_CNT];
static bool is_locking; /* mlockall() with MCL_FUTURE locks what is mapped, and counts it */

/*
 * Without access first: under MCL_FUTURE the kernel would fill the table with pages. No munlock() in programs that do not
 * lock: a filter that they run under may kill for it.
 */
static long map(size_t bytes)
{
	bool locking = __atomic_load_n(&is_locking, __ATOMIC_RELAXED);
	long m = sl_sys6(SYS_mmap, 0, (long)bytes, locking ? PROT_NONE : PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (m < 0 && m > -4096)
		return m;
	sl_sys3(SYS_madvise, m, bytes, MADV_DONTDUMP);
	if (locking) {
		sl_sys2(SYS_munlock, m, bytes);
		sl_sys3(SYS_mprotect, m, bytes, PROT_READ | PROT_WRITE);
	}
	return m;
}

void *sl_table_map(enum sl_table which, size_t bytes)
{
	struct sl_table_at *t = &sl_tables[which];
	void *none = NULL;
	long m;

	if (sl_global.seccomp)
		return NULL;
	m = map(bytes);
	if (m < 0 && m > -4096)
		return NULL;
	sl_valgrind_ignore((void *)m, bytes);
	/* The same in every thread. */
	__atomic_store_n(&t->bytes, bytes, __ATOMIC_RELAXED);
	if (__atomic_compare_exchange_n(&t->at, &none, (void *)m, 0, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return (void *)m;
	/* Another thread mapped it first. */
	sl_sys2(SYS_munmap, m, bytes);
	return none;
}

void sl_table_clear(enum sl_table which)
{
	void *at = sl_table_known(which);

	if (at)
		sl_sys3(SYS_madvise, at, __atomic_load_n(&sl_tables[which].bytes, __ATOMIC_RELAXED),
			MADV_DONTNEED);
}

void sl_tables_unlock(bool future)
{
	if (future)
		__atomic_store_n(&is_locking, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < SL_TABLE_CNT; i++) {
		void *at = sl_table_known((enum sl_table)i);

		if (at)
			sl_sys2(SYS_munlock, at,
				__atomic_load_n(&sl_tables[i].bytes, __ATOMIC_RELAXED));
	}
}

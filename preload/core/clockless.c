/*
 * clockless.c - threads in which reading the processor's counter faults, after PR_SET_TSC or with seccomp's strict mode.
 *
 * CLOCK_MONOTONIC faults, too, as the vDSO reads the counter. Such a thread is clockless: it writes no record, and its
 * calls are counted as lost.
 */
#include "preload/core/clockless.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>

#include "preload/wire/sys.h"
#include "preload/core/hook.h"
#include "preload/core/seccomp.h"

/* Strict mode makes the counter fault on x86 alone; elsewhere the system call that stands in for it kills. */
static bool strict_stops_clock(void)
{
#if defined(__x86_64__)
	return true;
#else
	return sl_proc.clock_mode == SL_CLOCK_MONO;
#endif
}

enum sl_clock_change sl_clock_change(long nr, unsigned long option, unsigned long arg)
{
	bool is_strict = nr == SYS_seccomp ? option == SECCOMP_SET_MODE_STRICT
					   : option == PR_SET_SECCOMP && arg == SECCOMP_MODE_STRICT;

	if (is_strict)
		return strict_stops_clock() ? SL_CLOCK_STOPPED : SL_CLOCK_KEPT;
	if (nr != SYS_prctl || option != PR_SET_TSC)
		return SL_CLOCK_KEPT;
	return arg == PR_TSC_SIGSEGV ? SL_CLOCK_STOPPED : SL_CLOCK_RESTARTED;
}

static void be_clockless(uint64_t since)
{
	sl_tls.clockless_since = since;
	sl_tls.depth |= SL_DEPTH_MONO;
	sl_tls.gate = (uint32_t)SL_GATE_STALE;
	/* Calls in progress are not recorded either. If a signal interrupted a record, that one is completed. */
	if (sl_tls.busy == SL_BUSY_NOT)
		sl_tls.busy = SL_BUSY_CLOCKLESS;
}

/*
 * A child of vfork() shares its parent's variables and reads no clock: nothing changes. Where the two cannot be
 * distinguished, the calls of both are counted.
 */
bool sl_clock_before(enum sl_clock_change change)
{
	uint64_t now;

	if (sl_likely(change != SL_CLOCK_STOPPED) || sl_tls.clockless_since ||
	    (sl_tls.cookie == SL_COOKIE_VFORK && !sl_seccomp_kills_getpid()))
		return false;
	now = sl_ticks();
	__atomic_store_n(&sl_global.clockless_since, now, __ATOMIC_RELAXED);
	be_clockless(now);
	return true;
}

/* A vfork child has a clock setting of its own. */
static bool is_other_clock(void)
{
	return sl_tls.cookie == SL_COOKIE_VFORK &&
	       (sl_seccomp_kills_getpid() || (uint32_t)sl_getpid() != sl_tls.vfork_pid);
}

void sl_clock_after(enum sl_clock_change change, bool stopped, bool failed)
{
	bool runs = change == SL_CLOCK_STOPPED ? stopped && failed
					       : change == SL_CLOCK_RESTARTED && !failed;

	if (sl_likely(!runs) || !sl_tls.clockless_since || (!stopped && is_other_clock()))
		return;
	sl_tls.clockless_since = 0;
	if (sl_proc.clock_mode == SL_CLOCK_TSC)
		sl_tls.depth &= ~SL_DEPTH_MONO;
	if (sl_tls.busy == SL_BUSY_CLOCKLESS)
		sl_tls.busy = SL_BUSY_NOT;
}

bool sl_counter_faults(void)
{
	int how = PR_TSC_ENABLE;

	return !sl_sys2(SYS_prctl, PR_GET_TSC, &how) && how == PR_TSC_SIGSEGV;
}

/* If no system call may be made, the counter is assumed to fault. */
bool sl_inherits_clockless(void)
{
	uint64_t since = __atomic_load_n(&sl_global.clockless_since, __ATOMIC_RELAXED);

	if (sl_likely(!since) || (!sl_global.seccomp && !sl_counter_faults()))
		return false;
	be_clockless(since);
	return true;
}

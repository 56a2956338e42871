/*
 * gate.c - what a thread does when its pass is not the gate's number: its first call, recording begun or ended, the
 * children of fork and vfork, signals in our own code.
 *
 * Once per thread and change of the gate. Rules as in hook.c.
 */
#include "preload/core/clockless.h"
#include "preload/core/hook.h"
#include "preload/core/part.h"
#include "preload/core/seccomp.h"
#include "preload/core/session_join.h"

#include <string.h>

#include "preload/wire/sys.h"

/*
 * In the time between vfork and the child's exec, parent and child share everything but the pid. Where it would be deadly to
 * ask for that, both stay untraced from then on.
 */
static bool back_from_vfork(void)
{
	if (sl_is_blind()) {
		if (sl_gate() & 1)
			sl_count_unslotted();
		return false;
	}
	if ((uint32_t)sl_getpid() != sl_tls.vfork_pid)
		return false;
	sl_tls.vfork_restricted = SL_UNRESTRICTED;
	sl_tls.cookie = sl_tls.saved_cookie;
	return true;
}

static bool set_up(void)
{
	if (sl_proc.cookie == SL_COOKIE_NONE && !sl_process_start())
		return false;
	if (sl_proc.cookie == SL_COOKIE_NONE && !sl_process_child())
		return false;
	if (sl_proc.cookie == SL_COOKIE_OFF)
		return false;
	if (sl_inherits_clockless()) {
		sl_count_unslotted();
		return false;
	}
	if (!sl_thread_start())
		return false;
	if (!sl_proc.announced) {
		sl_proc.announced = 1;
		sl_announce();
	}
	return true;
}

/*
 * The totals of another report begin. Zeros that nobody wrote to stay pages that nobody has touched.
 *
 * The slot's number frames them as a sequence lock does: whoever reads it before and after the totals and finds the
 * same (collector/collect/drain_totals.c) has those of one report.
 */
static void begin_totals(uint32_t epoch)
{
	uint32_t *number = &sl_tls.slot->epoch;

	__atomic_store_n(number, epoch | SL_EPOCH_CHANGES, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	for (unsigned i = 0; i < SL_HOOK_CNT; i++) {
		struct sl_agg *a = &sl_tls.agg[i];

		if (a->count | a->lost_count)
			memset(a, 0, sizeof(*a));
	}
	sl_tls.epoch = epoch;
	__atomic_store_n(number, epoch, __ATOMIC_RELEASE);
}

/*
 * Descriptors and the working directory changed unseen while nothing was recorded. Every thread that comes before the
 * first one is done forgets all over again: what a quicker one has found out since is found out once more, no harm
 * done, and nobody waits.
 */
static void begin_period(uint32_t gate)
{
	if (__atomic_load_n(&sl_global.period, __ATOMIC_ACQUIRE) == gate)
		return;
	sl_fd_forget_range(0, UINT32_MAX);
	SL_PARTS_CALL(resumed);
	__atomic_store_n(&sl_global.period, gate, __ATOMIC_RELEASE);
}

static uint32_t follow_gate(void)
{
	const struct sl_session *s = sl_global.session;
	/* Acquire: the epoch was stored before the gate opened for it. */
	uint32_t gate = __atomic_load_n(&s->gate, __ATOMIC_ACQUIRE), epoch;

	if (gate & 1) {
		begin_period(gate);
		epoch = __atomic_load_n(&s->epoch, __ATOMIC_RELAXED);
		if (sl_tls.epoch != epoch)
			begin_totals(epoch);
	}
	sl_tls.pass = gate;
	return gate;
}

uint32_t sl_sync(void)
{
	uint32_t gate = (uint32_t)SL_PASS_NONE;

	if (sl_tls.clockless_since) {
		if (sl_global.arena && sl_global.session->gate & 1)
			sl_count_unslotted();
		return gate;
	}
	if (sl_tls.cookie == SL_COOKIE_VFORK && !back_from_vfork())
		return gate;
	if (sl_tls.cookie == SL_COOKIE_QUIET && sl_proc.cookie >= SL_COOKIE_FIRST)
		return gate;
	if (sl_tls.cookie == SL_COOKIE_SCAN) {
		sl_tls.cookie = sl_tls.saved_cookie;
		SL_PARTS_CALL(scan);
	}
	if (sl_tls.busy) {
		if (sl_gate() & 1)
			sl_count_nested();
		return gate;
	}
	sl_tls.busy = SL_BUSY_SETTING_UP;
	sl_barrier();
	if (sl_tls.cookie == sl_proc.cookie || set_up())
		gate = follow_gate();
	sl_barrier();
	sl_tls.busy = SL_BUSY_NOT;
	return gate;
}

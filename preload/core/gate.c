/*
 * gate.c - slow path of a thread whose sl_tls.gate differs from the gate: its first call, a change of the gate, children
 * of fork and vfork, signals that interrupt the shim.
 *
 * Once per thread and change of the gate. Rules as in hook.c.
 */
#include "preload/core/clockless.h"
#include "preload/core/hook.h"
#include "preload/core/leaving.h"
#include "preload/core/part.h"
#include "preload/core/seccomp.h"
#include "preload/core/session_join.h"

#include <string.h>

#include "preload/wire/sys.h"

/*
 * Between vfork and the child's exec, parent and child share everything but the pid. If a seccomp filter kills for getpid,
 * neither is traced from then on.
 */
static bool back_from_vfork(void)
{
	if (sl_seccomp_kills_getpid()) {
		if (sl_gate() & 1)
			sl_count_unslotted();
		return false;
	}
	if ((uint32_t)sl_getpid() != sl_tls.vfork_pid)
		return false;
	sl_tls.vfork_seccomp = SL_SECCOMP_NONE;
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
 * Resets the totals for another report. Untouched pages stay untouched.
 *
 * The slot's epoch serves as a sequence lock: a reader that finds the same epoch before and after the totals
 * (collector/collect/drain_totals.c) has those of one report.
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
	sl_file_reset();
	sl_tls.epoch = epoch;
	__atomic_store_n(number, epoch, __ATOMIC_RELEASE);
}

/*
 * Descriptors and the working directory may have changed while nothing was recorded: the caches are cleared. Concurrent
 * threads may clear them repeatedly, which costs lookups, instead of waiting for the first one.
 */
static void begin_period(uint32_t gate)
{
	if (__atomic_load_n(&sl_global.period, __ATOMIC_ACQUIRE) == gate)
		return;
	sl_fd_clear_range(0, UINT32_MAX);
	SL_PARTS_CALL(resumed);
	__atomic_store_n(&sl_global.period, gate, __ATOMIC_RELEASE);
}

static uint32_t follow_gate(void)
{
	const struct sl_session *s = sl_global.session;
	/* Acquire: the epoch was stored before the gate opened. */
	uint32_t gate = __atomic_load_n(&s->gate, __ATOMIC_ACQUIRE), epoch;

	if (gate & 1) {
		begin_period(gate);
		epoch = __atomic_load_n(&s->epoch, __ATOMIC_RELAXED);
		if (sl_tls.epoch != epoch)
			begin_totals(epoch);
	}
	sl_tls.gate = gate;
	return gate;
}

uint32_t sl_sync(void)
{
	uint32_t gate = (uint32_t)SL_GATE_STALE;

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
	if (sl_slow_begin()) {
		if (sl_tls.cookie == sl_proc.cookie || set_up())
			gate = follow_gate();
		sl_slow_end();
	}
	sl_barrier();
	sl_tls.busy = SL_BUSY_NOT;
	return gate;
}

/*
 * gpu_owner.c - which of the two uses CUPTI, the shim or the program: one word, changed by compare-and-exchange.
 *
 *   FREE      neither. The first call into CUDA makes it STARTING, a call by which the program begins with CUPTI CLIENT.
 *   STARTING  one thread sets CUPTI up for the shim: the program's calls of it wait until it is SHIM, or FREE on failure.
 *   SHIM      it records for the shim. A call by which the program begins makes it LENDING.
 *   LENDING   one thread restores CUPTI for the program, whose other calls wait until it is CLIENT.
 *   CLIENT    the program's, until it has ended its use and none of its calls is in progress: then STARTING once more.
 *
 * Subscription, callbacks, clock and settings are changed by the thread that made it STARTING or LENDING alone, and by
 * the program while it is CLIENT. So no call of the program has a result that comes from the shim's subscription.
 */
#include "preload/gpu/gpu_engine.h"
#include "preload/gpu/gpu_guest.h"

#include "preload/wire/sys.h"

/* The other thread may wait for a lock that this one holds: the loader's, or CUPTI's in a callback. */
#define WAIT_NS UINT64_C(10000000000)

enum owner {
	FREE,
	STARTING,
	SHIM,
	LENDING,
	CLIENT,
};
static uint32_t owner; /* atomic: enum owner */

static bool change(uint32_t from, enum owner to)
{
	return __atomic_compare_exchange_n(&owner, &from, to, 0, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

/* Sequentially consistent: a call of the program counts itself, then reads the owner; here it is reversed. */
bool sl_gpu_owner_start(void)
{
	if (change(FREE, STARTING))
		return true;
	if (!sl_gpu_client_has_ended() || !change(CLIENT, STARTING))
		return false;
	/* A call that began before has precedence; one that begins now waits. */
	if (!sl_gpu_client_has_ended()) {
		__atomic_store_n(&owner, CLIENT, __ATOMIC_RELEASE);
		return false;
	}
	sl_gpu_forget_client();
	return true;
}

void sl_gpu_owner_started(bool ok)
{
	__atomic_store_n(&owner, ok ? SHIM : FREE, __ATOMIC_RELEASE);
}

bool sl_gpu_owner_lend(void)
{
	return change(SHIM, LENDING);
}

void sl_gpu_owner_lent(void)
{
	__atomic_store_n(&owner, CLIENT, __ATOMIC_RELEASE);
}

void sl_gpu_owner_wait(void)
{
	const struct timespec step = {0, 200000};
	uint64_t until = 0;

	for (;;) {
		uint32_t now = __atomic_load_n(&owner, __ATOMIC_SEQ_CST);

		if ((now != STARTING && now != LENDING) || sl_tls.cookie == SL_COOKIE_QUIET ||
		    sl_global.seccomp)
			return;
		if (!until)
			until = sl_mono_ns() + WAIT_NS;
		else if (sl_mono_ns() > until)
			return;
		sl_sys4(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &step, NULL);
	}
}

bool sl_gpu_owner_is_shim(void)
{
	sl_gpu_owner_wait();
	/* The first call into CUDA may be faster. */
	if (!change(FREE, CLIENT))
		sl_gpu_owner_wait();
	return __atomic_load_n(&owner, __ATOMIC_ACQUIRE) == SHIM;
}

bool sl_gpu_cupti_runs(void)
{
	return __atomic_load_n(&owner, __ATOMIC_ACQUIRE) == SHIM && sl_gpu_guest.pid == sl_proc.pid;
}

/* CUPTI does not survive a fork: what has it there is the program alone. */
void sl_gpu_owner_forked(void)
{
	if (owner != FREE)
		owner = CLIENT;
}

/*
 * wanted.c - which records of work belong to what is recorded: kinds that stay enabled report what was launched before,
 * between and after captures, too.
 *
 * By time they cannot be distinguished, as work outlasts the call that launched it; by correlation ids, which grow, they
 * can: CUPTI records calls only during captures. What is undecided here is passed on; the collector decides when it has all
 * calls (collector/decode/gpu/gpu_captured.c).
 */
#include "preload/cupti/guest.h"

enum {
	BEFORE,  /* nothing was recorded yet */
	OPEN,    /* a capture, or all of the process */
	CLOSED,  /* records of calls may follow */
	SETTLED, /* CUPTI has delivered all records of calls */
};

/* Relaxed: work that is launched after a change is converted by a thread that has seen the buffer, hence the change. */
static uint32_t state;
static uint32_t newest; /* atomic: correlation id of the last recorded call */
static uint64_t closed; /* the time; written before @state */

void wanted_recording(bool on)
{
	uint32_t open = OPEN;

	if (on) {
		__atomic_store_n(&state, OPEN, __ATOMIC_RELEASE);
		return;
	}
	__atomic_store_n(&closed, guest.host->now(), __ATOMIC_RELAXED);
	__atomic_compare_exchange_n(&state, &open, CLOSED, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

void wanted_delivered(uint64_t until)
{
	uint32_t is = CLOSED;

	if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == CLOSED &&
	    until >= __atomic_load_n(&closed, __ATOMIC_RELAXED))
		__atomic_compare_exchange_n(&state, &is, SETTLED, 0, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED);
}

void wanted_call(uint32_t correlation)
{
	uint32_t before = __atomic_load_n(&newest, __ATOMIC_RELAXED);

	/* They wrap around. */
	while ((int32_t)(correlation - before) > 0 &&
	       !__atomic_compare_exchange_n(&newest, &before, correlation, 1, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
}

uint32_t wanted_newest(void)
{
	return __atomic_load_n(&newest, __ATOMIC_RELAXED);
}

bool wanted_work(uint32_t correlation)
{
	switch (__atomic_load_n(&state, __ATOMIC_RELAXED)) {
	case BEFORE:
		return false;
	case SETTLED:
		return correlation &&
		       (int32_t)(correlation - __atomic_load_n(&newest, __ATOMIC_RELAXED)) <= 0;
	default:
		return true;
	}
}

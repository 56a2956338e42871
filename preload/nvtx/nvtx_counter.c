/* nvtx_counter.c - the extension for counters: samples have no rows, and are counted as lost. */
#include "preload/nvtx/nvtx.h"

enum {
	COUNTER_INT64 = 1, /* 0: nvtxCounterRegister() */
	COUNTER_FLOAT64,
	COUNTER_SAMPLE,
	COUNTER_NO_VALUE,
	COUNTER_BATCH, /* of samples of one counter, whose number is not read */
};

intptr_t sl_nvtx_chain_counter[NVTX_EXT_SLOTS];

static void count(void)
{
	uint64_t *lost;

	if (sl_nvtx_silent || !sl_ready() || !(sl_gate() & 1) || !sl_begin_write())
		return;
	lost = &sl_tls.slot->lost_of[SL_LOST_NVTX_COUNTER];
	__atomic_store_n(lost, *lost + 1, __ATOMIC_RELEASE);
	sl_end_write();
}

static void sample_int64(void *domain, uint64_t counter, int64_t value)
{
	void (*chain)(void *, uint64_t, int64_t) =
		(void (*)(void *, uint64_t, int64_t))sl_nvtx_chain_counter[COUNTER_INT64];

	count();
	if (chain)
		chain(sl_nvtx_chained_handle(domain), counter, value);
}

static void sample_float64(void *domain, uint64_t counter, double value)
{
	void (*chain)(void *, uint64_t, double) =
		(void (*)(void *, uint64_t, double))sl_nvtx_chain_counter[COUNTER_FLOAT64];

	count();
	if (chain)
		chain(sl_nvtx_chained_handle(domain), counter, value);
}

static void sample(void *domain, uint64_t counter, const void *value, size_t bytes)
{
	void (*chain)(void *, uint64_t, const void *, size_t) = (void (*)(
		void *, uint64_t, const void *, size_t))sl_nvtx_chain_counter[COUNTER_SAMPLE];

	count();
	if (chain)
		chain(sl_nvtx_chained_handle(domain), counter, value, bytes);
}

static void sample_no_value(void *domain, uint64_t counter, uint8_t reason)
{
	void (*chain)(void *, uint64_t, uint8_t) =
		(void (*)(void *, uint64_t, uint8_t))sl_nvtx_chain_counter[COUNTER_NO_VALUE];

	count();
	if (chain)
		chain(sl_nvtx_chained_handle(domain), counter, reason);
}

static void batch(void *domain, const void *samples)
{
	void (*chain)(void *, const void *) =
		(void (*)(void *, const void *))sl_nvtx_chain_counter[COUNTER_BATCH];

	count();
	if (chain)
		chain(sl_nvtx_chained_handle(domain), samples);
}

/* Without nvtxCounterRegister() of the chained injection the program's counters have the handle 0. */
const intptr_t sl_nvtx_counter[NVTX_EXT_SLOTS] = {
	[COUNTER_INT64] = (intptr_t)sample_int64, [COUNTER_FLOAT64] = (intptr_t)sample_float64,
	[COUNTER_SAMPLE] = (intptr_t)sample,      [COUNTER_NO_VALUE] = (intptr_t)sample_no_value,
	[COUNTER_BATCH] = (intptr_t)batch,
};

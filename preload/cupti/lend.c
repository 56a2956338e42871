/*
 * lend.c - lends CUPTI to a program that traces the GPU itself, and takes it back: it serves one tool per process, and its
 * kinds, buffer callbacks, clock and settings are the process's.
 *
 * No cuptiFinalize(), which is safe only at the end of a CUDA call.
 */
#include "preload/cupti/guest.h"
#include "preload/cupti/view.h"

#include <errno.h>

void record_lent(const struct sl_cuda_client *client, uint64_t since, int result)
{
	guest.is_lent = 1;
	status_record_since(
		since, SL_GPU_STATUS_LOST_SLOT, result,
		"The program (%s) traces the GPU itself (torch.profiler, ...) and CUPTI "
		"serves one tool per process: until it has ended that, kernels and copies "
		"are not recorded, calls are; trace without the program's profiler to see "
		"both",
		client && *client->name ? client->name : "or a library of it");
}

/* After the last record: CUPTI converts times as it delivers them. */
static void give_back(const struct sl_cuda_client *client)
{
	settings_restore();
	if (client && client->clock && guest.cupti.ActivityRegisterTimestampCallback)
		guest.cupti.ActivityRegisterTimestampCallback(client->clock);
	if (client && client->completed)
		guest.cupti.ActivityRegisterCallbacks((cupti_buffer_requested *)client->requested,
						      (cupti_buffer_completed *)client->completed);
}

bool lend(const struct sl_cuda_client *client)
{
	int kept = errno, result = CUPTI_OK;
	uint64_t since;

	if (!guest_is_own_process())
		return false;
	if (!__atomic_exchange_n(&guest.running, 0, __ATOMIC_ACQ_REL))
		return !guest.subscriber;
	wait_for_flush();
	since = guest.host->now();
	kinds_disable();
	/* What may stay enabled is the program's to disable. */
	__atomic_store_n(&guest.kinds, 0, __ATOMIC_RELAXED);
	lent_begin();
	flush_all(true);
	give_back(client);
	if (guest.subscriber)
		result = guest.cupti.Unsubscribe(guest.subscriber);
	if (result == CUPTI_OK)
		guest.subscriber = NULL;
	record_lent(client, since, result);
	errno = kept;
	return result == CUPTI_OK;
}

bool take_back(const struct sl_cuda_client *client)
{
	uint64_t now = guest.host->now();
	size_t dropped;
	int kept = errno;
	bool ok;

	if (!guest.is_lent || !guest_is_own_process() ||
	    __atomic_load_n(&guest.broken, __ATOMIC_RELAXED))
		return false;
	guest.is_lent = 0;
	guest.client = client;
	lent_end(now);
	__atomic_store_n(&guest.back_at, now, __ATOMIC_RELEASE);
	/* Records of the program that CUPTI still has are in its clock. */
	if (client->buffers_out)
		guest.cupti.ActivityFlushAll(0);
	/* CUPTI counts from one question to the next. */
	guest.cupti.ActivityGetNumDroppedRecords(NULL, 0, &dropped);
	/* Its use was a session, this is one more. */
	guest.captures += 2;
	ok = set_up(client);
	if (ok) {
		__atomic_store_n(&guest.running, 1, __ATOMIC_RELEASE);
		status_record(SL_GPU_STATUS_BACK, !kinds_have_nodes(),
			      "The program has ended its own tracing of the GPU: kernels and "
			      "copies are recorded again%s",
			      kinds_have_nodes() ? ""
						 : ", but not those of whole graphs that were "
						   "instantiated meanwhile");
	}
	errno = kept;
	return ok;
}

/*
 * start.c - CUPTI is set up by the first call into CUDA, flushed when libtrace.so says so, and left to the program
 * when that wants it for itself.
 *
 * Not later, at the first context: CUPTI makes its code for kernels as modules are loaded, and profilers that enabled it
 * behind that have seen programs stop for seconds; a context's creation is told to callbacks alone, which another client may
 * hold. A process that only counts GPUs pays the load of the library once.
 *
 * The subscriber's place is kept even where no callback is needed: a client that has records collected without it
 * keeps others out just the same, says CUPTI's header, but they could take the buffers away unnoticed. With it they
 * are told "taken", by whom, and libtrace.so, which sees them ask, makes us yield.
 */
#include "preload/cupti/guest.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "preload/wire/sys.h"
#include "preload/wire/wire.h"

/* Of an unknown version so many records are looked at. */
#define CHECKED 256u

struct guest guest;
static uint32_t flushing; /* atomic: one at a time */
static uint64_t told_until;

bool guest_is_ours(void)
{
	return guest.pid == sl_getpid();
}

/* CUPTI asks on any thread, and often. */
static uint64_t timestamp(void)
{
	struct timespec t;

	if (!__atomic_load_n(&guest.wall_clock, __ATOMIC_RELAXED))
		return guest.host->now();
	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Before CUDA 11.6 the clock is CUPTI's own; it is a wall clock, so this is done again at each flush. */
static void measure_clock(void)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t before = guest.host->now(), theirs, after;

		if (guest.cupti.GetTimestamp(&theirs) != CUPTI_OK)
			return;
		after = guest.host->now();
		if (after - before >= best)
			continue;
		best = after - before;
		__atomic_store_n(&guest.clock_offset, (int64_t)(before + best / 2 - theirs),
				 __ATOMIC_RELAXED);
	}
}

static bool has_clock(void)
{
	return guest.cupti.ActivityRegisterTimestampCallback &&
	       guest.cupti.ActivityRegisterTimestampCallback(timestamp) == CUPTI_OK;
}

/* All that has to be said before the first kind is enabled. */
static int prepare(void)
{
	size_t bytes = 1;
	uint8_t yes = 1;

	if (guest.cupti.SetThreadIdType)
		guest.cupti.SetThreadIdType(CUPTI_THREAD_ID_SYSTEM);
	if (has_clock())
		guest.cupti.GetTimestamp = NULL;
	else if (guest.cupti.GetTimestamp)
		measure_clock();
	guest.zeroed =
		guest.cupti.ActivitySetAttribute &&
		guest.cupti.ActivitySetAttribute(CUPTI_ATTRIBUTE_ZEROED, &bytes, &yes) == CUPTI_OK;
	return guest.cupti.ActivityRegisterCallbacks(buffer_requested, buffer_completed);
}

static bool take_library(void)
{
	char why[4096];

	if (!find_cupti(why, sizeof(why))) {
		status_tell(SL_GPU_STATUS_NO_LIBRARY, 0,
			    "No usable libcupti found%s%s: kernels, copies and what else the GPU "
			    "did are not recorded, calls are; "
			    "install CUPTI (part of the CUDA toolkit; pip install "
			    "nvidia-cuda-cupti), or set SIGHTLINE_CUPTI to its path",
			    *why ? ", tried " : "", why);
		return false;
	}
	if (guest.cupti.GetVersion(&guest.version) != CUPTI_OK || guest.version < CUPTI_OLDEST) {
		status_tell(SL_GPU_STATUS_NO_LAYOUT, 0,
			    "%s has version %u of CUPTI's API, older than CUDA 11.2: what the GPU "
			    "did is not recorded, calls are; "
			    "set SIGHTLINE_CUPTI to a newer one",
			    guest.path, guest.version);
		return false;
	}
	guest.unchecked = guest.version > CUPTI_COMPARED ? CHECKED : 0;
	return true;
}

static bool set_up(void)
{
	char version[64];
	int result;

	result = guest.cupti.Subscribe(&guest.subscriber, graph_callback, NULL);
	if (result != CUPTI_OK) {
		guest.subscriber = NULL;
		status_failed(result, "a subscription");
		return false;
	}
	result = prepare();
	if (result != CUPTI_OK)
		status_failed(result, "buffers");
	else if ((result = kinds_enable()) != CUPTI_OK)
		status_failed(result, "records");
	if (result != CUPTI_OK) {
		kinds_disable();
		guest.cupti.Unsubscribe(guest.subscriber);
		guest.subscriber = NULL;
		return false;
	}
	if (guest.host->flags & SL_CUDA_GRAPH_NODES)
		graph_watch();
	status_tell(SL_GPU_STATUS_ON, 0, "CUPTI of CUDA %s (API %u), %s",
		    find_version_text(version, sizeof(version)), guest.version, guest.path);
	return true;
}

/* Until when all has been handed over: buffers that CUPTI kept may hold anything since they were given out. */
static void tell_flushed(uint64_t begun, bool final)
{
	uint64_t until = buffers_oldest();
	struct sl_gpu_flushed f = {.is_last = final};
	size_t dropped = 0;

	if (until > begun)
		until = begun;
	until = final ? guest.host->now() : until > SL_CUDA_SLACK_NS ? until - SL_CUDA_SLACK_NS : 0;
	if (until > told_until)
		told_until = until;
	f.until = told_until;
	if (guest.cupti.ActivityGetNumDroppedRecords(NULL, 0, &dropped) == CUPTI_OK)
		f.dropped = dropped;
	guest.host->record(SL_GPU_REC_FLUSHED, &f, sizeof(f));
}

static void flush_all(bool final)
{
	uint64_t begun = guest.host->now();

	if (guest.cupti.GetTimestamp)
		measure_clock();
	/* Where the GPU was never used CUPTI may hang; there is nothing to get either. */
	if (buffers_used())
		guest.cupti.ActivityFlushAll(final ? CUPTI_FLUSH_FORCED : 0);
	if (final)
		buffers_wait();
	tell_flushed(begun, final);
}

static void flush(bool final)
{
	int kept = errno;

	if (!__atomic_load_n(&guest.running, __ATOMIC_ACQUIRE) || !guest_is_ours())
		return;
	/* Another thread is at it. The last one is not put off: nobody would come back. */
	if (__atomic_exchange_n(&flushing, 1, __ATOMIC_ACQUIRE) && !final)
		return;
	if (__atomic_load_n(&guest.broken, __ATOMIC_RELAXED))
		kinds_disable();
	else
		kinds_enable_late();
	flush_all(final);
	__atomic_store_n(&flushing, 0, __ATOMIC_RELEASE);
	errno = kept;
}

/* What has been handed over is flushed once more: by the last buffers of work that was launched before. */
static void record(bool on)
{
	int kept = errno;

	if (!__atomic_load_n(&guest.running, __ATOMIC_ACQUIRE) || !guest_is_ours() ||
	    __atomic_load_n(&guest.broken, __ATOMIC_RELAXED))
		return;
	__atomic_store_n(&guest.recording, on, __ATOMIC_RELAXED);
	if (on) {
		kinds_enable();
		kinds_enable_late();
	} else {
		kinds_disable_work();
		flush(false);
	}
	errno = kept;
}

/*
 * No cuptiFinalize: it is safe at the end of a CUDA call only, and who asks for the place is not in one. What is given
 * back here is all that the next client could trip over.
 */
static bool yield(void)
{
	int kept = errno, result;

	if (!guest_is_ours())
		return false;
	/* One caller gives up, once. */
	if (!__atomic_exchange_n(&guest.running, 0, __ATOMIC_ACQ_REL))
		return !guest.subscriber;
	kinds_disable();
	flush_all(true);
	if (guest.cupti.SetThreadIdType)
		guest.cupti.SetThreadIdType(CUPTI_THREAD_ID_DEFAULT);
	__atomic_store_n(&guest.wall_clock, 1, __ATOMIC_RELAXED);
	result = guest.cupti.Unsubscribe(guest.subscriber);
	if (result == CUPTI_OK)
		guest.subscriber = NULL;
	status_tell(SL_GPU_STATUS_LOST_SLOT, result,
		    "The program traces the GPU itself (torch.profiler, ...) and CUPTI serves one "
		    "tool per process: "
		    "from here on kernels and copies are not recorded, calls are; trace without "
		    "the program's profiler to see both");
	errno = kept;
	return result == CUPTI_OK;
}

__attribute__((visibility("default"))) int sl_cuda_start(const struct sl_cuda_host *host,
							 struct sl_cuda_guest *to)
{
	int kept = errno;

	if (host->bytes != sizeof(*host) || host->wire_version != SL_WIRE_VERSION || guest.host)
		return -1;
	guest.host = host;
	guest.pid = sl_getpid();
	guest.recording = host->recording;
	to->flush = flush;
	to->record = record;
	to->yield = yield;
	if (host->flags & SL_CUDA_NO_CUPTI)
		return -1;
	if (take_library() && set_up())
		__atomic_store_n(&guest.running, 1, __ATOMIC_RELEASE);
	errno = kept;
	return guest.running ? 0 : -1;
}

/*
 * start.c - sets CUPTI up before cuInit(), flushes it on request, and releases it for a program that subscribes
 * itself.
 *
 * Not at the first context: CUPTI instruments kernels when modules are loaded, and enabling it after that has stopped
 * programs for seconds; and the creation of a context is reported by callbacks alone, which another client may own. A
 * process that only counts GPUs pays for loading the library once.
 *
 * The shim subscribes even if it needs no callback: without a subscription, collecting records excludes other clients as
 * well, according to CUPTI's header, but they could replace the buffers unnoticed. With it they get an error, and
 * libtrace.so, which intercepts their subscription, releases CUPTI first.
 */
#include "preload/cupti/guest.h"
#include "preload/cupti/known_bad.h"

#include <errno.h>
#include <string.h>

#include "preload/wire/sys.h"
#include "preload/wire/wire.h"

/* Records to check of an unknown version. */
#define CHECKED 256u

static uint32_t flushing; /* atomic: one at a time */
static uint64_t flushed_until;

/* Settings that must precede the first enabled kind. */
static int prepare(void)
{
	size_t bytes = 1;
	uint8_t yes = 1;

	if (guest.cupti.SetThreadIdType)
		guest.cupti.SetThreadIdType(CUPTI_THREAD_ID_SYSTEM);
	clock_start();
	guest.zeroed =
		guest.cupti.ActivitySetAttribute &&
		guest.cupti.ActivitySetAttribute(CUPTI_ATTRIBUTE_ZEROED, &bytes, &yes) == CUPTI_OK;
	return guest.cupti.ActivityRegisterCallbacks(buffer_requested, buffer_completed);
}

static bool take_library(void)
{
	char why[4096];

	if (!find_cupti(why, sizeof(why))) {
		status_record(SL_GPU_STATUS_NO_LIBRARY, 0,
			      "No usable libcupti found%s%s: kernels, copies and what else the GPU "
			      "did are not recorded, calls are; "
			      "install CUPTI (part of the CUDA toolkit; pip install "
			      "nvidia-cuda-cupti), or set SIGHTLINE_CUPTI to its path",
			      *why ? ", tried " : "", why);
		return false;
	}
	if (guest.cupti.GetVersion(&guest.version) != CUPTI_OK || guest.version < CUPTI_OLDEST) {
		status_record(
			SL_GPU_STATUS_NO_LAYOUT, 0,
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
	if (kinds_have_nodes())
		known_bad_note(BAD_GRAPH_LEVEL);
	else if (known_bad(BAD_GRAPH_LEVEL))
		status_record(SL_GPU_STATUS_LIMITED, 0,
			      "--cuda-graph-trace=graph: CUPTI of CUDA %s has bugs there that may "
			      "crash the program; node is safe",
			      find_version_text(version, sizeof(version)));
	status_record(SL_GPU_STATUS_ON, 0, "CUPTI of CUDA %s (API %u), %s",
		      find_version_text(version, sizeof(version)), guest.version, guest.path);
	known_bad_note(BAD_TIMESTAMP_CALLBACK);
	return true;
}

/* Records that everything before a time has been delivered: not newer than the request of a buffer that CUPTI still owns. */
static void record_flushed(uint64_t begun, bool final)
{
	uint64_t until = buffers_oldest();
	struct sl_gpu_flushed f = {.is_last = final};
	size_t dropped = 0;

	if (until > begun)
		until = begun;
	until = final ? guest.host->now() : until > SL_CUDA_SLACK_NS ? until - SL_CUDA_SLACK_NS : 0;
	if (until > flushed_until)
		flushed_until = until;
	f.until = flushed_until;
	wanted_delivered(f.until);
	if (guest.cupti.ActivityGetNumDroppedRecords(NULL, 0, &dropped) == CUPTI_OK)
		f.dropped = dropped;
	f.incomplete = __atomic_exchange_n(&guest.incomplete, 0, __ATOMIC_RELAXED);
	guest.host->record(SL_GPU_REC_FLUSHED, &f, sizeof(f));
}

static void flush_all(bool final)
{
	uint64_t begun = guest.host->now();

	clock_measure();
	/* Without any use of the GPU, CUPTI may hang, and has no records. */
	if (buffers_used())
		guest.cupti.ActivityFlushAll(final ? CUPTI_FLUSH_FORCED : 0);
	if (final)
		buffers_wait();
	record_flushed(begun, final);
}

static void flush(bool final)
{
	int kept = errno;

	if (!__atomic_load_n(&guest.running, __ATOMIC_ACQUIRE) || !guest_is_own_process())
		return;
	/* Another thread is flushing. Only the final flush waits, as no other follows. */
	if (__atomic_exchange_n(&flushing, 1, __ATOMIC_ACQUIRE) && !final)
		return;
	if (!__atomic_load_n(&guest.broken, __ATOMIC_RELAXED))
		kinds_enable_late();
	flush_all(final);
	__atomic_store_n(&flushing, 0, __ATOMIC_RELEASE);
	errno = kept;
}

static void record(bool on)
{
	int kept = errno;

	if (!__atomic_load_n(&guest.running, __ATOMIC_ACQUIRE) || !guest_is_own_process() ||
	    __atomic_load_n(&guest.broken, __ATOMIC_RELAXED))
		return;
	__atomic_store_n(&guest.recording, on, __ATOMIC_RELAXED);
	wanted_recording(on);
	if (on) {
		guest.captures++;
		kinds_enable();
		kinds_enable_late();
	}
	errno = kept;
}

static void rest(void)
{
	int kept = errno;

	if (!__atomic_load_n(&guest.running, __ATOMIC_ACQUIRE) || !guest_is_own_process())
		return;
	if (__atomic_load_n(&guest.broken, __ATOMIC_RELAXED))
		kinds_disable();
	else if (!__atomic_load_n(&guest.recording, __ATOMIC_RELAXED))
		kinds_rest();
	errno = kept;
}

/*
 * No cuptiFinalize(), which is safe only at the end of a CUDA call. All state that could affect the next client is
 * restored here.
 */
static bool yield(void)
{
	int kept = errno, result;

	if (!guest_is_own_process())
		return false;
	/* Once. */
	if (!__atomic_exchange_n(&guest.running, 0, __ATOMIC_ACQ_REL))
		return !guest.subscriber;
	kinds_disable();
	flush_all(true);
	if (guest.cupti.SetThreadIdType)
		guest.cupti.SetThreadIdType(CUPTI_THREAD_ID_DEFAULT);
	if (guest.cupti.ActivityEnableAllSyncRecords)
		guest.cupti.ActivityEnableAllSyncRecords(1);
	result = guest.cupti.Unsubscribe(guest.subscriber);
	if (result == CUPTI_OK)
		guest.subscriber = NULL;
	status_record(
		SL_GPU_STATUS_LOST_SLOT, result,
		"The program traces the GPU itself (torch.profiler, ...) and CUPTI serves one "
		"tool per process: "
		"from here on kernels and copies are not recorded, calls are; trace without "
		"the program's profiler to see both");
	errno = kept;
	return result == CUPTI_OK;
}

static void end(void)
{
	__atomic_store_n(&guest.running, 0, __ATOMIC_RELEASE);
}

__attribute__((visibility("default"))) int sl_cuda_start(const struct sl_cuda_host *host,
							 struct sl_cuda_guest *to)
{
	int kept = errno;

	if (host->bytes != sizeof(*host) || host->wire_version != SL_WIRE_VERSION || guest.host)
		return -1;
	guest.host = host;
	guest.pid = sl_getpid();
	guest.recording = guest.captures = host->recording;
	wanted_recording(host->recording);
	to->flush = flush;
	to->record = record;
	to->rest = rest;
	to->end = end;
	to->yield = yield;
	if (host->flags & SL_CUDA_NO_CUPTI)
		return -1;
	if (take_library() && set_up())
		__atomic_store_n(&guest.running, 1, __ATOMIC_RELEASE);
	errno = kept;
	return guest.running ? 0 : -1;
}

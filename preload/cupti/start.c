/*
 * start.c - sets CUPTI up before cuInit(), and flushes it on request.
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
#include <time.h>

#include "preload/wire/sys.h"
#include "preload/wire/wire.h"

/* Records to check of an unknown version. */
#define CHECKED 256u

static uint32_t flushing; /* atomic: one at a time */
static uint64_t flushed_until;

/* Settings that must precede the first enabled kind. */
static int prepare(const struct sl_cuda_client *client)
{
	settings_thread_ids();
	if (client && client->clock)
		clock_replace();
	else
		clock_start();
	guest.zeroed = settings_attribute(CUPTI_ATTRIBUTE_ZEROED, 1);
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

static void unsubscribe(void)
{
	if (guest.subscriber)
		guest.cupti.Unsubscribe(guest.subscriber);
	guest.subscriber = NULL;
}

bool set_up(const struct sl_cuda_client *client)
{
	char version[64];
	int result;

	result = guest.cupti.Subscribe(&guest.subscriber, graph_callback, NULL);
	if (result != CUPTI_OK) {
		guest.subscriber = NULL;
		/* The program's subscription, for callbacks alone: records are all the same. */
		if (result != CUPTI_TAKEN || !client || !client->is_subscribed) {
			status_failed(result, "a subscription");
			return false;
		}
	}
	result = prepare(client);
	if (result != CUPTI_OK)
		status_failed(result, "buffers");
	else if ((result = kinds_enable()) != CUPTI_OK)
		status_failed(result, "records");
	if (result != CUPTI_OK) {
		kinds_disable();
		settings_restore();
		unsubscribe();
		return false;
	}
	if (guest.host->flags & SL_CUDA_GRAPH_NODES && guest.subscriber)
		graph_watch();
	if (client)
		return true;
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

void flush_all(bool final)
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

void wait_for_flush(void)
{
	const struct timespec step = {0, 1000000};

	for (int ms = 0; ms < 2000 && __atomic_load_n(&flushing, __ATOMIC_ACQUIRE); ms++)
		nanosleep(&step, NULL);
}

static void flush(bool final)
{
	int kept = errno;

	if (!__atomic_load_n(&guest.running, __ATOMIC_ACQUIRE) || !guest_is_own_process())
		return;
	/* Another thread is flushing. Only the final flush waits, as no other follows. */
	if (__atomic_exchange_n(&flushing, 1, __ATOMIC_ACQUIRE) && !final)
		return;
	/* Lent in between. */
	if (!__atomic_load_n(&guest.running, __ATOMIC_ACQUIRE)) {
		__atomic_store_n(&flushing, 0, __ATOMIC_RELEASE);
		return;
	}
	if (!__atomic_load_n(&guest.broken, __ATOMIC_RELAXED))
		kinds_enable_late();
	flush_all(final);
	__atomic_store_n(&flushing, 0, __ATOMIC_RELEASE);
	errno = kept;
}

static void record(bool on)
{
	int kept = errno;

	if (!guest_is_own_process())
		return;
	__atomic_store_n(&guest.recording, on, __ATOMIC_RELAXED);
	wanted_recording(on);
	if (!__atomic_load_n(&guest.running, __ATOMIC_ACQUIRE) ||
	    __atomic_load_n(&guest.broken, __ATOMIC_RELAXED))
		return;
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
	to->yield = lend;
	to->resume = take_back;
	to->completed = buffer_is_taken;
	to->attribute = settings_keep;
	if (host->flags & SL_CUDA_NO_CUPTI)
		return -1;
	if (take_library()) {
		if (host->client)
			record_lent(host->client, 0, 0);
		else if (set_up(NULL))
			__atomic_store_n(&guest.running, 1, __ATOMIC_RELEASE);
	}
	errno = kept;
	return guest.running || guest.is_lent ? 0 : -1;
}

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
#include "preload/cupti/view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "preload/wire/sys.h"
#include "preload/wire/wire.h"

/* Records to check of an unknown version. */
#define CHECKED   256u
#define WORKER_MS 200
#define CLIENT_MS 50

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

static void unsubscribe(void)
{
	if (guest.subscriber)
		guest.cupti.Unsubscribe(guest.subscriber);
	guest.subscriber = NULL;
}

/* 0, or the result of what failed, which is @what. */
static int enable(const struct sl_cuda_client *client, const char **what)
{
	int result = guest.cupti.Subscribe(&guest.subscriber, graph_callback, NULL);

	*what = "a subscription";
	if (result != CUPTI_OK) {
		guest.subscriber = NULL;
		/* The program's subscription, for callbacks alone: records are all the same. */
		if (result != CUPTI_TAKEN || !client || !client->is_subscribed)
			return result;
	}
	*what = "buffers";
	result = prepare(client);
	if (result == CUPTI_OK) {
		*what = "records";
		result = kinds_enable();
	}
	if (result != CUPTI_OK) {
		kinds_disable();
		settings_restore();
		unsubscribe();
		return result;
	}
	if (guest.host->flags & SL_CUDA_GRAPH_NODES && guest.subscriber)
		graph_watch();
	return CUPTI_OK;
}

bool set_up(const struct sl_cuda_client *client)
{
	const char *what;
	int result = enable(client, &what);

	if (result != CUPTI_OK)
		status_failed(result, what);
	return result == CUPTI_OK;
}

/* ---- the first time ---- */

/* The first libcupti that does not work here: reported if no other does, and with the one that does. */
static struct {
	int result; /* 0: it is too old */
	uint32_t version;
	const char *what;
	char path[4096];
} unfit;

/* Another version may work. */
static bool is_unfit(int result, const char *what)
{
	if (result != 0 && result != CUPTI_NOT_INITIALIZED && result != CUPTI_UNKNOWN)
		return false;
	if (*unfit.path)
		return true;
	unfit.result = result;
	unfit.version = guest.version;
	unfit.what = what;
	memcpy(unfit.path, guest.path, sizeof(unfit.path));
	return true;
}

static bool is_on;

/* find_use: whether no other libcupti need be tried. */
static bool use_library(void)
{
	const char *what = NULL;
	int result = version_ask();

	if (result != CUPTI_OK)
		return !is_unfit(result, "a question for its version");
	if (guest.version < CUPTI_OLDEST)
		return !is_unfit(0, NULL);
	guest.unchecked = guest.version > CUPTI_COMPARED ? CHECKED : 0;
	/* The program has it already: taken back later. */
	if (guest.host->client)
		return true;
	result = enable(NULL, &what);
	is_on = result == CUPTI_OK;
	if (is_on)
		return true;
	if (is_unfit(result, what))
		return false;
	status_failed(result, what);
	return true;
}

static void report_none(const char *why)
{
	guest.version = unfit.version;
	if (!*unfit.path)
		status_record(SL_GPU_STATUS_NO_LIBRARY, 0,
			      "No usable libcupti found%s%s: kernels, copies and what else the GPU "
			      "did are not recorded, calls are; "
			      "install CUPTI (part of the CUDA toolkit; pip install "
			      "nvidia-cuda-cupti), or set SIGHTLINE_CUPTI to its path",
			      *why ? ", tried " : "", why);
	else if (unfit.result)
		status_failed(unfit.result, unfit.what);
	else
		status_record(
			SL_GPU_STATUS_NO_LAYOUT, 0,
			"%s has version %u of CUPTI's API, older than CUDA 11.2: what the GPU "
			"did is not recorded, calls are; %s",
			unfit.path, unfit.version, status_remedy("a newer libcupti"));
}

/* How the library was chosen, where the user may have expected another. */
static const char *choice(char *to, size_t size)
{
	const char *asked = getenv("SIGHTLINE_CUPTI");

	*to = 0;
	if (*unfit.path)
		snprintf(to, size, "; %.2000s does not work with this driver", unfit.path);
	else if (guest.is_programs && asked && *asked && strcmp(asked, guest.path) != 0)
		snprintf(to, size, "; the program has loaded it, so SIGHTLINE_CUPTI is not used");
	return to;
}

static bool begin(void)
{
	char why[4096], version[64];

	if (!find_cupti(why, sizeof(why), use_library))
		report_none(why);
	else if (guest.host->client) {
		lent_begin();
		record_lent(guest.host->client, 0, 0);
	}
	if (!is_on)
		return false;
	if (kinds_have_nodes())
		known_bad_note(BAD_GRAPH_LEVEL);
	else if (known_bad(BAD_GRAPH_LEVEL))
		status_record(SL_GPU_STATUS_LIMITED, 0,
			      "--cuda-graph-trace=graph: CUPTI of CUDA %s has bugs there that may "
			      "crash the program; node is safe",
			      find_version_text(version, sizeof(version)));
	status_record(SL_GPU_STATUS_ON, 0, "CUPTI of CUDA %s (API %u), %s%s",
		      find_version_text(version, sizeof(version)), guest.version, guest.path,
		      choice(why, sizeof(why)));
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

/*
 * A forced flush returns every buffer, some perhaps later, from CUPTI's worker. What does not come within the bound is lost:
 * of a worker that hangs, or of threads that go on with calls.
 */
static void wait_for_worker(void)
{
	const struct timespec step = {0, 1000000};
	int ms = 0;

	/* Only zeroed buffers show whether CUPTI has begun with one. */
	while (guest.zeroed && buffers_oldest() != UINT64_MAX) {
		if (ms++ == WORKER_MS) {
			__atomic_add_fetch(&guest.incomplete, 1, __ATOMIC_RELAXED);
			return;
		}
		nanosleep(&step, NULL);
	}
}

/* The program's, which CUPTI had when it was taken back, can be filled since. One that does not come has nothing in it. */
static void wait_for_client(void)
{
	const struct timespec step = {0, 1000000};

	for (int ms = 0; ms < CLIENT_MS && guest.client &&
			 __atomic_load_n(&guest.client->buffers_out, __ATOMIC_ACQUIRE);
	     ms++)
		nanosleep(&step, NULL);
}

/* Without any use of the GPU, CUPTI may hang, and has no records. */
static bool has_buffers(void)
{
	return buffers_used() ||
	       (guest.client && __atomic_load_n(&guest.client->buffers_out, __ATOMIC_ACQUIRE));
}

void flush_all(bool final)
{
	uint64_t begun = guest.host->now();

	clock_measure();
	if (has_buffers())
		guest.cupti.ActivityFlushAll(final ? CUPTI_FLUSH_FORCED : 0);
	if (final) {
		buffers_wait();
		wait_for_worker();
		wait_for_client();
	}
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
	to->owns = buffer_is_own;
	to->attribute = settings_keep;
	to->library = guest.path;
	if (host->flags & SL_CUDA_NO_CUPTI)
		return -1;
	if (begin())
		__atomic_store_n(&guest.running, 1, __ATOMIC_RELEASE);
	errno = kept;
	return guest.running || guest.is_lent ? 0 : -1;
}

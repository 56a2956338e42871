/*
 * pm_facts.c - what only a GPU answers about PM sampling: by the same calls as sl-gpu's, without the collector. One line per
 * fact: NAME VALUE...; what is refused: NAME refused WHY. On the stand-in for libcupti it runs as well.
 *
 *   pm_facts [ORDINAL [short]]     short: only whether it may sample
 */
#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector/probe/pm_find.h"
#include "collector/probe/pm_session.h"

#define NS 1000000000ll

/* ---- what sl-gpu's parts want of out.c ---- */

int64_t out_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS + t.tv_nsec;
}
void out_beat(struct out *o)
{
	(void)o;
}
void out_patience(struct out *o, unsigned ms)
{
	(void)o;
	(void)ms;
}
void out_gap(struct out *o, unsigned stream, int64_t t0, int64_t t1, enum probe_why why)
{
	(void)o;
	(void)stream;
	(void)t0;
	(void)t1;
	(void)why;
}
bool out_values(struct out *o, unsigned stream, int64_t t0, int64_t t1, const double *value,
		unsigned cnt)
{
	(void)o;
	(void)stream;
	(void)t0;
	(void)t1;
	(void)value;
	(void)cnt;
	return true;
}

/* ---- one session ---- */

static struct pm_device device;
static struct pm_config *config;
static struct pm_wants wants;

static void fact(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void fact(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

static void nap(unsigned ms)
{
	struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};

	nanosleep(&t, NULL);
}

static bool start(struct pm_session *s, int64_t hz, uint64_t bytes, const char *name)
{
	struct source_why why = {.text = ""};

	memset(s, 0, sizeof(*s));
	s->device = &device;
	s->config = config;
	pm_rate_init(&s->rate, device.chip, hz);
	s->buffer = bytes;
	if (pm_session_start(s, &why))
		return true;
	fact("%s refused %s", name, why.text);
	return false;
}

/* One call of the decoder. */
struct round {
	int result, reason;
	bool overflow;
	size_t completed, populated;
	uint64_t first, last; /* start of the first sample, end of the last */
	int64_t ns, evaluate_ns;
	double value[64]; /* of the first sample */
};

static void decode(struct pm_session *s, struct round *r)
{
	const struct pm_api *api = &device.library->api;
	struct pm_decode d = PM(pm_decode, overflow, .object = s->object, .image = s->image,
				.size = s->image_size);
	struct pm_data_info info =
		PM(pm_data_info, completed, .image = s->image, .size = s->image_size);
	int64_t begin = out_now();
	double value[64];

	memset(r, 0, sizeof(*r));
	r->result = api->PmSamplingDecodeData(&d);
	r->ns = out_now() - begin;
	r->reason = d.stop_reason;
	r->overflow = d.overflow;
	if (r->result || api->PmSamplingGetCounterDataInfo(&info))
		return;
	r->completed = info.completed;
	r->populated = info.populated;
	begin = out_now();
	for (size_t i = 0; i < info.completed; i++) {
		struct pm_sample_info at = PM(pm_sample_info, end, .object = s->object,
					      .image = s->image, .size = s->image_size, .index = i);
		struct pm_evaluate e =
			PM(pm_evaluate, values, .host = config->host, .image = s->image,
			   .image_size = s->image_size, .index = i, .names = config->spellings,
			   .cnt = config->cnt, .values = i ? value : r->value);

		api->PmSamplingCounterDataGetSampleInfo(&at);
		api->ProfilerHostEvaluateToGpuValues(&e);
		if (i == 0)
			r->first = at.start;
		r->last = at.end;
	}
	r->evaluate_ns = out_now() - begin;
	memcpy(s->image, s->blank, s->image_size);
}

static size_t drain(struct pm_session *s, bool *overflow)
{
	struct round r = {.reason = PM_STOP_OTHER};
	size_t sum = 0;

	for (int i = 0; i < 1000 && !r.result && r.reason != PM_STOP_END_OF_RECORDS; i++) {
		decode(s, &r);
		sum += r.completed;
		*overflow |= r.overflow || r.result == PM_OUT_OF_MEMORY;
	}
	return sum;
}

/* ---- facts ---- */

static void first_sample(int64_t hz)
{
	struct pm_session s;
	struct round r;

	for (int again = 0; again < 2 && start(&s, hz, 0, "first-sample"); again++) {
		nap(50);
		decode(&s, &r);
		fact("first-sample start %llu end-of-last %llu length-of-all %lld samples %zu",
		     (unsigned long long)r.first, (unsigned long long)r.last,
		     (long long)(r.last - r.first), r.completed);
		for (unsigned i = 0; i < config->cnt; i++)
			fact("first-sample value %s %g", wants.at[config->want[i]].name,
			     r.value[i]);
		pm_session_stop(&s);
	}
}

static void cost(int64_t hz)
{
	struct pm_session s;
	struct round r;
	size_t samples = 0;
	int64_t evaluate = 0, decoded = 0;

	if (!start(&s, hz, 0, "evaluate"))
		return;
	for (int i = 0; i < 20; i++) {
		nap(50);
		decode(&s, &r);
		samples += r.completed;
		evaluate += r.evaluate_ns;
		decoded += r.ns;
	}
	pm_session_stop(&s);
	fact("evaluate %lld Hz: %lld ns a sample of %u metrics, decoder %lld ns a sample, image "
	     "%zu bytes a sample",
	     (long long)hz, samples ? (long long)(evaluate / (int64_t)samples) : -1, config->cnt,
	     samples ? (long long)(decoded / (int64_t)samples) : -1,
	     s.image_size / pm_session_samples(&s.rate));
}

/* A small buffer, and a reader that comes late: how many samples are left, and what is reported. */
static void buffer(int64_t hz, uint64_t bytes)
{
	struct pm_session s;
	struct round r;
	bool overflow = false;
	size_t kept;

	if (!start(&s, hz, bytes, "buffer"))
		return;
	nap(20);
	drain(&s, &overflow);
	nap(1500);
	decode(&s, &r);
	overflow = r.overflow || r.result == PM_OUT_OF_MEMORY;
	kept = r.completed;
	if (!r.result && r.reason != PM_STOP_END_OF_RECORDS)
		kept += drain(&s, &overflow);
	pm_session_stop(&s);
	fact("buffer %llu bytes, %lld Hz, append mode %d: result %d, overflow %d, %zu of %lld "
	     "samples kept, %lld bytes a sample at most",
	     (unsigned long long)bytes, (long long)hz, s.rate.append, r.result, overflow, kept,
	     (long long)(hz * 3 / 2), kept ? (long long)(bytes / kept) : -1);
}

static void clocks(void)
{
	uint64_t its = 0;
	struct timespec real, raw;

	device.library->api.GetTimestamp(&its);
	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_MONOTONIC_RAW, &raw);
	fact("clock CUPTI - CLOCK_REALTIME %lld ns, CUPTI - CLOCK_MONOTONIC_RAW %lld ns",
	     (long long)its - real.tv_sec * NS - real.tv_nsec,
	     (long long)its - raw.tv_sec * NS - raw.tv_nsec);
}

/* The GPU's uuid, as NVML has it. */
static bool find(struct probe_gpu *gpu, int ordinal)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	int (*init)(unsigned) = driver ? (int (*)(unsigned))dlsym(driver, "cuInit") : NULL;
	int (*get)(uint8_t *, int) =
		driver ? (int (*)(uint8_t *, int))dlsym(driver, "cuDeviceGetUuid") : NULL;
	uint8_t u[16];
	size_t len;

	if (!init || !get || init(0) || get(u, ordinal))
		return false;
	len = (size_t)snprintf(gpu->info.uuid, sizeof(gpu->info.uuid), "GPU-");
	for (int i = 0; i < 16; i++)
		len += (size_t)snprintf(gpu->info.uuid + len, sizeof(gpu->info.uuid) - len,
					"%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
					u[i]);
	gpu->info.instance = -1;
	gpu->index = (unsigned)ordinal;
	return true;
}

int main(int argc, char **argv)
{
	struct probe_gpu gpu = {.nvml = NULL};
	struct source_why why = {.text = ""};
	struct pm_session s;
	char text[256];

	if (argc == 3 && strcmp(argv[1], PM_FIND_TRY) == 0)
		return pm_find_try(argv[2]);
	if (!find(&gpu, argc > 1 ? atoi(argv[1]) : 0)) {
		fact("gpu refused no driver, or no such GPU");
		return 1;
	}
	if (!pm_device_open(&device, &gpu, NULL, &why) || !pm_device_check(&device, &why)) {
		fact("gpu refused %s", why.text);
		return 1;
	}
	fact("gpu %s, API %u, %s", device.chip, device.library->api.version, device.library->path);
	fact("context %s",
	     device.has_context ? "needed for the chip's name" : "not needed for the chip's name");
	if (!pm_device_available(&device, &why)) {
		fact("availability refused %s", why.text);
		return 1;
	}
	pm_alias(device.chip, text, sizeof(text));
	pm_wants_of_groups(&wants, pm_groups_of(device.chip, text));
	config = pm_config_new(&device.library->api, device.chip, device.availability, &wants, text,
			       sizeof(text));
	if (!config) {
		fact("configuration refused %s", text);
		return 1;
	}
	fact("metrics %u, configuration of %zu bytes", config->cnt, config->image_size);
	if (!start(&s, 10000, 0, "sampling"))
		return 1;
	fact("sampling trigger %d, append mode %d, interval %llu, image %zu bytes", s.rate.trigger,
	     s.rate.append, (unsigned long long)s.rate.interval, s.image_size);
	pm_session_stop(&s);
	if (argc > 2)
		return 0;
	clocks();
	first_sample(10000);
	cost(1000);
	cost(10000);
	cost(50000);
	buffer(10000, 1 << 20);
	buffer(100000, 4 << 20);
	return 0;
}

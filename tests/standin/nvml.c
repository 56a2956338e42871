/*
 * nvml.c - stand-in for libnvidia-ml.so.1: GPUs with known curves, by the documented contract, and by
 * $SL_STANDIN_NVML what goes wrong, as words between commas (a word may have =NUMBER):
 *
 *   gpus=N             so many GPUs (1); generation=N: of their instructions (9: Hopper)
 *   absent, mismatch   nvmlInit_v2 fails
 *   denied=N, lost=N   GPU N may not be opened; is lost one second after init
 *   nogpm, nosamples, nofields   a driver without them
 *   mig                GPU 0 is divided into two instances
 *   xid=N              an XID event half a second after init
 *   hostpids           utilisation has pids of another namespace
 *   slow=MS            a call for fields takes so long; hang=MS, crash=MS: the one that comes so long after init
 *   link=N             generation of PCIe (4)
 *   cupti              UUIDs are those that the stand-in for CUPTI reports
 *
 * $SL_STANDIN_NVML_LOG: every value that was given is a line there: "gpu what ns value" (CLOCK_MONOTONIC); a broken rule is a
 * line VIOLATION, and the end. $SL_STANDIN_NVML_PIDS: a file with the pids that use the GPUs.
 */
#include "collector/probe/nvml.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define GPUS   16
#define PARTS  2
#define WRAP   UINT64_C(0x100000000)
#define BEFORE UINT64_C(0xfffff000) /* PCIe counters begin here: they wrap at once */

/* A GPU (part 0), or a part of it. */
struct nvml_device {
	unsigned gpu, part;
};
struct nvml_gpm_sample {
	int64_t at; /* 0: empty */
	unsigned gpu;
};
struct nvml_event_set {
	unsigned registered;
};

static struct nvml_device devices[GPUS][PARTS + 1];
static int64_t init_at;
static int log_fd = -1;
static pid_t init_pid;

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* CLOCK_REALTIME over CLOCK_MONOTONIC, from the closest of several pairs. */
static int64_t real_over_mono(void)
{
	int64_t least = INT64_MAX, over = 0;

	for (int i = 0; i < 10 && least > 20000; i++) {
		int64_t before = now(), span;
		struct timespec ts;

		clock_gettime(CLOCK_REALTIME, &ts);
		span = now() - before;
		if (span >= least)
			continue;
		least = span;
		over = (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec - before - span / 2;
	}
	return over;
}

static unsigned long long real_us(int64_t mono)
{
	return (unsigned long long)((mono + real_over_mono()) / 1000);
}

static void put(const char *format, ...)
{
	char line[256];
	va_list ap;
	int n;

	if (log_fd < 0)
		return;
	va_start(ap, format);
	n = vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	if (write(log_fd, line, (size_t)n) != n)
		abort();
}

static void violation(const char *what)
{
	put("VIOLATION %s\n", what);
	abort();
}

/* The number of a word of the variable; @none: it is not there, @plain: it has no number. */
static long word(const char *name, long none, long plain)
{
	const char *p = getenv("SL_STANDIN_NVML");
	size_t len = strlen(name);

	for (; p && *p; p += strcspn(p, ","), p += *p == ',') {
		if (strncmp(p, name, len) != 0)
			continue;
		if (p[len] == '=')
			return strtol(p + len + 1, NULL, 10);
		if (!p[len] || p[len] == ',')
			return plain;
	}
	return none;
}

static bool has(const char *name)
{
	return word(name, -1, 1) >= 0;
}

/* Every call but init comes here. */
static enum nvml_return enter(nvml_device d)
{
	if (!init_at)
		return NVML_UNINITIALIZED;
	if (getpid() != init_pid)
		violation("used after fork");
	if (d && word("lost", -1, 0) == (long)d->gpu && now() - init_at > 1000000000)
		return NVML_GPU_IS_LOST;
	return NVML_SUCCESS;
}

static void in_child(void)
{
	put("VIOLATION fork after init\n");
}

EXPORT enum nvml_return nvmlInit_v2(void)
{
	const char *path = getenv("SL_STANDIN_NVML_LOG");

	if (has("absent"))
		return NVML_DRIVER_NOT_LOADED;
	if (has("mismatch"))
		return NVML_LIB_RM_VERSION_MISMATCH;
	if (path)
		log_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	for (unsigned g = 0; g < GPUS; g++)
		for (unsigned p = 0; p <= PARTS; p++)
			devices[g][p] = (struct nvml_device){g, p};
	init_at = now();
	init_pid = getpid();
	put("init %d\n", init_pid);
	pthread_atfork(NULL, NULL, in_child);
	return NVML_SUCCESS;
}

EXPORT enum nvml_return nvmlSystemGetDriverVersion(char *to, unsigned len)
{
	snprintf(to, len, "580.00.00");
	return enter(NULL);
}

EXPORT enum nvml_return nvmlDeviceGetCount_v2(unsigned *to)
{
	*to = (unsigned)word("gpus", 1, 1);
	return enter(NULL);
}

EXPORT enum nvml_return nvmlDeviceGetHandleByIndex_v2(unsigned i, nvml_device *to)
{
	if (i >= (unsigned)word("gpus", 1, 1))
		return NVML_INVALID_ARGUMENT;
	if (word("denied", -1, 0) == (long)i)
		return NVML_NO_PERMISSION;
	*to = &devices[i][0];
	return enter(NULL);
}

/* As the stand-in for the driver has it (cuda_context.c), so that both name one GPU. */
EXPORT enum nvml_return nvmlDeviceGetUUID(nvml_device d, char *to, unsigned len)
{
	if (d->part)
		snprintf(to, len, "MIG-7374616e-642d-696e-2067-70754d49%02x%02x", d->gpu, d->part);
	else if (has("cupti")) /* as the stand-in for CUPTI has it (cupti_work.c) */
		snprintf(to, len, "GPU-53696768-746c-696e-6501-0203040506%02x", 7 + d->gpu);
	else
		snprintf(to, len, "GPU-7374616e-642d-696e-2067-7075202020%02x", d->gpu);
	return enter(d);
}

EXPORT enum nvml_return nvmlDeviceGetName(nvml_device d, char *to, unsigned len)
{
	snprintf(to, len, d->part ? "Stand-in H100 MIG 3g.40gb" : "Stand-in H100");
	return enter(d);
}

EXPORT enum nvml_return nvmlDeviceGetPciInfo_v3(nvml_device d, struct nvml_pci *to)
{
	memset(to, 0, sizeof(*to));
	to->bus = 0x10 + d->gpu;
	snprintf(to->id, sizeof(to->id), "00000000:%02X:00.0", to->bus);
	return enter(d);
}

EXPORT enum nvml_return nvmlDeviceGetCudaComputeCapability(nvml_device d, int *major, int *minor)
{
	*major = (int)word("generation", 9, 9);
	*minor = 0;
	return enter(d);
}

/* ---- MIG ---- */

EXPORT enum nvml_return nvmlDeviceGetMigMode(nvml_device d, unsigned *current, unsigned *pending)
{
	*current = *pending = has("mig") && d->gpu == 0;
	return enter(d);
}

EXPORT enum nvml_return nvmlDeviceGetMaxMigDeviceCount(nvml_device d, unsigned *to)
{
	*to = has("mig") && d->gpu == 0 ? 7 : 0;
	return enter(d);
}

EXPORT enum nvml_return nvmlDeviceGetMigDeviceHandleByIndex(nvml_device d, unsigned i,
							    nvml_device *to)
{
	if (i >= PARTS)
		return NVML_NOT_FOUND;
	*to = &devices[d->gpu][i + 1];
	return enter(d);
}

EXPORT enum nvml_return nvmlDeviceGetGpuInstanceId(nvml_device d, unsigned *to)
{
	*to = d->part;
	return d->part ? enter(d) : NVML_NOT_SUPPORTED;
}

EXPORT enum nvml_return nvmlDeviceGetComputeInstanceId(nvml_device d, unsigned *to)
{
	*to = 0;
	return d->part ? enter(d) : NVML_NOT_SUPPORTED;
}

/* ---- curves: of the time since init, in ms ---- */

static int64_t ms_since(int64_t at)
{
	return (at - init_at) / 1000000;
}

static uint64_t energy_mj(unsigned gpu, int64_t at)
{
	/* 100 W and 10 more for each further GPU; it moves every 100 ms. */
	return (uint64_t)(ms_since(at) / 100) * 100 * (100 + 10 * gpu);
}

static unsigned field_value(unsigned gpu, struct nvml_field *f, int64_t at)
{
	int64_t ms = ms_since(at);

	f->type = NVML_TYPE_ULL;
	switch (f->id) {
	case 83:
		f->value.ull = energy_mj(gpu, at);
		return NVML_SUCCESS;
	case 186:
		f->type = NVML_TYPE_UINT;
		f->value.u = 1000 * (100 + 10 * gpu) + (unsigned)(ms % 1000);
		return NVML_SUCCESS;
	case 74: /* throttled for half of the time */
		f->value.ull = (uint64_t)ms * 500000;
		return NVML_SUCCESS;
	case 269:
		f->value.ull = (uint64_t)ms * 10000;
		return NVML_SUCCESS;
	case 197:
	case 198: /* 1 MB per ms, 2 MB received */
		f->type = NVML_TYPE_UINT;
		f->value.ull = 0;
		f->value.u = (unsigned)((BEFORE + (uint64_t)ms * 1000000 * (f->id - 196)) % WRAP);
		return NVML_SUCCESS;
	case 138:
		if (f->scope != UINT32_MAX)
			return NVML_INVALID_ARGUMENT;
		f->value.ull = (uint64_t)ms * 100; /* KiB */
		return NVML_SUCCESS;
	case 82:
		f->type = NVML_TYPE_UINT;
		f->value.u = 60;
		return NVML_SUCCESS;
	case 3:
	case 4:
	case 94:
		f->value.ull = 0;
		return NVML_SUCCESS;
	default:
		return NVML_NOT_SUPPORTED;
	}
}

EXPORT enum nvml_return nvmlDeviceGetFieldValues(nvml_device d, int cnt, struct nvml_field *f)
{
	enum nvml_return ret = enter(d);
	int64_t at = now(), age = (at - init_at) / 1000000;
	const struct timespec slow = {.tv_nsec = word("slow", 0, 0) * 1000000};

	if (ret != NVML_SUCCESS)
		return ret;
	if (has("nofields"))
		return NVML_FUNCTION_NOT_FOUND;
	if (d->part)
		return NVML_NOT_SUPPORTED;
	if (cnt < 1 || cnt > 128)
		violation("number of fields");
	if (word("crash", -1, 0) >= 0 && age >= word("crash", -1, 0))
		__builtin_trap(); /* also where signals are blocked */
	if (word("hang", -1, 0) >= 0 && age >= word("hang", -1, 0))
		for (;;)
			pause();
	nanosleep(&slow, NULL);
	for (int i = 0; i < cnt; i++) {
		f[i].ret = field_value(d->gpu, &f[i], at);
		f[i].time_us = (long long)real_us(at);
		if (f[i].ret == NVML_SUCCESS)
			put("%u field%u %lld %llu\n", d->gpu, f[i].id, (long long)at,
			    f[i].type == NVML_TYPE_UINT ? f[i].value.u : f[i].value.ull);
	}
	return NVML_SUCCESS;
}

EXPORT enum nvml_return nvmlDeviceGetMemoryInfo_v2(nvml_device d, struct nvml_memory_v2 *to)
{
	if (to->version != (sizeof(*to) | 2u << 24))
		return NVML_ARGUMENT_VERSION_MISMATCH;
	to->total = UINT64_C(80) << 30;
	to->reserved = UINT64_C(512) << 20;
	to->used = (UINT64_C(1) << 30) + ((uint64_t)ms_since(now()) << 20);
	to->free = to->total - to->reserved - to->used;
	put("%u memory%u %lld %llu\n", d->gpu, d->part, (long long)now(), to->used);
	return enter(d);
}

EXPORT enum nvml_return nvmlDeviceGetClockInfo(nvml_device d, int type, unsigned *mhz)
{
	*mhz = type == 1 ? 1980 : 2619;
	return enter(d);
}

EXPORT enum nvml_return nvmlDeviceGetTemperature(nvml_device d, int sensor, unsigned *to)
{
	*to = 45 + d->gpu;
	return sensor ? NVML_INVALID_ARGUMENT : enter(d);
}

EXPORT enum nvml_return nvmlDeviceGetPowerUsage(nvml_device d, unsigned *mw)
{
	*mw = 77000;
	return enter(d);
}

EXPORT enum nvml_return nvmlDeviceGetEnforcedPowerLimit(nvml_device d, unsigned *mw)
{
	*mw = 700000;
	return enter(d);
}

EXPORT enum nvml_return nvmlDeviceGetCurrentClocksEventReasons(nvml_device d,
							       unsigned long long *to)
{
	*to = ms_since(now()) < 1000 ? 1 : 4; /* idle, then capped by power */
	return enter(d);
}

EXPORT enum nvml_return nvmlDeviceGetCurrPcieLinkGeneration(nvml_device d, unsigned *to)
{
	*to = (unsigned)word("link", 4, 4);
	return enter(d);
}

EXPORT enum nvml_return nvmlDeviceGetMaxPcieLinkGeneration(nvml_device d, unsigned *to)
{
	return nvmlDeviceGetCurrPcieLinkGeneration(d, to);
}

EXPORT enum nvml_return nvmlDeviceGetCurrPcieLinkWidth(nvml_device d, unsigned *to)
{
	*to = 8;
	return enter(d);
}

EXPORT enum nvml_return nvmlDeviceGetMaxPcieLinkWidth(nvml_device d, unsigned *to)
{
	*to = 16;
	return enter(d);
}

/* It counts inside the call: it must not be used for curves. */
EXPORT enum nvml_return nvmlDeviceGetPcieThroughput(nvml_device d, int which, unsigned *to)
{
	const struct timespec ts = {.tv_nsec = 20000000};

	(void)which;
	nanosleep(&ts, NULL);
	violation("nvmlDeviceGetPcieThroughput");
	*to = 0;
	return enter(d);
}

EXPORT enum nvml_return nvmlDeviceGetUtilizationRates(nvml_device d, struct nvml_utilization *to)
{
	to->gpu = 33;
	to->memory = 11;
	return d->part ? NVML_NOT_SUPPORTED : enter(d);
}

/* Every 20 ms since init one; the last 100 are kept. */
EXPORT enum nvml_return nvmlDeviceGetSamples(nvml_device d, int type, unsigned long long last,
					     int *value_type, unsigned *cnt, struct nvml_sample *to)
{
	enum nvml_return ret = enter(d);
	int64_t newest = ms_since(now()) / 20, first = newest > 100 ? newest - 100 : 0;
	int64_t over = real_over_mono();
	unsigned n = 0;

	if (ret != NVML_SUCCESS)
		return ret;
	if (has("nosamples") || d->part || (type != 1 && type != 2))
		return NVML_NOT_SUPPORTED;
	*value_type = NVML_TYPE_UINT;
	for (int64_t k = first; k <= newest; k++) {
		int64_t at = init_at + k * 20000000;

		unsigned long long us = (unsigned long long)((at + over) / 1000);

		if (us <= last + 20)
			continue;
		if (n == *cnt)
			return NVML_INSUFFICIENT_SIZE;
		to[n].time_us = us;
		to[n].value.ull = 0;
		to[n].value.u = (unsigned)(k % 100) / (unsigned)type;
		put("%u samples%d %lld %u\n", d->gpu, type, (long long)at, to[n].value.u);
		n++;
	}
	*cnt = n;
	return n ? NVML_SUCCESS : NVML_NOT_FOUND;
}

/* ---- processes ---- */

static unsigned pids(unsigned to[16])
{
	const char *path = getenv("SL_STANDIN_NVML_PIDS");
	FILE *f = path ? fopen(path, "re") : NULL;
	unsigned n = 0;

	while (f && n < 16 && fscanf(f, "%u", &to[n]) == 1)
		n++;
	if (f)
		fclose(f);
	return n;
}

EXPORT enum nvml_return nvmlDeviceGetComputeRunningProcesses_v3(nvml_device d, unsigned *cnt,
								struct nvml_process *to)
{
	unsigned pid[16], n = pids(pid);

	if (n > *cnt) {
		*cnt = n;
		return NVML_INSUFFICIENT_SIZE;
	}
	for (unsigned i = 0; i < n; i++)
		to[i] = (struct nvml_process){pid[i], UINT64_C(100) << 20, UINT32_MAX, UINT32_MAX};
	*cnt = n;
	return enter(d);
}

/* The layout of old: pid and bytes, without more. */
EXPORT enum nvml_return nvmlDeviceGetComputeRunningProcesses(nvml_device d, unsigned *cnt, void *to)
{
	(void)d;
	(void)to;
	*cnt = 0;
	violation("nvmlDeviceGetComputeRunningProcesses without a version");
	return NVML_SUCCESS;
}

EXPORT enum nvml_return nvmlDeviceGetMemoryInfo(nvml_device d, void *to)
{
	(void)d;
	(void)to;
	violation("nvmlDeviceGetMemoryInfo without a version");
	return NVML_SUCCESS;
}

EXPORT enum nvml_return nvmlDeviceGetProcessUtilization(nvml_device d, struct nvml_process_use *to,
							unsigned *cnt, unsigned long long last)
{
	unsigned pid[16], n = pids(pid);

	if (d->part)
		return NVML_NOT_SUPPORTED;
	if (!n || real_us(now()) <= last)
		return NVML_NOT_FOUND;
	if (n > *cnt)
		return NVML_INSUFFICIENT_SIZE;
	for (unsigned i = 0; i < n; i++)
		to[i] = (struct nvml_process_use){.pid = pid[i] + (has("hostpids") ? 1000000 : 0),
						  .time_us = real_us(now()),
						  .sm = 42};
	*cnt = n;
	return enter(d);
}

/* ---- events ---- */

EXPORT enum nvml_return nvmlDeviceGetSupportedEventTypes(nvml_device d, unsigned long long *to)
{
	*to = NVML_EVENT_XID | NVML_EVENT_DOUBLE_BIT;
	return enter(d);
}

EXPORT enum nvml_return nvmlEventSetCreate(nvml_event_set *to)
{
	*to = calloc(1, sizeof(**to));
	return *to ? enter(NULL) : NVML_UNKNOWN;
}

EXPORT enum nvml_return nvmlDeviceRegisterEvents(nvml_device d, unsigned long long types,
						 nvml_event_set set)
{
	if (types & ~(unsigned long long)(NVML_EVENT_XID | NVML_EVENT_DOUBLE_BIT))
		return NVML_NOT_SUPPORTED;
	set->registered++;
	return enter(d);
}

EXPORT enum nvml_return nvmlEventSetWait_v2(nvml_event_set set, struct nvml_event *to, unsigned ms)
{
	static bool is_given;
	const struct timespec ts = {.tv_nsec = (long)ms * 1000000};

	if (!set->registered || ms > 999)
		violation("nvmlEventSetWait_v2");
	if (has("xid") && !is_given && now() - init_at > 500000000) {
		is_given = true;
		*to = (struct nvml_event){&devices[0][0], NVML_EVENT_XID,
					  (unsigned long long)word("xid", 0, 79), UINT32_MAX,
					  UINT32_MAX};
		put("0 xid %lld %ld\n", (long long)now(), word("xid", 0, 79));
		return NVML_SUCCESS;
	}
	nanosleep(&ts, NULL);
	return NVML_TIMEOUT;
}

/* ---- GPM ---- */

EXPORT enum nvml_return nvmlGpmQueryDeviceSupport(nvml_device d, struct nvml_gpm_support *to)
{
	if (to->version != 1)
		return NVML_ARGUMENT_VERSION_MISMATCH;
	to->supported = !has("nogpm") && word("generation", 9, 9) >= 9;
	return enter(d);
}

EXPORT enum nvml_return nvmlGpmSampleAlloc(nvml_gpm_sample *to)
{
	*to = calloc(1, sizeof(**to));
	return enter(NULL);
}

EXPORT enum nvml_return nvmlGpmSampleFree(nvml_gpm_sample s)
{
	free(s);
	return enter(NULL);
}

EXPORT enum nvml_return nvmlGpmSampleGet(nvml_device d, nvml_gpm_sample to)
{
	enum nvml_return ret = enter(d);

	if (ret == NVML_SUCCESS && has("mig") && !d->part)
		return NVML_NOT_SUPPORTED;
	to->at = now();
	to->gpu = d->gpu;
	put("%u taken%u %lld 0\n", d->gpu, d->part, (long long)to->at);
	return ret;
}

/* SMs: a square wave of 1 s, 80 and 20; DRAM: a ramp over 10 s; tensor cores: none. */
static double metric(unsigned id, unsigned gpu, int64_t at)
{
	int64_t ms = ms_since(at);

	switch (id) {
	case 1:
		return 90 - gpu;
	case 2:
		return ms / 1000 % 2 ? 20 : 80;
	case 3:
		return 12.5 + gpu;
	case 5:
		return 0;
	case 10:
		return (double)(ms % 10000) / 100;
	case 20:
		return 1000.25; /* MiB/s */
	case 21:
		return 2000;
	default:
		return -1;
	}
}

EXPORT enum nvml_return nvmlGpmMetricsGet(struct nvml_gpm_get *g)
{
	enum nvml_return ret = enter(NULL);
	int64_t span;

	if (g->version != 1)
		return NVML_ARGUMENT_VERSION_MISMATCH;
	if (!g->cnt || g->cnt > NVML_GPM_MOST)
		return NVML_INVALID_ARGUMENT;
	if (ret != NVML_SUCCESS)
		return ret;
	if (!g->s1->at || !g->s2->at || g->s1->gpu != g->s2->gpu)
		violation("samples of GPM");
	span = g->s2->at - g->s1->at;
	if (span < 0)
		violation("order of GPM's samples");
	for (unsigned i = 0; i < g->cnt; i++) {
		struct nvml_gpm_metric *m = &g->metric[i];

		m->value = metric(m->id, g->s2->gpu, g->s2->at);
		m->ret = m->value < 0 ? NVML_NOT_SUPPORTED : NVML_SUCCESS;
		if (span < 100000000) /* the driver has nothing newer */
			m->value = NAN;
		if (m->ret == NVML_SUCCESS)
			put("%u gpm%u %lld %.17g\n", g->s2->gpu, m->id, (long long)g->s2->at,
			    m->value);
	}
	return NVML_SUCCESS;
}

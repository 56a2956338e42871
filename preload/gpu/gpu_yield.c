/*
 * gpu_yield.c - a program that uses CUPTI itself (torch.profiler, ...). CUPTI serves one tool per process, so it is lent to
 * the program from its first call that sets anything until it has ended its use.
 *
 * Not every client subscribes, and none of these functions is always the first: Kineto before August 2026 subscribes, and
 * keeps the subscription for good; later ones register a clock, then buffers, then enable kinds. Its use ends when
 * its last kind is disabled and it has flushed its records, or unsubscribes, or finalizes CUPTI.
 */
#include "preload/gpu/gpu_engine.h"

#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "preload/base/object.h"
#include "preload/cupti/cupti.h"

/* How a function concerns the state of the client, and which argument (from 0) is the kind. */
enum how {
	SUBSCRIBE,
	SUBSCRIBE_V2,
	UNSUBSCRIBE,
	FINALIZE,
	CALLBACKS,
	CLOCK,
	ENABLE,
	ENABLE_CONTEXT,
	DISABLE,
	DISABLE_CONTEXT,
	FLUSH,
	ATTRIBUTE,
	TIME,
	SETTING,
	/* Of the interface for several clients (CUDA 13.2), which the process must not mix with the other one. */
	SECOND,
};

#define FUNCTIONS(F)                                             \
	F(cuptiSubscribe, SUBSCRIBE)                             \
	F(cuptiSubscribe_v2, SUBSCRIBE_V2)                       \
	F(cuptiUnsubscribe, UNSUBSCRIBE)                         \
	F(cuptiFinalize, FINALIZE)                               \
	F(cuptiActivityRegisterCallbacks, CALLBACKS)             \
	F(cuptiActivityRegisterTimestampCallback, CLOCK)         \
	F(cuptiActivityEnable, ENABLE)                           \
	F(cuptiActivityEnableAndDump, ENABLE)                    \
	F(cuptiActivityEnableContext, ENABLE_CONTEXT)            \
	F(cuptiActivityDisable, DISABLE)                         \
	F(cuptiActivityDisableContext, DISABLE_CONTEXT)          \
	F(cuptiActivityFlush, FLUSH)                             \
	F(cuptiActivityFlushAll, FLUSH)                          \
	F(cuptiActivitySetAttribute, ATTRIBUTE)                  \
	F(cuptiGetTimestamp, TIME)                               \
	F(cuptiSetThreadIdType, SETTING)                         \
	F(cuptiActivityConfigurePCSampling, SETTING)             \
	F(cuptiActivityConfigureUnifiedMemoryCounter, SETTING)   \
	F(cuptiActivityEnableAllSyncRecords, SETTING)            \
	F(cuptiActivityEnableAllocationSource, SETTING)          \
	F(cuptiActivityEnableCudaEventDeviceTimestamps, SETTING) \
	F(cuptiActivityEnableDeviceGraph, SETTING)               \
	F(cuptiActivityEnableDriverApi, SETTING)                 \
	F(cuptiActivityEnableHWTrace, SETTING)                   \
	F(cuptiActivityEnableLatencyTimestamps, SETTING)         \
	F(cuptiActivityEnableLaunchAttributes, SETTING)          \
	F(cuptiActivityEnableRawTimestamps, SETTING)             \
	F(cuptiActivityEnableRuntimeApi, SETTING)                \
	F(cuptiActivityFlushPeriod, SETTING)                     \
	F(cuptiActivityEnableAndDump_v2, SECOND)                 \
	F(cuptiActivityEnable_v2, SECOND)                        \
	F(cuptiActivityRegisterCallbacks_v2, SECOND)             \
	F(cuptiActivitySetAttribute_v2, SECOND)

enum function {
#define NUMBER(name, how) F_##name,
	FUNCTIONS(NUMBER)
#undef NUMBER
	FUNCTION_CNT
};
static const struct {
	const char *name;
	enum how how;
} functions[FUNCTION_CNT] = {
#define LINE(name, how) {#name, how},
	FUNCTIONS(LINE)
#undef LINE
};
static void *reals[FUNCTION_CNT];

/* ---- the client ---- */

/* After its last kind is disabled, records may still be with CUPTI; a client that does not flush them ends so much later. */
#define QUIET_NS 1000000000u
#define KINDS    128u

enum phase {
	NONE, /* not a client, or no more */
	BUSY,
	QUIET, /* no kind is enabled */
	DONE,  /* and its records were flushed */
};
static struct sl_cuda_client client;
static uint64_t kinds[KINDS / 64]; /* atomic: a bit per kind that it has enabled */
static uint32_t phase;             /* atomic: enum phase */
static uint32_t calls;             /* atomic: its calls in progress */
static uint64_t quiet_since;
static bool had_kinds;
static bool is_second; /* it uses the other interface */
static void (*requested)(uint8_t **, size_t *, size_t *);
static void (*completed)(void *, uint32_t, uint8_t *, size_t, size_t);

const struct sl_cuda_client *sl_gpu_client(void)
{
	return &client;
}

bool sl_gpu_has_client(void)
{
	return __atomic_load_n(&phase, __ATOMIC_ACQUIRE) != NONE;
}

bool sl_gpu_client_has_ended(void)
{
	uint32_t now = __atomic_load_n(&phase, __ATOMIC_ACQUIRE);

	if (__atomic_load_n(&calls, __ATOMIC_SEQ_CST))
		return false;
	return now == DONE || (now == QUIET && sl_mono_ns() - quiet_since > QUIET_NS);
}

void sl_gpu_forget_client(void)
{
	__atomic_store_n(&phase, NONE, __ATOMIC_RELEASE);
}

static bool has_kinds(void)
{
	uint64_t any = 0;

	for (unsigned i = 0; i < KINDS / 64; i++)
		any |= __atomic_load_n(&kinds[i], __ATOMIC_RELAXED);
	return any != 0;
}

static void set_phase(enum phase to)
{
	quiet_since = sl_mono_ns();
	__atomic_store_n(&phase, to, __ATOMIC_RELEASE);
}

/* After a call that was not the last. A subscription alone has no end in sight. */
static void set_phase_by_kinds(void)
{
	if (is_second || has_kinds() || (client.is_subscribed && !had_kinds))
		set_phase(BUSY);
	else
		set_phase(QUIET);
}

static void set_kind(long kind, bool on)
{
	uint64_t bit = 1ull << (kind & 63);

	if (kind < 0 || kind >= (long)KINDS)
		return;
	if (on) {
		__atomic_or_fetch(&kinds[kind / 64], bit, __ATOMIC_RELAXED);
		had_kinds = true;
	} else {
		__atomic_and_fetch(&kinds[kind / 64], ~bit, __ATOMIC_RELAXED);
	}
}

/* ---- its buffers: CUPTI hands over those of the last one who registered, no matter which one requested them ---- */

/* Release: what was done with its records comes before. */
static void count_back(void)
{
	uint32_t out = __atomic_load_n(&client.buffers_out, __ATOMIC_RELAXED);

	while (out && !__atomic_compare_exchange_n(&client.buffers_out, &out, out - 1, 1,
						   __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

static void request_buffer(uint8_t **buffer, size_t *bytes, size_t *max_records)
{
	requested(buffer, bytes, max_records);
	if (*buffer)
		__atomic_add_fetch(&client.buffers_out, 1, __ATOMIC_RELAXED);
}

/*
 * A buffer that CUPTI had requested from the shim, and has filled since. Its records are the client's, but for some of
 * other threads from when CUPTI was lent, which do no harm.
 */
static void copy_buffer(void *context, uint32_t stream, const uint8_t *buffer, size_t valid)
{
	uint8_t *copy = NULL;
	size_t bytes = 0, max_records = 0;

	if (!valid || !sl_gpu_has_client())
		return;
	requested(&copy, &bytes, &max_records);
	if (!copy)
		return;
	/* One that is too small returns empty. */
	valid = bytes >= valid ? valid : 0;
	memcpy(copy, buffer, valid);
	completed(context, stream, copy, bytes, valid);
}

static void take_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
	if (sl_gpu_owns_buffer(buffer)) {
		copy_buffer(context, stream, buffer, valid);
		sl_gpu_take_buffer(context, stream, buffer, bytes, valid);
		return;
	}
	count_back();
	completed(context, stream, buffer, bytes, valid);
}

void sl_gpu_client_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
			  size_t valid)
{
	if (!completed)
		return;
	count_back();
	completed(context, stream, buffer, bytes, valid);
}

/* ---- its calls ---- */

struct find_name {
	uintptr_t code;
	char *to;
	size_t size;
};

static int find_name(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct find_name *f = arg;
	const char *slash, *name = info->dlpi_name;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || f->code - info->dlpi_addr - p->p_vaddr >= p->p_memsz)
			continue;
		/* The program itself has no name in the loader's list. */
		if (!name || !*name)
			name = (const char *)getauxval(AT_EXECFN);
		slash = name ? strrchr(name, '/') : NULL;
		name = slash ? slash + 1 : name ? name : "";
		strncpy(f->to, name, f->size - 1);
		return 1;
	}
	return 0;
}

static void begin(const void *caller)
{
	struct find_name f = {(uintptr_t)caller, client.name, sizeof(client.name)};

	if (!*client.name)
		dl_iterate_phdr(find_name, &f);
	sl_gpu_yield();
	set_phase(BUSY);
}

struct params {
	size_t bytes;
	const char *name;
	char *taken_by;
	size_t taken_bytes;
	uint8_t is_shared;
};

static void begin_subscription(const void *caller, const struct params *p)
{
	if (p && p->bytes > offsetof(struct params, name) && p->name && *p->name)
		strncpy(client.name, p->name, sizeof(client.name) - 1);
	if (p && p->bytes > offsetof(struct params, is_shared) && p->is_shared)
		is_second = true;
	begin(caller);
}

/* Before the call. True: it is answered here, as the real one would concern the shim's records. */
static bool answer(enum how how, const long *arg, const void *caller)
{
	struct timespec now;

	switch (how) {
	case SUBSCRIBE_V2:
		begin_subscription(caller, (const struct params *)arg[3]);
		return false;
	case SECOND:
		is_second = true;
		begin(caller);
		return false;
	case UNSUBSCRIBE:
	case FLUSH:
		return false;
	case DISABLE:
	case DISABLE_CONTEXT:
		return sl_gpu_cupti_runs();
	case ATTRIBUTE:
		return arg[1] && sl_gpu_keep_attribute((int)arg[0], *(const size_t *)arg[1],
						       (const void *)arg[2]);
	case TIME:
		if (!arg[0] || !sl_gpu_cupti_runs())
			return false;
		clock_gettime(CLOCK_REALTIME, &now);
		*(uint64_t *)arg[0] =
			client.clock ? client.clock()
				     : (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
		return true;
	default:
		begin(caller);
		return false;
	}
}

/* After a call that succeeded. */
static void note(enum how how, const long *arg)
{
	switch (how) {
	case SUBSCRIBE:
	case SUBSCRIBE_V2:
		client.is_subscribed = 1;
		break;
	case UNSUBSCRIBE:
		client.is_subscribed = 0;
		if (!has_kinds() && !is_second && sl_gpu_has_client())
			set_phase(DONE);
		return;
	case FINALIZE:
		memset(kinds, 0, sizeof(kinds));
		client.is_subscribed = 0;
		client.clock = NULL;
		__atomic_store_n(&client.buffers_out, 0, __ATOMIC_RELAXED);
		set_phase(DONE);
		return;
	case CLOCK:
		client.clock = (uint64_t(*)(void))arg[0];
		break;
	case ENABLE:
	case ENABLE_CONTEXT:
		set_kind(arg[how == ENABLE_CONTEXT], true);
		break;
	case DISABLE:
	case DISABLE_CONTEXT:
		set_kind(arg[how == DISABLE_CONTEXT], false);
		break;
	case FLUSH:
		if (phase == QUIET)
			set_phase(DONE);
		return;
	case ATTRIBUTE:
	case TIME:
		return;
	default:
		break;
	}
	set_phase_by_kinds();
}

/* All arguments of these functions are in integer registers, six at most, and pass through as they are. */
static long call_one(enum function n, long *arg, const void *caller)
{
	long (*real)(long, long, long, long, long, long) = reals[n];
	enum how how = functions[n].how;
	int error = errno;
	long result;

	if (answer(how, arg, caller))
		return 0;
	if (how == CALLBACKS && arg[0] && arg[1]) {
		requested = (void (*)(uint8_t **, size_t *, size_t *))arg[0];
		completed = (void (*)(void *, uint32_t, uint8_t *, size_t, size_t))arg[1];
		client.requested = (void *)request_buffer;
		client.completed = (void *)take_buffer;
		arg[0] = (long)request_buffer;
		arg[1] = (long)take_buffer;
	}
	errno = error;
	result = real(arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
	error = errno;
	if ((int)result == 0)
		note(how, arg);
	errno = error;
	return result;
}

static long call(enum function n, long *arg, const void *caller)
{
	int error = errno;
	long result;

	__atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
	sl_gpu_owner_wait();
	errno = error;
	result = call_one(n, arg, caller);
	/* Before the next call looks: it takes CUPTI back only where no call is in progress. */
	if (!__atomic_sub_fetch(&calls, 1, __ATOMIC_SEQ_CST) &&
	    __atomic_load_n(&phase, __ATOMIC_RELAXED) == DONE)
		sl_gpu_look_soon();
	return result;
}

#define ENTRY(name, how)                                                                        \
	static long entry_##name(long a, long b, long c, long d, long e, long f)                \
	{                                                                                       \
		return call(F_##name, (long[]){a, b, c, d, e, f}, __builtin_return_address(0)); \
	}
FUNCTIONS(ENTRY)

static void *const entries[FUNCTION_CNT] = {
#define ADDRESS(name, how) (void *)entry_##name,
	FUNCTIONS(ADDRESS)};

bool sl_gpu_cupti_found(const struct sl_object *o)
{
	if (reals[F_cuptiSubscribe])
		return false;
	for (int i = 0; i < FUNCTION_CNT; i++)
		reals[i] = sl_object_find(o, functions[i].name);
	return reals[F_cuptiSubscribe] != NULL;
}

void *sl_gpu_yield_entry(const char *name, void **real)
{
	for (int i = 0; i < FUNCTION_CNT; i++)
		if (reals[i] && strcmp(functions[i].name, name) == 0) {
			*real = reals[i];
			return entries[i];
		}
	return NULL;
}

void *sl_gpu_yield_entry_of(const void *real)
{
	for (int i = 0; real && i < FUNCTION_CNT; i++)
		if (reals[i] == real)
			return entries[i];
	return NULL;
}

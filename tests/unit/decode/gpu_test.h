/*
 * gpu_test.h - calls into GPU libraries, and CUPTI's word on them and on the GPU's work, written into rings as the shim
 * writes them. Include after ring_test.h.
 */
#pragma once

#include "collector/decode/gpu/gpu.h"
#include "preload/wire/gpu.h"
#include "preload/wire/gpu_wire.h"

/* Times in tests are ns after this: long enough ago that everything lies before the newest snapshot. */
static uint64_t t0;

static inline void gpu_put(struct ring *r, uint32_t slot, uint64_t start, uint64_t duration,
			   unsigned hook, unsigned shape, unsigned level, const void *payload,
			   unsigned words)
{
	struct sl_chunk *c;
	uint64_t *w = ring_room(r, slot, words + 2, &c);

	w[0] = start;
	w[1] = duration | (uint64_t)sl_head(hook, words + 2, level, shape, 0) << 32;
	memcpy(w + 2, payload, words * 8);
	c->committed += (words + 2) * 8;
}

/* A hooked call: @args are its words. */
#define API(ring, slot, name, from, to, level, result, ...)              \
	gpu_call_words(ring, slot, SL_G_##name, from, to, level, result, \
		       (const uint64_t[]){__VA_ARGS__},                  \
		       sizeof((const uint64_t[]){__VA_ARGS__}) / 8)
static inline void gpu_call_words(struct ring *r, uint32_t slot, unsigned function, uint64_t from,
				  uint64_t to, unsigned level, int32_t result, const uint64_t *args,
				  unsigned cnt)
{
	uint64_t words[1 + SL_GPU_ARGS] = {(uint32_t)result | (uint64_t)cnt << 32};

	memcpy(words + 1, args, cnt * 8);
	gpu_put(r, slot, t0 + from, to - from, function, SL_SHAPE_API, level, words, 1 + cnt);
}

#define RECORD(ring, slot, kind, ...)                                               \
	gpu_put(ring, slot, sl_mono_ns(), 0, kind, SL_SHAPE_GPU, 0, &(__VA_ARGS__), \
		sizeof(__VA_ARGS__) / 8)

static inline void gpu_string(struct ring *r, uint32_t slot, uint32_t id, const char *text)
{
	uint64_t words[64] = {id, strlen(text)};

	memcpy(words + 2, text, strlen(text));
	gpu_put(r, slot, sl_mono_ns(), 0, SL_META_STRING, SL_SHAPE_META, 0, words,
		(unsigned)(2 + (strlen(text) + 7) / 8));
}

static inline void gpu_on(struct ring *r, uint32_t slot)
{
	RECORD(r, slot, SL_GPU_REC_STATUS, (struct sl_gpu_status){.code = SL_GPU_STATUS_ON});
}

/* CUPTI's word on a call of the thread in which the test runs. */
static inline void gpu_api(struct ring *r, uint32_t slot, uint64_t from, uint64_t to,
			   uint32_t correlation, uint32_t name, bool is_driver)
{
	RECORD(r, slot, SL_GPU_REC_API,
	       (struct sl_gpu_api){.start = t0 + from,
				   .end = t0 + to,
				   .correlation = correlation,
				   .thread = (uint32_t)gettid(),
				   .name = name,
				   .is_driver = is_driver});
}

static inline void gpu_kernel(struct ring *r, uint32_t slot, uint64_t from, uint64_t to,
			      uint32_t correlation, uint32_t name)
{
	RECORD(r, slot, SL_GPU_REC_KERNEL,
	       (struct sl_gpu_kernel){.start = t0 + from,
				      .end = t0 + to,
				      .correlation = correlation,
				      .name = name,
				      .context = 1,
				      .stream = 7,
				      .registers = 32,
				      .grid = {4, 2, 1},
				      .block = {128, 1, 1}});
}

static inline void gpu_flushed(struct ring *r, uint32_t slot, uint64_t until)
{
	RECORD(r, slot, SL_GPU_REC_FLUSHED, (struct sl_gpu_flushed){.until = t0 + until});
}

struct gpu_fixture {
	struct ring r;
	struct side s;
	struct arena *a;
	uint32_t program, cupti; /* slots: a thread of the program, and CUPTI's */
};

#define FAR_NS 1000000000ull /* after everything that a test does */

static inline void gpu_begin(struct gpu_fixture *f)
{
	memset(f, 0, sizeof(*f));
	t0 = sl_mono_ns() - 10 * FAR_NS;
	f->r = ring_new();
	f->program = ring_thread(&f->r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	f->cupti = ring_thread(&f->r, 1, (uint32_t)getpid(), (uint32_t)getppid());
	side_open(&f->s, false);
	f->s.arenas.gpu.flush_ns = 100 * FAR_NS; /* nothing is given up by itself */
	f->a = side_attach(&f->s, &f->r, false);
}

/* As a tick of the collector. */
static inline void gpu_tick(struct gpu_fixture *f)
{
	side_drain(&f->s);
	for (struct arena *a = f->s.arenas.first; a; a = a->next)
		gpu_settle(&f->s.arenas, a, false);
	side_commit(&f->s);
}

/* Everything CUPTI had to say; then a tick. */
static inline void gpu_tell(struct gpu_fixture *f)
{
	gpu_flushed(&f->r, f->cupti, FAR_NS);
	gpu_tick(f);
}

static inline void gpu_end(struct gpu_fixture *f)
{
	side_die(&f->s);
	munmap(f->r.arena, SL_ARENA_BYTES);
	close(f->r.fd);
}

/* Strings. */
enum {
	NAME_LAUNCH = 1,
	NAME_CU_LAUNCH,
	NAME_MALLOC,
	NAME_KERNEL,
	NAME_CTX_SYNC,
	NAME_SYNC,
};
static const char kernel_symbol[] = "_ZN3lib12_GLOBAL__N_14axpyIfLi4EEEvT_PKS2_PS2_i";

static inline void tell_names(struct gpu_fixture *f)
{
	gpu_string(&f->r, f->cupti, NAME_LAUNCH, "cudaLaunchKernel_v7000");
	gpu_string(&f->r, f->cupti, NAME_CU_LAUNCH, "cuLaunchKernel");
	gpu_string(&f->r, f->cupti, NAME_MALLOC, "cudaMalloc_v3020");
	gpu_string(&f->r, f->cupti, NAME_KERNEL, kernel_symbol);
	gpu_string(&f->r, f->cupti, NAME_CTX_SYNC, "cuCtxSynchronize");
	gpu_string(&f->r, f->cupti, NAME_SYNC, "cudaDeviceSynchronize_v3020");
}

/* Rows of RUNTIME in the order of their start, times in us after t0: "name start-end class result,...". */
static inline const char *calls(void)
{
	char sql[400];

	snprintf(sql, sizeof(sql),
		 "SELECT group_concat(t, ', ') FROM (SELECT value || ' ' || ((start - %lld) / "
		 "1000) || '-' || "
		 "((end - %lld) / 1000) || ' ' || eventClass || ' ' || returnValue AS t FROM "
		 "CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId ORDER BY start)",
		 (long long)t0 - 5000, (long long)t0 - 5000);
	return ask(sql);
}

/* "rows of the GPU / of those, how many have exactly one call". */
static inline const char *joined(void)
{
	return ask(
		"SELECT count(*) || '/' || sum((SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME r "
		"WHERE "
		"r.correlationId = k.correlationId AND r.globalTid >> 24 = k.globalPid >> 24) = 1) "
		"FROM CUPTI_ACTIVITY_KIND_KERNEL k");
}

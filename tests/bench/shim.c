/*
 * shim.c - preload libraries to compare with, one per SHIM:
 *
 *   FORWARD  only forwards: what any preload library costs
 *   LIMIT    two timestamps and one 32-byte store into a private ring of the thread, without a
 *            reader: the least that recording can cost
 *   LTTNG    one LTTng-UST tracepoint before and one after
 *
 * Written for speed alone: no signal, fork or exec safety beyond what the benchmarks need.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/types.h>

#include "preload/wire/clock.h"

#define FORWARD 0
#define LIMIT   1
#define LTTNG   2

#define TLS         __thread __attribute__((tls_model("initial-exec")))
#define unlikely(x) __builtin_expect(!!(x), 0)

#define CALLS(X)                                                                            \
	X(ssize_t, pread, (int fd, void *p, size_t n, off_t o), (fd, p, n, o), fd)          \
	X(ssize_t, pread64, (int fd, void *p, size_t n, off_t o), (fd, p, n, o), fd)        \
	X(ssize_t, pwrite, (int fd, const void *p, size_t n, off_t o), (fd, p, n, o), fd)   \
	X(ssize_t, pwrite64, (int fd, const void *p, size_t n, off_t o), (fd, p, n, o), fd) \
	X(ssize_t, read, (int fd, void *p, size_t n), (fd, p, n), fd)                       \
	X(ssize_t, write, (int fd, const void *p, size_t n), (fd, p, n), fd)                \
	X(int, open, (const char *p, int f, unsigned m), (p, f, m), f)                      \
	X(int, open64, (const char *p, int f, unsigned m), (p, f, m), f)                    \
	X(int, openat, (int d, const char *p, int f, unsigned m), (d, p, f, m), f)          \
	X(int, openat64, (int d, const char *p, int f, unsigned m), (d, p, f, m), f)        \
	X(int, close, (int fd), (fd), fd)                                                   \
	X(off_t, lseek, (int fd, off_t o, int w), (fd, o, w), fd)                           \
	X(off_t, lseek64, (int fd, off_t o, int w), (fd, o, w), fd)                         \
	X(int, fstat, (int fd, void *s), (fd, s), fd)                                       \
	X(int, fstat64, (int fd, void *s), (fd, s), fd)                                     \
	X(int, stat, (const char *p, void *s), (p, s), 0)                                   \
	X(int, stat64, (const char *p, void *s), (p, s), 0)                                 \
	CALLS_FORWARDED(X)
/* A call so short that what forwards it can be distinguished from what does not (off.c). */
#if SHIM == FORWARD
#define CALLS_FORWARDED(X) X(int, pthread_mutex_lock, (void *m), (m), 0)
#else
#define CALLS_FORWARDED(X)
#endif

enum {
#define X(ret, name, params, args, arg) ID_##name,
	CALLS(X)
#undef X
	ID_CNT
};

static void *real[ID_CNT];

static __attribute__((noinline, cold)) void *find(int id)
{
	static const char *const name[ID_CNT] = {
#define X(ret, name, params, args, arg) #name,
		CALLS(X)
#undef X
	};

	return real[id] = dlsym(RTLD_NEXT, name[id]);
}

#if SHIM == LIMIT
struct record {
	uint64_t start, end;
	int64_t ret;
	int32_t id, arg;
};
_Static_assert(sizeof(struct record) == 32, "the limit is 32 bytes");

#define RING_BYTES (4u << 20)
static TLS struct {
	struct record *cur, *end, *base;
} ring;

/* Pages are touched as they are reached: a short process does not pay for the whole ring. */
static __attribute__((noinline, cold)) void ring_slow(void)
{
	if (!ring.base) {
		void *p = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		ring.base = p == MAP_FAILED ? NULL : p;
		if (!ring.base)
			__builtin_trap();
		ring.end = ring.base + RING_BYTES / sizeof(*ring.base);
	}
	ring.cur = ring.base;
}

static void forget(void)
{
	if (ring.base)
		munmap(ring.base, RING_BYTES);
	ring.base = ring.cur = ring.end = NULL;
}

__attribute__((constructor)) static void start(void)
{
	pthread_atfork(NULL, NULL, forget);
}

static inline void put(uint64_t start, uint64_t end, int id, int arg, int64_t ret)
{
	struct record *r;

	if (unlikely(ring.cur == ring.end))
		ring_slow();
	r = ring.cur;
	r->start = start;
	r->end = end;
	r->ret = ret;
	r->id = id;
	r->arg = arg;
	ring.cur = r + 1;
}
#define BEFORE(id, arg)     uint64_t begun = sl_counter()
#define AFTER(id, arg, ret) put(begun, sl_counter(), id, arg, (int64_t)(ret))

#elif SHIM == LTTNG
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tests/bench/lttng.h"
static TLS int inside;
#define BEFORE(id, arg)        \
	int nested = inside++; \
	if (!nested)           \
	lttng_ust_tracepoint(bench, entry, id, arg)
#define AFTER(id, arg, ret)                                                     \
	do {                                                                    \
		if (!nested)                                                    \
			lttng_ust_tracepoint(bench, leave, id, (int64_t)(ret)); \
		inside = nested;                                                \
	} while (0)

#else
#define BEFORE(id, arg)     (void)0
#define AFTER(id, arg, ret) (void)0
#endif

#define X(ret, name, params, args, arg)                            \
	ret w_##name params __asm__(#name);                        \
	__attribute__((visibility("default"))) ret w_##name params \
	{                                                          \
		ret(*call) params = real[ID_##name];               \
		ret rc;                                            \
		if (unlikely(!call))                               \
			call = find(ID_##name);                    \
		BEFORE(ID_##name, arg);                            \
		rc = call args;                                    \
		AFTER(ID_##name, arg, rc);                         \
		return rc;                                         \
	}
CALLS(X)
#undef X

/* cupti_lies.c - the stand-in for libcupti: which bugs of the real one it has. */
#include "tests/standin/cupti.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	uint32_t from, to;
} lies[] = {
#define LIE(name, from, to, source) {#name, from, to},
#include "tests/standin/cupti_bugs.def"
};

static bool is_listed(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = list; (at = strstr(at, name)); at += len)
		if ((at == list || at[-1] == ',') && (!at[len] || at[len] == ','))
			return true;
	return false;
}

bool standin_lies(enum standin_lie lie)
{
	const char *list = getenv("STANDIN_CUPTI_LIES");

	if (list && *list)
		return is_listed(list, lies[lie].name);
	return standin_version() >= lies[lie].from && standin_version() <= lies[lie].to;
}

bool standin_is_by_gpu(int kind)
{
	return kind == CUPTI_KIND_CONCURRENT_KERNEL || kind == CUPTI_KIND_MEMCPY ||
	       kind == CUPTI_KIND_MEMCPY2 || kind == CUPTI_KIND_MEMSET ||
	       kind == CUPTI_KIND_GRAPH_TRACE || kind == CUPTI_KIND_CUDA_EVENT;
}

static void lie_about_kernel(uint64_t *start, uint64_t *end)
{
	static unsigned kernels; /* atomic */
	unsigned n = __atomic_add_fetch(&kernels, 1, __ATOMIC_RELAXED);
	uint64_t t = *start;

	if (n % 10 == 0 && standin_timestamp && standin_lies(LIE_ZERO_TIMES))
		*start = *end = 0;
	if (n % 20 == 0 && standin_lies(LIE_END_BEFORE_START)) {
		*start = *end;
		*end = t;
	}
	/* 2.5 GHz since the machine started, long ago. */
	if (n % 25 == 0 && standin_lies(LIE_TICKS)) {
		*start = (standin_now() + 1000000000000000) / 2 * 5;
		*end = *start + 1000;
	}
}

void standin_lie_times(int kind, uint64_t *start, uint64_t *end)
{
	static unsigned works; /* atomic */
	bool is_early =
		standin_is_by_gpu(kind) && __atomic_add_fetch(&works, 1, __ATOMIC_RELAXED) <= 100;
	int64_t offset = 0;

	if (!standin_ticks(start, end) && !(is_early && standin_lies(LIE_OTHER_CLOCK)))
		offset = standin_clock_offset(!(is_early && standin_lies(LIE_LATE_CALLBACK)));
	*start += (uint64_t)offset;
	*end += (uint64_t)offset;
	if (kind == CUPTI_KIND_CONCURRENT_KERNEL)
		lie_about_kernel(start, end);
}

/* known_bad.c - bugs of released versions of CUPTI: known_bad.def. */
#include "preload/cupti/known_bad.h"

#include "preload/cupti/guest.h"

static const struct {
	uint32_t from, to;
	const char *what;
} bugs[] = {
#define BAD(name, from, to, avoided, source) {from, to, avoided},
#include "preload/cupti/known_bad.def"
};
_Static_assert(BAD_CNT <= 64, "one bit each");

bool known_bad(enum known_bad bug)
{
	return guest.version >= bugs[bug].from && guest.version <= bugs[bug].to;
}

static void report(enum known_bad bug, enum sl_gpu_status_code code)
{
	static uint64_t reported; /* atomic: bit per bug */
	uint64_t bit = 1ull << bug;
	char version[64];

	if (!known_bad(bug) || __atomic_load_n(&reported, __ATOMIC_RELAXED) & bit ||
	    __atomic_fetch_or(&reported, bit, __ATOMIC_RELAXED) & bit)
		return;
	status_record(code, 0, "Bug of CUPTI of CUDA %s (API %u)%s: %s",
		      find_version_text(version, sizeof(version)), guest.version,
		      code == SL_GPU_STATUS_AVOIDED ? " avoided" : "", bugs[bug].what);
}

void known_bad_note(enum known_bad bug)
{
	report(bug, SL_GPU_STATUS_AVOIDED);
}

void known_bad_warn(enum known_bad bug)
{
	report(bug, SL_GPU_STATUS_LIMITED);
}

/* known_bad.c - bugs of released versions of CUPTI: known_bad.def. */
#include "preload/cupti/known_bad.h"

#include "preload/cupti/guest.h"

static const struct {
	uint32_t from, to;
	const char *avoided;
} bugs[] = {
#define BAD(name, from, to, avoided, source) {from, to, avoided},
#include "preload/cupti/known_bad.def"
};
_Static_assert(BAD_CNT <= 64, "one bit each");

bool known_bad(enum known_bad bug)
{
	return guest.version >= bugs[bug].from && guest.version <= bugs[bug].to;
}

void known_bad_note(enum known_bad bug)
{
	static uint64_t noted; /* atomic: bit per bug */
	uint64_t bit = 1ull << bug;
	char version[64];

	if (!known_bad(bug) || __atomic_fetch_or(&noted, bit, __ATOMIC_RELAXED) & bit)
		return;
	status_record(SL_GPU_STATUS_AVOIDED, 0, "Bug of CUPTI of CUDA %s (API %u) avoided: %s",
		      find_version_text(version, sizeof(version)), guest.version,
		      bugs[bug].avoided);
}

/* intern.c - numbers for texts. */
#include <stdlib.h>
#include <string.h>

#include "exporters/read/intern.h"
#include "collector/base/hash.h"

uint64_t intern_hashed(struct intern *in, uint64_t hash, bool *fresh)
{
	size_t at = hash % INTERN_SLOTS;

	*fresh = in->slot[at].iid == 0 || in->slot[at].key != hash;
	if (*fresh) {
		in->slot[at].key = hash;
		in->slot[at].iid = INTERN_ID_MAX + ++in->next;
	}
	return in->slot[at].iid;
}

/* Room for a bit per number. */
static bool cover(struct intern *in, int64_t id)
{
	size_t words = (size_t)id / 64 + 1;
	uint64_t *seen;

	if (words <= in->words)
		return true;
	if (words < in->words * 2)
		words = in->words * 2;
	seen = realloc(in->seen, words * sizeof(*seen));
	if (!seen)
		return false;
	memset(seen + in->words, 0, (words - in->words) * sizeof(*seen));
	in->seen = seen;
	in->words = words;
	return true;
}

uint64_t intern_slow(struct intern *in, int64_t id, const char *text, size_t len, bool *fresh)
{
	if (id > 0 && id < INTERN_ID_MAX && cover(in, id)) {
		in->seen[id / 64] |= (uint64_t)1 << id % 64;
		*fresh = true;
		return (uint64_t)id;
	}
	return intern_hashed(in, hash_bytes(0, text, len), fresh);
}

void intern_free(struct intern *in)
{
	free(in->seen);
	memset(in, 0, sizeof(*in));
}

/* intern.c - numbers for texts. */
#include <stdlib.h>
#include <string.h>

#include "exporters/read/intern.h"

/* The steps of MurmurHash's finisher: every bit gets into every other. */
static uint64_t mix(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xFF51AFD7ED558CCDu;
	x ^= x >> 33;
	x *= 0xC4CEB9FE1A85EC53u;
	return x ^ x >> 33;
}

uint64_t intern_hash(uint64_t seed, const void *data, size_t len)
{
	const char *p = data;
	uint64_t h = mix(seed ^ len * 0x9E3779B97F4A7C15u), word;

	for (; len >= 8; len -= 8, p += 8) {
		memcpy(&word, p, 8);
		h = mix(h ^ word) + 0x9E3779B97F4A7C15u;
	}
	word = 0;
	memcpy(&word, p, len);
	return mix(h ^ word);
}

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
	return intern_hashed(in, intern_hash(0, text, len), fresh);
}

void intern_free(struct intern *in)
{
	free(in->seen);
	memset(in, 0, sizeof(*in));
}

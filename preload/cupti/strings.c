/*
 * strings.c - interns texts: ids by text. A ring must contain a text before its id is used, and rings are read one after
 * the other, so every thread that writes records has ids of its own.
 *
 * Names are pointers into CUPTI's memory, which is reused once a module is unloaded: the cache by pointer is a hint, the
 * text is compared. Nothing is ever freed: the number of kernels in a program is bounded.
 */
#include "preload/cupti/guest.h"

#include <string.h>
#include <sys/mman.h>

struct text {
	struct text *next; /* of the same hash */
	uint32_t id, owner, len;
	char bytes[];
};

#define HEADS 16384u /* powers of two */
#define CACHE 4096u
#define CALLS 1024u
#define BLOCK (256u << 10)

static struct text *head[HEADS];     /* by hash of the text; pushed at the front */
static struct text *by_place[CACHE]; /* by pointer, the latest entry */
static const char *call_name[2][CALLS];

/* Ids of threads as owners: the system reuses thread ids, but these are unique. */
static uint32_t owner_cnt;
static __thread uint32_t owner;

static uint32_t hash_text(const char *text, size_t len)
{
	uint64_t h = owner + 0x9e3779b97f4a7c15u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)text[i]) * 0x100000001b3u;
	return (uint32_t)(h ^ h >> 29);
}

static struct block {
	size_t used;
} * block;

/* Memory for @bytes: from the shared block, or from a mapping of its own. */
static void *take(size_t bytes)
{
	struct block *b = __atomic_load_n(&block, __ATOMIC_ACQUIRE);
	size_t at;
	void *fresh;

	bytes = (bytes + 15) & ~(size_t)15;
	if (b && bytes < BLOCK / 4) {
		at = __atomic_fetch_add(&b->used, bytes, __ATOMIC_RELAXED);
		if (at + bytes <= BLOCK)
			return (char *)b + at;
	}
	fresh = mmap(NULL, bytes < BLOCK / 4 ? BLOCK : bytes, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fresh == MAP_FAILED)
		return NULL;
	if (bytes >= BLOCK / 4)
		return fresh;
	((struct block *)fresh)->used = 16 + bytes;
	/* Release: pairs with the load above. Of two concurrent blocks one stays partly unused. */
	__atomic_store_n(&block, fresh, __ATOMIC_RELEASE);
	return (char *)fresh + 16;
}

static struct text *search(struct text *t, const char *text, size_t len)
{
	for (; t; t = t->next)
		if (t->owner == owner && t->len == len && !memcmp(t->bytes, text, len))
			return t;
	return NULL;
}

static struct text *add(struct text **slot, const char *text, size_t len)
{
	struct text *t = take(sizeof(*t) + len + 1);

	if (!t)
		return NULL;
	t->id = guest.host->string(text, len);
	if (!t->id)
		return NULL;
	t->owner = owner;
	t->len = (uint32_t)len;
	memcpy(t->bytes, text, len + 1);
	t->next = __atomic_load_n(slot, __ATOMIC_RELAXED);
	/* Release: pairs with the acquire of readers of the list. */
	while (!__atomic_compare_exchange_n(slot, &t->next, t, 1, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
	return t;
}

uint32_t text_id(const char *text)
{
	struct text *t, **place, **slot;
	size_t len;

	if (!text || !*text)
		return 0;
	if (!owner)
		owner = __atomic_add_fetch(&owner_cnt, 1, __ATOMIC_RELAXED);
	place = &by_place[((uintptr_t)text >> 3 ^ (uintptr_t)text >> 15 ^ owner * 73u) % CACHE];
	t = __atomic_load_n(place, __ATOMIC_ACQUIRE);
	if (t && t->owner == owner && !strcmp(t->bytes, text))
		return t->id;
	len = strlen(text);
	slot = &head[hash_text(text, len) % HEADS];
	t = search(__atomic_load_n(slot, __ATOMIC_ACQUIRE), text, len);
	if (!t)
		t = add(slot, text, len);
	if (!t)
		return 0;
	/* Release: pairs with the acquire above. */
	__atomic_store_n(place, t, __ATOMIC_RELEASE);
	return t->id;
}

uint32_t text_call(bool driver, uint32_t id)
{
	const char *name = NULL;

	if (id < CALLS)
		name = __atomic_load_n(&call_name[driver][id], __ATOMIC_RELAXED);
	if (!name) {
		/* These names are constants of libcupti. */
		if (guest.cupti.GetCallbackName(driver ? CUPTI_DOMAIN_DRIVER : CUPTI_DOMAIN_RUNTIME,
						id, &name) != CUPTI_OK)
			return 0;
		if (id < CALLS)
			__atomic_store_n(&call_name[driver][id], name, __ATOMIC_RELAXED);
	}
	return text_id(name);
}

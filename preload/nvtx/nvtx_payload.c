/* nvtx_payload.c - NVTX's payload extension: schemas of binary payloads, and events with payloads. */
#include "preload/nvtx/nvtx.h"

intptr_t sl_nvtx_chain_ext[NVTX_EXT_SLOTS];

/* As NVTX defines them; fields of newer versions are ignored. */
struct entry {
	uint64_t flags, type;
	const char *name, *description;
	uint64_t detail, offset;
	const void *semantics, *reserved;
};
struct schema {
	uint64_t mask;
	const char *name;
	uint64_t type, flags;
	const struct entry *entry;
	size_t entries, bytes, alignment;
	uint64_t id;
	void *extension;
};
struct value {
	const char *name;
	uint64_t value;
	int8_t is_flag;
};
struct enumeration {
	uint64_t mask;
	const char *name;
	const struct value *value;
	size_t values, bytes;
	uint64_t id;
	void *extension;
};

/* Bits of the masks. */
enum {
	SCHEMA_NAME = 1 << 1,
	SCHEMA_TYPE = 1 << 2,
	SCHEMA_FLAGS = 1 << 3,
	SCHEMA_BYTES = 1 << 6,
	SCHEMA_ALIGNMENT = 1 << 7,
	SCHEMA_ID = 1 << 8,
	ENUM_NAME = 1 << 1,
	ENUM_BYTES = 1 << 4,
	ENUM_ID = 1 << 5,
};
#define STATIC_ID   (UINT64_C(1) << 24) /* first id that a program may choose */
#define DYNAMIC_ID  (UINT64_C(1) << 32) /* first id that the shim assigns */
#define ENTRIES_MAX 4096u

static uint64_t new_id(void)
{
	static uint32_t serial;
	uint32_t *from = sl_global.arena ? &sl_global.arena->nvtx_serial : &serial;

	return DYNAMIC_ID + __atomic_add_fetch(from, 1, __ATOMIC_RELAXED);
}

/* Copies name and description into one text. */
static void put_entry(uint64_t domain, uint64_t id, unsigned i, const struct entry *e)
{
	uint64_t word[6] = {
		domain | (uint64_t)i << 32, id, e->flags, e->type, e->detail, e->offset};
	char both[1024];
	size_t at = 0;

	for (const char *p = e->name; p && *p && at < 500; p++)
		both[at++] = *p;
	both[at++] = 0;
	for (const char *p = e->description; p && *p && at < sizeof(both) - 1; p++)
		both[at++] = *p;
	sl_nvtx_put(SL_NVTX_ENTRY, word, 6, &(struct sl_nvtx_text){.at = both, .len = at});
}

static uint64_t register_schema(void *domain, const struct schema *s)
{
	uint64_t (*chain)(void *, const struct schema *) =
		(uint64_t(*)(void *, const struct schema *))sl_nvtx_chain_ext[EXT_SCHEMA];
	uint64_t id = chain ? chain(sl_nvtx_chained_handle(domain), s) : 0, word[6];
	struct sl_nvtx_domain *d = sl_nvtx_domain(domain);
	unsigned entries;

	if (!s || !s->entry)
		return id;
	if (!id)
		id = s->mask & SCHEMA_ID && s->id >= STATIC_ID ? s->id : new_id();
	entries = s->entries < ENTRIES_MAX ? (unsigned)s->entries : ENTRIES_MAX;
	word[0] = (d ? d->id : 0) | (s->mask & SCHEMA_TYPE ? s->type << 32 : 0);
	word[1] = id;
	word[2] = s->mask & SCHEMA_FLAGS ? s->flags : 0;
	word[3] = entries;
	word[4] = s->mask & SCHEMA_BYTES ? s->bytes : 0;
	word[5] = s->mask & SCHEMA_ALIGNMENT ? s->alignment : 0;
	for (unsigned i = 0; i < entries; i++)
		put_entry((uint32_t)word[0], id, i, &s->entry[i]);
	sl_nvtx_put(SL_NVTX_SCHEMA, word, 6,
		    &(struct sl_nvtx_text){.at = s->name,
					   .len = s->mask & SCHEMA_NAME ? sl_nvtx_chars(s->name).len
									: 0});
	return id;
}

static uint64_t register_enum(void *domain, const struct enumeration *e)
{
	uint64_t (*chain)(void *, const struct enumeration *) =
		(uint64_t(*)(void *, const struct enumeration *))sl_nvtx_chain_ext[EXT_ENUM];
	uint64_t id = chain ? chain(sl_nvtx_chained_handle(domain), e) : 0, word[4];
	struct sl_nvtx_domain *d = sl_nvtx_domain(domain);
	struct sl_nvtx_text name;
	unsigned values;

	if (!e || !e->value)
		return id;
	if (!id)
		id = e->mask & ENUM_ID && e->id >= STATIC_ID ? e->id : new_id();
	values = e->values < ENTRIES_MAX ? (unsigned)e->values : ENTRIES_MAX;
	for (unsigned i = 0; i < values; i++) {
		uint64_t v[4] = {(d ? d->id : 0) | (uint64_t)i << 32, id, e->value[i].value,
				 e->value[i].is_flag != 0};

		name = sl_nvtx_chars(e->value[i].name);
		sl_nvtx_put(SL_NVTX_ENUM_VALUE, v, 4, &name);
	}
	word[0] = d ? d->id : 0;
	word[1] = id;
	word[2] = values;
	word[3] = e->mask & ENUM_BYTES ? e->bytes : 0;
	name = sl_nvtx_chars(e->mask & ENUM_NAME ? e->name : NULL);
	sl_nvtx_put(SL_NVTX_ENUM, word, 4, &name);
	return id;
}

/* ---- events ---- */

static unsigned blob_count(const struct nvtx_blob *blob, size_t cnt)
{
	return !blob ? 0 : cnt < SL_NVTX_BLOBS_MAX ? (unsigned)cnt : SL_NVTX_BLOBS_MAX;
}

static struct sl_nvtx_domain *event_of_blobs(struct sl_nvtx_event *e, void *domain,
					     const struct nvtx_blob *blob, size_t cnt)
{
	struct nvtx_event from = {
		.size = sizeof(from),
		.payload_type = NVTX_PAYLOAD_BLOBS,
		.blob_cnt = (int32_t)blob_count(blob, cnt),
		.payload = (uintptr_t)blob,
	};
	struct sl_nvtx_domain *d = sl_nvtx_domain(domain);

	sl_nvtx_event_of(e, d, &from);
	return d;
}

static void mark_blobs(void *domain, const struct nvtx_blob *blob, size_t cnt)
{
	void (*chain)(void *, const struct nvtx_blob *, size_t) =
		(void (*)(void *, const struct nvtx_blob *, size_t))sl_nvtx_chain_ext[EXT_MARK];
	struct sl_nvtx_event e;

	event_of_blobs(&e, domain, blob, cnt);
	sl_nvtx_put_event(SL_NVTX_MARK, &e);
	if (chain)
		chain(sl_nvtx_chained_handle(domain), blob, cnt);
}

static int push_blobs(void *domain, const struct nvtx_blob *blob, size_t cnt)
{
	int (*chain)(void *, const struct nvtx_blob *, size_t) =
		(int (*)(void *, const struct nvtx_blob *, size_t))sl_nvtx_chain_ext[EXT_PUSH];
	int chained = chain ? chain(sl_nvtx_chained_handle(domain), blob, cnt) : 0, level;
	struct sl_nvtx_event e;

	level = sl_nvtx_push(event_of_blobs(&e, domain, blob, cnt), &e);
	return chain ? chained : level;
}

static int pop_blobs(void *domain, const struct nvtx_blob *blob, size_t cnt)
{
	int (*chain)(void *, const struct nvtx_blob *, size_t) =
		(int (*)(void *, const struct nvtx_blob *, size_t))sl_nvtx_chain_ext[EXT_POP];
	int level = sl_nvtx_pop(sl_nvtx_domain(domain), blob, blob_count(blob, cnt));

	return chain ? chain(sl_nvtx_chained_handle(domain), blob, cnt) : level;
}

static uint64_t start_blobs(void *domain, const struct nvtx_blob *blob, size_t cnt)
{
	uint64_t (*chain)(void *, const struct nvtx_blob *, size_t) =
		(uint64_t(*)(void *, const struct nvtx_blob *, size_t))sl_nvtx_chain_ext[EXT_START];
	uint64_t id = chain ? chain(sl_nvtx_chained_handle(domain), blob, cnt) : 0;
	struct sl_nvtx_event e;
	struct sl_nvtx_domain *d = event_of_blobs(&e, domain, blob, cnt);

	return sl_nvtx_start(d, &e, id);
}

static void end_blobs(void *domain, uint64_t id, const struct nvtx_blob *blob, size_t cnt)
{
	void (*chain)(void *, uint64_t, const struct nvtx_blob *, size_t) = (void (*)(
		void *, uint64_t, const struct nvtx_blob *, size_t))sl_nvtx_chain_ext[EXT_END];

	sl_nvtx_end(sl_nvtx_domain(domain), id, blob, blob_count(blob, cnt));
	if (chain)
		chain(sl_nvtx_chained_handle(domain), id, blob, cnt);
}

static uint8_t is_enabled(void *domain)
{
	(void)domain;
	return 1;
}

const intptr_t sl_nvtx_ext[NVTX_EXT_SLOTS] = {
	[EXT_SCHEMA] = (intptr_t)register_schema, [EXT_ENUM] = (intptr_t)register_enum,
	[EXT_MARK] = (intptr_t)mark_blobs,        [EXT_PUSH] = (intptr_t)push_blobs,
	[EXT_POP] = (intptr_t)pop_blobs,          [EXT_START] = (intptr_t)start_blobs,
	[EXT_END] = (intptr_t)end_blobs,          [EXT_ENABLED] = (intptr_t)is_enabled,
};

/* nvtx_schema.c - keeps layouts of payloads and enumerations that programs register; sizes are checked, not trusted. */
#include "collector/decode/nvtx/nvtx_internal.h"

#include <stdlib.h>
#include <string.h>

#define ENTRIES_MAX 4096u
#define TEXT_MAX    8192u

static struct nvtx_schema **schema_at(const struct nvtx_arena *n, uint32_t domain, uint64_t id)
{
	struct nvtx_schema *const *at =
		&n->schema[((id ^ (uint64_t)domain << 40) * 0x9e3779b97f4a7c15u >> 32) %
			   NVTX_SCHEMA_BUCKETS];

	while (*at && ((*at)->id != id || (*at)->domain != domain))
		at = &(*at)->next;
	return (struct nvtx_schema **)(uintptr_t)at;
}

const struct nvtx_schema *nvtx_schema_find(const struct nvtx_arena *n, uint32_t domain, uint64_t id)
{
	return *schema_at(n, domain, id);
}

static struct nvtx_schema *get(struct nvtx_arena *n, uint32_t domain, uint64_t id)
{
	struct nvtx_schema **at = schema_at(n, domain, id);

	if (*at)
		return *at;
	*at = calloc(1, sizeof(**at));
	if (!*at)
		return NULL;
	(*at)->domain = domain;
	(*at)->id = id;
	return *at;
}

/* The text behind @words payload words, as a string in @text; its length. */
static size_t take_text(const struct call *c, unsigned words, char *text)
{
	size_t len = 0, room;

	if (c->data.words > words) {
		room = (c->data.words - words - 1) * 8u;
		len = c->data.payload[words] & 0xffff;
		if (len > room)
			len = room;
		if (len >= TEXT_MAX)
			len = TEXT_MAX - 1;
		memcpy(text, c->data.payload + words + 1, len);
	}
	text[len] = 0;
	return len;
}

static bool more_entries(void **list, uint32_t *cnt, uint32_t i, size_t size)
{
	char *more;

	if (i >= ENTRIES_MAX)
		return false;
	if (i < *cnt)
		return true;
	more = realloc(*list, (i + 1) * size);
	if (!more)
		return false;
	memset(more + *cnt * size, 0, (i + 1 - *cnt) * size);
	*list = more;
	*cnt = i + 1;
	return true;
}

static void take_entry(struct nvtx_schema *s, const struct call *c, uint32_t i, const char *name)
{
	struct nvtx_entry *e;

	if (!more_entries((void **)&s->entry, &s->entries, i, sizeof(*s->entry)))
		return;
	e = &s->entry[i];
	free(e->name);
	e->flags = c->data.payload[2];
	e->type = c->data.payload[3];
	e->detail = c->data.payload[4];
	e->offset = c->data.payload[5];
	e->name = strdup(name);
}

static void take_value(struct nvtx_schema *s, const struct call *c, uint32_t i, const char *name)
{
	if (!more_entries((void **)&s->value, &s->values, i, sizeof(*s->value)))
		return;
	s->is_enum = true;
	free(s->value[i].name);
	s->value[i].value = c->data.payload[2];
	s->value[i].is_flag = c->data.payload[3] & 1;
	s->value[i].name = strdup(name);
}

static struct nvtx_handle **handle_at(const struct nvtx_arena *n, uint64_t handle)
{
	struct nvtx_handle *const *at =
		&n->handle[(handle * 0x9e3779b97f4a7c15u >> 32) % NVTX_HANDLE_BUCKETS];

	while (*at && (*at)->handle != handle)
		at = &(*at)->next;
	return (struct nvtx_handle **)(uintptr_t)at;
}

uint32_t nvtx_handle_string(const struct nvtx_arena *n, uint64_t handle)
{
	const struct nvtx_handle *h = *handle_at(n, handle);

	return h ? h->string : 0;
}

static void put_handle(struct nvtx_arena *n, uint64_t handle, uint32_t string)
{
	struct nvtx_handle **at = handle_at(n, handle);

	if (!*at)
		*at = calloc(1, sizeof(**at));
	if (!*at)
		return;
	(*at)->handle = handle;
	(*at)->string = string;
}

static void write_row(struct db *db, const struct call *c, uint32_t domain, uint32_t high,
		      const char *text)
{
	const uint64_t *p = c->data.payload;
	const char *texts[2] = {text, text + strlen(text) + 1};
	int64_t v[7] = {domain, (int64_t)p[1]};

	switch (c->hook) {
	case SL_NVTX_SCHEMA:
		v[2] = high;
		v[3] = (int64_t)p[2];
		v[4] = (int64_t)p[3];
		v[5] = (int64_t)p[4];
		v[6] = (int64_t)p[5];
		db_nvtx_row(db, DB_NVTX_SCHEMA, v, texts);
		break;
	case SL_NVTX_ENTRY:
		v[2] = high;
		for (int i = 2; i < 6; i++)
			v[i + 1] = (int64_t)p[i];
		db_nvtx_row(db, DB_NVTX_ENTRY, v, texts);
		break;
	case SL_NVTX_ENUM:
		v[2] = (int64_t)p[2];
		v[3] = (int64_t)p[3];
		db_nvtx_row(db, DB_NVTX_ENUM, v, texts);
		break;
	default:
		v[2] = high;
		v[3] = (int64_t)p[2];
		v[4] = (int64_t)p[3];
		db_nvtx_row(db, DB_NVTX_ENUM_VALUE, v, texts);
	}
}

void nvtx_schema_record(struct db *db, struct arena *a, const struct call *c)
{
	static const uint8_t words[SL_NVTX_CNT] = {
		[SL_NVTX_STRING] = 2, [SL_NVTX_SCHEMA] = 6,     [SL_NVTX_ENTRY] = 6,
		[SL_NVTX_ENUM] = 4,   [SL_NVTX_ENUM_VALUE] = 4,
	};
	char text[TEXT_MAX + 2] = "";
	struct nvtx_arena *n = a->family.nvtx;
	uint32_t domain, high;
	struct nvtx_schema *s;

	if (c->hook >= SL_NVTX_CNT || !words[c->hook] || c->data.words < words[c->hook])
		return;
	domain = (uint32_t)c->data.payload[0];
	high = (uint32_t)(c->data.payload[0] >> 32);
	if (c->hook == SL_NVTX_STRING) {
		put_handle(n, c->data.payload[0], (uint32_t)c->data.payload[1]);
		return;
	}
	/* Name, NUL and description: two strings, also where the second is missing. */
	text[take_text(c, words[c->hook], text) + 1] = 0;
	s = get(n, domain, c->data.payload[1]);
	if (!s)
		return;
	if (c->hook == SL_NVTX_ENTRY) {
		take_entry(s, c, high, text);
	} else if (c->hook == SL_NVTX_ENUM_VALUE) {
		take_value(s, c, high, text);
	} else if (c->hook == SL_NVTX_SCHEMA) {
		s->type = high;
		s->bytes = c->data.payload[4];
		s->alignment = c->data.payload[5];
	} else {
		s->is_enum = true;
		s->bytes = c->data.payload[3];
	}
	if (db)
		write_row(db, c, domain, high, text);
}

static void free_schema(struct nvtx_schema *s)
{
	for (uint32_t i = 0; i < s->entries; i++)
		free(s->entry[i].name);
	for (uint32_t i = 0; i < s->values; i++)
		free(s->value[i].name);
	free(s->entry);
	free(s->value);
	free(s);
}

void nvtx_schemas_release(struct nvtx_arena *n)
{
	for (unsigned i = 0; i < NVTX_SCHEMA_BUCKETS; i++)
		while (n->schema[i]) {
			struct nvtx_schema *s = n->schema[i];

			n->schema[i] = s->next;
			free_schema(s);
		}
	for (unsigned i = 0; i < NVTX_HANDLE_BUCKETS; i++)
		while (n->handle[i]) {
			struct nvtx_handle *h = n->handle[i];

			n->handle[i] = h->next;
			free(h);
		}
}

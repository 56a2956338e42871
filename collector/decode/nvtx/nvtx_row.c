/* nvtx_row.c - writes rows of ranges, marks and names. */
#include "collector/base/grow.h"
#include "collector/decode/nvtx/nvtx_internal.h"
#include "collector/model/ring_reader.h"

#include <stdlib.h>
#include <string.h>

#include "collector/model/strings.h"

bool nvtx_text_add(struct nvtx_text *t, const void *bytes, size_t len)
{
	if (t->len + len + 1 > t->cap) {
		size_t cap = (t->len + len + 1) * 2;
		char *more = realloc(t->at, cap);

		if (!more)
			return false;
		t->at = more;
		t->cap = cap;
	}
	if (len)
		memcpy(t->at + t->len, bytes, len);
	t->len += len;
	t->at[t->len] = 0;
	return true;
}

void nvtx_text_free(struct nvtx_text *t)
{
	free(t->at);
	memset(t, 0, sizeof(*t));
}

/* StringIds.id of a registered string; DB_NULL: its text was lost. */
static int64_t text_id(struct arenas *as, struct arena *a, uint32_t string)
{
	struct nvtx_arena *n = a->family.nvtx;
	uint32_t page = string / STRINGS_PAGE, i = string % STRINGS_PAGE;
	const char *text;
	int64_t *ids;

	if (page < n->texts.pages && n->texts.page[page] && n->texts.page[page][i])
		return n->texts.page[page][i] - 1;
	text = string_find(a, string);
	if (!text && !n->looked) {
		/* The string may be in the ring of the thread that registered it, which was not read so far yet. */
		ring_prescan(a);
		text = string_find(a, string);
		n->looked = !text;
	}
	if (!text)
		return DB_NULL;
	ids = grow_page(&n->texts.page, &n->texts.pages, page, STRINGS_PAGE * sizeof(*ids));
	if (!ids)
		return db_string(as->db, text, strlen(text));
	ids[i] = db_string(as->db, text, strlen(text)) + 1;
	return ids[i] - 1;
}

/* Cuts [e->start, *end] to the recorded time. False: it is wholly outside. *@end may be DB_NULL: open. */
static bool cut(const struct arenas *as, const struct nvtx_event *e, int64_t *start, int64_t *end)
{
	int64_t until = *end == DB_NULL ? INT64_MAX - as->clock->zero : *end;
	bool is_open = *end == DB_NULL;

	*start = e->start;
	if (!windows_cut(as->report.windows, as->clock->zero, start, &until))
		return false;
	*end = is_open ? DB_NULL : until;
	return true;
}

/* Writes the true times of a range whose row had to be cut. */
static void note_cut(struct arenas *as, const struct nvtx_event *e, int64_t id, int64_t start,
		     int64_t end, int64_t true_end)
{
	int64_t numbers[] = {id, e->start, true_end};

	if (start != e->start || end != true_end)
		db_nvtx_row(as->db, DB_NVTX_CLIPPED, numbers, NULL);
}

/* The row exists, from a commit while the range was open. */
static void end_row(struct arenas *as, const struct nvtx_event *e, int64_t end,
		    int64_t end_global_tid)
{
	int64_t start, until = end;

	if (!cut(as, e, &start, &until))
		until = end;
	db_nvtx_end(as->db, e->row, until, end_global_tid,
		    e->payload == SL_NVTX_PAYLOAD_I64 ? (int64_t)e->payload_bits : DB_NULL,
		    e->json.len ? e->json.at : NULL);
	note_cut(as, e, e->row, start, until, end);
}

void nvtx_row(struct arenas *as, struct arena *a, struct nvtx_event *e, int type,
	      int64_t global_tid, int64_t end, int64_t end_global_tid)
{
	struct db_nvtx_event row;
	int64_t start = e->start, until = end;

	if (e->row > 0) {
		end_row(as, e, end, end_global_tid);
		return;
	}
	if (type == NVTX_MARK ? !windows_have_ns(as->report.windows, as->clock->zero, start)
			      : !cut(as, e, &start, &until)) {
		if (as->sought && type != NVTX_MARK)
			nvtx_sought(as->sought, a, e);
		return;
	}
	row = (struct db_nvtx_event){
		.start = start,
		.end = until,
		.type = type,
		.range_id = type == NVTX_START_END ? (int64_t)e->range_id : DB_NULL,
		.category = e->category ? (int64_t)e->category : DB_NULL,
		.color = e->has_color ? (int64_t)e->color : DB_NULL,
		.global_tid = global_tid,
		.end_global_tid = end_global_tid,
		.text_id = e->string ? text_id(as, a, e->string) : DB_NULL,
		.domain = e->domain,
		.id = db_nvtx_id(as->db),
		.payload.column = e->payload,
		.payload.bits = e->payload_bits,
		.text.json = e->json.len ? e->json.at : NULL,
		.text.json_len = e->json.len,
		.text.binary = e->binary.len ? e->binary.at : NULL,
		.text.binary_len = e->binary.len,
	};
	/* Readers expect one of the two, also of an event without a message. */
	if (row.text_id == DB_NULL) {
		row.text.text = e->has_text ? e->text.at : "";
		row.text.text_len = e->has_text ? e->text.len : 0;
	}
	if (type != NVTX_MARK && end == DB_NULL)
		e->row = row.id;
	db_nvtx_event(as->db, &row);
	if (type != NVTX_MARK)
		note_cut(as, e, row.id, start, until, end);
}

void nvtx_leave(struct arenas *as, struct arena *a, struct nvtx_event *e, int type,
		int64_t global_tid, int64_t end)
{
	int64_t numbers[] = {e->row, e->start, DB_NULL};

	if (!e->row)
		nvtx_row(as, a, e, type, global_tid, DB_NULL, DB_NULL);
	if (e->row > 0) {
		numbers[0] = e->row;
		db_nvtx_end(as->db, e->row, end, DB_NULL, DB_NULL, NULL);
		db_nvtx_row(as->db, DB_NVTX_CLIPPED, numbers, NULL);
	}
	e->row = NVTX_ROW_LEFT;
}

void nvtx_name_row(struct arenas *as, int type, int64_t ns, int64_t global_tid, uint32_t domain,
		   int64_t category, const char *text, size_t len)
{
	struct db_nvtx_event row = {
		.start = ns,
		.end = DB_NULL,
		.type = type,
		.range_id = DB_NULL,
		.category = category,
		.color = DB_NULL,
		.global_tid = global_tid,
		.end_global_tid = DB_NULL,
		.text_id = DB_NULL,
		.domain = domain,
		.id = db_nvtx_id(as->db),
		.text.text = text,
		.text.text_len = len,
	};

	db_nvtx_event(as->db, &row);
}

/* ---- names that forked children inherit ---- */

#define NAMES_MAX 16384u /* that children can inherit */

/* Where the pair is in the set, or would be. */
static uint64_t *place_in(uint64_t *named, uint32_t cap, uint64_t pair)
{
	uint32_t i = (uint32_t)(pair * 0x9e3779b97f4a7c15u >> 32) & (cap - 1);

	while (named[i] && named[i] != pair)
		i = (i + 1) & (cap - 1);
	return &named[i];
}

static bool is_named(const struct nvtx_arena *n, uint32_t image, uint32_t domain)
{
	return n->named_cap && *place_in(n->named, n->named_cap, (uint64_t)image << 32 | domain);
}

/* Process numbers begin at 1, so no pair is 0. */
static void set_named(struct nvtx_arena *n, uint32_t image, uint32_t domain)
{
	uint64_t pair = (uint64_t)image << 32 | domain, *at;

	if (n->named_cnt * 2 >= n->named_cap) {
		uint32_t cap = n->named_cap ? n->named_cap * 2 : 64;
		uint64_t *more = calloc(cap, sizeof(*more));

		if (!more)
			return;
		for (uint32_t i = 0; i < n->named_cap; i++)
			if (n->named[i])
				*place_in(more, cap, n->named[i]) = n->named[i];
		free(n->named);
		n->named = more;
		n->named_cap = cap;
	}
	at = place_in(n->named, n->named_cap, pair);
	n->named_cnt += !*at;
	*at = pair;
}

void nvtx_name_given(struct nvtx_arena *n, uint32_t image, uint32_t domain, bool is_category,
		     uint32_t category, const char *text)
{
	struct nvtx_name *name = n->names;

	if (!is_category)
		set_named(n, image, domain);
	while (name && (name->domain != domain || name->is_category != is_category ||
			name->category != category || name->image != image))
		name = name->next;
	if (name) {
		free(name->text);
		name->text = strdup(text);
		return;
	}
	name = n->name_cnt < NAMES_MAX ? calloc(1, sizeof(*name)) : NULL;
	if (!name)
		return;
	n->name_cnt++;
	name->text = strdup(text);
	name->domain = domain;
	name->category = category;
	name->is_category = is_category;
	name->image = image;
	name->next = n->names;
	n->names = name;
}

/* The process that forked number @image, by its threads' slots; 0 unknown. */
static uint32_t parent_of(const struct arena *a, uint32_t image)
{
	uint32_t fresh = arena_fresh_slots(a);

	for (uint32_t i = 0; i < fresh; i++)
		if (__atomic_load_n(&a->map->slot[i].process, __ATOMIC_RELAXED) == image)
			return __atomic_load_n(&a->map->slot[i].parent_process, __ATOMIC_RELAXED);
	return 0;
}

static bool descends(const struct arena *a, uint32_t image, uint32_t from)
{
	for (unsigned hops = 0; image && hops < 64; hops++) {
		image = parent_of(a, image);
		if (image == from)
			return true;
	}
	return false;
}

void nvtx_inherit(struct arenas *as, struct arena *a, const struct nvtx_stack *s, int64_t ns)
{
	struct nvtx_arena *n = a->family.nvtx;
	struct nvtx_name *name = n->names;

	if (is_named(n, s->image, s->domain))
		return;
	/* Created by another thread, whose ring was not read so far yet: handled when its record comes. */
	while (s->domain && name && (name->is_category || name->domain != s->domain))
		name = name->next;
	if (s->domain && !name)
		return;
	set_named(n, s->image, s->domain);
	for (name = n->names; name; name = name->next) {
		if (name->domain != s->domain || name->image == s->image || !name->text)
			continue;
		/* Numbers of domains are unique in the arena; the default one is shared by all processes. */
		if (!s->domain && !descends(a, s->image, name->image))
			continue;
		nvtx_name_row(as, name->is_category ? NVTX_CATEGORY : NVTX_DOMAIN, ns,
			      s->global_tid, s->domain,
			      name->is_category ? (int64_t)name->category : DB_NULL, name->text,
			      strlen(name->text));
	}
}

/* events.c - events of a report as rows. */
#include <stdlib.h>
#include <string.h>

#include "collector/base/map.h"
#include "exporters/read/nsysrep/events.h"

#define NR_NO_CLASS   -1
#define PROCESS       113u /* an event that a process was seen */
#define PAYLOADS      100u /* fields from here on hold payloads, or parts that decide the kind */
#define FRAMES_MAX    4096u
#define CLASS_PAYLOAD 108u
#define CLASS_FIELD   6u

static const struct kind {
	uint16_t payload, part;
	int32_t class;
	enum nr_table_id table, chains;
	uint8_t chain_field;
	uint64_t known, known_in_part;
} kinds[] = {
#define F(n) (1ull << (n))
#define EVENT(payload, part, class, table, chains, field, known, in_part) \
	{payload,                                                         \
	 part,                                                            \
	 class,                                                           \
	 NR_##table,                                                      \
	 NR_##chains,                                                     \
	 field,                                                           \
	 (uint64_t)(known),                                               \
	 (uint64_t)(in_part)},
#include "exporters/read/nsysrep/events.def"
#undef EVENT
#undef F
};
#define KIND_CNT (sizeof(kinds) / sizeof(kinds[0]))

struct nr_events {
	struct nr_tables *tables;
	struct nr_unknown *unknown;
	uint64_t known[KIND_CNT], known_in_part[KIND_CNT];
	int64_t chains[NR_TABLE_CNT]; /* written so far, by table of frames */
	struct nr_fields payload, part, frame;
	struct wire frames; /* of the payload, from the first frame on */
	struct map processes;
};

struct nr_events *nr_events_new(struct nr_tables *t, struct nr_unknown *unknown)
{
	struct nr_events *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->tables = t;
	e->unknown = unknown;
	for (unsigned i = 0; i < KIND_CNT; i++) {
		const struct kind *k = &kinds[i];

		e->known[i] = k->known | nr_tables_known(k->table, false);
		if (k->class >= 0)
			e->known[i] |= 1ull << CLASS_FIELD;
		if (k->chain_field)
			e->known[i] |= 1ull << k->chain_field;
		if (k->part && k->part < PAYLOADS)
			e->known[i] |= 1ull << k->part;
		e->known_in_part[i] = k->known_in_part | nr_tables_known(k->table, true);
	}
	return e;
}

void nr_events_free(struct nr_events *e)
{
	if (!e)
		return;
	map_free(&e->processes);
	free(e);
}

bool nr_fields_read(struct nr_fields *f, struct wire w)
{
	struct wire_field field;

	f->has = f->is_bytes = f->repeats = 0;
	f->has_large = false;
	f->part.number = 0;
	while (wire_next(&w, &field)) {
		uint64_t bit;

		if (field.number >= 64) {
			f->has_large |= field.number < PAYLOADS;
			if (field.number >= PAYLOADS && field.is_bytes && !f->part.number)
				f->part = field;
			continue;
		}
		bit = 1ull << field.number;
		if (f->has & bit) {
			f->repeats |= bit;
			continue;
		}
		f->has |= bit;
		if (field.is_bytes) {
			f->is_bytes |= bit;
			f->bytes[field.number].data = field.data;
			f->bytes[field.number].len = field.len;
		} else {
			f->value[field.number] = field.value;
		}
	}
	return !w.bad;
}

/* ---- what is not known ---- */

static void count_kind(struct nr_unknown *u, uint32_t type, uint32_t payload, int32_t class)
{
	u->events++;
	for (unsigned i = 0; i < u->kind_cnt; i++)
		if (u->kind[i].type == type && u->kind[i].payload == payload &&
		    u->kind[i].class == class) {
			u->kind[i].events++;
			return;
		}
	if (u->kind_cnt == NR_UNKNOWN_MAX)
		return;
	u->kind[u->kind_cnt].type = type;
	u->kind[u->kind_cnt].payload = payload;
	u->kind[u->kind_cnt].class = class;
	u->kind[u->kind_cnt++].events = 1;
}

static void count_field(struct nr_unknown *u, unsigned payload, unsigned part, unsigned field)
{
	u->fields++;
	for (unsigned i = 0; i < u->field_cnt; i++)
		if (u->field[i].payload == payload && u->field[i].part == part &&
		    u->field[i].field == field) {
			u->field[i].cnt++;
			return;
		}
	if (u->field_cnt == NR_UNKNOWN_MAX)
		return;
	u->field[u->field_cnt].payload = (uint16_t)payload;
	u->field[u->field_cnt].part = (uint16_t)part;
	u->field[u->field_cnt].field = (uint16_t)field;
	u->field[u->field_cnt++].cnt = 1;
}

static void count_fields(struct nr_unknown *u, const struct nr_fields *f, uint64_t known,
			 unsigned payload, unsigned part)
{
	for (uint64_t left = f->has & ~known; left; left &= left - 1)
		count_field(u, payload, part, (unsigned)__builtin_ctzll(left));
	if (f->has_large && known != UINT64_MAX)
		count_field(u, payload, part, 64);
}

/* ---- processes ---- */

#define PROCESS_ID 2u
#define NAME       6u
#define STARTED    5u /* the command by which it was started */

/*
 * A process has the name of its program; else the command by which it was started. Fields stand in the order of their numbers: where a
 * message breaks off before its name, the last part of the command's path stands for it.
 */
static void process_name(const struct nr_fields *f, bool is_whole, const char **name, size_t *len)
{
	unsigned n = f->has & f->is_bytes & 1ull << NAME ? NAME : STARTED;
	bool has_later = f->has & 0x3f80; /* 7 to 13 */
	const char *text, *end, *slash;

	*name = NULL;
	*len = 0;
	if (!(f->has & f->is_bytes & 1ull << n))
		return;
	*name = text = (const char *)f->bytes[n].data;
	*len = f->bytes[n].len;
	if (n == NAME || is_whole || has_later)
		return;
	end = memchr(text, ' ', *len);
	*len = end ? (size_t)(end - text) : *len;
	slash = memrchr(text, '/', *len);
	if (slash) {
		*len -= (size_t)(slash + 1 - text);
		*name = slash + 1;
	}
}

static int add_process(struct nr_events *e, bool is_whole)
{
	struct nr_fields *f = &e->payload;
	struct nr_row row = {.payload = f, .part = f};
	const char *name;
	uint64_t *seen;
	size_t len;

	if (!(f->has >> PROCESS_ID & 1))
		return 0;
	seen = map_at(&e->processes, f->value[PROCESS_ID], true);
	if (!seen || *seen)
		return seen ? 0 : -1;
	*seen = 1;
	process_name(f, is_whole, &name, &len);
	if (name) {
		f->has |= 1ull << NAME;
		f->is_bytes |= 1ull << NAME;
		f->bytes[NAME].data = (const uint8_t *)name;
		f->bytes[NAME].len = len;
	}
	row.number = (int64_t)(f->value[PROCESS_ID] >> 24 & 0xffffff);
	return nr_tables_add(e->tables, NR_PROCESSES, &row);
}

/* ---- events ---- */

static int add_chain(struct nr_events *e, const struct kind *k, struct wire payload, int64_t id)
{
	struct nr_row row = {.part = &e->frame, .payload = &e->frame, .chain = id};
	struct wire_field field;
	int rc = 0;

	while (rc == 0 && row.number < FRAMES_MAX && wire_next(&payload, &field)) {
		if (field.number != k->chain_field || !field.is_bytes)
			continue;
		if (!nr_fields_read(&e->frame, wire_in(&field)))
			e->unknown->damaged++;
		count_fields(e->unknown, &e->frame, nr_tables_known(k->chains, true), k->payload,
			     k->chain_field);
		rc = nr_tables_add(e->tables, k->chains, &row);
		row.number++;
	}
	return rc;
}

static int add_event(struct nr_events *e, const struct kind *k, uint32_t type, struct wire payload)
{
	unsigned i = (unsigned)(k - kinds);
	struct nr_row row = {.payload = &e->payload, .part = &e->part, .kind = type};
	bool has_chain =
		k->chain_field && e->payload.has & e->payload.is_bytes & 1ull << k->chain_field;
	int rc = 0;

	if (k->table == NR_NOWHERE)
		return 0;
	count_fields(e->unknown, &e->payload, e->known[i], k->payload, 0);
	if (k->part)
		count_fields(e->unknown, &e->part, e->known_in_part[i], k->payload, k->part);
	if (!nr_tables_has(e->tables, k->table))
		return 0;
	row.number = nr_tables_rows(e->tables, k->table) + 1;
	/* A sample's chain has the number of the sample. */
	if (has_chain && k->table == NR_COMPOSITE_EVENTS)
		row.chain = row.number;
	else if (has_chain)
		row.chain = ++e->chains[k->chains];
	/* Only a sample is there before its frames: so are the tables, with their first rows. */
	if (k->table == NR_COMPOSITE_EVENTS)
		rc = nr_tables_add(e->tables, k->table, &row);
	if (rc == 0 && has_chain)
		rc = add_chain(e, k, payload, row.chain);
	if (rc == 0 && k->table != NR_COMPOSITE_EVENTS)
		rc = nr_tables_add(e->tables, k->table, &row);
	return rc;
}

static const struct kind *kind_of(unsigned payload, unsigned part, int32_t class)
{
	for (unsigned i = 0; i < KIND_CNT; i++)
		if (kinds[i].payload == payload &&
		    (kinds[i].part < PAYLOADS ? part == 0 : kinds[i].part == part) &&
		    (kinds[i].class == NR_NO_CLASS || kinds[i].class == class))
			return &kinds[i];
	return NULL;
}

static int take(struct nr_events *e, uint32_t type, const struct wire_field *payload)
{
	bool is_whole = nr_fields_read(&e->payload, wire_in(payload));
	struct wire_field part = e->payload.part;
	bool has_part = part.number != 0;
	int32_t class = -1;
	const struct kind *k;

	if (!is_whole)
		e->unknown->damaged++;
	if (payload->number == PROCESS)
		return add_process(e, is_whole);
	if (payload->number == CLASS_PAYLOAD && e->payload.has & 1ull << CLASS_FIELD)
		class = (int32_t)(e->payload.value[CLASS_FIELD] & INT32_MAX);
	k = kind_of(payload->number, has_part ? part.number : 0, class);
	if (!k) {
		count_kind(e->unknown, type, payload->number,
			   has_part ? (int32_t)part.number : class);
		return 0;
	}
	e->part.has = 0;
	if (k->part && k->part < PAYLOADS) {
		has_part = e->payload.has & e->payload.is_bytes & 1ull << k->part;
		if (has_part)
			part = (struct wire_field){.is_bytes = true,
						   .data = e->payload.bytes[k->part].data,
						   .len = e->payload.bytes[k->part].len};
	}
	if (k->part && has_part && !nr_fields_read(&e->part, wire_in(&part)))
		e->unknown->damaged++;
	return add_event(e, k, type, wire_in(payload));
}

int nr_events_add(struct nr_events *e, const uint8_t *data, size_t len)
{
	struct wire w = wire_of(data, len);
	struct wire_field field, payload = {0};
	uint32_t type = 0;

	while (wire_next(&w, &field)) {
		if (field.number == 1 && !field.is_bytes)
			type = (uint32_t)field.value;
		else if (field.number >= PAYLOADS && field.is_bytes && !payload.data)
			payload = field;
	}
	if (w.bad)
		e->unknown->damaged++;
	if (!payload.data) {
		if (!w.bad)
			count_kind(e->unknown, type, 0, NR_NO_CLASS);
		return 0;
	}
	return take(e, type, &payload);
}

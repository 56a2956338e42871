/* events.h - events of a report as rows. */
#pragma once

#include "exporters/read/nsysrep/tables.h"

#define NR_UNKNOWN_MAX 64

/* What was left out, by kind. */
struct nr_unknown {
	struct {
		uint32_t type, payload;
		int32_t class; /* -1: has none */
		uint64_t events;
	} kind[NR_UNKNOWN_MAX];
	unsigned kind_cnt;
	uint64_t events; /* of all unknown kinds */
	uint64_t fields; /* of known kinds: fields that no column takes */
	struct {
		uint16_t payload, part, field;
		uint64_t cnt;
	} field[NR_UNKNOWN_MAX];
	unsigned field_cnt;
	uint64_t damaged;  /* messages that break off */
	uint64_t settings; /* of the machine and the recording */
	uint64_t messages; /* behind the events */
};

struct nr_events;

struct nr_events *nr_events_new(struct nr_tables *t, struct nr_unknown *unknown);
/* An event: the bytes of its message. 0, or -1: nr_tables_why(). */
int nr_events_add(struct nr_events *e, const uint8_t *data, size_t len);
void nr_events_free(struct nr_events *e);
/* All fields of a message; false: it breaks off. */
bool nr_fields_read(struct nr_fields *f, struct wire w);

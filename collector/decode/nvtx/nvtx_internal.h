/*
 * nvtx_internal.h - structures and functions that nvtx*.c share; for these files and their tests alone.
 *
 *   nvtx_read.c     takes records apart
 *   nvtx.c          pairs pushes with pops, starts with ends
 *   nvtx_gil.c      ranges of Python's interpreter lock
 *   nvtx_row.c      writes rows
 *   nvtx_sought.c   looks for ranges that nearly match the range that begins a capture
 *   nvtx_schema.c   layouts of payloads
 *   nvtx_json.c     payloads by these as JSON
 */
#pragma once

#include "collector/report/db_nvtx.h"
#include "collector/decode/nvtx/nvtx.h"
#include "preload/wire/nvtx_wire.h"

/* eventType */
enum {
	NVTX_CATEGORY = 33,
	NVTX_MARK = 34,
	NVTX_THREAD = 39,
	NVTX_PUSH_POP = 59,
	NVTX_START_END = 60,
	NVTX_DOMAIN = 75,
	NVTX_DOMAIN_END = 76,
};

/* A growing text; keeps its memory for the next use. */
struct nvtx_text {
	char *at;
	size_t len, cap;
};
bool nvtx_text_add(struct nvtx_text *t, const void *bytes, size_t len);
void nvtx_text_free(struct nvtx_text *t);

/* An event, as its record describes it. */
struct nvtx_event {
	int64_t start;
	int64_t row; /* eventId of a row that was written before the event ended; 0 none, or */
#define NVTX_ROW_LEFT (-1) /* its row is complete, in a report before this one */
	uint64_t range_id, payload_bits;
	uint32_t domain, category, color, string; /* string: id, 0 none */
	uint16_t level;
	uint8_t payload;
	bool has_color, has_text;
	struct nvtx_text text, json, binary; /* json, binary: empty when there is none */
};

/* The open push ranges of one thread in one domain. */
struct nvtx_stack {
	struct nvtx_stack *next; /* in its bucket */
	int64_t use;             /* thread.use */
	int64_t global_tid;
	uint32_t image; /* process number */
	uint32_t domain, cnt, cap;
	struct nvtx_event *event; /* [cap]: those above cnt keep their memory */
};

/* A range between start and end, or an end that was read before its start. */
struct nvtx_range {
	struct nvtx_range *next; /* in its bucket */
	uint32_t image;          /* process number */
	bool is_early;
	int64_t global_tid;
	int64_t end, end_global_tid; /* is_early */
	struct nvtx_event event;
};

/* A name that forked children inherit: of a domain, or of a category in one. */
struct nvtx_name {
	struct nvtx_name *next;
	uint32_t domain, category, image;
	bool is_category;
	char *text;
};

struct nvtx_schema;
struct nvtx_handle;

#define NVTX_STACK_BUCKETS  1024u
#define NVTX_RANGE_BUCKETS  4096u
#define NVTX_HANDLE_BUCKETS 1024u
#define NVTX_SCHEMA_BUCKETS 1024u

struct nvtx_arena {
	struct nvtx_stack *stack[NVTX_STACK_BUCKETS];
	struct nvtx_range *range[NVTX_RANGE_BUCKETS];
	uint32_t stacks, early;
	struct nvtx_name *names;
	struct nvtx_schema *schema[NVTX_SCHEMA_BUCKETS];
	struct nvtx_handle *handle[NVTX_HANDLE_BUCKETS];
	uint64_t *
		named; /* set of process << 32 | domain, whose names have rows: open addressing, 0 = free */
	uint32_t named_cnt, named_cap, name_cnt;
	struct {
		int64_t **page; /* StringIds.id + 1 by string id, STRINGS_PAGE each */
		uint32_t pages;
	} texts;
	uint32_t saves;
	struct nvtx_event scratch; /* of the record being read */
	bool looked;               /* prescanned, for a record that never came */
};

/* ---- nvtx.c ---- */

/* Open ranges of @t in @domain; made with the first use. */
struct nvtx_stack *nvtx_stack_of(struct arenas *as, struct thread *t, uint32_t domain, int64_t ns);
struct nvtx_stack *nvtx_stack_find(struct nvtx_arena *n, int64_t use, uint32_t domain);
/* The next event of @s, with the memory that the place had before. NULL: too deep, or no memory. */
struct nvtx_event *nvtx_stack_next(struct nvtx_stack *s);
/* Whether this ends a range that a previous collector left in the report without an end. */
bool nvtx_end_left(struct arenas *as, int type, const struct thread *t, int64_t which, int64_t ns);

/* ---- nvtx_sought.c ---- */

/* Notes a range outside of captures if it nearly matches the range that begins one. */
void nvtx_sought(struct sought_range *s, const struct arena *a, const struct nvtx_event *e);

/* ---- nvtx_gil.c ---- */

/* SL_NVTX_GIL_*. */
void nvtx_gil_record(struct arenas *as, struct thread *t, const struct call *c);
/* A report ends at @end: holdings that have no record yet. */
void nvtx_gil_leave(struct arenas *as, struct arena *a, int64_t end);

/* ---- nvtx_read.c ---- */

/* Payload words, each read once. */
struct nvtx_reader {
	const uint64_t *at;
	uint32_t left;
	bool failed;
};
uint64_t nvtx_word(struct nvtx_reader *r);
bool nvtx_read_text(struct nvtx_reader *r, struct nvtx_text *t);
/* Blobs as JSON, or where that fails, in hexadecimal. Copied first: the program could still change them. */
void nvtx_read_blobs(struct arena *a, struct nvtx_reader *r, unsigned cnt, struct nvtx_event *e);
/* The words of a MARK, PUSH or START into @e. */
bool nvtx_read_event(struct arenas *as, struct arena *a, const struct call *c,
		     struct nvtx_event *e);
void nvtx_free_event(struct nvtx_event *e);

/* ---- nvtx_row.c ---- */

/* The event ends at @end (DB_NULL: open, or no range). Rows that exist already are completed. */
void nvtx_row(struct arenas *as, struct arena *a, struct nvtx_event *e, int type,
	      int64_t global_tid, int64_t end, int64_t end_global_tid);
/* The report ends at @end, and the range is open: its row is cut there; the next report has one of its own. */
void nvtx_leave(struct arenas *as, struct arena *a, struct nvtx_event *e, int type,
		int64_t global_tid, int64_t end);
/* A row that only names something. */
void nvtx_name_row(struct arenas *as, int type, int64_t ns, int64_t global_tid, uint32_t domain,
		   int64_t category, const char *text, size_t len);
/* A process begins to use a domain: names inherited from the process that forked it get rows of its own. */
void nvtx_inherit(struct arenas *as, struct arena *a, const struct nvtx_stack *s, int64_t ns);
/* @image named it itself. */
void nvtx_name_given(struct nvtx_arena *n, uint32_t image, uint32_t domain, bool is_category,
		     uint32_t category, const char *text);

/* ---- nvtx_schema.c: layouts of payloads; nvtx_json.c ---- */

/* SL_NVTX_SCHEMA, ENTRY, ENUM, ENUM_VALUE, STRING. @db NULL: prescanned, no rows. */
void nvtx_schema_record(struct db *db, struct arena *a, const struct call *c);
void nvtx_schemas_release(struct nvtx_arena *n);

struct nvtx_entry {
	uint64_t flags, type, detail, offset;
	char *name;
};
struct nvtx_value {
	uint64_t value;
	bool is_flag;
	char *name;
};
struct nvtx_schema {
	struct nvtx_schema *next;
	uint32_t domain, type;
	uint64_t id, bytes, alignment;
	bool is_enum;
	uint32_t entries, values; /* that were registered */
	struct nvtx_entry *entry;
	struct nvtx_value *value;
};
struct nvtx_handle {
	struct nvtx_handle *next;
	uint64_t handle;
	uint32_t string;
};

/* Id of the registered string that the program knows by @handle; 0 none. */
uint32_t nvtx_handle_string(const struct nvtx_arena *n, uint64_t handle);
const struct nvtx_schema *nvtx_schema_find(const struct nvtx_arena *n, uint32_t domain,
					   uint64_t id);

struct nvtx_blob {
	uint64_t schema;
	const unsigned char *at;
	size_t len;  /* bytes there are */
	size_t said; /* bytes there were: more when cut */
};
/* JSON of the blobs into @out; false (and @out empty): JSON cannot represent them. */
bool nvtx_json(const struct arena *a, uint32_t domain, const struct nvtx_blob *blob, unsigned cnt,
	       struct nvtx_text *out);

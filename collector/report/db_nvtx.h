/* db_nvtx.h - rows of NVTX_EVENTS and of its side tables. Part of db.h, apart for its length. */
#pragma once

#include "collector/report/db.h"

/* A row of NVTX_EVENTS; DB_NULL and NULL are SQL's NULL. Texts are copied. */
struct db_nvtx_event {
	int64_t start, end, type, range_id, category, color, global_tid, end_global_tid, text_id,
		domain;
	int64_t id; /* eventId, see db_nvtx_id() */
	struct {
		unsigned column; /* enum sl_nvtx_payload: which column, 0 none */
		uint64_t bits;
	} payload;
	struct {
		const char *text, *json, *binary;
		size_t text_len, json_len, binary_len;
	} text;
};

int64_t db_nvtx_id(struct db *db); /* a new eventId */
int db_nvtx_event(struct db *db, const struct db_nvtx_event *e);
/* A row that was written before its end was known. @json: more payload, or NULL. */
int db_nvtx_end(struct db *db, int64_t id, int64_t end, int64_t end_global_tid, int64_t value,
		const char *json);

enum db_nvtx_table {
	DB_NVTX_SCHEMA =
		2, /* NVTX_PAYLOAD_SCHEMAS: domain, id, type, flags, entries, bytes, alignment; name */
	DB_NVTX_ENTRY, /* .._SCHEMA_ENTRIES: domain, id, index, flags, type, detail, offset; name, description */
	DB_NVTX_ENUM,        /* .._ENUMS: domain, id, values, bytes; name */
	DB_NVTX_ENUM_VALUE,  /* .._ENUM_ENTRIES: domain, id, index, value, is a flag; name */
	DB_NVTX_CUDA_DEVICE, /* TARGET_INFO_NVTX_CUDA_DEVICE: ordinal; name */
	DB_NVTX_CUDA_STREAM, /* TARGET_INFO_NVTX_CUDA_STREAM: pid, device, context, stream; name */
	DB_NVTX_NAME,        /* SL_NVTX_NAMES: start, globalTid, domain, type, identifier; name */
	DB_NVTX_CLIPPED,     /* SL_NVTX_CLIPPED: eventId, start, end */
	DB_NVTX_TABLE_CNT
};
int db_nvtx_row(struct db *db, enum db_nvtx_table table, const int64_t *numbers,
		const char *const *texts);

/*
 * After recover: eventId of a range that a previous collector left open, the one that began last; it is then taken as
 * closed. Push/pop (type 59): of the thread @global, in domain @which. Start/end (60): of its process, with the id
 * @which. 0: none.
 */
int64_t db_nvtx_left_open(struct db *db, int type, int64_t global, int64_t which);

/*
 * db_nvtx.c - rows of NVTX tables on their way into the file.
 *
 * Not by row_batch.c: its short cut copies cells of rows made of integers, and nearly every row
 * here has a text of its own. One INSERT per row, with the values that are not NULL bound to it,
 * stores 1.5 million rows per second of CPU time: more ranges than a program can make that also
 * does other work.
 *
 * As in db_ops.c, calls are put down and carried out inside the next commit, so that a full disk costs nothing at once;
 * and in order, for a row may be written with its end unknown and be given that later.
 */
#include "collector/base/grow.h"
#include "collector/report/db_internal.h"
#include "collector/report/db_nvtx.h"

#include <errno.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#define KEEP_BYTES (64u << 20) /* how much is kept while the disk is full */

enum {
	NV_EVENT,
	NV_END
};

/* args: i integer, t text, in the order of the list; p the payload: which of six columns, and its bits. */
static const struct {
	const char *table, *args, *sql;
} OP[DB_NVTX_TABLE_CNT] = {
	/* clang-format off */
	[NV_EVENT] = {"NVTX_EVENTS", "iiiiiiiiiiittt",
		"INSERT OR REPLACE INTO main.NVTX_EVENTS(start, end, eventType, rangeId, category, color, globalTid,"
		" endGlobalTid, textId, domainId, eventId, text, jsonText, binaryData, uint64Value, int64Value,"
		" doubleValue, uint32Value, int32Value, floatValue)"
		" VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
	[NV_END] = {"NVTX_EVENTS", "iiiit",
		"UPDATE main.NVTX_EVENTS SET end = ?2, endGlobalTid = ?3, int64Value = coalesce(?4, int64Value),"
		" jsonText = coalesce(?5, jsonText) WHERE eventId = ?1"},
	[DB_NVTX_SCHEMA] = {"NVTX_PAYLOAD_SCHEMAS", "iiiiiiit",
		"INSERT INTO main.NVTX_PAYLOAD_SCHEMAS(domainId, schemaId, type, flags, numEntries, payloadSize,"
		" alignTo, name) VALUES(?, ?, ?, ?, ?, ?, ?, ?)"},
	[DB_NVTX_ENTRY] = {"NVTX_PAYLOAD_SCHEMA_ENTRIES", "iiiiiiitt",
		"INSERT INTO main.NVTX_PAYLOAD_SCHEMA_ENTRIES(domainId, schemaId, idx, flags, type,"
		" arrayOrUnionDetail, offset, name, description) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)"},
	[DB_NVTX_ENUM] = {"NVTX_PAYLOAD_ENUMS", "iiiit",
		"INSERT INTO main.NVTX_PAYLOAD_ENUMS(domainId, schemaId, numEntries, size, name)"
		" VALUES(?, ?, ?, ?, ?)"},
	[DB_NVTX_ENUM_VALUE] = {"NVTX_PAYLOAD_ENUM_ENTRIES", "iiiiit",
		"INSERT INTO main.NVTX_PAYLOAD_ENUM_ENTRIES(domainId, schemaId, idx, value, isFlag, name)"
		" VALUES(?, ?, ?, ?, ?, ?)"},
	[DB_NVTX_CUDA_DEVICE] = {"TARGET_INFO_NVTX_CUDA_DEVICE", "it",
		"INSERT INTO main.TARGET_INFO_NVTX_CUDA_DEVICE(deviceId, name, hwId, vmId) VALUES(?, ?, 0, 1)"},
	[DB_NVTX_CUDA_STREAM] = {"TARGET_INFO_NVTX_CUDA_STREAM", "iiiit",
		"INSERT INTO main.TARGET_INFO_NVTX_CUDA_STREAM(processId, deviceId, contextId, streamId, name, hwId, vmId)"
		" VALUES(?, ?, ?, ?, ?, 0, 1)"},
	[DB_NVTX_NAME] = {"SL_NVTX_NAMES", "iiiiit",
		"INSERT INTO main.SL_NVTX_NAMES(start, globalTid, domainId, type, identifier, name)"
		" VALUES(?, ?, ?, ?, ?, ?)"},
	[DB_NVTX_CLIPPED] = {"SL_NVTX_CLIPPED", "iii",
		"INSERT OR REPLACE INTO main.SL_NVTX_CLIPPED(eventId, start, end) VALUES(?, ?, ?)"},
	/* clang-format on */
};
#define FIRST_PAYLOAD 14 /* parameter before the first payload column */

/* One call: this, the integers that are not NULL, the texts that are not, each after its length and padded. */
struct head {
	uint32_t bytes; /* with this head */
	uint8_t op, payload;
	uint16_t reserved;
	uint32_t there; /* bit per argument */
	uint32_t pad;
	uint64_t payload_bits;
};

/* A range without an end that was in the file when it was opened again. */
struct left {
	int64_t id, type, global_tid, which; /* which: domain, or range id */
};

static const char no_memory[] = "no memory", refused[] = "the database refused them";

struct db_nvtx {
	uint8_t *buf;
	size_t len, cap;
	uint64_t rows;
	struct {
		const char *why; /* NULL: this and all that follow are free */
		uint64_t cnt;
	} dropped[8]; /* rows that are in no report, by reason */
	int64_t last_id;
	sqlite3_stmt *stmt[DB_NVTX_TABLE_CNT];
	struct left *left;
	size_t left_cnt, left_cap;
};

static void drop(struct db_nvtx *n, const char *why, uint64_t cnt)
{
	unsigned i = 0, last = sizeof(n->dropped) / sizeof(n->dropped[0]) - 1;

	while (i < last && n->dropped[i].why && n->dropped[i].why != why)
		i++;
	n->dropped[i].why = why;
	n->dropped[i].cnt += cnt;
}

static struct db_nvtx *get(struct db *db)
{
	if (!db->nvtx)
		db->nvtx = calloc(1, sizeof(*db->nvtx));
	return db->nvtx;
}

static uint8_t *room(struct db_nvtx *n, size_t bytes)
{
	return db_room(&n->buf, n->len, &n->cap, bytes);
}

static int put_text(struct db *db, struct head *h, const char *text, size_t len)
{
	size_t clean_len, padded;
	const char *clean = db_clean(db, text, len, &clean_len);
	uint64_t said = clean_len;
	uint8_t *p;

	padded = (clean_len + 7) & ~(size_t)7;
	p = room(db->nvtx, 8 + padded);
	if (!p)
		return -ENOMEM;
	memcpy(p, &said, 8);
	if (clean_len) {
		memset(p + padded, 0, 8);
		memcpy(p + 8, clean, clean_len);
	}
	db->nvtx->len += 8 + padded;
	h->bytes += (uint32_t)(8 + padded);
	return 0;
}

static int put(struct db *db, struct head *h, const int64_t *numbers, const char *const *texts,
	       const size_t *lens)
{
	struct db_nvtx *n = get(db);
	size_t start = n ? n->len : 0;
	int err = n ? 0 : -ENOMEM;
	uint8_t *p;

	h->bytes = sizeof(*h);
	if (!err && !room(n, sizeof(*h)))
		err = -ENOMEM;
	if (!err)
		n->len += sizeof(*h);
	for (unsigned i = 0; !err && OP[h->op].args[i]; i++) {
		if (OP[h->op].args[i] == 't') {
			if (*texts) {
				h->there |= 1u << i;
				err = put_text(db, h, *texts, lens ? *lens : strlen(*texts));
			}
			texts++;
			lens += lens != NULL;
		} else if (*numbers++ != DB_NULL) {
			p = room(n, 8);
			if (!p) {
				err = -ENOMEM;
				break;
			}
			h->there |= 1u << i;
			memcpy(p, numbers - 1, 8);
			n->len += 8;
			h->bytes += 8;
		}
	}
	if (err) {
		if (n) {
			n->len = start;
			drop(n, no_memory, 1);
		}
		return err;
	}
	memcpy(n->buf + start, h, sizeof(*h));
	n->rows++;
	return 0;
}

int64_t db_nvtx_id(struct db *db)
{
	struct db_nvtx *n = get(db);

	return n ? ++n->last_id : 0;
}

int db_nvtx_event(struct db *db, const struct db_nvtx_event *e)
{
	int64_t numbers[] = {e->start,    e->end,    e->type,       e->range_id,
			     e->category, e->color,  e->global_tid, e->end_global_tid,
			     e->text_id,  e->domain, e->id};
	const char *texts[] = {e->text.text, e->text.json, e->text.binary};
	size_t lens[] = {e->text.text_len, e->text.json_len, e->text.binary_len};
	struct head h = {.op = NV_EVENT,
			 .payload = (uint8_t)e->payload.column,
			 .payload_bits = e->payload.bits};

	return put(db, &h, numbers, texts, lens);
}

int db_nvtx_end(struct db *db, int64_t id, int64_t end, int64_t end_global_tid, int64_t value,
		const char *json)
{
	int64_t numbers[] = {id, end, end_global_tid, value};
	struct head h = {.op = NV_END};

	return put(db, &h, numbers, &json, NULL);
}

int db_nvtx_row(struct db *db, enum db_nvtx_table table, const int64_t *numbers,
		const char *const *texts)
{
	struct head h = {.op = (uint8_t)table};

	return put(db, &h, numbers, texts, NULL);
}

/* ---- inside the commit ---- */

static void bind_payload(sqlite3_stmt *stmt, unsigned kind, uint64_t bits)
{
	int col = FIRST_PAYLOAD + (int)kind;
	uint32_t low = (uint32_t)bits;
	double d;
	float f;

	switch (kind) {
	case 1:
	case 2:
		sqlite3_bind_int64(stmt, col, (int64_t)bits);
		break;
	case 3:
		memcpy(&d, &bits, 8);
		sqlite3_bind_double(stmt, col, d);
		break;
	case 4:
		sqlite3_bind_int64(stmt, col, low);
		break;
	case 5:
		sqlite3_bind_int64(stmt, col, (int32_t)low);
		break;
	case 6:
		memcpy(&f, &low, 4);
		sqlite3_bind_double(stmt, col, (double)f);
		break;
	default:
		break;
	}
}

static int run_one(struct db *db, sqlite3_stmt *stmt, const struct head *h, const uint8_t *p)
{
	int rc;

	sqlite3_clear_bindings(stmt);
	for (int i = 0; OP[h->op].args[i]; i++) {
		int64_t v;

		if (!(h->there >> i & 1))
			continue;
		memcpy(&v, p, 8);
		p += 8;
		if (OP[h->op].args[i] == 'i') {
			sqlite3_bind_int64(stmt, i + 1, v);
			continue;
		}
		sqlite3_bind_text(stmt, i + 1, (const char *)p, (int)v, SQLITE_STATIC);
		p += (v + 7) & ~7;
	}
	bind_payload(stmt, h->payload, h->payload_bits);
	sqlite3_step(stmt);
	rc = sqlite3_reset(stmt);
	switch (rc & 0xff) { /* a row that can never go in must not keep all others out */
	case SQLITE_CONSTRAINT:
	case SQLITE_MISMATCH:
	case SQLITE_TOOBIG:
		drop(db->nvtx, refused, 1);
		return 0;
	}
	return db_fail(db, rc);
}

int db_nvtx_flush(struct db *db)
{
	struct db_nvtx *n = db->nvtx;
	int err = db->txn.failed;

	for (size_t at = 0; n && at < n->len && !err;) {
		struct head h;

		memcpy(&h, n->buf + at, sizeof(h));
		err = db_table_need(db, OP[h.op].table);
		if (!err && !n->stmt[h.op])
			err = db_fail(db, sqlite3_prepare_v3(db->sql, OP[h.op].sql, -1,
							     SQLITE_PREPARE_PERSISTENT,
							     &n->stmt[h.op], NULL));
		if (!err)
			err = run_one(db, n->stmt[h.op], &h, n->buf + at + sizeof(h));
		at += h.bytes;
	}
	return err;
}

void db_nvtx_done(struct db *db)
{
	struct db_nvtx *n = db->nvtx;
	char what[128];

	if (!n)
		return;
	n->len = 0;
	n->rows = 0;
	if (n->cap > KEEP_BYTES) {
		free(n->buf);
		n->buf = NULL;
		n->cap = 0;
	}
	for (unsigned i = 0; i < sizeof(n->dropped) / sizeof(n->dropped[0]) && n->dropped[i].why;
	     i++) {
		snprintf(what, sizeof(what), "NVTX events: %s", n->dropped[i].why);
		db_lost(db, db->time.end, db->time.end, DB_NULL, what, (int64_t)n->dropped[i].cnt);
	}
	memset(n->dropped, 0, sizeof(n->dropped));
}

void db_nvtx_failed(struct db *db, int err)
{
	struct db_nvtx *n = db->nvtx;

	if (!n || n->len <= KEEP_BYTES)
		return;
	drop(n, db_loss_reason(err), n->rows);
	n->len = 0;
	n->rows = 0;
}

size_t db_nvtx_bytes(const struct db *db)
{
	return db->nvtx ? db->nvtx->len : 0;
}

size_t db_nvtx_pending(const struct db *db)
{
	return db->nvtx ? db->nvtx->rows : 0;
}

void db_nvtx_free(struct db *db)
{
	struct db_nvtx *n = db->nvtx;

	if (!n)
		return;
	for (int i = 0; i < DB_NVTX_TABLE_CNT; i++)
		sqlite3_finalize(n->stmt[i]);
	free(n->buf);
	free(n->left);
	free(n);
	db->nvtx = NULL;
}

void db_nvtx_move(struct db *db, struct db *old)
{
	struct db_nvtx *n = old->nvtx ? get(db) : NULL;

	if (!n)
		return;
	n->last_id = old->nvtx->last_id;
	n->left = old->nvtx->left;
	n->left_cnt = old->nvtx->left_cnt;
	n->left_cap = old->nvtx->left_cap;
	old->nvtx->left = NULL;
	old->nvtx->left_cnt = old->nvtx->left_cap = 0;
}

/* ---- resume ---- */

static void note_open(struct db_nvtx *n, sqlite3_stmt *stmt)
{
	struct left *l;

	if (!grow(&n->left, n->left_cnt, &n->left_cap, sizeof(*n->left)))
		return;
	l = &n->left[n->left_cnt++];
	l->id = sqlite3_column_int64(stmt, 0);
	l->type = sqlite3_column_int64(stmt, 1);
	l->global_tid = sqlite3_column_int64(stmt, 2);
	l->which = sqlite3_column_int64(stmt, l->type == 59 ? 3 : 4);
}

int db_nvtx_load(struct db *db)
{
	struct db_nvtx *n;
	sqlite3_stmt *stmt;
	int err;

	if (!db_table_exists(db, "NVTX_EVENTS"))
		return 0;
	n = get(db);
	if (!n)
		return -ENOMEM;
	err = db_prepare(db, "SELECT max(eventId) FROM main.NVTX_EVENTS", &stmt);
	if (err)
		return err;
	if (sqlite3_step(stmt) == SQLITE_ROW)
		n->last_id = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	err = db_prepare(
		db,
		"SELECT eventId, eventType, globalTid, domainId, rangeId FROM main.NVTX_EVENTS"
		" WHERE end IS NULL AND eventType IN (59, 60) ORDER BY eventId",
		&stmt);
	if (err)
		return err;
	while (sqlite3_step(stmt) == SQLITE_ROW)
		note_open(n, stmt);
	sqlite3_finalize(stmt);
	return 0;
}

int64_t db_nvtx_left_open(struct db *db, int type, int64_t global, int64_t which)
{
	struct db_nvtx *n = db->nvtx;
	unsigned shift = type == 60 ? 24 : 0;

	for (size_t i = n ? n->left_cnt : 0; i > 0; i--) {
		struct left *l = &n->left[i - 1];

		if (l->id && l->type == type && l->which == which &&
		    l->global_tid >> shift == global >> shift) {
			int64_t id = l->id;

			l->id = 0;
			if (i == n->left_cnt)
				n->left_cnt--;
			return id;
		}
	}
	return 0;
}

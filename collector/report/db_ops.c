/*
 * db_ops.c - rows that come one by one: processes, names, files, totals, diagnostics, notes.
 *
 * Each call is put down in db->ops.buf (statement, then its values) and carried out inside the next
 * commit. So a full disk costs none of them: the list stays and is carried out again. For that to
 * be right a row that may be written twice names its rowid, or key, itself, and replaces the
 * existing row.
 */
#include "collector/report/db_counters.h"
#include "collector/report/db_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEP_BYTES (32u << 20) /* how much is kept while the disk is full */

_Static_assert((int)OP_CNT <= DB_STMTS, "one statement per operation");

/* clang-format off */
/* args: members of the row. i int64_t (DB_NULL = NULL), t const char * (NULL = NULL), T and b struct db_bytes, r double (NAN = NULL). */
static const struct {
	const char *table, *args, *sql;
} OP[OP_CNT] = {
#define DB_ROW(table, args, sql) [DB_PUT_##table] = {#table, args, sql},
	DB_ROWS
#undef DB_ROW
	[OP_EXPORT_SET] = {"META_DATA_EXPORT", "tt",
		"UPDATE main.META_DATA_EXPORT SET value = ?2 WHERE name = ?1"},
	[OP_FILE_CLOSED] = {"OSRT_FILE_ACCESS_DESCRIPTORS", "ii",
		"UPDATE main.OSRT_FILE_ACCESS_DESCRIPTORS SET closedAt = ?2 WHERE rowid = ?1"},
	[OP_IMAGE_END] = {"SL_PROCESS_TREE", "iii",
		"UPDATE main.SL_PROCESS_TREE SET end = ?2, exitStatus = ?3 WHERE rowid = ?1"},
	[OP_COMMUNICATOR_END] = {"SL_NCCL_COMMUNICATORS", "iii",
		"UPDATE main.SL_NCCL_COMMUNICATORS SET end = ?3 WHERE globalPid = ?1 AND comm = ?2 AND end IS NULL"},
	[OP_STATE_DROP] = {"SL_STATE", "t", "DELETE FROM main.SL_STATE WHERE key = ?"},
	[OP_PENDING_GPU_DROP] = {"SL_PENDING_GPU", "ii", "DELETE FROM main.SL_PENDING_GPU WHERE seq BETWEEN ? AND ?"},
};
/* Sums: the change of the existing row. Sums end at FIGURE_MAX: beyond, SQLite would make them floating point. */
static const char *const SUM[OP_CNT] = {
	[DB_PUT_SL_SYSCALL_TOTALS] = " ON CONFLICT DO UPDATE SET count = count + excluded.count, totalNs = totalNs + excluded.totalNs,"
		" minNs = min(minNs, excluded.minNs), maxNs = max(maxNs, excluded.maxNs),"
		" errorCount = errorCount + excluded.errorCount",
	[DB_PUT_SL_FILE_TOTALS] = " ON CONFLICT DO UPDATE SET"
		" count = min(count + excluded.count, 4611686018427387903),"
		" bytes = min(bytes + excluded.bytes, 4611686018427387903),"
		" totalNs = min(totalNs + excluded.totalNs, 4611686018427387903)",
};
/* clang-format on */

struct op_head {
	uint32_t op, bytes; /* bytes with this head, a multiple of 8 */
};

/* ---- the list ---- */

static uint8_t *room(struct db_ops *ops, size_t bytes)
{
	return db_room(&ops->buf, ops->len, &ops->cap, bytes);
}

static int put_int(struct db_ops *ops, int64_t v)
{
	uint8_t *p = room(ops, 8);

	if (!p)
		return -ENOMEM;
	memcpy(p, &v, 8);
	ops->len += 8;
	return 0;
}

/* Length (-1 = NULL), then the bytes, padded to a multiple of 8. */
static int put_bytes(struct db_ops *ops, const void *data, size_t len)
{
	size_t padded = (len + 7) & ~(size_t)7;
	int err = put_int(ops, data ? (int64_t)len : -1);
	uint8_t *p;

	if (err || !data || !len)
		return err;
	p = room(ops, padded);
	if (!p)
		return -ENOMEM;
	memset(p + padded - 8, 0, 8);
	memcpy(p, data, len);
	ops->len += padded;
	return 0;
}

static int put_text(struct db *db, const char *text, size_t len)
{
	size_t n = 0;
	const char *clean = text ? db_clean(db, text, len, &n) : NULL;

	return put_bytes(&db->ops, clean, n);
}

/* The operation that began at @start is there, or not (@err). */
static int finish(struct db_ops *ops, size_t start, struct op_head *head, int err)
{
	if (err) {
		ops->len = start;
		return err;
	}
	head->bytes = (uint32_t)(ops->len - start);
	memcpy(ops->buf + start, head, sizeof(*head));
	ops->cnt++;
	return 0;
}

/* Copies the next member of a row, of @size bytes. */
static void take(const uint8_t **row, void *to, size_t size)
{
	memcpy(to, *row, size);
	*row += size;
}

int db_put(struct db *db, uint32_t op, const void *row)
{
	struct db_ops *ops = &db->ops;
	size_t start = ops->len;
	struct op_head head = {op, 0};
	const uint8_t *at = row;
	struct db_bytes bytes;
	const char *text;
	int64_t number;
	double real;
	int err = put_int(ops, 0);

	for (const char *a = OP[op].args; *a && !err; a++) {
		switch (*a) {
		case 'i':
			take(&at, &number, sizeof(number));
			err = put_int(ops, number);
			break;
		case 'r':
			take(&at, &real, sizeof(real));
			err = put_int(ops, db_real(real));
			break;
		case 't':
			take(&at, &text, sizeof(text));
			err = put_text(db, text, text ? strlen(text) : 0);
			break;
		default:
			take(&at, &bytes, sizeof(bytes));
			err = *a == 'T' ? put_text(db, bytes.at, bytes.len)
					: put_bytes(ops, bytes.at, bytes.len);
		}
	}
	return finish(ops, start, &head, err);
}

static void bind_number(sqlite3_stmt *stmt, int i, bool is_real, int64_t v)
{
	double d;

	memcpy(&d, &v, sizeof(d));
	if (v == DB_NULL)
		sqlite3_bind_null(stmt, i);
	else if (is_real)
		sqlite3_bind_double(stmt, i, d);
	else
		sqlite3_bind_int64(stmt, i, v);
}

static int run_one(struct db *db, sqlite3_stmt *stmt, const char *args, const uint8_t *p)
{
	int64_t v;
	int rc;

	for (int i = 1; *args; args++, i++) {
		memcpy(&v, p, 8);
		p += 8;
		if (*args == 'i' || *args == 'r') {
			bind_number(stmt, i, *args == 'r', v);
			continue;
		}
		if (v < 0)
			sqlite3_bind_null(stmt, i);
		else if (*args != 'b')
			sqlite3_bind_text(stmt, i, (const char *)p, (int)v, SQLITE_STATIC);
		else
			sqlite3_bind_blob(stmt, i, v ? (const void *)p : "", (int)v, SQLITE_STATIC);
		p += v > 0 ? (v + 7) & ~7 : 0;
	}
	sqlite3_step(stmt);
	rc = sqlite3_reset(stmt);
	switch (rc & 0xff) { /* a row that can never go in must not keep all others out */
	case SQLITE_CONSTRAINT:
	case SQLITE_MISMATCH:
	case SQLITE_TOOBIG:
		db->ops.dropped++;
		return 0;
	}
	return db_fail(db, rc);
}

static int prepare(struct db *db, uint32_t op)
{
	char sql[2048];

	snprintf(sql, sizeof(sql), "%s%s", OP[op].sql, SUM[op] ? SUM[op] : "");
	return db_fail(db, sqlite3_prepare_v3(db->sql, sql, -1, SQLITE_PREPARE_PERSISTENT,
					      &db->stmt[op], NULL));
}

int db_ops_run(struct db *db)
{
	const uint8_t *p = db->ops.buf, *end = p + db->ops.len;
	int err = db->txn.failed;

	while (p < end && !err) {
		struct op_head head;

		memcpy(&head, p, sizeof(head));
		err = db_table_need(db, OP[head.op].table);
		if (!err && !db->stmt[head.op])
			err = prepare(db, head.op);
		if (!err)
			err = run_one(db, db->stmt[head.op], OP[head.op].args, p + sizeof(head));
		p += head.bytes;
	}
	return err;
}

void db_ops_done(struct db *db)
{
	struct db_ops *ops = &db->ops;

	ops->len = 0;
	ops->cnt = 0;
	if (ops->cap > KEEP_BYTES) {
		free(ops->buf);
		ops->buf = NULL;
		ops->cap = 0;
	}
	if (ops->dropped) {
		char text[128];

		snprintf(text, sizeof(text),
			 "%llu rows on processes, files or totals could not be stored.",
			 (unsigned long long)ops->dropped);
		ops->dropped = 0;
		db_diagnostic(db, db->time.end, 2, 3, text, DB_NULL);
	}
}

/*
 * Stacks go with the rows that named them: they are large, and would leave no room for other rows.
 * Later rows bring their stacks again.
 */
static void drop_stacks(struct db *db)
{
	struct db_ops *ops = &db->ops;
	uint8_t *to = ops->buf;
	struct op_head head;

	for (const uint8_t *p = ops->buf, *end = p + ops->len; p < end; p += head.bytes) {
		memcpy(&head, p, sizeof(head));
		if (head.op == DB_PUT_SL_RAW_STACKS) {
			ops->cnt--;
			continue;
		}
		memmove(to, p, head.bytes);
		to += head.bytes;
	}
	ops->len = (size_t)(to - ops->buf);
	db_stacks_forget_chains(db);
}

void db_ops_failed(struct db *db)
{
	struct db_ops *ops = &db->ops;

	db->stacks.names_unknown = true;
	drop_stacks(db);
	if (ops->len <= KEEP_BYTES)
		return;
	ops->dropped += ops->cnt;
	ops->len = 0;
	ops->cnt = 0;
	db_stacks_forget(db);
}

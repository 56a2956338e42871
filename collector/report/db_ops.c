/*
 * db_ops.c - rows that come one by one: processes, names, files, totals, diagnostics, notes.
 *
 * Each call is put down in db->ops.buf (statement, then its values) and carried out inside the next
 * commit. So a full disk costs none of them: the list stays and is carried out again. For that to be
 * right a row that may be written twice names its rowid, or key, itself, and replaces what is there.
 */
#include "collector/report/db_gpu.h"
#include "collector/report/db_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEP_BYTES (32u << 20) /* how much is kept while the disk is full */

_Static_assert((int)OP_CNT <= DB_STMTS, "one statement per operation");

/* clang-format off */
/* args: i integer (DB_NULL = NULL), t text (NULL = NULL), b blob. */
static const struct {
	const char *table, *args, *sql;
} OP[OP_CNT] = {
	[OP_PROCESS] = {"PROCESSES", "iiit",
		"INSERT OR REPLACE INTO main.PROCESSES(rowid, globalPid, pid, name) VALUES(?, ?, ?, ?)"},
	[OP_THREAD] = {"ThreadNames", "iiii",
		"INSERT OR REPLACE INTO main.ThreadNames(rowid, nameId, priority, globalTid) VALUES(?, ?, ?, ?)"},
	[OP_DIAGNOSTIC] = {"DIAGNOSTIC_EVENT", "iiiti",
		"INSERT INTO main.DIAGNOSTIC_EVENT VALUES(?, 1, ?, ?, ?, ?)"},
	[OP_OVERHEAD] = {"PROFILER_OVERHEAD", "iiii",
		"INSERT INTO main.PROFILER_OVERHEAD VALUES(?, ?, ?, ?, 0)"},
	[OP_CAPTURE] = {"META_DATA_CAPTURE", "tt", "INSERT INTO main.META_DATA_CAPTURE VALUES(?, ?)"},
	[OP_EXPORT] = {"META_DATA_EXPORT", "tt", "INSERT INTO main.META_DATA_EXPORT VALUES(?, ?)"},
	[OP_EXPORT_SET] = {"META_DATA_EXPORT", "tt",
		"UPDATE main.META_DATA_EXPORT SET value = ?2 WHERE name = ?1"},
	[OP_ENV] = {"TARGET_INFO_SYSTEM_ENV", "itit",
		"INSERT INTO main.TARGET_INFO_SYSTEM_ENV VALUES(?1, 'Local (CLI)', ?2, ?3, ?4)"},
	[OP_FILE_OPENED] = {"OSRT_FILE_ACCESS_DESCRIPTORS", "iiiit",
		"INSERT OR REPLACE INTO main.OSRT_FILE_ACCESS_DESCRIPTORS(rowid, fileAccessId, processId,"
		" openedAt, closedAt, filePath) VALUES(?1, ?1, ?2, ?3, ?4, ?5)"},
	[OP_FILE_CLOSED] = {"OSRT_FILE_ACCESS_DESCRIPTORS", "ii",
		"UPDATE main.OSRT_FILE_ACCESS_DESCRIPTORS SET closedAt = ?2 WHERE rowid = ?1"},
	[OP_IMAGE] = {"SL_PROCESS_TREE", "iiiiiitt",
		"INSERT OR REPLACE INTO main.SL_PROCESS_TREE(rowid, globalPid, parentGlobalPid, start, kind,"
		" traced, exe, commandLine) VALUES(?, ?, ?, ?, ?, ?, ?, ?)"},
	[OP_IMAGE_END] = {"SL_PROCESS_TREE", "iii",
		"UPDATE main.SL_PROCESS_TREE SET end = ?2, exitStatus = ?3 WHERE rowid = ?1"},
	[OP_TOTAL] = {"SL_OSRT_TOTALS", "iiiiiiiiiiii",
		"INSERT OR REPLACE INTO main.SL_OSRT_TOTALS VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
	[OP_CALL_TOTAL] = {"SL_SYSCALL_TOTALS", "iiiiiii",
		"INSERT INTO main.SL_SYSCALL_TOTALS VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
		" count = count + excluded.count, totalNs = totalNs + excluded.totalNs,"
		" minNs = min(minNs, excluded.minNs), maxNs = max(maxNs, excluded.maxNs),"
		" errorCount = errorCount + excluded.errorCount"},
	[OP_SOCKET] = {"SL_SOCKETS", "it",
		"INSERT OR REPLACE INTO main.SL_SOCKETS(rowid, fileAccessId, localAddress) VALUES(?1, ?1, ?2)"},
	[OP_RANK_VARIABLE] = {"SL_RANK_VARIABLES", "itt",
		"INSERT OR REPLACE INTO main.SL_RANK_VARIABLES VALUES(?, ?, ?)"},
	[OP_COMMUNICATOR] = {"SL_NCCL_COMMUNICATORS", "iiiiiii",
		"INSERT OR REPLACE INTO main.SL_NCCL_COMMUNICATORS VALUES(?, ?, ?, ?, ?, ?, ?, NULL)"},
	[OP_COMMUNICATOR_END] = {"SL_NCCL_COMMUNICATORS", "iii",
		"UPDATE main.SL_NCCL_COMMUNICATORS SET end = ?3 WHERE globalPid = ?1 AND comm = ?2 AND end IS NULL"},
	[OP_FILE_TOTAL] = {"SL_FILE_TOTALS", "iiiiiii",
		/* Sums end at FIGURE_MAX: beyond, SQLite would make them floating point. */
		"INSERT INTO main.SL_FILE_TOTALS VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
		" count = min(count + excluded.count, 4611686018427387903),"
		" bytes = min(bytes + excluded.bytes, 4611686018427387903),"
		" totalNs = min(totalNs + excluded.totalNs, 4611686018427387903)"},
	[OP_LOST] = {"SL_LOST_EVENTS", "iiiti", "INSERT INTO main.SL_LOST_EVENTS VALUES(?, ?, ?, ?, ?)"},
	[OP_CLOCK] = {"SL_CLOCK_SNAPSHOTS", "iiiiiii",
		"INSERT INTO main.SL_CLOCK_SNAPSHOTS VALUES(?, ?, ?, ?, ?, ?, ?)"},
	[OP_STATE] = {"SL_STATE", "tb", "INSERT OR REPLACE INTO main.SL_STATE VALUES(?, ?)"},
	[OP_CAPTURES] = {"SL_CAPTURES", "iii", "INSERT OR REPLACE INTO main.SL_CAPTURES VALUES(?, ?, ?)"},
	[OP_STATE_DROP] = {"SL_STATE", "t", "DELETE FROM main.SL_STATE WHERE key = ?"},
	[OP_PENDING_GPU] = {"SL_PENDING_GPU", "ib", "INSERT OR REPLACE INTO main.SL_PENDING_GPU VALUES(?, ?)"},
	[OP_PENDING_GPU_DROP] = {"SL_PENDING_GPU", "ii", "DELETE FROM main.SL_PENDING_GPU WHERE seq BETWEEN ? AND ?"},
	[OP_LIVE_SESSION] = {"SL_LIVE_SESSION", "iiiiiiiiiii",
		"INSERT OR REPLACE INTO main.SL_LIVE_SESSION VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
	[OP_LIVE_THREAD] = {"SL_LIVE_THREADS", "iiiiiiiiiii",
		"INSERT OR REPLACE INTO main.SL_LIVE_THREADS VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
	[OP_LIVE_CALLS] = {"SL_LIVE_CALLS", "iiiiiiiii",
		"INSERT OR REPLACE INTO main.SL_LIVE_CALLS VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)"},
	[OP_LIVE_FILE] = {"SL_LIVE_FILES", "iiiiiiiit",
		"INSERT OR REPLACE INTO main.SL_LIVE_FILES VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)"},
	[OP_LIVE_GPU] = {"SL_LIVE_GPUS", "iiiiiiiiii",
		"INSERT OR REPLACE INTO main.SL_LIVE_GPUS VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
	[OP_GPU_TARGET] = {"TARGET_INFO_GPU", "iittiiiiiitiiiiiiiiiiiii",
		"INSERT OR REPLACE INTO main.TARGET_INFO_GPU(rowid, vmId, id, name, busLocation, isDiscrete, l2CacheSize,"
		" totalMemory, memoryBandwidth, clockRate, smCount, uuid, cuDevice, constantMemory,"
		" maxRegistersPerBlock, maxShmemPerBlock, threadsPerWarp, asyncEngines, maxWarpsPerSm,"
		" maxBlocksPerSm, maxThreadsPerBlock, computeMajor, computeMinor, smMajor, smMinor)"
		" VALUES(?2 + 1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24)"},
	[OP_GPU_DEVICE] = {"TARGET_INFO_CUDA_DEVICE", "iiiti",
		"INSERT INTO main.TARGET_INFO_CUDA_DEVICE VALUES(?, ?, ?, ?, ?)"},
	[OP_GPU_CONTEXT] = {"TARGET_INFO_CUDA_CONTEXT_INFO", "iiiiii",
		"INSERT INTO main.TARGET_INFO_CUDA_CONTEXT_INFO(nullStreamId, hwId, vmId, processId, deviceId,"
		" contextId, parentContextId, isGreenContext) VALUES(?, 0, 1, ?, ?, ?, ?, ?)"},
	[OP_GPU_STREAM] = {"TARGET_INFO_CUDA_STREAM", "iiiii",
		"INSERT INTO main.TARGET_INFO_CUDA_STREAM VALUES(?, 0, 1, ?, ?, ?, ?)"},
	[OP_GPU_MEMORY] = {"CUDA_GPU_MEMORY_USAGE_EVENTS", "iiiiiiiiitiiiiiiii",
		"INSERT INTO main.CUDA_GPU_MEMORY_USAGE_EVENTS"
		" VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
	[OP_GPU_JIT] = {"CUPTI_ACTIVITY_KIND_JIT", "iiiiiiiiiiiit",
		"INSERT INTO main.CUPTI_ACTIVITY_KIND_JIT VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
	[OP_SPACE] = {"SL_SPACES", "iii", "INSERT OR REPLACE INTO main.SL_SPACES VALUES(?, ?, ?)"},
	[OP_MODULE] = {"SL_MODULES", "iiiiiit", "INSERT INTO main.SL_MODULES VALUES(?, ?, ?, ?, ?, ?, ?)"},
	[OP_CODE] = {"SL_CODES", "ittiib", "INSERT OR REPLACE INTO main.SL_CODES VALUES(?, ?, ?, ?, ?, ?)"},
	[OP_EVENT_REQUEST] = {"PMU_EVENT_REQUESTS", "iiittii",
		"INSERT OR REPLACE INTO main.PMU_EVENT_REQUESTS VALUES(?1, ?2, ?3, 1, ?4, ?5, ?6, ?7)"},
	[OP_FUNCTION] = {"SL_FUNCTIONS", "iiii", "INSERT OR REPLACE INTO main.SL_FUNCTIONS VALUES(?, ?, ?, ?)"},
	[OP_METRIC_NAME] = {"TARGET_INFO_GPU_METRICS", "iitit",
		"INSERT INTO main.TARGET_INFO_GPU_METRICS VALUES(?, ?, ?, ?, ?)"},
	/* Rates are in thousandths. */
	[OP_METRIC_SET] = {"SL_GPU_METRIC_SETS", "iiittttiiit",
		"INSERT OR REPLACE INTO main.SL_GPU_METRIC_SETS VALUES(?, ?, ?, ?, ?, ?, ?, ? / 1000.0, ? / 1000.0, ?, ?)"},
	[OP_METRIC_GAP] = {"SL_GPU_METRIC_GAPS", "iiit", "INSERT INTO main.SL_GPU_METRIC_GAPS VALUES(?, ?, ?, ?)"},
	[OP_COUNTER] = {"SL_COUNTERS", "itititti",
		"INSERT OR REPLACE INTO main.SL_COUNTERS VALUES(?, ?, ?, ?, ?, ?, ?, ?)"},
	[OP_GPU_EVENT] = {"SL_GPU_EVENTS", "iitiii", "INSERT INTO main.SL_GPU_EVENTS VALUES(?, ?, ?, ?, ?, ?)"},
	[OP_STACK] = {"SL_RAW_STACKS", "iiib", "INSERT OR IGNORE INTO main.SL_RAW_STACKS VALUES(?, ?, ?, ?)"},
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

int db_record(struct db *db, uint32_t op, ...)
{
	struct db_ops *ops = &db->ops;
	size_t start = ops->len;
	struct op_head head = {op, 0};
	const char *text;
	const void *blob;
	va_list ap;
	int err = put_int(ops, 0);

	va_start(ap, op);
	for (const char *a = OP[op].args; *a && !err; a++) {
		switch (*a) {
		case 'i':
			err = put_int(ops, va_arg(ap, int64_t));
			break;
		case 't':
			text = va_arg(ap, const char *);
			err = put_text(db, text,
				       op == OP_FILE_OPENED ? va_arg(ap, size_t)
				       : text               ? strlen(text)
							    : 0);
			break;
		default:
			blob = va_arg(ap, const void *);
			err = put_bytes(ops, blob, va_arg(ap, size_t));
		}
	}
	va_end(ap);
	return finish(ops, start, &head, err);
}

static int run_one(struct db *db, sqlite3_stmt *stmt, const char *args, const uint8_t *p)
{
	int64_t v;
	int rc;

	for (int i = 1; *args; args++, i++) {
		memcpy(&v, p, 8);
		p += 8;
		if (*args == 'i') {
			if (v == DB_NULL)
				sqlite3_bind_null(stmt, i);
			else
				sqlite3_bind_int64(stmt, i, v);
			continue;
		}
		if (v < 0)
			sqlite3_bind_null(stmt, i);
		else if (*args == 't')
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

int db_ops_run(struct db *db)
{
	const uint8_t *p = db->ops.buf, *end = p + db->ops.len;
	int err = db->txn.failed;

	while (p < end && !err) {
		struct op_head head;

		memcpy(&head, p, sizeof(head));
		err = db_table_need(db, OP[head.op].table);
		if (!err && !db->stmt[head.op])
			err = db_fail(db, sqlite3_prepare_v3(db->sql, OP[head.op].sql, -1,
							     SQLITE_PREPARE_PERSISTENT,
							     &db->stmt[head.op], NULL));
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
 * Stacks go with the rows that named them: they are large, and kept they would leave no room for what else there is to
 * say. Rows to come bring theirs again.
 */
static void drop_stacks(struct db *db)
{
	struct db_ops *ops = &db->ops;
	uint8_t *to = ops->buf;
	struct op_head head;

	for (const uint8_t *p = ops->buf, *end = p + ops->len; p < end; p += head.bytes) {
		memcpy(&head, p, sizeof(head));
		if (head.op == OP_STACK) {
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

	drop_stacks(db);
	if (ops->len <= KEEP_BYTES)
		return;
	ops->dropped += ops->cnt;
	ops->len = 0;
	ops->cnt = 0;
	db_stacks_forget(db);
}

/* ---- rows whose values come as lists ---- */

int db_gpu_row(struct db *db, enum db_gpu_table table, const int64_t *numbers,
	       const char *const *texts)
{
	static const uint8_t op_of[] = {
		[DB_GPU_TARGET] = OP_GPU_TARGET,   [DB_GPU_DEVICE] = OP_GPU_DEVICE,
		[DB_GPU_CONTEXT] = OP_GPU_CONTEXT, [DB_GPU_STREAM] = OP_GPU_STREAM,
		[DB_GPU_MEMORY] = OP_GPU_MEMORY,   [DB_GPU_JIT] = OP_GPU_JIT,
	};
	struct db_ops *ops = &db->ops;
	size_t start = ops->len;
	struct op_head head = {op_of[table], 0};
	int err = put_int(ops, 0);

	for (const char *a = OP[head.op].args; *a && !err; a++) {
		if (*a == 'i') {
			err = put_int(ops, *numbers++);
		} else {
			err = put_text(db, *texts, *texts ? strlen(*texts) : 0);
			texts++;
		}
	}
	return finish(ops, start, &head, err);
}

int db_live_row(struct db *db, enum db_live_table table, const int64_t *numbers, const char *text,
		size_t len)
{
	struct db_ops *ops = &db->ops;
	size_t start = ops->len;
	struct op_head head = {OP_LIVE_SESSION + (uint32_t)table, 0};
	int err = put_int(ops, 0);

	for (const char *a = OP[head.op].args; *a && !err; a++)
		err = *a == 'i' ? put_int(ops, *numbers++) : put_bytes(ops, text, len);
	return finish(ops, start, &head, err);
}

/* ---- resume ---- */

static int load_map(struct db *db, const char *sql, struct db_map *map, int64_t *last)
{
	sqlite3_stmt *stmt;
	int rc, err = db_prepare(db, sql, &stmt);

	if (err)
		return err;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		int64_t *row = db_map_get(map, sqlite3_column_int64(stmt, 1));

		if (!row)
			break;
		*row = sqlite3_column_int64(stmt, 0);
		if (*row > *last)
			*last = *row;
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? 0 : rc == SQLITE_ROW ? -ENOMEM : db_errno(rc);
}

static int load_images(struct db *db)
{
	struct db_ops *ops = &db->ops;
	sqlite3_stmt *stmt;
	int rc, err = load_map(db,
			       "SELECT rowid, globalPid FROM main.SL_PROCESS_TREE ORDER BY rowid",
			       &ops->image, &ops->image_cnt);

	if (err)
		return err;
	ops->images.cap = ops->image_cnt ? ops->image_cnt : 1;
	ops->images.start = calloc((size_t)ops->images.cap, sizeof(int64_t));
	if (!ops->images.start)
		return -ENOMEM;
	err = db_prepare(db, "SELECT rowid, start FROM main.SL_PROCESS_TREE", &stmt);
	if (err)
		return err;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
		ops->images.start[sqlite3_column_int64(stmt, 0) - 1] =
			sqlite3_column_int64(stmt, 1);
	sqlite3_finalize(stmt);
	return db_errno(rc);
}

int db_ops_load(struct db *db)
{
	struct db_ops *ops = &db->ops;
	int err = db_state_load(db);

	if (!err && db_table_exists(db, "PROCESSES"))
		err = load_map(db, "SELECT rowid, globalPid FROM main.PROCESSES", &ops->process,
			       &ops->process_cnt);
	if (!err && db_table_exists(db, "ThreadNames"))
		err = load_map(db, "SELECT rowid, globalTid FROM main.ThreadNames", &ops->thread,
			       &ops->thread_cnt);
	if (!err && db_table_exists(db, "SL_PROCESS_TREE"))
		err = load_images(db);
	return err;
}

void db_ops_free(struct db *db)
{
	struct db_ops *ops = &db->ops;

	db_state_free(db);
	db_map_free(&ops->process);
	db_map_free(&ops->thread);
	db_map_free(&ops->image);
	free(ops->images.start);
	free(ops->buf);
	db_stacks_forget(db);
}

/*
 * db_batch.c - rows of integers on their way into the file.
 *
 * Rows are encoded at once, as the cells of a table's b-tree, into a small image of a SQLite database
 * in memory (the file format is documented and frozen: https://www.sqlite.org/fileformat2.html). The
 * image is attached, and INSERT INTO main.T SELECT * FROM image.T lets SQLite copy whole cells: its
 * "transfer optimisation" decodes no value, so a row costs about half of what it costs through a
 * virtual table, and SQLite stays the only one that writes the report.
 *
 * Rule easy to break: the optimisation applies only while both tables have the same columns (types,
 * NOT NULL, defaults) and the target has no INTEGER PRIMARY KEY, unique index or trigger. Else SQLite
 * still copies the rows rightly, but slowly. NOT NULL is not checked on this way, so encode() does.
 */
#include "collector/db_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE        65536u      /* of the image; the report has its own */
#define IMAGE_BYTES (64u << 20) /* address space; memory is used only where rows are */
#define IMAGE_KEEP  (16u << 20) /* memory that is kept from one commit to the next */
#define LEAF_CELLS  1536u
#define LEAF_HEAD   (8u + 2u * LEAF_CELLS) /* cells grow upwards behind a full-length pointer array */
#define CELL_MAX    (2u + 9u + 1u + DB_ROW_COLS + 8u * DB_ROW_COLS + 8u)
#define ROOT        2u /* page of the table's root; leaves follow it */
#define PAGES       (IMAGE_BYTES / PAGE)
_Static_assert(12 + PAGES * (2 + 4 + 5) <= PAGE, "one root page can name all leaves");

static const struct {
	const char *name;
	uint8_t cols;
	bool text_tail; /* one more column, always the empty text */
} TABLE[DB_TABLE_CNT] = {
	[DB_OSRT_API] = {"OSRT_API", OSRT_COL_CNT, false},
	[DB_FILE_ACCESS_EVENTS] = {"OSRT_FILE_ACCESS_EVENTS", FACC_COL_CNT, true},
	[DB_SCHED_EVENTS] = {"SCHED_EVENTS", SCHED_COL_CNT, false},
	[DB_SL_SCHED_DETAIL] = {"SL_SCHED_DETAIL", SCHD_COL_CNT, false},
};
_Static_assert(OSRT_COL_CNT <= DB_ROW_COLS, "a row has room for the widest table");

static void put2(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void put4(uint8_t *p, uint32_t v)
{
	put2(p, v >> 16);
	put2(p + 2, v);
}

static uint8_t *put_varint(uint8_t *p, uint64_t v)
{
	int shift = 0;

	while (v >> shift >= 128)
		shift += 7;
	for (; shift; shift -= 7)
		*p++ = (uint8_t)(v >> shift | 128);
	*p++ = v & 127;
	return p;
}

/* Serial type and bytes of an integer, by the number of its significant bits without sign. */
static const uint8_t SERIAL[65] = {
	1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3,
	3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5,
	5, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6,
};
static const uint8_t BYTES[7] = {0, 1, 2, 3, 4, 6, 8};

/* Writes @v as the file format wants it; the eight bytes stored may reach past its end. */
static inline uint8_t *put_value(uint8_t *type, uint8_t *p, int64_t v)
{
	uint64_t bits = (uint64_t)(v ^ v >> 63), be;
	unsigned serial, len;

	if ((uint64_t)v <= 1) {
		*type = (uint8_t)(8 + v);
		return p;
	}
	serial = SERIAL[bits ? 64 - __builtin_clzll(bits) : 0];
	len = BYTES[serial];
	be = __builtin_bswap64((uint64_t)v << (64 - 8 * len));
	memcpy(p, &be, 8);
	*type = (uint8_t)serial;
	return p + len;
}

static void leaf_close(struct db_batch *b)
{
	uint8_t *p = b->page;

	if (!p)
		return;
	p[0] = 0x0d; /* leaf of a table */
	put2(p + 1, 0);
	put2(p + 3, b->cells);
	put2(p + 5, LEAF_HEAD);
	p[7] = 0;
	b->page = NULL;
}

static void leaf_open(struct db_batch *b)
{
	leaf_close(b);
	b->page_no++;
	b->page = b->image + (size_t)(b->page_no - 1) * PAGE;
	b->cells = 0;
	b->at = LEAF_HEAD;
}

static void encode(struct db_batch *b, unsigned cols, bool text_tail)
{
	unsigned types = cols + text_tail;
	uint8_t *cell = b->page + b->at, *type, *p, id[9];
	size_t id_len = (size_t)(put_varint(id, b->rows + 1) - id), payload;

	/* The payload's length comes first and takes 1 byte, or 2 from 128 on: assume 1. */
	type = cell + 1 + id_len;
	*type++ = (uint8_t)(1 + types);
	p = type + types;
	for (unsigned i = 0; i < cols; i++) {
		int64_t v = b->row[i];

		if (v == DB_NULL && b->not_null >> i & 1)
			v = 0;
		if (v == DB_NULL)
			type[i] = 0;
		else
			p = put_value(&type[i], p, v);
	}
	if (text_tail)
		type[cols] = 13; /* text of no bytes */
	payload = (size_t)(p - (type - 1));
	if (payload >= 128) {
		memmove(cell + 2 + id_len, cell + 1 + id_len, payload);
		p++;
	}
	memcpy(put_varint(cell, payload), id, id_len);
	put2(b->page + 8 + 2 * b->cells, b->at);
	b->at = (uint32_t)(p - b->page);
	b->cells++;
	b->rows++;
}

static bool leaf_full(const struct db_batch *b)
{
	return !b->page || b->cells == LEAF_CELLS || b->at + CELL_MAX > PAGE;
}

/* Encodes the row the caller has filled; db_row() saw to it that there is room. */
static void row_close(struct db_batch *b, enum db_table t)
{
	if (!b->row_open)
		return;
	b->row_open = false;
	if (leaf_full(b))
		leaf_open(b);
	encode(b, TABLE[t].cols, TABLE[t].text_tail);
}

int64_t *db_row(struct db *db, enum db_table t)
{
	struct db_batch *b = &db->batch[t];

	row_close(b, t);
	if (leaf_full(b) && b->page_no == PAGES) {
		/* A million rows without a commit: better early than never. When this one fails,
		 * so does the caller's next, for the loss is the same to it. */
		int err = db_commit(db, db->end_ns);

		if (err)
			db->early_err = err;
	}
	b->row_open = true;
	return b->row;
}

size_t db_pending(const struct db *db)
{
	size_t n = 0;

	for (int t = 0; t < DB_TABLE_CNT; t++)
		n += db->batch[t].rows + db->batch[t].row_open;
	return n;
}

static void image_reset(struct db_batch *b)
{
	b->page = NULL;
	b->page_no = ROOT;
	b->rows = 0;
}

/* Root page and file header: the last things that are missing to a valid image. */
static void image_close(struct db_batch *b)
{
	uint8_t *root = b->image + (ROOT - 1) * PAGE, *p = root + PAGE;
	uint32_t first = ROOT + 1, last = b->page_no;
	uint64_t id = 0;

	leaf_close(b);
	if (first == last) { /* an inner page must have two children */
		memcpy(root, root + PAGE, b->at);
	} else {
		for (uint32_t no = first, n = 0; no < last; no++, n++) {
			const uint8_t *leaf = b->image + (size_t)(no - 1) * PAGE;
			uint8_t key[9];
			size_t len;

			id += (uint32_t)leaf[3] << 8 | leaf[4];
			len = (size_t)(put_varint(key, id) - key);
			p -= 4 + len;
			put4(p, no);
			memcpy(p + 4, key, len);
			put2(root + 12 + 2 * n, (uint32_t)(p - root));
		}
		root[0] = 0x05; /* inner page of a table */
		put2(root + 1, 0);
		put2(root + 3, last - first);
		put2(root + 5, (uint32_t)(p - root));
		root[7] = 0;
		put4(root + 8, last);
	}
	b->change++;
	put4(b->image + 24, b->change); /* a new change counter makes SQLite forget cached pages */
	put4(b->image + 92, b->change);
}

/* CREATE TABLE text whose columns equal those of the report's table, as @model knows it. */
static int image_sql(sqlite3 *model, struct db_batch *b, enum db_table t, char *sql, size_t size)
{
	char pragma[96];
	sqlite3_stmt *stmt;
	size_t n;
	unsigned col = 0;
	int rc;

	snprintf(pragma, sizeof(pragma), "PRAGMA table_info(%s)", TABLE[t].name);
	rc = sqlite3_prepare_v2(model, pragma, -1, &stmt, NULL);
	if (rc != SQLITE_OK)
		return db_errno(rc);
	n = (size_t)snprintf(sql, size, "CREATE TABLE %s(", TABLE[t].name);
	for (; sqlite3_step(stmt) == SQLITE_ROW; col++) {
		bool not_null = sqlite3_column_int(stmt, 3);

		n += (size_t)snprintf(sql + n, size - n, "%sc%u %s%s", col ? "," : "", col,
				      sqlite3_column_text(stmt, 2), not_null ? " NOT NULL" : "");
		if (not_null)
			b->not_null |= 1u << col;
	}
	snprintf(sql + n, size - n, ")");
	sqlite3_finalize(stmt);
	return (int)col == TABLE[t].cols + TABLE[t].text_tail ? 0 : -EINVAL;
}

/* Page 1: file header, and the schema table with its one row. */
static void image_head(struct db_batch *b, const char *name, const char *sql)
{
	uint8_t *p = b->image, body[1024], head[16], *h = head + 1, *at = body;
	size_t name_len = strlen(name), sql_len = strlen(sql), head_len;
	uint32_t top;

	memcpy(p, "SQLite format 3", 16);
	put2(p + 16, 1); /* stands for 65536 */
	put4(p + 28, PAGES);
	p[18] = p[19] = 1;
	p[21] = 64;
	p[22] = p[23] = 32;
	put4(p + 40, 1);
	put4(p + 44, 4);
	put4(p + 56, 1);
	put4(p + 96, SQLITE_VERSION_NUMBER);
	h = put_varint(h, 13 + 2 * 5);
	h = put_varint(h, 13 + 2 * name_len);
	h = put_varint(h, 13 + 2 * name_len);
	*h++ = 1;
	h = put_varint(h, 13 + 2 * sql_len);
	head_len = (size_t)(h - head);
	head[0] = (uint8_t)head_len;
	at = (uint8_t *)mempcpy(at, "table", 5);
	at = (uint8_t *)mempcpy(at, name, name_len);
	at = (uint8_t *)mempcpy(at, name, name_len);
	*at++ = ROOT;
	at = (uint8_t *)mempcpy(at, sql, sql_len);
	top = PAGE - (uint32_t)(head_len + (size_t)(at - body)) - 4;
	put2(p + 100 + 8, top);
	p[100] = 0x0d;
	put2(p + 103, 1);
	put2(p + 105, top);
	h = put_varint(p + top, head_len + (size_t)(at - body));
	h = put_varint(h, 1);
	h = (uint8_t *)mempcpy(h, head, head_len);
	memcpy(h, body, (size_t)(at - body));
}

static int attach(struct db *db, sqlite3 *model, enum db_table t)
{
	struct db_batch *b = &db->batch[t];
	char sql[900], name[16], attach_sql[96];
	int rc, err = image_sql(model, b, t, sql, sizeof(sql));

	if (err)
		return err;
	b->image = mmap(NULL, IMAGE_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (b->image == MAP_FAILED) {
		b->image = NULL;
		return -ENOMEM;
	}
	image_reset(b);
	image_head(b, TABLE[t].name, sql);
	snprintf(name, sizeof(name), "image%d", (int)t);
	snprintf(attach_sql, sizeof(attach_sql), "ATTACH ':memory:' AS %s", name);
	err = db_exec(db, attach_sql);
	if (err)
		return err;
	rc = sqlite3_deserialize(db->sql, name, b->image, IMAGE_BYTES, IMAGE_BYTES,
				 SQLITE_DESERIALIZE_READONLY);
	if (rc != SQLITE_OK)
		return db_errno(rc);
	/* Read in place instead of through a page cache. */
	snprintf(attach_sql, sizeof(attach_sql), "PRAGMA %s.mmap_size = %u", name, IMAGE_BYTES);
	return db_exec(db, attach_sql);
}

int db_batch_init(struct db *db)
{
	sqlite3 *model;
	int rc = sqlite3_open_v2(":memory:", &model, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
				 NULL);
	int err = rc == SQLITE_OK ? 0 : db_errno(rc);

	for (int t = 0; t < DB_TABLE_CNT && !err; t++) {
		err = db_schema_model(db, model, TABLE[t].name);
		if (!err)
			err = attach(db, model, (enum db_table)t);
	}
	sqlite3_close(model);
	return err;
}

static int flush(struct db *db, enum db_table t)
{
	struct db_batch *b = &db->batch[t];
	char sql[96];
	int err;

	row_close(b, t);
	if (!b->rows)
		return 0;
	err = db_table_need(db, TABLE[t].name);
	if (!err && !b->stmt) {
		snprintf(sql, sizeof(sql), "INSERT INTO main.%s SELECT * FROM image%d.%s",
			 TABLE[t].name, (int)t, TABLE[t].name);
		err = db_prepare(db, sql, &b->stmt);
	}
	if (err)
		return err;
	image_close(b);
	sqlite3_step(b->stmt);
	return db_fail(db, sqlite3_reset(b->stmt));
}

int db_batch_flush(struct db *db)
{
	int err = 0;

	for (int t = 0; t < DB_TABLE_CNT && !err; t++)
		err = flush(db, (enum db_table)t);
	return err;
}

void db_batch_drop(struct db *db)
{
	for (int t = 0; t < DB_TABLE_CNT; t++) {
		struct db_batch *b = &db->batch[t];
		size_t used = (size_t)b->page_no * PAGE;

		b->row_open = false;
		if (used > IMAGE_KEEP)
			madvise(b->image + IMAGE_KEEP, used - IMAGE_KEEP, MADV_DONTNEED);
		image_reset(b);
	}
}

/* After the connection is closed: until then SQLite may look at the images. */
void db_batch_free(struct db *db)
{
	for (int t = 0; t < DB_TABLE_CNT; t++)
		if (db->batch[t].image)
			munmap(db->batch[t].image, IMAGE_BYTES);
}

/*
 * row_batch.c - rows of numbers on their way into the file.
 *
 * Rows are encoded at once, as the cells of a table's b-tree, into a small image of a SQLite
 * database in memory (the file format is documented and frozen:
 * https://www.sqlite.org/fileformat2.html). The image is attached, and INSERT INTO main.T SELECT *
 * FROM image.T lets SQLite copy whole cells: its "transfer optimisation" decodes no value, so a row
 * costs about half as much as through a virtual table, and SQLite stays the only one that writes
 * the report. One image holds all tables (SQLite attaches ten databases at most): page 1, a root
 * page for each, then leaves as they are needed.
 *
 * Rule easy to break: the optimisation applies only while both tables have the same columns (types,
 * NOT NULL, defaults) and the target has no INTEGER PRIMARY KEY, unique index or trigger. Else
 * SQLite still copies the rows rightly, but slowly (CPU samples, which have the keys of nsys, and
 * stacks, in order of theirs: a third of the time of single INSERTs). NOT NULL is not checked on
 * this way, so encode() does.
 */
#include "collector/report/db_counters.h"
#include "collector/report/db_internal.h"
#include "collector/report/db_stack_kinds.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE        65536u      /* of the image; the report has its own */
#define IMAGE_BYTES (64u << 20) /* address space; memory is used only where rows are */
#define IMAGE_KEEP  (16u << 20) /* memory that is kept from one commit to the next */
#define LEAF_CELLS  1536u
#define LEAF_HEAD   (8u + 2u * LEAF_CELLS) /* cells grow upwards after a full-length pointer array */
#define CELL_MAX    (2u + 9u + 1u + DB_ROW_COLS + 8u * DB_ROW_COLS + 8u)
#define ROOT(table) (2u + (unsigned)(table)) /* its root page */
#define PAGES       (IMAGE_BYTES / PAGE)
#define SQL_MAX     1400u /* of CREATE TABLE in the image */
_Static_assert(12 + PAGES * (2 + 4 + 5) <= PAGE, "one root page can name all leaves");
_Static_assert(DB_TABLE_CNT < 120,
	       "a root's page number is a byte; page 1 has room for all tables");
_Static_assert(DB_ROW_COLS < 64,
	       "the header of a cell fits into 127 bytes, not_null into its bits");

static const struct {
	const char *name;
	uint8_t cols;
	const char *tail; /* one more column, in all rows this text; NULL: none */
} TABLE[DB_TABLE_CNT] = {
#define DB_BATCH(table, cols, tail) [DB_##table] = {#table, cols, tail},
	DB_BATCHES
#undef DB_BATCH
};
#define DB_BATCH(table, cols, tail) \
	_Static_assert((cols) <= DB_ROW_COLS, "a row has room for the widest table");
DB_BATCHES
#undef DB_BATCH
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

/*
 * Writes the number that db_real() made @v of. As SQLite does, whole numbers as integers: reading a
 * column of type REAL gives them back as floating point. (Limit: 48 bits, as in SQLite itself.)
 */
static uint8_t *put_real(uint8_t *type, uint8_t *p, int64_t v)
{
	uint64_t be;
	double d;

	memcpy(&d, &v, sizeof(d));
	if (d > -1e14 && d < 1e14 && (double)(int64_t)d == d)
		return put_value(type, p, (int64_t)d);
	be = __builtin_bswap64((uint64_t)v);
	memcpy(p, &be, 8);
	*type = 7;
	return p + 8;
}

/* Pages of the image by number. */
static uint8_t *page_at(const struct db *db, uint32_t no)
{
	return db->batch.image + (size_t)(no - 1) * PAGE;
}

static void leaf_close(struct row_batch_table *b)
{
	uint8_t *p = b->page;

	p[0] = 0x0d; /* leaf of a table */
	put2(p + 1, 0);
	put2(p + 3, b->cells);
	put2(p + 5, LEAF_HEAD);
	p[7] = 0;
}

/* The root names each leaf, with the last rowid in it, once another one follows. */
static void root_add(struct db *db, struct row_batch_table *b, enum db_table t)
{
	uint8_t *root = page_at(db, ROOT(t)), id[9];
	size_t len = (size_t)(put_varint(id, b->rows) - id);

	b->root_at -= 4 + (uint32_t)len;
	put4(root + b->root_at, b->page_no);
	memcpy(root + b->root_at + 4, id, len);
	put2(root + 12 + 2 * b->leaves, b->root_at);
	b->leaves++;
}

static void leaf_open(struct db *db, struct row_batch_table *b, enum db_table t)
{
	if (b->page) {
		leaf_close(b);
		root_add(db, b, t);
	}
	b->page_no = ++db->batch.pages;
	b->page = page_at(db, b->page_no);
	b->cells = 0;
	b->at = LEAF_HEAD;
}

static void encode(struct row_batch_table *b, unsigned cols, const char *tail)
{
	unsigned ints = b->ints;
	unsigned types = cols + (tail != NULL);
	uint8_t *cell = b->page + b->at, *type, *p, id[9];
	size_t id_len = (size_t)(put_varint(id, b->rows + 1) - id), payload;

	/* The payload's length comes first and takes 1 byte, or 2 from 128 on: assume 1. */
	type = cell + 1 + id_len;
	*type++ = (uint8_t)(1 + types);
	p = type + types;
	for (unsigned i = 0; i < ints; i++) {
		int64_t v = b->row[i];

		if (v == DB_NULL && b->not_null >> i & 1)
			v = 0;
		if (v == DB_NULL)
			type[i] = 0;
		else
			p = put_value(&type[i], p, v);
	}
	for (unsigned i = ints; i < cols; i++) {
		type[i] = 0;
		if (b->row[i] != DB_NULL)
			p = put_real(&type[i], p, b->row[i]);
	}
	if (tail) {
		size_t len = strlen(tail);

		type[cols] = (uint8_t)(13 + 2 * len); /* text of so many bytes */
		p = (uint8_t *)mempcpy(p, tail, len);
	}
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

static bool leaf_full(const struct row_batch_table *b)
{
	return !b->page || b->cells == LEAF_CELLS || b->at + CELL_MAX > PAGE;
}

static void note_stack(struct db *db, struct row_batch_table *b)
{
	int64_t id = b->row[b->stack_at - 1], *there;

	if (!id || id == DB_NULL)
		return;
	there = db_map_get(&b->stacks, id);
	if (there)
		*there = 1;
	else
		db->stacks.names_unknown = true;
}

const struct db_map *row_batch_stacks(const struct db *db, const char *table)
{
	for (unsigned t = 0; t < DB_TABLE_CNT && !db->stacks.names_unknown; t++)
		if (TABLE[t].name && !strcmp(TABLE[t].name, table))
			return db->batch.table[t].stack_at ? &db->batch.table[t].stacks : NULL;
	return NULL;
}

/* Encodes the row the caller has filled; db_row() saw to it that there is room. */
static void row_close(struct db *db, enum db_table t)
{
	struct row_batch_table *b = &db->batch.table[t];

	if (!b->row_open)
		return;
	b->row_open = false;
	if (b->stack_at)
		note_stack(db, b);
	if (leaf_full(b))
		leaf_open(db, b, t);
	encode(b, TABLE[t].cols, TABLE[t].tail);
}

int64_t *db_row(struct db *db, enum db_table t)
{
	struct row_batch_table *b = &db->batch.table[t];

	row_close(db, t);
	/* Every table may have a row that still wants a leaf. */
	if (leaf_full(b) && db->batch.pages + DB_TABLE_CNT > PAGES) {
		/* So many rows without a commit: better early than never. When this one fails,
		 * so does the caller's next, for the loss is the same to it. */
		int err = db->commit(db, db->time.end);

		if (err)
			db->txn.early_err = err;
	}
	b->row_open = true;
	return b->row;
}

bool row_batch_has_room(const struct db *db)
{
	return db->batch.pages < PAGES / 4 * 3;
}

size_t row_batch_pending(const struct db *db)
{
	size_t n = 0;

	for (int t = 0; t < DB_TABLE_CNT; t++)
		n += db->batch.table[t].rows + db->batch.table[t].row_open;
	return n;
}

static void image_reset(struct db *db)
{
	db->batch.pages = ROOT(DB_TABLE_CNT) - 1;
	for (int t = 0; t < DB_TABLE_CNT; t++) {
		struct row_batch_table *b = &db->batch.table[t];

		b->page = NULL;
		b->rows = 0;
		b->leaves = 0;
		b->root_at = PAGE;
	}
}

/* The root page: the last thing that is missing to a valid table. */
static void root_close(struct db *db, enum db_table t)
{
	struct row_batch_table *b = &db->batch.table[t];
	uint8_t *root = page_at(db, ROOT(t));

	leaf_close(b);
	if (!b->leaves) { /* an inner page must have two children */
		memcpy(root, b->page, b->at);
		return;
	}
	root[0] = 0x05; /* inner page of a table */
	put2(root + 1, 0);
	put2(root + 3, b->leaves);
	put2(root + 5, b->root_at);
	root[7] = 0;
	put4(root + 8, b->page_no);
}

/* CREATE TABLE with the types and NOT NULL of schema.sql, but without keys. False: other columns than TABLE has. */
static bool table_sql(struct db *db, enum db_table t, char sql[SQL_MAX])
{
	struct row_batch_table *b = &db->batch.table[t];
	unsigned cols = 0, want = TABLE[t].cols + (TABLE[t].tail ? 1u : 0);
	const char *line = db_schema_sql(db, TABLE[t].name),
		   *stack = naming_column_of(TABLE[t].name);
	int len = snprintf(sql, SQL_MAX, "CREATE TABLE %s", TABLE[t].name);

	line = line ? strstr(line, "\nCREATE TABLE") : NULL;
	if (!line)
		return false;
	for (line = strchr(line + 1, '\n') + 1; *line != ')'; line = strchr(line, '\n') + 1) {
		char name[64], type[16], not [8] = "", null[8] = "";
		bool is_set, is_real;

		if (sscanf(line, " %63s %15s %7s %7s", name, type, not, null) < 2 ||
		    !strcmp(name, "--") || !strcmp(name, "PRIMARY"))
			continue;
		if (stack && !strcmp(name, stack))
			b->stack_at = cols + 1;
		is_set = !strcmp(not, "NOT") && !strncmp(null, "NULL", 4);
		is_real = !strncmp(type, "REAL", 4);
		if (is_set)
			b->not_null |= UINT64_C(1) << cols % 64;
		if (b->ints < cols && !is_real && cols < TABLE[t].cols)
			return false;
		b->ints += !is_real && cols < TABLE[t].cols;
		len += snprintf(sql + len, SQL_MAX - (size_t)len, "%cc%u %.*s%s", cols ? ',' : '(',
				cols, (int)strcspn(type, ","), type, is_set ? " NOT NULL" : "");
		if (++cols > want || len + 1 >= (int)SQL_MAX)
			return false;
	}
	memcpy(sql + len, ")", 2);
	return cols == want;
}

/* File header, and the head of the schema table, which fills the rest of page 1. */
static void image_head(struct db *db)
{
	uint8_t *p = db->batch.image;

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
	p[100] = 0x0d;
	put2(p + 103, DB_TABLE_CNT);
}

/* A row of the schema table below @top, where it begins; returns where it does, 0 when it has no room. */
static uint32_t schema_row(struct db *db, enum db_table t, const char *sql, uint32_t top)
{
	const char *name = TABLE[t].name;
	uint8_t *p = db->batch.image, body[SQL_MAX + 200], head[16], *h = head + 1, *at = body,
		len[9];
	size_t name_len = strlen(name), sql_len = strlen(sql), head_len, size;

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
	*at++ = (uint8_t)ROOT(t);
	at = (uint8_t *)mempcpy(at, sql, sql_len);
	size = head_len + (size_t)(at - body);
	size += (size_t)(put_varint(len, size) - len) + 1;
	if (top < size + 108 + 2 * DB_TABLE_CNT)
		return 0;
	top -= (uint32_t)size;
	put2(p + 108 + 2 * (unsigned)t, top);
	h = put_varint(p + top, head_len + (size_t)(at - body));
	h = put_varint(h, (unsigned)t + 1);
	h = (uint8_t *)mempcpy(h, head, head_len);
	memcpy(h, body, (size_t)(at - body));
	return top;
}

static int image_make(struct db *db)
{
	uint32_t top = PAGE;

	db->batch.image = mmap(NULL, IMAGE_BYTES, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (db->batch.image == MAP_FAILED) {
		db->batch.image = NULL;
		return -ENOMEM;
	}
	image_reset(db);
	image_head(db);
	for (int t = 0; t < DB_TABLE_CNT; t++) {
		char sql[SQL_MAX];

		top = table_sql(db, (enum db_table)t, sql)
			      ? schema_row(db, (enum db_table)t, sql, top)
			      : 0;
		if (!top)
			return -EINVAL;
		page_at(db, ROOT(t))[0] = 0x0d; /* empty so far */
	}
	put2(db->batch.image + 105, top);
	return 0;
}

static int attach(struct db *db)
{
	char pragma[64];
	int rc, err = db_exec(db, "ATTACH ':memory:' AS image");

	if (err)
		return err;
	rc = sqlite3_deserialize(db->sql, "image", db->batch.image, IMAGE_BYTES, IMAGE_BYTES,
				 SQLITE_DESERIALIZE_READONLY);
	if (rc != SQLITE_OK)
		return db_errno(rc);
	/* Read in place instead of through a page cache. */
	snprintf(pragma, sizeof(pragma), "PRAGMA image.mmap_size = %u", IMAGE_BYTES);
	return db_exec(db, pragma);
}

int row_batch_init(struct db *db)
{
	int err = image_make(db);

	return err ? err : attach(db);
}

static int flush(struct db *db, enum db_table t)
{
	struct row_batch_table *b = &db->batch.table[t];
	char sql[128];
	int err;

	if (!b->rows)
		return 0;
	err = db_table_need(db, TABLE[t].name);
	if (!err && !b->stmt) {
		snprintf(sql, sizeof(sql), "INSERT INTO main.%s SELECT * FROM image.%s",
			 TABLE[t].name, TABLE[t].name);
		err = db_fail(db, sqlite3_prepare_v3(db->sql, sql, -1, SQLITE_PREPARE_PERSISTENT,
						     &b->stmt, NULL));
	}
	if (err)
		return err;
	sqlite3_step(b->stmt);
	return db_fail(db, sqlite3_reset(b->stmt));
}

int row_batch_flush(struct db *db)
{
	int err = 0;

	/* All of the image first: SQLite looks for changes once per transaction. */
	for (int t = 0; t < DB_TABLE_CNT; t++) {
		row_close(db, (enum db_table)t);
		if (db->batch.table[t].rows)
			root_close(db, (enum db_table)t);
	}
	db->batch.change++;
	put4(db->batch.image + 24,
	     db->batch.change); /* a new change counter makes SQLite forget cached pages */
	put4(db->batch.image + 92, db->batch.change);
	for (int t = 0; t < DB_TABLE_CNT && !err; t++)
		err = flush(db, (enum db_table)t);
	return err;
}

void row_batch_drop(struct db *db)
{
	size_t used = (size_t)db->batch.pages * PAGE;

	for (int t = 0; t < DB_TABLE_CNT; t++)
		db->batch.table[t].row_open = false;
	if (used > IMAGE_KEEP)
		madvise(db->batch.image + IMAGE_KEEP, used - IMAGE_KEEP, MADV_DONTNEED);
	image_reset(db);
}

void row_batch_finalize(struct db *db)
{
	for (int t = 0; t < DB_TABLE_CNT; t++)
		sqlite3_finalize(db->batch.table[t].stmt);
}

/* After the connection is closed: until then SQLite may look at the image. */
void row_batch_free(struct db *db)
{
	for (unsigned t = 0; t < DB_TABLE_CNT; t++)
		db_map_free(&db->batch.table[t].stacks);
	if (db->batch.image)
		munmap(db->batch.image, IMAGE_BYTES);
}

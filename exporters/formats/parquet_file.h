/*
 * parquet_file.h - writes one Parquet file, row by row: the part of the format that flat tables need.
 *
 * Rows are gathered into pages, pages into row groups. Kept pages are packed already but for one per column, so memory
 * follows the size of a row group, not of the file (but for 100 bytes per column of each). The file uses only features that
 * all readers know: data pages of version 1, PLAIN and DELTA_BINARY_PACKED values, levels as
 * RLE, whole pages packed by zstd, gzip or not at all, as built.
 */
#pragma once

#include "exporters/formats/out.h"
#include "exporters/formats/proto.h"

enum pq_kind {
	PQ_INT,   /* INT64 */
	PQ_REAL,  /* DOUBLE */
	PQ_TEXT,  /* BYTE_ARRAY, annotated as UTF-8 */
	PQ_BYTES, /* BYTE_ARRAY */
};

#define PQ_PAGE_ROWS   16384
#define PQ_PAGE_BYTES  (1024 * 1024)
#define PQ_GROUP_ROWS  131072
#define PQ_GROUP_BYTES (64 * 1024 * 1024)

struct pq_column {
	const char *name;
	enum pq_kind kind;
	bool optional; /* NULL may occur */
	/* The page that is being filled. */
	struct proto values; /* PLAIN */
	struct proto levels; /* a byte per row: 1 where there is a value; only if optional */
	uint32_t rows, cnt;  /* in it; @cnt of them are not NULL */
	/* The column's chunk of the row group. */
	struct proto pages; /* as they will be in the file */
	uint64_t raw;       /* size of @pages without packing */
	uint64_t chunk_rows, nulls;
	uint32_t encodings; /* bits */
	bool any;           /* @min and @max are known */
	union pq_number {
		int64_t num;
		double real;
	} min, max;
};

struct pq_file {
	struct out *out; /* OUT_PLAIN; closed by the caller */
	struct pq_column *cols;
	int col_cnt;
	uint64_t rows, group_rows, group_bytes;
	struct proto groups; /* metadata of the row groups written */
	uint32_t group_cnt;
	struct proto page, packed; /* scratch */
	void *packer;
	bool failed; /* no memory */
};

/* The columns have name, kind and optional; they are freed by pq_end(). False: no memory. */
bool pq_begin(struct pq_file *f, struct out *out, struct pq_column *cols, int col_cnt);

/* A value of each column, then pq_row(). */
void pq_null(struct pq_column *c); /* only if optional */
void pq_int(struct pq_column *c, int64_t v);
void pq_real(struct pq_column *c, double v);
void pq_bytes(struct pq_column *c, const void *data, size_t len);
void pq_row(struct pq_file *f);

struct pq_note {
	const char *key, *value;
};

/* Writes the end of the file; @notes are its key-value metadata, up to one without key. False: no memory. */
bool pq_finish(struct pq_file *f, const struct pq_note *notes);
/* Frees, after pq_finish() or instead of it. */
void pq_end(struct pq_file *f);
